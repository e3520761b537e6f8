"""The measure as quadrature nodes of constant mass, which the flow carries.

    dx/dt = v(x),    d log J/dt = div v(x),    f(x) = f_0(label) / J

A label is the start of a characteristic, and J the Jacobian of the flow from labels to positions.
Integrals over the measure are sums over the nodes of label cells, with constant masses
f_0(label) * weight. So the measure may collapse: cells resolve only the flow, and they split where
it stretches. The density at the nodes stays positive.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from meanfield.arrays import FixedArrays, FloatArray, ModalArray, State
from meanfield.carriers.carrier import Representation, at_time
from meanfield.carriers.label_refinement import LabelMap, beginning, halved, joined
from meanfield.carriers.options import MOST_NODES
from meanfield.carriers.step_limits import (
    FEATURES,
    LINEAR,
    STABLE,
    check_carries,
    check_movable,
    contraction_rate,
    linear_rate,
    longest,
    lost_digits,
)
from meanfield.fields.interactions import AnyInteraction, interaction_of
from meanfield.fields.lost_digits import partition_cancels, partition_error_at
from meanfield.fields.mean_field import Interaction, Symmetric
from meanfield.fields.positive_sums import (
    noise_share,
    sums_pairs,
    velocity,
    velocity_and_divergence,
)
from meanfield.fields.tokens import dissipation
from meanfield.measures import Density, Measure
from meanfield.problem import Problem
from meanfield.spaces.label_cells import LabelCells, cells_of
from meanfield.terms.own import no_divergence

_SPLIT_EARLIER = 1e-2  # after a failed step, of the usual threshold of cells
_LARGEST_LOG = np.log(1e300)
# Tolerance of steps, as a share of `enough`.
_STEPS = 1e-2
# A run ends if moments are more asymmetric, relative to the tolerance or the error of the cells.
_ASYMMETRY = 10.0
# While all moments are smaller, steps follow the linear growth rates.
_NEAR_UNIFORM = 0.1
_UNRESOLVED = 1e-3
"""Error of the coefficients of a density at its hand-over, as a share of the tolerance."""


@dataclass(frozen=True, eq=False)
class CharacteristicsRepresentation(Representation):
    """Nodes of label cells carried by the flow."""

    problem: Problem
    # Positions, then log J, shape (n,), both times `scale`. Positions are on the circle unwrapped
    # angles (n,), on the sphere vectors (3 n,), whose lengths do not matter.
    state: FloatArray
    cells: LabelCells  # cells of n nodes
    initial: Density  # density f_0 where the characteristics start
    tolerance: float  # largest error of a cell
    max_nodes: int  # number to which nodes may grow
    # Tolerance that is enough for steps and velocities; 0 for full accuracy.
    enough: float = 0.0
    symmetric: Symmetric | None = None  # symmetry of the run, imposed on the field
    interaction: AnyInteraction = field(init=False)
    base: FloatArray = field(init=False)
    masses: FloatArray = field(init=False)
    scale: FloatArray = field(init=False)
    contraction: float = field(init=False)
    linear_rate: float = field(init=False)
    name: str = field(default="characteristics", init=False)
    carries: ClassVar[frozenset[str]] = FEATURES - {"labels", "diffusion"}

    def __post_init__(self) -> None:
        interaction = interaction_of(self.problem, economical_degree(self.problem, self.enough))
        object.__setattr__(self, "interaction", interaction)
        object.__setattr__(self, "contraction", contraction_rate(self.problem))
        object.__setattr__(self, "linear_rate", linear_rate(self.problem))
        space, points = self.problem.manifold, self.cells.points
        base = self.initial.at(points)
        far = partition_cancels(self.problem)
        here = LabelMap(space, self.cells, base, points, np.zeros(len(base)), far)
        object.__setattr__(self, "base", base)
        object.__setattr__(self, "masses", here.masses())
        object.__setattr__(self, "scale", here.scale())

    @property
    def fixed(self) -> FixedArrays:
        return {"bounds": self.cells.bounds, "initial": self.initial.coefficients}

    @at_time
    def rhs(self, time: float, state: State) -> State:
        """Velocity of every node, d x/dt = |x| v(x / |x|) on the sphere, and its divergence."""
        points, lengths = self._retracted(state)
        velocity, divergence = velocity_and_divergence(
            self.problem, self.interaction, points, self.masses, self.symmetric
        )
        if (clock := self.problem.layering.clock(time)) != 1.0:
            velocity *= clock
            divergence *= clock
        velocity *= self.problem.manifold.per_point(lengths)
        divergence *= self.scale
        return np.concatenate([velocity.ravel(), divergence])

    @property
    def step_tolerance(self) -> float:
        """Smallest useful tolerance of steps, a share of `enough`."""
        return _STEPS * self.enough

    def measure(self, state: State) -> Measure:
        return Measure(self.problem.manifold, self._points(state), self.masses, self.cells.order)

    def moments(self, state: State, max_degree: int) -> ModalArray:
        return self.problem.manifold.moments(self._points(state), self.masses, max_degree)

    def density(self, state: State) -> FloatArray:
        """Density at the nodes relative to sigma, f_0(label) / J, shape (n,), at most 1e300."""
        base = np.maximum(self.base, 0.0)
        most = _LARGEST_LOG - np.log(max(float(base.max()), 1.0))
        return np.asarray(base * np.exp(np.minimum(-self._log_stretch(state), most)))

    @at_time
    def largest_step(self, time: float, state: State) -> float:
        """Stability limit of nodes that have met; near uniform, a share of the growth time."""
        stable = longest(STABLE, self.contraction)
        sizes = self.problem.manifold.sizes_by_degree(self.moments(state, self.interaction.degree))
        if sizes[1:].max() > _NEAR_UNIFORM:
            return stable
        return min(stable, longest(LINEAR, self.linear_rate))

    @at_time
    def adapt(self, time: float, state: State) -> CharacteristicsRepresentation | None:
        """Split cells that become too coarse; join cells whose images have shrunk."""
        degree = self.problem.moment_degree
        here = self._map(state)
        coarse = here.too_coarse(self.tolerance, degree)
        finer = halved(here, self.initial, coarse, self.max_nodes)
        fewer = joined(finer or here, self.initial, self.tolerance, degree)
        return self._on(fewer or finer)

    def refined(self, state: State, rejected: State) -> CharacteristicsRepresentation | None:
        here, degree = self._map(state), self.problem.moment_degree
        coarse = here.too_coarse(self.tolerance, degree, _SPLIT_EARLIER)
        if not coarse.any():
            coarse = self._map(rejected).too_coarse(self.tolerance, degree)
        return self._on(halved(here, self.initial, coarse, self.max_nodes))

    def failure(self, time: float, state: State) -> str | None:
        if partition_cancels(self.problem.now(time)) != partition_cancels(self.problem):
            # The units of the state depend on it.
            return "Z falls below 1e-3 of its bound as parameters change: take particles"
        return self._failure(time, state)

    @at_time
    def _failure(self, time: float, state: State) -> str | None:
        here = self._map(state)
        lost = self._partition_error(here.points)
        if lost > self.tolerance:
            return lost_digits(lost, self.tolerance)
        folded = self.cells.fold(here.points, here.allowance(self.tolerance))
        if folded is not None:
            return f"labels fold in cell {folded}: the flow keeps their order. Check the state"
        errors = here.errors()
        worst, broken = float(errors.max()), self._asymmetry(state)
        if worst > self.tolerance:
            return (
                f"under-resolved: on {len(self.masses)} nodes a cell leaves "
                f"{worst / self.tolerance:.7g} times the tolerance; raise tolerance or max_nodes"
            )
        if broken > _ASYMMETRY * max(self.tolerance, float(errors.sum())):
            return (
                f"rounding breaks the symmetry of the start: moments differ by {broken:.1e} from "
                "symmetric ones; take representation 'density', or perturb = 1e-12 to break it"
            )
        return None

    @at_time
    def diagnostics(self, time: float, state: State) -> dict[str, float]:
        """Nodes, cells, error, smallest density, and int Z |v|^2 dmu / strength = dE/dt."""
        points, interaction = self._points(state), self.interaction
        values = self._resolution(state) | {"density_min": float(self.density(state).min())}
        if not isinstance(interaction, Interaction) or self.problem.layers is not None:
            return values
        field_ = interaction.of_points(points, self.masses)
        moving = velocity(self.problem, field_, points, self.masses)
        rate = dissipation(self.problem, interaction, field_.partition, points, self.masses, moving)
        return values | {"energy_dissipation": rate}

    def _resolution(self, state: State) -> dict[str, float]:
        return {
            "nodes": float(len(self.masses)),
            "cells": float(len(self.cells.bounds)),
            "error": float(self._map(state).errors().max(axis=1).sum()),
        }

    def state_under(self, problem: Problem, state: State) -> State:
        """Same nodes; the factor `scale` is 1 if Z of the new problem may cancel."""
        return replace(self._map(state), everywhere=partition_cancels(problem)).state()

    def _asymmetry(self, state: State) -> float:
        """Largest difference of moments from their projection."""
        if self.symmetric is None:
            return 0.0
        moments = self.moments(state, self.problem.moment_degree)
        return float(np.abs(moments - self.symmetric.project(moments)).max())

    def _on(self, map_: LabelMap | None) -> CharacteristicsRepresentation | None:
        return None if map_ is None else replace(self, state=map_.state(), cells=map_.cells)

    def _partition_error(self, points: FloatArray) -> float:
        """Relative rounding error of velocities, from Z or from the masses in it."""
        if not partition_cancels(self.problem):
            return 0.0
        if not self._sums_pairs(len(points)):
            field_ = self.interaction.of_points(points, self.masses)
            return partition_error_at(field_, points, self.masses)
        error = _UNRESOLVED * self.tolerance
        return noise_share(self.problem, points, self.masses, self.initial, error, self.cells)

    def _sums_pairs(self, count: int) -> bool:
        """True if velocities of so many nodes are summed over pairs."""
        return sums_pairs(self.problem, count)

    def _map(self, state: State) -> LabelMap:
        return LabelMap(
            self.problem.manifold,
            self.cells,
            self.base,
            self._points(state),
            self._log_stretch(state),
            partition_cancels(self.problem),
        )

    def _log_stretch(self, state: State) -> FloatArray:
        return np.asarray(state[-len(self.base) :] / self.scale)

    def _points(self, state: State) -> FloatArray:
        return self._retracted(state)[0]

    def _retracted(self, state: State) -> tuple[FloatArray, FloatArray]:
        """Positions as the manifold stores them, and the units in which the state has them."""
        space = self.problem.manifold
        points, lengths = space.retract(space.unflattened(state[: -len(self.base)]))
        return (points / self.scale, self.scale) if lengths is None else (points, lengths)


def economical_degree(problem: Problem, tolerance: float) -> int:
    """Degree of the kernel for nodes on the sphere, reduced to save time.

    Multipliers below tolerance^2 of the largest are dropped: velocities change by tolerance^2 / Z.
    Z is below the tolerance for almost no mass, since int dmu / Z is at most about |beta|.

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Sphere(), mf.exponential(6.0), mf.SA)
    >>> [economical_degree(problem, tolerance) for tolerance in (1e-3, 1e-4, 1e-6, 1e-10)]
    [15, 17, 22, 27]
    """
    if (
        not problem.manifold.point_shape
        or not tolerance
        or problem.attention
        or partition_cancels(problem)
    ):
        return problem.kernel_degree
    return min(problem.kernel_degree, problem.relevant_degree(tolerance**2))


def characteristics(
    problem: Problem,
    measure: Density | Measure,
    *,
    tolerance: float,
    max_nodes: int = MOST_NODES,
    enough: float = 0.0,
) -> CharacteristicsRepresentation:
    """Characteristics of a density, with errors of mass * position below the tolerance.

    >>> import meanfield as mf
    >>> law = mf.perturbed_uniform([[3, 0.1, 0.0]])
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA, law)
    >>> begun = characteristics(problem, problem.initial_measure(), tolerance=1e-10)
    >>> begun.moments(begun.state, 3).round(12).real + 0.0
    array([1.  , 0.  , 0.  , 0.05])
    """
    if isinstance(measure, Measure):
        raise TypeError(
            "representation 'characteristics' needs an initial density, got points. Use "
            "'particles' or 'atoms'."
        )
    check_carries(problem, "characteristics", CharacteristicsRepresentation.carries)
    check_movable(problem)
    for term in problem.own_terms:
        if not term.has_divergence(problem.manifold.ambient):
            raise ValueError(no_divergence(term))
    degree, far = problem.moment_degree, partition_cancels(problem)
    here = beginning(problem.manifold, measure, tolerance, degree, max_nodes, far)
    return CharacteristicsRepresentation(
        problem, here.state(), here.cells, measure, tolerance, max_nodes, enough
    )


def resumed_characteristics(
    problem: Problem,
    state: State,
    fixed: FixedArrays,
    *,
    tolerance: float,
    max_nodes: int = MOST_NODES,
    enough: float = 0.0,
) -> CharacteristicsRepresentation:
    """Characteristics in a later state, from the arrays of `fixed`."""
    check_carries(problem, "characteristics", CharacteristicsRepresentation.carries)
    check_movable(problem)
    space = problem.manifold
    cells = cells_of(space, fixed["bounds"])
    expected = cells.points.size + len(cells.weights)
    if state.shape != (expected,):
        raise ValueError(
            f"state has shape {state.shape}, expected ({expected},) for {len(cells.bounds)} cells."
        )
    initial = Density(space, fixed["initial"])
    # The law may evaluate its density more accurately than the coefficients do.
    law = problem.initial_measure()
    if isinstance(law, Density) and np.array_equal(law.coefficients, initial.coefficients):
        initial = law
    return CharacteristicsRepresentation(
        problem, state, cells, initial, tolerance, max_nodes, enough
    )
