"""A density for each label: positions under a mask, or natural frequencies.

    d_t f_j = -div(f_j v[nu_j]) - omega_j d f_j / d theta + diffusivity * Laplacian f_j

with nu_j the measure that label j attends to (`labels`). Each density is stored in a frame that
turns with its frequency, where rotation is exact: attention and the largest frequency limit steps,
not degrees times frequencies. All labels have one degree, which doubles as spectra fill.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from dataclasses import field as derived
from functools import cached_property
from typing import ClassVar

import numpy as np

from meanfield.arrays import FixedArrays, FloatArray, ModalArray, State
from meanfield.carriers import step_limits
from meanfield.carriers.carrier import Representation
from meanfield.carriers.label_counts import (
    enough_labels,
    next_refinement,
    resolving_labels,
    too_few_labels,
)
from meanfield.carriers.options import labelled_degree
from meanfield.carriers.spectra import (
    EFOLDS,
    TRANSFORM_NOISE,
    LastSeen,
    courant_limit,
    first_degree,
    per_coefficient,
    visible,
)
from meanfield.fields.labelled import LabelledField, turned
from meanfield.labels import Labels
from meanfield.measures import Density, LabelledDensity, Measure
from meanfield.observables.resolution import Resolution, spectral_tail
from meanfield.problem import Problem
from meanfield.spaces.manifold import laplacian_eigenvalues
from meanfield.spectrum.stability import growth_rates
from meanfield.terms.matrices import matrix, turns_alone

_FIRST_DEGREE = 32
# Longest step times the largest frequency, which drives small moments that error control ignores.
# DOP853 follows e^{i omega t} to 1e-10 in such steps.
_TURN = 0.7

# Waves leave the band if the error of the mean exceeds this share of the tolerance.
_LEAVE_EARLY = 0.1


@dataclass(frozen=True, eq=False)
class _Resolution(Resolution):
    """Resolution of the worst label, and errors of the mean over labels."""

    label_error: float  # of the mean as it is computed
    sum_error: float  # of the plain sum


@dataclass(frozen=True, eq=False)
class LabelledRepresentation(Representation):
    """Pseudo-spectral densities, one a label."""

    problem: Problem
    labels: Labels
    # Coefficients of all labels, one after the other, each in its turning frame; then the time by
    # which the frames have turned.
    state: State
    tolerance: float  # densities are resolved while the tail of each is below it
    max_degree: int  # largest degree to which the grid may grow
    # Velocities, on a grid free of aliasing for the products of the equation.
    field: LabelledField = derived(init=False)
    name: str = derived(default="labelled", init=False)
    carries: ClassVar[frozenset[str]] = frozenset({"labels", "diffusion"})

    def __post_init__(self) -> None:
        degree = self.problem.manifold.degree_of(self._frames(self.state))
        grid = self.problem.manifold.grid(degree)
        object.__setattr__(self, "field", LabelledField(self.problem, self.labels, grid))

    @property
    def fixed(self) -> FixedArrays:
        labels = self.labels
        return {"refinement": np.asarray(labels.refinement), "band": np.asarray(labels.band)}

    def rhs(self, time: float, state: State) -> State:
        """Coefficients of -div(f_j v[nu_j]) + diffusivity * Laplacian f_j, and 1 for the time."""
        derivative = self.remainder(time, state)
        if self.problem.flow.diffusivity:
            derivative += self.linear_rates * state
        return derivative

    @cached_property
    def linear_rates(self) -> FloatArray:
        """Rates at which diffusion damps, one for each coefficient; 0 for the time."""
        space, degree = self.problem.manifold, self.field.grid.max_degree
        decay = -self.problem.flow.diffusivity * laplacian_eigenvalues(space.dimension, degree)
        rates = per_coefficient(space, decay).real
        return np.append(np.tile(rates, len(self.labels.values)), 0.0)

    def remainder(self, time: float, state: State) -> State:
        """Coefficients of -div(f_j v[nu_j]), and 1 for the time."""
        parts = self.parts(state)
        # Values that are not finite stay so, and the stepper rejects the step.
        with np.errstate(all="ignore"):
            velocities = self.field.velocities(parts, state[-1].real)
            change = -self.field.divergence(parts, velocities)
            if self.labels.turns:
                change = turned(self.labels, change, -state[-1].real)
        return np.append(change, 1.0)

    def parts(self, state: State) -> ModalArray:
        """Coefficients of each label, shape (M, ...)."""
        frames = self._frames(state)
        return turned(self.labels, frames, state[-1].real) if self.labels.turns else frames

    def measure(self, state: State) -> LabelledDensity:
        time = float(state[-1].real)
        return LabelledDensity.of(self.problem.manifold, self.parts(state), self.labels, time)

    def moments(self, state: State, max_degree: int) -> ModalArray:
        mean = self.labels.mean(self.parts(state), float(state[-1].real))
        mean[0] = 1.0
        return self.problem.manifold.resize(mean, max_degree)

    def tail(self, state: State) -> float:
        """Largest truncation error of a label."""
        return self._resolution(state).tail

    def largest_step(self, time: float, state: State) -> float:
        """Courant limit, as of a density; and a share of a turn at the largest frequency."""
        fastest, degree = self._resolution(state).fastest, self.field.grid.max_degree
        courant = courant_limit(degree, fastest, self.problem.flow.diffusivity)
        turn = step_limits.longest(_TURN, float(np.abs(self.labels.turning).max()))
        return min(turn, self._growth_limit, courant)

    def adapt(self, time: float, state: State) -> LabelledRepresentation | None:
        """Twice the degree as soon as a tail becomes visible, long before it matters."""
        resolution = self._resolution(state)
        leaves = (
            np.isfinite(self.labels.band) and resolution.label_error > _LEAVE_EARLY * self.tolerance
        )
        if leaves and resolution.sum_error < self.tolerance:
            # Waves leave the band: from now on the mean is the plain sum.
            return replace(self, state=state, labels=replace(self.labels, band=np.inf))
        lost = self.field.partition_error(self.parts(state), float(state[-1].real))
        full = self.tail(state) > max(visible(self.tolerance), lost)
        return self.refined(state, state) if full else None

    def refined(self, state: State, rejected: State) -> LabelledRepresentation | None:
        degree = self.field.grid.max_degree
        if degree >= self.max_degree:
            return None
        return replace(self, state=self._resized(state, min(2 * degree, self.max_degree)))

    def state_under(self, problem: Problem, state: State) -> State:
        degree = max(self.field.grid.max_degree, problem.unlabelled.kernel_degree)
        return self._resized(state, degree)

    def _resized(self, state: State, degree: int) -> State:
        return np.append(self.problem.manifold.resize(self._frames(state), degree), state[-1])

    def failure(self, time: float, state: State) -> str | None:
        resolution, least = self._resolution(state), max(self.tolerance, TRANSFORM_NOISE)
        lost = self.field.partition_error(self.parts(state), float(state[-1].real))
        if lost > least:
            return step_limits.lost_digits(lost, least)
        if not min(resolution.label_error, resolution.sum_error) <= least:
            return too_few_labels(self.labels, resolution.label_error, least)
        what = resolution.impossible(self.problem.manifold, step_limits.GROWN * least)
        if not resolution.tail < least:
            what = f"spectral tail {resolution.tail:.1e}"
        if what is None:
            return None
        degree = self.field.grid.max_degree
        other = "take particles, or a diffusivity, which limits how sharp a label becomes"
        return (
            f"under-resolved: {what}, of a label at degree {degree}; raise max_degree, or {other}"
        )

    def diagnostics(self, time: float, state: State) -> dict[str, float]:
        """Largest tail, degree, least value, number of labels, and error of the mean over them."""
        resolution = self._resolution(state)
        return {
            "tail": resolution.tail,
            "degree": float(self.field.grid.max_degree),
            "density_min": resolution.lowest,
            "labels": float(len(self.labels.values)),
            "label_error": resolution.label_error,
        }

    def advice(self, until: float) -> str:
        """Advice on labels for a run to a scaled time."""
        allowed, most = max(self.tolerance, TRANSFORM_NOISE), self.labels.most
        enough = enough_labels(self.problem, self.labels, allowed, until)
        advice = f"give labels = {enough}" if enough <= most else f"even {most} would not do"
        return f"{advice}; take a larger tolerance, or particles"

    def with_more_labels(self) -> LabelledRepresentation | None:
        """Initial representation with three times as many labels; None at the limit."""
        problem, more = self.problem, next_refinement(self.problem, self.labels)
        if more is None:
            return None
        return labelled(
            problem,
            problem.initial_measure(),
            tolerance=self.tolerance,
            max_degree=self.max_degree,
            count=len(self.labels.values) // self.labels.refinement,
            refinement=more,
        )

    def _frames(self, state: State) -> ModalArray:
        return np.reshape(state[:-1], (len(self.labels.values), -1))

    @cached_property
    def _resolution(self) -> LastSeen[_Resolution]:
        return LastSeen(self._watch)

    def _watch(self, state: State) -> _Resolution:
        """As `observables.resolution.watch`, for all labels."""
        space, grid, parts = self.problem.manifold, self.field.grid, self.parts(state)
        degree = grid.max_degree
        with np.errstate(all="ignore"):
            velocities = self.field.velocities(parts, float(state[-1].real))
            fastest = float(np.sqrt(grid.squared_norm(velocities).max()))
            sizes = np.max([space.sizes_by_degree(part) for part in parts], axis=0)
            tail = spectral_tail(sizes)
            if fastest != 0:
                beyond = self.field.divergence(parts, velocities, degree + (degree + 1) // 2)
                lost = np.array([space.sizes_by_degree(row)[degree + 1 :] for row in beyond])
                degrees = np.arange(degree + 1, degree + 1 + lost.shape[1])
                noise = self.field.attention.interaction.rounding * degrees
                tail = float(np.max((lost - noise) / (fastest * degrees), initial=tail))
            lowest = float(grid.to_nodal(parts).min())
            error = of_sum = self.field.label_error(parts)
            if np.isfinite(self.labels.band):
                error = self.field.label_error(self._frames(state))
            return _Resolution(tail, fastest, lowest, sizes, error, of_sum)

    @cached_property
    def _growth_limit(self) -> float:
        """Longest step by the growth rate about uniform."""
        alone = self.problem.unlabelled
        if self.problem.flow.diffusivity and alone.is_isotropic:
            rates = growth_rates(alone, alone.kernel_degree)
            return step_limits.longest(EFOLDS, float(rates.max()))
        return step_limits.longest(step_limits.LINEAR, step_limits.linear_rate(alone))


def labelled(
    problem: Problem,
    measure: Density | Measure,
    *,
    tolerance: float,
    max_degree: int | None = None,
    count: int | None = None,
    refinement: int = 1,
) -> LabelledRepresentation:
    """Densities of `count` * `refinement` labels."""
    if isinstance(measure, Measure):
        raise TypeError(
            "representation 'labelled' needs an initial density, got points. Use 'particles'."
        )
    if problem.own_terms:
        raise ValueError(
            f"densities of labels cannot carry {problem.own_terms[0].name}: use the representation "
            "'particles'."
        )
    space = problem.manifold
    step_limits.check_carries(problem, "labelled", LabelledRepresentation.carries)
    step_limits.check_movable(problem.unlabelled)
    if max_degree is None:
        max_degree = labelled_degree(problem)
    allowed = max(tolerance, TRANSFORM_NOISE)
    labels, parts = resolving_labels(problem, count, refinement, allowed)
    check_turning(problem, len(labels.values))
    sizes = np.max([space.sizes_by_degree(part) for part in parts], axis=0)
    first = first_degree(problem, sizes, "initial densities", max_degree, _FIRST_DEGREE)
    state = np.append(space.resize(parts, first), 0.0)
    return LabelledRepresentation(problem, labels, state, tolerance, max_degree)


def check_turning(problem: Problem, count: int) -> None:
    """Refuse rotary embeddings whose phases do not separate, or that need more labels."""
    of = problem.attention
    if of is None or of.rotary is None:
        return
    particles = "use the representation 'particles'."
    if not problem.manifold.is_circle:
        raise ValueError(
            f"densities of labels have rotary embeddings on the circle alone: {particles}"
        )
    for number, head in enumerate(of.heads, 1):
        both = (matrix("", each, 2, square=False) for each in (head.query, head.key))
        if not all(len(m) == 2 and turns_alone(m) for m in both):
            raise ValueError(
                f"head {number}: densities of labels have rotary embeddings if query and key turn "
                f"and stretch alone, as numbers do: {particles}"
            )
    # Positions of neighbours differ by at most about 2 / count, so they turn by two radians.
    if count < (turn := abs(of.rotary.length)):
        raise ValueError(
            f"{count} labels do not resolve a rotary embedding of length {turn:g}: give at least "
            f"{math.ceil(turn)} labels, or {particles}"
        )
