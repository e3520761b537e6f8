"""A single measure: its density, or its points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.measures import Density, Measure
from meanfield.pictures.circle import cell_means
from meanfield.pictures.colours import colour_range
from meanfield.pictures.projections import Mollweide
from meanfield.pictures.sphere import values_on
from meanfield.pictures.tokens import some_tokens
from meanfield.pictures.vectors import principal_axes

# Points up to which each is drawn with its mass; cells of the circle, about so many tokens each.
_FEW, _CELLS, _TOKENS_PER_CELL = 60, 720, 10
_PIXELS = 900


@dataclass(frozen=True, eq=False)
class MeasurePicture:
    """What is drawn of a measure.

    Attributes
    ----------
    name : str
        Given. What it is.
    values : ndarray, shape (cells,) or (height, width)
        Given. Mean density in equal cells of the circle from -pi on, or in the pixels of a map.
    colours : (float, float)
        Given. Densities at the ends of the colours of a map.
    points, masses : ndarray
        Given. Of a few points on the circle; on a map, or two principal axes, places (n, 2) of
        dots.
    smoothed : bool
        Given. Whether the density is that of points, smoothed.
    """

    name: str
    values: FloatArray
    colours: tuple[float, float]
    points: FloatArray
    masses: FloatArray
    smoothed: bool


def measure_picture(measure: Density | Measure, width: float | None = None) -> MeasurePicture:
    """Picture of a measure, smoothed over an angle if one is given."""
    shown = measure if width is None else measure.smoothed(width)
    if isinstance(measure, Measure) and measure.manifold.family == "vectors":
        vectors = some_tokens(measure)
        places = vectors
        if vectors.shape[1] != 2:
            places = vectors @ principal_axes(vectors)[0].T
        return MeasurePicture(repr(measure), np.zeros(0), (0.0, 1.0), places, np.zeros(0), False)
    bare = isinstance(measure, Measure) and not measure.cell_order
    points, masses = np.zeros((0, 2)), np.zeros(0)
    if measure.manifold.point_shape:
        values = values_on(shown, Mollweide(), _PIXELS)
        if bare and isinstance(measure, Measure):
            points = Mollweide().to_plane(some_tokens(measure))
        return MeasurePicture(repr(measure), values, colour_range(values), points, masses, bare)
    count = _CELLS
    if isinstance(shown, Measure) and bare:
        few = len(shown.points) <= _FEW
        points, masses = (shown.points, shown.mass) if few else (points, masses)
        count = 2 * int(np.clip(len(shown.points) / _TOKENS_PER_CELL, 12, _CELLS) // 2)
    values = cell_means(shown, count)
    return MeasurePicture(repr(measure), values, (0.0, 1.0), points, masses, bare)
