"""The part of the equation for a density that is linear about uniform, coefficient by coefficient.

d_t f_lm = l(l + d - 2) (A_l - diffusivity) f_lm + what is quadratic,    A_l = strength w_l / z
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray, ModalArray
from meanfield.fields.mean_field import Interaction
from meanfield.manifolds.manifold import laplacian_eigenvalues
from meanfield.problem import Problem
from meanfield.theory.stability import couplings


@dataclass(frozen=True, eq=False)
class LinearPart:
    """Rates about uniform, one for each coefficient of a density.

    Attributes
    ----------
    transport : ndarray
        Derived. l(l + d - 2) A_l, up to the degree that is felt. Complex as the state is: NumPy
        multiplies real by complex numbers through a buffer.
    diffusion : ndarray
        Derived. l(l + d - 2) times the diffusivity, complex.
    """

    transport: ModalArray
    diffusion: ModalArray

    @property
    def rates(self) -> FloatArray:
        """Both together, real: growth rates of the uniform state."""
        return np.asarray((self.transport - self.diffusion).real)


def linear_part(problem: Problem, felt: Interaction, max_degree: int) -> LinearPart:
    """Linear part for densities of a degree."""
    space = problem.space
    eigenvalues = laplacian_eigenvalues(space.dimension, max_degree)
    transport = eigenvalues * couplings(problem, max_degree)
    # What the transport does not feel would not cancel.
    transport[felt.degree + 1 :] = 0.0
    ones = np.ones_like(space.resize(space.from_modes([]), max_degree))
    return LinearPart(
        space.convolve(transport, ones),
        space.convolve(eigenvalues * problem.flow.diffusivity, ones),
    )
