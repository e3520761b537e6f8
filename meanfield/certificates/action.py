"""Bound of the distance that a measure moves, by the energy that it gains.

For a gradient flow, in scaled time and with E in its unit:

    W_2(mu_s, mu_t)^2 <= (t - s) int_s^t int |v|^2 dmu dt
                      <= (t - s) (E(t) - E(s)) / min Z.

Z = 1 without normalisation, for doubly stochastic attention (with its own energy E_S), and with
diffusion, where E is minus the free energy. The bound needs only two measures and their times.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from meanfield.arguments import at_least, checked
from meanfield.arrays import EPS, FloatArray
from meanfield.certificates.partition import (
    LARGEST_LOG,
    TOLERANCE,
    SmallestPartition,
    certified_state,
    distance_ends,
    lowest_between,
    smallest_partition,
    softmax_head,
)
from meanfield.fields.mean_field import interaction
from meanfield.measures import Density, Measure
from meanfield.observables.energies import energy_note, energy_unit, entropy, interaction_energy
from meanfield.problem import Problem
from meanfield.runs import Run


@dataclass(frozen=True, eq=False)
class ActionBound:
    """Distances and bounds for pairs of saves, (k,): consecutive ones, and first and last.

    - starts, times: scaled times s and t of each pair.
    - squared_distance: W_2(mu_s, mu_t)^2, of a bracket the lower end; in dimensions above 2 the
      mean squared angle between the two positions of each token.
    - bound: (t - s) (E(t) - E(s)) / min Z.
    - allowance: error of distance and bound by the tolerance and rounding.
    """

    starts: FloatArray
    times: FloatArray
    squared_distance: FloatArray
    bound: FloatArray
    allowance: FloatArray

    @property
    def kept(self) -> npt.NDArray[np.bool_]:
        """True for pairs whose bound holds, shape (k,)."""
        return np.asarray(self.squared_distance <= self.bound + self.allowance)

    @property
    def holds(self) -> bool:
        return bool(self.kept.all())

    def __repr__(self) -> str:
        share = np.max(self.squared_distance / (self.bound + self.allowance), initial=0.0)
        verdict = "holds" if self.holds else f"broken by {int((~self.kept).sum())}"
        return (
            f"ActionBound({len(self.times)} pairs of saves, {verdict}, largest share {share:.4g})"
        )


@checked
def action_bound(run: Run, *, tolerance: float = TOLERANCE) -> ActionBound:
    """Distance that a run moves between saves, and its certified bound by the gained energy.

        W_2(mu_s, mu_t)^2 <= (t - s) (E(t) - E(s)) / min Z    (scaled time)

    for consecutive saves, and for the first and last. For Z = 1 the two sides agree as saves get
    closer. If a run violates the bound, its velocity is not the gradient of its energy.

    Parameters
    ----------
    run : Run
        With its states. Attention has no normalisation, one head of softmax without diffusion, or
        one doubly stochastic head. Without normalisation diffusion (E is then minus the free
        energy) and fixed fields with a potential are allowed.
    tolerance : float
        Largest error of a mean position, radians.

    Returns
    -------
    ActionBound
        Only pairs within one stage, and no nodes of characteristics. Under softmax Z between saves
        is bounded by its largest rate of change, so saves more than 1 / (beta strength) apart give
        weak bounds.

    Raises
    ------
    ValueError
        If the flow has no energy, or is not the flow of attention. If fewer than two states are
        stored, or a density on a sphere of many dimensions has no distance.

    References
    ----------
    Ambrosio, Gigli, Savare, Gradient flows, 2nd ed., Birkhauser 2008, 8.3.1 (the length of a curve
    of measures).

    Examples
    --------
    >>> import meanfield as mf
    >>> law = mf.perturbed_uniform([[2, 0.3, 0.0]])
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=3.0), mf.USA, law)
    >>> bound = action_bound(mf.simulate(problem, until=6.0, save=7))
    >>> bound.holds, round(float(bound.squared_distance[0] / bound.bound[0]), 3)
    (True, 0.998)
    """
    at_least(0.0, tolerance=tolerance)
    problem = run.problem
    check_climbs(problem)
    measures = [certified_state(run, save) for save in range(len(run.measures))]
    # Nodes of characteristics represent a density; their distance as points includes their gaps.
    saves = [i for i, each in enumerate(measures) if not getattr(each, "cell_order", 0)]
    if len(saves) < 2:
        raise ValueError(
            f"two saved times of a density or of tokens are needed, the run has {len(saves)}."
        )
    pairs = list(pairwise(saves))
    if len(saves) > 2:
        pairs.append((saves[0], saves[-1]))
    partitions: dict[tuple[int, int], SmallestPartition] = {}
    rows = [
        (run.scaled_time[i], run.scaled_time[j], *entry)
        for i, j in pairs
        if (entry := _pair(run, measures, i, j, tolerance, partitions)) is not None
    ]
    return ActionBound(*np.array(rows, dtype=np.float64).reshape(-1, 5).T)


def check_climbs(problem: Problem) -> None:
    """ValueError with the reason, if the flow is no gradient flow of a known energy."""
    if problem.stages:
        for stage in problem.staged:
            check_climbs(stage)
        return
    if not problem.manifold.is_sphere:
        raise ValueError("no bound: in R^d there is no energy.")
    if problem.has_labels:
        raise ValueError("no bound: tokens with labels have no energy.")
    problem.check_own_clock("bounds by the energy")
    obstacle = energy_note(problem)
    if obstacle is not None:
        raise ValueError(obstacle)
    if problem.flow.diffusivity and (problem.terms or not problem.has_free_energy):
        raise ValueError("no bound: with diffusion no free energy is known here.")
    if problem.normalization == "softmax":
        softmax_head(problem)


def energy_gained(
    problem: Problem, first: Density | Measure, second: Density | Measure
) -> tuple[float, float]:
    """Integral of int Z |v|^2 dmu from one measure to another, and its rounding; NaN if unknown."""
    flow, space = problem.flow, problem.manifold
    degree = max(problem.kernel_degree, 1)
    if problem.kernel_alone and space.has_series:
        field = interaction(problem)
        # The difference of moments, not of energies, keeps the digits of small changes.
        multipliers = field.potential_multipliers / field.scale
        before, after = first.moments(field.degree), second.moments(field.degree)
        moved, both = after - before, after + before
        gained = 0.5 * space.inner(space.convolve(multipliers, moved), both)
        size = space.inner(space.convolve(np.abs(multipliers), after), after)
        error = 8 * EPS * abs(size)
        if flow.diffusivity:
            disorder = entropy(second) - entropy(first)
            # Error of the entropies.
            error += 1e-11 * flow.diffusivity
            gained += flow.diffusivity * disorder
        return gained, error
    values = [interaction_energy(problem, each.moments(degree), each) for each in (first, second)]
    unit = energy_unit(problem)
    error = 1e-13 if problem.normalization == "sinkhorn" else 64 * EPS
    return unit * (values[1] - values[0]), abs(unit) * error * max(map(abs, values))


def _pair(
    run: Run,
    measures: list[Density | Measure],
    i: int,
    j: int,
    tolerance: float,
    partitions: dict[tuple[int, int], SmallestPartition],
) -> tuple[float, float, float] | None:
    """Squared distance, bound and allowance of two saves; None if a stage ends between them."""
    problem, length = run.problem_at(j), float(run.scaled_time[j] - run.scaled_time[i])
    if run.problem.stages:
        begins = run.problem.at(np.nextafter(run.scaled_time[i], math.inf), run.unit_length)
        if begins is not problem:
            return None
    gained, error = energy_gained(problem, measures[i], measures[j])
    lowest = 0.0
    if problem.normalization == "softmax":
        stage = id(problem)
        for k in range(i, j + 1):
            if (k, stage) not in partitions:
                partitions[k, stage] = smallest_partition(problem, measures[k])
        lengths = np.diff(run.scaled_time[i : j + 1])
        lowest = min(
            lowest_between(partitions[k, stage], partitions[k + 1, stage], float(length_of))
            for k, length_of in zip(range(i, j), lengths, strict=True)
        )
    # e^700 in place of larger numbers, which may overflow.
    slowness = length * math.exp(min(-lowest, LARGEST_LOG))
    bound = slowness * gained
    allowance = 2.0 * tolerance * math.sqrt(max(bound, 0.0)) + tolerance**2
    allowance += slowness * error
    return distance_ends(measures[i], measures[j], 2)[0] ** 2, bound, allowance
