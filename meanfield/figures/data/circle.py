"""Mean density in equal cells of the circle, for densities, characteristics and points.

    mean of e^{ik theta} over a cell of width h = sinc(k h / 2) e^{ik centre}

Axial measures have cells of the polar angle in [0, pi], and the density is relative to an even
spread over the angle. Means keep the mass of a peak that is narrower than a cell; samples do not.
"""

from __future__ import annotations

import numpy as np
import scipy.fft

from meanfield.arrays import FloatArray
from meanfield.measures import Density, Measure
from meanfield.spaces.axial.measure import cumulative
from meanfield.spaces.carried_density import PanelImages
from meanfield.spaces.manifold import Geometry


def cell_edges(count: int, lowest: float = -np.pi) -> FloatArray:
    """Edges of `count` equal cells of [-pi, pi], or of [0, pi], shape (count + 1,)."""
    return np.linspace(lowest, np.pi, count + 1)


def lowest_angle(space: Geometry) -> float:
    """Lowest angle of a space: 0 for polar angles, else -pi."""
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
    # The transform is long enough for the degree; one of `refinement` nodes is a centre.
    refinement = 2 * (measure.max_degree + 1) // count + 1
    nodal = scipy.fft.irfft(means, refinement * count, norm="forward")
    return np.asarray(nodal[::refinement])


def _polar_means(measure: Density | Measure, count: int) -> FloatArray:
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
    """Angles (count,) in [-pi, pi] below which the mass is (i + 1/2) / count; points for points."""
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
