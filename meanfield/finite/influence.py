"""Influence functions: effect of one more token at x on an observable at a later time.

For J at time t, and mu_0 the initial measure,

    psi(x) = d/de J(t)[(1 - e) mu_0 + e delta_x] at e = 0,    int psi dmu_0 = 0,

follows from one backward sweep: psi = grad J at t, and -d_s psi = F'(f_s)* psi. Without noise N
tokens drawn from mu_0 have J = J(mu_t) + (1/N) sum_i psi(x_i) + O(1/N). In general

    N Var J -> int psi^2 dmu_0 + 2 diffusivity int_0^t int |grad psi_s|^2 dmu_s ds.

Hampel, The influence curve and its role in robust estimation, J. Amer. Statist. Assoc. 69 (1974).

Observables are functions of moments. J(mu) = j(m_1(mu), m_2(mu), ...) has the first variation
sum_i d_i j Y_i, its influence function at the time of observation. Derivatives of j are central
differences of order six, exact up to rounding for linear and quadratic j. For other j, steps shrink
by a factor of four until two differences agree: j = log |m_3| has derivatives at small m_3, and
j = |m_3| has none at 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from meanfield.arguments import checked
from meanfield.arrays import FloatArray, ModalArray
from meanfield.bases.coordinates import coordinates
from meanfield.engines.threads import one_blas_thread
from meanfield.fields.linearised import LinearisedFlow
from meanfield.finite.path import Path, Settings, Step, Unresolved, adjoint, resolved
from meanfield.observables.energies import interaction_energy
from meanfield.observables.resolution import spectral_tail
from meanfield.problem import Problem
from meanfield.spaces.manifold import Manifold
from meanfield.spectrum.time_units import time_unit


@dataclass(frozen=True, eq=False)
class Influence:
    """Influence functions of observables J of a run at scaled time `time`.

    - values (k,): J in the limit.
    - coefficients (k, coefficients): psi at time 0, with int psi dmu_0 = 0.
    - variances (k,), covariance (k, k): lim N Var J and lim N Cov for tokens of the initial law.
    - tail: largest coefficient in the top tenth of degrees, as a share of the largest.
    """

    problem: Problem
    time: float
    values: FloatArray
    coefficients: ModalArray
    covariance: FloatArray
    tail: float

    def __repr__(self) -> str:
        count = len(self.values)
        return (
            f"Influence({count} observable{'s' * (count > 1)} at t = {self.time:.6g}, degree "
            f"{self.problem.manifold.degree_of(self.coefficients[0])})"
        )

    @property
    def variances(self) -> FloatArray:
        """Limit of N Var J for each observable, shape (k,)."""
        return np.asarray(np.diag(self.covariance))

    @cached_property
    def _space(self) -> Manifold:
        return self.problem.manifold

    @checked
    def __call__(self, points: npt.ArrayLike) -> FloatArray:
        """Influence functions psi at points (angles, or unit vectors), shape (k, n)."""
        at = self._space.check_points(np.asarray(points, dtype=np.float64))
        return np.array([self._space.evaluate(each, at) for each in self.coefficients])

    @checked
    def predicted(self, points: npt.ArrayLike) -> FloatArray:
        """J(mu_t) + mean of psi over N tokens at time 0, shape (k,): right to O(1/N).

        It is a control variate for the run of these tokens, with the expectation J(mu_t).
        """
        return np.asarray(self.values + self(points).mean(axis=1))


@checked
def influence(
    problem: Problem,
    observables: Functional | Sequence[Functional],
    *,
    until: float,
    unit: str = "scaled",
    degree: int | None = None,
    tolerance: float = 1e-10,
) -> Influence:
    """Influence functions at time 0 of observables at a later time.

    Parameters
    ----------
    problem : Problem
        On the circle or the sphere, with a density as its initial law. It may have softmax or no
        normalization, any heads, fixed fields, diffusion and stages.
    observables : str, callable (moments) -> float, or sequence of such
        "energy", or functions of packed moments up to `degree`, such as `lambda m: m[1].real`.
    until : float
        Time t.
    unit : str
        Unit of `until` and the ends of stages: "scaled", "paper" or "growth".
    degree : int, optional
        Degree of the density and of psi; by default it rises until both are resolved.
    tolerance : float
        Tolerance of steps and of truncation.

    Raises
    ------
    TypeError
        If the initial law gives points, or an observable returns no real number.
    ValueError
        If there are no observables, or one or its slopes are not finite. If the flow has no
        linearisation here: functions of time, layers, masks, frequencies, doubly stochastic
        attention.
    SimulationError
        If the largest degree does not resolve the run or psi up to t.

    Examples
    --------
    About uniform the influence function of a moment is its mode, which has grown:

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.SA)
    >>> found = mf.influence(problem, lambda m: m[2].real, until=1.0)
    >>> found.variances.round(6), (np.exp(2 * mf.growth_rates(problem, 2)[2]) / 2).round(6)
    (array([1.398063]), np.float64(1.398063))
    """
    wanted = [observables] if isinstance(observables, str) or callable(observables) else observables
    if not len(wanted):
        raise ValueError("influence: observables must hold at least one, got none.")
    end = until * time_unit(problem, unit)
    settings = Settings(problem, (0.0, end), degree, tolerance, unit=unit)

    def influence_along(path: Path) -> Influence:
        variations = [finite_variation(path.ended_in, each, path.last) for each in wanted]
        fields = np.array([each.field for each in variations])
        sweep = swept(path, fields, settings.allowed)
        values = np.array([each.value for each in variations])
        return Influence(problem, end, values, sweep.coefficients, sweep.covariance, sweep.tail)

    with one_blas_thread():
        return resolved(settings, influence_along)


@dataclass(frozen=True, eq=False)
class BackwardSweep:
    """Influence functions at time 0, and the parts of lim N Cov by drawn tokens and by noise."""

    coefficients: ModalArray
    drawn: FloatArray
    noise: FloatArray | float
    tail: float

    @property
    def covariance(self) -> FloatArray:
        """Limit of N Cov of the observables."""
        return self.drawn + self.noise


def swept(
    path: Path,
    fields: ModalArray,
    allowed: float,
    visit: Callable[[Step, LinearisedFlow, ModalArray], None] | None = None,
) -> BackwardSweep:
    """Influence functions of observables with first variations `fields` (k, coefficients)."""
    space, initial = path.space, path.states[0]
    fields = space.resize(fields, path.degree)
    tail, later = 0.0, path.last
    noise = _Noise(path)
    for step, flows, start in path.backward():
        noise.add(step.interval, step.end, later, fields)
        fields = adjoint(step, flows, fields, None if visit is None else partial(visit, step))
        noise.add(step.interval, step.time, start, fields)
        tail, later = max(tail, *(_tail(space, each) for each in fields)), start
        if not tail <= allowed:
            raise Unresolved(
                f"influence functions of degree {path.degree} have a tail of {tail:.1e}, above "
                f"{allowed:.0e}: they steepen as clusters form; end earlier, or raise degrees or "
                "tolerance"
            )
    fields[:, 0] -= [space.inner(each, initial) for each in fields]
    of = path.grid.to_nodal(fields)
    drawn = (path.grid.weights * path.grid.to_nodal(initial) * of) @ of.T
    return BackwardSweep(fields, drawn, noise.integral, tail)


def _tail(space: Manifold, field: ModalArray) -> float:
    sizes = space.sizes_by_degree(field)
    largest = float(sizes.max())
    return spectral_tail(sizes) / largest if largest else 0.0


class _Noise:
    """2 diffusivity int int <grad psi_a, grad psi_b> dmu_s ds, by splines through ends of steps."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rates: dict[int, dict[float, FloatArray]] = {}

    def add(self, interval: int, time: float, density: ModalArray, fields: ModalArray) -> None:
        """Store the rate at an end of a step."""
        diffusivity = self._path.problems[interval].flow.diffusivity
        at = self._rates.setdefault(interval, {})
        if not diffusivity or time in at:
            return
        flow = self._path.flow(interval, density)
        spread = flow.spread(fields)
        rates = [
            [flow.interaction.manifold.inner(one, other) for other in spread] for one in fields
        ]
        at[time] = 2.0 * diffusivity * np.array(rates)

    @property
    def integral(self) -> FloatArray | float:
        """Integral over the whole run."""
        from scipy.interpolate import make_interp_spline

        total: FloatArray | float = 0.0
        for at in self._rates.values():
            if at:
                times = np.array(sorted(at))
                order = min(7, (len(times) - 1) // 2 * 2 - 1)
                rates = np.array([at[time] for time in times])
                spline = make_interp_spline(times, rates, k=max(order, 1))
                total = total + spline.integrate(times[0], times[-1])
        return total


Functional = str | Callable[[ModalArray], float]
"""An observable: a name in `NAMED`, or a function of packed moments."""

WEIGHTS = {1: (3 / 4, -3 / 20, 1 / 60), 2: (3 / 2, -3 / 20, 1 / 90)}
"""Central differences of order six: weights at +-h, +-2 h, +-3 h, by order of derivative."""

_STEP = 1e-2
_SMALLEST = {1: _STEP / 4**7, 2: _STEP / 4**5}
# Steps shrink until differences agree to the first share; beyond the second they are refused.
_AGREED = {1: 1e-10, 2: 1e-7}
_REFUSED = {1: 1e-5, 2: 1e-3}
# Relative rounding of values.
_ROUNDING = 64 * float(np.finfo(np.float64).eps)
# At a kink slopes on both sides differ by more than this share at the smallest step.
_KINK = 0.1


@dataclass(frozen=True, eq=False)
class Variation:
    """An observable at one measure."""

    value: float  # J
    field: ModalArray  # coefficients of its first variation, without degree 0


def variation(problem: Problem, observable: Functional, moments: ModalArray) -> Variation:
    """Value and first variation of an observable, from moments of some degree."""
    value = function_of(problem, observable)
    space = problem.manifold
    of = coordinates(space.dimension, space.degree_of(moments))
    along = _along(value, moments, of.to_coefficients(np.eye(of.size)))
    slopes, errors = _differences(along, 1, quadratic=isinstance(observable, str))
    here = value(moments)
    if np.isfinite(here):
        _check_smooth(errors, float(np.abs(slopes).max()), 1)
    return Variation(here, of.to_coefficients(slopes))


def bent(
    problem: Problem, observable: Functional, moments: ModalArray, covariance: FloatArray
) -> float:
    """Trace of j'' C, with C in real coordinates of the moments."""
    value = function_of(problem, observable)
    of = coordinates(problem.manifold.dimension, problem.manifold.degree_of(moments))
    # With eigenpairs (s_i, e_i) of C the trace is sum_i s_i e_i^T j'' e_i.
    sizes, directions = np.linalg.eigh(covariance)
    sizes = np.maximum(sizes, 0.0)
    along = _along(value, moments, of.to_coefficients(directions.T))
    curvatures, errors = _differences(along, 2, quadratic=isinstance(observable, str))
    if np.isfinite(value(moments)):
        _check_smooth(sizes * errors, float(sizes @ np.abs(curvatures)), 2)
    return float(sizes @ curvatures)


Line = Callable[[float], float]


def _along(
    value: Callable[[ModalArray], float], moments: ModalArray, directions: ModalArray
) -> list[Line]:
    return [lambda s, each=each: value(moments + s * each) for each in directions]  # type: ignore[misc]


def _differences(
    along: list[Line], order: int, *, quadratic: bool
) -> tuple[FloatArray, FloatArray]:
    """Derivatives at 0 of functions of one variable, and their errors beyond rounding."""
    differences = np.array([_difference(each, order, quadratic) for each in along])
    return differences[:, 0], differences[:, 1]


def _difference(line: Line, order: int, quadratic: bool) -> tuple[float, float]:
    here = line(0.0)

    def at(step: float) -> tuple[float, float, float]:
        """Difference quotient, its rounding, and the largest change of a value."""
        ahead, behind = (np.array([line(s * n * step) for n in (1, 2, 3)]) for s in (1, -1))
        total = (ahead - here) + (-1) ** order * (behind - here)
        rounding = _ROUNDING * max(abs(here), *np.abs(ahead), *np.abs(behind)) / step**order
        change = max(*np.abs(ahead - here), *np.abs(behind - here))
        return float(total @ WEIGHTS[order]) / step**order, rounding, change

    if quadratic:
        return at(1.0)[0], 0.0
    step = _STEP
    last, _, change = at(step)
    if change == 0.0:
        return last, 0.0
    best, error = last, np.inf
    while step > _SMALLEST[order]:
        step /= 4.0
        now, rounding, _ = at(step)
        difference = abs(now - last)
        if difference < error:
            best, error = (last if difference <= rounding else now), difference
        if difference <= _AGREED[order] * abs(now) + rounding:
            error = 0.0
            break
        last = now
    if order == 1:
        error = max(error, _kink(line, here, best))
    return best, error


def _kink(line: Line, here: float, slope: float) -> float:
    """Difference of the slopes on both sides at a kink, else 0."""
    far, near = (
        abs((line(step) - here) + (line(-step) - here)) / step for step in (_STEP, _SMALLEST[1])
    )
    rounding = _ROUNDING * abs(here) / _SMALLEST[1]
    return near if near > _KINK * max(far, abs(slope)) + rounding else 0.0


def _check_smooth(errors: FloatArray, scale: float, order: int) -> None:
    worst = float(errors.max(initial=0.0))
    if not worst <= _REFUSED[order] * scale:
        raise ValueError(
            f"the observable has no {'first' if order == 1 else 'second'} derivatives there: "
            f"differences vary by {worst:.1e} beside {scale:.1e}; take one that is smooth, as "
            "abs(m[1]) ** 2 where m[1] may be 0."
        )


def finite_variation(problem: Problem, observable: Functional, moments: ModalArray) -> Variation:
    """`variation` at the end of a run; ValueError if it is not finite."""
    result = variation(problem, observable, moments)
    if not (np.isfinite(result.value) and np.isfinite(result.field).all()):
        raise ValueError(
            f"the observable or its slopes are not finite at the end of the run: its value is "
            f"{result.value}; take one that is smooth there."
        )
    return result


def check_degrees(problem: Problem, observable: Functional, degree: int) -> None:
    """Refuse the energy, a function of all moments of the kernel, if moments end below."""
    kernel_degree = problem.kernel_degree
    if observable == "energy" and degree < kernel_degree:
        raise ValueError(
            f"the energy is a function of moments up to degree {kernel_degree}, "
            "and these are known up "
            f"to {degree}: give degree = {kernel_degree}."
        )


def function_of(problem: Problem, observable: Functional) -> Callable[[ModalArray], float]:
    """Function of packed moments of an observable or its name."""
    if not isinstance(observable, str):
        return partial(_number, observable)
    if observable not in NAMED:
        names = ", ".join(sorted(NAMED))
        raise ValueError(
            f"observable {observable!r} is not known. Known: {names}; or a function of moments."
        )
    return partial(_number, partial(NAMED[observable], problem))


def _number(function: Callable[[ModalArray], float], moments: ModalArray) -> float:
    try:
        value = function(moments)
    except IndexError as error:
        raise ValueError(
            f"the observable looks for more than the {len(moments)} moments there are, packed: "
            f"give a larger degree. {error}"
        ) from error
    if not np.isscalar(value) or isinstance(value, (str, bytes)) or np.iscomplexobj(value):
        raise TypeError(
            "an observable must be one real number of the moments, as lambda m: m[1].real, got "
            f"{type(value).__name__}."
        )
    return float(value)


NAMED: dict[str, Callable[[Problem, ModalArray], float]] = {"energy": interaction_energy}
"""Observables by name; "energy" is the interaction energy that runs store."""
