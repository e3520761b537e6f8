"""A measure on the sphere drawn through a projection: colours, graticule, tokens, clusters.

The colours of points are those of their density smoothed by the heat kernel,

    f(x) = sum_l e^{-l (l + 1) s} sum_m m_lm Y_lm(x),     s = share of the sphere that it covers
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.image import AxesImage
from matplotlib.patches import Ellipse
from matplotlib.patheffects import Normal, Stroke

from meanfield.arrays import FloatArray
from meanfield.measures import Density, Measure
from meanfield.outputs.plots.style import DENSITY_COLOURS, INK, MUTED
from meanfield.pictures.projections import Projection
from meanfield.pictures.sphere import graticule

TOKENS: dict[str, Any] = {"color": "white", "linewidths": 0, "zorder": 3}
HALO = [Stroke(linewidth=2.0, foreground=INK), Normal()]


def draw_density(
    axes: Axes, values: FloatArray, projection: Projection, norm: LogNorm
) -> AxesImage:
    """Picture of a density inside its outline, with a graticule; sets up the axes."""
    outline = draw_outline(axes, projection)
    wide, high = projection.half_axes
    image = axes.imshow(
        clipped(values, norm), norm=norm, cmap=DENSITY_COLOURS, origin="lower", aspect="equal",
        extent=(-wide, wide, -high, high), interpolation="bilinear", clip_path=outline,
    )  # fmt: skip
    _set_limits(axes, projection)
    return image


def draw_outline(axes: Axes, projection: Projection) -> Ellipse:
    """Edge of a picture, on axes that show nothing else."""
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
    """Values within the colours; a density that rounds below 0 has none otherwise."""
    return np.clip(values, norm.vmin, norm.vmax)


def draw_graticule(axes: Axes, projection: Projection) -> Any:
    """Faint lines of longitude and latitude."""
    (line,) = axes.plot(*graticule(projection).T, color="white", alpha=0.18, linewidth=0.5)
    return line


def token_style(count: int) -> dict[str, Any]:
    """Size and opacity of dots: small and faint where they are many.

    Examples
    --------
    >>> token_style(20), token_style(2000)
    ({'s': 9.0, 'alpha': 0.9}, {'s': 1.5, 'alpha': 0.45})
    """
    crowd = float(np.clip(np.log10(max(count, 1) / 20) / 2, 0.0, 1.0))
    return {"s": 9.0 - 7.5 * crowd, "alpha": round(0.9 - 0.45 * crowd, 6)}


def colours_label(measure: Density | Measure | None) -> str:
    """What the colours of a picture of a measure are."""
    return "density $f$" if isinstance(measure, Density) else "smoothed density $f$"


def draw_clusters(axes: Axes, places: FloatArray, size: float = 46.0) -> Any:
    """Rings around the centres of clusters, seen on dark and on bright."""
    return axes.scatter(
        places[:, 0], places[:, 1], s=size, facecolors="none", edgecolors="white", linewidths=0.9,
        zorder=4, clip_on=False, path_effects=HALO,
    )  # fmt: skip
