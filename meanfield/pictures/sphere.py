"""How the sphere shows a measure: densities in pixels, clusters that rise above the rest.

The colours of points are those of their density smoothed by the heat kernel,

    f(x) = sum_l e^{-l (l + 1) s} sum_m m_lm Y_lm(x),     s = share of the sphere that it covers
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from meanfield.arrays import FloatArray, ModalArray
from meanfield.manifolds.manifold import laplacian_eigenvalues
from meanfield.measures import Density, Measure
from meanfield.pictures.projections import Mollweide, Projection, directions
from meanfield.pictures.saved_times import (
    is_logarithmic,
)
from meanfield.run import Run

# The heat kernel covers about this many tokens of a uniform measure, within these shares.
_TOKENS_COVERED = 5
_LEAST_SHARE, _LARGEST_SHARE = 5e-4, 0.005
# Degrees beyond which it has decayed to e^{-14}, 1e-6.
_DECAY = 14.0
# Pixels a row, where the highest density is looked for.
_SEARCH = 360
# A ring marks a cluster where the density is at least this.
_MARKED_DENSITY = 3.0
_MERIDIANS, _PARALLELS = np.deg2rad(np.arange(-180, 180, 30)), np.deg2rad(np.arange(-60, 61, 30))


def shown_coefficients(measure: Density | Measure) -> ModalArray:
    """Coefficients of the density whose colours stand for a measure on the sphere."""
    if isinstance(measure, Density):
        return measure.coefficients
    share = _TOKENS_COVERED * float(np.sum(measure.mass**2))
    share = float(np.clip(share, _LEAST_SHARE, _LARGEST_SHARE))
    degree = int(np.ceil(np.sqrt(_DECAY / share)))
    decay = np.exp(-share * laplacian_eigenvalues(2, degree))
    return measure.manifold.convolve(decay, measure.moments(degree))


def values_on(measure: Density | Measure, projection: Projection, width: int) -> FloatArray:
    """Density in the pixels of a picture, row by row from below, shape (height, width)."""
    points = pixels(projection, width)
    flat = np.ascontiguousarray(points.reshape(-1, 3))
    values = measure.manifold.evaluate(shown_coefficients(measure), flat)
    return np.asarray(values.reshape(points.shape[:2]))


def pixels(projection: Projection, width: int) -> FloatArray:
    """Unit vectors of the pixels of a picture, shape (height, width, 3)."""
    wide, high = projection.half_axes
    height = round(width * high / wide)
    x = wide * ((2 * np.arange(width) + 1) / width - 1)
    y = high * ((2 * np.arange(height) + 1) / height - 1)
    return projection.to_sphere(*np.meshgrid(x, y))


def graticule(projection: Projection) -> FloatArray:
    """Meridians and parallels every 30 degrees as one line, (n, 2), broken by NaN."""
    turn, rise = np.linspace(-np.pi, np.pi, 181), np.linspace(-1.0, 1.0, 91) * np.deg2rad(85)
    lines = [directions(longitude, rise) for longitude in _MERIDIANS]
    lines += [directions(turn, np.full(len(turn), latitude)) for latitude in _PARALLELS]
    gap = np.full((1, 2), np.nan)
    return np.concatenate([part for line in lines for part in (projection.to_plane(line), gap)])


def marked_clusters(run: Run, index: int) -> tuple[FloatArray, FloatArray]:
    """Centres (k, 3) and masses (k,) of the clusters that rise above the rest at a saved time."""
    centre = run.observables["clusters/centre"][index]
    mass = run.observables["clusters/mass"][index]
    found = np.isfinite(centre).all(axis=-1)
    centre, mass = np.ascontiguousarray(centre[found]), mass[found]
    measure = run.measures[index]
    if measure is None or not len(centre):
        return centre, mass
    height = run.manifold.evaluate(shown_coefficients(measure), centre)
    return centre[height >= _MARKED_DENSITY], mass[height >= _MARKED_DENSITY]


def densest_place(run: Run, index: int) -> FloatArray:
    """Centre of the heaviest marked cluster, else the place of highest density."""
    centre, _ = marked_clusters(run, index)
    measure = run.measures[index]
    if len(centre) or measure is None:
        return np.asarray(centre[0]) if len(centre) else np.array([1.0, 0.0, 0.0])
    projection = Mollweide()
    values = values_on(measure, projection, _SEARCH)
    return np.asarray(pixels(projection, _SEARCH).reshape(-1, 3)[np.argmax(values)])


def chosen_times(run: Run, count: int) -> NDArray[np.int64]:
    """Indices of up to `count` saved times with a state, first and last among them.

    Even in the mean of two clocks that run from 0 to 1, time and the change of the energy: a
    measure that rests is not drawn six times.
    """
    kept = np.array([i for i, measure in enumerate(run.measures) if measure is not None])
    clock = 0.5 * _clock(run.time[kept])
    if is_logarithmic(run.time):
        clock = 0.5 * _clock(np.log(np.maximum(run.time[kept], run.time[run.time > 0][0])))
    clock += 0.5 * _clock(np.nan_to_num(run.observables["energy"][kept]))
    targets = np.linspace(0.0, clock[-1], count) if count > 1 else clock[-1:]
    nearest = np.abs(clock - targets[:, None]).argmin(axis=1)
    return np.asarray(kept[np.unique(np.append(nearest[:-1], len(kept) - 1))])


def _clock(values: FloatArray) -> FloatArray:
    """Path that values have covered, as a share of the whole."""
    covered = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(values)))])
    return covered / covered[-1] if covered[-1] > 0 else covered
