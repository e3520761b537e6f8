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

from meanfield.arrays import FloatArray, ModalArray
from meanfield.manifolds.manifold import laplacian_eigenvalues
from meanfield.measures import Density, Measure
from meanfield.outputs.plots.projections import Mollweide, Projection, directions
from meanfield.outputs.plots.style import DENSITY_COLOURS, INK, MUTED
from meanfield.run import Run

TOKENS: dict[str, Any] = {"color": "white", "linewidths": 0, "zorder": 3}
HALO = [Stroke(linewidth=2.0, foreground=INK), Normal()]
# The heat kernel covers about this many tokens of a uniform measure, within these shares.
_TOKENS_COVERED = 5
_LEAST_SHARE, _LARGEST_SHARE = 5e-4, 0.005
# Degrees beyond which it has decayed to e^{-14}, 1e-6.
_DECAY = 14.0
# Pixels a row, where the highest density is looked for.
_SEARCH = 360
# A ring marks a cluster where the density is at least this.
_MARKED_DENSITY = 3.0
_MERIDIANS, _PARALLELS = np.deg2rad(np.arange(-180, 180, 30)), np.deg2rad(np.arange(-60, 61, 30))


def shown_coefficients(measure: Density | Measure) -> ModalArray:
    """Coefficients of the density whose colours stand for a measure on the sphere."""
    if isinstance(measure, Density):
        return measure.coefficients
    share = _TOKENS_COVERED * float(np.sum(measure.mass**2))
    share = float(np.clip(share, _LEAST_SHARE, _LARGEST_SHARE))
    degree = int(np.ceil(np.sqrt(_DECAY / share)))
    decay = np.exp(-share * laplacian_eigenvalues(2, degree))
    return measure.manifold.convolve(decay, measure.moments(degree))


def values_on(measure: Density | Measure, projection: Projection, width: int) -> FloatArray:
    """Density in the pixels of a picture, row by row from below, shape (height, width)."""
    points = pixels(projection, width)
    flat = np.ascontiguousarray(points.reshape(-1, 3))
    values = measure.manifold.evaluate(shown_coefficients(measure), flat)
    return np.asarray(values.reshape(points.shape[:2]))


def pixels(projection: Projection, width: int) -> FloatArray:
    """Unit vectors of the pixels of a picture, shape (height, width, 3)."""
    wide, high = projection.half_axes
    height = round(width * high / wide)
    x = wide * ((2 * np.arange(width) + 1) / width - 1)
    y = high * ((2 * np.arange(height) + 1) / height - 1)
    return projection.to_sphere(*np.meshgrid(x, y))


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


def graticule(projection: Projection) -> FloatArray:
    """Meridians and parallels every 30 degrees as one line, (n, 2), broken by NaN."""
    turn, rise = np.linspace(-np.pi, np.pi, 181), np.linspace(-1.0, 1.0, 91) * np.deg2rad(85)
    lines = [directions(longitude, rise) for longitude in _MERIDIANS]
    lines += [directions(turn, np.full(len(turn), latitude)) for latitude in _PARALLELS]
    gap = np.full((1, 2), np.nan)
    return np.concatenate([part for line in lines for part in (projection.to_plane(line), gap)])


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


def marked_clusters(run: Run, index: int) -> tuple[FloatArray, FloatArray]:
    """Centres (k, 3) and masses (k,) of the clusters that rise above the rest at a saved time."""
    centre = run.observables["clusters/centre"][index]
    mass = run.observables["clusters/mass"][index]
    found = np.isfinite(centre).all(axis=-1)
    centre, mass = np.ascontiguousarray(centre[found]), mass[found]
    measure = run.measures[index]
    if measure is None or not len(centre):
        return centre, mass
    height = run.manifold.evaluate(shown_coefficients(measure), centre)
    return centre[height >= _MARKED_DENSITY], mass[height >= _MARKED_DENSITY]


def densest_place(run: Run, index: int) -> FloatArray:
    """Centre of the heaviest marked cluster, else the place of highest density."""
    centre, _ = marked_clusters(run, index)
    measure = run.measures[index]
    if len(centre) or measure is None:
        return np.asarray(centre[0]) if len(centre) else np.array([1.0, 0.0, 0.0])
    projection = Mollweide()
    values = values_on(measure, projection, _SEARCH)
    return np.asarray(pixels(projection, _SEARCH).reshape(-1, 3)[np.argmax(values)])
