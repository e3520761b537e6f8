"""Constants that the checks rest on: how steep kernels are, and how fast differences may grow.

Of a zonal kernel a, W' = a, tokens at an angle phi attract each other along the geodesic with

    h(phi) = a(cos phi) sin phi,    h' = a cos phi - a' sin^2 phi.

On the circle d/dt int v^2 dmu = -c iint h'(v - v')^2 dmu dmu along v = c grad W * mu, and
iint (v - v')^2 <= 2 int v^2. On other spheres W(<x, y>) has, along geodesics with velocities e, e',
the second derivative

    -h' (e_1 - e'_1)^2 - s (|e_2|^2 + |e'_2|^2) a + 2 a <e_2, e'_2>

of their parts e_1 along the great circle through x and y and e_2 across, with eigenvalues 0, -2 h'
and -s a +- a: half the double integral is at most the largest of them times int |e|^2 dmu.

References: Otto, Commun. PDE 26 (2001) 101 (gradient flows and their Hessians); Dobrushin, Funct.
Anal. Appl. 13 (1979) 115 (stability of mean-field limits).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from meanfield.kernels import Kernel
from meanfield.problem import Problem
from meanfield.representations.step_limits import contraction_rate

# Angles at which a kernel is looked at, so close that largest values are missed by a relative
# (beta step^2) ~ 1e-3 at most for beta up to 1000; larger beta take more of them.
_ANGLES = 4001
_MARGIN = 1.01


@dataclass(frozen=True)
class Slopes:
    """Largest slopes of a kernel.

    Attributes
    ----------
    draws : float
        Derived. max h', at least 0: how fast what attracts falls together.
    parts : float
        Derived. max -h', at least 0: how fast what attracts is torn apart.
    draws_across, parts_across : float
        Derived. The same of the second derivative on any sphere: 2 h' and (s + 1) a at most, -2 h'
        and (1 - s) a.
    own, others : float
        Derived. Bounds of the slope of a velocity in the place where it is felt, and in the places
        of those who are felt, on any sphere.
    """

    draws: float
    parts: float
    draws_across: float
    parts_across: float
    own: float
    others: float


@lru_cache(maxsize=64)
def slopes(kernel: Kernel) -> Slopes | None:
    """Slopes of a kernel; None of a user's own, whose derivative is not known."""
    beta = kernel.log_slope
    if beta is None:
        return None
    count = _ANGLES * max(1, int(np.sqrt(abs(beta)) / 30.0))
    phi = np.linspace(0.0, np.pi, count)
    s = np.cos(phi)
    a, square = np.asarray(kernel.attention(s)), np.sin(phi) ** 2
    slope = beta * a
    along = a * s - slope * square
    steep = np.abs(slope) * square
    draws, parts = max(float(along.max()), 0.0), max(float(-along.min()), 0.0)
    return Slopes(
        draws=_MARGIN * draws,
        parts=_MARGIN * parts,
        draws_across=_MARGIN * max(2.0 * draws, float((a * s + np.abs(a)).max())),
        parts_across=_MARGIN * max(2.0 * parts, float((np.abs(a) - a * s).max())),
        own=_MARGIN * float((np.abs(a * s) + steep).max()),
        others=_MARGIN * float((np.abs(a) + steep).max()),
    )


def power_rates(problem: Problem) -> tuple[float, float] | None:
    """Rates (A, B) with -A P <= dP/dt <= B P of P = int |v|^2 dmu; None where none are known.

    Of an unnormalised kernel alone, without noise.

    Examples
    --------
    >>> import meanfield as mf
    >>> falls, grows = power_rates(mf.Problem(mf.Circle(), mf.exponential(5.0)))
    >>> round(falls / 1.01, 6), round(grows / 1.01, 4)  # 2 and 2 e^{(R-3)/2 - beta} (R-2) / beta
    (2.0, 0.8328)
    """
    if problem.attention is not None or _divided(problem) or problem.flow.diffusivity:
        return None
    found, strength = slopes(problem.own_kernel), problem.flow.strength
    if found is None:
        return None
    line = problem.manifold.dimension == 1
    falls = found.draws if line else found.draws_across
    grows = found.parts if line else found.parts_across
    if strength < 0:
        falls, grows = grows, falls
    return 2.0 * abs(strength) * falls, 2.0 * abs(strength) * grows


def distance_rate(problem: Problem, least_partition: float | None) -> float | None:
    """Rate at which W_1 between two solutions may grow; None where none is known.

    Without normalisation on the circle 2 max -h' |strength| (attraction), on other spheres what
    `Slopes.own` and `others` add up to. With softmax, Z no smaller than `least_partition` z,

        beta + 1 / (4 beta) + Lam / z,    Lam = max (|h'| + |a'| sin)

    on the circle, sqrt(Lam^2 + 1) in the place of Lam on others, for 1 <= 2 beta; of the second
    measure Z is felt alone.
    """
    if problem.attention is not None:
        return None
    kernel, size = problem.own_kernel, abs(problem.flow.strength)
    found = slopes(kernel)
    if found is None:
        return None
    line = problem.manifold.dimension == 1
    if not _divided(problem):
        if line:
            return 2.0 * size * (found.parts if problem.flow.strength > 0 else found.draws)
        return size * (found.own + found.others)
    beta = kernel.beta
    if beta < 0.5 or least_partition is None or least_partition <= 0.0:
        return None
    phi = np.linspace(0.0, np.pi, _ANGLES)
    steep = float((beta * kernel.attention(np.cos(phi)) * np.sin(phi)).max())
    lam = max(found.draws, found.parts) + _MARGIN * steep
    lam = lam if line else float(np.hypot(lam, 1.0))
    return size * (beta + 0.25 / beta + lam / least_partition)


def largest_speed(problem: Problem) -> float | None:
    """Bound of all speeds by attention alone; None where weights are unbounded, or others move too.

    |strength| max |a| of a kernel, |strength| of one that is normalised; of heads the sum of |V|_2,
    each times its largest weight.
    """
    others = problem.terms or problem.frequencies is not None or problem.layers is not None
    if others or problem.flow.diffusivity or not problem.manifold.is_sphere:
        return None
    return contraction_rate(problem)


def mean_inverse_partition(problem: Problem) -> float | None:
    """Bound of int dmu / Z over all measures: what the squared speed may exceed Z |v|^2 by.

    Sets of diameter w that cover the sphere give N / min_{s >= cos w} a, since Z in each is at
    least its mass times that. N = 2 pi / w arcs on the circle; elsewhere balls of radius w / 2, no
    more than 1 over the mass of one of radius w / 4. Never more than 1 / min a. 1 where Z = 1, None
    of heads and kernels of a user's own.
    """
    if not _divided(problem):
        return 1.0
    if problem.attention is not None or problem.own_kernel.log_slope is None:
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
    """Whether Z is something else than 1; doubly stochastic weights climb an energy without it."""
    if problem.normalization != "softmax":
        return False
    return problem.attention is not None or problem.own_kernel.log_slope != 0.0
