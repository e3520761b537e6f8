"""Free energy of the unnormalised flow: what diffusion and attraction together decrease."""

from __future__ import annotations

from functools import lru_cache

from meanfield.arrays import FloatArray, ModalArray
from meanfield.kernels import Kernel
from meanfield.measures import Density, Measure
from meanfield.observables.entropy import entropy
from meanfield.problem import Problem


def free_energy(problem: Problem, measure: Density | Measure, moments: ModalArray) -> float:
    """Free energy F = D int f log f dsigma - strength / 2 int int W(<x, y>) dmu dmu.

    Without normalisation the equation is its gradient flow, dF/dt = -int |D grad log f - v|^2 dmu,
    so that F never increases. NaN for a normalised flow, for which none is known (but for the
    linear kernel, where Z = 1), and with diffusion for points, which have no entropy.

    Parameters
    ----------
    problem : Problem
        Kernel, strength and diffusivity D are used; W is the scaled potential.
    measure : Density or Measure
        For its entropy.
    moments : ndarray
        Its moments up to at least the kernel's degree.

    Returns
    -------
    float

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.linear(), mf.Flow(diffusivity=0.3))
    >>> density = mf.von_mises_fisher(2.0).build(mf.Circle())
    >>> m = density.moments(12)
    >>> round(free_energy(problem, density, m), 12), round(-float(m[1].real) ** 2 / 2, 12)
    (-0.071978004315, -0.243444736648)
    """
    if not problem.has_free_energy:
        return float("nan")
    flow, kernel, space = problem.flow, problem.kernel, problem.space
    multipliers = _potential_multipliers(kernel, space.dimension)
    interaction = 0.5 * space.inner(space.convolve(multipliers, moments), moments)
    disorder = flow.diffusivity * -entropy(measure) if flow.diffusivity else 0.0
    return disorder - flow.strength * interaction


@lru_cache(maxsize=64)
def _potential_multipliers(kernel: Kernel, dimension: int) -> FloatArray:
    return kernel.potential_multipliers(dimension, kernel.degree(dimension))
