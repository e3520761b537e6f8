"""n tokens with weights, each moved by the mean field of all of them.

    dx_i = v(x_i) dt + sqrt(2 diffusivity) dB_i,    v = strength grad Phi / Z,

mu = sum_j w_j delta_{x_j}, B_i independent Brownian motions on the manifold.

The field comes from the moments, at a cost linear in n. Few tokens are summed pair by pair: that
is faster there, and it keeps relative accuracy when clusters have become so
far apart that their attraction is below the rounding of the moments (1e-18).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from meanfield.arrays import FixedArrays, FloatArray, ModalArray, State
from meanfield.events import Event
from meanfield.integrators import Stepper
from meanfield.interaction import Interaction, MeanField, interaction
from meanfield.measures import Density, Measure
from meanfield.positive_sums import sees_far, share_lost
from meanfield.problem import Problem
from meanfield.representations.options import DEFAULT_TOLERANCE
from meanfield.representations.step_limits import (
    STABLE,
    check_movable,
    check_step,
    contraction_rate,
    lost_digits,
)
from meanfield.sampling import sample_tokens

# The rounding of Z is 1e-15; equal weights keep Z above 1/n.
_SMALLEST_PARTITION = 1e-9
# Tokens up to which sums over pairs stand in for a series of Z that loses its digits: 1e8 pairs, a
# second a velocity.
_MOST_PAIRED = 10_000
# Share of the tolerance that the rounding of Z may be before they do.
_LOST_EARLY = 1e-3


@dataclass(frozen=True, eq=False)
class ParticleRepresentation:
    """Tokens carried by the flow.

    Attributes
    ----------
    problem : Problem
        Given.
    state : ndarray, one-dimensional
        Given. On the circle unwrapped angles (n,), so that windings are kept; on the sphere vectors
        (3 n,), of which only the directions count.
    weights : ndarray, shape (n,), or None
        Given. None means equal.
    degree : int or None
        Given. Degree of the moments that move the tokens; None means the kernel's.
    step : float or None
        Given. Time step of noisy tokens, who need one.
    seed : int
        Given. Seed of the noise.
    tolerance : float
        Given. What rounding of Z may do to velocities.
    interaction : Interaction
        Derived.
    contraction : float
        Derived. Rate at which tokens in one place fall together.
    far : bool
        Derived. Whether Z may be lost where tokens are (`positive_sums.sees_far`).
    """

    problem: Problem
    state: FloatArray
    weights: FloatArray | None = None
    degree: int | None = None
    step: float | None = None
    seed: int = 0
    tolerance: float = DEFAULT_TOLERANCE
    interaction: Interaction = field(init=False)
    contraction: float = field(init=False)
    far: bool = field(init=False)
    name: str = field(default="particles", init=False)

    def __post_init__(self) -> None:
        """Check the step, and compute the multipliers once."""
        check_step(self.problem, self.step)
        object.__setattr__(self, "contraction", contraction_rate(self.problem))
        object.__setattr__(self, "far", sees_far(self.problem))
        object.__setattr__(self, "interaction", interaction(self.problem, self.degree))

    @property
    def fixed(self) -> FixedArrays:
        """Weights, where they are not equal."""
        return {} if self.weights is None else {"weights": self.weights}

    def rhs(self, time: float, state: State) -> State:
        """Velocity of every token.

        On the sphere d x/dt = |x| v(x / |x|): directions then follow v exactly, whatever a step
        does to the lengths, and a method keeps its order.
        """
        points, lengths = self.problem.space.retract(self._unflattened(state))
        velocity = self._velocity(points)
        if lengths is not None:
            velocity = velocity * lengths[:, None]
        return np.ravel(velocity)

    def diffuse(self, state: State, duration: float, normals: FloatArray) -> State:
        """State moved by noise alone for a time, driven by normals of `noise_shape`."""
        time = self.problem.flow.diffusivity * duration
        return np.ravel(self.problem.space.diffuse(self._points(state), time, normals))

    @property
    def noise_shape(self) -> tuple[int, ...]:
        """Shape of the normals: (n,) on the circle, (n, 2) on the sphere."""
        count, dimension = len(self._unflattened(self.state)), self.problem.space.dimension
        return (count,) if dimension == 1 else (count, dimension)

    def measure(self, state: State) -> Measure:
        """Empirical measure of the tokens."""
        return Measure(self.problem.space, self._points(state), self.weights)

    def moments(self, state: State, max_degree: int) -> ModalArray:
        """Moments of the empirical measure."""
        return self.problem.space.moments(self._points(state), self.weights, max_degree)

    def largest_step(self, time: float, state: State) -> float:
        """Stability limit of tokens that have met.

        Without it the error control rides on that limit, and lets them drift apart by a
        multiple of the tolerance.
        """
        return STABLE / self.contraction

    def adapt(self, time: float, state: State) -> None:
        """Tokens stay tokens."""
        return None

    def refined(self, state: State) -> None:
        """Tokens are all there is."""
        return None

    def failure(self, time: float, state: State) -> str | None:
        """Z is lost in rounding, for more tokens than sums over pairs can move."""
        points = self._points(state)
        if not self.far or len(points) <= _MOST_PAIRED:
            return None
        lost = share_lost(self._field(points), points, self._mass(points))
        if lost <= self.tolerance:
            return None
        return lost_digits(lost, self.tolerance, f"take at most {_MOST_PAIRED} tokens")

    def events(self, step: Stepper) -> Sequence[Event]:
        """None."""
        return ()

    def arrival(self) -> Sequence[Event]:
        """Nothing to say."""
        return ()

    def diagnostics(self, time: float, state: State) -> dict[str, float]:
        """Dissipation of energy int Z |v|^2 dmu / strength, dE/dt along the flow."""
        if self.problem.flow.diffusivity:
            # Energy is then no longer a function of the drift alone.
            return {}
        space, felt = self.problem.space, self.interaction
        points = self._points(state)
        squared = space.squared_norm(self._velocity(points))
        if felt.attention_multipliers is not None:
            partition = self._field(points).partition
            if partition is not None:
                squared = squared * space.evaluate(partition, points)
        mean = squared.mean() if self.weights is None else self.weights @ squared
        return {"energy_dissipation": float(mean) / (self.problem.flow.strength * felt.scale)}

    def _unflattened(self, state: State) -> FloatArray:
        return state.reshape(-1, 3) if self.problem.space.point_axes else state

    def _points(self, state: State) -> FloatArray:
        return self.problem.space.retract(self._unflattened(state))[0]

    def _field(self, points: FloatArray) -> MeanField:
        degree = self.interaction.degree
        return self.interaction.field(self.problem.space.moments(points, self.weights, degree))

    def _mass(self, points: FloatArray) -> FloatArray:
        equal = np.broadcast_to(1.0 / len(points), len(points))
        return equal if self.weights is None else self.weights

    def _velocity(self, points: FloatArray) -> FloatArray:
        space, flow, kernel = self.problem.space, self.problem.flow, self.problem.kernel
        if len(points) < space.few_points(self.interaction.degree):
            return flow.strength * space.pairwise_velocity(
                points, self.weights, kernel, flow.normalized
            )
        felt = self.interaction
        if not self.far and (self.weights is None or felt.attention_multipliers is None):
            return felt.velocity(points, self.weights)
        mean_field = self._field(points)
        if self.far and len(points) <= _MOST_PAIRED:
            lost_share = share_lost(mean_field, points, self._mass(points))
            if lost_share > _LOST_EARLY * self.tolerance:
                return flow.strength * space.pairwise_velocity(
                    points, self.weights, kernel, flow.normalized
                )
        velocity = mean_field.velocity(points)
        if mean_field.partition is None or self.weights is None:
            return velocity
        # Far from all mass but their own, which is next to none, tokens see a quotient of two
        # rounding errors. Sums over pairs keep both sums to relative accuracy.
        lost = space.evaluate(mean_field.partition, points) < _SMALLEST_PARTITION
        if lost.any():
            velocity[lost] = flow.strength * space.pairwise_velocity(
                points, self.weights, kernel, flow.normalized, points[lost]
            )
        return velocity


def particles(
    problem: Problem,
    measure: Density | Measure,
    *,
    tokens: int | None = None,
    seed: int = 0,
    step: float | None = None,
    tolerance: float = DEFAULT_TOLERANCE,
) -> ParticleRepresentation:
    """Particles that start from given points, or are drawn from a density.

    Raises
    ------
    ValueError
        If a density comes without a number of tokens, noise without a step or a step without
        noise, or the problem is not movable.
    """
    check_movable(problem)
    if isinstance(measure, Measure):
        points, weights = measure.points, measure.weights
        return ParticleRepresentation(
            problem, points.ravel(), weights, step=step, seed=seed, tolerance=tolerance
        )
    if tokens is None or tokens < 1:
        raise ValueError(f"particles drawn from a density need tokens >= 1, got {tokens}.")
    points = sample_tokens(measure, tokens, np.random.default_rng(seed))
    return ParticleRepresentation(
        problem, points.ravel(), None, step=step, seed=seed, tolerance=tolerance
    )
