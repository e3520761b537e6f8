"""n tokens with weights, each moved by the mean field of all of them.

    dx_i/dt = v(x_i),    v = strength grad Phi / Z,    mu = sum_j w_j delta_{x_j}

The field comes from the moments, at a cost linear in n. Fewer than 100 tokens are summed
pair by pair: that is faster there, and it keeps relative accuracy when clusters have become so
far apart that their attraction is below the rounding of the moments (1e-18).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from meanfield.arrays import FloatArray, ModalArray, State
from meanfield.initial import sample_tokens
from meanfield.interaction import Interaction, interaction
from meanfield.measures import Density, Measure
from meanfield.problem import Problem

# Measured crossover of the pairwise sum and the moments (tests/benchmarks/circle_velocity.py).
FEW_TOKENS = 100

# DOP853 is stable on the negative axis down to -6.4, and damps at -5 (|R(-5)| = 0.057).
_STABLE = 5.0
_SIMILARITIES = np.linspace(-1.0, 1.0, 201)


@dataclass(frozen=True, eq=False)
class ParticleRepresentation:
    """Tokens carried by the flow.

    Attributes
    ----------
    problem : Problem
        Given.
    state : ndarray
        Given. Points; on the circle unwrapped angles (n,), so that windings are kept.
    weights : ndarray, shape (n,), or None
        Given. None means equal.
    interaction : Interaction
        Derived.
    """

    problem: Problem
    state: FloatArray
    weights: FloatArray | None = None
    interaction: Interaction = field(init=False)
    name: str = field(default="particles", init=False)

    def __post_init__(self) -> None:
        """Compute the multipliers once."""
        object.__setattr__(self, "interaction", interaction(self.problem))

    def rhs(self, time: float, state: State) -> State:
        """Velocity of every token."""
        if len(state) < FEW_TOKENS and self.problem.kernel.name in ("exponential", "linear"):
            return self._pairwise(state)
        space = self.problem.space
        moments = space.moments(state, self.weights, self.interaction.degree)
        return self.interaction.field(moments).velocity(state)

    def measure(self, state: State) -> Measure:
        """Empirical measure of the tokens."""
        return Measure(self.problem.space, state, self.weights)

    def moments(self, state: State, max_degree: int) -> ModalArray:
        """Moments of the empirical measure."""
        return self.problem.space.moments(state, self.weights, max_degree)

    def largest_step(self, state: State) -> float:
        """Stability limit of tokens that have met.

        Without it the error control rides on that limit, and lets them drift apart by a
        multiple of the tolerance.
        """
        return _STABLE / self._contraction

    @cached_property
    def _contraction(self) -> float:
        """Rate at which tokens in one place fall together: |strength| a(1), SA |strength|."""
        kernel, flow = self.problem.kernel, self.problem.flow
        largest = 1.0 if flow.normalized else np.abs(kernel.attention(_SIMILARITIES)).max()
        return float(abs(flow.strength) * largest)

    def adapt(self, state: State) -> None:
        """Tokens stay tokens."""
        return None

    def refined(self, state: State) -> None:
        """Tokens are all there is."""
        return None

    def failure(self, state: State) -> None:
        """None: tokens have no degree that could be too small."""
        return None

    def diagnostics(self, state: State) -> dict[str, float]:
        """Dissipation of energy int Z |v|^2 dmu / strength, dE/dt along the flow."""
        space, felt = self.problem.space, self.interaction
        velocity = self.rhs(0.0, state)
        squared = velocity**2
        if felt.attention_multipliers is not None:
            mean_field = felt.field(space.moments(state, self.weights, felt.degree))
            assert_partition = mean_field.partition
            if assert_partition is not None:
                squared = squared * space.evaluate(assert_partition, state)
        mean = squared.mean() if self.weights is None else self.weights @ squared
        return {"energy_dissipation": float(mean) / self.problem.flow.strength}

    def _pairwise(self, angles: FloatArray) -> FloatArray:
        from meanfield.manifolds.circle.pairs import exponential_velocity_circle

        flow = self.problem.flow
        velocity = exponential_velocity_circle(
            angles, self.weights, self.problem.kernel.beta, flow.normalized
        )
        return flow.strength * velocity


def particles(
    problem: Problem,
    measure: Density | Measure,
    *,
    tokens: int | None = None,
    seed: int = 0,
) -> ParticleRepresentation:
    """Particles that start from given points, or are drawn from a density.

    Raises
    ------
    ValueError
        If a density comes without a number of tokens, or the flow diffuses (not built yet).
    """
    if problem.flow.diffusivity:
        raise ValueError(
            f"diffusivity = {problem.flow.diffusivity:g} cannot be evolved yet; use 0."
        )
    if isinstance(measure, Measure):
        return ParticleRepresentation(problem, measure.points, measure.weights)
    if tokens is None or tokens < 1:
        raise ValueError(f"particles drawn from a density need tokens >= 1, got {tokens}.")
    points = sample_tokens(measure, tokens, np.random.default_rng(seed))
    return ParticleRepresentation(problem, points, None)
