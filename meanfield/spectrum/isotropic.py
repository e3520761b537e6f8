"""Problems without a preferred direction, with the data for theory and stationary states.

lambda_l = l(l + d - 2) (A_l - diffusivity),    A_l the coupling of degree l
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.spaces.manifold import laplacian_eigenvalues
from meanfield.terms.kernels import Kernel, kernel_of


class Isotropic(ABC):
    """Problem without a preferred direction: uniform is stationary with rates in closed form."""

    dimension: int  # of the sphere S^dimension
    diffusivity: float  # as in `Flow`

    @property
    @abstractmethod
    def degree(self) -> int: ...

    @abstractmethod
    def couplings(self, max_degree: int) -> FloatArray:
        """Couplings A_l, the diffusivities at which degrees become stable; A_0 = 0."""

    @property
    @abstractmethod
    def contraction(self) -> float:
        """Upper bound of the rate at which a concentrated measure contracts."""

    def growth_rates(self, max_degree: int) -> FloatArray:
        """Growth rates lambda_l of uniform, equation (4): see `spectrum.stability`."""
        eigenvalues = laplacian_eigenvalues(self.dimension, max_degree)
        return np.asarray(eigenvalues * (self.couplings(max_degree) - self.diffusivity))

    @property
    def dominant_degree(self) -> int | None:
        """Fastest growing degree; None if uniform is stable."""
        rates = self.growth_rates(max(self.degree, 1))
        fastest = int(np.argmax(rates))
        return fastest if rates[fastest] > 0 else None


@dataclass(frozen=True)
class ZonalProblem(Isotropic):
    """Problem with a kernel, for theory and stationary states."""

    dimension: int  # of the sphere S^dimension
    kernel: Kernel  # a(s), W(s) and their multipliers
    normalized: bool  # whether the velocity is divided by Z
    strength: float
    diffusivity: float

    @property
    def degree(self) -> int:
        return self.kernel.degree(self.dimension)

    def couplings(self, max_degree: int) -> FloatArray:
        of = self.kernel
        multipliers = of.normalized_multipliers if self.normalized else of.potential_multipliers
        coupling = self.strength * multipliers(self.dimension, max_degree)
        coupling[0] = 0.0
        return np.asarray(coupling)

    @property
    def contraction(self) -> float:
        return abs(self.strength) * (1.0 if self.normalized else self.kernel.largest_attention)

    @property
    def has_free_energy(self) -> bool:
        """True if a free energy is known: Z = 1, without normalisation or for the linear kernel."""
        return not self.normalized or self.kernel.log_slope == 0


@dataclass(frozen=True)
class IsotropicHeads(Isotropic):
    """Rates of heads whose matrices are numbers, B_h = b_h 1 and V_h = c_h 1.

        A_l = sum_h c_h w_l(b_h) / z_h,    z_h = e^{s - |b_h|} (USA), a_0 (SA), a_0 + a_l (Sinkhorn)

    with s the largest |b_h| and multipliers of the scaled kernel exponential(b_h). A sink c adds
    c e^{s - |b_h|} to z_h. Sinkhorn: a perturbation g of uniform changes log u by
    -alpha_l / (1 + alpha_l) g_l, alpha_l = a_l / a_0.
    """

    dimension: int  # of the sphere S^dimension
    heads: tuple[tuple[float, float], ...]
    normalization: str  # as in `Attention`
    diffusivity: float
    sink: float = 0.0

    @property
    def weighted(self) -> tuple[tuple[float, float], ...]:
        """Heads (b, c); without normalisation c is multiplied by the head's largest weight."""
        if self.normalization != "none":
            return self.heads
        largest = max(abs(b) for b, _ in self.heads)
        return tuple((b, c * float(np.exp(abs(b) - largest))) for b, c in self.heads)

    @property
    def contraction(self) -> float:
        return sum(abs(strength) for _, strength in self.weighted)

    @property
    def degree(self) -> int:
        return max(kernel_of(b).degree(self.dimension) for b, _ in self.heads)

    def couplings(self, max_degree: int) -> FloatArray:
        coupling = np.zeros(max_degree + 1)
        for b, strength in self.weighted:
            if self.normalization == "none":
                multipliers = kernel_of(b).potential_multipliers(self.dimension, max_degree)
            else:
                multipliers = kernel_of(b).normalized_multipliers(self.dimension, max_degree)
                if self.sink:
                    gap = max(abs(other) for other, _ in self.heads) - abs(b)
                    below = kernel_of(b).attention_multipliers(self.dimension, 0)[0]
                    multipliers = multipliers / (1.0 + self.sink * np.exp(min(gap, 700.0)) / below)
                if self.normalization == "sinkhorn":
                    # a_l = b w_l for l > 0.
                    multipliers = multipliers / (1.0 + b * multipliers)
            coupling += strength * multipliers
        coupling[0] = 0.0
        return coupling
