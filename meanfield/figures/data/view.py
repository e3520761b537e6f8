"""Data of an interactive view of a run: frames of densities and points, curves, events."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from meanfield.arrays import FloatArray, IntArray
from meanfield.figures.data.circle import wrapped
from meanfield.figures.data.density import cell_count, column, marks
from meanfield.figures.data.projections import PlateCarree
from meanfield.figures.data.saved_times import (
    Frame,
    atoms_at,
    colour_range,
    film_times,
    frame,
    spread_evenly,
)
from meanfield.figures.data.series import over_time
from meanfield.figures.data.sphere import densest_place, pixels, values_at, visible_coefficients
from meanfield.figures.data.tokens import MOST_DRAWN, token_paths, tokens_of
from meanfield.figures.data.vectors import cosine_shares, in_leading_axes, sizes_picture
from meanfield.measures import Measure
from meanfield.runs import Run

GLOBE, RING, STRIP, CLOUD = "globe", "ring", "strip", "cloud"
"""The sphere; the circle; polar angles of axial measures; tokens in other dimensions."""

# Most frames, and rows of a globe; they keep pages below 1.5 MB.
_FRAMES = {GLOBE: 60, RING: 400, STRIP: 400, CLOUD: 120}
_FEWEST_ROWS, _MOST_ROWS = 48, 128
_FOLLOWED, _MOST_EVENTS, _MOST_PLACES = 60, 200, 5000
# A smaller change of a curve is rounding; a view opens after this share of its path.
_CHANGE, _COVERED = 1e-9, 0.75
# Longitude and latitude in front if no densest place is known.
_FRONT = (0.6, 0.35)


@dataclass(frozen=True, eq=False)
class ViewPicture:
    """A run, frame by frame."""

    frame: Frame  # title, facts, and the times that curves are given at
    shape: str  # GLOBE, RING, STRIP or CLOUD
    times: FloatArray  # (frames,): in the unit of the frame
    # (frames, rows, columns): densities. For a globe: at centres of equal cells of latitude, from
    # the south, and longitude, from -pi. For rings and strips: one row of mean densities in equal
    # cells of the angle from -pi, or of the polar angle from 0. Empty for a cloud.
    values: FloatArray
    colours: tuple[float, float]  # lowest and highest density that have a colour of their own
    # Tokens or atoms of each frame: unit vectors on a globe, angles on a ring, coordinates on three
    # principal axes in a cloud.
    points: tuple[FloatArray, ...]
    masses: tuple[FloatArray | None, ...]  # of atoms; None for tokens of equal mass
    # (frames, bins): density of the cosines of pairs, 1 for an even spread over [-1, 1]; NaN for
    # unknown frames. Empty if no frame is known, and for rings and strips.
    shares: FloatArray
    curves: dict[str, FloatArray]  # at the times of the frame, by name
    events: tuple[tuple[float, str], ...]  # time and text
    # Longitude and latitude that face the viewer first.
    front: tuple[float, float] = _FRONT
    notes: tuple[str, ...] = ()
    start: int = 0  # frame that a view opens on


def view_picture(run: Run, frames: int | None = None) -> ViewPicture:
    """Picture of a run with its states, at up to `frames` saved times."""
    shape = shape_of(run)
    saves = film_times(run, frames or _FRAMES[shape])
    frames_data = _DATA_OF[shape](run, saves)
    notes = list(frames_data.notes)
    shares = np.zeros((len(saves), 0))
    if shape in (GLOBE, CLOUD):
        cosines = cosine_shares(run, saves)
        shares = shares if np.isnan(cosines).all() else cosines * cosines.shape[1]
    if len(frames_data.points[0]) and not isinstance(run.measures[saves[0]], Measure):
        notes.append("dots follow the flow")
    if any(mass is not None for mass in frames_data.masses):
        notes.append("discs: atoms, areas as masses")
    curves, of_energy = _curves(run)
    notes += of_energy
    events = run.events_in(run.unit)
    if len(events) > _MOST_EVENTS:
        notes.append(f"first {_MOST_EVENTS} of {len(events)} events")
    around = frame(run)
    if len(around.times) > _MOST_PLACES:
        notes.append(f"curves at {_MOST_PLACES} of {len(around.times)} saved times at most")
        some = spread_evenly(around.times, _MOST_PLACES, around.logarithmic)
        around = replace(around, times=around.times[some])
        curves = {name: values[some] for name, values in curves.items()}
    return ViewPicture(
        around,
        shape,
        run.time[saves],
        frames_data.values,
        colour_range(frames_data.values) if frames_data.values.size else (0.0, 1.0),
        tuple(frames_data.points),
        tuple(frames_data.masses),
        shares,
        curves,
        tuple((event.time, _event_text(event.kind, event.text)) for event in events[:_MOST_EVENTS]),
        frames_data.front,
        tuple(notes),
        _opening_frame(around.times, curves, run.time[saves]),
    )


def _opening_frame(times: FloatArray, curves: dict[str, FloatArray], frames: FloatArray) -> int:
    """Frame at which the first changing curve has covered most of its path: clusters form."""
    for values in curves.values():
        path = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(np.nan_to_num(values))))])
        if path[-1] > _CHANGE:
            time = times[np.searchsorted(path, _COVERED * path[-1])]
            return int(np.abs(frames - time).argmin())
    return 0


@dataclass(frozen=True, eq=False)
class _ShapeData:
    """Parts of a `ViewPicture` that depend on the space."""

    values: FloatArray
    points: list[FloatArray]
    masses: list[FloatArray | None]
    front: tuple[float, float] = _FRONT
    notes: tuple[str, ...] = ()


def shape_of(run: Run) -> str:
    """Shape of the view of a run: GLOBE, RING, STRIP or CLOUD."""
    if not run.manifold.has_series:
        return CLOUD
    if run.manifold.has_rings:
        return STRIP
    return GLOBE if run.manifold.point_shape else RING


def _on_globe(run: Run, saves: IntArray) -> _ShapeData:
    """Densities, tokens or atoms; the densest place of the last frame is in front."""
    tokens, first = tokens_of(run), run.measures[saves[0]]
    x, y, z = densest_place(run, int(saves[-1]))
    return _ShapeData(
        _globe_values(run, saves),
        [tokens[i] for i in saves],
        [_masses(run, int(i), len(tokens[i])) for i in saves],
        (float(np.arctan2(y, x)), float(np.clip(np.arcsin(np.clip(z, -1.0, 1.0)), -1.0, 1.0))),
        ("colours: points smoothed by the heat kernel",)
        if isinstance(first, Measure) and not first.cell_order
        else (),
    )


def _globe_values(run: Run, saves: IntArray) -> FloatArray:
    """Densities at the frames; the number of rows resolves their degree."""
    coefficients = [
        visible_coefficients(each) for i in saves if (each := run.measures[i]) is not None
    ]
    degree = max(each.shape[-1] for each in coefficients) - 1
    rows = int(np.clip(2 * (degree + 1), _FEWEST_ROWS, _MOST_ROWS))
    points = pixels(PlateCarree(), 2 * rows)
    return np.array([values_at(run.manifold, each, points) for each in coefficients])


def _in_cloud(run: Run, saves: IntArray) -> _ShapeData:
    points, share = in_leading_axes(run, saves, 3, MOST_DRAWN)
    masses = [_masses(run, int(i), len(x)) for i, x in zip(saves, points, strict=True)]
    axes = (f"three leading principal axes, {share:.0%} of the mean square",)
    none = np.zeros((len(saves), 0, 0))
    return _ShapeData(none, points, masses, notes=axes if run.manifold.ambient > 3 else ())


def _on_strip(run: Run, saves: IntArray) -> _ShapeData:
    return _ShapeData(_cells(run, saves), [np.zeros((0, 1))] * len(saves), [None] * len(saves))


def _masses(run: Run, index: int, count: int) -> FloatArray | None:
    """Masses of the points that are drawn, if these are all atoms; else None."""
    atoms = atoms_at(run, index)
    return None if atoms is None or len(atoms.points) != count else atoms.mass


def _on_ring(run: Run, saves: IntArray) -> _ShapeData:
    """Densities, and angles in [-pi, pi] of tokens, or of atoms with their masses."""
    first = run.measures[saves[0]]
    points_move = isinstance(first, Measure) and not first.cell_order
    paths = token_paths(run, MOST_DRAWN if points_move else _FOLLOWED)[1]
    points: list[FloatArray] = []
    masses: list[FloatArray | None] = []
    for i in saves:
        angles, mass = (paths[i], None) if paths.size and i < len(paths) else marks(run, int(i))
        points.append(wrapped(angles)[:, None])
        masses.append(mass)
    return _ShapeData(_cells(run, saves), points, masses)


def _cells(run: Run, saves: IntArray) -> FloatArray:
    """Mean densities in equal cells of the angle, one row a frame."""
    count = cell_count(run, saves)
    return np.array([[np.maximum(column(run, int(i), count), 0.0)] for i in saves])


_DATA_OF = {GLOBE: _on_globe, RING: _on_ring, STRIP: _on_strip, CLOUD: _in_cloud}


def _curves(run: Run) -> tuple[dict[str, FloatArray], list[str]]:
    """Energy, order parameter and cluster counts, or lengths of tokens in R^d; and notes."""
    if not run.manifold.is_sphere:
        lengths = sizes_picture(run).lengths
        names = ("shortest token", "median length", "longest token")
        return dict(zip(names, lengths.T, strict=True)), []
    both = over_time(run)
    curves, notes = {"order parameter": both.order.order}, []
    if np.isfinite(both.energy.energy).any():
        curves = {"energy": both.energy.energy} | curves
        whole = "uniform's" if both.energy.repulsive else "one cluster's"
        notes.append(f"energy as a share of {whole}")
    if both.energy.count is not None:
        curves["clusters"] = both.energy.count
    return curves, notes


def _event_text(kind: str, text: str) -> str:
    return f"{kind}: {text}" if text else kind
