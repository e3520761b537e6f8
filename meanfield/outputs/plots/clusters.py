"""Kind "clusters": where the clusters are; the area of a mark is the mass.

On the sphere clusters are drawn where they rise above the rest, see `marked_clusters`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from meanfield.outputs.plots.density import set_angle_axis
from meanfield.outputs.plots.hand_overs import mark_hand_overs
from meanfield.outputs.plots.sphere_picture import draw_outline
from meanfield.outputs.plots.style import ENERGY, FAINT, MUTED, TIME_COLOURS, set_title
from meanfield.outputs.plots.time_axis import add_growth_times, set_time_axis
from meanfield.pictures.projections import Mollweide
from meanfield.pictures.saved_times import is_logarithmic, shown, spread_evenly
from meanfield.pictures.sphere import graticule, marked_clusters
from meanfield.run import Run

_AREA, _MAP_AREA = 150.0, 400.0
_COLUMNS = 60
_MARK: dict[str, Any] = {"alpha": 0.75, "linewidth": 0}
_LEGEND_MASSES = (0.1, 0.25, 0.5)


def draw(run: Run, figure: Figure) -> None:
    """Draw the whole figure."""
    axes = figure.subplots()
    set_title(axes, run)
    on_axes(run, axes)
    if run.manifold.dimension == 1:
        set_time_axis(axes, run)
        mark_hand_overs(axes, run)
        add_growth_times(axes, run)


def on_axes(run: Run, axes: Axes) -> None:
    """Cluster centres on given axes, at up to 60 times spread evenly over the axis.

    Against time on the circle; on the sphere on a map, with the time as colour.
    """
    kept = shown(run)
    kept = kept[spread_evenly(run.time[kept], _COLUMNS, is_logarithmic(run.time))]
    if run.manifold.dimension > 1:
        _on_map(run, axes, kept)
        return
    centre, mass = run.observables["clusters/centre"][kept], run.observables["clusters/mass"][kept]
    times = np.broadcast_to(run.time[kept][:, None], centre.shape)
    found = np.isfinite(centre)
    axes.scatter(times[found], centre[found], s=_AREA * mass[found], color=ENERGY, **_MARK)
    set_angle_axis(axes)
    _add_legend(axes, ENERGY, _AREA)


def _on_map(run: Run, axes: Axes, kept: NDArray[np.int64]) -> None:
    """Centres on one map inside hidden axes, late ones on top."""
    axes.set_axis_off()
    panel = axes.inset_axes((0.0, 0.0, 0.88, 1.0))
    projection = Mollweide()
    draw_outline(panel, projection)
    panel.plot(*graticule(projection).T, color=FAINT, linewidth=0.6, zorder=0)
    found = [marked_clusters(run, int(i)) for i in kept]
    centres = np.concatenate([centre for centre, _ in found])
    masses = np.concatenate([mass for _, mass in found])
    times = np.repeat(run.time[kept], [len(mass) for _, mass in found])
    first, last = float(run.time[kept[0]]), float(run.time[kept[-1]])
    norm = (LogNorm if is_logarithmic(run.time) else Normalize)(first, max(last, first + 1e-300))
    x, y = projection.to_plane(centres).T
    panel.scatter(
        x, y, s=_MAP_AREA * masses, c=times, norm=norm,
        cmap=TIME_COLOURS, **_MARK,
    )  # fmt: skip
    if len(times) == 0:
        panel.annotate("no clusters yet", (0.0, 0.0), ha="center", va="center", color=MUTED)
    _add_legend(panel, MUTED, _MAP_AREA)
    # Of its own: the marks are translucent.
    colours = ScalarMappable(norm, TIME_COLOURS)
    bar = axes.figure.colorbar(colours, cax=axes.inset_axes((1.015, 0.05, 0.016, 0.9)))
    bar.set_label("scaled time $t$")
    bar.outline.set_visible(False)


def _add_legend(axes: Axes, colour: str, area: float) -> None:
    """Areas of marks by mass, right of the axes."""
    marks = [
        Line2D(
            [],
            [],
            linestyle="",
            marker="o",
            markersize=np.sqrt(area * m),
            color=colour,
            alpha=0.75,
            markeredgewidth=0,
            label=f"{m:g}",
        )  # fmt: skip
        for m in _LEGEND_MASSES
    ]
    axes.legend(
        handles=marks, title="mass", loc="center left", bbox_to_anchor=(1.0, 0.5), labelspacing=0.9
    )
