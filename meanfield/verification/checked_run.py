"""Checks and their results; their input: a run, its problem, and its motion."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, wraps
from typing import ParamSpec

import numpy as np

from meanfield.arrays import FloatArray, ModalArray
from meanfield.carriers.options import Options
from meanfield.carriers.spectra import TRANSFORM_NOISE
from meanfield.carriers.step_limits import GROWN
from meanfield.engines.partition import floored
from meanfield.fields.head_pairs import tilted
from meanfield.fields.interactions import attended, interaction_of
from meanfield.fields.mean_field import Interaction
from meanfield.fields.tokens import LARGEST_DIRECT_SUM, TokenField
from meanfield.measures import Density, LabelledDensity, Measure
from meanfield.problem import Problem
from meanfield.results.report import rows_html
from meanfield.runs import KEEP_STATES, Run, stored_section
from meanfield.spaces import Manifold

ROUNDING = 1e-12
"""Rounding of velocities and moments, relative to their bounds: transforms to scattered points are
accurate to 1e-13 and their sums to a few times that."""


# Most operations (pairs of points, some 1e-7 s each) of a sample; operations per coefficient of a
# density.
_SAMPLE_WORK, _TRANSFORM = 6e7, 50.0


def spread_over(items: Sequence[int], work: Sequence[float], most: float) -> list[int]:
    """Items spread over a sequence, in van der Corput's order, as many as `most` work allows."""
    bits = max(len(items) - 1, 1).bit_length()
    order = sorted(range(len(items)), key=lambda i: int(f"{i:0{bits}b}"[::-1], 2))
    chosen, spent = [], 0.0
    for i in order:
        if spent + work[i] <= most:
            chosen.append(items[i])
            spent += work[i]
    return chosen


@dataclass(frozen=True, eq=False)
class Motion:
    """Motion of a saved measure in the field that it creates."""

    power: float  # int |v|^2 dmu
    dissipation: float  # int Z |v|^2 dmu, NaN where Z is not computed
    # Largest entry of int (x v^T - v x^T) dmu in modulus, on the circle |int v dmu|; NaN for
    # axial measures.
    torque: float
    fastest: float  # largest speed


@dataclass(frozen=True, eq=False)
class CheckedRun:
    """A run, its problem, and the motion of its states, computed once for all checks."""

    run: Run

    @cached_property
    def problem(self) -> Problem:
        """Problem of the run; NotApplicable if it has none, or functions of time."""
        try:
            problem = self.run.problem
        except ValueError as error:
            raise NotApplicable(str(error).removesuffix(".")) from error
        if problem.time_functions:
            raise NotApplicable("parameters are functions of time")
        return problem

    @cached_property
    def problem_or_none(self) -> Problem | None:
        """Problem of the run, or None where `problem` does not apply."""
        try:
            return self.problem
        except NotApplicable:
            return None

    @cached_property
    def space(self) -> Manifold:
        return self.problem_or_none.manifold if self.problem_or_none else self.run.manifold

    def problem_at(self, save: int) -> Problem:
        """Problem of the stage in which a save lies."""
        return self.run.problem_at(save)

    def problems_between(self, first: int, last: int) -> tuple[Problem, ...]:
        """Problems of the stages between two saves."""
        staged = self.problem.staged
        if len(staged) < 2:
            return staged
        ends = [staged.index(self.run.problem_at(save)) for save in (first, last)]
        return staged[ends[0] : ends[1] + 1]

    @cached_property
    def saves(self) -> tuple[int, ...]:
        return tuple(i for i, each in enumerate(self.run.measures) if each is not None)

    @cached_property
    def sample(self) -> tuple[int, ...]:
        """Saves whose velocities and energies are computed: all, or a part if all take long."""
        chosen = spread_over(self.saves, [self.size(save) for save in self.saves], _SAMPLE_WORK)
        return tuple(sorted(chosen)) or self.saves[:1]

    @property
    def sample_note(self) -> str:
        """Note of the number of checked states, if not all."""
        if len(self.sample) == len(self.saves):
            return ""
        return f"; {len(self.sample)} of {len(self.saves)} states, as all would take long"

    def size(self, save: int) -> float:
        """Operations of a velocity: of pairs of points, or of transforms of a density."""
        measure = self.run.measures[save]
        if isinstance(measure, LabelledDensity):
            return _TRANSFORM * measure.parts.size
        if isinstance(measure, Density):
            return _TRANSFORM * measure.coefficients.size
        return (
            float(len(measure.points) * min(len(measure.points), LARGEST_DIRECT_SUM))
            if measure
            else 0
        )

    @property
    def no_states(self) -> str:
        """Message of checks that lack states."""
        return f"no state was kept or loaded: {KEEP_STATES}"

    @cached_property
    def tolerance(self) -> float:
        return self.options.step_tolerance

    @cached_property
    def cell_tolerance(self) -> float:
        if self.problem_or_none is None:
            return self.tolerance
        return self.options.cell_tolerance(self.problem_or_none)

    @cached_property
    def options(self) -> Options:
        """Options of the run, defaults if it does not store them."""
        try:
            section = stored_section(self.run, "representation") or {}
            options_stored = {
                each.name: section[each.name] for each in fields(Options) if each.name in section
            }
            step = (stored_section(self.run, "time") or {}).get("step")
            if step is not None:
                options_stored["step"] = float(step) * self.run.unit_length
            return Options(**options_stored)
        except (ValueError, TypeError, AttributeError):
            return Options()

    def tolerance_at(self, save: int) -> float:
        """Tolerance of the carrier at a save; atoms have that of characteristics."""
        fine = self.run.representation[save] in ("density", "particles")
        return self.tolerance if fine else max(self.tolerance, self.cell_tolerance)

    def grown(self, save: int) -> float:
        """Largest error of steps after its growth, as the run itself allowed."""
        return GROWN * max(self.tolerance_at(save), TRANSFORM_NOISE)

    @cached_property
    def moments(self) -> ModalArray:
        """Stored moments, packed."""
        return np.array([self.space.packed(moments) for moments in self.run.moments])

    @cached_property
    def still(self) -> str:
        """Why velocities of saved states are not computed, else empty."""
        problem = self.problem
        if not self.saves:
            return self.no_states
        if problem.has_labels:
            return "tokens have labels, and see different measures"
        if not problem.layering.keeps_time:
            return "layers move tokens, no flow"
        return ""

    @cached_property
    def motions(self) -> dict[int, Motion]:
        """Motions of the sampled states, by save; empty if `still` is not."""
        if self.still:
            return {}
        by_save = {}
        for save in self.sample:
            measure = self.run.measures[save]
            if measure is not None:
                by_save[save] = motion(self.problem_at(save), measure, self.tolerance)
        return by_save


def motion(problem: Problem, measure: Density | Measure, tolerance: float) -> Motion:
    """Motion of a measure under a problem without labels."""
    if isinstance(measure, LabelledDensity):
        raise ValueError("labels see different measures: their motion is not one of theirs.")
    if isinstance(measure, Density):
        return _of_density(problem, measure)
    space, x, masses = problem.manifold, measure.points, measure.mass
    velocity = TokenField(problem, attended(problem), measure.weights, tolerance).velocity(x)
    squared, partition = space.squared_norm(velocity), _partition(problem, measure)
    return _summed(problem, x, masses, velocity, squared, partition)


def _of_density(problem: Problem, density: Density) -> Motion:
    space, interaction = problem.manifold, interaction_of(problem)
    grid = space.grid(max(density.max_degree, problem.kernel_degree))
    coefficients = space.resize(density.coefficients, grid.max_degree)
    field = interaction.of_density(coefficients)
    moving, below = field.on_nodes(grid)
    masses = grid.weights * grid.to_nodal(coefficients)
    squared = grid.squared_norm(moving)
    if problem.normalization != "softmax":
        partition: FloatArray | None = np.ones(len(masses))
    elif isinstance(interaction, Interaction):
        partition = None if below is None else below / interaction.scale
    else:
        partition = None
    x = grid.points
    # The torque needs components along axes of space, not along those of the grid.
    velocity = field.velocity(x) if space.point_shape else moving
    return _summed(problem, x, masses, velocity, squared, partition)


def _summed(
    problem: Problem,
    points: FloatArray,
    masses: FloatArray,
    velocity: FloatArray | None,
    squared: FloatArray,
    partition: FloatArray | None,
) -> Motion:
    space = problem.manifold
    if velocity is None or space.has_rings:
        torque = np.nan
    elif velocity.ndim == 1:
        torque = abs(float(masses @ velocity))
    else:
        turned = (space.vectors(points) * masses[:, None]).T @ velocity
        torque = float(np.abs(turned - turned.T).max())
    present = masses > 0.0
    return Motion(
        power=float(masses @ squared),
        dissipation=np.nan if partition is None else float(masses @ (partition * squared)),
        torque=torque,
        fastest=float(np.sqrt(squared[present].max(initial=0.0))),
    )


def _partition(problem: Problem, measure: Measure) -> FloatArray | None:
    """Z at weighted points; None for several heads, for too many tokens, and without harmonics."""
    space, points = problem.manifold, measure.points
    if problem.normalization != "softmax":
        return np.ones(len(points))
    heads = problem.matrices
    few = heads is not None and len(heads) == 1 and len(points) <= LARGEST_DIRECT_SUM
    if few and heads is not None and not space.has_rings:
        x, (head,) = space.vectors(points), heads
        scale = 0.0 if not space.is_sphere else problem.beta
        if problem.attention is None:
            scale = abs(problem.beta)
        log_sink = problem.log_sink
        logs = tilted(x @ head.score, x, measure.mass, log_sink=log_sink).log_partition
        return np.exp(logs - scale)
    interaction = attended(problem)
    if not isinstance(interaction, Interaction) or not space.has_series:
        return None
    coefficients = interaction.of_points(points, measure.weights).partition
    if coefficients is None:
        return None
    return floored(space.evaluate(coefficients, points)) / interaction.scale


_WIDTH, _BENEATH = 79, 4 * " "


@dataclass(frozen=True)
class Check:
    """One check of a run: a number and its bound, None if nothing is measured."""

    name: str
    passed: bool | None  # None if the check does not apply to the run
    measured: float | None
    allowed: float | None
    note: str  # what the number is, and the reason of its bound; or why the check does not apply

    @property
    def result(self) -> str:
        """Result: 'pass', 'fail' or 'n/a'."""
        return "n/a" if self.passed is None else "pass" if self.passed else "fail"


class NotApplicable(Exception):
    """A check does not apply to a run; the message is the reason."""


P = ParamSpec("P")


def check(name: str) -> Callable[[Callable[P, Check]], Callable[P, Check]]:
    """Decorator that names a check, and returns a check without result on `NotApplicable`."""

    def decorate(make: Callable[P, Check]) -> Callable[P, Check]:
        @wraps(make)
        def named(*args: P.args, **options: P.kwargs) -> Check:
            try:
                return replace(make(*args, **options), name=name)
            except NotApplicable as reason:
                return Check(name, None, None, None, str(reason))

        return named

    return decorate


def measured(value: float, allowed: float, note: str) -> Check:
    """Check that a number is at most `allowed`; NaN fails."""
    return Check("", bool(value <= allowed), float(value), float(allowed), note)


def verdict(passed: bool, note: str) -> Check:
    """Check without a number."""
    return Check("", bool(passed), None, None, note)


@dataclass(frozen=True)
class Verification:
    """Checks of a run; `print` shows a table.

    >>> verification = Verification([Check("mass", True, 0.0, 1e-9, "|mass - 1|")])
    >>> verification.passed, verification["mass"].result
    (True, 'pass')
    """

    checks: Sequence[Check]

    @property
    def passed(self) -> bool:
        """True if no check failed."""
        return not self.failed

    @property
    def failed(self) -> tuple[Check, ...]:
        """Checks that failed."""
        return tuple(check for check in self.checks if check.passed is False)

    def __getitem__(self, name: str) -> Check:
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(f"{name!r} is no check: {', '.join(check.name for check in self.checks)}.")

    @property
    def summary(self) -> str:
        """One line: names of failed checks, or the number of passed ones."""
        done = [check for check in self.checks if check.passed is not None]
        left = len(self.checks) - len(done)
        beside = f"; {left} not applicable" if left else ""
        if self.failed:
            names = ", ".join(check.name for check in self.failed)
            return f"failed: {names} ({len(self.failed)} of {len(done)} checks){beside}"
        return f"passed: {len(done)} check{'s' if len(done) != 1 else ''}{beside}"

    def __str__(self) -> str:
        head = ("check", "result", "measured", "allowed")
        rows = [head, *(_cells(check) for check in self.checks)]
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        indent = " " * (widths[0] + 2)
        lines: list[str] = []
        reasons: dict[str, str] = {}
        for row, check in zip(rows, [None, *self.checks], strict=True):
            name, result = (cell.ljust(w) for cell, w in zip(row[:2], widths[:2], strict=True))
            numbers = [cell.rjust(w) for cell, w in zip(row[2:], widths[2:], strict=True)]
            note = "" if check is None else check.note
            if check is not None and check.measured is None:
                note_text = f"as for {reasons[note]}" if note in reasons else note
                reasons.setdefault(note, check.name)
                lines.append(_filled(note_text, f"{name}  {result}  ", indent))
                continue
            lines.append("  ".join([name, result, *numbers]).rstrip())
            if note:
                lines.append(_filled(note, _BENEATH, _BENEATH))
        return "\n".join([*lines, "", self.summary])

    def _repr_html_(self) -> str:
        cells = [(*_cells(check), check.note) for check in self.checks]
        return rows_html(("check", "result", "measured", "allowed", "note"), cells)


def _filled(text: str, first: str, others: str) -> str:
    return textwrap.fill(text, _WIDTH, initial_indent=first, subsequent_indent=others)


def _cells(check: Check) -> tuple[str, str, str, str]:
    return check.name, check.result, _number(check.measured), _number(check.allowed)


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return "nan" if math.isnan(value) else f"{value:.3g}"
