"""Many runs of N tokens that are drawn from one law, for studies of fluctuations.

Runs of few tokens move together, with sums over pairs. Without noise each run has its own adaptive
steps; with noise they take Strang's splitting, exact noise and the midpoint rule. Runs of many
tokens move one by one, by the relevant moments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.carriers.options import Options
from meanfield.carriers.particles import ParticleRepresentation
from meanfield.carriers.step_limits import (
    FEATURES,
    check_carries,
    check_movable,
    check_no_layers,
    check_step,
)
from meanfield.engines.threads import one_blas_thread
from meanfield.errors import SimulationError
from meanfield.fields.blocks import attention_output, tangential, unit_vectors
from meanfield.fields.mean_field import kernel_output
from meanfield.laws.sampling import tokens_of
from meanfield.measures import Density, Measure
from meanfield.problem import Problem
from meanfield.schemes.replicas import Numbers, replicas_at
from meanfield.spaces import MANIFOLDS
from meanfield.studies.study import check_runs, initial_density, rng_of
from meanfield.trajectory import trajectory

TOLERANCE = 1e-6
"""Tolerance of steps. Their errors grow like fluctuations: second moments of 24,000 runs err by
less than a thousandth of their standard errors."""

# Tokens of the runs in a block.
_TOKENS_AT_ONCE = 2**15
# Coordinates of the runs that move together: their stages stay in cache.
_COORDINATES_AT_ONCE = 2**17
# Runs of more tokens are faster one by one, by moments.
_FEW_TOKENS = 128
# Runs by moments in a block.
_RUNS_AT_ONCE = 10

Velocity = Callable[[FloatArray], FloatArray]
"""Velocities (R, n, d) of tokens of many runs, tangent to the manifold."""


@dataclass(frozen=True, eq=False)
class TokenRuns:
    """Runs of one problem and number of tokens, without their random numbers."""

    problem: Problem
    density: Density  # law of the tokens
    tokens: int  # N
    times: FloatArray  # (n_times,): scaled
    seed: int
    tolerance: float  # largest error of a token in a step
    step: float | None  # longest step of noisy tokens

    @property
    def length(self) -> int:
        """Number of runs of a block; blocks that move together always draw all of them."""
        return max(1, _TOKENS_AT_ONCE // self.tokens) if self.together else _RUNS_AT_ONCE

    @property
    def together(self) -> bool:
        return moves_together(self.problem, self.tokens)

    def blocks(self, runs: int) -> list[range]:
        """Numbers of the runs of each block, which is one task."""
        return [range(at, min(at + self.length, runs)) for at in range(0, runs, self.length)]

    def points(self, runs: range) -> Iterator[tuple[int, int, FloatArray]]:
        """Tokens of a block: (row in the block, index of the time, points), in any order."""
        return self._together(runs) if self.together else self._one_by_one(runs)

    def _together(self, runs: range) -> Iterator[tuple[int, int, FloatArray]]:
        space = self.problem.manifold
        rng = rng_of(self.seed, self.tokens, runs.start // self.length)
        # Noise is drawn for the whole block, so that it does not depend on the number of runs.
        moved = self.length if self.step is not None else len(runs)
        points = tokens_of(space, self.density, self.length * self.tokens, rng)
        start = space.vectors(points).reshape(self.length, self.tokens, -1)[:moved]
        for numbers, indices, x in self._states(start, rng):
            for number, index, tokens in zip(numbers, indices, x, strict=True):
                if number < len(runs):
                    yield int(number), int(index), space.points_of(tokens)

    def _one_by_one(self, runs: range) -> Iterator[tuple[int, int, FloatArray]]:
        for row, run in enumerate(runs):
            rng = rng_of(self.seed, self.tokens, run)
            points = tokens_of(self.problem.manifold, self.density, self.tokens, rng)
            start = Measure(self.problem.manifold, points)
            noise = 0 if self.step is None else int(rng.integers(2**63))
            stream = moved_by_moments(
                self.problem, start, self.times, self.tolerance, self.step, noise
            )
            for index, tokens in enumerate(stream):
                yield row, index, tokens.points

    def _states(
        self, start: FloatArray, rng: np.random.Generator
    ) -> Iterator[tuple[Numbers, Numbers, FloatArray]]:
        """Numbers of runs, indices of the times that they reach, and their tokens (m, n, d)."""
        if self.step is not None:
            with one_blas_thread():
                yield from self._noisy(pair_velocity(self.problem), start, rng)
        elif self.times[-1] == 0.0:
            yield np.arange(len(start)), np.zeros(len(start), dtype=np.int64), start
        else:
            yield from moved_together(self.problem, start, self.times, self.tolerance)

    def _noisy(
        self, velocity: Velocity, start: FloatArray, rng: np.random.Generator
    ) -> Iterator[tuple[Numbers, Numbers, FloatArray]]:
        """Strang's splitting with equal steps between times: half a noise, drift, half a noise."""
        assert self.step is not None
        space, diffusivity = self.problem.manifold, self.problem.flow.diffusivity
        dimension, numbers = space.dimension, np.arange(len(start))

        def diffused(x: FloatArray, time: float) -> FloatArray:
            points = space.points_of(x.reshape(-1, x.shape[-1]))
            shape = (len(points),) if dimension == 1 else (len(points), dimension)
            moved = space.diffuse(points, diffusivity * time, rng.standard_normal(shape))
            return space.vectors(moved).reshape(x.shape)

        x, reached = start, 0.0
        for index, time in enumerate(self.times):
            steps = math.ceil((time - reached) / self.step)
            h = (time - reached) / max(steps, 1)
            for number in range(steps):
                x = diffused(x, 0.5 * h if number == 0 else h)
                middle = x + 0.5 * h * velocity(x)
                x = unit_vectors(x + h * velocity(middle))
                if number == steps - 1:
                    x = diffused(x, 0.5 * h)
            yield numbers, np.full(len(start), index), x
            reached = float(time)


def moves_together(problem: Problem, tokens: int) -> bool:
    """True if runs of `tokens` tokens move together."""
    # Sinkhorn's weights are found for one system at a time.
    together = problem.normalization != "sinkhorn" and not problem.terms
    return tokens <= _FEW_TOKENS and together


def token_runs(
    problem: Problem,
    tokens: int,
    times: Sequence[float] | FloatArray,
    runs: int,
    *,
    seed: int,
    tolerance: float,
    step: float | None,
    what: str,
) -> TokenRuns:
    """Checked `TokenRuns`; messages name their purpose `what`.

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA)
    >>> of = token_runs(problem, 200, [1.0], 20, seed=0, tolerance=1e-6, step=None, what="means")
    >>> of.blocks(20), [points.shape for _, _, points in of.points(range(2))]
    ([range(0, 10), range(10, 20)], [(200,), (200,)])
    """
    check_runs((tokens,), "runs", runs, 2, seed)
    Options(tolerance=tolerance, step=step)
    space = problem.manifold
    if space.name not in MANIFOLDS:
        raise ValueError(
            f"{what} are measured on the circle and the sphere, got {space.name}: "
            "mf.merging_diagram has pairs of tokens in R^d."
        )
    problem.check_one_stage()
    check_no_layers(problem, what)
    check_carries(problem, what, FEATURES - {"labels"})
    wanted = np.asarray(times, dtype=np.float64)
    if not len(wanted) or wanted[0] < 0.0 or np.any(np.diff(wanted) <= 0.0):
        raise ValueError(f"times must be increasing and not negative, got {list(times)}.")
    check_step(problem, step)
    density = initial_density(problem)
    check_movable(problem)
    return TokenRuns(problem, density, tokens, wanted, seed, tolerance, step)


def moved_together(
    problem: Problem, start: FloatArray, times: FloatArray, tolerance: float
) -> Iterator[tuple[Numbers, Numbers, FloatArray]]:
    """Tokens (R, n, d) of many runs under their own attention, see `replicas_at`."""
    velocity = pair_velocity(problem)
    count = max(1, _COORDINATES_AT_ONCE // start[0].size)
    try:
        with one_blas_thread():
            for first in range(0, len(start), count):
                for numbers, indices, x in replicas_at(
                    lambda _, x: velocity(x),
                    start[first : first + count],
                    times,
                    tolerance=tolerance,
                    retract=unit_vectors,
                ):
                    yield first + numbers, indices, x
    except FloatingPointError as error:
        raise SimulationError(0.0, 0, str(error)) from None


def moved_by_moments(
    problem: Problem,
    start: Measure,
    times: FloatArray,
    tolerance: float,
    step: float | None = None,
    seed: int = 0,
) -> Iterator[Measure]:
    """Tokens of one run, moved by the relevant moments, at each of some times.

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.linear(), mf.USA)
    >>> start = mf.from_points([0.0, np.pi / 2]).build(mf.Circle())
    >>> [after] = moved_by_moments(problem, start, np.array([20.0]), 1e-10)
    >>> after.points.round(6)
    array([0.785398, 0.785398])
    """
    carried = ParticleRepresentation(
        problem, start.points.ravel(), start.weights, step=step, seed=seed, tolerance=tolerance
    )
    for snapshot in trajectory(problem, carried, times, tolerance=tolerance):
        assert isinstance(snapshot.measure, Measure)
        yield snapshot.measure


def pair_velocity(problem: Problem) -> Velocity:
    """Velocity P_x A(x) of tokens of many runs, each in its own field, summed over pairs.

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.linear(), mf.USA)
    >>> pair_velocity(problem)(np.eye(2)[None]) * 2.0
    array([[[0., 1.],
            [1., 0.]]])
    """
    heads = problem.matrices

    def velocity(x: FloatArray) -> FloatArray:
        if heads is None:
            return tangential(x, kernel_output(problem, x, None))
        how, scale, log_sink = problem.normalization, problem.log_scale, problem.log_sink
        output = attention_output(x, heads, normalization=how, log_scale=scale, log_sink=log_sink)
        return tangential(x, output)

    return velocity
