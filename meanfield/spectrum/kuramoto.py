"""Tokens on the circle that also turn by themselves: Kuramoto's model, and attention in its place.

    theta' = omega + v[mu](theta),    omega ~ g

For the linear kernel v = K Im(e^{-i theta} Z), Z = int e^{i theta} dmu, K the strength: Kuramoto's
model. Its coupling K_c = 2 / (pi g(0)) parts incoherence from partial synchrony, whose order
r = |Z| solves

    1 = K int cos(theta)^2 g(K r sin theta) d theta,    |theta| < pi / 2,

for laws g with one peak. For Lorentz's law r itself obeys an equation (Ott and Antonsen):

    r' = (K / 2) r (1 - r^2) - Delta r.

For any kernel the moments of degree k about incoherence, where each frequency has a uniform law,
grow like e^{st} with

    1 = lambda_k int g(omega) / (s + i k omega) d omega,

lambda_k the growth rate without frequencies.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from meanfield.arguments import at_least, checked
from meanfield.arrays import EPS, ComplexArray, FloatArray
from meanfield.problem import Problem
from meanfield.terms.frequencies import Frequencies, Lorentzian, UnimodalFrequencies


@checked
def critical_coupling(frequencies: UnimodalFrequencies) -> float:
    """Coupling K_c = 2 / (pi g(0)) of Kuramoto's model at which incoherence turns unstable.

    frequencies (Lorentzian, Gaussian or UniformSpread): law g with one peak.

    Returns: 2 Delta (Lorentz), sigma sqrt(8 / pi) (Gauss), 4 G / pi (uniform).

    Strogatz, From Kuramoto to Crawford, Physica D 143 (2000), 1-20.

    >>> import meanfield as mf
    >>> round(critical_coupling(mf.Gaussian(width=1.0)), 10)
    1.5957691216
    """
    return 2.0 / (math.pi * frequencies.peak)


@checked
def synchronised_order(frequencies: UnimodalFrequencies, coupling: float) -> float:
    """Order r = |int e^{i theta} dmu| of partial synchrony in Kuramoto's model, 0 below K_c.

    With x = (K r / 2 sigma)^2, q = G / (K r), r solves:

        r = sqrt(1 - 2 Delta / K)                                (Lorentz)
        1 = (K / sigma) sqrt(pi / 8) e^{-x} [I_0(x) + I_1(x)]    (Gauss)
        1 = (K / 2 G) [asin(q) + q sqrt(1 - q^2)]                (uniform),

    and jumps to pi / 4 at K_c for the uniform law, where all tokens lock at once.

    Parameters
    ----------
    frequencies : Lorentzian, Gaussian or UniformSpread
        Law g; its centre only turns what is synchronised.
    coupling : float
        K, not negative.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If coupling < 0.

    References
    ----------
    Strogatz, From Kuramoto to Crawford, Physica D 143 (2000), 1-20 (the equation for r).
    Pazo, Phys. Rev. E 72 (2005), 046211 (the uniform law).

    Examples
    --------
    >>> import meanfield as mf
    >>> round(mf.synchronised_order(mf.Gaussian(width=0.5), 1.0), 12)
    0.715173956683
    >>> mf.synchronised_order(mf.Gaussian(width=0.7), 1.0)
    0.0
    """
    from scipy.optimize import brentq

    at_least(0.0, coupling=coupling)
    ratio = coupling / frequencies.width
    if isinstance(frequencies, Lorentzian):
        return math.sqrt(max(1.0 - 2.0 * frequencies.width / coupling, 0.0)) if ratio else 0.0
    # At the coupling itself the uniform law is synchronised.
    if coupling < critical_coupling(frequencies) * (1.0 - 4 * EPS):
        return 0.0

    def excess(pull: float) -> float:
        return ratio * frequencies.locked(pull * frequencies.width) - 1.0

    # The pull K r / width is at most K / width, and where the density is flat to there no less.
    least = frequencies.plateau / frequencies.width
    if excess(least) <= 0.0:
        return least / ratio
    pull = float(brentq(excess, least, 2.0 * ratio, xtol=1e-300, rtol=4 * EPS))
    return min(pull / ratio, 1.0)


@checked
def ott_antonsen_order(
    frequencies: Lorentzian, coupling: float, times: float | FloatArray, start: float
) -> float | FloatArray:
    """Order r(t) of Kuramoto's model with Lorentz's law, from a Poisson law for all frequencies.

        r(t)^2 = w / (1 + (w / r_0^2 - 1) e^{-(K - 2 Delta) t}),    w = 1 - 2 Delta / K

    The mean itself is r(t) e^{i (phi_0 + centre t)}.

    - frequencies (Lorentzian): law g.
    - coupling: K, not 0; negative couplings repel.
    - times (float or ndarray): not negative.
    - start: r_0, from 0 to 1: the law (1 - r_0^2) / (1 - 2 r_0 cos(theta - phi_0) + r_0^2),
      whatever the frequency.

    Returns (float or ndarray, shape of times): relative error of rounding, also where w is small.
    ValueError if times are negative, coupling is 0, or start is not between 0 and 1.

    Ott, Antonsen, Chaos 18 (2008), 037113, equation (11).

    >>> import meanfield as mf
    >>> ott_antonsen_order(mf.Lorentzian(width=0.2), 1.0, np.array([5.0, 10.0, 20.0]), 0.1)
    array([0.39036315, 0.72349684, 0.77445631])
    """
    time = np.asarray(times, dtype=np.float64)
    if not np.all(time >= 0.0):
        raise ValueError("times must not be negative.")
    if coupling == 0.0:
        raise ValueError("coupling must not be 0: without it r is r_0 e^{-width t}.")
    if not 0.0 <= start <= 1.0:
        raise ValueError(f"start must lie between 0 and 1, got {start:g}.")
    rate = coupling - 2.0 * frequencies.width
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        left = np.exp(-rate * time)
        # (1 - e^{-rate t}) / w, which is K t where w = 0.
        gone = np.where(
            rate * time == 0.0, coupling * time, -np.expm1(-rate * time) / rate * coupling
        )
        order = start / np.sqrt(left + start**2 * gone)
    # Where e^{-rate t} is no number, r is 0.
    order = np.where(np.isfinite(left), order, 0.0)
    return order if order.ndim else float(order)


@checked
def incoherence_growth_rates(
    problem: Problem, frequencies: Frequencies | None = None, max_degree: int | None = None
) -> ComplexArray:
    """Growth rates s_k of moments about incoherence, where tokens turn at frequencies of a law.

    Incoherence is the uniform law for every frequency. With lambda_k the growth rates without
    frequencies and D the diffusivity, s_k is the solution of largest real part of:

        1 = (lambda_k + k^2 D) int g(omega) / (s + k^2 D + i k omega) d omega.

    Lorentz's law has s_k = lambda_k - k Delta - i k centre: a spread damps degree k by k Delta, and
    the first degree to grow is that of the largest lambda_k / k.

    Parameters
    ----------
    problem : Problem
        On the circle, with a kernel or heads of numbers; its initial measure is not used.
    frequencies : Frequencies or None
        Lorentzian, Gaussian, UniformSpread or GivenFrequencies, per scaled time; None takes those
        of the problem.
    max_degree : int or None
        Largest degree; None takes the kernel's.

    Returns
    -------
    ndarray of complex, shape (max_degree + 1,)
        In scaled time; the factor of the moments c_k = int e^{-ik theta} dmu. Where nothing grows
        the law mixes phases: Lorentz's and, for lambda_k > 0, Gauss's law damp at the rate that is
        given; else, as no rate describes it, NaN.

    Raises
    ------
    ValueError
        If the problem is not on the circle, heads prefer a direction, max_degree < 0, or there are
        no frequencies.

    References
    ----------
    Strogatz, Mirollo, J. Stat. Phys. 63 (1991), 613-635, for the linear kernel.

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.SA)
    >>> mf.growth_rates(problem, 3).round(4)
    array([0.    , 0.1787, 0.5141, 0.6827])
    >>> mf.incoherence_growth_rates(problem, mf.Lorentzian(width=0.2), 3).real.round(4)
    array([ 0.    , -0.0213,  0.1141,  0.0827])
    """
    if frequencies is None:
        frequencies = problem.frequencies
    if frequencies is None:
        raise ValueError("the problem has no frequencies: give a law, such as Lorentzian(0.2).")
    rates, spread = _without_frequencies(problem, max_degree)
    roots = np.zeros(len(rates), dtype=np.complex128)
    for k in range(1, len(rates)):
        pole = frequencies.pole((rates[k] + spread[k]) / k)
        roots[k] = complex(k * pole.real - spread[k], k * pole.imag)
    return roots


@checked
def critical_widths(
    problem: Problem, frequencies: UnimodalFrequencies, max_degree: int | None = None
) -> FloatArray:
    """Widths of laws of one shape at which the degrees stop growing about incoherence.

    Without diffusion where lambda_k = k / (pi g(0)): pi lambda_k / k times g(0) at width 1. The
    degree that is last, `argmax`, is the first to grow as the spread gets less.

    Parameters
    ----------
    problem, max_degree
        As for `incoherence_growth_rates`.
    frequencies : Lorentzian, Gaussian or UniformSpread
        Says the shape; its own width is not used.

    Returns
    -------
    ndarray, shape (max_degree + 1,)
        In scaled time; 0 for degrees that do not grow without frequencies either.

    Raises
    ------
    ValueError
        As `incoherence_growth_rates`.

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.SA)
    >>> mf.critical_widths(problem, mf.Lorentzian(width=1.0), 4).round(8)
    array([0.        , 0.17867663, 0.2570587 , 0.22755944, 0.15002228])
    """
    from scipy.optimize import brentq

    rates, spread = _without_frequencies(problem, max_degree)
    unit = replace(frequencies, width=1.0, centre=0.0)
    widths = np.zeros(len(rates))
    for k in range(1, len(rates)):
        if rates[k] <= 0.0:
            continue
        coupling, damping = (rates[k] + spread[k]) / k, spread[k] / k
        widths[k] = coupling * math.pi * unit.peak
        if damping > 0.0:

            def excess(width: float, by: float = coupling, z: float = damping) -> float:
                return by * float(unit.resolvent(z / width).real) / width - 1.0

            # H falls from 1 / z with the width, and is nowhere larger than at z = 0.
            tiny = 1e-9 * min(widths[k], damping)
            widths[k] = brentq(excess, tiny, widths[k]) if excess(tiny) > 0.0 else 0.0
    return widths


def _without_frequencies(problem: Problem, max_degree: int | None) -> tuple[FloatArray, FloatArray]:
    """Growth rates lambda_k and what diffusion takes from them, k^2 D."""
    isotropic = problem.unlabelled.isotropic
    if isotropic.dimension != 1:
        raise ValueError(
            "frequencies turn tokens on the circle; on spheres a rotation has an axis. "
            f"Give mf.Circle(), not {problem.manifold}."
        )
    last = max(isotropic.degree, 1) if max_degree is None else max_degree
    at_least(0, max_degree=last)
    return isotropic.growth_rates(last), isotropic.diffusivity * np.arange(last + 1.0) ** 2
