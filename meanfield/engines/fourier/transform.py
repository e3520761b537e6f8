"""Fourier transforms of real fields on the circle, in lanes of eight.

A field g(theta) = Re[g_0 + 2 sum_{k=1}^K g_k e^{ik theta}] on 2N nodes theta_j = pi j / N, K < N,
takes one complex transform of length N. With u = e^{i pi / N}, w = u^2,

    g(theta_2j) + i g(theta_2j+1) = sum_{k<N} x_k w^{jk},
    x_k = (1 + i u^k) g_k + (1 - i u^k) conj g_{N-k}.

Stockham's transform: a pass of radix r takes s to rs, with m = N / (rs),

    y_{q + s (rp + c)} = w^{s p c} sum_{j<r} x_{q + s (p + mj)} e^{2 pi i cj / r},
    q < s, p < m, c < r.

Lanes are eight q. In the first pass s = 1, r = 8: lanes are eight p, and 8 x 8 results are
transposed. The transform of the other sign exchanges real and imaginary parts.

Arrays (2, N + 8) have rows of N real and imaginary parts, with eight spare numbers that lanes may
read and write.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.engines.compiled import njit
from meanfield.engines.elementary import fma, wide_vectors
from meanfield.engines.lanes import (
    load_8,
    load_complex_8,
    reverse,
    spread_8,
    store,
    store_complex_8,
    store_transposed_8,
)

SPARE = 8
_SQRT_HALF = np.sqrt(0.5)
_C1, _C2 = np.cos(2 * np.pi / 5), np.cos(4 * np.pi / 5)
_S1, _S2 = np.sin(2 * np.pi / 5), np.sin(4 * np.pi / 5)
_S3 = np.sqrt(0.75)


def transform_size(least: int) -> int:
    """Smallest N = 8 * 3^a 4^b 5^c >= 64 that is at least `least`, and no multiple of 2,048.

    Multiples of 2,048 would put all numbers of a pass into the same few cache lines.
    """
    m = max(8, -(-least // 8))
    while m % 256 == 0 or _without(_without(_without(m, 3), 4), 5) > 1:
        m += 1
    return 8 * m


def _without(number: int, factor: int) -> int:
    while number % factor == 0:
        number //= factor
    return number


@lru_cache(maxsize=64)
def roots_of_unity(size: int) -> FloatArray:
    """Table (7, N + 8) for transforms of length N.

    Real and imaginary parts of w^k, of u^k and of the first pass's w^{pc}, c = 1 ... 7; and k.
    """
    # Rounded once from extended precision, where the machine has it.
    turn = 2 * np.arccos(np.longdouble(-1)) / size
    k = np.arange(size + SPARE)
    first = np.zeros(len(k), int)
    first[: 7 * size // 8] = np.outer(np.arange(1, 8), np.arange(size // 8)).ravel()
    parts = [f(turn * powers) for powers in (k, k / 2, first) for f in (np.cos, np.sin)]
    return np.array([*parts, k], dtype=np.float64)


@njit
def _pair(x, i):  # type: ignore[no-untyped-def]
    return load_8(x, i), load_8(x, i + x.shape[1])


@njit
def _product(xr, xi, wr, wi):  # type: ignore[no-untyped-def]
    return fma(xr, wr, -(xi * wi)), fma(xr, wi, xi * wr)


@njit
def _put(y, i, real, imag):  # type: ignore[no-untyped-def]
    store(y, i, real)
    store(y, i + y.shape[1], imag)


@njit
def _root(roots, k):  # type: ignore[no-untyped-def]
    return spread_8(roots[0, k]), spread_8(roots[1, k])


@njit
def _four(x, i, step):  # type: ignore[no-untyped-def]
    """Sums over four numbers times powers of 1, i, -1 and -i."""
    ar, ai = _pair(x, i)
    br, bi = _pair(x, i + step)
    cr, ci = _pair(x, i + 2 * step)
    dr, di = _pair(x, i + 3 * step)
    er, ei, fr, fi = ar + cr, ai + ci, ar - cr, ai - ci
    gr, gi, hr, hi = br + dr, bi + di, br - dr, bi - di
    return er + gr, ei + gi, fr - hi, fi + hr, er - gr, ei - gi, fr + hi, fi - hr


@njit
def _first(x, y, roots):  # type: ignore[no-untyped-def]
    """First pass, of radix 8."""
    wide_vectors()
    row = x.shape[1]
    m = (row - SPARE) // 8
    for start in range(0, m, 8):
        # The last lanes may be computed twice.
        p = min(start, m - 8)
        ar, ai, cr, ci, er, ei, gr, gi = _four(x, p, 2 * m)
        br, bi, dr, di, fr, fi, hr, hi = _four(x, p + m, 2 * m)
        # Times e^{i pi / 4}, i and e^{3 i pi / 4}.
        dr, di = _SQRT_HALF * (dr - di), _SQRT_HALF * (dr + di)
        fr, fi = -fi, fr
        hr, hi = -_SQRT_HALF * (hr + hi), _SQRT_HALF * (hr - hi)
        i, j = 4 * row + p, 5 * row + p
        b1, c1 = _product(cr + dr, ci + di, load_8(roots, i), load_8(roots, j))
        b2, c2 = _product(er + fr, ei + fi, load_8(roots, i + m), load_8(roots, j + m))
        i, j = i + 2 * m, j + 2 * m
        b3, c3 = _product(gr + hr, gi + hi, load_8(roots, i), load_8(roots, j))
        b4, c4 = _product(ar - br, ai - bi, load_8(roots, i + m), load_8(roots, j + m))
        i, j = i + 2 * m, j + 2 * m
        b5, c5 = _product(cr - dr, ci - di, load_8(roots, i), load_8(roots, j))
        b6, c6 = _product(er - fr, ei - fi, load_8(roots, i + m), load_8(roots, j + m))
        i, j = i + 2 * m, j + 2 * m
        b7, c7 = _product(gr - hr, gi - hi, load_8(roots, i), load_8(roots, j))
        store_transposed_8(y, 8 * p, ar + br, b1, b2, b3, b4, b5, b6, b7)
        store_transposed_8(y, 8 * p + row, ai + bi, c1, c2, c3, c4, c5, c6, c7)


@njit
def _by_3(x, y, roots, s):  # type: ignore[no-untyped-def]
    wide_vectors()
    step = (x.shape[1] - SPARE) // 3
    for first in range(0, step, s):
        ur, ui = _root(roots, first)
        vr, vi = _root(roots, 2 * first)
        for i in range(first, first + s, 8):
            ar, ai = _pair(x, i)
            br, bi = _pair(x, i + step)
            cr, ci = _pair(x, i + 2 * step)
            dr, di, er, ei = br + cr, bi + ci, _S3 * (br - cr), _S3 * (bi - ci)
            br, bi = fma(-0.5, dr, ar), fma(-0.5, di, ai)
            j = i + 2 * first
            _put(y, j, ar + dr, ai + di)
            _put(y, j + s, *_product(br - ei, bi + er, ur, ui))
            _put(y, j + 2 * s, *_product(br + ei, bi - er, vr, vi))


@njit
def _by_4(x, y, roots, s):  # type: ignore[no-untyped-def]
    wide_vectors()
    step = (x.shape[1] - SPARE) // 4
    for first in range(0, step, s):
        ur, ui = _root(roots, first)
        vr, vi = _root(roots, 2 * first)
        wr, wi = _root(roots, 3 * first)
        for i in range(first, first + s, 8):
            ar, ai, br, bi, cr, ci, dr, di = _four(x, i, step)
            j = i + 3 * first
            _put(y, j, ar, ai)
            _put(y, j + s, *_product(br, bi, ur, ui))
            _put(y, j + 2 * s, *_product(cr, ci, vr, vi))
            _put(y, j + 3 * s, *_product(dr, di, wr, wi))


@njit
def _by_5(x, y, roots, s):  # type: ignore[no-untyped-def]
    wide_vectors()
    step = (x.shape[1] - SPARE) // 5
    for first in range(0, step, s):
        tr, ti = _root(roots, first)
        ur, ui = _root(roots, 2 * first)
        vr, vi = _root(roots, 3 * first)
        wr, wi = _root(roots, 4 * first)
        for i in range(first, first + s, 8):
            ar, ai = _pair(x, i)
            br, bi = _pair(x, i + step)
            cr, ci = _pair(x, i + 2 * step)
            dr, di = _pair(x, i + 3 * step)
            er, ei = _pair(x, i + 4 * step)
            br, bi, er, ei = br + er, bi + ei, br - er, bi - ei
            cr, ci, dr, di = cr + dr, ci + di, cr - dr, ci - di
            fr, fi = fma(_C2, cr, fma(_C1, br, ar)), fma(_C2, ci, fma(_C1, bi, ai))
            gr, gi = fma(_C1, cr, fma(_C2, br, ar)), fma(_C1, ci, fma(_C2, bi, ai))
            hr, hi = fma(_S2, dr, _S1 * er), fma(_S2, di, _S1 * ei)
            kr, ki = fma(-_S1, dr, _S2 * er), fma(-_S1, di, _S2 * ei)
            j = i + 4 * first
            _put(y, j, ar + (br + cr), ai + (bi + ci))
            _put(y, j + s, *_product(fr - hi, fi + hr, tr, ti))
            _put(y, j + 2 * s, *_product(gr - ki, gi + kr, ur, ui))
            _put(y, j + 3 * s, *_product(gr + ki, gi - kr, vr, vi))
            _put(y, j + 4 * s, *_product(fr + hi, fi - hr, wr, wi))


@njit
def transform(x, y, roots):  # type: ignore[no-untyped-def]
    """Transform sum_k x_k w^{jk}, j < N, in x or y, whichever is returned; both are overwritten."""
    _first(x, y, roots)
    s, size = 8, x.shape[1] - SPARE
    while s < size:
        x, y = y, x
        if size // s % 5 == 0:
            _by_5(x, y, roots, s)
            s *= 5
        elif size // s % 3 == 0:
            _by_3(x, y, roots, s)
            s *= 3
        else:
            _by_4(x, y, roots, s)
            s *= 4
    return y


@njit
def to_nodes(series, mean, x, y, roots):  # type: ignore[no-untyped-def]
    """Values of a real field at even nodes and at odd ones, in x or y; `mean` replaces g_0."""
    wide_vectors()
    row = x.shape[1]
    size = row - SPARE
    count = (series.size + 7) // 8 * 8
    g = np.empty(count, np.complex128)
    for k in range(count):
        g[k] = series[k] if k < series.size else 0.0
    g[0] = mean
    zero = spread_8(0.0)
    for k in range(count, size, 8):
        _put(x, k, zero, zero)
    for k in range(0, count, 8):
        a, b = load_complex_8(g, k)
        _put(x, k, *_product(a, b, 1.0 - load_8(roots, k + 3 * row), load_8(roots, k + 2 * row)))
    for k in range(0, count, 8):
        a, b = load_complex_8(g, k)
        a, b = _product(a, -b, 1.0 + load_8(roots, k + 3 * row), load_8(roots, k + 2 * row))
        i = size - k - 7
        c, d = _pair(x, i)
        _put(x, i, c + reverse(a), d + reverse(b))
    return transform(x, y, roots)


@njit
def derivative(x, y, max_degree, factor, roots):  # type: ignore[no-untyped-def]
    """Coefficients ik g_k, times a factor, from values at odd nodes and at even ones."""
    wide_vectors()
    row = x.shape[1]
    size = row - SPARE
    f = transform(x, y, roots)
    scale = 0.25 * factor / size
    out = np.empty((max_degree + 8) // 8 * 8, np.complex128)
    for k in range(0, out.size, 8):
        ar, ai = load_8(f, k + row), load_8(f, k)
        i = size - k - 7
        br, bi = reverse(load_8(f, i + row)), reverse(load_8(f, i))
        c, s = load_8(roots, k + 2 * row), load_8(roots, k + 3 * row)
        dr, di, n = ar - br, ai + bi, scale * load_8(roots, k + 6 * row)
        real = n * (fma(c, dr, s * di) - (ai - bi))
        imag = n * (fma(c, di, -(s * dr)) + (ar + br))
        store_complex_8(out, k, real, imag)
    out[0] = 0.0
    return out[: max_degree + 1]
