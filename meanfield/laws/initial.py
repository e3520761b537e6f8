"""Initial laws: plain data, a copy of its arguments, that any manifold can build later."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import MISSING, dataclass, field, fields
from typing import (
    Annotated,
    Any,
    ClassVar,
    Protocol,
    TypeVar,
    cast,
    dataclass_transform,
    runtime_checkable,
)

import numpy as np

from meanfield.arguments import at_least, at_most, checked, describe
from meanfield.arrays import FloatArray, ModalArray, same_value, value_of
from meanfield.engines.limits import check_tokens
from meanfield.measures import MOST_TOKENS, Component, Density, Measure, checked_positive
from meanfield.spaces.configurations import check_shape, shape_points
from meanfield.spaces.manifold import Manifold, check_mass
from meanfield.terms.kernels.exponential import LARGEST_BETA, SMALLEST_BETA, exponential

# Larger angles are hardly meant as radians; most lists of degrees exceed it.
_FOUR_TURNS = 8.0 * np.pi
# Products of longer vectors may overflow.
_LARGEST_SCALE = 1e8
# Largest angle between the axis and a rounded vector along it.
_ON_AXIS = 1e-7

Mean = float | Sequence[float] | FloatArray | None
"""Centre of a law: an angle, a vector, or None for the manifold's origin."""
Modes = Annotated[Sequence[Sequence[float]], "a list of modes, such as [[3, 0.1, 0.0]]"]
Part = tuple[float, Mean, float]
"""Weight, mean and concentration of a component."""
Components = Annotated[
    Sequence[Part | Mapping[str, Any]],
    "a list of (weight, mean, concentration), such as [(0.5, 0.0, 9.0), (0.5, 2.0, 4.0)]",
]


_Law = TypeVar("_Law")


class InitialLaw(Protocol):
    """Interface of laws: data that compares, hashes and pickles, with a name in run files."""

    @property
    def name(self) -> str: ...

    def build(self, manifold: Manifold) -> Density | Measure: ...


def has_density(law: InitialLaw) -> bool:
    """True if a law of the package is a density; False for points and for a user's own laws."""
    return not isinstance(law, Law | from_points | normal_tokens | configuration)


class PlainLaw:
    """Base of laws: equal by value; their repr is the call that makes them."""

    __eq__, __hash__ = same_value, value_of

    def __repr__(self) -> str:
        words = []
        for each in fields(self):  # type: ignore[arg-type]
            value = getattr(self, each.name)
            if each.default is MISSING:
                words.append(_format_field(value))
            elif each.init and (hasattr(value, "__array__") or value != each.default):
                words.append(f"{each.name}={_format_field(value)}")
        return f"{type(self).__name__}({', '.join(words)})"

    def _take(self, **values: Any) -> None:
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)  # laws are equal by value
            object.__setattr__(self, name, value)


@dataclass_transform(eq_default=False, frozen_default=True, field_specifiers=(field,))
def plain_law(law: type[_Law]) -> type[_Law]:
    """Make a class of laws a frozen dataclass with checked fields."""
    return checked(dataclass(frozen=True, eq=False, repr=False)(law))


def _format_field(value: Any) -> str:
    """Field for a repr: functions by their names, arrays by their shapes."""
    if callable(value):
        return str(getattr(value, "__name__", repr(value)))
    if isinstance(value, tuple):
        return repr([list(each) if isinstance(each, tuple) else each for each in value])
    return f"array{np.shape(value)}" if hasattr(value, "__array__") else repr(value)


@plain_law
class Law(PlainLaw):
    """A law of your own.

    Attributes
    ----------
    name : str
        Name in files and figures.
    build : callable (manifold) -> Density | Measure
        Laws with the same function are equal; a law pickles if its function does.
    """

    name: str
    build: Callable[[Manifold], Density | Measure]


@plain_law
class uniform(PlainLaw):
    """Uniform measure, f = 1: stationary for every kernel.

    Examples
    --------
    >>> uniform()
    uniform()
    """

    name: ClassVar[str] = "uniform"

    def build(self, manifold: Manifold) -> Density:
        return Density(manifold, manifold.from_modes([]))


@plain_law
class perturbed_uniform(PlainLaw):
    """Uniform density plus a few modes.

    Circle: f(theta) = 1 + sum_i [A_i cos(k_i theta) + B_i sin(k_i theta)].
    Sphere: f(x) = 1 + sum_i A_i Y_{l_i m_i}(x). The real harmonics have mean square 1 and no
    Condon-Shortley phase; m < 0 is the sine type.
    Axial: f = 1 + sum_i A_i P_{l_i}(cos theta), P_l(1) = 1, theta the angle to the last axis.

    Parameters
    ----------
    modes : sequence of (k, cosine, sine) on the circle, (l, m, amplitude) on the sphere
        (l, amplitude) on `Axial(d)`. Degrees >= 1 with amplitudes relative to uniform.

    Raises
    ------
    ValueError
        When built: if a mode is malformed or above the largest degree, or the density is negative
        somewhere.

    Examples
    --------
    >>> import meanfield as mf
    >>> perturbed_uniform([[3, 0.1, 0.0]]).build(mf.Circle()).coefficients[3]
    np.complex128(0.05+0j)
    """

    modes: Modes
    name: ClassVar[str] = "perturbed_uniform"

    def __post_init__(self) -> None:
        self._take(modes=tuple(tuple(mode) for mode in self.modes))

    def build(self, manifold: Manifold) -> Density:
        numbers = 2 if manifold.has_rings else 3
        degrees = [m[0] for m in self.modes if len(m) == numbers and np.isfinite(m[0])]
        at_most(manifold.largest_degree, **{"degree of a mode": max(degrees, default=0)})
        return checked_positive(Density(manifold, manifold.from_modes(self.modes)))


@plain_law
class von_mises_fisher(PlainLaw):
    """Von Mises-Fisher density proportional to exp(concentration * <x, mean>).

    Its moments are the moments of a Dirac measure at `mean` times a_l / a_0, the multipliers of the
    exponential kernel; on the circle c_k = I_k(kappa) / I_0(kappa) e^{-ik mean}. `mean` is an angle
    in radians or a vector, by default the angle 0 or the north pole.

    Examples
    --------
    >>> import meanfield as mf
    >>> von_mises_fisher(2.0).build(mf.Circle()).coefficients[1].real.round(6)
    np.float64(0.697775)
    """

    concentration: float
    mean: Mean = field(default=None, kw_only=True)
    name: ClassVar[str] = "von_mises_fisher"

    def __post_init__(self) -> None:
        self._take(mean=_immutable_mean(self.mean))
        _check_components(self.components)

    @property
    def components(self) -> tuple[Part, ...]:
        return ((1.0, self.mean, self.concentration),)

    def build(self, manifold: Manifold) -> Density:
        return _mixture_density(manifold, self.components)


@plain_law
class mixture(PlainLaw):
    """Mixture of von Mises-Fisher densities.

    Parameters
    ----------
    components : sequence of (weight, mean, concentration)
        Or of dictionaries with these keys. Weights sum to 1 within 1e-9; means as in
        `von_mises_fisher`.

    Raises
    ------
    ValueError
        If the weights do not sum to 1 or a concentration is negative.

    Examples
    --------
    >>> mixture([(0.5, 0.0, 9.0), {"weight": 0.5, "mean": 2.0, "concentration": 4.0}])
    mixture([[0.5, 0.0, 9.0], [0.5, 2.0, 4.0]])
    """

    components: Components
    name: ClassVar[str] = "mixture"

    def __post_init__(self) -> None:
        names = ("weight", "mean", "concentration")
        parts = tuple(
            component(
                **(each if isinstance(each, Mapping) else dict(zip(names, each, strict=True)))
            )
            for each in self.components
        )
        _check_components(parts)
        self._take(components=parts)

    def build(self, manifold: Manifold) -> Density:
        return _mixture_density(manifold, cast(tuple[Part, ...], self.components))


@checked
def component(*, weight: float, concentration: float, mean: Mean = None) -> Part:
    """Component of a mixture as immutable numbers."""
    return weight, _immutable_mean(mean), concentration


def _check_components(components: Sequence[Part]) -> None:
    """Refuse weights whose sum is not 1, and numbers out of range."""
    if not components:
        raise ValueError("a mixture needs a component, got none: (weight, mean, concentration).")
    weights = np.array([weight for weight, _, _ in components], dtype=np.float64)
    if np.any(weights < 0) or abs(weights.sum() - 1.0) > 1e-9:
        raise ValueError(f"weights of a mixture sum to {weights.sum():.12g}, expected 1.")
    for _, mean, concentration in components:
        if mean is not None and not np.all(np.isfinite(mean)):
            raise ValueError(f"mean must be finite, got {mean}.")
        if not 0 <= concentration <= LARGEST_BETA:
            raise ValueError(
                f"concentration must be finite and >= 0, at most {LARGEST_BETA:g}, got "
                f"{concentration}."
            )


def _mixture_density(manifold: Manifold, components: Sequence[Part]) -> Density:
    uniform_, rings = manifold.from_modes([]), manifold.has_rings
    sharpest, degree = max(kappa for _, _, kappa in components), 0
    # A smaller concentration is uniform to the last bit.
    if sharpest >= SMALLEST_BETA:
        degree = exponential(sharpest).degree(manifold.dimension, of_points=rings)
    if degree > manifold.largest_degree:
        raise ValueError(
            f"concentration = {sharpest:g} needs degree {degree} on the {manifold.name}, at "
            f"most {manifold.largest_degree}: reduce it."
        )
    weights = np.array([weight for weight, _, _ in components], dtype=np.float64)
    total = manifold.resize(uniform_, degree)
    total[0] = 0.0
    parts: list[Component] = []
    for weight, (_, mean, kappa) in zip(weights / weights.sum(), components, strict=True):
        try:
            centre = manifold.check_points(np.array([manifold.origin if mean is None else mean]))
        except ValueError:
            wanted = "a vector [x, y, z], not zero," if manifold.point_shape else "an angle"
            raise ValueError(f"mean = {mean} must be {wanted} on the {manifold.name}.") from None
        if rings:
            _check_on_axis(manifold, mean, centre, kappa)
        spread = np.eye(1, degree + 1)[0]
        if kappa >= SMALLEST_BETA:
            a = exponential(kappa).attention_multipliers(manifold.dimension, degree)
            spread = a / a[0]
        dirac = manifold.moments(centre, None, degree)
        total += manifold.convolve(weight * spread, dirac)
        parts.append((float(weight), centre[0], float(kappa)))
    total[0] = 1.0
    return Density(manifold, total, tuple(parts))


def _check_on_axis(manifold: Manifold, mean: Mean, centre: FloatArray, kappa: float) -> None:
    """Refuse a centre off the axis; move a rounded one onto it."""
    pole = 0.0 if centre[0] < 0.5 * np.pi else np.pi
    if kappa > 0.0 and abs(centre[0] - pole) > _ON_AXIS:
        raise ValueError(
            f"mean = {mean} is not on the axis: on the {manifold.name} a density is symmetric "
            "about the last axis, and has its means at polar angle 0 or pi, or along that axis. "
            "Others have tokens, mf.from_points."
        )
    centre[0] = pole if kappa > 0.0 else centre[0]


def _immutable_mean(mean: Mean) -> float | tuple[float, ...] | None:
    if mean is None or np.ndim(mean) == 0:
        return mean  # type: ignore[return-value]
    return tuple(np.asarray(mean, dtype=np.float64).tolist())


@plain_law
class sampled(PlainLaw):
    """Density with moments of iid uniform tokens up to max_degree.

    Parameters
    ----------
    tokens : int
        Number of uniform tokens to draw.
    seed : int
        Seed of the draw.
    max_degree : int, optional
        Largest degree of the moments. Default in a problem: twice its dominant degree, 2 if none
        grows, and about the kernel's degree if growth rates have no closed form.

    Raises
    ------
    ValueError
        If a number is negative, or there is no token. When built: if the density is negative
        somewhere (take more tokens or fewer degrees), max_degree is too large for the manifold, or
        neither max_degree nor a problem is given.

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(9.0), mf.USA, initial=mf.sampled(1000))
    >>> problem.initial_measure(), mf.dominant_degree(problem)
    (Density(degree 8 on the circle), 4)
    """

    tokens: int
    seed: int = 0
    max_degree: int | None = None
    name: ClassVar[str] = "sampled"

    def __post_init__(self) -> None:
        _check_draw(self.tokens, self.seed)
        if self.max_degree is not None:
            at_least(0, max_degree=self.max_degree)

    def build(self, manifold: Manifold) -> Density:
        manifold.from_modes([])  # raises where there are no densities
        if self.max_degree is None:
            raise ValueError(
                "sampled: max_degree has no default without a problem: give it, or take the "
                "initial_measure() of a Problem with this law."
            )
        if self.max_degree > manifold.largest_degree:
            raise ValueError(
                f"max_degree = {self.max_degree} must be at most {manifold.largest_degree} on the "
                f"{manifold.name}."
            )
        points = manifold.random_points(self.tokens, np.random.default_rng(self.seed))
        density = Density(manifold, manifold.moments(points, None, self.max_degree))
        return checked_positive(
            density,
            f"Take more tokens than {self.tokens}, another seed, or the law's max_degree below "
            f'{self.max_degree}; or tokens as they are, uniform with representation "particles"',
        )


def _check_draw(tokens: int, seed: int) -> None:
    at_least(1, tokens=tokens)
    at_most(MOST_TOKENS, tokens=tokens)
    at_least(0, seed=seed)


@plain_law
class normal_tokens(PlainLaw):
    """Tokens at independent normal vectors; coordinates have mean 0 and variance scale^2.

    The usual start in R^d. On spheres only directions count, so tokens are uniform.

    Parameters
    ----------
    tokens : int
        Number of tokens.
    seed : int
        Seed of the draw.
    scale : float
        Standard deviation of a coordinate.

    Raises
    ------
    ValueError
        If there is no token, the seed is negative, or scale is not positive.

    Examples
    --------
    >>> import meanfield as mf
    >>> law = mf.normal_tokens(100, scale=0.5)
    >>> mf.Problem(mf.Euclidean(2), mf.linear(), mf.SA, law).initial_measure()
    Measure(100 equal points on the space:2)
    """

    tokens: int
    seed: int = 0
    scale: float = 1.0
    name: ClassVar[str] = "normal_tokens"

    def __post_init__(self) -> None:
        _check_draw(self.tokens, self.seed)
        if not 0.0 < self.scale <= _LARGEST_SCALE:
            raise ValueError(
                f"scale must be positive, at most {_LARGEST_SCALE:g}, got {self.scale:g}."
            )

    def build(self, manifold: Manifold) -> Measure:
        # A law does not know its noise, with which tokens take the least memory.
        check_tokens(self.tokens, manifold.ambient, noisy=True)
        rng = np.random.default_rng(self.seed)
        return Measure(manifold, self.scale * rng.standard_normal((self.tokens, manifold.ambient)))


@plain_law
class configuration(PlainLaw):
    """Points of a known configuration: a polygon, a polytope, a sharp configuration.

    Repulsive tokens come to rest there. `cluster_rates` has their growth rates under attraction,
    `stationary_spectrum` their spectra.

    Parameters
    ----------
    shape : str
        "polygon" of `tokens` points; "subsphere", the uniform measure of S^{dimension - 1} by
        quadrature; "antipodal", a pair; "simplex", "cross_polytope", "cube", in
        every dimension; "icosahedron", "dodecahedron" in R^3, "600_cell" (120 points in R^4);
        "hemicube" (16 in R^5), "schlaefli" (27 in R^6), "28_lines" (56 in R^7), "e8" (240 in R^8);
        "isotropic_112", "regular_162" in R^21, "higman_sims" (100), "mclaughlin" (275),
        "isotropic_891" in R^22, "276_lines" (552), "kissing_4600" in R^23, "leech" (196,560 in
        R^24).
    tokens : int, optional
        Points of a polygon, or around a subsphere, at least 2; no other shape takes it. The
        quadrature, equal angles and Gauss nodes with their masses, is exact to degree tokens - 1.
    dimension : int, optional
        Dimension d of the R^d of a simplex, cross-polytope or cube, by default the manifold's; or
        of a subsphere, at least 2. Shapes of fewer dimensions than the manifold lie in the
        subsphere of the first axes; the antipodal pair lies on the last axis.
    weights : list of float, optional
        Masses of the points, with sum 1; equal by default.

    Raises
    ------
    ValueError
        If the shape is not known, or a number is missing or not allowed. When built: if the
        manifold has too few dimensions or no tokens, or the number of weights is wrong.

    References
    ----------
    Cohn, Kumar, Universally optimal distribution of points on spheres, J. Amer. Math. Soc. 20
    (2007), table 1.

    Examples
    --------
    >>> import meanfield as mf
    >>> configuration("icosahedron").build(mf.Sphere())
    Measure(12 equal points on the sphere)
    >>> configuration("antipodal", weights=[0.3, 0.7]).build(mf.Circle()).points.round(6)
    array([ 1.570796, -1.570796])
    """

    shape: str
    tokens: int | None = None
    dimension: int | None = None
    weights: Sequence[float] | None = None
    name: ClassVar[str] = "configuration"

    def __post_init__(self) -> None:
        check_shape(self.shape, self.tokens, self.dimension)
        self._take(weights=None if self.weights is None else tuple(self.weights))

    def build(self, manifold: Manifold) -> Measure:
        if manifold.has_rings:
            raise ValueError(
                f"a configuration on the {manifold.name} is none of its points, which are rings: "
                f"take mf.Sphere({manifold.ambient})."
            )
        vectors, masses = shape_points(self.shape, manifold.ambient, self.tokens, self.dimension)
        weights = masses if self.weights is None else np.array(self.weights)
        return Measure(manifold, manifold.points_of(vectors), weights)


@plain_law
class from_density(PlainLaw):
    """Density with given coefficients, in the layout of `Density`; on the sphere also SHCoeffs.

    Raises
    ------
    ValueError
        If a coefficient is not finite, or the mass, of degree 0, is not 1. When built: if the
        layout is not that of the manifold, or the density is negative somewhere.
    """

    coefficients: ModalArray
    name: ClassVar[str] = "density"

    def __post_init__(self) -> None:
        if not hasattr(self.coefficients, "to_array"):
            check_mass(self.coefficients)
        self._take(coefficients=deepcopy(self.coefficients))

    def build(self, manifold: Manifold) -> Density:
        return checked_positive(Density(manifold, self.coefficients))


@plain_law
class from_points(PlainLaw):
    """Exact empirical measure of given points; equal weights by default.

    Parameters
    ----------
    points : array, shape (n,) or (n, d)
        Angles in radians or vectors for the circle, polar angles or vectors for `Axial(d)`, vectors
        elsewhere. On spheres their lengths do not matter.
    weights : array, shape (n,), optional
        With sum 1.
    name : str
        Name in files and figures.

    Raises
    ------
    ValueError
        If there is no point, or angles look like degrees: the largest is between four turns and
        360. When built: if points or weights are malformed.

    Examples
    --------
    >>> from_points([0.1, 2.0, 4.0])
    from_points(array(3,))
    """

    points: FloatArray
    weights: FloatArray | None = None
    name: str = "tokens"

    def __post_init__(self) -> None:
        if len(self.points) == 0:
            raise ValueError(f"points have shape {self.points.shape}, expected at least one.")
        weights = None if self.weights is None else np.array(self.weights)
        self._take(points=np.array(in_radians(self.points)), weights=weights)

    def build(self, manifold: Manifold) -> Measure:
        return Measure(manifold, self.points, self.weights)


def in_radians(points: FloatArray) -> FloatArray:
    """Return a user's points; ValueError if they look like angles in degrees."""
    largest = np.abs(points).max(initial=0.0) if points.ndim == 1 else 0.0
    if _FOUR_TURNS < largest <= 360.0:
        raise ValueError(
            f"points look like degrees, the largest is {largest:g}: angles are in radians, "
            "np.deg2rad(points). If they are radians, give np.mod(points, 2 * np.pi)."
        )
    return points


@runtime_checkable
class LabelledLaw(InitialLaw, Protocol):
    """A law with a density for each label."""

    def parts(self, manifold: Manifold, labels: FloatArray) -> ModalArray:
        """Coefficients of the density of each label, shape (M, ...)."""
        ...


@plain_law
class with_profile(PlainLaw):
    """Density 1 + s^p (f - 1) at position s, 0 < s <= 1, for attention with a mask.

    Close to uniform the profile keeps its form, and moments of degree l grow like
    e^{lambda_l t / (p + 1)}.

    Parameters
    ----------
    law : InitialLaw
        Density f, at the last position.
    power : float
        p, not negative; 0 gives the same density at all positions.

    Raises
    ------
    ValueError
        If power < 0. When built: if the law has points.

    Examples
    --------
    >>> import meanfield as mf
    >>> law = with_profile(perturbed_uniform([[2, 0.1, 0.0]]), 1.0)
    >>> law.parts(mf.Circle(), np.array([0.5, 1.0]))[:, 2].real
    array([0.025, 0.05 ])
    """

    law: InitialLaw
    power: float

    def __post_init__(self) -> None:
        at_least(0.0, power=self.power)

    @property
    def name(self) -> str:
        return self.law.name

    def parts(self, manifold: Manifold, labels: FloatArray) -> ModalArray:
        built = self._built(manifold)
        parts = labels[:, None] ** self.power * built.coefficients
        parts[:, 0] = 1.0
        return np.asarray(parts)

    def build(self, manifold: Manifold) -> Density:
        mean = self._built(manifold).coefficients / (self.power + 1.0)
        mean[0] = 1.0
        return Density(manifold, mean)

    def _built(self, manifold: Manifold) -> Density:
        return _density(self.law.build(manifold), "a profile over positions")


@plain_law
class from_labels(PlainLaw):
    """Density for each label: a position s in (0, 1) under a mask, or a frequency.

    Parameters
    ----------
    densities : callable (label) -> InitialLaw, or array, shape (M, ...)
        Laws with the same function are equal; a law pickles if its function does. An array has the
        coefficients of M labels, which are ordered positions or the nodes of a law of frequencies:
        as in `Density` on the circle, packed on the sphere. A run then has `labels` = M.

    Raises
    ------
    TypeError, ValueError
        When built: if the function gives no law, or one with points, or a run has another number
        of labels.

    Examples
    --------
    >>> import meanfield as mf
    >>> law = from_labels(lambda s: mf.from_density([1.0, 0.4 * s]))
    >>> law.parts(mf.Circle(), np.array([0.25, 0.75]))[:, 1].real
    array([0.1, 0.3])
    """

    densities: Callable[[float], InitialLaw] | ModalArray
    name: ClassVar[str] = "labels"

    def __post_init__(self) -> None:
        if callable(self.densities):
            return
        if self.densities.ndim != 2 or len(self.densities) == 0:
            raise ValueError(
                f"densities have shape {self.densities.shape}, expected (M, coefficients)."
            )
        self._take(densities=np.array(self.densities, dtype=np.complex128))

    @property
    def count(self) -> int | None:
        """Number of labels, None for a function of the label."""
        return None if callable(self.densities) else len(self.densities)

    def parts(self, manifold: Manifold, labels: FloatArray) -> ModalArray:
        densities = self.densities
        if callable(densities):
            coefficients = [self._coefficients(densities, manifold, float(s)) for s in labels]
            degree = max(manifold.degree_of(each) for each in coefficients)
            return np.array([manifold.resize(each, degree) for each in coefficients])
        if len(labels) != len(densities):
            raise ValueError(
                f"from_labels has densities of {len(densities)} labels, and the run has "
                f"{len(labels)}: give labels = {len(densities)}."
            )
        for each in densities:
            checked_positive(Density(manifold, each))
        return densities

    def _coefficients(
        self, law_of: Callable[[float], InitialLaw], manifold: Manifold, label: float
    ) -> ModalArray:
        law = law_of(label)
        if not hasattr(law, "build"):
            raise TypeError(
                f"from_labels: densities({label:g}) gave {describe(law)}, expected a law."
            )
        return _density(law.build(manifold), "a law of labels").coefficients

    def build(self, manifold: Manifold) -> Density:
        raise ValueError(
            "from_labels gives a density to each label, and there are no labels here: give the "
            'problem a mask (mf.Attention(..., mask="causal")) or frequencies.'
        )


def _density(built: Density | Measure, what: str) -> Density:
    if isinstance(built, Measure):
        raise ValueError(f"{what} is one of densities, and this law has points.")
    return built
