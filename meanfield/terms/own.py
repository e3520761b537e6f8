"""Terms of the user's own: fields u[mu](x, t) beside attention, or in its place.

A term is any object with a method `field(seen, x, time)`, or `field(seen, x, time, label=None)`.
Bound to a measure (`bound`) it is a fixed field like a drift, and carriers treat both alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from inspect import signature
from typing import Any, ClassVar, NamedTuple, NoReturn

import numpy as np

from meanfield.arguments import describe
from meanfield.arrays import FloatArray

# Most entries of a table of pairs that a term makes at once: 128 MB.
_PAIRS = 2**24


@dataclass(frozen=True, eq=False)
class Seen:
    """Measure sum_j m_j delta_{y_j}, an argument of a term of your own.

    Points are the tokens, the nodes of a density's grid, or of characteristics.

    Attributes
    ----------
    points : array, (m, d)
        Vectors y_j of R^d; unit vectors on spheres, also on the circle.
    masses : array, (m,)
        Masses m_j, with sum 1.
    labels : array, (m,), optional
        Labels of tokens: natural frequencies, or positions k / n in (0, 1] under a mask.

    Examples
    --------
    >>> import meanfield as mf
    >>> mf.Seen(np.eye(2), np.array([0.25, 0.75])).moment(1)
    array([0.25, 0.75])
    """

    points: FloatArray
    masses: FloatArray
    labels: FloatArray | None = None
    _moments: dict[int, FloatArray] = field(default_factory=dict, init=False, repr=False)

    def moment(self, order: int) -> FloatArray:
        """Moment sum_j m_j y_j x ... x y_j of an order, shape (d, ..., d), computed once.

        Fields that are polynomials of x and y need no sums over pairs.
        """
        if order not in self._moments:
            powers, d = self.masses[:, None], self.points.shape[1]
            for _ in range(order - 1):
                powers = (powers[:, :, None] * self.points[:, None, :]).reshape(len(powers), -1)
            last = powers.T @ self.points if order else powers.sum()
            self._moments[order] = np.reshape(last, (d,) * order)
        return self._moments[order]


class VectorField(NamedTuple):
    """Values of a term of your own at n vectors x of R^d.

    Attributes
    ----------
    u : array, (n, d)
        The field. Tokens move by its tangent part P_x u.
    trace : array, (n,), optional
        Trace of its Jacobian J.
    along : array, (n,), optional
        <x, J x>. Characteristics need both: div P_x u = tr J - <x, J x> - (d - 1) <x, u>.

    Examples
    --------
    >>> import meanfield as mf
    >>> mf.VectorField(np.zeros((3, 2))).trace is None
    True
    """

    u: FloatArray
    trace: FloatArray | None = None
    along: FloatArray | None = None


class SteadyTerm(ABC):
    """A term of this package that depends on the measure, and not on time."""

    name: ClassVar[str]

    @abstractmethod
    def field(self, seen: Seen, x: FloatArray, time: float) -> VectorField:
        """Values at vectors x (n, d), with slopes."""

    @abstractmethod
    def vectors(self, seen: Seen, x: FloatArray) -> FloatArray:
        """Values alone."""


@dataclass(frozen=True)
class OwnTerm:
    """A user's term at a time, or a steady one."""

    term: Any
    time: float = 0.0

    def __hash__(self) -> int:
        # The object may have no hash.
        return hash((type(self.term), self.time))

    @property
    def name(self) -> str:
        """Name of its class, or its place in a file."""
        if not self.is_users:
            return str(self.term.name)
        return str(getattr(self.term, "__name__", type(self.term).__name__))

    @property
    def is_users(self) -> bool:
        """True unless this package adds it; a user's field may depend on time."""
        return not isinstance(self.term, SteadyTerm)

    def at(self, seen: Seen, x: FloatArray) -> VectorField:
        """Its field in a measure, checked; in blocks, so that tables of pairs fit in memory."""
        parts = _parts(seen, x)
        if seen.labels is None or not takes_label(self.term):
            blocks = [self._block(seen, part) for part in parts]
        else:
            of_parts = _parts(seen, seen.labels)
            blocks = [self._block(seen, *each) for each in zip(parts, of_parts, strict=True)]
        return VectorField(
            np.concatenate([block.u for block in blocks]),
            _joined([block.trace for block in blocks]),
            _joined([block.along for block in blocks]),
        )

    def _block(self, seen: Seen, x: FloatArray, *label: FloatArray) -> VectorField:
        value = self.term.field(seen, x, self.time, *label)
        u, trace, along = value if isinstance(value, VectorField) else VectorField(value)
        return VectorField(
            self._array("field must give u", u, x.shape),
            None if trace is None else self._array("field must give trace", trace, x.shape[:1]),
            None if along is None else self._array("field must give along", along, x.shape[:1]),
        )

    def _array(self, what: str, value: Any, shape: tuple[int, ...]) -> FloatArray:
        array = value if isinstance(value, np.ndarray) else np.empty(0, dtype=object)
        if array.dtype.kind not in "fiu" or array.shape != shape:
            raise ValueError(
                f"{self.name}.{what} as an array of real numbers of shape {shape}, got "
                f"{describe(value)}."
            )
        return np.asarray(array, dtype=np.float64)

    def check_fits(self, d: int) -> None:
        """ValueError if it is no field on R^d: tried at the axes, in the measure of the axes."""
        self._at_axes(d)

    def has_divergence(self, d: int) -> bool:
        """True if it gives the trace of its Jacobian J, and <x, J x>."""
        _, trace, along = self._at_axes(d)
        return trace is not None and along is not None

    def size(self, d: int) -> float:
        """Largest entry of the field at the axes."""
        return float(np.abs(self._at_axes(d).u).max())

    def _at_axes(self, d: int) -> VectorField:
        return self.at(Seen(np.eye(d), np.full(d, 1.0 / d)), np.eye(d))

    def steepness(self, d: int) -> float:
        """Bound of |J|_2 by the term's own `steepness`; else 0, and errors alone limit steps."""
        bound = getattr(self.term, "steepness", None)
        return 0.0 if bound is None else float(bound(d))

    def no_potential(self, d: int) -> str | None:
        """Reason for having no energy, unless the term has a `potential`."""
        has = callable(getattr(self.term, "potential", None))
        return None if has else f"the potential of {self.name} is not known"

    def energy(self, seen: Seen) -> float:
        """Energy E[mu], whose first variation is the term's potential U[mu].

            E[mu] = int_0^1 int U[s mu] dmu ds

        by Gauss nodes s, exact for polynomials of mu up to degree 8.
        """
        nodes, weights = np.polynomial.legendre.leggauss(4)
        total = 0.0
        for s, weight in zip(0.5 * (1.0 + nodes), 0.5 * weights, strict=True):
            share = Seen(seen.points, s * seen.masses, seen.labels)
            parts = [
                self._array("potential must give U", self.term.potential(share, x), x.shape[:1])
                for x in _parts(share, seen.points)
            ]
            total += weight * float(seen.masses @ np.concatenate(parts))
        return total

    def vectors(self, x: FloatArray) -> NoReturn:
        """Refuse: the field depends on a measure."""
        raise ValueError(
            f"{self.name} depends on the measure: mf.simulate and mf.linear_operator support terms "
            "of your own."
        )

    slopes = potential = vectors


def check_label(term: OwnTerm) -> None:
    """Refuse a field that cannot be evaluated where tokens have no labels."""
    label = signature(term.term.field).parameters.get("label")
    if label is not None and label.kind != label.VAR_POSITIONAL and label.default is label.empty:
        raise TypeError(f"{term.name}.field: write label=None, for tokens without labels.")


def takes_label(term: Any) -> bool:
    """True if the field of a term has a parameter `label`."""
    return "label" in signature(term.field).parameters


def _parts(seen: Seen, x: FloatArray) -> list[FloatArray]:
    rows = max(1, _PAIRS // len(seen.points))
    return [x[i : i + rows] for i in range(0, len(x), rows)]


def _joined(parts: list[FloatArray | None]) -> FloatArray | None:
    arrays = [part for part in parts if part is not None]
    return np.concatenate(arrays) if len(arrays) == len(parts) else None


@dataclass(frozen=True, eq=False)
class BoundTerm:
    """A user's term in a measure: a fixed field."""

    own: OwnTerm
    seen: Seen
    _last: list[tuple[FloatArray, VectorField]] = field(default_factory=list, init=False)

    def _at(self, x: FloatArray) -> VectorField:
        if not self._last or self._last[0][0] is not x:
            self._last[:] = [(x, self.own.at(self.seen, x))]
        return self._last[0][1]

    def vectors(self, x: FloatArray) -> FloatArray:
        """Values u(x) at vectors (n, d), without slopes where the term can leave them out."""
        if self.own.is_users or (self._last and self._last[0][0] is x):
            return self._at(x).u
        return np.asarray(self.own.term.vectors(self.seen, x))

    def slopes(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Trace of the Jacobian, and <x, J x>."""
        values = self._at(x)
        if values.trace is None or values.along is None:
            raise ValueError(no_divergence(self.own))
        return values.trace, values.along


def no_divergence(own: OwnTerm) -> str:
    """Reason why characteristics cannot follow a term."""
    return (
        f"characteristics need a divergence, and {own.name}.field gives u alone: give trace = tr J "
        "and along = <x, J x> too, or take the representation 'density' or 'particles'."
    )


def sees(terms: Sequence[Any]) -> bool:
    """True if a term of the user's own is among fixed fields."""
    return any(isinstance(term, OwnTerm) for term in terms)


def bound(terms: tuple[Any, ...], seen: Seen) -> tuple[Any, ...]:
    """Fixed fields, with the user's terms in a measure."""
    return tuple(BoundTerm(each, seen) if isinstance(each, OwnTerm) else each for each in terms)
