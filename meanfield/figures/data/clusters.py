"""Where the clusters of a run are, at times spread evenly over its axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.figures.data.saved_times import Frame, frame, is_logarithmic, shown, spread_evenly
from meanfield.figures.data.sphere import marked_clusters
from meanfield.runs import Run

_TIMES = 60


@dataclass(frozen=True, eq=False)
class ClustersPicture:
    """Where clusters are, at up to 60 times spread evenly over the axis.

    times, masses (k,): of each cluster at each time.
    """

    frame: Frame
    times: FloatArray
    masses: FloatArray
    centres: FloatArray  # (k,) or (k, 3): angles, or unit vectors
    span: tuple[float, float]  # first and last of the times that were looked at


def clusters_picture(run: Run) -> ClustersPicture:
    """Picture of the clusters that have separated; on the sphere of those above the rest."""
    saves = shown(run)
    saves = saves[spread_evenly(run.time[saves], _TIMES, is_logarithmic(run.time))]
    if not run.manifold.point_shape:
        centre = run.observables["clusters/centre"][saves]
        mass = run.observables["clusters/mass"][saves]
        present = np.isfinite(centre) & np.isfinite(run.cluster_counts()[saves])[:, None]
        times = np.broadcast_to(run.time[saves][:, None], centre.shape)
        times, masses, centres = times[present], mass[present], centre[present]
    else:
        marked = [marked_clusters(run, int(i)) for i in saves]
        centres = np.concatenate([centre for centre, _ in marked])
        masses = np.concatenate([mass for _, mass in marked])
        times = np.repeat(run.time[saves], [len(mass) for _, mass in marked])
    span = float(run.time[saves[0]]), float(run.time[saves[-1]])
    return ClustersPicture(frame(run), times, masses, centres, span)
