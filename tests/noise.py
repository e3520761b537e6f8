"""Problems with noise."""

from dataclasses import replace

import meanfield as mf
from meanfield.spaces.manifold import Manifold


def noisy(
    space: Manifold, kernel: mf.Kernel, share: float = 0.8, flow: mf.Flow = mf.USA
) -> mf.Problem:
    """Problem whose diffusivity is a share of the critical one."""
    problem = mf.Problem(space, kernel, flow)
    diffusivity = share * mf.critical_diffusivity(problem)
    return replace(problem, flow=replace(flow, diffusivity=diffusivity))
