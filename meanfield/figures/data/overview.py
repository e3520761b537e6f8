"""Pictures that are of another kind on each manifold, and what happened in a run, at a glance."""

from __future__ import annotations

from dataclasses import dataclass

from meanfield.figures.data import density, sphere
from meanfield.figures.data.clusters import ClustersPicture, clusters_picture
from meanfield.figures.data.colours import Limits
from meanfield.figures.data.density import CircleFilm, DensityPicture, circle_film, circle_picture
from meanfield.figures.data.saved_times import Frame, frame
from meanfield.figures.data.series import (
    OverTime,
    SpectrumPicture,
    over_time,
    spectrum_picture,
)
from meanfield.figures.data.sphere import SphereFilm, SpherePicture, map_picture, sphere_film
from meanfield.figures.data.vectors import (
    VectorsFilm,
    VectorsOverview,
    vectors_film,
    vectors_overview,
)
from meanfield.runs import Run


@dataclass(frozen=True, eq=False)
class OverviewPicture:
    """Density, energy and order, and moments of a run."""

    frame: Frame
    # Clusters stand in for a density that was not kept.
    picture: DensityPicture | SpherePicture | ClustersPicture
    curves: OverTime
    spectrum: SpectrumPicture


def overview_picture(run: Run) -> OverviewPicture | VectorsOverview:
    """Picture of everything."""
    if not run.manifold.has_series:
        return vectors_overview(run)
    shows = sphere if run.manifold.point_shape else density
    complete = shows.missing(run) is None
    picture = density_picture(run) if complete else clusters_picture(run)
    return OverviewPicture(frame(run), picture, over_time(run), spectrum_picture(run))


def density_picture(run: Run, limits: Limits = None) -> DensityPicture | SpherePicture:
    """Density over time and angle; on the sphere, where time has no axis left, maps."""
    return (map_picture if run.manifold.point_shape else circle_picture)(run, limits)


def film_picture(run: Run) -> CircleFilm | SphereFilm | VectorsFilm:
    """Frames of a film."""
    if not run.manifold.has_series:
        return vectors_film(run)
    if run.manifold.has_rings:
        raise ValueError("axial measures have no film: plot the density over time, kind density.")
    return circle_film(run) if run.manifold.dimension == 1 else sphere_film(run)
