"""Curves over time, with predictions of theory: energy, order, moments, trees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from meanfield.arrays import FloatArray
from meanfield.carriers.options import Options
from meanfield.figures.data.saved_times import Frame, Limits, frame, shown
from meanfield.measures import LabelledDensity, Measure
from meanfield.observables import OBSERVABLES
from meanfield.observables.cluster_tree import ClusterTree, Plateau, cluster_tree, plateaus
from meanfield.runs import Run, stored_section

# Sets on the sphere whose points are equivalent: similarities <x_1, x_j> of a point, a pair, a
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
# Moments below this are rounding; the mass is 1.
NEGLIGIBLE = 1e-14
# If a symmetry forbids degrees, moments below this share of the largest are rounding.
_ROUNDING = 1e-8
# Root mean square of f - 1: largest one of a start near uniform (there linear theory is up to 10 %
# off), and the one at which predictions end (20 to 37 % off, so that the figure shows the error).
_NEAR_UNIFORM, _LINEAR_END = 0.5, 1.0
# Narrower plateaus are invisible; a share of the width.
NARROWEST = 0.008
# Share of the height that branches fill; the rest is spread evenly between them.
FILLED = 0.25


def equal_clusters(run: Run) -> dict[int, float]:
    """Energies of n equal clusters at equal distances, by n.

        E / E[Dirac] = 1/n sum_j exp(beta (<x_1, x_j> - 1))

    for the attractive exponential kernel; empty for others. On the circle n is 1 ... dominant
    degree, on the sphere it is in `_SOLIDS`. Included are the numbers of clusters that the run had.
    """
    facts, beta = run.facts, run.facts.beta
    kernel = facts.kernel == "exponential" and not facts.heads
    if not kernel or beta <= 0 or not run.growth_rates.max() > 0:
        return {}
    similarities = _SOLIDS
    if run.manifold.dimension == 1:
        numbers = range(1, int(np.argmax(run.growth_rates)) + 1)
        similarities = {n: np.cos(2 * np.pi * np.arange(n) / n) for n in numbers}
    had = set(run.cluster_counts().tolist()) if "clusters/count" in run.observables else set()
    return {
        n: float(np.mean(np.exp(beta * (s - 1.0)))) for n, s in similarities.items() if n in had
    }


def order_parameter(run: Run) -> FloatArray:
    """Order parameter at the saved times, from the moments, which are always stored."""
    space = run.manifold
    return np.array([space.order_parameter(moments) for moments in run.packed_moments()])


def visible_degrees(run: Run) -> tuple[list[int], int | None]:
    """Degrees to draw: the first ones and the fastest-growing one; and the latter alone."""
    highest = run.sizes_by_degree().shape[1] - 1
    degrees = list(range(1, min(_FIRST_DEGREES, highest) + 1))
    fastest = int(np.argmax(run.growth_rates))
    if run.growth_rates[fastest] <= 0 or fastest > highest:
        return degrees, None
    return sorted({*degrees, fastest}), fastest


def linear_prediction(run: Run, degree: int) -> FloatArray:
    """|m_l| at the saved times by growth at lambda_l from the first; NaN without a prediction."""
    if _differ(run):
        return np.full(len(run.time), np.nan)
    predicted = _linear_sizes(run)
    if degree >= predicted.shape[1] or not predicted[0, degree] > NEGLIGIBLE:
        return np.full(len(run.scaled_time), np.nan)
    return np.where(linear_regime(run), predicted[:, degree], np.nan)


def linear_regime(run: Run) -> NDArray[np.bool_]:
    """Mask (n_saves,) of the saved times in the linear regime of the first saved time.

    The start must be near uniform, and the predicted density within `_LINEAR_END`. Degrees that
    decay are weighted by their rates relative to the largest.
    """
    predicted = _linear_sizes(run)
    rates = run.growth_rates[: predicted.shape[1]]
    largest = np.abs(rates[1:]).max(initial=np.finfo(float).tiny)
    weight = np.where(rates > 0, 1.0, np.minimum(np.abs(rates) / largest, 1.0))
    weight[0] = 0.0
    # The circle counts both signs of k; on the sphere the size of a degree includes all orders.
    signs = 2.0 if run.manifold.dimension == 1 else 1.0
    with np.errstate(over="ignore"):
        square = signs * np.sum((weight * predicted) ** 2, axis=1)
    near = square[0] <= _NEAR_UNIFORM**2
    return np.asarray(near & np.logical_and.accumulate(square <= _LINEAR_END**2))


def _differ(run: Run) -> bool:
    """True if positions under a mask start from different densities, or no rate is known."""
    if np.isnan(run.facts.growth_rate_max):
        return True
    first = next((measure for measure in run.measures if measure is not None), None)
    if isinstance(first, Measure) and run.facts.mask:
        return True
    return isinstance(first, LabelledDensity) and bool(np.ptp(first.parts.real, axis=0).max() > 0.0)


def _linear_sizes(run: Run) -> FloatArray:
    """Sizes (n_saves, degrees) of the moments if each degree grew at its rate."""
    space = run.manifold
    start = space.sizes_by_degree(space.packed(run.moments[0]))[: len(run.growth_rates)]
    elapsed = run.scaled_time - run.scaled_time[0]
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return np.asarray(start * np.exp(np.outer(elapsed, run.growth_rates[: len(start)])))


def plateaus_of(run: Run) -> tuple[Plateau, ...]:
    """Plateaus, from the merge events of atoms if there are any, else from stored clusters."""
    tree = cluster_tree(run.events_in(run.unit))
    if len(tree.numbers):
        span = float(run.time[-1] / run.time[run.time > 0][0])
        return plateaus(tree, lasting=span**NARROWEST)
    # Counts are NaN before clusters separate; NaN differs from itself and makes no plateau.
    counts = run.cluster_counts()
    begins = np.flatnonzero(np.diff(counts, prepend=np.nan))
    ends = np.append(begins[1:], len(counts)) - 1
    masses = run.observables["clusters/mass"]
    return tuple(
        Plateau(float(run.time[begin]), float(run.time[end]), row[np.isfinite(row)])
        for begin, end in zip(begins, ends, strict=True)
        for row in [masses[(begin + end) // 2]]
        if end > begin and counts[begin] > 0
    )


def time_limits(run: Run, tree: ClusterTree) -> tuple[float, float]:
    """Ends of the time axis of a tree: the start of the atoms or the first saved time, the end."""
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
    """Height of each branch, from 0 to 1: leaves have room by mass, others lie between theirs."""
    order = tree.leaf_order()
    count = len(order)
    room = FILLED * tree.mass[order] / tree.mass[order].sum() + (1.0 - FILLED) / count
    heights = np.zeros(len(tree.mass))
    # The first leaf is at the top.
    heights[order] = 1.0 - (np.cumsum(room) - 0.5 * room)
    for i, pair in enumerate(tree.children):
        heights[count + i] = np.average(heights[pair], weights=np.maximum(tree.mass[pair], 1e-300))
    return heights


def stored_tolerance(run: Run) -> float | None:
    """Tolerance of the run, from the run file's text; None for runs made in Python."""
    if not run.facts.config:
        return None
    section = stored_section(run, "representation") or {}
    return float(section.get("tolerance", Options().step_tolerance))


@dataclass(frozen=True, eq=False)
class EnergyPicture:
    """Interaction energy and number of clusters at the times of the frame."""

    frame: Frame
    energy: FloatArray  # (n,): relative to one cluster, or to uniform for a repulsive kernel
    count: FloatArray | None  # (n,): clusters, if observed; NaN before any has separated
    levels: dict[int, float]  # energies of equal clusters, by their number
    repulsive: bool  # whether beta is negative


def energy_picture(run: Run) -> EnergyPicture:
    """Picture of the energy."""
    check_energy(run.observables["energy"])
    return _energy_of(run)


def check_energy(energy: FloatArray) -> None:
    """Raise a ValueError for a run without energies."""
    if not np.isfinite(energy).any():
        raise ValueError(
            "the run has no energy, as few attentions with matrices have one: take "
            "order_parameter or spectrum."
        )


def _energy_of(run: Run) -> EnergyPicture:
    saves = shown(run)
    count = run.cluster_counts() if "clusters/count" in run.observables else None
    return EnergyPicture(
        frame(run),
        run.observables["energy"][saves],
        None if count is None else count[saves],
        equal_clusters(run),
        run.facts.beta < 0,
    )


@dataclass(frozen=True, eq=False)
class OrderPicture:
    """Order parameter at the times of the frame."""

    frame: Frame
    order: FloatArray


def order_parameter_picture(run: Run) -> OrderPicture:
    """Picture of the order parameter."""
    return OrderPicture(frame(run), order_parameter(run)[shown(run)])


@dataclass(frozen=True, eq=False)
class ObservablePicture:
    """An observable at the times of the frame."""

    frame: Frame
    label: str  # of its axis
    values: FloatArray  # (n, entries): NaN for missing entries


def observable_picture(run: Run, name: str) -> ObservablePicture:
    """Picture of an observable of the run, a number or an array."""
    values = run.observables[name][shown(run)]
    if not np.isfinite(values).any():
        raise ValueError(f"observable {name!r} is NaN at all times: nothing to draw.")
    label = OBSERVABLES[name].long_name if name in OBSERVABLES else name
    return ObservablePicture(frame(run), label, values.reshape(len(values), -1))


@dataclass(frozen=True, eq=False)
class OverTime:
    """Energy (may be NaN) and order parameter for one pair of axes; both are 1 for one cluster."""

    energy: EnergyPicture
    order: OrderPicture


def over_time(run: Run) -> OverTime:
    """Energy and order parameter."""
    return OverTime(_energy_of(run), order_parameter_picture(run))


@dataclass(frozen=True, eq=False)
class SpectrumPicture:
    """Sizes |m_l| of the moments, and their linear predictions, each (n, degrees)."""

    frame: Frame
    degrees: list[int]
    dominant: int | None  # the degree that grows fastest
    sizes: FloatArray
    predicted: FloatArray
    limits: Limits = None  # ends of the axis of the moments


def spectrum_picture(run: Run, limits: Limits = None) -> SpectrumPicture:
    """Picture of the moments; `limits` are the ends of their axis."""
    saves, (degrees, dominant) = shown(run), visible_degrees(run)
    sizes = run.sizes_by_degree()[saves][:, degrees]
    if run.facts.symmetry:
        largest = sizes.max(axis=0)
        floor = max(_ROUNDING * float(largest.max()), NEGLIGIBLE)
        degrees = [l for l, size in zip(degrees, largest, strict=True) if size > floor]
        dominant = dominant if dominant in degrees else None
        sizes = run.sizes_by_degree()[saves][:, degrees]
    return SpectrumPicture(
        frame(run),
        degrees,
        dominant,
        sizes,
        np.array([linear_prediction(run, l)[saves] for l in degrees]).reshape(-1, len(saves)).T,
        limits,
    )


@dataclass(frozen=True, eq=False)
class ResolutionPicture:
    """Spectral tail and degree of a density at the times of the frame, and its tolerance."""

    frame: Frame
    tail: FloatArray
    degree: FloatArray
    tolerance: float | None


def resolution_picture(run: Run) -> ResolutionPicture:
    """Picture of the resolution."""
    saves, tail = shown(run), run.diagnostics.get("tail")
    if tail is None or not np.any(np.isfinite(tail[saves])):
        raise ValueError(
            f"resolution figures are of densities, the representation of this run was "
            f"{_representations(run)}: points have no spectral tail. Use another kind."
        )
    return ResolutionPicture(
        frame(run), tail[saves], run.diagnostics["degree"][saves], stored_tolerance(run)
    )


def _representations(run: Run) -> str:
    return " and ".join(dict.fromkeys(run.representation)) or "nothing"


@dataclass(frozen=True, eq=False)
class StaircasePicture:
    """Energy over log t, with plateaus and merges."""

    frame: Frame  # its times are the two ends
    times: FloatArray
    energy: FloatArray
    plateaus: tuple[Plateau, ...]
    merges: FloatArray  # times of merges
    heights: FloatArray  # energies at these times
    repulsive: bool  # whether beta is negative


def staircase_picture(run: Run) -> StaircasePicture:
    """Picture of the staircase."""
    later = np.flatnonzero(run.time > 0)
    if len(later) < 2:
        raise ValueError(
            f"a staircase needs at least 2 saved times after 0, the run has {len(later)}."
        )
    times, energy = run.time[later], run.observables["energy"][later]
    check_energy(energy)
    merges = cluster_tree(run.events_in(run.unit)).merge_times
    merges = merges[(merges >= times[0]) & (merges <= times[-1])]
    return StaircasePicture(
        frame(run, (float(times[0]), float(times[-1]))),
        times,
        energy,
        plateaus_of(run),
        merges,
        np.interp(np.log(merges), np.log(times), energy),
        run.facts.beta < 0,
    )


@dataclass(frozen=True, eq=False)
class TreePicture:
    """Tree of mergers, and the height of each branch, from 0 to 1."""

    frame: Frame
    tree: ClusterTree
    heights: FloatArray


def tree_picture(run: Run) -> TreePicture:
    """Picture of the tree of clusters."""
    tree = cluster_tree(run.events_in(run.unit))
    if not len(tree.numbers):
        raise ValueError(
            f"a tree is of atoms, the representation of this run was {_representations(run)}. "
            'Use representation "auto" or "atoms", or another kind.'
        )
    limits = time_limits(run, tree)
    if not limits[0] < limits[1]:
        raise ValueError("a tree needs a saved time after 0, the run holds t = 0 only.")
    return TreePicture(frame(run, limits), tree, node_heights(tree))
