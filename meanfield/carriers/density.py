"""The density as coefficients, on a grid that doubles its degree as the spectrum fills.

    d_t f = -div(f grad Phi / Z) + diffusivity * Laplacian f,    Phi, Z from its own moments.

The coefficient of degree 0 of a divergence is exactly zero, so mass never changes. With diffusion
the part that is linear about uniform, diffusion included, is exact in every step. The tail
(`observables/resolution.py`) measures truncation: the degree doubles long before it matters, and a
tail above the tolerance at the largest degree ends the run.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from meanfield.arrays import FloatArray, ModalArray, State
from meanfield.bases.gegenbauer.grid import AxialGrid
from meanfield.bases.grid import Grid
from meanfield.carriers import step_limits
from meanfield.carriers.carrier import Representation, at_time
from meanfield.carriers.options import usual_degree
from meanfield.carriers.spectra import (
    EFOLDS,
    TRANSFORM_NOISE,
    LastSeen,
    courant_limit,
    first_degree,
    per_coefficient,
    visible,
)
from meanfield.fields.interactions import AnyInteraction, interaction_of, transport
from meanfield.fields.lost_digits import partition_error_of_density, series_noise
from meanfield.fields.mean_field import Interaction, Transport
from meanfield.measures import Density, Measure
from meanfield.observables.resolution import Resolution, watch
from meanfield.problem import Problem
from meanfield.spaces.manifold import laplacian_eigenvalues
from meanfield.spectrum.stability import couplings, growth_rate_max

_FIRST_DEGREE = 64


@dataclass(frozen=True, eq=False)
class DensityRepresentation(Representation):
    """Pseudo-spectral density."""

    problem: Problem
    state: ModalArray  # coefficients f_l up to the present degree
    tolerance: float  # the density is resolved while the tail is below it
    max_degree: int  # largest degree to which the grid may grow
    interaction: AnyInteraction = field(init=False)  # multipliers of the problem
    grid: Grid = field(init=False)  # free of aliasing for the products of the equation
    name: str = field(default="density", init=False)
    carries: ClassVar[frozenset[str]] = step_limits.FEATURES - {"labels"}

    def __post_init__(self) -> None:
        space = self.problem.manifold
        object.__setattr__(self, "interaction", interaction_of(self.problem))
        object.__setattr__(self, "grid", space.grid(space.degree_of(self.state)))

    @cached_property
    def linear_rate(self) -> float:
        return step_limits.linear_rate(self.problem)

    @at_time
    def rhs(self, time: float, state: State) -> State:
        derivative = self._transport(state, False)
        if (clock := self.problem.layering.clock(time)) != 1.0:
            derivative *= clock
        if self.problem.flow.diffusivity:
            derivative -= self._diffusion * state
        return derivative

    @property
    def linear_rates(self) -> FloatArray:
        """Rates about uniform, one for each coefficient, diffusion included."""
        return np.asarray((self._linear_transport - self._diffusion).real)

    def remainder(self, time: float, state: State) -> State:
        """Transport without its linear part about uniform."""
        if self.problem.is_time_dependent:
            # The scheme uses the linear part at time 0.
            return self.rhs(time, state) - self.linear_rates * state
        if not self.problem.flow.normalized:
            # The linear part is -div(grad Phi), the contribution of uniform; heads have none.
            return self._transport(state, True)
        derivative = self._transport(state, False)
        derivative -= self._linear_transport * state
        return derivative

    def measure(self, state: State) -> Density:
        return Density(self.problem.manifold, state)

    def moments(self, state: State, max_degree: int) -> ModalArray:
        return self.problem.manifold.resize(state, max_degree)

    def tail(self, state: State) -> float:
        """Truncation error; the mass is 1."""
        return self._resolution(state).tail

    @at_time
    def largest_step(self, time: float, state: State) -> float:
        """Courant limit: step * degree * max|v| below the stability limit of the stepper."""
        if not (fastest := self._resolution(state).fastest):
            return np.inf
        courant = courant_limit(self.grid.max_degree, fastest, self.problem.flow.diffusivity)
        return min(courant, self._growth_limit, self._noise_limit(state, fastest))

    def _noise_limit(self, state: State, fastest: float) -> float:
        """Longest step in which rounding of an axial series stays below the tolerance.

        |f| grows at half of max|div v| at most, about (d - 1) max|v| / 2 next to a pole.
        """
        noise = series_noise(self.problem.manifold, state)
        if noise == 0.0:
            return np.inf
        left = max(np.log(self.tolerance / noise), 1.0)
        return float(2.0 * left / (self.problem.manifold.dimension * fastest))

    @at_time
    def adapt(self, time: float, state: State) -> DensityRepresentation | None:
        """Twice the degree as soon as the tail becomes visible, long before it matters."""
        noise = max(self.partition_error(state), series_noise(self.problem.manifold, state))
        full = self.tail(state) > max(visible(self.tolerance), noise)
        return self.refined(state, state) if full else None

    def refined(self, state: State, rejected: State) -> DensityRepresentation | None:
        degree = self.grid.max_degree
        if degree >= self.max_degree:
            return None
        wider = min(2 * degree, self.max_degree)
        return replace(self, state=self.problem.manifold.resize(state, wider))

    def state_under(self, problem: Problem, state: State) -> State:
        return problem.manifold.resize(state, max(self.grid.max_degree, problem.kernel_degree))

    @at_time
    def failure(self, time: float, state: State) -> str | None:
        resolution, least = self._resolution(state), max(self.tolerance, TRANSFORM_NOISE)
        lost = self.partition_error(state)
        if lost > least:
            return step_limits.lost_digits(lost, least)
        noise = series_noise(self.problem.manifold, state)
        if noise > least:
            return step_limits.noisy_series(noise, least, self.problem.flow.diffusivity)
        what = resolution.impossible(self.problem.manifold, step_limits.GROWN * least)
        if not resolution.tail < least:
            what = f"spectral tail {resolution.tail:.1e}"
        if what is None:
            return None
        return step_limits.under_resolved(what, self.grid.max_degree, self.problem)

    def partition_error(self, state: State) -> float:
        """Relative error of velocities by the rounding of Z, in the mean over the mass."""
        return partition_error_of_density(self.problem, self.interaction, self.grid, state)

    @at_time
    def diagnostics(self, time: float, state: State) -> dict[str, float]:
        """Tail, degree, smallest nodal value, and without heads the balance of energy.

        dE/dt is sum_l w_l m_l dm_l/dt; the dissipation int (Z |v|^2 + diffusivity * Laplacian Phi)
        dmu / strength on the grid. They agree where the products are resolved.
        """
        resolution = self._resolution(state)
        lowest = resolution.lowest
        if isinstance(self.grid, AxialGrid):
            # Axial series are noise where sigma has no mass.
            values = self.grid.to_nodal(state)[self.grid.resolved(state)]
            lowest = float(values.min(initial=np.inf))
        facts = {
            "tail": resolution.tail,
            "degree": float(self.grid.max_degree),
            "density_min": lowest,
        }
        if not isinstance(self.interaction, Interaction) or self.problem.layers is not None:
            return facts
        return facts | self._energy_balance(self.interaction, time, state, resolution.dissipation)

    def _energy_balance(
        self, interaction: Interaction, time: float, state: State, dissipation: float
    ) -> dict[str, float]:
        space, potential = self.problem.manifold, interaction.field(state).potential
        strength = self.problem.flow.strength * interaction.scale
        rate = space.inner(potential, self.rhs(time, state))
        if self.problem.flow.diffusivity:
            dissipation -= space.inner(potential, self._diffusion * state)
        return {"energy_rate": rate / strength, "energy_dissipation": dissipation / strength}

    @cached_property
    def _resolution(self) -> LastSeen[Resolution]:
        return LastSeen(partial(watch, self.interaction, self.grid))

    @cached_property
    def _transport(self) -> Transport:
        return transport(self.interaction, self.grid.max_degree)

    # Complex as the state is: NumPy multiplies real by complex numbers through a buffer.
    @cached_property
    def _linear_transport(self) -> ModalArray:
        """Rates l(l + d - 2) A_l of a kernel, up to its degree; heads couple degrees."""
        space, degree = self.problem.manifold, self.grid.max_degree
        rates = np.zeros(degree + 1)
        if self.problem.attention is None:
            rates = laplacian_eigenvalues(space.dimension, degree)
            rates = rates * couplings(self.problem.undriven, degree)
            # The transport has no higher degrees, so nothing would cancel their linear part.
            rates[self.interaction.degree + 1 :] = 0.0
        return per_coefficient(space, rates)

    @cached_property
    def _diffusion(self) -> ModalArray:
        space = self.problem.manifold
        eigenvalues = laplacian_eigenvalues(space.dimension, self.grid.max_degree)
        return per_coefficient(space, eigenvalues * self.problem.flow.diffusivity)

    @cached_property
    def _growth_limit(self) -> float:
        """Longest step by the growth rate about uniform."""
        problem = self.problem
        if not problem.flow.diffusivity:
            return step_limits.longest(step_limits.LINEAR, self.linear_rate)
        if problem.attention is None:
            rate = growth_rate_max(problem.undriven)
        else:
            # A bound for heads. Diffusion is exact, so damped modes need no shorter steps.
            rate = float(problem.isotropic_bound.growth_rates(problem.kernel_degree).max())
        # Fixed fields move all of the mass, not only a perturbation of uniform.
        rate = max(rate, 0.0) + step_limits.steepness(problem)
        return step_limits.longest(EFOLDS, rate)


def density(
    problem: Problem,
    measure: Density | Measure,
    *,
    tolerance: float,
    max_degree: int | None = None,
) -> DensityRepresentation:
    """Density representation of an initial density; max_degree is by default `usual_degree`."""
    if isinstance(measure, Measure):
        raise TypeError(
            "representation 'density' needs an initial density, got points. Use 'auto'."
        )
    step_limits.check_carries(problem, "density", DensityRepresentation.carries)
    step_limits.check_movable(problem)
    step_limits.check_density_follows(problem)
    if max_degree is None:
        max_degree = usual_degree(problem)
    sizes = problem.manifold.sizes_by_degree(measure.coefficients)
    first = first_degree(problem, sizes, "initial density", max_degree, _FIRST_DEGREE)
    state = problem.manifold.resize(measure.coefficients, first)
    return DensityRepresentation(problem, state, tolerance, max_degree)
