"""All mass on one latitude of a sphere: a ring that stays one, and moves towards a pole.

With u = <x, e> the height of the ring in R^d, nu = (d - 3) / 2 and z = beta (1 - u^2),

    u' = u (1 - u^2) [1 - I_{nu+1}(z) / I_nu(z)]                                (SA)

and under USA times e^{beta u^2} Gamma(nu + 1) (2/z)^nu I_nu(z), the mean of e^{beta <x, y>}. With
h = ln[u^2 / (1 - u^2)] this is h' = 2 [1 - I_{nu+1} / I_nu]. As d grows at fixed beta the ratio
goes, h' = 2, and

    u^2 / (1 - u^2) = e^{2t} u_0^2 / (1 - u_0^2),

as for any axial law nu of heights of tokens whose other coordinates are independent, of which
u' = (1 - u^2) int e^{beta u v} v dnu / int e^{beta u v} dnu; what is missing is of order 1 / d.
"""

from __future__ import annotations

import math

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.checks import checked
from meanfield.kernels.exponential import bessel_ratio, scaled_bessel
from meanfield.problem import Problem
from meanfield.theory.cluster_rates import check_no_diffusion
from meanfield.theory.saved_states import saved_states


@checked
def ring_height(problem: Problem, times: FloatArray, start: float) -> FloatArray:
    """Height u(t) = <x, e> of a ring, all mass spread evenly over one latitude.

    Parameters
    ----------
    problem : Problem
        On a sphere of R^d, d >= 3, with exponential(beta), beta > 0, and without diffusion; its
        initial measure is not used.
    times : ndarray
        Scaled times, not negative, in order.
    start : float
        Height at time 0, between 0 and 1: at 0 it rests, and below it is the mirror image.

    Returns
    -------
    ndarray, shape of times
        By DOP853, error some 1e-12 of ln[u^2 / (1 - u^2)].

    Raises
    ------
    ValueError
        If the problem has no such ring, times are negative or out of order, or start is not
        between 0 and 1.

    Notes
    -----
    The ring is unstable to harmonics along it: tokens that are not quite even part.

    Examples
    --------
    >>> import meanfield as mf
    >>> for d in (3, 8, 1024):
    ...     problem = mf.Problem(mf.Sphere(d), mf.exponential(beta=5.0), mf.SA)
    ...     print(ring_height(problem, [1.0, 2.0, 5.0], 0.3).round(8))
    [0.33411673 0.37223119 0.51643086]
    [0.46432392 0.68706863 0.99736238]
    [0.64837024 0.91776597 0.99976783]
    """
    problem.check_own_clock("rings")
    check_no_diffusion(problem)
    zonal = problem.zonal
    beta, d = zonal.kernel.log_slope, zonal.dimension + 1
    if beta is None or beta <= 0.0 or d < 3:
        raise ValueError("rings need mf.Sphere(d) with d >= 3 and mf.exponential(beta), beta > 0.")
    if not 0.0 < start < 1.0:
        raise ValueError(f"start must lie between 0 and 1, got {start:g}.")

    def speed(t: float, h: FloatArray) -> FloatArray:
        low = float(1.0 / (1.0 + np.exp(min(float(h[0]), 700.0))))  # 1 - u^2
        z = beta * low
        pace = zonal.strength * (1.0 - float(bessel_ratio(0.5 * (d - 1), z)))
        if not zonal.normalized:
            # e^{beta u^2 - beta} times the mean over S^{d-2} of e^{z s} is the one of e^{z s - z}.
            pace *= float(scaled_bessel(d - 2, z, 0)[0])
        return np.array([2.0 * pace])

    begun = math.log(start**2 / ((1.0 - start) * (1.0 + start)))
    heights = saved_states(speed, np.array([begun]), times)[:, 0]
    with np.errstate(over="ignore"):
        return np.asarray(np.sqrt(1.0 / (1.0 + np.exp(-heights))))


@checked
def ring_height_limit(times: FloatArray, start: float) -> FloatArray:
    """Height of a ring under SA as d -> infinity at fixed beta, whatever that is.

        u = u_0 e^t / sqrt(1 - u_0^2 + u_0^2 e^{2t})

    Parameters
    ----------
    times : ndarray
        Scaled times, at strength 1.
    start : float
        Height at time 0, between -1 and 1.

    Returns
    -------
    ndarray, shape of times

    Examples
    --------
    The error falls like 1 / d:

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Sphere(1024), mf.exponential(beta=1.0), mf.SA)
    >>> (1024 * (ring_height(problem, [1.0], 0.3) - ring_height_limit([1.0], 0.3))).round(4)
    array([-0.2905])
    """
    if not -1.0 < start < 1.0:
        raise ValueError(f"start must lie between -1 and 1, got {start:g}.")
    falls = np.exp(-2.0 * np.asarray(times))
    return np.asarray(start / np.sqrt(falls * (1.0 - start**2) + start**2))


@checked
def limit_velocity(
    beta: float, heights: FloatArray, weights: FloatArray, *, normalized: bool = True
) -> FloatArray:
    """Speeds u' of weighted rings of given heights as d -> infinity, in paper time.

        u' = (1 - u^2) int e^{beta u v} v dnu(v) / Z,     Z = int e^{beta u v} dnu(v) or 1

    Examples
    --------
    >>> limit_velocity(2.0, [0.3], [1.0]).round(6)
    array([0.273])
    """
    exponents = beta * heights[:, None] * heights
    unit = exponents.max(axis=1, keepdims=True) if normalized else 0.0
    w = weights * np.exp(exponents - unit)
    mean = w @ heights / (w.sum(axis=1) if normalized else 1.0)
    return np.asarray((1.0 - heights**2) * mean)
