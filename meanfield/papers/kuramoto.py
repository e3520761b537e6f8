"""Kuramoto's model: tokens on the circle with frequencies of their own and the linear kernel.

    theta' = omega + K Im(e^{-i theta} Z),    omega ~ g,    Z = int e^{i theta} dmu

Above the coupling K_c = 2 / (pi g(0)) tokens synchronise partially. For laws g with one peak the
order r = |Z| solves

    1 = K int cos(theta)^2 g(K r sin theta) d theta,    |theta| < pi / 2.

For Lorentz's law r obeys an equation of its own (Ott and Antonsen):

    r' = (K / 2) r (1 - r^2) - Delta r.
"""

from __future__ import annotations

import math

import numpy as np

from meanfield.arguments import at_least, checked
from meanfield.arrays import EPS, FloatArray
from meanfield.terms.frequencies import Lorentzian, UnimodalFrequencies


@checked
def critical_coupling(frequencies: UnimodalFrequencies) -> float:
    """Coupling K_c = 2 / (pi g(0)) of Kuramoto's model at which incoherence turns unstable.

    It is 2 Delta (Lorentz), sigma sqrt(8 / pi) (Gauss), or 4 G / pi (uniform).

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
        1 = (K / 2 G) [asin(q) + q sqrt(1 - q^2)]                (uniform)

    For the uniform law all tokens lock at K_c, where r jumps from 0 to pi / 4.

    Parameters
    ----------
    frequencies : Lorentzian, Gaussian or UniformSpread
        Law g; r does not depend on its centre.
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
    # At K_c itself the uniform law is synchronised.
    if coupling < critical_coupling(frequencies) * (1.0 - 4 * EPS):
        return 0.0

    def excess(pull: float) -> float:
        return ratio * frequencies.locked(pull * frequencies.width) - 1.0

    # pull = K r / width <= K / width. On the plateau of g the equation does not depend on pull.
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

    The first moment is r(t) e^{i (phi_0 + centre t)}.

    - coupling: K, not 0; negative couplings repel.
    - times (float or ndarray): not negative.
    - start: r_0, from 0 to 1. At every frequency tokens have the density
      (1 - r_0^2) / (1 - 2 r_0 cos(theta - phi_0) + r_0^2).

    The result has the shape of times and the relative error of rounding, also for small w.
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
    # Where e^{-rate t} overflows, r is 0. From r_0 = 0 it may be 0 / 0.
    order = np.where(np.isfinite(left) & (start > 0.0), order, 0.0)
    return order if order.ndim else float(order)
