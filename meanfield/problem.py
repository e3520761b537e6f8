"""The problem: manifold + kernel + flow, and the measure it starts from. Read this first.

    velocity   v(x) = strength * grad (W * mu)(x) / Z(x),   Z = 1 or a * mu
    equation   d_t f = -div(f v) + diffusivity * Laplacian f

Time is scaled time: the exponential kernel is a(s) = exp(beta s - |beta|), largest value 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import cast

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.checks import checked, made
from meanfield.flows import SA, USA, Flow
from meanfield.initial import InitialLaw, Sampled, uniform
from meanfield.kernels import Kernel
from meanfield.manifolds import MANIFOLDS, Manifold, Space
from meanfield.manifolds.manifold import laplacian_eigenvalues, theory_only
from meanfield.measures import Density, Measure
from meanfield.views import VIEWS


@dataclass(frozen=True)
class ZonalProblem:
    """What theory and stationary states may know of a problem: no direction of it is preferred.

    Attributes
    ----------
    dimension : int
        Derived. Of the sphere S^dimension.
    kernel : Kernel
        Derived. a(s), W(s) and their multipliers.
    normalized : bool
        Derived. Whether the velocity is divided by Z.
    strength, diffusivity : float
        Derived. As those of `Flow`.
    """

    dimension: int
    kernel: Kernel
    normalized: bool
    strength: float
    diffusivity: float

    @property
    def degree(self) -> int:
        """Largest degree that carries the kernel."""
        return self.kernel.degree(self.dimension)

    def couplings(self, max_degree: int) -> FloatArray:
        """Couplings A_l = strength w_l / z, z = 1 or a_0; degree 0 moves nothing and is 0."""
        of = self.kernel
        multipliers = of.normalized_multipliers if self.normalized else of.potential_multipliers
        coupling = self.strength * multipliers(self.dimension, max_degree)
        coupling[0] = 0.0
        return np.asarray(coupling)

    def growth_rates(self, max_degree: int) -> FloatArray:
        """Growth rates lambda_l of uniform, equation (4): see `theory.stability`."""
        eigenvalues = laplacian_eigenvalues(self.dimension, max_degree)
        return np.asarray(eigenvalues * (self.couplings(max_degree) - self.diffusivity))

    @property
    def dominant_degree(self) -> int | None:
        """Degree that grows fastest; None if uniform is stable."""
        rates = self.growth_rates(max(self.degree, 1))
        fastest = int(np.argmax(rates))
        return fastest if rates[fastest] > 0 else None

    @property
    def has_free_energy(self) -> bool:
        """Whether a free energy is known: Z = 1, as without normalisation or for the linear kernel.

        Where none is, functions with a number for an answer return NaN, and None where people read.
        """
        return not self.normalized or self.kernel.log_slope == 0


@checked
@dataclass(frozen=True)
class Problem:
    """A mean-field problem: what tokens attend to, what they do about it, and where they start.

        v(x) = strength * grad (W * mu)(x) / Z(x)
        d_t mu = -div(mu v) + diffusivity * Laplacian mu

    with W(s) = e^{beta s - |beta|} / beta for `exponential(beta)`. Its time is scaled time: that of
    papers, whose kernel lacks e^{-|beta|}, times e^{|beta|} for USA.

    Attributes
    ----------
    manifold : Circle or Sphere; for theory of any dimension
        Given. Where tokens live.
    kernel : Kernel
        Given. How strongly they attend to each other.
    flow : Flow
        Given. What they do about it: `USA` (unnormalised self-attention, Z = 1), `SA` (softmax, Z
        the mean of the kernel over mu), or `Flow(normalized, strength, diffusivity)`.
    initial : InitialLaw
        Given. Where they start; stability does not need it. Made by `uniform`, `perturbed_uniform`,
        `von_mises_fisher`, `mixture`, `sampled`, `from_points`, `from_function`, `from_values`,
        `from_density`.

    Raises
    ------
    ValueError
        If a normalised flow meets a kernel that is not positive.

    Examples
    --------
    >>> import meanfield as mf
    >>> mf.Problem(mf.Circle(), mf.exponential(beta=9.0), mf.USA)
    Problem(Circle(), exponential(beta=9.0), USA, uniform())
    """

    manifold: Space
    kernel: Kernel
    flow: Flow = USA
    initial: InitialLaw = field(default_factory=uniform)

    def __post_init__(self) -> None:
        """Refuse combinations that have no meaning."""
        if self.flow.normalized:
            s = np.cos(np.linspace(0.0, np.pi, 4001))
            lowest = float(np.min(self.kernel.attention(s)))
            # Underflow to zero far from a narrow peak is harmless; a sign change is not.
            if lowest < 0:
                raise ValueError(
                    f"a normalised flow needs a positive kernel; {self.kernel.name!r} falls to "
                    f"{lowest:.3g}. Take USA, normalized = false in a run file."
                )

    @cached_property
    def space(self) -> Manifold:
        """The manifold, if measures can evolve on it.

        Raises
        ------
        ValueError
            On spheres that are for theory only.
        """
        if self.manifold.name not in MANIFOLDS:
            raise ValueError(theory_only(self.manifold.name))
        return cast(Manifold, self.manifold)

    @property
    def zonal(self) -> ZonalProblem:
        """The problem as theory and stationary states see it.

        Examples
        --------
        >>> import meanfield as mf
        >>> mf.Problem(mf.Sphere(8), mf.linear()).zonal.dimension
        7
        """
        flow = self.flow
        return ZonalProblem(
            self.manifold.dimension, self.kernel, flow.normalized, flow.strength, flow.diffusivity
        )

    @property
    def kernel_degree(self) -> int:
        """Largest degree that carries the kernel."""
        return self.zonal.degree

    @property
    def moment_degree(self) -> int:
        """Degree to which runs store moments: the kernel's, at least 12 (circle) or 8."""
        return max(self.kernel_degree, 12 if self.manifold.dimension == 1 else 8)

    @property
    def has_free_energy(self) -> bool:
        """Whether a free energy is known; see `ZonalProblem`."""
        return self.zonal.has_free_energy

    @checked
    def initial_measure(self) -> Density | Measure:
        """The measure at time 0, built once."""
        return self._initial_measure

    @cached_property
    def _initial_measure(self) -> Density | Measure:
        law = self.initial
        if isinstance(law, Sampled) and law.max_degree is None:
            # The degrees that grow first, and the harmonics that they make.
            law = replace(law, max_degree=2 * (self.zonal.dominant_degree or 1))
        built = law.build(self.space)
        return cast(
            Density | Measure, made(f"the law {self.initial.name!r}", built, Density, Measure)
        )

    def _repr_html_(self) -> str:
        """Table for notebooks."""
        return str(VIEWS["Problem.html"](self))

    def __repr__(self) -> str:
        """What makes it again; the usual flows by their names."""
        flow = {USA: "USA", SA: "SA"}.get(self.flow, repr(self.flow))
        return f"Problem({self.manifold!r}, {self.kernel!r}, {flow}, {self.initial!r})"
