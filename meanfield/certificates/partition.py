"""Certified lower bounds of the partition function on the support, also between saved times.

In scaled time, with one head of softmax, S = beta B, s = |S| and velocities |v| <= |V|:

    Z(x) = int e^{x^T S y - s} dmu(y),    e^{-2 s} <= Z <= 1,
    |d log Z(x_i) / dt| <= 2 |S| |V|    along the flow,        |S| |V|    at a fixed place,
    Hess log Z <= |S|^2 + |S|           along geodesics.

Diffusivity D adds D (|S|^2 + (d - 1) |S|), the largest D |Laplacian a| / a, to the rate at a place.
These rates bound the smallest Z over the support between two saved times. The support of a density
is assumed to be the whole space.
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
"""Largest log(1 / Z) for which bounds are computed; larger ones are useless."""

# Above this number of points the bound is that of all places.
_MOST_POINTS = 10_000
# Number of angles of a circle or an axis at which Z is evaluated; degree of the grid on a sphere.
_ANGLES, _SPHERE_DEGREE = 4_096, 64
# Rounding of a transform of values up to 1; relative rounding of log Z from sums over pairs.
_ROUNDING, _OF_PAIRS = 1e-14, 1e-13


@dataclass(frozen=True)
class SmallestPartition:
    """Lower bound of log Z over the support of a measure at one time, with its rate of change."""

    log: float  # in scaled units: at most 0
    rate: float  # largest rate of change, per scaled time
    floor: float  # bound of log Z at all times, -2 s


def softmax_head(problem: Problem) -> HeadMatrices:
    """The single head of a softmax, or that of a normalised built-in kernel."""
    heads = problem.heads
    if heads is None or len(heads) != 1:
        raise ValueError(
            "a partition function is bounded for one head, or for mf.exponential(beta) or "
            f"mf.linear(): got {'another kernel' if heads is None else f'{len(heads)} heads'}."
        )
    return heads[0]


def smallest_partition(problem: Problem, measure: Density | Measure) -> SmallestPartition:
    """Lower bound of scaled log Z over the support: at points by sums, else over all places."""
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
    """True if the points are the support, at most 10,000, and no rings."""
    few = len(measure.points) <= _MOST_POINTS
    return few and not measure.cell_order and not measure.manifold.has_rings


def _over_all_places(
    problem: Problem, space: Manifold, head: HeadMatrices, measure: Density | Measure
) -> float:
    """Lower bound of log Z over the space, from values at nodes with covering radius r.

    The gradient vanishes at the minimum, so the nearest node exceeds it by at most
    r^2 / 2 sup Hess log Z.
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
        # The pole is a whole gap away from the nearest ring.
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
    """Lower bound of log Z over the support between two times with known bounds."""
    logs, rate = sorted((first.log, second.log)), max(first.rate, second.rate)
    # Intersection of the two lines that fall at this rate from both ends.
    meets = 0.5 * (logs[0] + logs[1] - rate * length)
    return max(min(meets, logs[0]), first.floor)


def integral_of_inverse(
    first: SmallestPartition, second: SmallestPartition, length: float
) -> float:
    """Upper bound of int dt / min Z; from both ends 1 / Z grows at most like e^{rate t}."""
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
"""Largest error of a mean position of a run, radians, at the default tolerance of steps."""


def certified_state(run: Run, save: int) -> Density | Measure:
    """State at a saved time; ValueError for densities of labels."""
    measure = stored_state(run, save)
    if isinstance(measure, LabelledDensity):
        raise ValueError("nothing is proved for densities of labels.")
    return measure


def distance_ends(
    first: Density | Measure, second: Density | Measure, p: int
) -> tuple[float, float]:
    """Lower and upper bound of W_p; equal where it is exact.

    In dimensions above 2 tokens are paired in order, (sum_i m_i d(x_i, y_i)^p)^{1/p}. The proofs
    hold for any coupling that the flow transports, not only for optimal ones.
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
