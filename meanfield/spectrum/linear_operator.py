"""Rates and modes of the flow linearised about a stationary density, also for heads with matrices.

`linear_system` has the equation of L, and its matrix up to a degree. This module finds a sufficient
degree, and computes eigenvalues and modes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from meanfield.arguments import at_least, checked
from meanfield.arrays import ComplexArray, FloatArray, ModalArray
from meanfield.bases.coordinates import Coordinates, coordinate_count, coordinates
from meanfield.described import plot_method
from meanfield.engines.threads import one_blas_thread
from meanfield.measures import Density
from meanfield.problem import Problem
from meanfield.spaces import MANIFOLDS
from meanfield.spectrum.linear_system import (
    LARGEST,
    UNIFORM,
    LinearSystem,
    attended_degree,
    linear_system,
)

# A density other than uniform is stationary if its flux is below this share of the largest speed
# that the weights allow; it bounds the error of computed densities.
_TOLERANCE = 1e-8
# Eigenvalues of two degrees agree within this share of the largest entry without diffusion.
_AGREEMENT = 1e-8
# Shares of the largest entry: smaller imaginary parts and differences of real parts are rounding;
# smaller rates are neither growth nor decay.
NOISE, _NEUTRAL = 1e-12, 1e-9
# A mode has a single order if the others have less than this share of its square.
_ALONE = 1e-12
# Number of leading eigenvalues that must converge; beyond half the largest size, the first.
_LEADING = 6


@dataclass(frozen=True, eq=False)
class LinearOperator:
    r"""The flow linearised about a density: d_t g = L g for small perturbations g.

    About a density that is not stationary there are no rates: `eigenvalues` and `modes` are empty.

    Attributes
    ----------
    problem : Problem
    density : Density
        The density f about which it is linearised.
    degree : int
        Largest degree of perturbations.
    matrix : ndarray, shape (size, size)
        L in real coordinates whose Euclidean product is int g h dsigma, 2 K of them on the
        circle and (L + 1)^2 - 1 on the sphere. First come real parts of the manifold's packed
        coefficients from degree 1 on, then imaginary parts for orders above 0. Orders other than
        0 have a factor sqrt(2). `to_vector` and `to_coefficients` convert.
    eigenvalues : ndarray of complex, shape (n,)
        Per scaled time, with multiplicity. Largest real part first; in a pair Im > 0 first. Only
        converged ones, unless a degree was given.
    errors : ndarray, shape (n,)
        Distance of each to the nearest eigenvalue of a larger degree, computed on finer grids.
    vectors : ndarray of complex, shape (size, n)
        Eigenvectors in real coordinates, of length 1.
    stationary : bool
        Whether div(f v) = diffusivity Laplacian f: the gradient part of the flux
        f v - diffusivity grad f is below the tolerance.
    drift : float
        Largest |v| of the density. Under a rigid rotation uniform is stationary with a drift.
    residual : float
        Size of d_t f, the root of int (d_t f)^2 dsigma.
    """

    problem: Problem
    density: Density
    degree: int
    matrix: FloatArray
    eigenvalues: ComplexArray
    errors: FloatArray
    vectors: ComplexArray
    stationary: bool
    drift: float
    residual: float

    @property
    def _coordinates(self) -> Coordinates:
        return coordinates(self.problem.manifold.dimension, self.degree)

    def to_vector(self, coefficients: ModalArray) -> FloatArray:
        """Real coordinates of a perturbation, cut or filled with zeros to the degree."""
        return self._coordinates.to_vector(self.problem.manifold.resize(coefficients, self.degree))

    def to_coefficients(self, vector: npt.ArrayLike) -> ModalArray:
        """Coefficients, in the manifold's layout, from real coordinates."""
        return self._coordinates.to_coefficients(vector)

    @cached_property
    def modes(self) -> ModalArray:
        """Perturbations of the eigenvalues, shape (n, 2, coefficients).

        Coefficients of g_1 and g_2 in the manifold's layout. With lambda = rate + i frequency, the
        real perturbation that starts from g_1 is

            e^{rate t} (cos(frequency t) g_1 - sin(frequency t) g_2).
        """
        columns = [
            [self.to_coefficients(vector.real), self.to_coefficients(vector.imag)]
            for vector in self.vectors.T
        ]
        count = len(self._coordinates.degrees)
        return np.array(columns, dtype=np.complex128).reshape(-1, 2, count)

    @property
    def growth_rate_max(self) -> float | None:
        """Largest real part; None about a density that is not stationary."""
        return float(self.eigenvalues[0].real) if len(self.eigenvalues) else None

    @property
    def growing(self) -> npt.NDArray[np.bool_]:
        """True for growing modes, shape (n,): above 1e-9 of the largest entry."""
        return np.asarray(self.eigenvalues.real > self._largest * _NEUTRAL)

    @property
    def decaying(self) -> npt.NDArray[np.bool_]:
        """True for decaying modes, shape (n,): below -1e-9 of the largest entry."""
        return np.asarray(self.eigenvalues.real < -self._largest * _NEUTRAL)

    @property
    def travelling(self) -> npt.NDArray[np.bool_]:
        """True for complex eigenvalues, shape (n,): their perturbations rotate or oscillate."""
        # Rounding splits a nearly double eigenvalue by its root, which `errors` contains.
        least = np.maximum(self._largest * _NEUTRAL, self.errors)
        return np.asarray(np.abs(self.eigenvalues.imag) > least)

    @property
    def _largest(self) -> float:
        return float(np.abs(self.matrix).max(initial=0.0))

    @cached_property
    def orders(self) -> npt.NDArray[np.int64]:
        """Order k of modes e^{+-ik angle} of a single order, shape (n,); 0 for all others.

        The angle is theta on the circle, the azimuth about the third axis on the sphere.
        """
        of = self._coordinates
        order = of.orders[of.coefficient_of]
        square = np.abs(self.vectors) ** 2
        shares = np.zeros((self.degree + 1, square.shape[1]))
        np.add.at(shares, order, square)
        largest = shares.argmax(axis=0) if square.shape[1] else np.zeros(0, dtype=np.int64)
        alone = np.take_along_axis(shares, largest[None], axis=0)[0] > 1.0 - _ALONE
        return np.where(alone, largest, 0)

    @property
    def angular_velocities(self) -> FloatArray:
        """Angular velocity -Im lambda / k of rotating waves e^{ik angle}, shape (n,).

        NaN for modes with real eigenvalues, and for modes that mix several k and so oscillate.
        """
        of = self._coordinates
        count = len(of.real)
        # Coordinates (r, s) of one order are r cos(k angle) - s sin(k angle), for complex r and s
        # (r + i s) e^{ik angle} / 2 + (r - i s) e^{-ik angle} / 2.
        cosine = np.zeros((len(of.degrees), self.vectors.shape[1]), dtype=np.complex128)
        sine = np.zeros_like(cosine)
        cosine[of.real], sine[of.imaginary] = self.vectors[:count], self.vectors[count:]
        forth = (np.abs(cosine + 1j * sine) ** 2).sum(axis=0)
        back = (np.abs(cosine - 1j * sine) ** 2).sum(axis=0)
        one_way = np.minimum(forth, back) < _ALONE * (forth + back)
        turning = self.travelling & one_way & (self.orders > 0)
        sense = np.where(forth > back, -1.0, 1.0)
        velocities = sense * self.eigenvalues.imag / np.maximum(self.orders, 1)
        return np.where(turning, velocities, np.nan)

    @checked
    def perturbed(self, index: int = 0, amplitude: float = 1e-3, phase: float = 0.0) -> Density:
        """The density plus Re(e^{i phase} mode), whose largest value is about `amplitude`.

        Parameters
        ----------
        index : int
            Index of the eigenvalue.
        amplitude : float
            Largest modulus of the perturbation at the nodes of a grid, over all phases.
        phase : float
            In radians; it makes one turn in a period 2 pi / |Im lambda|.

        Raises
        ------
        ValueError
            If there is no such mode.

        Examples
        --------
        A run that starts from the leading mode:

        >>> import meanfield as mf
        >>> found = mf.linear_operator(mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA))
        >>> law = mf.from_density(found.perturbed(0, amplitude=0.01).coefficients)
        """
        self._require(index)
        space, vector = self.problem.manifold, self.vectors[:, index]
        parts = [self.to_coefficients(vector.real), self.to_coefficients(vector.imag)]
        grid = space.grid(self.degree)
        largest = np.hypot(*(grid.to_nodal(part) for part in parts)).max()
        change = np.cos(phase) * parts[0] - np.sin(phase) * parts[1]
        degree = max(self.degree, self.density.max_degree)
        coefficients = self.density.moments(degree)
        return Density(space, coefficients + amplitude / largest * space.resize(change, degree))

    def _require(self, index: int) -> None:
        """Refuse a mode that does not exist."""
        if not self.stationary:
            raise ValueError(
                f"the density is not stationary: tokens move there, |v| up to {self.drift:.3g}, so "
                "perturbations have no modes. Give a stationary density, about=, as of the end of "
                "a run."
            )
        if not -len(self.eigenvalues) <= index < len(self.eigenvalues):
            raise ValueError(f"there is no mode {index}: the operator has {len(self.eigenvalues)}.")

    def describe(self, index: int = 0) -> str:
        """Behaviour of a mode, in words.

        Raises
        ------
        ValueError
            If there is no such mode, as about a density that is not stationary.

        Examples
        --------
        >>> import meanfield as mf
        >>> turning = mf.Head(value=[[0.8, -0.6], [0.6, 0.8]])
        >>> problem = mf.Problem(mf.Circle(), mf.Attention([turning], beta=1.0))
        >>> mf.linear_operator(problem).describe()
        'grows, rotating wave, angular velocity 0.4804'
        """
        self._require(index)
        words = "neither grows nor decays"
        if self.growing[index] or self.decaying[index]:
            words = "grows" if self.growing[index] else "decays"
        if not self.travelling[index]:
            return words
        velocity = float(self.angular_velocities[index])
        if math.isfinite(velocity):
            return f"{words}, rotating wave, angular velocity {velocity:.4g}"
        period = 2.0 * math.pi / abs(float(self.eigenvalues[index].imag))
        return f"{words}, oscillates, period {period:.4g}"

    plot = plot_method(
        "LinearOperator.plot",
        "Figure of the eigenvalues in the complex plane, and of the leading modes."
        "\n\nA ValueError is raised if there are none, as the density is not stationary.",
    )

    def __repr__(self) -> str:
        if not self.stationary:
            return f"LinearOperator(not stationary: |v| up to {self.drift:.4g})"
        first = self.eigenvalues[0]
        leading = f"{first.real:.6g}"
        if self.travelling[0]:
            leading += f" +- {abs(first.imag):.6g}i"
        return f"LinearOperator(degree {self.degree}, leading eigenvalue {leading})"


@checked
def linear_operator(
    problem: Problem,
    degree: int | None = None,
    about: Density | None = None,
    *,
    tolerance: float = _TOLERANCE,
    position_average: float = 1.0,
) -> LinearOperator:
    """The flow linearised about uniform, or about any stationary density: rates and modes.

        d_t g = diffusivity Laplacian g - div(g v[f] + kappa f v'[g])

    For kernels, and for attention with heads, matrices and any normalisation. Matrices that are
    not symmetric have complex eigenvalues: perturbations rotate or oscillate as they grow.

    Parameters
    ----------
    problem : Problem
        On the circle or the sphere; its initial measure is not used.
    degree : int, optional
        Largest degree of perturbations; the result then has all eigenvalues, converged or not. By
        default the degree follows from the sharpest head, and rises until the six leading
        eigenvalues have converged (only the first, if that would take long); others are dropped.
    about : Density, optional
        The density f, by default uniform.
    tolerance : float
        Largest flux of `about` that counts as stationary, relative to the largest speed that the
        weights allow. For uniform it is always 1e-12.
    position_average : float
        kappa. Under a mask all positions have the density f, and perturbations are p(s) g with
        C p = kappa p, C the average over positions, `problem.labels(M).matrix`. By default p = 1
        and kappa = 1. Under "causal" s^p has kappa = 1 / (p + 1).

    Returns
    -------
    LinearOperator
        Without eigenvalues if the density is not stationary. Uniform is stationary if V_h B_h^T
        adds up to a rotation, as for B orthogonal and V = c B or V = c B^{-T}, and at beta = 0 for
        every V. It is not for B = 1 and a diagonal V with different entries. A skew drift rotates
        uniform and its modes; most other fixed fields move it.

    Raises
    ------
    ValueError
        If the degree is below 1, tables would not fit in memory, the density is on another
        manifold, or doubly stochastic weights do not converge. Under a rotary embedding, where
        `position_modes` has growth rates. If `position_average` is given without a mask.
    RuntimeError
        If the leading eigenvalue does not converge up to the largest degree.

    See Also
    --------
    growth_rates : closed form about uniform, if no direction is preferred.
    position_modes : profiles about uniform under a mask or a rotary embedding.
    StationaryState.growth_rates : rates about states of a kernel with diffusivity, by order.

    References
    ----------
    Geshkovski, Letrouit, Polyanskiy, Rigollet, A mathematical perspective on Transformers,
    arXiv:2312.10794 (dynamics with Q, K, V). Sander, Ablin, Blondel, Peyre, Sinkformers,
    arXiv:2110.11773 (doubly stochastic attention).

    Examples
    --------
    Scores rotated by an angle make a pattern that grows and rotates, c_k(t) ~ e^{lambda_k t}:

    >>> import meanfield as mf
    >>> turned = mf.Head(score=[[0.921061, -0.389418], [0.389418, 0.921061]])
    >>> problem = mf.Problem(mf.Circle(), mf.Attention([turned], beta=5.0))
    >>> mf.linear_operator(problem).eigenvalues[:2].round(4)
    array([0.3647+0.3899j, 0.3647-0.3899j])

    Without a stationary density there is no spectrum:

    >>> stretched = mf.Attention([mf.Head(value=[2.0, 1.0])], beta=4.0)
    >>> mf.linear_operator(mf.Problem(mf.Circle(), stretched))
    LinearOperator(not stationary: |v| up to 0.4318)
    """
    if problem.manifold.name not in MANIFOLDS:
        advice = "growth_rates knows kernels, and heads that are numbers, in every dimension"
        if problem.manifold.ambient == 2 and problem.manifold.is_sphere:
            advice = "take mf.Circle()"
        raise ValueError(
            f"{problem.manifold.name}: the linearised flow is known on the circle and the sphere; "
            f"{advice}."
        )
    problem.check_one_stage()
    problem.check_rates()
    if position_average != 1.0 and problem.mask == "none":
        raise ValueError("position_average is of attention with a mask: leave it out.")
    if problem.frequencies is not None:
        raise ValueError(
            "tokens that turn at frequencies of their own have growth rates about incoherence: "
            "mf.incoherence_growth_rates."
        )
    layers = problem.layering
    if layers.placement != "post" or not layers.is_flow:
        raise ValueError(
            "the linearised flow is that of attention, and layers have another clock: leave them "
            "out of the problem; mf.linear_phase_clock has the clocks of their flows."
        )
    if about is not None:
        problem.check_lives("the density lives", about)
    if degree is not None:
        at_least(1, degree=degree)
    density = about or Density(problem.manifold, problem.manifold.from_modes([]))
    tolerance = UNIFORM if about is None else tolerance
    with one_blas_thread():
        return _resolved(problem, density, degree, tolerance, position_average)


def _resolved(
    problem: Problem, density: Density, degree: int | None, tolerance: float, kappa: float
) -> LinearOperator:
    """The operator at the given degree, or at the first one at which leading eigenvalues agree."""
    fixed = degree is not None
    now = linear_system(problem, density, degree or _first_degree(problem, density), kappa)
    while True:
        if not now.flux <= tolerance * now.speed:
            return _result(problem, density, now, None)
        finer = linear_system(problem, density, _next_degree(problem, now.degree), kappa)
        spectrum = _spectrum(now.matrix, finer.matrix)
        wanted = spectrum.errors <= _AGREEMENT * now.scale
        if fixed:
            return _result(problem, density, now, spectrum)
        dimension = problem.manifold.dimension
        size = coordinate_count(dimension, _next_degree(problem, finer.degree))
        if wanted[:_LEADING].all() or (wanted[0] and size > LARGEST // 2):
            return _result(problem, density, now, spectrum.those(wanted))
        if size > LARGEST:
            raise RuntimeError(
                f"the leading eigenvalue still changes by {spectrum.errors[0]:.1e} at degree "
                f"{now.degree}: without diffusion it need not converge. Give a degree to take what "
                "that one gives."
            )
        now = finer


def _first_degree(problem: Problem, density: Density) -> int:
    """Estimated degree of the perturbations with leading rates."""
    degree, own = attended_degree(problem), density.max_degree
    # Degrees near the end of the kernel do not matter, and may be many.
    if problem.manifold.dimension == 1:
        return max(min(degree, max(300, 2 * degree // 5)), min(2 * own, LARGEST // 4))
    enough = min(0.6 * degree, max(27.0, 0.4 * degree))
    return max(8, math.ceil(enough), min(own, math.isqrt(LARGEST) * 3 // 4))


def _next_degree(problem: Problem, degree: int) -> int:
    return degree + max(4, degree // (4 if problem.manifold.dimension == 1 else 6))


class _Spectrum(NamedTuple):
    """Eigenvalues, their change between two degrees, and eigenvectors."""

    eigenvalues: ComplexArray
    errors: FloatArray
    vectors: ComplexArray

    def those(self, wanted: npt.NDArray[np.bool_]) -> _Spectrum:
        return _Spectrum(self.eigenvalues[wanted], self.errors[wanted], self.vectors[:, wanted])


def _spectrum(matrix: FloatArray, larger: FloatArray) -> _Spectrum:
    """All eigenvalues, compared with a matrix of larger degree."""
    import scipy.linalg

    others = np.asarray(scipy.linalg.eigvals(larger), dtype=np.complex128)
    values, vectors = (each.astype(np.complex128) for each in scipy.linalg.eig(matrix))
    noise = NOISE * float(np.abs(matrix).max())
    values.imag[np.abs(values.imag) <= noise] = 0.0
    values.real = merged_rates(values.real, noise)
    order = np.lexsort((-values.imag, np.abs(values.imag), -values.real))
    values, vectors = values[order], vectors[:, order]
    errors = np.abs(values[:, None] - others[None]).min(axis=1)
    largest = np.abs(vectors).argmax(axis=0)
    phase = vectors[largest, np.arange(len(values))]
    return _Spectrum(values, errors, vectors * (np.abs(phase) / phase))


def _result(
    problem: Problem, density: Density, system: LinearSystem, eigen: _Spectrum | None
) -> LinearOperator:
    """Public result; without a spectrum if the density is not stationary."""
    none = np.zeros((len(system.matrix), 0), dtype=np.complex128)
    spectrum = eigen or _Spectrum(none[0], np.zeros(0), none)
    return LinearOperator(
        problem, density, system.degree, system.matrix, *spectrum, stationary=eigen is not None,
        drift=system.drift, residual=system.residual,
    )  # fmt: skip


def merged_rates(rates: FloatArray, noise: float) -> FloatArray:
    """Rates; groups of neighbours that differ by rounding have their mean.

    >>> merged_rates(np.array([1.0, 3.0, 1.2]), 0.5)
    array([1.1, 3. , 1.1])
    """
    merged, falling = rates.copy(), np.argsort(-rates, kind="stable")
    starts = np.flatnonzero(np.diff(rates[falling], prepend=np.inf) < -noise)
    for group in np.split(falling, starts[1:]):
        merged[group] = rates[group].mean()
    return merged
