"""How order leaves uniform, in closed form: continuously or with a jump.

The branch that leaves uniform at the critical diffusivity D_# is, with eps the moment of the
dominant degree k:

    D = D_# (1 + B eps^2 + ...).

It exists below D_# if B < 0 (continuous) and overhangs above it if B > 0 (discontinuous). B needs
the square of the dominant harmonic, p_k^2 = 1 + kappa p_{2k}, which holds on the circle with
kappa^2 = 1/2, and on S^{d-1} for k = 1 with kappa^2 = (2d - 2)/(d + 2). With the ratios
q = w_{2k} / w_k and alpha_l = a_l / a_0,

    USA   B = kappa^2 q / (2 (1 - q)) + kappa^2 / 6 - 1/3
    SA    B = kappa (q mu - alpha_k kappa / 2 - alpha_{2k} mu) + alpha_k^2 (1 + kappa^2) / 3
              + (kappa^2 - 2) / 6,             mu = kappa (1 - alpha_k) / (2 (1 - q))

(SA for the exponential kernel, where stationary f ~ (a*f)^{1/(c D)}). B = 0 is the tricritical
point: for USA on S^{d-1}, q = I_{d/2+1}(beta) / I_{d/2}(beta) = 1/d.
"""

from __future__ import annotations

import math

from meanfield.arguments import checked
from meanfield.problem import Problem
from meanfield.spaces.manifold import Geometry
from meanfield.spectrum.stability import TIE, couplings, critical_degree
from meanfield.terms.kernels.exponential import inverse_bessel_ratio


@checked
def tricritical_beta(manifold: Geometry) -> float:
    """The beta above which order sets in with a jump, for attractive USA.

    The root of I_{d/2+1}(beta) / I_{d/2}(beta) = 1/d on the unit sphere of R^d, for the exponential
    kernel. Self-attention with softmax (SA) has none: B < 0 at every beta > 0.

    Parameters
    ----------
    manifold : Circle or Sphere
        `Sphere(d)`, of any d.

    Returns
    -------
    float
        To a few roundings.

    Raises
    ------
    TypeError
        If it is no manifold: a number could mean that of the sphere or that of the space around it.

    References
    ----------
    Mun, Rosenzweig, arXiv:2604.16288 (d = 2) and arXiv:2606.05140 (all d).

    Examples
    --------
    >>> import meanfield as mf
    >>> [round(tricritical_beta(mf.Sphere(d)), 11) for d in (2, 3)]
    [2.44691831129, 1.81615452544]
    """
    d = manifold.dimension + 1
    return float(inverse_bessel_ratio(d / 2 + 1.0, 1.0 / d))


def branch_direction(problem: Problem) -> float:
    """Coefficient B in D = D_# (1 + B eps^2 + ...) of the branch that leaves uniform.

    Negative: order sets in continuously. Positive: with a jump. Infinite: with a jump too, since
    the branch leaves linearly in eps, as it does for even degrees on the sphere.

    problem: its diffusivity and its initial measure are not used.

    Returns: dimensionless; eps is the moment of the critical degree in the normalised basis,
    sqrt(d) times the order parameter for degree 1. ValueError if nothing grows, or if a normalised
    flow has a kernel that is not built in. If the critical degree is an odd one above 1 on the
    sphere.

    See `tricritical_beta`: where B = 0.

    >>> import meanfield as mf
    >>> round(branch_direction(mf.Problem(mf.Circle(), mf.linear(), mf.USA)), 12)
    -0.25
    """
    zonal = problem.zonal
    kernel, dimension = zonal.kernel, zonal.dimension
    k = critical_degree(problem)
    if zonal.normalized and kernel.log_slope is None:
        raise ValueError(
            f"stationary states of a normalised flow need a built-in kernel, got {kernel.name!r}. "
            "Use normalized = false."
        )
    if dimension > 1 and k > 1:
        if k % 2 == 0:
            return math.inf
        raise ValueError(
            f"the direction of the branch is known for degree 1 and even degrees on "
            f"{problem.manifold.name}; here degree {k} grows first."
        )
    d = dimension + 1
    squared = (2.0 * d - 2.0) / (d + 2.0)
    kappa = math.sqrt(squared)
    coupling = couplings(problem, 2 * k)
    q = float(coupling[2 * k] / coupling[k])
    # Ratios that differ from 1 by rounding of a quadrature are 1.
    if q >= 1.0 - TIE:
        # Both degrees lose stability together: the branch leaves linearly.
        return math.inf
    if not zonal.normalized or kernel.log_slope is None:
        return squared * q / (2.0 * (1.0 - q)) + squared / 6.0 - 1.0 / 3.0
    first, second = (float(kernel.log_slope / zonal.strength * coupling[l]) for l in (k, 2 * k))
    mu = kappa * (1.0 - first) / (2.0 * (1.0 - q))
    return (
        kappa * (q * mu - first * kappa / 2.0 - second * mu)
        + first**2 * (1.0 + squared) / 3.0
        + (squared - 2.0) / 6.0
    )
