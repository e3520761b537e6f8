"""Growth about incoherence of tokens on the circle with natural frequencies.

    theta' = omega + v[mu](theta),    omega ~ g

In incoherence the tokens of each frequency are uniform. For any kernel, moments of degree k about
it grow like e^{st} with

    1 = lambda_k int g(omega) / (s + i k omega) d omega

and the growth rate lambda_k without frequencies.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from meanfield.arguments import at_least, checked
from meanfield.arrays import ComplexArray, FloatArray
from meanfield.problem import Problem
from meanfield.terms.frequencies import Frequencies, UnimodalFrequencies


@checked
def incoherence_growth_rates(
    problem: Problem, frequencies: Frequencies | None = None, max_degree: int | None = None
) -> ComplexArray:
    """Growth rates s_k of moments about incoherence, for a law g of natural frequencies.

    In incoherence the tokens of each frequency are uniform. With the growth rates lambda_k without
    frequencies and the diffusivity D, s_k is the solution of largest real part of:

        1 = (lambda_k + k^2 D) int g(omega) / (s + k^2 D + i k omega) d omega.

    Lorentz's law has s_k = lambda_k - k Delta - i k centre: a spread damps degree k by k Delta, and
    the first degree to grow has the largest lambda_k / k.

    Parameters
    ----------
    problem : Problem
        On the circle, with a kernel or heads of numbers; its initial measure is not used.
    frequencies : Frequencies or None
        Lorentzian, Gaussian, UniformSpread or GivenFrequencies, per scaled time; by default those
        of the problem.
    max_degree : int or None
        Largest degree, by default the kernel's.

    Returns
    -------
    ndarray of complex, shape (max_degree + 1,)
        In scaled time, of the moments c_k = int e^{-ik theta} dmu. A degree that does not grow
        decays by phase mixing: the rate is known for Lorentz's law and, if lambda_k > 0, for
        Gauss's law; else it is NaN.

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

    Without diffusion they solve lambda_k = k / (pi g(0)), so they are pi lambda_k / k times g(0) at
    width 1. As the width decreases, the degree of the largest one, `argmax`, grows first.

    Parameters
    ----------
    problem, max_degree
        As for `incoherence_growth_rates`.
    frequencies : Lorentzian, Gaussian or UniformSpread
        Shape of the law; its width is not used.

    Returns
    -------
    ndarray, shape (max_degree + 1,)
        Per scaled time; 0 for degrees that do not grow without frequencies either.

    Raises
    ------
    ValueError
        As for `incoherence_growth_rates`.

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

            # H falls from 1 / z with the width, and is largest at z = 0.
            tiny = 1e-9 * min(widths[k], damping)
            widths[k] = brentq(excess, tiny, widths[k]) if excess(tiny) > 0.0 else 0.0
    return widths


def _without_frequencies(problem: Problem, max_degree: int | None) -> tuple[FloatArray, FloatArray]:
    """Growth rates lambda_k without frequencies, and the damping k^2 D by diffusion in them."""
    isotropic = problem.unlabelled.isotropic
    if isotropic.dimension != 1:
        raise ValueError(
            "frequencies turn tokens on the circle; on spheres a rotation has an axis. "
            f"Give mf.Circle(), not {problem.manifold}."
        )
    last = max(isotropic.degree, 1) if max_degree is None else max_degree
    at_least(0, max_degree=last)
    return isotropic.growth_rates(last), isotropic.diffusivity * np.arange(last + 1.0) ** 2
