"""Kinds "density" and "overview", with panels of other kinds; and the data of films."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from meanfield.figures.data import density as circle_data
from meanfield.figures.data import series
from meanfield.figures.data import sphere as sphere_data
from meanfield.figures.data.density import CircleFilm, DensityPicture, circle_film, circle_picture
from meanfield.figures.data.saved_times import Frame, Limits, frame
from meanfield.figures.data.series import OverTime, SpectrumPicture, spectrum_picture
from meanfield.figures.data.sphere import SphereFilm, SpherePicture, map_picture, sphere_film
from meanfield.figures.data.vectors import (
    VectorsFilm,
    VectorsOverview,
    vectors_film,
    vectors_overview,
)
from meanfield.figures.draw import clusters, density, over_time, sphere
from meanfield.figures.draw.axes import (
    FAINT,
    MUTED,
    add_growth_times,
    mark_hand_overs,
    set_time_axis,
    set_title,
)
from meanfield.figures.draw.clusters import ClustersPicture, clusters_picture
from meanfield.figures.draw.vectors import draw_vectors_overview
from meanfield.runs import Run


@dataclass(frozen=True, eq=False)
class OverviewPicture:
    """Density, energy and order, and moments of a run."""

    frame: Frame
    # Clusters replace a density that was not kept.
    picture: DensityPicture | SpherePicture | ClustersPicture
    curves: OverTime
    spectrum: SpectrumPicture


def overview_picture(run: Run) -> OverviewPicture | VectorsOverview:
    """Picture of the overview of a run."""
    if not run.manifold.has_series:
        return vectors_overview(run)
    shows = sphere_data if run.manifold.point_shape else circle_data
    complete = shows.missing(run) is None
    picture = density_picture(run) if complete else clusters_picture(run)
    return OverviewPicture(frame(run), picture, series.over_time(run), spectrum_picture(run))


def density_picture(run: Run, limits: Limits = None) -> DensityPicture | SpherePicture:
    """Density over time and angle; on the sphere, maps at a few times."""
    return (map_picture if run.manifold.point_shape else circle_picture)(run, limits)


def film_picture(run: Run) -> CircleFilm | SphereFilm | VectorsFilm:
    """Data of a film of a run."""
    if not run.manifold.has_series:
        return vectors_film(run)
    if run.manifold.has_rings:
        raise ValueError("axial measures have no film: plot the density over time, kind density.")
    return circle_film(run) if run.manifold.dimension == 1 else sphere_film(run)


_HEIGHTS = (3.3, 1.3, 2.0)


def draw_density(picture: DensityPicture | SpherePicture, axes: Axes) -> None:
    """Draw the density of a run on the circle or the sphere."""
    if isinstance(picture, DensityPicture):
        density.draw_density(picture, axes)
    else:
        sphere.draw_map(picture, axes)


def draw_overview(picture: OverviewPicture | VectorsOverview, figure: Figure) -> None:
    """Draw the overview on an empty figure."""
    if isinstance(picture, VectorsOverview):
        draw_vectors_overview(picture, figure)
        return
    heights = [height for height, drawn in zip(_HEIGHTS, _drawn(picture), strict=True) if drawn]
    panels = figure.subplots(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
    first, *below = panels
    frame, part = picture.frame, picture.picture
    set_title(first, frame)
    if isinstance(part, DensityPicture):
        density.on_axes(part, first)
    elif isinstance(part, SpherePicture):
        sphere.maps_on_axes(part, first)
    else:
        clusters.on_axes(part, first)
    _, curves, moments = _drawn(picture)
    if curves:
        over_time.energy_and_order(picture.curves, below[0], _HEIGHTS[1])
    if moments:
        over_time.spectrum_on_axes(picture.spectrum, below[-1], height=_HEIGHTS[2])
    with_time = [first, *below] if frame.has_angles else below
    for panel in with_time:
        set_time_axis(panel, frame, label=panel is with_time[-1])
        panel.tick_params(labelbottom=panel is with_time[-1])
    for panel in with_time[:1]:
        add_growth_times(panel, frame)
    for panel in with_time:
        colour = FAINT if panel is first and isinstance(part, DensityPicture) else MUTED
        mark_hand_overs(panel, frame, names=panel is with_time[0], colour=colour)


def _drawn(picture: OverviewPicture) -> tuple[bool, bool, bool]:
    """Which of the three panels, from above, have content."""
    curves = not over_time.is_flat(picture.curves)
    return True, curves, over_time.has_moments(picture.spectrum)


def height_share(picture: OverviewPicture) -> float:
    """Height of the panels that are drawn, as a share of the height of all."""
    return float(np.dot(_HEIGHTS, _drawn(picture)) / sum(_HEIGHTS))
