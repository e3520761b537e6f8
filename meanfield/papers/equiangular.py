"""Equiangular tokens: one cosine determines the positions of all tokens, in any dimension.

If n equal tokens in R^d, d >= n, have the same cosine gamma for all pairs, they keep this property.
By Theorem 6.8 of arXiv:2312.10794 (gamma_0 = 0), with the kernel a(s) = e^{beta s - |beta|},

    gamma' = 2 (1 - gamma) ((n - 1) gamma + 1) a(gamma) / { n                              (USA)
                                                          { a(1) + (n - 1) a(gamma)        (SA).

In y = ln[(1 + (n - 1) gamma) / (1 - gamma)] and with the gap u = 1 - gamma this is:

    dt / dy = { e^{|beta| - beta} e^{beta u} / 2      (USA)
              { (e^{beta u} + n - 1) / (2 n)          (SA).

With c = n / (n - 1) the integral of e^{beta u} over y is the difference between the two ends of

    Ei(beta u) - e^{beta c} E1(beta (c - u)).

This difference cancels for near ends, and for small or large |beta|. The integrand is positive,
and analytic in y with no singularity nearer than pi. So Gauss-Legendre panels, with
e^{largest exponent} factored out, are accurate to rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from meanfield.arguments import at_least, checked
from meanfield.arrays import EPS, FloatArray, IntArray
from meanfield.bases.legendre import gauss_legendre
from meanfield.problem import Problem
from meanfield.spectrum.cluster_rates import check_no_diffusion

_ORDER = 16
# In a panel e^{beta u} changes by at most e^4, over a range of e^1500 at both ends. Beyond this
# range times are negligible, or overflow.
_CHANGE = 4.0
_LEVELS = 375
# After the last panel |beta| u is at most this, and the speed of y is constant.
_GONE = 1e-17
# Newton's steps double the number of correct digits: after a relative step this small all are.
_SMALL_STEP = 1e-9
_NEWTON_STEPS = 60


@dataclass(frozen=True)
class AngularPath:
    """Time in units of e^{log_unit} as a function of the distance delta = y - y_0."""

    beta: float  # of the kernel, 0 for the linear one
    tokens: int
    normalized: bool  # SA
    gap: float  # 1 - gamma_0
    share: float  # (1 + (n - 1) gamma_0) / n, so that 1 - gamma = gap / (1 + share (e^delta - 1))
    log_unit: float  # largest exponent of the integrand (SA), exponent at the start (USA)
    edges: FloatArray  # (panels + 1,): distances; the last is where the speed has become constant
    times: FloatArray  # (panels + 1,): time at each edge

    def rise(self, distance: FloatArray) -> FloatArray:
        """Cosine gained, gamma - gamma_0."""
        gone = -np.expm1(-distance)
        with np.errstate(under="ignore"):
            return self.gap * self.share * gone / (np.exp(-distance) + self.share * gone)

    def remains(self, distance: FloatArray) -> FloatArray:
        """Remaining gap 1 - gamma, with the relative error of rounding."""
        with np.errstate(under="ignore"):
            left = np.exp(-distance)
            return self.gap * left / (left - self.share * np.expm1(-distance))

    def distance(self, remains: FloatArray, rise: FloatArray) -> FloatArray:
        """Distance at which 1 - gamma is `remains` and gamma - gamma_0 is `rise`."""
        with np.errstate(divide="ignore", over="ignore"):
            odds = rise / remains / self.share
            # By logarithms where the quotient overflows.
            logs = np.log(rise) - np.log(remains) - math.log(self.share)
        return np.where(odds < 1e300, np.log1p(odds), logs)

    def slowness(self, distance: FloatArray) -> FloatArray:
        """Time per distance."""
        with np.errstate(under="ignore", over="ignore"):
            if not self.normalized:
                return np.asarray(0.5 * np.exp(-self.beta * self.rise(distance)))
            if self.beta > 0:
                others = (self.tokens - 1) * np.exp(-self.log_unit)
                own = np.exp(-self.beta * self.rise(distance))
            else:
                others, own = self.tokens - 1.0, np.exp(self.beta * self.remains(distance))
            return np.asarray((own + others) / (2.0 * self.tokens))

    def within(self, start: FloatArray, length: FloatArray) -> FloatArray:
        """Time from distance `start` to `start + length`, no longer than a panel."""
        nodes, weights = gauss_legendre(_ORDER)
        with np.errstate(under="ignore", over="ignore", invalid="ignore"):
            at = start[..., None] + 0.5 * length[..., None] * (1.0 + nodes)
            return np.asarray(length * (self.slowness(at) @ weights))

    def units_at(self, distance: FloatArray) -> FloatArray:
        """Time at a distance, in units of e^{log_unit}."""
        panel = np.searchsorted(self.edges, distance, side="right") - 1
        start = self.edges[panel]
        beyond = panel == len(self.edges) - 1
        tail = np.where(beyond, distance - start, 0.0)
        inside = self.within(start, np.where(beyond, 0.0, distance - start))
        with np.errstate(under="ignore", over="ignore", invalid="ignore"):
            last = np.where(tail > 0, tail * self.slowness(np.array(math.inf)), 0.0)
            units = self.times[panel] + inside + last
        return np.where(np.isnan(units), math.inf, units)

    def time_at(self, distance: FloatArray) -> FloatArray:
        """Scaled time, at strength 1."""
        units = self.units_at(distance)
        with np.errstate(over="ignore", invalid="ignore"):
            # In two factors: e^log_unit may overflow although the product does not.
            half = np.exp(0.5 * self.log_unit)
            return np.where(units > 0, half * units * half, 0.0)  # not inf * 0

    def distance_at(self, times: FloatArray) -> FloatArray:
        """Distance at a scaled time, at strength 1: the inverse of `time_at`."""
        half = np.exp(-0.5 * self.log_unit)
        with np.errstate(under="ignore", invalid="ignore"):
            times = np.where(np.isinf(times), math.inf, half * times * half)
        panel = np.searchsorted(self.times, times, side="right") - 1
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            tail = (times - self.times[-1]) / self.slowness(np.array(math.inf))
            distance = self.edges[-1] + np.where(np.isnan(tail), math.inf, tail)
        inside = panel < len(self.edges) - 1
        first = panel[inside]
        distance[inside] = self._inverted(first, times[inside] - self.times[first])
        return np.asarray(distance)

    def _inverted(self, panel: IntArray, times: FloatArray) -> FloatArray:
        """Distance at a time after the beginning of a panel, by Newton's method."""
        start, width = self.edges[panel], np.diff(self.edges)[panel]
        # Time is concave in distance for beta > 0 and convex for beta < 0. From this side no step
        # overshoots, so the bounds matter for rounding only.
        length = np.zeros_like(times) if self.beta >= 0 else width.copy()
        for _ in range(_NEWTON_STEPS):
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                excess = self.within(start, length) - times
                step = excess / self.slowness(start + length)
            # Time and slowness may overflow: halve.
            step = np.where(np.isfinite(step), step, 0.5 * length)
            before, length = length, np.clip(length - step, 0.0, width)
            if np.all(np.abs(length - before) <= _SMALL_STEP * length):
                break
        return start + length


def angular_path(tokens: int, beta: float, normalized: bool, cosine: float) -> AngularPath:
    """Path of n tokens that start at a cosine."""
    gap, share = 1.0 - cosine, (1.0 + (tokens - 1) * cosine) / tokens
    log_unit = max(beta, 0.0) * gap if normalized else abs(beta) - beta * cosine
    nothing = np.zeros(1)
    path = AngularPath(beta, tokens, normalized, gap, share, log_unit, nothing, nothing)
    if beta == 0.0:  # the speed is constant from the start
        return path
    levels = _CHANGE / abs(beta) * np.arange(1.0, _LEVELS + 1.0)
    levels = levels[levels < gap]
    far = path.distance(*_split(gap, _GONE / abs(beta)))
    edges = np.concatenate(
        [
            np.arange(math.ceil(far) + 1.0),
            path.distance(gap - levels, levels),  # from the start
            path.distance(levels, gap - levels),  # to the end
        ]
    )
    edges = np.unique(edges)
    path = AngularPath(beta, tokens, normalized, gap, share, log_unit, edges, nothing)
    with np.errstate(over="ignore"):
        times = np.cumsum(path.within(edges[:-1], np.diff(edges)))
    times = np.concatenate([nothing, np.where(np.isnan(times), math.inf, times)])
    return AngularPath(beta, tokens, normalized, gap, share, log_unit, edges, times)


def _split(gap: float, remains: float) -> tuple[FloatArray, FloatArray]:
    """Remaining and closed part of the gap."""
    remains = min(remains, gap)
    return np.array(remains), np.array(gap - remains)


@checked
def equiangular_cosine(
    problem: Problem, tokens: int, times: float | FloatArray, start: float = 0.0
) -> float | FloatArray:
    """Cosine gamma(t) of all pairs of n equal tokens that start at equal angles.

        gamma' = 2 (1 - gamma) ((n - 1) gamma + 1) a(gamma) / Z

    Z = n under USA and Z = a(1) + (n - 1) a(gamma) under SA. By Theorem 6.9 of the source it
    is also the limit of cosines of independent uniform tokens as d grows.

    Parameters
    ----------
    problem : Problem
        On a sphere of R^d with d >= n, with an exponential or the linear kernel, a positive
        strength and without diffusion; its initial measure is not used.
    tokens : int
        n, at least 2.
    times : float or ndarray
        Scaled times, not negative; under USA the papers' times are e^{-|beta|} times these.
    start : float
        Cosine at time 0, between -1 / (n - 1) and 1; 0 for orthogonal tokens.

    Returns
    -------
    float or ndarray, shape of times
        The error of gamma - start is that of a few eps in times and beta.

    Raises
    ------
    ValueError
        If d < n, tokens < 2, times are negative, or `start` is out of range. If the problem has
        another kernel, repulsion or diffusion.

    References
    ----------
    Geshkovski, Letrouit, Polyanskiy, Rigollet, A mathematical perspective on Transformers,
    arXiv:2312.10794, Theorems 6.8 and 6.9.

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Sphere(32), mf.exponential(beta=5.0), mf.SA)
    >>> mf.equiangular_cosine(problem, 32, np.array([0.0, 2.0, 5.0, 10.0]))
    array([0.        , 0.0342623 , 0.23795171, 0.99959774])
    """
    path, distance = _at(problem, tokens, times, start)
    # From the nearer end.
    rise, remains = path.rise(distance), path.remains(distance)
    return _shaped(np.where(rise < remains, start + rise, 1.0 - remains))


@checked
def equiangular_time(
    problem: Problem, tokens: int, until: float | FloatArray, start: float = 0.0
) -> float | FloatArray:
    """Scaled time that equiangular tokens take from the cosine `start` to the cosine `until`.

    Under SA, with a = 1 / (n - 1),

        2 n t = Ei(beta (1 - start)) - Ei(beta (1 - until))
                + e^{beta n a} [E1(beta (start + a)) - E1(beta (until + a))]
                + (n - 1) ln[(until + a) (1 - start) / ((start + a) (1 - until))],

    the integral of the equation of `equiangular_cosine`. Under USA, in the papers' time, 2 e^beta t
    is the first two lines. The header of the module explains the quadrature.

    Parameters
    ----------
    problem, tokens, start
        As for `equiangular_cosine`.
    until : float or ndarray
        Cosines, from start to 1.

    Returns
    -------
    float or ndarray, shape of until
        Relative error a few eps times max(1, ln(time)), as a relative error eps of beta causes.
        Infinite for the cosine 1, and beyond 1e308.

    Raises
    ------
    ValueError
        As `equiangular_cosine`, and if `until` is less than start or above 1.

    Examples
    --------
    >>> import meanfield as mf
    >>> for beta in (5.0, 6.0):
    ...     problem = mf.Problem(mf.Sphere(32), mf.exponential(beta), mf.SA)
    ...     print(f"{mf.equiangular_time(problem, 32, 0.999):.4f}")
    9.5443
    15.9953
    """
    path = path_of(problem, tokens, start)
    cosines = np.asarray(until, dtype=np.float64)
    if not np.all((cosines >= start) & (cosines <= 1.0)):
        raise ValueError(f"until must lie between start = {start:g} and 1: tokens come closer.")
    distance = path.distance(1.0 - cosines, cosines - start)
    return _shaped(path.time_at(distance) / problem.zonal.strength)


@checked
def log_late_gap(problem: Problem, tokens: int, start: float = 0.0) -> float:
    """Ln C of the late gap, 1 - gamma(t) = C e^{-2 r t} (1 + o(1)).

    In scaled time r = strength under SA and under USA with beta >= 0, and strength e^{-2 |beta|}
    under USA with beta < 0. C itself may overflow. With start = 0 under SA

        n ln C = Ei(beta) - gamma_E - ln beta + (n - 1) ln n
                 + e^{beta n / (n - 1)} [E1(beta / (n - 1)) - E1(beta n / (n - 1))].

    Parameters and errors as for `equiangular_cosine`. The result is infinite beyond 1e308.

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Sphere(8), mf.exponential(beta=2.0), mf.SA)
    >>> round(math.exp(log_late_gap(problem, 8)), 7)
    29.8796274
    """
    path = path_of(problem, tokens, start)
    nodes, weights = gauss_legendre(_ORDER)
    widths = np.diff(path.edges)
    at = path.edges[:-1, None] + 0.5 * widths[:, None] * (1.0 + nodes)  # (panels, nodes)
    with np.errstate(over="ignore", under="ignore"):
        # d(2 r t - delta) / d delta
        lag = np.expm1(path.beta * path.remains(at)) / (tokens if path.normalized else 1)
        total = float(widths @ (lag @ weights))
    return math.log(path.gap / path.share) + total


@checked
def equiangular_beta(
    tokens: int, times: float | FloatArray, delta: float = 1e-3
) -> float | FloatArray:
    """The beta at which orthogonal tokens reach the cosine 1 - delta at time t under SA.

    This is the curve (6.12) of arXiv:2312.10794. In high dimension it separates times and betas
    with one cluster from those without.

    Parameters
    ----------
    tokens : int
        n, at least 2.
    times : float or ndarray
        Positive; scaled time, which under SA is also the papers' time.
    delta : float
        Between 0 and 1.

    Returns
    -------
    float or ndarray, shape of times
        Not negative, increasing in time. NaN before beta = 0 reaches the cosine, at
        t = ln[((n - 1)(1 - delta) + 1) / delta] / 2.

    Raises
    ------
    ValueError
        If tokens < 2, a time is not positive and finite, or delta is not between 0 and 1.

    Examples
    --------
    >>> import meanfield as mf
    >>> mf.equiangular_beta(32, np.array([5.0, 6.0, 10.0, 30.0]))
    array([       nan, 3.14606622, 5.10990431, 6.90645865])
    """
    from scipy.optimize import brentq

    at_least(2, tokens=tokens)
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie between 0 and 1, got {delta}.")
    ends = np.asarray(times, dtype=np.float64)
    if not np.all((ends > 0) & np.isfinite(ends)):
        raise ValueError("times must be positive and finite.")

    def lateness(beta: float, time: float) -> float:
        path = angular_path(tokens, beta, True, 0.0)
        units = path.units_at(path.distance(*_split(1.0, delta)))
        return path.log_unit + math.log(float(units)) - math.log(time)

    def root(time: float) -> float:
        if lateness(0.0, time) > 0:
            return math.nan
        above = 1.0
        while lateness(above, time) <= 0:
            above *= 2.0
        return float(brentq(lateness, 0.0, above, args=(time,), xtol=EPS, rtol=4 * EPS))

    return _shaped(np.array([root(time) for time in ends.ravel()]).reshape(ends.shape))


def _at(
    problem: Problem, tokens: int, times: float | FloatArray, start: float
) -> tuple[AngularPath, FloatArray]:
    path = path_of(problem, tokens, start)
    time = np.asarray(times, dtype=np.float64)
    if not np.all(time >= 0):
        raise ValueError("times must not be negative.")
    distance = path.distance_at(np.atleast_1d(time) * problem.zonal.strength)
    return path, distance.reshape(time.shape)


def path_of(problem: Problem, tokens: int, start: float) -> AngularPath:
    """Path of n tokens of a problem from a cosine; ValueError if there are no such tokens."""
    at_least(2, tokens=tokens)
    check_no_diffusion(problem)
    problem.check_one_stage()
    zonal, layers = problem.zonal, problem.layering
    if (layers.step, layers.placement) != (0.0, "post"):
        raise ValueError(
            "this is the flow with normalisation after each layer; mf.equiangular_layers knows "
            "the problem's layers."
        )
    if zonal.kernel.log_slope is None:
        raise ValueError("equiangular tokens need mf.exponential(beta) or mf.linear().")
    if zonal.strength < 0:
        raise ValueError(f"equiangular tokens need a positive strength, got {zonal.strength:g}.")
    room = problem.manifold.ambient
    if room < tokens:
        raise ValueError(
            f"{tokens} equiangular tokens need mf.Sphere(d) with d >= {tokens}, got d = {room}."
        )
    if not (start < 1.0 and 1.0 + (tokens - 1) * start > 0.0):
        raise ValueError(
            f"start must lie between -1 / (tokens - 1) = {-1 / (tokens - 1):g} and 1, got {start}."
        )
    return angular_path(tokens, zonal.kernel.log_slope, zonal.normalized, start)


def _shaped(values: FloatArray) -> float | FloatArray:
    return values if np.ndim(values) else float(values)
