"""Polynomials on one interval of label space: nodes, Legendre coefficients, interpolation.

Functions return matrices for p Gauss-Legendre nodes on [-1, 1], which apply to many intervals at
once. The nodes resolve polynomials of degree p - 1 and integrate degree 2 p - 1.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from meanfield.arrays import FloatArray, read_only

Carry = Callable[[FloatArray], FloatArray]
"""Values (n, k) at the old nodes -> values (n', k) at the new ones."""


@lru_cache(maxsize=8)
def gauss_legendre(order: int) -> tuple[FloatArray, FloatArray]:
    """Nodes on [-1, 1] and weights summing to 1 (means, not integrals), shape (order,) each."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    return read_only(nodes), read_only(0.5 * weights)


@lru_cache(maxsize=8)
def to_coefficients(order: int) -> FloatArray:
    """Matrix (order, order) from nodal values to coefficients c_n of sum_n c_n P_n.

    c_n = (2 n + 1) sum_i w_i P_n(x_i) g(x_i), weights summing to 1: exact for degree order - 1.
    """
    nodes, weights = gauss_legendre(order)
    values = np.polynomial.legendre.legvander(nodes, order - 1)  # (nodes, degrees)
    return read_only((2.0 * np.arange(order) + 1.0)[:, None] * (values * weights[:, None]).T)


def interpolation(order: int, targets: FloatArray) -> FloatArray:
    """Matrix (m, order) from values at the nodes to values at m targets in [-1, 1]."""
    values = np.polynomial.legendre.legvander(np.asarray(targets), order - 1)
    return np.asarray(values @ to_coefficients(order))


@lru_cache(maxsize=8)
def halving(order: int) -> FloatArray:
    """Matrix (2 order, order) from values on an interval to values on its lower and upper half."""
    nodes, _ = gauss_legendre(order)
    return read_only(interpolation(order, np.concatenate([nodes - 1.0, nodes + 1.0]) / 2.0))


@lru_cache(maxsize=8)
def joining(order: int) -> FloatArray:
    """Matrix (order, 2 order) from values on the lower and upper half to values on the whole.

    They are values of the halves' polynomials; the middle belongs to the lower half.
    """
    nodes, _ = gauss_legendre(order)
    upper = nodes > 0.0
    matrix = np.zeros((order, 2 * order))
    matrix[~upper, :order] = interpolation(order, 2.0 * nodes[~upper] + 1.0)
    matrix[upper, order:] = interpolation(order, 2.0 * nodes[upper] - 1.0)
    return read_only(matrix)


@lru_cache(maxsize=8)
def differentiation(order: int) -> FloatArray:
    """Matrix (order, order) from values at the nodes to values of the derivative there."""
    nodes, _ = gauss_legendre(order)
    slopes = np.polynomial.legendre.legder(np.eye(order), axis=0)
    values = np.polynomial.legendre.legvander(nodes, max(order - 2, 0))
    return read_only(values @ slopes @ to_coefficients(order))
