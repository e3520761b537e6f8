"""Constants that the checks rest on: speeds, rates of powers, growth of differences, 1/Z.

Stability: `papers.contraction`, and along a run `certificates.radius`. W_2 between two
runs grows and falls at the rates of `contraction_rates` because the energy has no larger second
derivatives along geodesics, C above and L below. Along a run without normalisation
P = int |v|^2 dmu has dP/dt = 2 c Hess E(v, v), so that -2 L P <= dP/dt <= 2 C P.

Reference: Otto, Communications in PDE 26 (2001), 101-174 (gradient flows of measures, their
Hessians).
"""

from __future__ import annotations

import numpy as np

from meanfield.carriers.step_limits import contraction_rate
from meanfield.papers.contraction import contraction_rates
from meanfield.problem import Problem


def power_rates(problem: Problem) -> tuple[float, float] | None:
    """Rates (A, B) with -A P <= dP/dt <= B P, P = int |v|^2 dmu; None but for bare kernels."""
    if problem.flow.diffusivity:
        return None
    try:
        rates = contraction_rates(problem, 2)
    except ValueError:
        return None
    return 2.0 * rates.lower, 2.0 * rates.upper


def largest_speed(problem: Problem) -> float | None:
    """Bound of all speeds; None where weights are unbounded, or more than attention moves.

    |strength| max |a| of a kernel, |strength| of a normalised one; of heads the sum of |V|_2,
    each times its largest weight.
    """
    others = problem.terms or problem.frequencies is not None or problem.layers is not None
    if others or problem.flow.diffusivity or not problem.manifold.is_sphere:
        return None
    return contraction_rate(problem)


def mean_inverse_partition(problem: Problem) -> float | None:
    """Bound of int dmu / Z over all measures: what the squared speed may exceed Z |v|^2 by.

    N sets of diameter w that cover the sphere give N / min_{s >= cos w} a, since Z in each is at
    least its mass times that: N = 2 pi / w arcs, or N <= 1 over the mass of a ball of radius w / 4.
    Never more than 1 / min a. 1 where Z = 1, None of heads and kernels of a user's own.
    """
    if not _divided(problem):
        return 1.0
    if problem.kernel.log_slope is None:
        return None
    from scipy.special import betainc

    kernel, m = problem.own_kernel, problem.manifold.dimension
    if m == 1:
        counts = np.arange(2, 2000)
        widths = np.minimum(2.0 * np.pi / counts, np.pi)
    else:
        widths = np.linspace(0.01, np.pi, 500)
        # Share of the sphere S^m within an angle r: I_{sin^2 r}(m / 2, 1 / 2) / 2.
        counts = 2.0 / np.maximum(betainc(0.5 * m, 0.5, np.sin(0.25 * widths) ** 2), 1e-300)
    # Built-in kernels are monotone: the least value is at an end.
    ends = np.minimum(kernel.attention(np.cos(widths)), kernel.attention(np.ones(1)))
    with np.errstate(all="ignore"):
        covered = float((counts / ends).min())
        everywhere = float(1.0 / np.asarray(kernel.attention(np.array([-1.0, 1.0]))).min())
    bound = min(covered, everywhere)
    return bound if np.isfinite(bound) else None


def _divided(problem: Problem) -> bool:
    """True if Z may differ from 1; doubly stochastic weights climb an energy without it."""
    return problem.normalization == "softmax" and problem.kernel.log_slope != 0.0
