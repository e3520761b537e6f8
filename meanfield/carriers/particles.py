"""n tokens with weights, each moved by the mean field of all of them.

    dx_i = v(x_i) dt + sqrt(2 diffusivity) dB_i,    v = strength grad Phi / Z,

mu = sum_j w_j delta_{x_j}, B_i independent Brownian motions on the manifold. With natural
frequencies omega_i dt is added.

The field comes from the moments, at a cost linear in n. Few tokens are summed pair by pair: that
is faster, and stays accurate if clusters attract each other less than moments round (1e-18).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from dataclasses import field as derived
from typing import ClassVar

import numpy as np

from meanfield.arrays import FixedArrays, FloatArray, ModalArray, State
from meanfield.carriers.carrier import Representation, at_time
from meanfield.carriers.options import DEFAULT_TOLERANCE
from meanfield.carriers.step_limits import (
    FEATURES,
    STABLE,
    check_movable,
    check_step,
    contraction_rate,
    longest,
    lost_digits,
)
from meanfield.engines.limits import check_tokens
from meanfield.fields.interactions import attended
from meanfield.fields.tokens import LARGEST_DIRECT_SUM, TokenField
from meanfield.laws.sampling import tokens_of
from meanfield.measures import Density, LabelledDensity, Measure
from meanfield.problem import Problem
from meanfield.terms.frequencies import Frequencies, GivenFrequencies
from meanfield.terms.masks import pair_weights

# Scores of tokens of R^d are products of two coordinates.
_FARTHEST = 1e140
# Beside the seed: marks the stream of random numbers for frequencies.
_OF_FREQUENCIES = 7


@dataclass(frozen=True, eq=False)
class ParticleRepresentation(Representation):
    """Tokens carried by the flow."""

    problem: Problem
    # On the circle unwrapped angles (n,), so that windings are kept; on the sphere vectors (3 n,),
    # whose lengths do not matter.
    state: FloatArray
    weights: FloatArray | None = None  # (n,): None means equal
    degree: int | None = None  # degree of the moments that move the tokens; None means the kernel's
    step: float | None = None  # time step, necessary with noise
    seed: int = 0  # seed of the noise
    tolerance: float = DEFAULT_TOLERANCE  # largest relative error of velocities by rounding of Z
    frequencies: FloatArray | None = None  # (n,): natural frequencies of the tokens; None means 0
    field: TokenField = derived(init=False)  # velocity of the tokens
    contraction: float = derived(init=False)  # rate at which tokens in one place contract
    name: str = derived(default="particles", init=False)
    carries: ClassVar[frozenset[str]] = FEATURES

    def __post_init__(self) -> None:
        interaction = attended(self.problem, self.degree)
        moving = TokenField(
            self.problem, interaction, self.weights, self.tolerance, self.frequencies
        )
        object.__setattr__(self, "field", moving)
        check_step(self.problem, self.step)
        object.__setattr__(self, "contraction", contraction_rate(self.problem))

    @property
    def fixed(self) -> FixedArrays:
        arrays = {"weights": self.weights, "frequencies": self.frequencies}
        return {name: values for name, values in arrays.items() if values is not None}

    @at_time
    def rhs(self, time: float, state: State) -> State:
        """Velocity of every token.

        On the sphere d x/dt = |x| v(x / |x|): directions follow v even if a step changes lengths.
        """
        space = self.problem.manifold
        points, lengths = space.retract(space.unflattened(state))
        velocity = self.field.velocity(points)
        if self.frequencies is not None:
            velocity = velocity + self.frequencies
        if (clock := self.problem.layering.clock(time)) != 1.0:
            velocity = velocity * clock
        if lengths is not None:
            velocity = velocity * space.per_point(lengths)
        return np.ravel(velocity)

    def diffuse(self, state: State, duration: float, normals: FloatArray) -> State:
        """State moved by noise alone for a time, driven by normals of `noise_shape`."""
        time = self.problem.flow.diffusivity * duration
        return np.ravel(self.problem.manifold.diffuse(self._points(state), time, normals))

    @property
    def noise_shape(self) -> tuple[int, ...]:
        """Shape of the normals: (n,) on the circle, (n, d - 1) on S^(d-1), (n, d) in R^d."""
        space = self.problem.manifold
        count = len(space.unflattened(self.state))
        return (count,) if not space.point_shape else (count, space.dimension)

    def measure(self, state: State) -> Measure:
        return Measure(self.problem.manifold, self._points(state), self.weights)

    def moments(self, state: State, max_degree: int) -> ModalArray:
        return self.problem.manifold.moments(self._points(state), self.weights, max_degree)

    @at_time
    def largest_step(self, time: float, state: State) -> float:
        """Stability limit of tokens that have met: longer steps leave them a tolerance apart."""
        return longest(STABLE, self.contraction)

    @at_time
    def failure(self, time: float, state: State) -> str | None:
        beyond = None if self.problem.manifold.is_sphere else out_of_range(state)
        if beyond is not None:
            return f"{beyond}. End before: z = e^{{-tV}} x, for mf.limit_shape, rests long since"
        lost = self.field.partition_error(self._points(state))
        if lost <= self.tolerance:
            return None
        return lost_digits(lost, self.tolerance, f"take at most {LARGEST_DIRECT_SUM} tokens")

    def diagnostics(self, time: float, state: State) -> dict[str, float]:
        """Dissipation of energy int Z |v|^2 dmu / strength, dE/dt along the flow."""
        return self._diagnostics(time, (self._points(state), None))

    def at_saved_time(
        self, time: float, state: State, max_degree: int
    ) -> tuple[Density | Measure, ModalArray, dict[str, float]]:
        space, points = self.problem.manifold, self._points(state)
        moments = space.moments(points, self.weights, max_degree)
        facts = self._diagnostics(time, (points, moments))
        return Measure(space, points, self.weights), moments, facts

    @at_time
    def _diagnostics(
        self, time: float, seen: tuple[FloatArray, ModalArray | None]
    ) -> dict[str, float]:
        problem = self.problem
        others = problem.terms or problem.has_labels or problem.layers
        # Energy is then no longer a function of the drift alone; heads may have none.
        if problem.flow.diffusivity or problem.attention or others:
            return {}
        return {"energy_dissipation": self.field.dissipation(*seen)}

    def _points(self, state: State) -> FloatArray:
        space = self.problem.manifold
        return space.retract(space.unflattened(state))[0]


def out_of_range(state: State) -> str | None:
    """Reason to end where tokens of R^d are so far out that their scores overflow."""
    if np.abs(state).max() <= _FARTHEST:
        return None
    return f"tokens are beyond {_FARTHEST:g}: their scores would leave the range of numbers"


def particles(
    problem: Problem,
    measure: Density | Measure,
    *,
    tokens: int | None = None,
    seed: int = 0,
    step: float | None = None,
    tolerance: float = DEFAULT_TOLERANCE,
) -> ParticleRepresentation:
    """Particles at given points, or drawn from a density; of axial measures they are rings."""
    check_movable(problem, measure)
    if isinstance(measure, LabelledDensity):
        raise ValueError(
            "tokens are not drawn from a law of labels: give them as points, in their order "
            "(from_points), with GivenFrequencies where they turn."
        )
    weights = None
    if isinstance(measure, Measure):
        points, weights = measure.points, measure.weights
    else:
        if tokens is None or tokens < 1:
            raise ValueError(f"particles drawn from a density need tokens >= 1, got {tokens}.")
        noisy = bool(problem.flow.diffusivity)
        check_tokens(tokens, math.prod(problem.manifold.point_shape), noisy)
        points = tokens_of(problem.manifold, measure, tokens, np.random.default_rng(seed))
    if problem.attention is not None:
        pair_weights(problem.attention.masking, len(points))  # refuses other numbers of tokens
    return ParticleRepresentation(
        problem,
        points.ravel(),
        weights,
        step=step,
        seed=seed,
        tolerance=tolerance,
        frequencies=token_frequencies(problem.frequencies, len(points), seed),
    )


def token_frequencies(law: Frequencies | None, count: int, seed: int) -> FloatArray | None:
    """Natural frequencies of tokens, given or drawn; None without a law.

    >>> import meanfield as mf
    >>> token_frequencies(mf.GivenFrequencies([0.3, -0.1]), 2, seed=0)
    array([ 0.3, -0.1])
    """
    if law is None:
        return None
    if isinstance(law, GivenFrequencies):
        if len(law.values) != count:
            raise ValueError(
                f"{len(law.values)} frequencies are given to {count} tokens: give one for each."
            )
        return law.values
    # A random stream that neither positions nor noise use.
    return law.draw(count, np.random.default_rng([seed, _OF_FREQUENCIES]))
