"""Initial laws of the user's own: a density from a function, or from its values on a grid.

Both become a series. A function is sampled on finer and finer grids until its spectrum has decayed
to rounding. For given values the series interpolates them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from meanfield.arguments import describe
from meanfield.arrays import EPS, FloatArray, ModalArray
from meanfield.engines.limits import available_memory
from meanfield.laws.initial import PlainLaw, plain_law
from meanfield.measures import Density, checked_positive
from meanfield.spaces.manifold import of_space

if TYPE_CHECKING:
    from meanfield.spaces.manifold import Manifold

# Degree of the first grid, by family: its nodes may miss narrower features.
_FIRST_DEGREE = {"axial": 64, "circle": 256, "sphere": 64}
# Size of the last quarter of degrees, relative to the largest: rounding of a sum of the values.
_DECAYED = 8 * EPS
# A steep function magnifies the rounding of its argument, and its spectrum ends in a plateau. It is
# accepted below this relative size, which no kink reaches by the largest degree.
_PLATEAU = 1e-11
# Largest number of random places, else as many as nodes, at which the series is compared with the
# function: high degrees that equal lower ones at the nodes (aliases) differ there.
_PLACES = 2**16
_MISSED = 1e-9
# Doubles per node for nodes, values, the user's temporaries and transforms.
_DOUBLES_PER_NODE = 12
# Rounding of a zero, relative to the largest value.
_NEGATIVE = 1e-13


@plain_law
class from_function(PlainLaw):
    """Density proportional to a smooth function of your own.

    Parameters
    ----------
    function : callable
        Density relative to uniform, up to a factor. It gets angles (n,) on the circle, polar angles
        on `Axial(d)`, unit vectors (n, 3) on the sphere. It returns n real numbers, finite and not
        negative. Features narrower than 0.01 on the circle, 0.03 on the sphere, may fall between
        the nodes if the density is smooth elsewhere. Laws with the same function are equal; a law
        pickles if its function does, which a lambda does not.

    Raises
    ------
    TypeError
        If it is no function; when built, if it does not return real numbers.
    ValueError
        When built: if values are not finite, negative, or all zero, or if the spectrum has not
        decayed to rounding by the largest degree, as for functions with jumps and kinks.

    See Also
    --------
    from_values : density from measured values on a grid.

    Examples
    --------
    >>> import meanfield as mf
    >>> law = from_function(lambda theta: np.exp(2.0 * np.cos(theta)))
    >>> law.build(mf.Circle()).coefficients[1].real.round(6)
    np.float64(0.697775)
    """

    function: Callable[[FloatArray], FloatArray]
    name: ClassVar[str] = "function"

    def build(self, manifold: Manifold) -> Density:
        series = _series(manifold, lambda points: self._values(manifold, points))
        return checked_positive(Density(manifold, series), "The function must not be negative")

    def _values(self, manifold: Manifold, points: FloatArray) -> FloatArray:
        what = "angles" if points.ndim == 1 else "unit vectors"
        hint = f"it gets all {what} at once, shape {points.shape}: use numpy, not math or if"
        try:
            values = np.asarray(self.function(points))
        except (TypeError, ValueError) as error:
            # Errors of other classes, as from a run file's Python, say enough.
            if type(error) not in (TypeError, ValueError):
                raise
            raise type(error)(f"the function of the density failed ({error}): {hint}.") from error
        if values.dtype.kind not in "biuf":
            raise TypeError(
                f"the function of the density gave {values.dtype}, expected real numbers: {hint}."
            )
        if values.shape != points.shape[:1]:
            raise ValueError(
                f"the function of the density gave shape {values.shape}, expected "
                f"{points.shape[:1]}: {hint}."
            )
        _check_values(values, lambda i: f" at {np.round(points[i], 4)}", "the function")
        return values.astype(np.float64)


def _check_values(values: FloatArray, place: Callable[[int], str], whose: str) -> None:
    """Refuse values that are not finite, negative or all zero."""
    flat = values.reshape(-1)
    if not np.all(np.isfinite(flat)):
        i = int(np.argmin(np.isfinite(flat)))
        raise ValueError(f"{whose} is {flat[i]}{place(i)}: a density is finite everywhere.")
    i = int(np.argmin(flat))
    if flat[i] < -_NEGATIVE * np.abs(flat).max():
        raise ValueError(f"{whose} is {flat[i]:.4g}{place(i)}: a density is not negative.")
    if not np.any(flat > 0):
        raise ValueError(f"{whose} is 0 everywhere: a density has a mass.")


def _series(space: Manifold, values_at: Callable[[FloatArray], FloatArray]) -> ModalArray:
    """Coefficients of a function, exact to rounding, divided by its mean."""
    degree, largest = of_space(_FIRST_DEGREE, space, "density"), space.largest_degree
    while True:
        grid = space.grid(degree)
        values = values_at(grid.points)
        # Sums of huge values would overflow, and those of tiny ones vanish.
        unit = values.max()
        series = grid.to_modal(values / unit)
        unit, series = unit * series[0].real, series / series[0].real
        sizes = space.sizes_by_degree(series)
        # Compares two parts of the spectrum: does it still fall?
        middle, last = sizes[degree // 2 : 3 * degree // 4].max(), sizes[3 * degree // 4 :].max()
        noise = max(middle, last) / sizes.max()
        wrong = f"at degree {degree} its spectrum is still {last:.2g} of the mean"
        decayed = last <= _DECAYED * sizes.max()
        if decayed or (noise <= _PLATEAU and middle < 2.0 * last):
            significant = sizes > (_DECAYED if decayed else 2.0 * noise) * sizes.max()
            series = space.resize(series, int(np.flatnonzero(significant)[-1]))
            places = space.random_points(min(len(values), _PLACES), np.random.default_rng(0))
            wanted = values_at(places) / unit
            missed = np.abs(wanted - space.evaluate(series, places)).max() / wanted.max()
            if missed <= _MISSED:
                return series
            wrong = f"its series of degree {degree} is off by {missed:.2g} of its largest value"
        finer = min(2 * degree, largest)
        # Twice the degree has 2^dimension times as many nodes; axial grids have a square table.
        nodes = len(grid.weights) * 2 ** min(space.dimension, 2)
        need = 8 * (_DOUBLES_PER_NODE * nodes + (nodes**2 if space.has_rings else 0))
        if degree == largest or need > available_memory():
            raise ValueError(
                f"the function is not smooth enough: {wrong}. Smooth its jumps and kinks, as by "
                "tanh in place of a step, or widen its narrowest peak."
            )
        degree = finer


@plain_law
class from_values(PlainLaw):
    """Density proportional to values on a grid: a series that interpolates them.

    Parameters
    ----------
    values : array_like
        Density relative to uniform, up to a factor: finite, not negative.

        Circle: shape (n,), at the angles 2 pi j / n, j = 0 ... n - 1.

        Sphere: shape (n, 2 n), n even, at colatitudes pi i / n from the north pole on,
        i = 0 ... n - 1, and longitudes pi j / n; the series has degrees up to n / 2 - 1. Or a
        pyshtools.SHGrid, 'DH2' (this grid) or 'GLQ' (Gauss-Legendre rings), extended or not.

    Raises
    ------
    TypeError
        If the values are not real numbers.
    ValueError
        If they are not finite, negative or all zero. When built: if no grid has their shape, or the
        series is negative between the nodes, as next to jumps.

    References
    ----------
    Driscoll, Healy, Computing Fourier transforms and convolutions on the 2-sphere, Adv. Appl. Math.
    15 (1994), 202-250: the weights of the grid (n, 2 n), in pyshtools.

    Examples
    --------
    >>> import meanfield as mf
    >>> theta = 2 * np.pi * np.arange(64) / 64
    >>> law = from_values(np.exp(2.0 * np.cos(theta)))
    >>> law
    from_values(array(64,))
    >>> law.build(mf.Circle()).coefficients[1].real.round(6)
    np.float64(0.697775)
    """

    values: FloatArray
    grid: str = field(default="DH", init=False)
    name: ClassVar[str] = "values"

    def __post_init__(self) -> None:
        values, own = self.values, cast(Any, self.values)
        if hasattr(values, "to_array"):
            array, grid = own.to_array(), own.grid
            # An extended pyshtools.SHGrid repeats the first longitude, and has the south pole.
            values = array[: -1 if grid == "DH" else None, :-1] if own.extend else array
            self._take(grid=grid)
        array = np.array(values)
        if array.dtype.kind not in "biuf":
            raise TypeError(
                f"from_values: values must be an array of real numbers, got {describe(array)}."
            )
        if array.size == 0:
            raise ValueError(f"values have shape {array.shape}, expected at least one.")
        array = array.astype(np.float64)

        def place(position: int) -> str:
            return f" at index {', '.join(map(str, np.unravel_index(position, array.shape)))}"

        _check_values(array, place, "the density")
        self._take(values=array)

    def build(self, manifold: Manifold) -> Density:
        if manifold.has_rings or not manifold.has_series:
            raise ValueError(
                f"values on a grid are no density on the {manifold.name}: give mf.from_function of "
                "the polar angle, or the moments int P_l dmu, mf.from_density."
            )
        on_circle = manifold.is_circle
        series = _on_circle(self.values) if on_circle else _on_sphere(self.values, self.grid)
        density = Density(manifold, series / series.flat[0].real)
        return checked_positive(density, "Smooth the values, or give more of them")


def _on_circle(values: FloatArray) -> ModalArray:
    """Coefficients of the trigonometric polynomial of least degree through the values."""
    if values.ndim != 1:
        raise ValueError(
            f"values have shape {values.shape}, expected (n,) on the circle, at the angles "
            "2 pi j / n."
        )
    series = np.fft.rfft(values, norm="forward")
    if len(values) % 2 == 0:
        # cos(n theta / 2) = (e^{i n theta / 2} + e^{-i n theta / 2}) / 2; rfft adds both halves.
        series[-1] *= 0.5
    return np.asarray(series)


def _on_sphere(values: FloatArray, grid: str) -> ModalArray:
    """Coefficients (2, L + 1, L + 1) in pyshtools' layout, by its quadrature."""
    from pyshtools import SHGrid

    rings = len(values)
    if grid == "DH" and (values.shape != (rings, 2 * rings) or rings % 2):
        raise ValueError(
            f"values have shape {values.shape}, expected (n, 2 n) with n even on the sphere: "
            "colatitudes pi i / n from the north pole on, without the south pole, and longitudes "
            "pi j / n. Another grid is given as a pyshtools.SHGrid."
        )
    expansion = SHGrid.from_array(values, grid=grid).expand(normalization="4pi", csphase=1)
    return np.asarray(expansion.coeffs)
