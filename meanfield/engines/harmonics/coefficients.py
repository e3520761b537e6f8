"""Coefficients of real fields on the sphere: packing, products by degree, pyshtools' arrays.

Inside the package a field is g = sum_l g_l0 Y_l0 + 2 Re sum_{m>0} g_lm Y_lm with complex
harmonics orthonormal for sigma, Condon-Shortley phase included: sqrt(4 pi) times the harmonics
of ducc0 and SciPy. Only m >= 0 is stored, order by order, as ducc0 does.

Files and users get pyshtools' arrays of shape (2, L + 1, L + 1): real 4-pi-normalised harmonics
without Condon-Shortley phase (csphase = 1), g = sum_lm (C_lm cos m phi + S_lm sin m phi) P_lm:

    C_l0 = g_l0,    C_lm = sqrt(2) (-1)^m Re g_lm,    S_lm = -sqrt(2) (-1)^m Im g_lm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from meanfield.arrays import ComplexArray, FloatArray, read_only

_IntArray = npt.NDArray[np.intp]


def count_of(max_degree: int) -> int:
    """Number of stored coefficients, (L + 1)(L + 2) / 2."""
    return (max_degree + 1) * (max_degree + 2) // 2


def index(degree: int, order: int, max_degree: int) -> int:
    """Position of the coefficient of a degree and order m >= 0."""
    return order * (2 * max_degree + 1 - order) // 2 + degree


def degree_of(coefficients: ComplexArray) -> int:
    """Largest degree L of an array of shape (..., (L + 1)(L + 2) / 2)."""
    count = coefficients.shape[-1] if coefficients.ndim else 0
    degree = (math.isqrt(8 * count + 1) - 3) // 2
    if count == 0 or count_of(degree) != count:
        raise ValueError(
            f"coefficients have shape {coefficients.shape}, expected (L + 1)(L + 2) / 2 of them: "
            "1, 3, 6, 10, ..."
        )
    return degree


@lru_cache(maxsize=8)
def degrees_orders(max_degree: int) -> tuple[_IntArray, _IntArray]:
    """Degree l and order m of every stored coefficient."""
    lengths = np.arange(max_degree + 1, 0, -1)
    orders = np.repeat(np.arange(max_degree + 1), lengths)
    degrees = np.concatenate([np.arange(m, max_degree + 1) for m in range(max_degree + 1)])
    return read_only(degrees), read_only(orders)


@lru_cache(maxsize=16)
def _positions(max_degree: int, new_degree: int) -> _IntArray:
    """Positions of coefficients up to new_degree among those up to max_degree."""
    degrees, orders = degrees_orders(new_degree)
    return read_only(orders * (2 * max_degree + 1 - orders) // 2 + degrees)


@lru_cache(maxsize=8)
def _multiplicities(max_degree: int) -> FloatArray:
    """Count of orders m and -m for each stored coefficient: 1 for m = 0, otherwise 2."""
    return read_only(np.where(degrees_orders(max_degree)[1] == 0, 1.0, 2.0))


def resize(coefficients: ComplexArray, max_degree: int) -> ComplexArray:
    """Coefficients cut, or filled with zeros, to `max_degree`; leading axes are kept."""
    present = degree_of(coefficients)
    if max_degree <= present:
        cut = np.take(coefficients, _positions(present, max_degree), axis=-1)
        return np.asarray(cut, dtype=np.complex128)
    resized = np.zeros((*coefficients.shape[:-1], count_of(max_degree)), dtype=np.complex128)
    resized[..., _positions(max_degree, present)] = coefficients
    return resized


def convolve(multipliers: FloatArray, coefficients: ComplexArray) -> ComplexArray:
    """Zonal convolution: each degree times its multiplier, cut to the shorter."""
    degree = min(len(multipliers) - 1, degree_of(coefficients))
    product = resize(coefficients, degree)
    product *= np.take(multipliers, degrees_orders(degree)[0])
    return product


def inner(first: ComplexArray, second: ComplexArray) -> float:
    """Inner product int f g dsigma of two real fields, cut to the shorter."""
    degree = min(degree_of(first), degree_of(second))
    one, other = resize(first, degree), resize(second, degree)
    products = one.real * other.real + one.imag * other.imag
    return float((_multiplicities(degree) * products).sum())


def power_by_degree(coefficients: ComplexArray) -> FloatArray:
    """Power of each degree, sum_m C_lm^2 + S_lm^2: pyshtools' spectrum "per_l"."""
    degree = degree_of(coefficients)
    squares = coefficients.real**2 + coefficients.imag**2
    weights = _multiplicities(degree) * squares
    return np.asarray(np.bincount(degrees_orders(degree)[0], weights=weights), dtype=np.float64)


def unpacked(coefficients: ComplexArray) -> FloatArray:
    """Array (..., 2, L + 1, L + 1) of C_lm and S_lm, as pyshtools has it ('4pi', csphase 1)."""
    degree = degree_of(coefficients)
    degrees, orders = degrees_orders(degree)
    array = np.zeros((*coefficients.shape[:-1], 2, degree + 1, degree + 1))
    factors = _factors(degree)
    array[..., 0, degrees, orders] = factors * coefficients.real
    # Order 0 has no sine.
    array[..., 1, degrees, orders] = np.where(orders > 0, -factors, 0.0) * coefficients.imag
    return array


def packed(array: FloatArray) -> ComplexArray:
    """Coefficients of an array (..., 2, L + 1, L + 1) of C_lm and S_lm: inverse of `unpacked`."""
    values = np.asarray(array, dtype=np.float64)
    shape = values.shape
    if len(shape) < 3 or shape[-3] != 2 or shape[-1] != shape[-2] or shape[-1] == 0:
        raise ValueError(f"coefficients have shape {shape}, expected (2, L + 1, L + 1).")
    degree = shape[-1] - 1
    degrees, orders = degrees_orders(degree)
    lower = np.tril(np.ones((degree + 1, degree + 1), dtype=bool))
    sines = lower.copy()
    sines[:, 0] = False
    strangers = np.argwhere((values != 0) & ~np.stack([lower, sines]))
    if len(strangers):
        *_, kind, l, m = (int(i) for i in strangers[0])
        what = "order above degree" if m > l else "a sine of order 0"
        raise ValueError(
            f"entry [{kind}, {l}, {m}] of the coefficients is {what}: it must be 0, or left out."
        )
    factors = 1.0 / _factors(degree)
    out = np.empty((*shape[:-3], count_of(degree)), dtype=np.complex128)
    out.real = values[..., 0, degrees, orders] * factors
    out.imag = values[..., 1, degrees, orders] * -factors
    return out


@lru_cache(maxsize=8)
def _factors(max_degree: int) -> FloatArray:
    """Ratio C_lm / Re g_lm: 1 for m = 0, sqrt(2) (-1)^m otherwise."""
    orders = degrees_orders(max_degree)[1]
    return read_only(np.where(orders == 0, 1.0, np.sqrt(2.0) * (1.0 - 2.0 * (orders % 2))))


def from_modes(modes: Sequence[Sequence[float]]) -> ComplexArray:
    """Coefficients of 1 + sum of modes [l, m, amplitude]; m < 0 is the sine."""
    for mode in modes:
        if len(mode) != 3:
            raise ValueError(f"mode {list(mode)} must be [l, m, amplitude].")
        if not np.all(np.isfinite(mode)):
            raise ValueError(f"mode {list(mode)} must be finite.")
        l, m, _ = mode
        if l != int(l) or m != int(m) or l < 1:
            raise ValueError(
                f"mode {list(mode)} must be [l, m, amplitude] with integers l >= 1 and m."
            )
        if abs(m) > l:
            raise ValueError(f"mode {list(mode)} has order above degree: |m| <= l is needed.")
    largest = max([int(l) for l, _, _ in modes], default=0)
    out = np.zeros(count_of(largest), dtype=np.complex128)
    out[0] = 1.0
    factors = _factors(largest)
    for l, m, amplitude in modes:
        position = index(int(l), abs(int(m)), largest)
        out[position] += amplitude / factors[position] * (1.0 if m >= 0 else -1j)
    return out


def is_shcoeffs(value: object) -> bool:
    """True for a pyshtools.SHCoeffs, without importing pyshtools."""
    return any(
        kind.__name__ == "SHCoeffs" and kind.__module__.split(".")[0] == "pyshtools"
        for kind in type(value).__mro__
    )


def from_shcoeffs(value: Any) -> ComplexArray:
    """Coefficients of a pyshtools.SHCoeffs of any normalisation and phase."""
    if value.kind != "real":
        raise ValueError(f"SHCoeffs are of kind '{value.kind}', expected 'real': a density is.")
    return packed(value.to_array(normalization="4pi", csphase=1))


def to_shcoeffs(coefficients: ComplexArray) -> Any:
    """Field as a pyshtools.SHCoeffs ('4pi', csphase 1)."""
    import pyshtools

    return pyshtools.SHCoeffs.from_array(unpacked(coefficients), normalization="4pi", csphase=1)
