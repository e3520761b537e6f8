"""Projections of the sphere to a plane, each with its inverse.

    Mollweide      x = (2 sqrt(2) / pi) lon cos(t),  y = sqrt(2) sin(t),
                   2 t + sin(2 t) = pi sin(lat);     equal areas
    plate carree   x = lon,  y = lat;                a rectangle, for tables
    orthographic   x = <e_1, p>,  y = <e_2, p>,      <e_3, p> > 0;   a globe from afar

lon = atan2(y, x) and lat = asin(z) of the unit vector p = (x, y, z).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from meanfield.arrays import FloatArray

_TABLE = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 4097)
_TABLE_SINES = (2.0 * _TABLE + np.sin(2.0 * _TABLE)) / np.pi


class Projection(Protocol):
    """Projection of the sphere to an ellipse or a rectangle around 0."""

    @property
    def half_axes(self) -> tuple[float, float]:
        """Half the width and half the height of the picture."""
        ...

    def to_plane(self, points: FloatArray) -> FloatArray:
        """Places (..., 2) of unit vectors (..., 3); NaN where they are hidden."""
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
        longitude = np.arctan2(points[..., 1], points[..., 0])
        return np.stack([longitude, np.arcsin(np.clip(points[..., 2], -1.0, 1.0))], axis=-1)

    def to_sphere(self, x: FloatArray, y: FloatArray) -> FloatArray:
        return directions(x, y)


@dataclass(frozen=True, eq=False)
class Orthographic:
    """The half of the sphere that faces a viewer far away; north is up."""

    towards: FloatArray  # (3,): unit vector in the middle of the picture

    @property
    def half_axes(self) -> tuple[float, float]:
        return 1.0, 1.0

    @property
    def frame(self) -> FloatArray:
        """Orthonormal rows e_1 (right), e_2 (up), e_3 (to the viewer), right-handed."""
        # Above a pole, longitude 0 is up.
        pole = abs(self.towards[2]) > 1.0 - 1e-12
        north = np.array([1.0, 0.0, 0.0]) if pole else np.array([0.0, 0.0, 1.0])
        right = np.cross(north, self.towards)
        right /= np.sqrt(right @ right)
        return np.array([right, np.cross(self.towards, right), self.towards])

    def to_plane(self, points: FloatArray) -> FloatArray:
        turned = points @ self.frame.T
        return np.where(turned[..., 2:] >= 0.0, turned[..., :2], np.nan)

    def to_sphere(self, x: FloatArray, y: FloatArray) -> FloatArray:
        length = np.maximum(np.sqrt(x * x + y * y), 1.0)
        x, y = x / length, y / length
        depth = np.sqrt(np.maximum(1.0 - x * x - y * y, 0.0))
        return np.asarray(np.stack([x, y, depth], axis=-1) @ self.frame)


def directions(longitude: ArrayLike, latitude: ArrayLike) -> FloatArray:
    """Unit vectors (..., 3) of longitudes and latitudes in radians."""
    level, turn = np.cos(latitude), np.broadcast_to(longitude, np.shape(latitude))
    return np.stack([level * np.cos(turn), level * np.sin(turn), np.sin(latitude)], axis=-1)
