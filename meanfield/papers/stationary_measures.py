"""Spectra of stationary measures: uniform, subspheres, polygons, simplices, antipodal pairs.

The uniform measure on S^{D-1} in S^{d-1} has the multipliers a_l of the kernel on S^{D-1}, and
Z = 1 or a_0. Densities on it grow at the rates lambda_l of S^{D-1}. A displacement Y_l(x) e, with e
normal to R^D, changes no <x, y> to first order. Its velocity is int a(s) [Y_l(y) - s Y_l(x)] dmu(y)
along e, so it grows at the rate (Funk and Hecke)

    strength (a_l - a_1) / Z.

l = 1 is a rotation; a test particle returns at the rate a_1 / Z. Points with few cosines have one
rate for each symmetry. Simplex and cross-polytope in R^D, a = a(s), a' = a'(s):

    simplex, s = -1/D       (D + 1) a' / D^2 + (D - 1) a / D     e_i = P_i w,  D modes
                            2 a' / D                             (D + 1)(D - 2) / 2 modes
                            a                                    all along one normal
    cross-polytope          [a'(0) + a(-1) + (D - 2) a(0)] / D   all towards an axis,  D modes
                            [a'(0) + a(-1) - a(0)] / D           D (D - 2) modes
                            2 a'(0) / D                          pairs of axes shear, D (D - 1) / 2
                            [a(-1) + (D - 1) a(0)] / D, [a(-1) - a(0)] / D    along each normal
    antipodal m_1, m_2      a(-1) (m_2 / Z_1 + m_1 / Z_2)        towards each other, d - 1 modes

where Z is the mean of a over the points under softmax, else 1. Rotations have the rate 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from meanfield.arguments import at_least, checked
from meanfield.arrays import EPS, FloatArray, IntArray
from meanfield.laws.initial import configuration, uniform
from meanfield.measures import Measure
from meanfield.problem import Problem
from meanfield.spectrum.cluster_rates import check_no_diffusion, cluster_rates
from meanfield.spectrum.isotropic import ZonalProblem
from meanfield.spectrum.pair_attention import attention_and_slope

# Eigenvalues of matrices of this size take seconds.
_MOST_COORDINATES = 3_000
# Rates are equal within this share of the largest; clusters with less speed are stationary.
_SAME = 1e-10
# Smaller rates lose precision (subnormal numbers).
_LEAST = 1e-300
_DEGREES = 12

Mode = tuple[float, int, str]
"""Rate, multiplicity, and description."""


@dataclass(frozen=True, eq=False)
class StationarySpectrum:
    """Rates of small displacements of a stationary measure, largest first, in scaled time.

    - rates, multiplicities (k,): a displacement along a mode grows like e^{rate t}.
    - modes (tuple of str): description of each mode.
    - closed: True if rates are from formulas, False if from `cluster_rates`.
    """

    measure: str
    rates: FloatArray
    multiplicities: IntArray
    modes: tuple[str, ...]
    closed: bool

    @property
    def index(self) -> int:
        """Number of modes that grow beyond rounding."""
        # Formulas have less rounding than eigenvalues of matrices.
        noise = 64 * EPS if self.closed else _SAME
        growing = self.rates > noise * np.abs(self.rates).max()
        return int(self.multiplicities[growing].sum())

    @property
    def is_stable(self) -> bool:
        """True if no mode grows. Clusters still spread if a `contraction` is negative."""
        return self.index == 0

    def __repr__(self) -> str:
        rows = zip(self.rates, self.multiplicities, self.modes, strict=True)
        lines = [f"  {rate:10.4g}  x {count:<4d} {mode}" for rate, count, mode in rows]
        return "\n".join([f"{self.measure}: {self.index} modes grow", *lines])


@checked
def stationary_spectrum(problem: Problem, max_degree: int = _DEGREES) -> StationarySpectrum:
    """Spectrum of the initial law of a problem, if it is a stationary measure.

    In closed form for `uniform` and for the configurations "subsphere", "polygon", "simplex",
    "cross_polytope" and "antipodal" (any weights). Other points use `cluster_rates`, with equal
    rates merged.

    Parameters
    ----------
    problem : Problem
        On the circle or any sphere; its initial law is `uniform`, `configuration` or points.
    max_degree : int
        Largest degree of perturbations of uniform and of subspheres.

    Returns
    -------
    StationarySpectrum
        A subsphere has the rates of its uniform measure. Its points have them up to half the
        degree of their quadrature.

    Raises
    ------
    ValueError
        If max_degree is below 1, or all rates underflow. If the law is another density, is not
        stationary, or has more than 3,000 coordinates without a formula. If there is diffusion,
        except about uniform.

    See Also
    --------
    linear_operator : spectra about any stationary density.
    cluster_rates : modes, and how tight clusters are.

    References
    ----------
    Geshkovski, Letrouit, Polyanskiy, Rigollet, A mathematical perspective on Transformers,
    arXiv:2312.10794, Remark 6.2 (invariant measures).

    Examples
    --------
    >>> import meanfield as mf
    >>> law = mf.configuration("cross_polytope")
    >>> stationary_spectrum(mf.Problem(mf.Sphere(), mf.exponential(5.0), mf.SA, law))
    configuration('cross_polytope'): 9 modes grow
          0.1312  x 3    pairs of axes shear
         0.07882  x 3    all towards an axis
         0.05257  x 3    axes bend towards others
               0  x 3    rotations

    A great circle of the sphere is unstable to waves along it and to motion along its normal:

    >>> law = mf.configuration("subsphere", 64, 2)
    >>> stationary_spectrum(mf.Problem(mf.Sphere(), mf.exponential(2.0), mf.SA, law), 3)
    configuration('subsphere', tokens=64, dimension=2): 7 modes grow
          0.6045  x 2    degree 2 within
            0.42  x 2    degree 3 within
          0.3489  x 2    degree 1 within
          0.3022  x 1    degree 0 along a normal
               0  x 3    rotations
         -0.3955  x 2    degree 2 along a normal
         -0.6045  x 2    degree 3 along a normal
    """
    at_least(1, max_degree=max_degree)
    problem.check_own_clock("spectra of stationary measures")
    law = problem.initial
    closed = True
    if isinstance(law, uniform):
        modes = _uniform(problem.zonal, max_degree)
    else:
        check_no_diffusion(problem)
        closed_modes = _closed(problem, law, max_degree) if isinstance(law, configuration) else None
        closed, modes = closed_modes is not None, closed_modes or _clusters(problem)
    modes = sorted((mode for mode in modes if mode[1] > 0), key=lambda mode: -mode[0])
    if all(abs(rate) < _LEAST for rate, _, _ in modes):
        raise ValueError(
            f"all rates about {law!r} are below {_LEAST:g} at beta = {problem.beta:g}: clusters so "
            "far apart do not move in doubles. Take a smaller beta."
        )
    return StationarySpectrum(
        repr(law),
        np.array([rate for rate, _, _ in modes]),
        np.array([count for _, count, _ in modes], dtype=np.int64),
        tuple(words for _, _, words in modes),
        closed,
    )


def _closed(problem: Problem, law: configuration, max_degree: int) -> list[Mode] | None:
    """Modes of a configuration by formula; None without a formula."""
    d = problem.manifold.ambient
    antipodal = law.shape == "antipodal"
    has_formula = law.weights is None and law.shape in ("subsphere", "polygon", *_POLYTOPES)
    if not (antipodal or has_formula):
        return None
    problem.initial_measure()  # refuses shapes that do not fit, and wrong masses
    if antipodal:
        return _antipodal(problem, np.array(law.weights or (0.5, 0.5)))
    if law.shape == "polygon":
        return _polygon(problem, law.tokens or 2)
    size = law.dimension or d
    if law.shape == "subsphere":
        return _subsphere(problem, size, max_degree)
    if size == 1:
        return _antipodal(problem, np.array([0.5, 0.5]))
    return [*_POLYTOPES[law.shape](problem, size, d - size), _rotations(d, size)]


def _harmonics(d: int, l: int) -> int:
    """Number of harmonics of degree l on S^{d-1}, d >= 2."""
    return math.comb(l + d - 1, d - 1) - (math.comb(l + d - 3, d - 1) if l > 1 else 0)


def _rotations(d: int, within: int) -> Mode:
    """Rotations of R^d that move points that span R^within."""
    return (0.0, within * (within - 1) // 2 + within * (d - within), "rotations")


def _uniform(zonal: ZonalProblem, max_degree: int) -> list[Mode]:
    rates = zonal.growth_rates(max_degree).tolist()
    d = zonal.dimension + 1
    return [(rates[l], _harmonics(d, l), f"degree {l}") for l in range(1, max_degree + 1)]


def _subsphere(problem: Problem, size: int, max_degree: int) -> list[Mode]:
    zonal, d = problem.zonal, problem.manifold.ambient
    there = ZonalProblem(size - 1, zonal.kernel, zonal.normalized, zonal.strength, 0.0)
    within = _uniform(there, max_degree)
    if size == d:
        return within
    a = zonal.kernel.attention_multipliers(size - 1, max(max_degree, 1))
    normal = zonal.strength * (a - a[1]) / (a[0] if zonal.normalized else 1.0)
    modes = [(rate, count, f"{words} within") for rate, count, words in within]
    for l in range(max_degree + 1):
        if l != 1:
            words = f"degree {l} along a normal"
            modes.append((float(normal[l]), (d - size) * _harmonics(size, l), words))
    return [*modes, _rotations(d, size)]


def _pairs(
    problem: Problem, cosines: FloatArray, counts: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Strength times a(s) / Z and a'(s) / Z; each point has `counts` points at each cosine."""
    masses = counts / counts.sum()
    attention, slope, _ = attention_and_slope(problem, masses, np.arccos(cosines)[None])
    strength = problem.zonal.strength
    return strength * attention[0] / masses, strength * slope[0] / masses


def _antipodal(problem: Problem, weights: FloatArray) -> list[Mode]:
    masses, angles = np.array(weights), np.array([[0.0, np.pi]])
    normals = problem.manifold.ambient - 1
    # a(-1) / Z times the mass of the other, for each of the two.
    across = [attention_and_slope(problem, m, angles)[0][0, 1] for m in (masses, masses[::-1])]
    rate = float(problem.zonal.strength * sum(across))
    return [(rate, normals, "towards each other"), (0.0, normals, "rotations")]


def _polygon(problem: Problem, n: int) -> list[Mode]:
    """Modes by sums over the other points; cos q phi - cos phi is a product of two sines."""
    angles, q = 2.0 * np.pi * np.arange(n) / n, np.arange(n // 2 + 1)[:, None]
    a, slope = _pairs(problem, np.cos(angles), np.ones(n))
    pull = slope * np.sin(angles) ** 2 - a * np.cos(angles)
    within = (2.0 * np.sin(0.5 * q * angles) ** 2 @ pull) / n
    beside = -2.0 * np.sin(0.5 * (q + 1) * angles) * np.sin(0.5 * (q - 1) * angles) @ a / n
    counts = [1 if k in (0, 0.5 * n) else 2 for k in range(n // 2 + 1)]
    normals = problem.manifold.ambient - 2
    modes = [(float(within[k]), counts[k], f"wave {k} within") for k in range(1, len(counts))]
    for k in range(len(counts)):
        if k != 1:
            modes.append((float(beside[k]), normals * counts[k], f"wave {k} along a normal"))
    return [*modes, (0.0, 1 + normals * counts[1], "rotations")]


def _simplex(problem: Problem, d: int, normals: int) -> list[Mode]:
    (_, a), (_, slope) = _pairs(problem, np.array([1.0, -1.0 / d]), np.array([1.0, d]))
    return [
        ((d + 1) * slope / d**2 + (d - 1) * a / d, d, "towards one side"),
        (2.0 * slope / d, (d + 1) * (d - 2) // 2, "in groups"),
        (a, normals, "all along a normal"),
    ]


def _cross_polytope(problem: Problem, d: int, normals: int) -> list[Mode]:
    (_, far, a), (_, _, slope) = _pairs(
        problem, np.array([1.0, -1.0, 0.0]), np.array([1.0, 1.0, 2.0 * d - 2.0])
    )
    return [
        ((slope + far + (d - 2) * a) / d, d, "all towards an axis"),
        ((slope + far - a) / d, d * (d - 2), "axes bend towards others"),
        (2.0 * slope / d, d * (d - 1) // 2, "pairs of axes shear"),
        ((far + (d - 1) * a) / d, normals, "all along a normal"),
        ((far - a) / d, normals * (d - 1), "axes along a normal, against others"),
    ]


_POLYTOPES = {"simplex": _simplex, "cross_polytope": _cross_polytope}


def _clusters(problem: Problem) -> list[Mode]:
    """Modes of points from `cluster_rates`, with equal rates merged."""
    measure = problem.initial_measure()
    if not isinstance(measure, Measure):
        raise ValueError(
            f"{problem.initial!r} is a density: mf.linear_operator has spectra about stationary "
            "ones, mf.stationary_state finds them."
        )
    size = len(measure.points) * problem.manifold.dimension
    if size > _MOST_COORDINATES:
        raise ValueError(
            f"{problem.initial!r} has {size} coordinates, no formula is known, and eigenvalues "
            f"are of at most {_MOST_COORDINATES}."
        )
    spectrum = cluster_rates(problem, measure)
    rates = np.real(spectrum.escape)
    scale = float(np.abs(rates).max())
    if spectrum.drift > _SAME * max(scale, float(np.abs(spectrum.contraction).max())):
        raise ValueError(
            f"{problem.initial!r} is not stationary: a cluster moves at {spectrum.drift:.3g}. "
            "mf.cluster_rates has the rates of that instant."
        )
    # Rates of rotations are 0 up to rounding.
    rates = np.where(np.abs(rates) > 16 * len(rates) * EPS * scale, rates, 0.0)
    groups = np.split(rates, np.flatnonzero(-np.diff(rates) > _SAME * scale) + 1)
    return [
        (float(group.mean()), len(group), "among the points" if group[0] else "rotations, if any")
        for group in groups
    ]
