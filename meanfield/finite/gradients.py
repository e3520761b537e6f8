"""Derivatives of an observable at the end of a run with respect to parameters, by one sweep.

For an observable J, a density run f' = F(f; p) from f_0(p), and its backward sweep psi,

    dJ/dp_i = d_i J + int psi_0 d_i f_0 + sum over stages of steps of int w d_i F(f)

with the field w of each stage (`path.adjoint`). This is the exact derivative of the computed run,
with the number and shares of its steps fixed. F depends on the numbers of `fields.parameters` and
on the lengths of the problem's stages. The sweep differentiates int w F with respect to all of
them. Their derivatives with respect to p are differences of order six, taken once, without a run.
So the cost of the sweep does not depend on the number of parameters.

Sanz-Serna, Symplectic Runge-Kutta schemes for adjoint equations, SIAM Review 58 (2016), 3-33.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from meanfield.arguments import check_returned, checked
from meanfield.arrays import FloatArray, ModalArray
from meanfield.engines.threads import one_blas_thread
from meanfield.fields.heads import heads_interaction
from meanfield.fields.linearised import LinearisedFlow
from meanfield.fields.parameters import Numbers, by_heads, dependence, numbers_of
from meanfield.finite.influence import NAMED, WEIGHTS, Functional, finite_variation, swept
from meanfield.finite.path import Path, Settings, Step, check_linearised, density_of, resolved
from meanfield.problem import Problem
from meanfield.spectrum.time_units import time_unit

# Relative step h of differences: their error is h^6 / 140 and rounding / h.
_STEP = 4e-3
_LEAST_SHARE = 1e-2


@dataclass(frozen=True, eq=False)
class Gradient:
    """An observable J at the end of a run, and its derivatives dJ/dp_i (n,) at the parameters p.

    - degree: degree of the density and the backward sweep.
    - steps: number of steps of the run, of twelve stages each.
    - memory: bytes of the kept states, at most 512, and of the states between two of them.
    - tail: largest coefficient of the sweep near the last degree, as a share of the largest.
    """

    parameters: FloatArray
    value: float
    gradient: FloatArray
    degree: int
    steps: int
    memory: int
    tail: float


@checked
def gradient(
    problem_of: Callable[[FloatArray], Problem],
    parameters: npt.ArrayLike,
    observable: Functional,
    *,
    until: float,
    unit: str = "scaled",
    degree: int | None = None,
    tolerance: float = 1e-10,
    step: npt.ArrayLike | None = None,
) -> Gradient:
    """Derivatives of an observable at the end of a run, by one backward sweep.

    Everything may depend on p: kernels, heads, strengths, fixed fields, diffusivities, stages and
    their ends, the initial density. The run is that of a density at a fixed degree; it differs from
    `mf.simulate` by the order of the tolerance.

    Parameters
    ----------
    problem_of : callable (parameters) -> Problem
        A problem of densities on the circle or the sphere, smooth in p. The manifold, the
        normalization, and the numbers of stages and heads are the same for all p.
    parameters : array_like, shape (n,)
        p.
    observable : str or callable (moments) -> float
        "energy", or a function of packed moments, such as `lambda m: abs(m[2]) ** 2`.
    until : float
        End time, the same for all p.
    unit : str
        Unit of `until` and the ends of stages: "scaled", "paper" or "growth". These numbers are
        fixed. So without softmax, derivatives with respect to beta at a fixed "paper" time differ
        from those at a fixed scaled time.
    degree : int, optional
        Degree of the density and the sweep; by default it rises until both are resolved.
    tolerance : float
        Tolerance of steps and of truncation.
    step : float or array, optional
        Step of differences in p, which take three steps to either side. Default: 4e-3 of each
        parameter, at least 4e-5 and at most 4e-3, and 4e-3 where it is 0.

    Raises
    ------
    TypeError
        If problem_of returns no Problem, or the initial law gives points.
    ValueError
        If a parameter or the observable is not finite. If the problems differ as above, have a kink
        within the steps, or one cannot be made. If the flow has no linearisation (`mf.influence`).
    SimulationError
        If the largest degree does not resolve the run or the sweep up to the end.

    See Also
    --------
    influence : its `coefficients` are the derivative with respect to the initial density.

    Examples
    --------
    About uniform modes grow at their own rates, c_2(t) = c_2(0) e^{lambda_2(beta) t}:

    >>> import meanfield as mf
    >>> def problem(p):
    ...     law = mf.from_density([1.0, 0.0, 1e-9])
    ...     return mf.Problem(mf.Circle(), mf.exponential(p[0]), mf.SA, law)
    >>> slope = mf.gradient(problem, [5.0], lambda m: 1e9 * m[2].real, until=1.0)
    >>> rate = [mf.growth_rates(problem([b]), 2)[2] for b in (5 - 1e-4, 5.0, 5 + 1e-4)]
    >>> slope.gradient.round(6), np.round(np.exp(rate[1]) * (rate[2] - rate[0]) / 2e-4, 6)
    (array([-0.088738]), np.float64(-0.088738))
    """
    at = np.array(parameters, dtype=np.float64)
    if at.ndim != 1 or not np.isfinite(at).all():
        raise ValueError(f"parameters must be a vector of finite numbers, got {parameters!r}.")
    near = _Neighbours(problem_of, at, _steps(at, step))
    problem = near.problem
    check_linearised(problem)
    end = until * time_unit(problem, unit)
    settings = Settings(problem, (0.0, end), degree, tolerance, unit=unit)

    def gradient_along(path: Path) -> Gradient:
        last = finite_variation(path.ended_in, observable, path.last)
        sums = _Sums(path, near)
        sweep = swept(path, last.field[None], settings.allowed, sums.add)
        slopes = sums.slopes(until, unit) + near.slopes(
            lambda each: _start(each, path, sweep.coefficients[0])
        )
        if isinstance(observable, str):
            named, interval = NAMED[observable], path.steps[-1].interval
            slopes += near.slopes(lambda each: np.asarray(named(each.staged[interval], path.last)))
        return Gradient(
            at, last.value, slopes, path.degree, len(path.steps), path.memory, sweep.tail
        )

    with one_blas_thread():
        return resolved(settings, gradient_along)


def _start(problem: Problem, path: Path, psi: ModalArray) -> FloatArray:
    """Int psi_0 f_0."""
    space = path.space
    initial = space.resize(density_of(problem).coefficients, path.degree)
    return np.asarray(space.inner(psi, initial))


def _steps(at: FloatArray, sizes: npt.ArrayLike | None) -> FloatArray:
    if sizes is None:
        usual = _STEP * np.clip(np.abs(at), _LEAST_SHARE, 1.0)
        return np.where(at == 0.0, _STEP, usual)
    steps = np.broadcast_to(np.asarray(sizes, dtype=np.float64), at.shape)
    if not (np.isfinite(steps).all() and (steps > 0.0).all()):
        raise ValueError(f"step must be positive and finite, got {sizes!r}.")
    return steps


class _Neighbours:
    """Problems at p and at steps away from it, each built once, for differences."""

    def __init__(
        self, problem_of: Callable[[FloatArray], Problem], at: FloatArray, steps: FloatArray
    ) -> None:
        self._of, self._at, self._steps = problem_of, at, steps
        self.problem = self._problem(at)
        self._about = [
            [
                (s * weight / step, self._shifted(i, s * n * step))
                for n, weight in enumerate(WEIGHTS[1], 1)
                for s in (1, -1)
            ]
            for i, step in enumerate(steps)
        ]

    @property
    def all(self) -> list[Problem]:
        return [self.problem, *(each for about in self._about for _, each in about)]

    def slopes(self, number: Callable[[Problem], FloatArray]) -> FloatArray:
        """Derivatives of a number with respect to p."""
        return np.array(
            [sum(weight * number(each) for weight, each in about) for about in self._about],
            dtype=np.float64,
        )

    def check_smooth(self, numbers: Callable[[Problem], FloatArray], what: str) -> None:
        """Refuse numbers with a kink within the steps, by a ValueError.

        Second differences over one, two and three steps have the ratios 1 : 4 : 9 or 1 : 16 : 81
        for smooth numbers, and 1 : 2 : 3 about a kink.
        """
        here = numbers(self.problem)
        for i, about in enumerate(self._about):
            of = [numbers(each) for _, each in about]
            one, two, three = (np.abs(of[j] + of[j + 1] - 2.0 * here) for j in (0, 2, 4))
            smooth = three < 1e-11 * (1.0 + np.abs(here))
            for power in (2, 4):
                parts = np.abs(two / 2**power - one), np.abs(three / 3**power - one)
                smooth |= np.maximum(*parts) < 0.15 * one
            if not np.all(smooth):
                raise ValueError(
                    f"there are no derivatives near parameter {i} = {self._at[i]:g}, within three "
                    f"steps of {self._steps[i]:g}: {what}"
                )

    def _problem(self, at: FloatArray) -> Problem:
        return check_returned("problem_of(parameters)", self._of(at.copy()), Problem)  # type: ignore[no-any-return]

    def _shifted(self, i: int, change: float) -> Problem:
        at = self._at.copy()
        at[i] += change
        try:
            neighbour = self._problem(at)
        except ValueError as error:
            raise ValueError(
                f"problem_of fails near parameter {i} = {self._at[i]:g}, at {at[i]:g}: {error} "
                f"Differences need it there: give a smaller step than {self._steps[i]:g}."
            ) from error
        first = self.problem
        for what, one, other in (
            ("manifold", first.manifold.name, neighbour.manifold.name),
            ("number of stages", len(first.staged), len(neighbour.staged)),
            ("normalization", *([e.normalization for e in p.staged] for p in (first, neighbour))),
            (
                "number of heads",
                *([len(e.heads or ()) for e in p.staged] for p in (first, neighbour)),
            ),
        ):
            if one != other:
                raise ValueError(
                    f"problem_of must give problems of one {what}: {one} became {other} as "
                    f"parameter {i} went from {self._at[i]:g} to {at[i]:g}."
                )
        return neighbour


class _Sums:
    """Derivatives of J with respect to the numbers and the length of each stage of the problem."""

    def __init__(self, path: Path, near: _Neighbours) -> None:
        self._path, self._near = path, near
        intervals = range(len(path.problems))
        # A kernel that becomes heads as p changes counts as a head.
        self._heads = [any(each.staged[n].attention for each in near.all) for n in intervals]
        self._numbers: dict[int, Numbers] = {}
        self._moved = [0.0 for _ in intervals]

    def add(self, step: Step, flow: LinearisedFlow, weight: ModalArray) -> None:
        """Add one stage of a step, with its field w."""
        interval, problem = step.interval, self._path.problems[step.interval]
        # All steps lengthen in proportion to their stage of the problem.
        self._moved[interval] += self._path.space.inner(weight[0], flow.transport)
        if self._heads[interval]:
            mean_field = by_heads(flow.interaction, problem)
            if mean_field is not flow.interaction:
                flow = LinearisedFlow(mean_field, flow.grid, flow.density, flow.diffusivity)
        dependence_on_numbers = dependence(flow, weight[0])
        so_far = self._numbers.get(interval)
        if so_far is not None:
            dependence_on_numbers = tuple(
                a + b for a, b in zip(so_far, dependence_on_numbers, strict=True)
            )
        self._numbers[interval] = dependence_on_numbers

    def slopes(self, until: float, unit: str) -> FloatArray:
        """Derivatives of J with respect to p, by the chain rule for numbers and lengths."""

        def lengths(problem: Problem) -> FloatArray:
            ends = [stage.end or until for stage in problem.stages[:-1]]
            times = np.minimum([0.0, *ends, until], until)
            return np.diff(times) * time_unit(problem, unit) / self._clock(problem)

        self._near.check_smooth(
            lengths,
            f"lengths of stages in {unit} time have a kink, as where a stage ends at until, or "
            'other weights become the largest, which only unit = "paper" does not mind.',
        )
        if any(each.terms or each.flow.diffusivity for each in self._path.problems):
            self._near.check_smooth(
                lambda each: np.asarray(self._clock(each)),
                "diffusion and fixed fields are rates on a clock that has a kink, as where other "
                "weights become the largest.",
            )
        whole = lengths(self._near.problem)
        rates = np.array(self._moved) / np.where(whole > 0.0, whole, 1.0)
        total = self._near.slopes(lambda each: np.asarray(rates @ lengths(each)))
        for interval, sums in self._numbers.items():
            total += self._near.slopes(partial(self._weighted, interval, sums))
        return total

    def _clock(self, problem: Problem) -> float:
        """Speed of a problem on the clock at p, relative to its own, which has kinks in p."""
        return float(np.exp(problem.log_scale - self._near.problem.log_scale))

    def _weighted(self, interval: int, sums: Numbers, problem: Problem) -> FloatArray:
        """Numbers of a problem times the derivatives of J with respect to them."""
        degree = self._path.problems[interval].kernel_degree
        numbers = numbers_of(
            problem.staged[interval], self._path.grid, degree, self._heads[interval]
        )
        diffusivity, fixed, *own = (self._clock(problem) * each for each in numbers)
        if self._heads[interval]:
            # The scale s of e^{-s} may have a kink where the weights have none.
            base = self._path.problems[interval]
            scores, values, scale = numbers[2], own[1], numbers[4]
            clock = heads_interaction(base).log_scale
            own = [scores, values * np.exp(clock - scale), np.asarray(clock)]
        elif len(own) == 2:
            own[1] = numbers[3]  # Z, which divides, has no clock
        numbers = (diffusivity, fixed, *own)
        return np.asarray(sum(float(np.vdot(a, b)) for a, b in zip(sums, numbers, strict=True)))
