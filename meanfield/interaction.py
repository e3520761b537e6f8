"""Moments -> mean field -> velocity: the heart of every model.

    Phi_l = strength * w_l m_l,     Z_l = a_l m_l,     v = grad Phi / Z

(Z = 1 when the flow is not normalised). A measure enters through its moments up to the
kernel's degree and through nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

from meanfield.arrays import FloatArray, ModalArray
from meanfield.manifolds.manifold import Manifold
from meanfield.problem import Problem


@dataclass(frozen=True, eq=False)
class MeanField:
    """Field that a measure creates.

    Attributes
    ----------
    manifold : Manifold
        Derived.
    potential : ndarray
        Derived. Modal coefficients of Phi, strength included.
    partition : ndarray or None
        Derived. Modal coefficients of Z = a * mu; None when the flow is not normalised.
    """

    manifold: Manifold
    potential: ModalArray
    partition: ModalArray | None

    def velocity(self, points: FloatArray) -> FloatArray:
        """Velocity grad Phi / Z at scattered points."""
        return self.manifold.gradient(self.potential, points, self.partition)


@dataclass(frozen=True, eq=False)
class Interaction:
    """The linear map from moments to the mean field, computed once for a problem.

    Attributes
    ----------
    manifold : Manifold
        Derived.
    degree : int
        Derived. Degree of the moments that are felt.
    potential_multipliers, attention_multipliers : ndarray, shape (degree + 1,)
        Derived. strength * w_l, and a_l if the flow is normalised (else None).
    """

    manifold: Manifold
    degree: int
    potential_multipliers: FloatArray
    attention_multipliers: FloatArray | None

    def field(self, moments: ModalArray) -> MeanField:
        """Mean field of a measure with these moments."""
        potential = self.manifold.convolve(self.potential_multipliers, moments)
        if self.attention_multipliers is None:
            return MeanField(self.manifold, potential, None)
        partition = self.manifold.convolve(self.attention_multipliers, moments)
        return MeanField(self.manifold, potential, partition)


def interaction(problem: Problem) -> Interaction:
    """Interaction of a problem, with multipliers up to the kernel's degree.

    Examples
    --------
    >>> import meanfield as mf
    >>> interaction(mf.Problem(mf.Circle(), mf.linear(), mf.USA)).potential_multipliers
    array([0. , 0.5])
    """
    manifold, kernel, flow = problem.space, problem.kernel, problem.flow
    degree, dimension = problem.kernel_degree, problem.manifold.dimension
    potential = flow.strength * kernel.potential_multipliers(dimension, degree)
    # The constant of the potential moves nothing, and 1/beta of it would only round.
    potential[0] = 0.0
    attention = kernel.attention_multipliers(dimension, degree) if flow.normalized else None
    return Interaction(manifold, degree, potential, attention)
