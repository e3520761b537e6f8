"""Series over time, and what theory puts beside them."""

from __future__ import annotations

import tomllib

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.observables.cluster_tree import ClusterTree, Plateau, cluster_tree, plateaus
from meanfield.representations.options import Options
from meanfield.run import Run

# Points of the sphere that all see the same: similarities <x_1, x_j> of a point, a pair, a
# triangle, the tetrahedron, the octahedron and the icosahedron.
_SOLIDS = {
    1: np.array([1.0]),
    2: np.array([1.0, -1.0]),
    3: np.array([1.0, -1 / 2, -1 / 2]),
    4: np.array([1.0, -1 / 3, -1 / 3, -1 / 3]),
    6: np.array([1.0, 0.0, 0.0, 0.0, 0.0, -1.0]),
    12: np.array([1.0, *[1 / np.sqrt(5)] * 5, *[-1 / np.sqrt(5)] * 5, -1.0]),
}
_FIRST_DEGREES = 8
NEGLIGIBLE = 1e-16
# Plateaus of which nothing could be seen, as a share of the width.
NARROWEST = 0.008
# Share of the height that branches fill; the rest is between them, evenly.
FILLED = 0.25


def equal_clusters(run: Run) -> dict[int, float]:
    """Energies of n equal clusters at equal distances, by n.

        E / E[Dirac] = 1/n sum_j exp(beta (<x_1, x_j> - 1))

    for the attractive exponential kernel; none for others. On the circle n = 1 ... dominant
    degree, on the sphere the n of `_SOLIDS`.
    """
    facts = run.attributes
    beta = float(facts.get("beta", 0.0))
    if facts.get("kernel") != "exponential" or beta <= 0 or not run.growth_rates.max() > 0:
        return {}
    similarities = _SOLIDS
    if run.manifold.dimension == 1:
        numbers = range(1, int(np.argmax(run.growth_rates)) + 1)
        similarities = {n: np.cos(2 * np.pi * np.arange(n) / n) for n in numbers}
    return {n: float(np.mean(np.exp(beta * (s - 1.0)))) for n, s in similarities.items()}


def order_parameter(run: Run) -> FloatArray:
    """Order parameter at the saved times, from the moments: they are always stored."""
    space = run.manifold
    return np.array([space.order_parameter(moments) for moments in run.packed_moments()])


def shown_degrees(run: Run) -> tuple[list[int], int | None]:
    """The first degrees and the one that grows fastest; the latter alone, too."""
    highest = run.sizes_by_degree().shape[1] - 1
    degrees = list(range(1, min(_FIRST_DEGREES, highest) + 1))
    fastest = int(np.argmax(run.growth_rates))
    if run.growth_rates[fastest] <= 0 or fastest > highest:
        return degrees, None
    return sorted({*degrees, fastest}), fastest


def linear_prediction(run: Run, degree: int) -> FloatArray:
    """|m_l| at the saved times if it grew from the first one on at the rate lambda_l.

    NaN where the rate is not stored or the degree starts at zero.
    """
    space = run.manifold
    start = space.sizes_by_degree(space.packed(run.moments[0]))[degree]
    if degree >= len(run.growth_rates) or not start > NEGLIGIBLE:
        return np.full(len(run.time), np.nan)
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(start * np.exp(run.growth_rates[degree] * (run.time - run.time[0])))


def plateaus_of(run: Run) -> tuple[Plateau, ...]:
    """Plateaus that the atoms tell, else those that the stored clusters tell."""
    tree = cluster_tree(run.events)
    if len(tree.numbers):
        span = float(run.time[-1] / run.time[run.time > 0][0])
        return plateaus(tree, lasting=span**NARROWEST)
    counts = run.observables["clusters/count"]
    begins = np.flatnonzero(np.diff(counts, prepend=np.nan))
    ends = np.append(begins[1:], len(counts)) - 1
    mass = run.observables["clusters/mass"]
    return tuple(
        Plateau(float(run.time[begin]), float(run.time[end]), _found(mass[(begin + end) // 2]))
        for begin, end in zip(begins, ends, strict=True)
        if end > begin and counts[begin] > 0
    )


def _found(mass: FloatArray) -> FloatArray:
    return mass[np.isfinite(mass)]


def time_limits(run: Run, tree: ClusterTree) -> tuple[float, float]:
    """From where atoms begin, or the first saved time, to the end."""
    begins = tree.begin[: len(tree.numbers)]
    changes = np.concatenate([begins, tree.merge_times, run.time])
    last = float(changes.max())
    first = float(changes[changes > 0].min()) if last > 0 else last
    merges = tree.merge_times[tree.merge_times > 0]
    if begins.min() > 0:
        first = float(begins.min())
    elif len(merges):
        # From the first saved time, unless the first merge is hardly later.
        first = min(first, 0.5 * float(merges[0]))
    return first, last


def node_heights(tree: ClusterTree) -> FloatArray:
    """Where each branch runs, from 0 to 1: leaves have room by mass, others lie between theirs."""
    order = tree.leaf_order()
    count = len(order)
    room = FILLED * tree.mass[order] / tree.mass[order].sum() + (1.0 - FILLED) / count
    heights = np.zeros(len(tree.mass))
    # From the top, as they are read.
    heights[order] = 1.0 - (np.cumsum(room) - 0.5 * room)
    for i, pair in enumerate(tree.children):
        heights[count + i] = np.average(heights[pair], weights=np.maximum(tree.mass[pair], 1e-300))
    return heights


def stored_tolerance(run: Run) -> float | None:
    """Tolerance of the run, from the run file's text; None for runs made in Python."""
    text = str(run.attributes.get("config", ""))
    if not text:
        return None
    section = tomllib.loads(text).get("representation", {})
    return float(section.get("tolerance", Options().step_tolerance))
