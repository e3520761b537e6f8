"""Influence functions: effect of one more token at x on an observable at a later time.

For J at time t, and mu_0 the initial measure,

    psi(x) = d/de J(t)[(1 - e) mu_0 + e delta_x] at e = 0,    int psi dmu_0 = 0,

follows from one backward sweep: psi = grad J at t, and -d_s psi = F'(f_s)* psi. Without noise N
tokens drawn from mu_0 have J = J(mu_t) + (1/N) sum_i psi(x_i) + O(1/N). Their variance obeys

    N Var J -> int psi^2 dmu_0 + 2 diffusivity int_0^t int |grad psi_s|^2 dmu_s ds.

Hampel, The influence curve and its role in robust estimation, J. Amer. Statist. Assoc. 69 (1974).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from meanfield.arguments import checked
from meanfield.arrays import FloatArray, ModalArray
from meanfield.engines.threads import one_blas_thread
from meanfield.fields.linearised import LinearisedFlow
from meanfield.finite.functionals import Functional, finite_variation
from meanfield.finite.path import Path, Settings, Step, Unresolved, adjoint, resolved
from meanfield.observables.resolution import spectral_tail
from meanfield.problem import Problem
from meanfield.spaces.manifold import Manifold


@dataclass(frozen=True, eq=False)
class Influence:
    """Influence functions of observables J of a run at scaled time `time`.

    - values (k,): J in the limit.
    - coefficients (k, coefficients): psi at time 0, with int psi dmu_0 = 0.
    - variances (k,), covariance (k, k): lim N Var J and Cov over tokens from the initial law.
    - tail: largest coefficient among the top tenth of degrees, a share of the largest.
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
        """Lim N Var J of each, shape (k,)."""
        return np.asarray(np.diag(self.covariance))

    @cached_property
    def _space(self) -> Manifold:
        return self.problem.manifold

    @checked
    def __call__(self, points: npt.ArrayLike) -> FloatArray:
        """Psi at points (angles, or unit vectors), shape (k, n)."""
        at = self._space.check_points(np.asarray(points, dtype=np.float64))
        return np.array([self._space.evaluate(each, at) for each in self.coefficients])

    @checked
    def predicted(self, points: npt.ArrayLike) -> FloatArray:
        """J(mu_t) + mean of psi over N tokens at time 0, shape (k,): right to O(1/N).

        A control variate for the run of these tokens, with the known expectation J(mu_t).
        """
        return np.asarray(self.values + self(points).mean(axis=1))


@checked
def influence(
    problem: Problem,
    observables: Functional | Sequence[Functional],
    *,
    until: float,
    degree: int | None = None,
    tolerance: float = 1e-10,
) -> Influence:
    """Influence functions of observables at a time, on the initial measure.

    Parameters
    ----------
    problem : Problem
        On the circle or the sphere, with a density as its initial law: softmax or none, any heads,
        fixed fields, diffusion and stages.
    observables : str, callable (moments) -> float, or sequence of such
        "energy", or functions of packed moments up to `degree`, such as `lambda m: m[1].real`.
    until : float
        Scaled time t.
    degree : int, optional
        Of the density and of psi; by default it rises until both are resolved.
    tolerance : float
        Of steps, and of what truncation may leave out.

    Raises
    ------
    TypeError
        If the initial law gives points, or an observable no number.
    ValueError
        If the flow has no linearisation here: layers, masks, frequencies, doubly stochastic
        attention; or an observable or its slopes are not finite.
    SimulationError
        If the largest degree does not resolve the run or psi up to then.

    Examples
    --------
    About uniform psi of a moment is its mode, grown:

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.SA)
    >>> found = mf.influence(problem, lambda m: m[2].real, until=1.0)
    >>> found.variances.round(6), (np.exp(2 * mf.growth_rates(problem, 2)[2]) / 2).round(6)
    (array([1.398063]), np.float64(1.398063))
    """
    wanted = [observables] if isinstance(observables, str) or callable(observables) else observables
    if not len(wanted):
        raise ValueError("influence: observables must hold at least one, got none.")
    settings = Settings(problem, (0.0, until), degree, tolerance)

    def influence_along(path: Path) -> Influence:
        variations = [finite_variation(path.ended_in, each, path.last) for each in wanted]
        fields = np.array([each.field for each in variations])
        sweep = swept(path, fields, settings.allowed)
        values = np.array([each.value for each in variations])
        return Influence(problem, until, values, sweep.coefficients, sweep.covariance, sweep.tail)

    with one_blas_thread():
        return resolved(settings, influence_along)


@dataclass(frozen=True, eq=False)
class Sweep:
    """Influence functions at time 0, and lim N Cov: by the draw of tokens, and by noise."""

    coefficients: ModalArray
    drawn: FloatArray
    noise: FloatArray | float
    tail: float

    @property
    def covariance(self) -> FloatArray:
        """Lim N Cov of what they belong to."""
        return self.drawn + self.noise


def swept(
    path: Path,
    fields: ModalArray,
    allowed: float,
    visit: Callable[[Step, LinearisedFlow, ModalArray], None] | None = None,
) -> Sweep:
    """Influence functions of what has first variations `fields` at the end, (k, coefficients)."""
    space, initial = path.space, path.states[0]
    fields = space.resize(fields, path.degree)
    tail, later = 0.0, path.last
    noise = _Noise(path)
    for step, flows, start in path.backward():
        noise.see(step.interval, step.end, later, fields)
        fields = adjoint(step, flows, fields, None if visit is None else partial(visit, step))
        noise.see(step.interval, step.time, start, fields)
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
    return Sweep(fields, drawn, noise.integral, tail)


def _tail(space: Manifold, field: ModalArray) -> float:
    sizes = space.sizes_by_degree(field)
    largest = float(sizes.max())
    return spectral_tail(sizes) / largest if largest else 0.0


class _Noise:
    """2 diffusivity int int <grad psi_a, grad psi_b> dmu_s ds, by splines through ends of steps."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: dict[int, dict[float, FloatArray]] = {}

    def see(self, interval: int, time: float, density: ModalArray, fields: ModalArray) -> None:
        """Look at the end of a step."""
        diffusivity = self._path.problems[interval].flow.diffusivity
        at = self._seen.setdefault(interval, {})
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
        """Over the whole run."""
        from scipy.interpolate import make_interp_spline

        total: FloatArray | float = 0.0
        for at in self._seen.values():
            if at:
                times = np.array(sorted(at))
                order = min(7, (len(times) - 1) // 2 * 2 - 1)
                rates = np.array([at[time] for time in times])
                spline = make_interp_spline(times, rates, k=max(order, 1))
                total = total + spline.integrate(times[0], times[-1])
        return total
