"""Mean density in equal cells of the circle, for densities, characteristics and points.

Of axial measures in cells of the polar angle: that of its law, relative to an even spread.

    mean of e^{ik theta} over a cell of width h = sinc(k h / 2) e^{ik centre}

Means, not samples: a peak narrower than a cell is seen with the mass it has.

Pictures of the sphere on a plane, each with its inverse.

    Mollweide      x = (2 sqrt(2) / pi) lon cos(t),  y = sqrt(2) sin(t),
                   2 t + sin(2 t) = pi sin(lat);     equal areas
    plate carree   x = lon,  y = lat;   a rectangle, how tables of the sphere are kept
    orthographic   x = <e_1, p>,  y = <e_2, p>,  seen from <e_3, p> > 0;   a globe from afar

lon = atan2(y, x) and lat = asin(z) of the unit vector p = (x, y, z).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.fft
from numpy.typing import ArrayLike

from meanfield.arrays import FloatArray
from meanfield.measures import Density, Measure
from meanfield.spaces.axial.measure import cumulative
from meanfield.spaces.carried_density import PanelImages
from meanfield.spaces.manifold import Geometry


def cell_edges(count: int, lowest: float = -np.pi) -> FloatArray:
    """Edges of `count` equal cells of [-pi, pi], or of [0, pi], shape (count + 1,)."""
    return np.linspace(lowest, np.pi, count + 1)


def lowest_angle(space: Geometry) -> float:
    """Where angles of a space begin: polar ones at 0."""
    return 0.0 if space.has_rings else -np.pi


def cell_means(measure: Density | Measure, count: int) -> FloatArray:
    """Mean density relative to uniform in the cells between `cell_edges`, (count,); mean 1."""
    if measure.manifold.has_rings:
        return _polar_means(measure, count)
    if isinstance(measure, Measure) and measure.cell_order:
        images = measure.cells
        assert isinstance(images, PanelImages)  # on the circle
        return np.asarray(np.diff(images.mass_below(cell_edges(count))) * count)
    if isinstance(measure, Measure):
        cell = np.floor((measure.points / (2 * np.pi) + 0.5) * count).astype(np.int64) % count
        return np.asarray(np.bincount(cell, measure.mass, minlength=count) * count)
    k = np.arange(measure.max_degree + 1)
    first_centre = -np.pi + np.pi / count
    means = measure.coefficients * np.sinc(k / count) * np.exp(1j * k * first_centre)
    # A transform long enough for the degree; every so manieth of its nodes is a centre.
    refinement = 2 * (measure.max_degree + 1) // count + 1
    nodal = scipy.fft.irfft(means, refinement * count, norm="forward")
    return np.asarray(nodal[::refinement])


def _polar_means(measure: Density | Measure, count: int) -> FloatArray:
    """Mean density of the law of the polar angle in cells of [0, pi]."""
    edges = cell_edges(count, 0.0)
    if isinstance(measure, Density):
        below = cumulative(measure.manifold.ambient, measure.coefficients, edges)
        return np.asarray(np.maximum(np.diff(below), 0.0) * count)
    if measure.cell_order:
        images = measure.cells
        assert isinstance(images, PanelImages)
        return np.asarray(np.diff(images.mass_below(edges)) * count)
    cell = np.minimum(measure.points / np.pi * count, count - 1).astype(np.int64)
    return np.asarray(np.bincount(cell, measure.mass, minlength=count) * count)


def quantiles(measure: Density | Measure, count: int) -> FloatArray:
    """Angles in [-pi, pi] of mass (i + 1/2) / count, (count,): of points a choice among them."""
    levels = (np.arange(count) + 0.5) / count
    if isinstance(measure, Measure):
        angles = wrapped(measure.points)
        order = np.argsort(angles, kind="stable")
        mass = np.cumsum(measure.mass[order])
        return angles[order][np.minimum(np.searchsorted(mass, levels), len(order) - 1)]
    cells = max(4096, 8 * measure.max_degree)
    mass = np.concatenate([[0.0], np.cumsum(cell_means(measure, cells))]) / cells
    edges = cell_edges(cells, lowest_angle(measure.manifold))
    return np.asarray(np.interp(levels, mass, edges))


def wrapped(angles: FloatArray) -> FloatArray:
    """Angles in [-pi, pi]."""
    return np.asarray((angles + np.pi) % (2 * np.pi) - np.pi)


_TABLE = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 4097)
_TABLE_SINES = (2.0 * _TABLE + np.sin(2.0 * _TABLE)) / np.pi


class Projection(Protocol):
    """A picture of the sphere inside an ellipse around 0, or a rectangle."""

    @property
    def half_axes(self) -> tuple[float, float]:
        """Half the width and half the height of the ellipse."""
        ...

    def to_plane(self, points: FloatArray) -> FloatArray:
        """Places (..., 2) of unit vectors (..., 3); NaN where they are not seen."""
        ...

    def to_sphere(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Unit vectors (..., 3) at places; places outside are moved to the edge."""
        ...


@dataclass(frozen=True)
class Mollweide:
    """The whole sphere, equal areas; longitude 0 in the middle, east to the right."""

    @property
    def half_axes(self) -> tuple[float, float]:
        return 2.0 * np.sqrt(2.0), np.sqrt(2.0)

    def to_plane(self, points: FloatArray) -> FloatArray:
        """Places of unit vectors, to 1e-6: t comes from a table."""
        longitude = np.arctan2(points[..., 1], points[..., 0])
        t = np.interp(points[..., 2], _TABLE_SINES, _TABLE)
        wide, high = self.half_axes
        return np.stack([wide * longitude / np.pi * np.cos(t), high * np.sin(t)], axis=-1)

    def to_sphere(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Unit vectors at places of the ellipse."""
        wide, high = self.half_axes
        t = np.arcsin(np.clip(y / high, -1.0, 1.0))
        z = np.clip((2.0 * t + np.sin(2.0 * t)) / np.pi, -1.0, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            longitude = np.nan_to_num(np.clip(np.pi * x / (wide * np.cos(t)), -np.pi, np.pi))
        radius = np.sqrt(1.0 - z * z)
        return np.stack([radius * np.cos(longitude), radius * np.sin(longitude), z], axis=-1)


@dataclass(frozen=True)
class PlateCarree:
    """Longitude to the right and latitude up, in radians."""

    @property
    def half_axes(self) -> tuple[float, float]:
        return np.pi, 0.5 * np.pi

    def to_plane(self, points: FloatArray) -> FloatArray:
        """Places of unit vectors."""
        longitude = np.arctan2(points[..., 1], points[..., 0])
        return np.stack([longitude, np.arcsin(np.clip(points[..., 2], -1.0, 1.0))], axis=-1)

    def to_sphere(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Unit vectors at places of the rectangle."""
        return directions(x, y)


@dataclass(frozen=True, eq=False)
class Orthographic:
    """The half of the sphere that is seen from far away in a direction; north is up."""

    towards: FloatArray  # (3,): point in the middle, a unit vector

    @property
    def half_axes(self) -> tuple[float, float]:
        return 1.0, 1.0

    @property
    def frame(self) -> FloatArray:
        """Orthonormal rows e_1 (right), e_2 (up), e_3 (to the viewer), right-handed."""
        # Seen from a pole, longitude 0 is up.
        pole = abs(self.towards[2]) > 1.0 - 1e-12
        north = np.array([1.0, 0.0, 0.0]) if pole else np.array([0.0, 0.0, 1.0])
        right = np.cross(north, self.towards)
        right /= np.sqrt(right @ right)
        return np.array([right, np.cross(self.towards, right), self.towards])

    def to_plane(self, points: FloatArray) -> FloatArray:
        """Places of unit vectors; NaN behind the globe."""
        turned = points @ self.frame.T
        return np.where(turned[..., 2:] >= 0.0, turned[..., :2], np.nan)

    def to_sphere(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Unit vectors at places of the disc."""
        length = np.maximum(np.sqrt(x * x + y * y), 1.0)
        x, y = x / length, y / length
        depth = np.sqrt(np.maximum(1.0 - x * x - y * y, 0.0))
        return np.asarray(np.stack([x, y, depth], axis=-1) @ self.frame)


def directions(longitude: ArrayLike, latitude: ArrayLike) -> FloatArray:
    """Unit vectors (..., 3) of longitudes and latitudes in radians."""
    level, turn = np.cos(latitude), np.broadcast_to(longitude, np.shape(latitude))
    return np.stack([level * np.cos(turn), level * np.sin(turn), np.sin(latitude)], axis=-1)
