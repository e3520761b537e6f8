"""Five tokens whose clusters merge, and the time axis of that figure (arXiv:2410.06833).

A step of the source adds dt times the softmax average A(x), without projection to the tangent
space, and normalises. That is a step of dt / (1 + dt <x, A>) along the flow. Near a cluster <x, A>
is about 1, so the time of the source runs slow by the factor 1 + dt.
"""

from __future__ import annotations

import numpy as np
from claims import Claim
from matplotlib.figure import Figure

import meanfield as mf
from meanfield.arrays import FloatArray
from meanfield.figures.draw.axes import ENERGY, FAINT, INK, MUTED, ORDER
from published.entry import Progress, Reproduction, unfollowed
from published.spheres import layers

BETA, END = 4.0, 400.0
START = np.array([0.06219714, 0.21432297, 1.81912262, 2.91107101, -3.09524835])
MET = float(np.arccos(0.999))
# Time of the last merge in the published figure, by steps of 0.1.
SOURCE = 364.1
# Number of the ten pairs of tokens that have met, and the time by SciPy's Radau at 1e-12.
MERGES = {
    "the last two clusters have met, t": (10, 328.364042),
    "a first pair has met, t": (1, 1.266787),
    "a second pair, t": (2, 2.409088),
    "the fifth token and the nearer one of a pair, t": (3, 5.194468),
    "and the farther one, t": (4, 5.266655),
}
# Schemes: (whether the average is projected, dt).
SCHEMES = ((False, 0.1), (False, 0.01), (True, 0.1), (True, 0.01))
# The run is saved this close to merges; gaps are linear in between, to 1e-7 in time.
NEAR = 5e-4
SNAPSHOTS = (0.0, 2.0, 10.0, 320.0, 330.0)


def compute(
    short: bool = False, published: bool = False, progress: Progress = unfollowed
) -> Reproduction:
    """Run and merge times by this package, or by the published and the projected scheme."""
    near = [known + side for _, known in MERGES.values() for side in (-NEAR, NEAR)]
    # Curves are smooth on both axes of the figure.
    grid = np.linspace(0.0, END, 41 if short else 801)
    early = np.geomspace(0.5, 10.0, 10 if short else 100)
    times = np.unique(np.concatenate([grid, early, SNAPSHOTS, near]))
    law = mf.from_points(START, name="atoms")
    problem = mf.Problem(mf.Circle(), mf.exponential(BETA), mf.SA, law)
    run = mf.simulate(
        problem,
        END,
        save=times.tolist(),
        tolerance=1e-10 if short else 1e-12,
        observables=["energy"],
    )
    angles = np.array([tokens_of(measure) for measure in run.measures])
    data = {"time": times, "angles": angles, "energy": run.observables["energy"]}
    plateau = float(data["energy"][np.searchsorted(times, 100.0)])
    level = Claim("energy of the plateau, t = 100", 0.52, plateau, 5e-4, "(2/5)^2 + (3/5)^2")
    if published:
        found, schemes = scheme_numbers(short, progress)
        return Reproduction((*found, level), data | schemes)
    numbers = []
    for what, (pairs, known) in MERGES.items():
        time = merge_time(times, angles, pairs)
        why = "SciPy's Radau at 1e-12, by the equation"
        numbers.append(Claim(what, known, time, 1e-6, why))
        if pairs == 10:
            why = "by the source's steps of 0.1, whose clock is slow by 1 + dt"
            numbers.append(Claim("the same beside the source's clock, t", SOURCE, time, None, why))
    return Reproduction((*numbers, level), data)


def tokens_of(measure: mf.Measure | mf.Density | None) -> FloatArray:
    """Angles of the five tokens; an atom counts once for each of its tokens."""
    assert isinstance(measure, mf.Measure)
    return np.repeat(measure.points, np.rint(5.0 * measure.mass).astype(int))


def gap(angles: FloatArray, pairs: int) -> float:
    """Distance of the `pairs`-th closest pair, minus the distance at which tokens have met."""
    rows, columns = np.triu_indices(5, 1)
    distances = np.abs(np.angle(np.exp(1j * (angles[rows] - angles[columns]))))
    return float(np.sort(distances)[pairs - 1]) - MET


def merge_time(times: FloatArray, angles: FloatArray, pairs: int) -> float:
    """Interpolated time at which `pairs` of the ten pairs have met."""
    gaps = np.array([gap(each, pairs) for each in angles])
    row = int(np.argmax(gaps < 0.0))
    pair = slice(row - 1, row + 1)
    return float(np.interp(0.0, -gaps[pair], times[pair]))


def scheme_numbers(short: bool, progress: Progress) -> tuple[list[Claim], dict[str, FloatArray]]:
    """Last merge times by Euler's method, as published and with the projected average."""
    schemes = [each for each in SCHEMES if each[1] == 0.1] if short else list(SCHEMES)
    numbers, data = [], {}
    for projected, dt in progress(schemes, len(schemes), "schemes"):
        times, angles = euler(dt, projected)
        cosines = np.cos(angles[:, 0] - angles[:, 2])
        row = int(np.argmax(cosines > np.cos(MET)))
        pair = slice(row - 1, row + 1)
        last = float(np.interp(np.cos(MET), cosines[pair], times[pair]))
        name = f"last merge, average {'projected' if projected else 'as published'}, dt = {dt:g}, t"
        known = SOURCE if not projected and dt == 0.1 else None
        why = "the first step at whose end they have" if known else ""
        numbers.append(Claim(name, known, last, 0.1 if known else None, why))
        if not projected:
            why = "the flow: that time over 1 + dt has the error of Euler's method left"
            numbers.append(Claim("that over 1 + dt", 328.364042, last / (1.0 + dt), 30 * dt, why))
        energy = np.exp(BETA * (np.cos(angles[:, :, None] - angles[:, None]) - 1.0)).mean((1, 2))
        every = round(0.1 / dt)
        data[f"euler_{'projected' if projected else 'plain'}_{dt:g}"] = np.stack(
            [times[::every], energy[::every]]
        )
    return numbers, data


def euler(dt: float, projected: bool) -> tuple[FloatArray, FloatArray]:
    """Times and angles (n_times, n) by steps along the softmax average, with normalisation."""
    start = np.stack([np.cos(START), np.sin(START)], axis=1)
    path = layers(start, BETA, dt, round(END / dt), projected=projected)
    return np.linspace(0.0, END, len(path)), np.arctan2(path[..., 1], path[..., 0])


def draw(figure: Figure, reproduction: Reproduction) -> None:
    """Tokens on the circle at a few times, and the energy: whole and near the last merge."""
    data = reproduction.data
    figure.set_size_inches(9.0, 5.2)
    above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=[1.0, 1.7])[:, 0]
    for axes, time in zip(above.subplots(1, len(SNAPSHOTS)), SNAPSHOTS, strict=True):
        turn = np.linspace(0.0, 2.0 * np.pi, 200)
        axes.plot(np.cos(turn), np.sin(turn), color=FAINT, linewidth=1.0)
        angles = data["angles"][np.searchsorted(data["time"], time)]
        axes.plot(np.cos(angles), np.sin(angles), "o", color=ORDER, markersize=7, alpha=0.7)
        axes.set_aspect("equal")
        axes.set_axis_off()
        axes.set_title(f"$t = {time:g}$")
    whole, end = below.subplots(1, 2)
    for axes in (whole, end):
        for name, values in data.items():
            if name.startswith("euler"):
                _, kind, dt = name.split("_")
                words = "projected" if kind == "projected" else "as published"
                axes.plot(
                    *values, "-" if dt == "0.1" else "--", linewidth=1.3,
                    label=f"{words}, dt = {dt}", color=MUTED if kind == "projected" else ORDER,
                )  # fmt: skip
        axes.plot(data["time"], data["energy"], color=ENERGY, label="this package")
        axes.axhline(0.52, color=INK, linewidth=0.6, linestyle=":", zorder=0)
        axes.set_xlabel("time $t$")
    whole.set_xscale("log")
    whole.set_xlim(0.5, END)
    whole.set_ylabel(r"energy $E/E[\mathrm{Dirac}]$")
    whole.annotate(r"$(2/5)^2 + (3/5)^2$", (12.0, 0.535), color=INK, fontsize=8.5)
    end.axvline(SOURCE, color=ORDER, linewidth=0.8, linestyle=":")
    end.annotate(f"as published: {SOURCE:g}", (SOURCE, 0.7), xytext=(4, 0), color=ORDER,
                 textcoords="offset points", fontsize=8.5)  # fmt: skip
    end.set_xlim(318.0, 376.0)
    end.legend(loc="center", bbox_to_anchor=(0.52, 0.55), fontsize=7.5)
