"""Where the clusters of a run are, at times spread evenly over its axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.figures.data.saved_times import Frame, frame, is_logarithmic, shown, spread_evenly
from meanfield.figures.data.sphere import marked_clusters
from meanfield.runs import Run

_TIMES = 60
# Distance of centres from the edge of a map within which marks may be on both sides.
_CLEAR = 0.2


@dataclass(frozen=True, eq=False)
class ClustersPicture:
    """Where clusters are, at up to 60 times spread evenly over the axis; times, masses (k,)."""

    frame: Frame
    times: FloatArray
    masses: FloatArray
    centres: FloatArray  # (k,) or (k, 3): angles, or unit vectors
    span: tuple[float, float]  # first time with clusters, and the last time
    middle: int = 0  # longitude in the middle of a map, in degrees: clusters lie off its edge


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
    first = times.min() if len(times) else run.time[saves[0]]
    middle = _middle(centres) if run.manifold.point_shape else 0
    span = float(first), float(run.time[saves[-1]])
    return ClustersPicture(frame(run), times, masses, centres, span, middle)


def _middle(centres: FloatArray) -> int:
    """Longitude in degrees whose opposite is far from all centres (k, 3): 0, if that will do."""
    candidates = np.arange(-180, 180, 30)  # meridians of the map
    seams = np.deg2rad(candidates) + np.pi
    # Distance from the plane of each meridian, on its side; poles are near to all.
    seam = np.stack([np.cos(seams), np.sin(seams)], axis=-1)
    along, across = centres[:, :2] @ seam.T, centres[:, :2] @ (seam[:, ::-1] * [1, -1]).T
    away = np.where(along > 0, np.abs(across), 1.0).min(axis=0, initial=1.0)
    return 0 if away[candidates == 0] > _CLEAR else int(candidates[away.argmax()])
