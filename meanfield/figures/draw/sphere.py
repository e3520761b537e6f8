"""Kinds "map" (the sphere as equal-area maps) and "globe" (its front and back)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.image import AxesImage
from matplotlib.patches import Ellipse

from meanfield.arrays import FloatArray
from meanfield.figures.data.projections import Orthographic, Projection
from meanfield.figures.data.sphere import SpherePanel, SpherePicture, graticule, map_columns
from meanfield.figures.draw.axes import (
    DARK_HALO,
    DENSITY_COLOURS,
    MUTED,
    add_colour_bar,
    set_note,
    set_title,
    time_label,
    write_below,
)

TOKENS: dict[str, Any] = {"color": "white", "linewidths": 0, "zorder": 3}
# Areas of atoms: of mass 1, and the smallest.
_AREA, _SMALLEST = 90.0, 2.5
_LABEL = 0.16  # room below each map for its time, as a share of a row
_GAP = 0.02
_LABEL_ROOM = 0.9  # widest label of a time, as a share of the width of a map
_LEAST_LABELLED = 0.02


def draw_map(picture: SpherePicture, axes: Axes) -> None:
    """Draw maps at a few saved times."""
    set_title(axes, picture.frame)
    set_note(axes, picture.frame, picture.note)
    maps_on_axes(picture, axes)


def maps_on_axes(picture: SpherePicture, axes: Axes) -> None:
    """Draw maps inside given axes, which become hidden, and one colour bar."""
    axes.set_axis_off()
    panels = picture.panels
    columns = map_columns(len(panels))
    values = np.array([panel.values for panel in panels])
    norm = LogNorm(*picture.colours)
    labels = []
    for panel, place in zip(panels, _places(len(panels), columns), strict=True):
        inset = axes.inset_axes(place)
        image = draw_panel(inset, panel, norm, columns)
        labels.append(write_below(inset, time_label(panel.time, picture.frame)))
    room = _LABEL_ROOM * axes.bbox.width / columns
    if max(each.get_window_extent().width for each in labels) > room:
        # Without growth times the labels fit.
        for each in labels:
            each.set_text(each.get_text().split(",")[0])
    label = colours_label(panels[-1])
    add_colour_bar(
        axes, image, values, picture.colours, place=(1.015, 0.05, 0.016, 0.95), label=label
    )


def draw_globe(picture: SpherePicture, axes: Axes) -> None:
    """Draw both sides of the globe, the heaviest cluster in front."""
    set_title(axes, picture.frame)
    axes.set_axis_off()
    values = np.array([panel.values for panel in picture.panels])
    norm = LogNorm(*picture.colours)
    for k, (name, panel) in enumerate(zip(("front", "back"), picture.panels, strict=True)):
        inset = axes.inset_axes((0.51 * k, 0.07, 0.49, 0.93))
        image = draw_panel(inset, panel, norm, 1, 120.0)
        _label_masses(inset, panel.clusters, panel.cluster_masses)
        assert isinstance(panel.projection, Orthographic)
        write_below(inset, f"{name}: around {place_label(panel.projection.towards)}")
    last = picture.panels[0]
    label = time_label(last.time, picture.frame)
    label = f"{label},  {picture.note}" if picture.note else label
    set_note(axes, picture.frame, label)
    place = (1.02, 0.09, 0.016, 0.89)
    add_colour_bar(axes, image, values, picture.colours, place=place, label=colours_label(last))


def draw_panel(
    axes: Axes, panel: SpherePanel, norm: LogNorm, scale: int, size: float = 46.0
) -> AxesImage:
    """Draw density, graticule, tokens and clusters."""
    image = draw_density(axes, panel.values, panel.projection, norm)
    draw_graticule(axes, panel.projection)
    axes.scatter(*panel.tokens.T, **TOKENS | dot_style(panel, scale))
    draw_clusters(axes, panel.clusters, size)
    return image


def _places(count: int, columns: int) -> list[tuple[float, float, float, float]]:
    """Left, bottom, width, height of the panels, row by row from the top."""
    rows = -(-count // columns)
    return [
        (
            (i % columns + 0.5 * _GAP) / columns,
            1.0 - (i // columns + 1 - _LABEL) / rows,
            (1.0 - _GAP) / columns,
            (1.0 - _LABEL) / rows,
        )
        for i in range(count)
    ]


def place_label(point: FloatArray) -> str:
    """Longitude and latitude of a unit vector in whole degrees."""
    longitude = round(float(np.rad2deg(np.arctan2(point[1], point[0]))))
    latitude = round(float(np.rad2deg(np.arcsin(np.clip(point[2], -1.0, 1.0)))))
    east = "" if longitude % 180 == 0 else " E" if longitude > 0 else " W"
    north = "" if latitude == 0 else " N" if latitude > 0 else " S"
    return f"{abs(longitude)}°{east}, {abs(latitude)}°{north}"


def _label_masses(axes: Axes, places: FloatArray, mass: FloatArray) -> None:
    for place, share in zip(places, mass, strict=True):
        if share >= _LEAST_LABELLED and np.isfinite(place).all():
            # Labels lie towards the middle, because white is invisible outside the globe.
            left = place[0] > 0.0
            axes.annotate(
                f"{100 * share:.0f} %", tuple(place), xytext=(-8 if left else 8, 0),
                textcoords="offset points", ha="right" if left else "left", va="center",
                color="white", fontsize=8, zorder=5, path_effects=DARK_HALO,
            )  # fmt: skip


def draw_density(
    axes: Axes, values: FloatArray, projection: Projection, norm: LogNorm
) -> AxesImage:
    """Draw a density inside its outline, and set up the axes."""
    return draw_field(axes, clipped(values, norm), projection, norm=norm)


def draw_field(
    axes: Axes, values: FloatArray, projection: Projection, *, cmap: str = DENSITY_COLOURS,
    **colours: Any,
) -> AxesImage:  # fmt: skip
    """Draw a field inside its outline, and set up the axes."""
    outline = draw_outline(axes, projection)
    wide, high = projection.half_axes
    image = axes.imshow(
        values, cmap=cmap, origin="lower", aspect="equal", extent=(-wide, wide, -high, high),
        interpolation="bilinear", clip_path=outline, **colours,
    )  # fmt: skip
    _set_limits(axes, projection)
    return image


def draw_outline(axes: Axes, projection: Projection) -> Ellipse:
    """Draw the outline of a picture, and hide the axes."""
    wide, high = projection.half_axes
    axes.set_axis_off()
    axes.set_aspect("equal")
    _set_limits(axes, projection)
    outline = Ellipse((0.0, 0.0), 2 * wide, 2 * high, fill=False, color=MUTED, linewidth=0.8)
    axes.add_patch(outline)
    return outline


def _set_limits(axes: Axes, projection: Projection) -> None:
    wide, high = projection.half_axes
    axes.set_xlim(-1.02 * wide, 1.02 * wide)
    axes.set_ylim(-1.02 * high, 1.02 * high)


def clipped(values: FloatArray, norm: LogNorm) -> FloatArray:
    """Values within the range of colours; a logarithmic scale needs positive ones."""
    return np.clip(values, norm.vmin, norm.vmax)


def draw_graticule(axes: Axes, projection: Projection) -> Any:
    """Draw faint lines of longitude and latitude."""
    (line,) = axes.plot(*graticule(projection).T, color="white", alpha=0.18, linewidth=0.5)
    return line


def token_style(count: int) -> dict[str, Any]:
    """Area and opacity of `count` dots: many dots are small and faint."""
    crowd = float(np.clip(np.log10(max(count, 1) / 20) / 2, 0.0, 1.0))
    return {"s": 9.0 - 7.5 * crowd, "alpha": round(0.9 - 0.45 * crowd, 6)}


def dot_style(panel: SpherePanel, scale: float = 1.0) -> dict[str, Any]:
    """Areas and opacity of dots: atoms by mass, tokens as in `token_style`."""
    if panel.token_masses is None:
        count = len(panel.tokens)
        style = token_style(int(count * scale))
        return style | {"s": np.full(count, style["s"])}
    return {"s": np.maximum(_AREA * panel.token_masses, _SMALLEST) / scale, "alpha": 0.9}


def colours_label(panel: SpherePanel) -> str:
    """Label of the colour bar of a panel."""
    return f"{'smoothed ' if panel.smoothed else ''}density $f$ (uniform = 1)"


def draw_clusters(axes: Axes, places: FloatArray, size: float = 46.0) -> Any:
    """Draw rings around the centres of clusters, visible on dark and bright colours."""
    return axes.scatter(
        places[:, 0], places[:, 1], s=size, facecolors="none", edgecolors="white", linewidths=0.9,
        zorder=4, clip_on=False, path_effects=DARK_HALO,
    )  # fmt: skip
