"""Figure of four problems: the density with tokens above, distances below."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

import meanfield as mf
from meanfield.figures.draw.axes import DENSITY_COLOURS, INK, style, title_above
from meanfield.figures.draw.figures import new_figure, write_figure

SIZES = ("#9ecae1", "#2f6db3", "#46166b")
"""Colours of numbers of tokens, from few to many."""
LOW, HIGH = 0.1, 30.0
PATHS = 24


@dataclass(frozen=True)
class Case:
    """A density, runs of tokens, and their distances from the density."""

    title: str
    run: mf.Run  # of the density
    drawn: list[mf.Run]  # of drawn tokens, one for each size
    times: np.ndarray  # of distances
    random: dict[int, np.ndarray]  # W1 of drawn tokens by their number, (draws, times)
    regular: dict[int, list[float]]  # W1 of tokens at quantiles by their number, (times,)

    def table(self) -> str:
        """Markdown table of distances at a few times."""
        rows = [0, len(self.times) // 2, len(self.times) - 1]
        lines = ["| tokens | " + " | ".join(f"t = {self.times[i]:.3g}" for i in rows) + " |"]
        lines.append("|---" * (len(rows) + 1) + "|")
        for tokens, found in self.random.items():
            mean, spread = found.mean(axis=0), found.std(axis=0)
            cells = [f"{mean[i]:.2e} +- {spread[i]:.0e}" for i in rows]
            lines.append(f"| {tokens:,} drawn | " + " | ".join(cells) + " |")
        for tokens, row in self.regular.items():
            cells = [f"{row[i]:.2e}" for i in rows]
            lines.append(f"| {tokens:,} at quantiles | " + " | ".join(cells) + " |")
        return "\n".join(lines)


def save_figure(cases: list[Case], path: Path) -> None:
    """Draw all cases into a file."""
    with style():
        figure = new_figure((3.7 * len(cases), 6.6))
        grid = figure.add_gridspec(2, len(cases), height_ratios=[1.2, 1.0])
        for column, case in enumerate(cases):
            circle = case.run.problem.manifold.name == "circle"
            projection = None if circle else "mollweide"
            above = figure.add_subplot(grid[0, column], projection=projection)
            image = angles_panel(above, case) if circle else map_panel(above, case)
            if column == 0:
                above.set_ylabel(r"angle $\theta / \pi$")
            else:
                above.tick_params(labelleft=False)
            if not circle:
                bar = figure.colorbar(
                    image, cax=above.inset_axes((0.1, -0.2, 0.8, 0.06)),
                    orientation="horizontal", extend="both",
                )  # fmt: skip
                bar.set_label("density, uniform is 1")
            below = figure.add_subplot(grid[1, column])
            distance_panel(below, case)
            if column == 0:
                below.set_ylabel("$W_1$ between tokens and density")
    write_figure(figure, path)


def angles_panel(axes: Axes, case: Case):  # type: ignore[no-untyped-def]
    """Draw the density over time and angle, with paths of tokens."""
    run = case.run
    theta = np.linspace(0.0, 2.0 * np.pi, 721)
    values = np.array([run.density(theta, time=t) for t in run.time])
    # Angles of the panel are -pi to pi.
    image = axes.pcolormesh(
        run.time, (theta - np.pi) / np.pi, np.roll(values[:, :-1], 360, axis=1)[:, _closed()].T,
        norm=LogNorm(LOW, HIGH), cmap=DENSITY_COLOURS, shading="gouraud", rasterized=True,
    )  # fmt: skip
    tokens = case.drawn[-1]
    paths = np.array([np.asarray(each.points) for each in tokens.measures])
    # Paths are evenly chosen in the order of initial angles.
    order = np.argsort(paths[0] % (2.0 * np.pi))
    paths = paths[:, order[:: max(1, len(order) // PATHS)]]
    turned = (paths + np.pi) % (2.0 * np.pi) - np.pi
    for path in turned.T:
        jumps = np.abs(np.diff(path)) > np.pi
        line = np.where(np.append(jumps, False), np.nan, path) / np.pi
        axes.plot(tokens.time, line, color="white", linewidth=0.6, alpha=0.85)
    axes.set_ylim(-1.0, 1.0)
    axes.set_yticks([-1.0, -0.5, 0.0, 0.5, 1.0])
    axes.set_xlabel("time")
    title_above(axes, case.title, subtitle(case))
    return image


def _closed() -> np.ndarray:
    return np.append(np.arange(720), 0)


def map_panel(axes: Axes, case: Case):  # type: ignore[no-untyped-def]
    """Draw the density at the last time on an equal-area map, with tokens."""
    run = case.run
    longitude, latitude = np.linspace(-np.pi, np.pi, 361), np.linspace(-np.pi / 2, np.pi / 2, 181)
    phi, lat = np.meshgrid(longitude, latitude)
    x = np.stack([np.cos(lat) * np.cos(phi), np.cos(lat) * np.sin(phi), np.sin(lat)], axis=-1)
    values = run.density(x.reshape(-1, 3), time=run.time[-1]).reshape(phi.shape)
    image = axes.pcolormesh(
        phi, lat, np.maximum(values, LOW / 10), norm=LogNorm(LOW, HIGH), cmap=DENSITY_COLOURS,
        shading="gouraud", rasterized=True,
    )  # fmt: skip
    y = case.drawn[-1].measures[-1].points[:400]
    axes.plot(
        np.arctan2(y[:, 1], y[:, 0]), np.arcsin(y[:, 2]), ".", color="white", markersize=2.2,
        alpha=0.8, markeredgewidth=0,
    )  # fmt: skip
    axes.set_xticklabels([])
    axes.set_yticklabels([])
    axes.grid(False)
    title_above(axes, case.title, f"{subtitle(case)}, at time {run.time[-1]:g}")
    return image


def subtitle(case: Case) -> str:
    """Formulas of the heads of a case."""
    words = {
        "A rotating head": r"$B = 1$, $V$ turns by 0.6, $\beta = 5$",
        "A reflecting head": r"$B = V = \mathrm{diag}(1, -1)$, $\beta = 5$",
        "Two competing heads": r"$V = 1.5, \beta = 9$; $V = -0.5, \beta = 2$",
    }
    return words.get(case.title, r"no symmetry, $\beta = 3$")


def distance_panel(axes: Axes, case: Case) -> None:
    """Draw W1 over time: draws with their range, quantiles dashed."""
    handles = []
    for colour, (tokens, rows) in zip(SIZES, case.random.items(), strict=False):
        axes.fill_between(
            case.times, rows.min(axis=0), rows.max(axis=0), color=colour, alpha=0.25, linewidth=0
        )
        axes.plot(case.times, rows.mean(axis=0), color=colour)
        handles.append(Line2D([], [], color=colour, label=f"N = {tokens:,}"))
        if case.regular:
            axes.plot(case.times, case.regular[tokens], color=colour, linestyle=(0, (4, 2)))
    axes.set_yscale("log")
    axes.set_xlabel("time")
    axes.yaxis.set_minor_formatter(NullFormatter())
    if not case.regular:
        axes.set_ylim(0.02, 0.5)
    else:
        axes.set_ylim(2e-6, 1.0)
        handles.append(Line2D([], [], color=INK, label="drawn"))
        handles.append(Line2D([], [], color=INK, linestyle=(0, (4, 2)), label="at quantiles"))
    axes.legend(handles=handles, loc="lower right", ncols=2, handlelength=1.8)
