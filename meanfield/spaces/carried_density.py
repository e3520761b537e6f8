"""The density that a flow has carried, from the quadrature nodes of label cells.

A cell is s in [-1, 1]^d with Gauss-Legendre nodes s_j and weights w_j. The flow takes s to x(s) and
conserves the masses m_j of the nodes, so

    f(x(s)) = g(s) / |x'(s)|,    g(s_j) = m_j / w_j

with x and g polynomials through the nodes. |x'| is the ratio of arcs or areas, both as shares of
the manifold's. The density at a point comes from the cell whose image contains it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from meanfield.arrays import FloatArray, IntArray
from meanfield.bases.legendre import gauss_legendre, to_coefficients
from meanfield.spaces.axial.measure import height as height_of_sigma
from meanfield.spaces.manifold import Manifold, of_space

if TYPE_CHECKING:
    from scipy.spatial import KDTree

_FULL_TURN = 2.0 * np.pi
# Largest value of a density, where images have collapsed.
_LARGEST = 1e300
# Steps of Newton's method from a start within a part of a cell.
_NEWTON = 8
# Linear parts of the curve of a panel.
_FINE = 64
# Points at which polynomials are evaluated together: 100 coefficients each on the sphere.
_BLOCK = 20_000
# Least weight of a panel in isotonic regression, as a share of the heaviest one's.
_NO_MASS = 1e-12
# Nearest nodes whose cells are tried for a point, and how far beyond its edge a cell is used:
# neighbouring images leave gaps, as wide as the error of their polynomials.
_NEAREST, _BEYOND = 24, 1e-3


@dataclass(frozen=True, eq=False)
class PanelImages:
    """Images of the panels of the circle, in the order of their angles."""

    points: FloatArray  # (n,): angles of the nodes, panel by panel
    masses: FloatArray  # (n,): masses of the nodes
    order: int  # nodes of a panel
    # (panels, order): Legendre coefficients of the unwrapped angle, and of the mass per unit of s.
    places: FloatArray = field(init=False)
    heights: FloatArray = field(init=False)
    # (2, panels, points): angles that increase by a full turn, and the mass below them.
    curve: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        order, weights = self.order, gauss_legendre(self.order)[1]
        matrix = to_coefficients(order)
        angles = self._unwrapped().reshape(-1, order)
        object.__setattr__(self, "places", angles @ matrix.T)
        heights = self.masses.reshape(-1, order) / weights @ matrix.T
        object.__setattr__(self, "heights", heights)
        s = np.linspace(-1.0, 1.0, _FINE + 1)
        below = 0.5 * _integrals(heights) @ _polynomials(s, order + 1).T
        below += np.concatenate([[0.0], np.cumsum(heights[:-1, 0])])[:, None]
        curve = np.stack([self.places @ _polynomials(s, order).T, below])
        object.__setattr__(self, "curve", curve)

    def density(self, angles: FloatArray) -> FloatArray:
        panel, s = self._locate(angles)
        height = np.einsum("ij,ij->i", _polynomials(s, self.order), self.heights[panel])
        return _quotient(height, self._stretch(panel, s) / np.pi)

    def mass_below(self, angles: FloatArray) -> FloatArray:
        """Mass between the first label and angles, linear between points; a full turn adds 1."""
        places, below = self.curve.reshape(2, -1)
        inside, turns = self._inside(angles)
        # Rounding leaves a gap between the last panel and the first.
        weights = np.repeat(self.heights[:, 0], self.curve.shape[2])
        places = np.append(_unfolded(places, weights), places[0] + _FULL_TURN)
        return np.asarray(turns + np.interp(inside, places, np.append(below, 1.0)))

    def _stretch(self, panel: IntArray, s: FloatArray) -> FloatArray:
        slopes = _derivatives(self.places)[panel]
        return np.asarray(np.einsum("ij,ij->i", _polynomials(s, self.order - 1), slopes))

    def _unwrapped(self) -> FloatArray:
        """Angles of the nodes without jumps by full turns."""
        return np.unwrap(self.points)

    def _inside(self, angles: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Angles within one turn from the first label on, and the full turns subtracted."""
        turns = np.floor((angles - self.curve[0, 0, 0]) / _FULL_TURN)
        return angles - _FULL_TURN * turns, turns

    def _locate(self, angles: FloatArray) -> tuple[IntArray, FloatArray]:
        """Panel of each angle, and place s in it by Newton's method between bounds."""
        inside, _ = self._inside(angles)
        starts = _unfolded(self.curve[0, :, 0], self.heights[:, 0])
        panel = np.maximum(np.searchsorted(starts, inside, side="right") - 1, 0)
        curve = self.curve[0, panel]
        at = np.clip((curve < inside[:, None]).sum(axis=1) - 1, 0, _FINE - 1)
        low = 2.0 * at / _FINE - 1.0
        high = low + 2.0 / _FINE
        places, slopes = self.places[panel], _derivatives(self.places)[panel]
        s = 0.5 * (low + high)
        for _ in range(_NEWTON):
            miss = np.einsum("ij,ij->i", _polynomials(s, self.order), places) - inside
            low, high = np.where(miss > 0, low, s), np.where(miss > 0, s, high)
            slope = np.einsum("ij,ij->i", _polynomials(s, self.order - 1), slopes)
            step = np.divide(miss, slope, out=np.full(len(s), np.inf), where=slope > 0)
            s = np.where((s - step >= low) & (s - step <= high), s - step, 0.5 * (low + high))
        return panel, s


@dataclass(frozen=True, eq=False)
class AxialImages(PanelImages):
    """Images of the panels of axial measures, in the order of their polar angles."""

    ambient: int = 2  # d of S^{d-1}

    def density(self, angles: FloatArray) -> FloatArray:
        panel, s = self._locate(angles)
        height = np.einsum("ij,ij->i", _polynomials(s, self.order), self.heights[panel])
        values = _quotient(height, self._share(angles, panel, s))
        # Mass and share vanish at a pole: the panels there interpolate the density at their nodes.
        for end in {0, len(self.places) - 1}:
            nodes = self.points.reshape(-1, self.order)[end]
            axis, weights = gauss_legendre(self.order)
            where = np.full(self.order, end)
            covered = _quotient(
                self.masses.reshape(-1, self.order)[end] / weights, self._share(nodes, where, axis)
            )
            inside = np.flatnonzero(panel == end)
            series = to_coefficients(self.order) @ covered
            values[inside] = np.maximum(_polynomials(s[inside], self.order) @ series, 0.0)
        return values

    def mass_below(self, angles: FloatArray) -> FloatArray:
        places, below = self.curve.reshape(2, -1)
        places = _unfolded(places, np.repeat(self.heights[:, 0], self.curve.shape[2]))
        return np.asarray(np.interp(angles, places, below / below[-1]))

    def _share(self, angles: FloatArray, panel: IntArray, s: FloatArray) -> FloatArray:
        return 2.0 * self._stretch(panel, s) * height_of_sigma(self.ambient, angles)

    def _unwrapped(self) -> FloatArray:
        return self.points

    def _inside(self, angles: FloatArray) -> tuple[FloatArray, FloatArray]:
        return angles, np.zeros(len(angles))


@dataclass(frozen=True, eq=False)
class RectangleImages:
    """Images of the rectangles of the sphere."""

    points: FloatArray  # (n, 3): unit vectors of the nodes, cell by cell, v fastest
    masses: FloatArray  # (n,): masses of the nodes
    order: int  # nodes of a cell along each direction
    # (cells, order, order, 3) and (cells, order, order): Legendre coefficients of the place, and
    # of the mass per unit of u and v.
    places: FloatArray = field(init=False)
    heights: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        p, matrix = self.order, to_coefficients(self.order)
        weights = np.outer(*[gauss_legendre(p)[1]] * 2)
        places = self.points.reshape(-1, p, p, 3)
        object.__setattr__(
            self, "places", np.einsum("ai,bj,cijk->cabk", matrix, matrix, places, optimize=True)
        )
        heights = self.masses.reshape(-1, p, p) / weights
        object.__setattr__(
            self, "heights", np.einsum("ai,bj,cij->cab", matrix, matrix, heights, optimize=True)
        )

    def density(self, at: FloatArray) -> FloatArray:
        """Density at unit vectors, relative to uniform; NaN where no image is near."""
        from scipy.spatial import KDTree

        tree, starts = KDTree(self.points), range(0, len(at), _BLOCK)
        blocks = [self._density(tree, at[start : start + _BLOCK]) for start in starts]
        return np.concatenate([np.zeros(0), *blocks])

    def _density(self, tree: KDTree, at: FloatArray) -> FloatArray:
        near = tree.query(at, min(_NEAREST, len(self.points)))[1].reshape(len(at), -1)
        cells, inside = near // self.order**2, near % self.order**2
        values, excess = np.zeros(len(at)), np.full(len(at), np.inf)
        for rank in range(near.shape[1]):
            new = (cells[:, rank, None] != cells[:, :rank]).all(axis=1) & (excess > 0.0)
            which = np.flatnonzero(new)
            if len(which) == 0:
                continue
            places, beyond = self._in_cells(at[which], cells[which, rank], inside[which, rank])
            better = beyond < excess[which]
            values[which[better]], excess[which[better]] = places[better], beyond[better]
        values[excess > _BEYOND] = np.nan
        return values

    def _in_cells(
        self, at: FloatArray, cells: IntArray, nodes: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Density of cells at points, and how far outside the cells their u or v is."""
        p = self.order
        axis = gauss_legendre(p)[0]
        u, v = axis[nodes // p], axis[nodes % p]
        places = self.places[cells]
        for _ in range(_NEWTON):
            x, along_u, along_v = _place_and_slopes(places, u, v)
            # Tangential part of the residual in the basis x_u, x_v.
            miss, normal = at - x, np.cross(along_u, along_v)
            square = np.maximum(np.einsum("ij,ij->i", normal, normal), 1 / _LARGEST)
            du = np.einsum("ij,ij->i", np.cross(miss, along_v), normal) / square
            dv = np.einsum("ij,ij->i", np.cross(along_u, miss), normal) / square
            u = np.clip(u + np.clip(du, -0.5, 0.5), -1.2, 1.2)
            v = np.clip(v + np.clip(dv, -0.5, 0.5), -1.2, 1.2)
        x, along_u, along_v = _place_and_slopes(places, u, v)
        normal = np.cross(along_u, along_v)
        area = np.sqrt(np.einsum("ij,ij->i", normal, normal)) / np.pi
        height = np.einsum(
            "ia,iab,ib->i", _polynomials(u, p), self.heights[cells], _polynomials(v, p)
        )
        beyond = np.maximum(np.maximum(np.abs(u), np.abs(v)) - 1.0, 0.0)
        beyond[np.maximum(np.abs(du), np.abs(dv)) > _BEYOND] = np.inf
        return _quotient(height, area), beyond


def _place_and_slopes(
    places: FloatArray, u: FloatArray, v: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Value and both derivatives of polynomials (m, p, p, 3) at (u, v), (m, 3) each."""
    p = places.shape[1]
    in_u, in_v = _polynomials(u, p), _polynomials(v, p)
    slope = _derivatives(np.eye(p))
    du, dv = in_u[:, :-1] @ slope.T, in_v[:, :-1] @ slope.T
    rows = np.einsum("ijkc,ik->ijc", places, in_v)
    return (
        np.einsum("ij,ijc->ic", in_u, rows),
        np.einsum("ij,ijc->ic", du, rows),
        np.einsum("ij,ijkc,ik->ic", in_u, places, dv, optimize=True),
    )


def _derivatives(coefficients: FloatArray) -> FloatArray:
    return np.asarray(np.polynomial.legendre.legder(coefficients, axis=1))


def _integrals(coefficients: FloatArray) -> FloatArray:
    return np.asarray(np.polynomial.legendre.legint(coefficients, lbnd=-1, axis=1))


def _polynomials(places: FloatArray, count: int) -> FloatArray:
    """P_0 ... P_{count - 1} at places, (m, count)."""
    return np.asarray(np.polynomial.legendre.legvander(places, count - 1))


def _unfolded(angles: FloatArray, masses: FloatArray) -> FloatArray:
    """Nearest increasing angles, weighted by mass: errors may have folded light panels."""
    if np.all(np.diff(angles) >= 0.0):
        return angles
    from scipy.optimize import isotonic_regression

    weights = np.maximum(masses, _NO_MASS * masses.max())
    return np.asarray(isotonic_regression(angles, weights=weights).x)


def _quotient(height: FloatArray, stretch: FloatArray) -> FloatArray:
    """Density from a mass and its share of the manifold, at most `_LARGEST`."""
    height = np.maximum(height, 0.0)
    return np.minimum(height / np.maximum(stretch, 1.0 / _LARGEST), _LARGEST)


_IMAGES: dict[str, Callable[[FloatArray, FloatArray, int], PanelImages | RectangleImages]] = {
    "circle": PanelImages,
    "sphere": RectangleImages,
}


def images_of_cells(
    space: Manifold, points: FloatArray, masses: FloatArray, order: int
) -> PanelImages | RectangleImages:
    """Images of label cells, from their nodes, `order` along each direction."""
    if space.has_rings:
        return AxialImages(points, masses, order, space.ambient)
    return of_space(_IMAGES, space, "label space")(points, masses, order)
