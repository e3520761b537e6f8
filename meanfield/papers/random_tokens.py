"""Geometry of independent uniform tokens on a sphere.

The cosine of two tokens has the density (1 - s^2)^{(d-3)/2} / B(1/2, (d-1)/2) on [-1, 1]. With the
regularised incomplete beta function I,

    P(|<x, y>| > c) = I_{1 - c^2}((d - 1) / 2, 1 / 2).

The probability that n tokens lie in one hemisphere is (Wendel)

    P = 2^{1-n} sum_{k < d} binom(n - 1, k) = I_{1/2}(n - d, d),    n > d.

As d grows at fixed n, pairs become orthogonal, all tokens lie in one hemisphere, and cosines follow
`equiangular_cosine` (Theorem 6.9 of arXiv:2312.10794).
"""

from __future__ import annotations

import math

import numpy as np

from meanfield.arguments import at_least, checked
from meanfield.spaces import Geometry

# From here on 1 - x e^{-w/a} is far enough from its zero for 48 Gauss-Laguerre nodes.
_FAR = 60.0
_NODES = 48
# Below it betainc underflows or has few digits.
_SMALLEST = 1e-300
# From here on the series of ln Gamma(a + 1/2) - ln Gamma(a) is exact to rounding.
_LARGE = 30.0


@checked
def hemisphere_probability(manifold: Geometry, tokens: int) -> float:
    """Probability that n independent uniform tokens lie in one hemisphere.

    It is 2^{1-n} sum_{k < d} binom(n - 1, k), and 1 for n <= d. Such tokens form one cluster for
    any queries and keys if the value is the identity (Lemma 6.4 of the source).

    Parameters
    ----------
    manifold : Circle or Sphere
        The unit sphere of R^d, any d.
    tokens : int
        n, at least 1.

    Returns
    -------
    float
        0 where it underflows.

    Raises
    ------
    ValueError
        If tokens < 1, or the manifold is not a sphere.

    References
    ----------
    Wendel, A problem in geometric probability, Math. Scand. 11 (1962), 109-111.
    Geshkovski, Letrouit, Polyanskiy, Rigollet, arXiv:2312.10794, Section 6.

    Examples
    --------
    >>> import meanfield as mf
    >>> [mf.hemisphere_probability(mf.Sphere(d), 10) for d in (2, 3, 10)]
    [0.01953125, 0.08984375, 1.0]
    """
    from scipy.special import betainc

    at_least(1, tokens=tokens)
    d = _ambient(manifold)
    return float(betainc(tokens - d, d, 0.5)) if tokens > d else 1.0


@checked
def cap_mass(manifold: Geometry, angle: float) -> float:
    """Probability q that a uniform token is within an angle of a given point.

    q = I_{sin^2 angle}((d - 1) / 2, 1 / 2) / 2 up to pi / 2; angle / pi on the circle and
    sin^2(angle / 2) on S^2.
    """
    from scipy.special import betainc

    if not 0.0 <= angle <= math.pi:
        raise ValueError(f"angle must lie between 0 and pi, got {angle:g}.")
    if angle > 0.5 * math.pi:
        return 1.0 - cap_mass(manifold, math.pi - angle)
    return 0.5 * float(betainc(0.5 * (_ambient(manifold) - 1), 0.5, math.sin(angle) ** 2))


@checked
def expected_centres(manifold: Geometry, tokens: int, separation: float) -> float:
    """Expected number of strong centres among n independent uniform tokens, (1 - (1 - q)^n) / q.

    A token is a strong centre if all earlier tokens are farther away than the separation; q is the
    mass of a cap of that angle. Under causal attention, strong centres with a separation of about
    beta^{-1/2} stay in place and attract other tokens. `observables.cosines.strong_centres` finds
    the centres of given tokens.

    Karagodin, Polyanskiy, Rigollet, Clustering in causal attention masking, arXiv:2411.04990.

    >>> import meanfield as mf
    >>> round(expected_centres(mf.Circle(), 200, 0.5), 6)
    6.283185
    """
    at_least(0, tokens=tokens)
    q = cap_mass(manifold, separation)
    if q in (0.0, 1.0):
        return float(tokens) if q == 0.0 else float(min(tokens, 1))
    return -math.expm1(tokens * math.log1p(-q)) / q


@checked
def log_pair_tail(manifold: Geometry, cosine: float) -> float:
    """Ln of the probability that two independent uniform tokens have |<x, y>| > c.

    It is ln I_{1 - c^2}((d - 1) / 2, 1 / 2), about -d c^2 / 2; -inf for c = 1. The relative error
    is about 1e-14 in any dimension.
    """
    from scipy.special import betainc, roots_laguerre

    if not 0.0 <= cosine <= 1.0:
        raise ValueError(f"cosine must lie between 0 and 1, got {cosine:g}.")
    if cosine == 1.0:
        return -math.inf
    a, inside = 0.5 * (_ambient(manifold) - 1), (1.0 - cosine) * (1.0 + cosine)
    if a * cosine**2 < _FAR:
        # 1 - c^2 loses digits of a small c, so compute 1 - P.
        missing = float(betainc(0.5, a, cosine**2))
        if missing < 0.5:
            return math.log1p(-missing)
        tail = float(betainc(a, 0.5, inside))
        if tail > _SMALLEST:
            return math.log(tail)
    # s^2 = 1 - x e^{-w/a}: int_c^1 (1 - s^2)^{a-1} ds = x^a / 2a int_0^inf e^{-w} / s dw.
    nodes, weights = roots_laguerre(_NODES)
    heights = np.sqrt(cosine**2 - inside * np.expm1(-nodes / a))
    mean = float(weights @ (1.0 / heights))
    log_inside = math.log1p(-(cosine**2)) if cosine < 0.5 else math.log(inside)
    # 1 / B(1/2, a) = Gamma(a + 1/2) / (Gamma(a) sqrt(pi)).
    return a * log_inside + _log_half_step(a) + math.log(mean / (a * math.sqrt(math.pi)))


@checked
def almost_orthogonal_bounds(manifold: Geometry, tokens: int, cosine: float) -> tuple[float, float]:
    """Bounds of the probability that all pairs of n uniform tokens have |<x_i, x_j>| <= c.

    With p = P(|<x, y>| > c) and N = n (n - 1) / 2 pairs,

        1 - N p <= P <= (1 - p) / (1 + (N - 1) p).

    The lower bound is the union bound. The upper bound is by Chung and Erdos, Trans. AMS 72 (1952),
    179-186, for pairwise independent events; cosines are pairwise independent, even if two pairs
    share a token. For small N p both are 1 - N p nearly; `log_pair_tail` gives ln p.

    >>> import meanfield as mf
    >>> bounds = almost_orthogonal_bounds(mf.Sphere(1024), 32, 0.15)
    >>> [round(each, 6) for each in bounds]
    [0.999301, 0.999302]
    """
    at_least(2, tokens=tokens)
    p = math.exp(log_pair_tail(manifold, cosine))
    pairs = 0.5 * tokens * (tokens - 1.0)
    return max(0.0, 1.0 - pairs * p), (1.0 - p) / (1.0 + (pairs - 1.0) * p)


def _ambient(manifold: Geometry) -> int:
    """Dimension d of R^d around a sphere; ValueError for other manifolds."""
    if not manifold.is_sphere:
        raise ValueError(f"no law is uniform on {manifold}: give mf.Sphere(d) or mf.Circle().")
    return manifold.dimension + 1


def _log_half_step(a: float) -> float:
    """Ln Gamma(a + 1/2) - ln Gamma(a)."""
    if a < _LARGE:
        return math.log(math.gamma(a + 0.5) / math.gamma(a))
    # DLMF 5.11.8 at h = 1/2 and h = 0.
    b = 1.0 / (a * a)
    series = -1 / 8 + b * (1 / 192 + b * (-1 / 640 + b * (17 / 14336 - b * 31 / 18432)))
    return 0.5 * math.log(a) + series / a
