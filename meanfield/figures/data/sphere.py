"""The density of a run on the sphere: in pixels of maps and globes, and as a film.

For points the colours show their density smoothed by the heat kernel,

    f(x) = sum_l e^{-l (l + 1) s} sum_m m_lm Y_lm(x),     s = share of the sphere that it covers
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from meanfield.arrays import FloatArray, ModalArray
from meanfield.figures.data.projections import Mollweide, Orthographic, Projection, directions
from meanfield.figures.data.saved_times import (
    Frame,
    Limits,
    atoms_at,
    colour_range,
    film_times,
    frame,
    is_logarithmic,
)
from meanfield.figures.data.series import OverTime, over_time
from meanfield.figures.data.tokens import tokens_of
from meanfield.measures import Density, Measure
from meanfield.runs import KEEP_STATES, Run
from meanfield.spaces.manifold import Manifold, laplacian_eigenvalues

# The heat kernel covers about this many tokens of a uniform measure; s is within these bounds.
_TOKENS_COVERED = 5
_LEAST_SHARE, _LARGEST_SHARE = 5e-4, 0.005
# Degrees end where the heat kernel has decayed to e^{-14}, 1e-6.
_DECAY = 14.0
# Width in pixels of the map on which the highest density is searched.
_SEARCH = 360
# A ring marks a cluster whose density is at least this.
_MARKED_DENSITY = 3.0
_MAPS, _MAP_PIXELS, _GLOBE_PIXELS = 6, 1200, 600
_FILM_GLOBE, _FILM_MAP = 400, 420  # pixels across
_TURN = np.deg2rad(1.2)  # per frame
_ELEVATION = np.deg2rad(20.0)
_SAMPLES = 12  # frames that determine the range of colours
_MERIDIANS, _PARALLELS = np.deg2rad(np.arange(-180, 180, 30)), np.deg2rad(np.arange(-60, 61, 30))


def visible_coefficients(measure: Density | Measure) -> ModalArray:
    """Coefficients of the density that is drawn for a measure: its own, or that of the points."""
    if isinstance(measure, Density):
        return measure.coefficients
    share = _TOKENS_COVERED * float(np.sum(measure.mass**2))
    share = float(np.clip(share, _LEAST_SHARE, _LARGEST_SHARE))
    degree = int(np.ceil(np.sqrt(_DECAY / share)))
    decay = np.exp(-share * laplacian_eigenvalues(2, degree))
    return measure.manifold.convolve(decay, measure.moments(degree))


def values_on(measure: Density | Measure, projection: Projection, width: int) -> FloatArray:
    """Density in the pixels of a picture, row by row from below, shape (height, width)."""
    return values_at(measure.manifold, visible_coefficients(measure), pixels(projection, width))


def values_at(space: Manifold, coefficients: ModalArray, points: FloatArray) -> FloatArray:
    """Density of coefficients at unit vectors (height, width, 3), shape (height, width)."""
    flat = np.ascontiguousarray(points.reshape(-1, 3))
    return np.asarray(space.evaluate(coefficients, flat).reshape(points.shape[:2]))


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
    """Centres (k, 3) and masses (k,) of the clusters at a saved time whose density is high."""
    centre = run.observables["clusters/centre"][index]
    mass = run.observables["clusters/mass"][index]
    present = np.isfinite(centre).all(axis=-1)
    centre, mass = np.ascontiguousarray(centre[present]), mass[present]
    measure = run.measures[index]
    if measure is None or not len(centre):
        return centre, mass
    height = run.manifold.evaluate(visible_coefficients(measure), centre)
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
    """Indices of up to `count` saved times with a state, even in the mean of two clocks.

    The clocks are time, and the change of the energy (of the moments without one).
    """
    saves = np.array([i for i, measure in enumerate(run.measures) if measure is not None])
    if len(saves) <= count:
        return saves
    clock = 0.5 * _clock(run.time[saves])
    if is_logarithmic(run.time):
        clock = 0.5 * _clock(np.log(np.maximum(run.time[saves], run.time[run.time > 0][0])))
    clock += 0.5 * _clock(_changing(run)[saves])
    targets = np.linspace(0.0, clock[-1], count) if count > 1 else clock[-1:]
    nearest = np.abs(clock - targets[:, None]).argmin(axis=1)
    return np.asarray(saves[np.unique(np.append(nearest[:-1], len(saves) - 1))])


def _changing(run: Run) -> FloatArray:
    """Energy at the saved times, else the sizes of the moments; they measure change of shape."""
    energy = run.observables.get("energy", np.full(len(run.time), np.nan))
    return energy if np.isfinite(energy).all() else run.sizes_by_degree()


def _clock(values: FloatArray) -> FloatArray:
    """Length of the path of values up to each time, as a share of the whole."""
    steps = np.diff(values, axis=0).reshape(len(values) - 1, -1)
    covered = np.concatenate([[0.0], np.cumsum(np.sqrt((steps * steps).sum(axis=1)))])
    return covered / covered[-1] if covered[-1] > 0 else covered


@dataclass(frozen=True, eq=False)
class SpherePanel:
    """Measure on the sphere in a projection, with tokens and marked clusters."""

    time: float  # in the unit of the run
    projection: Projection
    values: FloatArray  # (height, width): density in the pixels, row by row from below
    smoothed: bool  # whether `values` are the smoothed density of points
    tokens: FloatArray  # (n, 2): places of tokens or atoms; NaN for hidden ones
    token_masses: FloatArray | None  # (n,): of atoms
    clusters: FloatArray  # (k, 2): places of the marked clusters
    cluster_masses: FloatArray


def sphere_panel(
    run: Run, index: int, projection: Projection, width: int, tokens: FloatArray
) -> SpherePanel:
    """Panel of a saved time whose state was kept, `width` pixels wide, with its tokens."""
    measure, atoms = run.measures[index], atoms_at(run, index)
    if measure is None:
        raise ValueError(f"the state at t = {run.time[index]:g} was not kept.")
    centres, masses = marked_clusters(run, index)
    return SpherePanel(
        float(run.time[index]),
        projection,
        values_on(measure, projection, width),
        not isinstance(measure, Density),
        projection.to_plane(tokens),
        None if atoms is None or len(atoms.points) != len(tokens) else atoms.mass,
        projection.to_plane(centres),
        masses,
    )


@dataclass(frozen=True, eq=False)
class SpherePicture:
    """Panels of a run on the sphere, in one range of colours; a note explains the marks."""

    frame: Frame
    panels: tuple[SpherePanel, ...]
    colours: tuple[float, float]
    note: str = ""


def missing(run: Run) -> str | None:
    """Reason why a run has no picture on the sphere, and the remedy; None if it has one."""
    if all(measure is None for measure in run.measures):
        return f"the states of the run were not kept or not loaded: {KEEP_STATES}."
    return None


def map_picture(
    run: Run, limits: Limits = None, tokens: Sequence[FloatArray] | None = None
) -> SpherePicture:
    """Equal-area maps at up to six saved times; `limits` of colours, `tokens` (n, 3) by time."""
    _check(run)
    chosen = chosen_times(run, _MAPS)
    tokens = tokens_of(run) if tokens is None else tokens
    width = _MAP_PIXELS // map_columns(len(chosen))
    panels = [sphere_panel(run, int(i), Mollweide(), width, tokens[i]) for i in chosen]
    return _in_colours(run, panels, limits)


def _in_colours(run: Run, panels: Sequence[SpherePanel], limits: Limits) -> SpherePicture:
    values = np.array([panel.values for panel in panels])
    first = run.measures[next(i for i, each in enumerate(run.measures) if each is not None)]
    notes = []
    if isinstance(first, Measure) and not first.cell_order:
        notes.append(f"{len(first.points):,} tokens")
    elif any(len(panel.tokens) for panel in panels):
        notes.append("dots follow the flow")
    if any(len(panel.clusters) for panel in panels):
        notes.append("rings mark clusters")
    colours = limits or colour_range(values)
    return SpherePicture(frame(run), tuple(panels), colours, ", ".join(notes))


def map_columns(count: int) -> int:
    """Maps in a row, of `count` maps."""
    return count if count < 4 else (count + 1) // 2


def globe_picture(run: Run, limits: Limits = None) -> SpherePicture:
    """Both sides of the last state, the heaviest cluster in front."""
    _check(run)
    index = int(chosen_times(run, 1)[-1])
    front, tokens = densest_place(run, index), tokens_of(run)[index]
    sides = [Orthographic(front), Orthographic(-front)]
    panels = [sphere_panel(run, index, side, _GLOBE_PIXELS, tokens) for side in sides]
    return _in_colours(run, panels, limits)


def _check(run: Run) -> None:
    reason = missing(run)
    if reason is not None:
        raise ValueError(reason)


@dataclass(frozen=True, eq=False)
class SphereFilm:
    """Frames of a turning globe beside a map."""

    run: Run  # pixels of all frames need too much memory: `panels` makes those of one frame
    frames: NDArray[np.int64]  # (frames,): indices of saved times
    times: FloatArray  # (frames,): in the unit of the run
    globes: list[Orthographic]  # the last one has the heaviest cluster in front
    tokens: list[FloatArray]  # (n, 3): of each frame
    sample: FloatArray  # (some, height, width): maps at some frames, for the range of colours
    curves: OverTime  # beside the globe

    def panels(self, k: int) -> tuple[SpherePanel, SpherePanel]:
        """Globe and map of a frame."""
        index, tokens = int(self.frames[k]), self.tokens[k]
        return (
            sphere_panel(self.run, index, self.globes[k], _FILM_GLOBE, tokens),
            sphere_panel(self.run, index, Mollweide(), _FILM_MAP, tokens),
        )


def sphere_film(run: Run) -> SphereFilm:
    """Film of a run on the sphere."""
    frames = film_times(run)
    last = densest_place(run, int(frames[-1]))
    turns = np.arctan2(last[1], last[0]) - _TURN * np.arange(len(frames))[::-1]
    some = np.unique(np.linspace(0, len(frames) - 1, _SAMPLES).astype(np.int64))
    measures = [measure for k in some if (measure := run.measures[frames[k]]) is not None]
    tokens = tokens_of(run)
    return SphereFilm(
        run,
        frames,
        run.time[frames],
        [Orthographic(directions(turn, _ELEVATION)) for turn in turns],
        [tokens[i] for i in frames],
        np.array([values_on(measure, Mollweide(), _FILM_MAP) for measure in measures]),
        over_time(run),
    )
