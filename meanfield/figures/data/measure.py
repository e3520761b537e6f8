"""A single measure: its density, or its points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.figures.data.circle import cell_means
from meanfield.figures.data.colours import colour_range
from meanfield.figures.data.projections import Mollweide
from meanfield.figures.data.sphere import values_on
from meanfield.figures.data.tokens import some_tokens
from meanfield.figures.data.vectors import principal_axes
from meanfield.measures import Density, Measure

# Points up to which each is drawn with its mass; cells of the circle, about so many tokens each.
_FEW, _CELLS, _TOKENS_PER_CELL = 60, 720, 10
_PIXELS = 900


@dataclass(frozen=True, eq=False)
class MeasurePicture:
    """Picture of a measure."""

    name: str  # what it is
    # (cells,) or (height, width): mean density in equal cells of the circle from -pi on, or in the
    # pixels of a map.
    values: FloatArray
    colours: tuple[float, float]  # densities at the ends of the colours of a map
    points: FloatArray
    masses: FloatArray
    smoothed: bool  # whether the density is that of points, smoothed


def measure_picture(measure: Density | Measure, width: float | None = None) -> MeasurePicture:
    """Picture of a measure, smoothed over an angle if one is given."""
    smoothed = measure if width is None else measure.smoothed(width)
    if isinstance(measure, Measure) and not measure.manifold.has_series:
        vectors = some_tokens(measure)
        places = vectors
        if vectors.shape[1] != 2:
            places = vectors @ principal_axes(vectors)[0].T
        return MeasurePicture(repr(measure), np.zeros(0), (0.0, 1.0), places, np.zeros(0), False)
    bare = isinstance(measure, Measure) and not measure.cell_order
    points, masses = np.zeros((0, 2)), np.zeros(0)
    if measure.manifold.point_shape:
        values = values_on(smoothed, Mollweide(), _PIXELS)
        if bare and isinstance(measure, Measure):
            points = Mollweide().to_plane(some_tokens(measure))
        return MeasurePicture(repr(measure), values, colour_range(values), points, masses, bare)
    count = _CELLS
    if isinstance(smoothed, Measure) and bare:
        few = len(smoothed.points) <= _FEW
        points, masses = (smoothed.points, smoothed.mass) if few else (points, masses)
        count = 2 * int(np.clip(len(smoothed.points) / _TOKENS_PER_CELL, 12, _CELLS) // 2)
    values = cell_means(smoothed, count)
    return MeasurePicture(repr(measure), values, (0.0, 1.0), points, masses, bare)
