"""Where the clusters of a run are, at times spread evenly over its axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.pictures.saved_times import Frame, frame, is_logarithmic, shown, spread_evenly
from meanfield.pictures.sphere import marked_clusters
from meanfield.runs import Run

_TIMES = 60


@dataclass(frozen=True, eq=False)
class ClustersPicture:
    """Where clusters are, at up to 60 times spread evenly over the axis.

    Attributes
    ----------
    frame : Frame
        Given.
    times, masses : ndarray, shape (k,)
        Given. Of each cluster at each time.
    centres : ndarray, shape (k,) or (k, 3)
        Given. Angles, or unit vectors.
    span : (float, float)
        Given. First and last of the times that were looked at.
    """

    frame: Frame
    times: FloatArray
    masses: FloatArray
    centres: FloatArray
    span: tuple[float, float]


def clusters_picture(run: Run) -> ClustersPicture:
    """Picture of the clusters that have separated; on the sphere of those above the rest."""
    kept = shown(run)
    kept = kept[spread_evenly(run.time[kept], _TIMES, is_logarithmic(run.time))]
    if not run.manifold.point_shape:
        centre = run.observables["clusters/centre"][kept]
        mass = run.observables["clusters/mass"][kept]
        found = np.isfinite(centre) & np.isfinite(run.cluster_counts()[kept])[:, None]
        times = np.broadcast_to(run.time[kept][:, None], centre.shape)
        times, masses, centres = times[found], mass[found], centre[found]
    else:
        marked = [marked_clusters(run, int(i)) for i in kept]
        centres = np.concatenate([centre for centre, _ in marked])
        masses = np.concatenate([mass for _, mass in marked])
        times = np.repeat(run.time[kept], [len(mass) for _, mass in marked])
    span = float(run.time[kept[0]]), float(run.time[kept[-1]])
    return ClustersPicture(frame(run), times, masses, centres, span)
