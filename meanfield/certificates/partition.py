"""How small the partition function is where the mass is: certified, also between saved times.

In scaled time, with one head of softmax, S = beta B, s = |S| and velocities |v| <= |V|:

    Z(x) = int e^{x^T S y - s} dmu(y),    e^{-2 s} <= Z <= 1,
    |d log Z(x_i) / dt| <= 2 |S| |V|    along the flow,        |S| |V|    at a place that rests,
    Hess log Z <= |S|^2 + |S|           along geodesics.

Diffusivity D adds D (|S|^2 + (d - 1) |S|), the largest D |Laplacian a| / a, to the rate at a place.

So the smallest Z over the support of a measure is known between times at which it is saved: it
falls no faster from the one, and rises no faster to the other. The support of a density is taken to
be everything.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from meanfield.fields.head_pairs import tilted
from meanfield.fields.heads import head_table
from meanfield.measures import Density, LabelledDensity, Measure
from meanfield.problem import Problem
from meanfield.runs import Run, stored_state
from meanfield.spaces import Manifold
from meanfield.terms.attention import HeadMatrices
from meanfield.transport import Bracket, wasserstein

if TYPE_CHECKING:
    from meanfield.bases.harmonics import SphereGrid

LARGEST_LOG = 700.0
"""Of 1 / Z: a larger one is as good as infinite."""

# Above this many points their Z is bounded by that of all places.
_MOST_POINTS = 10_000
# Angles of a circle, or of an axis, on which Z is evaluated; degree of the grid of a sphere.
_ANGLES, _SPHERE_DEGREE = 4_096, 64
# Rounding of a transform of values up to 1; relative rounding of log Z summed over pairs.
_ROUNDING, _OF_PAIRS = 1e-14, 1e-13


@dataclass(frozen=True)
class SmallestPartition:
    """Lower bound of log Z over the support of a measure at one time, and how fast it may fall."""

    log: float  # in scaled units: at most 0
    rate: float  # of change in scaled time
    floor: float  # log Z is never less: -2 s


def softmax_head(problem: Problem) -> HeadMatrices:
    """The one head of a softmax, or that of a normalised built-in kernel."""
    heads = problem.heads
    if heads is None or len(heads) != 1:
        raise ValueError(
            "a partition function is bounded for one head, or for mf.exponential(beta) or "
            f"mf.linear(): got {'another kernel' if heads is None else f'{len(heads)} heads'}."
        )
    return heads[0]


def smallest_partition(problem: Problem, measure: Density | Measure) -> SmallestPartition:
    """Lower bound of log Z over the support, scaled: points by sums, else over all places."""
    head = softmax_head(problem)
    s, space = head.sharpness, problem.manifold
    rate, floor = s * float(np.linalg.norm(head.value, 2)), -2.0 * s
    if isinstance(measure, Measure) and _is_summed(measure):
        heavy = measure.mass > 0.0
        x, masses = space.vectors(measure.points[heavy]), measure.mass[heavy]
        logs = tilted(x @ head.score, x, masses).log_partition
        lowest = float(logs.min()) - s - _OF_PAIRS * (1.0 + s)
        return SmallestPartition(max(lowest, floor), 2.0 * rate, floor)
    if not space.has_series:
        return SmallestPartition(floor, 0.0, floor)
    lowest = _over_all_places(problem, space, head, measure)
    rate += problem.flow.diffusivity * s * (s + space.dimension)
    return SmallestPartition(max(lowest, floor), rate, floor)


def _is_summed(measure: Measure) -> bool:
    """True if its points are its support, few enough, and not rings."""
    few = len(measure.points) <= _MOST_POINTS
    return few and not measure.cell_order and not measure.manifold.has_rings


def _over_all_places(
    problem: Problem, space: Manifold, head: HeadMatrices, measure: Density | Measure
) -> float:
    """Lower bound of log Z over the space, from values no further than r apart.

    At the lowest place the gradient vanishes: values there exceed it by r^2 / 2 sup Hess log Z.
    """
    s = head.sharpness
    moments = measure.moments(problem.kernel_degree)
    if problem.attention is None:
        multipliers = problem.own_kernel.attention_multipliers(
            space.dimension, problem.kernel_degree
        )
        series = space.convolve(multipliers, moments)
    else:
        series = head_table(space, head, False, s).partition(moments)
    if space.point_shape:
        degree = max(_SPHERE_DEGREE, space.degree_of(series))
        grid = cast("SphereGrid", space.grid(degree))
        values = grid.to_nodal(space.resize(series, degree))
        rings, length = grid.shape
        colatitudes = np.arccos(np.clip(grid.points.reshape(rings, length, 3)[:, 0, 2], -1.0, 1.0))
        gaps = np.diff(np.concatenate([[-colatitudes[0]], colatitudes, [math.pi]]))
        squared = (0.5 * gaps.max()) ** 2 + (math.pi / length) ** 2
        # Beside the poles the nearest ring is a whole gap away.
        squared = float(max(squared, colatitudes[0] ** 2))
    else:
        turn = math.pi if space.has_rings else 2.0 * math.pi
        angles = turn * np.arange(_ANGLES + 1) / _ANGLES
        values = space.evaluate(series, angles)
        squared = (0.5 * turn / _ANGLES) ** 2
    lowest = float(values.min()) - _ROUNDING * max(1.0, float(values.max()))
    if lowest <= 0.0:
        return -math.inf
    return math.log(lowest) - 0.5 * squared * (s * s + s)


def lowest_between(first: SmallestPartition, second: SmallestPartition, length: float) -> float:
    """Lower bound of log Z over the support in a stretch of time between two that are known."""
    logs, rate = sorted((first.log, second.log)), max(first.rate, second.rate)
    # From both sides they meet there, if they do before the end.
    meets = 0.5 * (logs[0] + logs[1] - rate * length)
    return max(min(meets, logs[0]), first.floor)


def integral_of_inverse(
    first: SmallestPartition, second: SmallestPartition, length: float
) -> float:
    """Bound of int dt / min Z between two known ends, from which 1 / Z grows like e^{rate t}."""
    rate = max(first.rate, second.rate)
    floor = max(first.floor, -LARGEST_LOG)
    logs = [max(partition.log, floor) for partition in (first, second)]
    if rate == 0.0:
        return length * math.exp(-max(logs))
    meets = 0.5 * (length + (logs[0] - logs[1]) / rate)
    meets = min(max(meets, 0.0), length)
    total = 0.0
    for log, part in zip(logs, (meets, length - meets), strict=True):
        until_floor = min(part, (log - floor) / rate)
        total += math.exp(-log) * math.expm1(rate * until_floor) / rate
        total += math.exp(-floor) * (part - until_floor)
    return total


TOLERANCE = 1e-7
"""How far a mean position of a run may be off, radians, at the default tolerance of steps."""


def certified_state(run: Run, save: int) -> Density | Measure:
    """State of a saved time, of which something may be proved."""
    measure = stored_state(run, save)
    if isinstance(measure, LabelledDensity):
        raise ValueError("nothing is proved for densities of labels.")
    return measure


def distance_ends(
    first: Density | Measure, second: Density | Measure, p: int
) -> tuple[float, float]:
    """Bounds of W_p, the same where it is exact.

    In dimensions above 2 tokens are paired, (sum_i m_i d(x_i, y_i)^p)^{1/p}: proofs for optimal
    couplings hold for every one that is followed along the flow.
    """
    space = first.manifold
    if space.has_series:
        distance = wasserstein(first, second, p)
        return (
            (distance.lower, distance.upper)
            if isinstance(distance, Bracket)
            else (distance, distance)
        )
    if not (isinstance(first, Measure) and isinstance(second, Measure)):
        raise ValueError(f"densities on {space.name} have no distance here: give tokens.")
    masses = first.mass
    if len(masses) != len(second.points) or (masses != second.mass).any():
        raise ValueError(
            f"on {space.name} tokens are paired one by one: give as many, of the same masses, got "
            f"{len(masses)} and {len(second.points)}."
        )
    angles = space.distance(first.points, second.points)
    paired = float(masses @ angles**p) ** (1.0 / p)
    return paired, paired
