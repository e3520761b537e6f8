"""A finished or stopped run: arrays over the saved times, with their attributes.

A `Run` contains no file and no solver. `assembled` makes one from snapshots,
`store.run_file.load` from a file.
"""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanfield.arguments import checked
from meanfield.arrays import Axes, FloatArray, ModalArray
from meanfield.described import ResultBase, data_frame
from meanfield.events import Event
from meanfield.measures import Density, LabelledDensity, Measure
from meanfield.names import VIEWS
from meanfield.observables import Observable, observe
from meanfield.observables.clusters import visible_counts
from meanfield.problem import Problem
from meanfield.problem_facts import growth_rates_in_attributes, problem_attributes
from meanfield.snapshot import Checkpoint, Snapshot
from meanfield.spaces import Manifold, named_space
from meanfield.spectrum.time_units import time_unit, unit_length
from meanfield.status import is_finished

if TYPE_CHECKING:
    import xarray

    from meanfield.finite.results import Fluctuations

KEEP_STATES = (
    'run again with state="all" (in a run file [output] state = "all"), or load with states="all"'
)
"""Advice where the states of a run are missing."""

NO_RATES = (
    "no rates: closed forms need a sphere, one attention alone, no layers, and heads that turn "
    "nothing"
)
"""Words in place of growth rates where `Problem.is_isotropic` is false."""


@dataclass(frozen=True, eq=False)
class Run(ResultBase):
    """Saved times of one evolution.

    Attributes
    ----------
    scaled_time : ndarray, shape (n_saves,)
        Scaled time; `time` is in the user's unit.
    moments : ndarray, shape (n_saves, K + 1) on the circle
        int conj(Y_l) dmu, complex. On the sphere real, shape (n_saves, 2, L + 1, L + 1), in
        pyshtools' layout (4-pi normalised, no Condon-Shortley phase). On `Axial(d)` int P_l dmu,
        real, shape (n_saves, L + 1). For tokens in other dimensions mass and mean vector.
    observables : dict of str to ndarray, first axis n_saves
        "energy", "order_parameter", "peaks", "entropy", "free_energy", "resolution", shape
        (n_saves,); "clusters/count" (see `cluster_counts`), "clusters/mass" and "clusters/centre",
        one column per cluster, padded with NaN; your own.
    diagnostics : dict of str to ndarray, shape (n_saves,)
        "steps", "rejected", "evaluations" since time 0, and diagnostics of the representation.
    representation : tuple of str, length n_saves
        Representation at each saved time.
    measures : tuple, length n_saves
        Density or Measure, or None where the state was not kept.
    attributes : dict
        status, manifold, kernel, heads, beta, normalization, normalized, strength, diffusivity,
        initial, paper_time_factor, growth_rate_max, requested_time_unit, config (the run file),
        title, seed, created, meanfield_version; of a file also versions, platform, result_hash.
    growth_rates : ndarray
        Growth rates of the uniform state by degree, in scaled time; one 0 for degree 0
        alone where `Problem.is_isotropic` is false.
    events : tuple of Event
        Hand-overs, new clusters of atoms and merges, in order; times scaled.
    source_problem : Problem or None
        The problem, if the run was made in Python; see `problem`.
    checkpoint : Checkpoint or None
        If the run was made in this process: from here a saved file is resumed.
    fluctuations : Fluctuations or None
        Fluctuations of N tokens about the limit at the saved times, if the run computed them.

    Examples
    --------
    >>> import meanfield as mf
    >>> law = mf.perturbed_uniform([[2, 0.1, 0.0]])
    >>> run = mf.simulate(mf.Problem(mf.Circle(), mf.linear(), mf.USA, law), until=1.0, save=3)
    >>> run
    Run(circle, 3 saved times from t = 0 to 1, completed)
    """

    scaled_time: FloatArray
    moments: ModalArray
    observables: dict[str, FloatArray]
    diagnostics: dict[str, FloatArray]
    representation: tuple[str, ...]
    measures: tuple[Density | Measure | None, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    growth_rates: FloatArray = field(default_factory=lambda: np.zeros(1))
    events: tuple[Event, ...] = ()
    source_problem: Problem | None = None
    checkpoint: Checkpoint | None = None
    fluctuations: Fluctuations | None = None

    @property
    def status(self) -> str:
        """'completed', 'stopped: RULE', 'running', or why the run ended early."""
        return self.facts.status

    @property
    def finished(self) -> bool:
        """True if the run reached its end, or its stop rule ended it."""
        return is_finished(self.status)

    @property
    def unit(self) -> str:
        """Unit of time of the run: 'scaled', 'paper' or 'growth'."""
        return self.facts.requested_time_unit

    @property
    def time(self) -> FloatArray:
        """Saved times in `unit`, shape (n_saves,)."""
        return self.time_in(self.unit)

    @property
    def unit_length(self) -> float:
        """Scaled time of one `unit`."""
        return self._length_of(self.unit)

    @checked
    def time_in(self, unit: str) -> FloatArray:
        """Saved times in a unit, shape (n_saves,).

        Parameters
        ----------
        unit : str
            "scaled"; "paper" (scaled time * exp(-|beta|) without normalisation); "growth" (scaled
            time * largest growth rate).

        Raises
        ------
        ValueError
            If the unit is not known, nothing grows, or paper time underflows.

        Examples
        --------
        >>> import meanfield as mf
        >>> law = mf.perturbed_uniform([[3, 0.1, 0.0]])
        >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=2.0), mf.USA, law)
        >>> run = mf.simulate(problem, until=0.5, unit="paper", save=2)
        >>> run.unit, run.time.tolist(), run.time_in("scaled").round(6).tolist()
        ('paper', [0.0, 0.5], [0.0, 3.694528])
        """
        if unit == "scaled":
            return self.scaled_time
        # Fifteen digits: 3 growth times are exactly 3.
        return np.array(
            [float(f"{time:.15g}") for time in self.scaled_time / self._length_of(unit)]
        )

    @checked
    def events_in(self, unit: str) -> tuple[Event, ...]:
        """Events with their times in a unit; raises as `time_in`."""
        length = self._length_of(unit)
        return tuple(replace(event, time=event.time / length) for event in self.events)

    def _length_of(self, unit: str) -> float:
        facts = self.facts
        if unit == "growth" and math.isnan(facts.growth_rate_max):
            # For heads with matrices the rate is computed here, at first use.
            return time_unit(self.problem, unit)
        return unit_length(unit, facts.paper_time_factor, facts.growth_rate_max, facts.beta)

    @property
    def manifold(self) -> Manifold:
        return named_space(self.facts.manifold)

    @cached_property
    def problem(self) -> Problem:
        """Problem of the run: as given, or read from the stored run file.

        ValueError if the run is from a file and its kernel is a function of the user's own.
        """
        return self.source_problem or VIEWS["Run.problem"](self)

    @checked
    def problem_at(self, save: int) -> Problem:
        """Problem of the stage at a saved time, with the values of its functions of time."""
        problem, time = self.problem, float(self.scaled_time[save])
        return problem.at(time, self.unit_length) if problem.stages else problem.now(time)

    def packed_moments(self) -> ModalArray:
        """Moments in the packed layout of the manifold, shape (n_saves, n)."""
        space = self.manifold
        return np.array([space.packed(moments) for moments in self.moments])

    def sizes_by_degree(self) -> FloatArray:
        """Rotation-invariant size of the moments of each degree, shape (n_saves, degrees)."""
        space = self.manifold
        return np.array([space.sizes_by_degree(moments) for moments in self.packed_moments()])

    def cluster_counts(self) -> FloatArray:
        """Numbers of clusters, shape (n_saves,); NaN before any cluster has separated.

        The observable `clusters/count` is 1 there, see `visible_counts`. In R^d, which has no
        uniform law, one group is a cluster.
        """
        space, counts = self.manifold, self.observables["clusters/count"]
        if not space.is_sphere:
            return counts
        order = [space.order_parameter(moments) for moments in self.packed_moments()]
        return visible_counts(counts, np.array(order))

    def separated_observables(self) -> dict[str, FloatArray]:
        """Observables for exports, with `cluster_counts` as `clusters/count`."""
        counted = "clusters/count" in self.observables
        own = {"clusters/count": self.cluster_counts()} if counted else {}
        return self.observables | own

    @checked
    def index_of(self, time: float) -> int:
        """Index of a saved time in the run's `unit`, up to rounding.

        ValueError if the time was not saved; the message has the nearest saved times.
        """
        times = self.time
        if len(times) == 0:
            raise ValueError(f"the run has no saved times ({self.status}).")
        if (index := nearest_time(times, time)) is not None:
            return index
        after = int(np.searchsorted(times, time))
        beside = [f"{t:.10g}" for t in times[max(after - 1, 0) : after + 1]]
        where = f"beside it lie {' and '.join(beside)}"
        if len(beside) == 1:
            where = f"the {'last' if after else 'first'} one is {beside[0]}"
        raise ValueError(
            f"t = {time:.10g} ({self.unit} time) is no saved time: {where}. Take "
            "one of run.time, or save it: simulate(..., save=[...])."
        )

    @checked
    def density(
        self, points: ArrayLike, *, time: float | None = None, width: float | None = None
    ) -> FloatArray:
        """Density relative to uniform at a saved time.

        Parameters
        ----------
        points : array_like, shape (...) on the circle and on `Axial(d)`, (..., 3) on the sphere
            Angles, or polar angles, in radians; vectors.
        time : float, optional
            A saved time in the run's `unit`; the last one by default.
        width : float, optional
            Angle in radians over which to smooth, see `Measure.smoothed`. Tokens and atoms need
            it: a sum of Dirac measures has no density.

        Returns
        -------
        ndarray, shape (...)
            On the sphere NaN where no cell of characteristics resolves a place.

        Raises
        ------
        ValueError
            If the time was not saved, its state was not kept, or tokens need a width.

        Examples
        --------
        >>> import meanfield as mf
        >>> law = mf.perturbed_uniform([[1, 0.2, 0.0]])
        >>> run = mf.simulate(mf.Problem(mf.Circle(), mf.linear(), mf.USA, law), until=1.0, save=3)
        >>> run.density([0.0, np.pi], time=0.0).round(6)
        array([1.2, 0.8])
        """
        index = self.index_of(self.time[-1:].sum() if time is None else time)
        return stored_state(self, index)(points, width=width)

    @property
    def tokens(self) -> FloatArray:
        """Trajectories: points at every saved time, shape (n_saves, n) or (n_saves, n, d).

        ValueError if a state is missing or a density, or the number of points changes.
        """
        states = [stored_state(self, save) for save in range(len(self.measures))]
        points = [state.points for state in states if isinstance(state, Measure)]
        counts = sorted({len(each) for each in points})
        if len(points) < len(states) or len(counts) != 1:
            saved = f"{len(states) - len(points)} of {len(states)} saved states are densities"
            if len(points) == len(states):
                saved = f"the saved states have {' or '.join(map(str, counts)) or 'no'} points"
            raise ValueError(
                f"run.tokens needs the same points at every saved time, but {saved}: take "
                'representation="particles", or run.measures one by one.'
            )
        return np.array(points)

    @checked
    def table(self) -> Any:
        """Table of the observables, one row per saved time.

        Columns are "time" in the run's `unit`, "clusters" from `cluster_counts`, and the other
        observables. An array has one column per entry, such as `clusters_mass_0`.

        Returns
        -------
        pandas.DataFrame, or dict of str to ndarray, shape (n_saves,), without pandas

        Examples
        --------
        >>> import meanfield as mf
        >>> problem = mf.Problem(mf.Circle(), mf.linear(), mf.USA)
        >>> list(mf.simulate(problem, until=1.0, save=3, observables=[]).table())
        ['time', 'energy', 'clusters', 'clusters_mass_0', 'clusters_centre_0']
        """
        columns = {"time": self.time}
        for name, values in self.observables.items():
            if name == "clusters/count":
                columns["clusters"] = self.cluster_counts()
                continue
            for entry in np.ndindex(values.shape[1:]):
                words = (name.replace("/", "_"), *map(str, entry))
                columns["_".join(words)] = values[(slice(None), *entry)]
        return data_frame(columns)

    @checked
    def to_xarray(self, *, grid: int | None = None, width: float | None = None) -> xarray.Dataset:
        """Dataset with time, moments, observables and diagnostics; needs xarray.

        `grid=360` adds the density on 360 angles, or on 360 longitudes and 180 latitudes.
        `width` smooths it; tokens and atoms need it.
        """
        dataset: xarray.Dataset = VIEWS["Run.to_xarray"](self, grid=grid, width=width)
        return dataset

    @checked
    def plot(
        self,
        kind: str = "overview",
        *,
        ax: Axes | None = None,
        title: str | None = None,
        times: Sequence[float] | None = None,
        limits: tuple[float, float] | None = None,
        figsize: tuple[float, float] | None = None,
        dpi: float | None = None,
        particles: Sequence[Run] = (),
    ) -> Any:
        """Figure of the run.

        Parameters
        ----------
        kind : str
            "overview", "density", "velocity", "energy", "order_parameter", "spectrum",
            "clusters", "resolution", "staircase", "tree", "fluctuations"; on the sphere also "map"
            and "globe"; of tokens in other dimensions "axes", "cosines", "similarity", "attention",
            in R^d "hulls". Or an observable of the run over time, an array as several curves.
        ax : matplotlib.axes.Axes, optional
            Empty axes to draw on, for every kind but "overview".
        title : str, optional
            Title in place of the run's own.
        times : sequence of float, optional
            First and last time to show, in the run's `unit`; for "map", "globe" and "velocity" the
            saved times to draw.
        limits : (float, float), optional
            Densities at the ends of the colours ("density", "map", "globe"), or the ends of the
            vertical axis.
        figsize : (float, float), optional
            Width and height in inches.
        dpi : float, optional
            Dots per inch.
        particles : sequence of Run
            For "fluctuations": runs of tokens to draw over them.

        Returns
        -------
        matplotlib.figure.Figure
            A notebook shows it; it is not registered in pyplot.
        """
        return VIEWS["Run.plot"](
            self,
            kind,
            ax=ax,
            title=title,
            times=times,
            limits=limits,
            figsize=figsize,
            dpi=dpi,
            particles=particles,
        )

    @checked
    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the run into a file, as `simulate(..., output=path)` and `meanfield run` do.

        `load` reads it, and `simulate` with `output=path, resume=True` goes on from its last time.

        Parameters
        ----------
        path : path
            A name that ends in .h5 or .hdf5.
        overwrite : bool
            Whether to replace an existing file of results.

        Raises
        ------
        OutputError
            If a file exists, or cannot be written there.
        """
        VIEWS["Run.save"](self, path, overwrite=overwrite)

    @checked
    def animate(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Film of the run, one frame per saved time.

        Writes a .gif or .mp4 file and returns its path; without a path, returns an animation that a
        notebook plays.
        """
        return VIEWS["Run.animate"](self, path)

    @checked
    def view(self, *, frames: int | None = None) -> Any:
        """Interactive page of the run, to turn, play and step through; a notebook shows it.

        Parameters
        ----------
        frames : int, optional
            Largest number of saved times; by default 60 on a sphere, 120 for tokens, 400 on a
            circle.

        Returns
        -------
        View
            `.save("run.html")` writes the page as one file that needs no network;
            `.widget()` makes an anywidget.

        Raises
        ------
        ValueError
            If fewer than two states were kept.
        """
        return VIEWS["Run.view"](self, frames=frames)

    def __repr__(self) -> str:
        times = self.time if len(self.scaled_time) else np.zeros(1)
        unit = "" if self.unit == "scaled" else f" {self.unit} time"
        return (
            f"Run({self.facts.manifold}, {len(self.scaled_time)} saved times from "
            f"t = {times[0]:g} to {times[-1]:g}{unit}, {self.status})"
        )


def nearest_time(times: FloatArray, time: float) -> int | None:
    """Index of a time among others up to rounding, None if it is not there.

    >>> nearest_time(np.array([0.0, 0.3]), 0.1 * 3), nearest_time(np.array([0.0, 0.3]), 0.2)
    (1, None)
    """
    nearest = int(np.abs(times - time).argmin()) if len(times) else 0
    return nearest if same_times(times[nearest : nearest + 1], time).any() else None


def same_times(times: FloatArray, others: FloatArray | float) -> NDArray[np.bool_]:
    """True if times agree up to rounding, as of units and arithmetic like 0.1 * 3."""
    return np.asarray(np.abs(times - others) <= 1e-9 * np.abs(others))


def stored_section(run: Run, name: str) -> dict[str, Any] | None:
    """Section of the run file of a run, or None."""
    return tomllib.loads(run.facts.config).get(name)


def stored_state(run: Run, save: int) -> Density | Measure:
    """State at a saved time; ValueError if it is missing."""
    measure = run.measures[save]
    if measure is None:
        raise ValueError(
            f"the state at t = {run.time[save]:g} was not kept or not loaded: {KEEP_STATES}."
        )
    return measure


def observed(
    problem: Problem, snapshot: Snapshot, observables: Iterable[Observable]
) -> dict[str, FloatArray]:
    """Observables of a snapshot, see `observe`; with labels also `label_order`."""
    measure, moments, step = snapshot.measure, snapshot.moments, snapshot.checkpoint.steps
    degree = problem.moment_degree
    if problem.manifold.degree_of(moments) < degree:
        # A function of time has made the kernel sharper: the stored degrees are too few.
        moments = measure.moments(degree)
    # The loop has already computed the spectral tail of a density.
    tail = snapshot.diagnostics.get("tail") if snapshot.representation == "density" else None
    known = {} if tail is None else {"resolution": tail}
    values = observe(
        problem, measure, moments, observables, time=snapshot.time, step=step, known=known
    )
    if isinstance(measure, LabelledDensity):
        values["label_order"] = measure.label_order
    return values


def assembled(
    problem: Problem,
    rows: Sequence[tuple[Snapshot, dict[str, FloatArray]]],
    attributes: Mapping[str, Any],
) -> Run:
    """Run from snapshots with their observables, and further attributes."""
    snapshots = [snapshot for snapshot, _ in rows]
    names = sorted({name for s in snapshots for name in s.diagnostics})
    return Run(
        scaled_time=np.array([s.time for s in snapshots]),
        moments=np.array([problem.manifold.unpacked(s.moments) for s in snapshots]),
        observables={
            name: padded([values[name] for _, values in rows])
            for name in (rows[0][1] if rows else {})
        },
        diagnostics={
            name: np.array([s.diagnostics.get(name, np.nan) for s in snapshots]) for name in names
        },
        representation=tuple(s.representation for s in snapshots),
        measures=tuple(s.measure for s in snapshots),
        attributes=problem_attributes(problem) | dict(attributes),
        growth_rates=growth_rates_in_attributes(problem),
        events=tuple(event for s in snapshots for event in s.events),
        source_problem=problem,
        checkpoint=snapshots[-1].checkpoint if snapshots else None,
    )


def padded(rows: list[FloatArray]) -> FloatArray:
    """Stack rows of different lengths along their first axis, filled with NaN.

    A number among arrays counts as an array of length one.

    >>> padded([np.array([1.0]), np.array([1.0, 2.0])])
    array([[ 1., nan],
           [ 1.,  2.]])
    """
    if all(row.ndim == 0 for row in rows):
        return np.array(rows)
    rows = [np.atleast_1d(row) for row in rows]
    table = np.full((len(rows), max(len(row) for row in rows), *rows[0].shape[1:]), np.nan)
    for i, row in enumerate(rows):
        table[i, : len(row)] = row
    return table
