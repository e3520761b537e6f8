"""Laws of natural frequencies: how fast tokens on the circle turn by themselves.

    theta' = omega + v(theta),    omega ~ g

A law has a density g, quantiles, nodes and weights of quadratures over it, and a resolvent

    H(z) = int g(omega) / (z + i omega) d omega,    Re z > 0.

The linear theory of Kuramoto models needs it (Strogatz and Mirollo, J. Stat. Phys. 63, 1991).
All but given frequencies are symmetric about their centre and fall off from there.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from meanfield.arguments import at_least, at_most, checked
from meanfield.arrays import EPS, ComplexArray, FloatArray, same_value, value_of
from meanfield.engines.threads import one_blas_thread

# Nodes of normal variables end here: 6e-14 of the mass lies beyond.
_NORMAL_END = 7.5


class Frequencies(ABC):
    """A law of natural frequencies omega."""

    @property
    @abstractmethod
    def mean(self) -> float:
        """Centre of the law, the mean where it has one: the angular velocity of full synchrony."""

    @checked
    def quantiles(self, probabilities: FloatArray) -> FloatArray:
        """Frequencies that are exceeded with probability 1 - p."""
        if not np.all((probabilities > 0.0) & (probabilities < 1.0)):
            raise ValueError("probabilities must lie between 0 and 1.")
        return self._quantiles(probabilities)

    @abstractmethod
    def _quantiles(self, p: FloatArray) -> FloatArray: ...

    @abstractmethod
    def nodes(self, count: int) -> tuple[FloatArray, FloatArray]:
        """Nodes and weights of a quadrature over the law; weights add up to 1."""

    @abstractmethod
    def resolvent(self, z: complex | ComplexArray) -> ComplexArray:
        """H(z) = int g(omega) / (z + i omega) d omega, Re z > 0; shape of z."""

    @abstractmethod
    def pole(self, coupling: float) -> complex:
        """The z of largest real part with coupling H(z) = 1.

        If none has Re z > 0, it is a zero of the continuation of coupling H - 1: the rate of Landau
        damping of data that are smooth in omega. NaN where none is known.
        """

    @checked
    def draw(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Independent frequencies of the law, shape (count,).

        >>> Gaussian(width=0.5).draw(3, np.random.default_rng(1)).round(4)
        array([ 0.0148,  0.8247, -0.5309])
        """
        at_least(1, count=count)
        # Never probability 0, whose quantile may be infinite.
        return self.quantiles((np.floor(rng.random(count) * 2.0**52) + 0.5) * 2.0**-52)


@dataclass(frozen=True)
class UnimodalFrequencies(Frequencies):
    """A density that is symmetric about its centre and falls off from there.

    width is positive, and each law defines it; the density is largest at centre.
    """

    width: float
    centre: float = 0.0

    def __post_init__(self) -> None:
        if self.width <= 0.0:
            raise ValueError(
                f"width must be positive, got {self.width:g}; for one and the same frequency give "
                "GivenFrequencies([centre])."
            )

    @property
    def mean(self) -> float:
        return self.centre

    @property
    def peak(self) -> float:
        """Largest density, g(centre)."""
        return float(self._unit_density(np.zeros(1))[0]) / self.width

    @property
    def plateau(self) -> float:
        """Half the width of the interval of the largest density."""
        return 0.0

    @checked
    def density(self, frequencies: FloatArray) -> FloatArray:
        """Density g(omega); shape of frequencies."""
        return self._unit_density((frequencies - self.centre) / self.width) / self.width

    def _quantiles(self, p: FloatArray) -> FloatArray:
        return self.centre + self.width * self._unit_quantiles(p)

    @checked
    def nodes(self, count: int) -> tuple[FloatArray, FloatArray]:
        at_least(1, count=count)
        nodes, weights = self._unit_nodes((np.arange(count) + 0.5) / count)
        return self.centre + self.width * nodes, weights / weights.sum()

    def resolvent(self, z: complex | ComplexArray) -> ComplexArray:
        z = (np.asarray(z, dtype=np.complex128) + 1j * self.centre) / self.width
        return np.asarray(self._unit_resolvent(z) / self.width)

    def pole(self, coupling: float) -> complex:
        return complex(self.width * self._unit_pole(coupling / self.width), 0.0 - self.centre)

    def locked(self, pull: float) -> float:
        """Order of the tokens that a pull locks, divided by pull / width.

            int sqrt(1 - (omega / pull)^2) g(omega) d omega,    |omega| <= pull,

        with omega from the centre: int cos(theta)^2 g(pull sin(theta)) d theta, times the width.
        """
        return self._unit_locked(pull / self.width)

    @abstractmethod
    def _unit_density(self, x: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _unit_quantiles(self, p: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _unit_nodes(self, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Nodes at places u in (0, 1), and weights up to a factor."""

    @abstractmethod
    def _unit_resolvent(self, z: ComplexArray) -> ComplexArray: ...

    @abstractmethod
    def _unit_pole(self, coupling: float) -> float: ...

    @abstractmethod
    def _unit_locked(self, pull: float) -> float: ...


def _normal_nodes(u: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Normal variables at places u in (0, 1), equidistant, and their densities up to a factor."""
    z = _NORMAL_END * (2.0 * u - 1.0)
    return z, np.exp(-0.5 * z * z)


@checked
@dataclass(frozen=True)
class Lorentzian(UnimodalFrequencies):
    """Cauchy's law, g(omega) = (Delta / pi) / (Delta^2 + (omega - centre)^2).

    Its tails are heavy: n quantiles miss a share 1 / n of them. Nodes are the quantiles of
    (i + 1/2) / n, with equal weights: the midpoint rule in the angle 2 arctan(omega / Delta).

    Attributes
    ----------
    width : float
        Half width at half height, Delta, positive.
    centre : float

    Raises
    ------
    ValueError
        If width <= 0.

    Examples
    --------
    >>> law = Lorentzian(width=0.2)
    >>> law.quantiles([0.25, 0.5, 0.75]).round(12)
    array([-0.2,  0. ,  0.2])
    >>> round(float(law.resolvent(0.3).real), 12)  # 1 / (z + Delta)
    2.0
    """

    def _unit_density(self, x: FloatArray) -> FloatArray:
        return np.asarray(1.0 / (math.pi * (1.0 + x * x)))

    def _unit_quantiles(self, p: FloatArray) -> FloatArray:
        # tan(pi (p - 1/2)) from the nearer end, where p is small or 1 - p is.
        with np.errstate(divide="ignore"):
            lower, upper = -1.0 / np.tan(math.pi * p), 1.0 / np.tan(math.pi * (1.0 - p))
        middle = np.tan(math.pi * (p - 0.5))
        return np.where(p < 0.25, lower, np.where(p > 0.75, upper, middle))

    def _unit_nodes(self, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self._unit_quantiles(u), np.ones(len(u))

    def _unit_resolvent(self, z: ComplexArray) -> ComplexArray:
        return np.asarray(1.0 / (1.0 + z))

    def _unit_pole(self, coupling: float) -> float:
        return coupling - 1.0

    def _unit_locked(self, pull: float) -> float:
        return 1.0 / (1.0 + math.hypot(1.0, pull))


@checked
@dataclass(frozen=True)
class Gaussian(UnimodalFrequencies):
    """The normal law, g(omega) = e^{-(omega - centre)^2 / (2 sigma^2)} / (sigma sqrt(2 pi)).

    Nodes are equidistant, up to 7.5 sigma from the centre; 6e-14 of the mass lies beyond.

    Attributes
    ----------
    width : float
        Standard deviation sigma, positive.
    centre : float

    Raises
    ------
    ValueError
        If width <= 0.

    Examples
    --------
    >>> nodes, weights = Gaussian(width=0.5).nodes(24)
    >>> round(float(weights @ nodes**4), 10)  # 3 sigma^4
    0.1875
    """

    def _unit_density(self, x: FloatArray) -> FloatArray:
        with np.errstate(under="ignore"):
            return np.asarray(np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi))

    def _unit_quantiles(self, p: FloatArray) -> FloatArray:
        from scipy.special import ndtri

        return np.asarray(ndtri(p))

    def _unit_nodes(self, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        return _normal_nodes(u)

    def _unit_resolvent(self, z: ComplexArray) -> ComplexArray:
        from scipy.special import wofz

        # w(i x) = e^{x^2} erfc(x), entire: also its continuation to Re z < 0.
        return np.asarray(math.sqrt(0.5 * math.pi) * wofz(1j * z / math.sqrt(2.0)))

    def _unit_pole(self, coupling: float) -> float:
        from scipy.optimize import brentq
        from scipy.special import erfcx, log_ndtr

        if coupling <= 0.0:
            return math.nan
        target = -math.log(coupling) - 0.5 * math.log(0.5 * math.pi)

        def excess(z: float) -> float:
            # ln of e^{x^2} erfc(x), x = z / sqrt 2, which falls from infinity to 0.
            if z > 0.0:
                return float(np.log(erfcx(z / math.sqrt(2.0)))) - target
            return float(math.log(2.0) + 0.5 * z * z + log_ndtr(-z)) - target

        # H(z) < 1 / z, and e^{x^2} <= e^{x^2} erfc(x) for x <= 0.
        lowest = -math.sqrt(2.0 * max(target, 0.0)) - 1e-9
        return float(brentq(excess, lowest, coupling, xtol=1e-300, rtol=4 * EPS))

    def _unit_locked(self, pull: float) -> float:
        from scipy.special import ive

        if pull > 1e4:  # E sqrt(1 - (omega / pull)^2), divided by the pull
            return (1.0 - 0.5 / (pull * pull)) / pull
        x = 0.25 * pull * pull
        return math.sqrt(math.pi / 8.0) * float(ive(0, x) + ive(1, x))


@checked
@dataclass(frozen=True)
class UniformSpread(UnimodalFrequencies):
    """Frequencies spread evenly, g(omega) = 1 / (2 G) where |omega - centre| <= G.

    Nodes are equidistant in z, omega = centre + G erf(z / sqrt 2), |z| < 7.5.

    Attributes
    ----------
    width : float
        Half of the width of the interval, G, positive.
    centre : float

    Raises
    ------
    ValueError
        If width <= 0.

    Examples
    --------
    >>> UniformSpread(width=0.5, centre=1.0).density([0.4, 0.6, 1.5])
    array([0., 1., 1.])
    """

    @property
    def plateau(self) -> float:
        return self.width

    def _unit_density(self, x: FloatArray) -> FloatArray:
        return np.where(np.abs(x) <= 1.0, 0.5, 0.0)

    def _unit_quantiles(self, p: FloatArray) -> FloatArray:
        return np.asarray(2.0 * p - 1.0)

    def _unit_nodes(self, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        from scipy.special import erf

        z, weights = _normal_nodes(u)
        return np.asarray(erf(z / math.sqrt(2.0))), weights

    def _unit_resolvent(self, z: ComplexArray) -> ComplexArray:
        return np.asarray(np.arctan(1.0 / z))

    def _unit_pole(self, coupling: float) -> float:
        # Below, moments fall off like sin(G t) / t, by the edges of g and no pole.
        return 1.0 / math.tan(1.0 / coupling) if coupling >= 2.0 / math.pi else math.nan

    def _unit_locked(self, pull: float) -> float:
        if pull <= 1.0:
            return 0.25 * math.pi
        edge = 1.0 / pull
        return 0.5 * (math.asin(edge) + edge * math.sqrt((1.0 - edge) * (1.0 + edge)))


@checked
@dataclass(frozen=True, eq=False)
class GivenFrequencies(Frequencies):
    """Equal masses at n frequencies, one a token.

    Attributes
    ----------
    values : ndarray, shape (n,)
        In the order of the tokens.

    Raises
    ------
    ValueError
        If there is no value, or they are not a list.

    Examples
    --------
    >>> law = GivenFrequencies([0.3, -0.1])
    >>> law.nodes(2)
    (array([ 0.3, -0.1]), array([0.5, 0.5]))
    """

    values: FloatArray = field(repr=False)

    __eq__, __hash__ = same_value, value_of

    def __post_init__(self) -> None:
        if self.values.ndim != 1 or len(self.values) == 0:
            raise ValueError(
                f"values must be a list of frequencies, one for each token, got an array of shape "
                f"{self.values.shape}."
            )

    @property
    def mean(self) -> float:
        return float(np.mean(self.values))

    def _quantiles(self, p: FloatArray) -> FloatArray:
        # Only given values, none between them.
        n = len(self.values)
        return np.sort(self.values)[np.minimum((p * n).astype(np.int64), n - 1)]

    def nodes(self, count: int) -> tuple[FloatArray, FloatArray]:
        """Given frequencies for any count, and equal weights."""
        n = len(self.values)
        return self.values, np.full(n, 1.0 / n)

    def resolvent(self, z: complex | ComplexArray) -> ComplexArray:
        z = np.asarray(z, dtype=np.complex128)
        return np.asarray(np.mean(1.0 / (z[..., None] + 1j * self.values), axis=-1))

    def pole(self, coupling: float) -> complex:
        """Largest eigenvalue of -i diag(omega) + coupling / n; its real part is never negative."""
        values, counts = np.unique(self.values, return_counts=True)
        at_most(2048, frequencies=len(values))
        root = np.sqrt(counts / len(self.values))
        with one_blas_thread():
            eigenvalues = np.linalg.eigvals(np.diag(-1j * values) + coupling * np.outer(root, root))
        return complex(eigenvalues[np.argmax(eigenvalues.real)])
