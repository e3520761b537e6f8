"""The potential of given tokens at the end of the linear phase, and its maxima."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from meanfield.manifolds.manifold import Manifold
from meanfield.outputs.plots.sphere_picture import (
    HALO,
    TOKENS,
    draw_clusters,
    draw_graticule,
    draw_outline,
    token_style,
)
from meanfield.outputs.plots.style import DENSITY_COLOURS, ENERGY, FAINT, INK, MUTED, ORDER
from meanfield.pictures.projections import Mollweide
from meanfield.pictures.sphere import pixels
from meanfield.theory.token_prediction import TokenPrediction

_ANGLES, _PIXELS = 2000, 900
# Bins of the histogram of tokens, about this many tokens each.
_TOKENS_A_BIN, _BINS = 12, (24, 180)
# Clusters above this many have no room for their masses; dots above this many are left out.
_LABELS, _DOTS = 24, 2000


def on_axes(space: Manifold, where: TokenPrediction, axes: Axes) -> None:
    """Potential with maxima and tokens: a curve on the circle, a map of the sphere."""
    count = len(where.positions)
    title = f"attention potential at the onset time: {count} cluster{'s' * (count > 1)}"
    axes.set_title(title, loc="left", color=MUTED, pad=8)
    (_circle if space.dimension == 1 else _sphere)(space, where, axes)


def _circle(space: Manifold, where: TokenPrediction, axes: Axes) -> None:
    angles = np.linspace(-np.pi, np.pi, _ANGLES)
    values = space.evaluate(where.potential, angles)
    scale = float(np.abs(values).max())
    places = where.positions
    heights = space.evaluate(where.potential, places) / scale
    tokens = axes.twinx()
    bins = int(np.clip(len(where.points) / _TOKENS_A_BIN, *_BINS))
    tokens.hist(
        np.angle(np.exp(1j * where.points)), bins=bins, range=(-np.pi, np.pi), color=FAINT,
        weights=np.full(len(where.points), bins / len(where.points)), zorder=1,
    )  # fmt: skip
    tokens.set_ylabel("density of the tokens", color=MUTED)
    # The lower half is theirs.
    tokens.set_ylim(0.0, 2.0 * tokens.dataLim.ymax)
    tokens.spines["right"].set_visible(True)
    # The curve lies above the histogram, which has an axis of its own.
    axes.set_zorder(tokens.get_zorder() + 1)
    axes.patch.set_visible(False)
    axes.plot(angles, values / scale, color=INK, zorder=3)
    axes.scatter(
        places,
        heights,
        s=36,
        color=ENERGY,
        zorder=4,
        label="maxima, with the masses of their basins",
    )
    if len(places) <= _LABELS:
        for place, height, mass_here in zip(places, heights, where.masses, strict=True):
            axes.annotate(
                f"{mass_here:.2f}", (place, height), xytext=(0, 6), textcoords="offset points",
                ha="center", color=ENERGY, fontsize=8.5,
            )  # fmt: skip
    alone = where.dominant_positions
    if len(alone):
        axes.plot(
            alone, np.full(len(alone), -1.3), "^", color=ORDER, markersize=5, zorder=4,
            label=f"degree {len(alone)} alone",
        )  # fmt: skip
    axes.set_xlim(-np.pi, np.pi)
    axes.set_ylim(-1.4, 1.75)
    names = [r"$-\pi$", r"$-\pi/2$", "0", r"$\pi/2$", r"$\pi$"]
    axes.set_xticks(np.arange(-2, 3) * np.pi / 2, names)
    axes.set_yticks([-1.0, 0.0, 1.0])
    axes.set_xlabel(r"angle $\theta$")
    axes.set_ylabel("potential (scaled)")
    axes.legend(loc="upper right", ncols=2)


def _sphere(space: Manifold, where: TokenPrediction, axes: Axes) -> None:
    projection = Mollweide()
    points = pixels(projection, _PIXELS)
    values = space.evaluate(where.potential, np.ascontiguousarray(points.reshape(-1, 3)))
    outline = draw_outline(axes, projection)
    wide, high = projection.half_axes
    axes.imshow(
        values.reshape(points.shape[:2]), cmap=DENSITY_COLOURS, origin="lower", aspect="equal",
        extent=(-wide, wide, -high, high), interpolation="bilinear", clip_path=outline,
    )  # fmt: skip
    axes.set_xlim(-1.02 * wide, 1.02 * wide)
    axes.set_ylim(-1.02 * high, 1.02 * high)
    draw_graticule(axes, projection)
    seen = where.points[:_DOTS]
    axes.scatter(*projection.to_plane(seen).T, **TOKENS | token_style(len(seen)))
    places = projection.to_plane(where.positions)
    draw_clusters(axes, places)
    if len(places) <= _LABELS:
        for place, mass in zip(places, where.masses, strict=True):
            axes.annotate(
                f"{mass:.2f}", (place[0], place[1]), xytext=(0, 7), textcoords="offset points",
                ha="center", color="white", fontsize=8.5, zorder=5, path_effects=HALO,
            )  # fmt: skip
