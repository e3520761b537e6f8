"""A sweep: runs of one run file over a product of values of some of its keys, in one folder.

A `Sweep` is the index of the folder: the product, and for each member its file, its status and the
hash of its results. Runs are read from their files on access.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from meanfield.arguments import checked
from meanfield.arrays import Axes, FloatArray, IntArray
from meanfield.described import ResultBase, data_frame
from meanfield.errors import list_names
from meanfield.names import VIEWS
from meanfield.observables import OBSERVABLES
from meanfield.runs import Run
from meanfield.status import LEFT_OUT, is_finished

if TYPE_CHECKING:
    import xarray

# Reserved names of columns and dimensions.
_TAKEN = ("time", "status", "clusters", "member")
_NUMBER_OF_CLUSTERS = "clusters"
# Usual observables that tables on a screen show.
_SHOWN = (_NUMBER_OF_CLUSTERS, "energy", "order_parameter")


@dataclass(frozen=True)
class Parameter:
    """A key of a run file, and its values.

    - key: "section.key", or a whole section.
    - values (tuple): numbers, words, lists or tables, as TOML has them.

    >>> beta = Parameter("problem.beta", (1, 1.5, 2))
    >>> beta.is_numeric, beta.coordinates, beta.labels
    (True, array([1. , 1.5, 2. ]), ('1', '1.5', '2'))
    """

    key: str
    values: tuple[Any, ...]

    @property
    def is_numeric(self) -> bool:
        """True if all values are numbers."""
        return all(isinstance(v, int | float) and not isinstance(v, bool) for v in self.values)

    @property
    def labels(self) -> tuple[str, ...]:
        """The values in words."""
        return tuple(value_words(value) for value in self.values)

    @property
    def coordinates(self) -> npt.NDArray[Any]:
        """The values as an array: numbers, or words."""
        return np.array(self.values if self.is_numeric else self.labels)


def value_words(value: Any) -> str:
    """A value of a parameter in a table.

    >>> value_words("softmax"), value_words(1.0), value_words([[1, 0.5]])
    ('softmax', '1', '[[1, 0.5]]')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:.10g}"
    return json.dumps(value)


@dataclass(frozen=True)
class Member:
    """One run of a sweep.

    - file: name of its file in the folder.
    - overrides (dict of str to value): the value of each parameter.
    - status: "completed", "stopped: " and a rule, or the reason of an early end; None before the
      end.
    - result_hash: hash of the results in its file; None without a file.
    """

    file: str
    overrides: Mapping[str, Any]
    status: str | None = None
    result_hash: str | None = None

    @property
    def finished(self) -> bool:
        """True if the run reached its end or its stop rule, or was left out."""
        return is_finished(self.status) or self.status == LEFT_OUT


class LazyRuns(Sequence[Run]):
    """Runs of a sweep, in its order, read from their files on access."""

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep

    def __len__(self) -> int:
        return len(self._sweep.members)

    @overload
    def __getitem__(self, index: int) -> Run: ...

    @overload
    def __getitem__(self, index: slice) -> list[Run]: ...

    def __getitem__(self, index: int | slice) -> Run | list[Run]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        member = self._sweep.members[index]
        if member.status in (None, LEFT_OUT):
            ended = "has not ended" if member.status is None else "was left out"
            raise ValueError(
                f"{member.file} of {self._sweep.folder} {ended}: go on with meanfield sweep "
                "... --resume."
            )
        return self._sweep.read(member)

    def __repr__(self) -> str:
        return f"<{len(self)} runs of {self._sweep.folder}, read when they are asked for>"


@dataclass(frozen=True, eq=False)
class Sweep(ResultBase):
    """Runs over a product of parameters.

    Attributes
    ----------
    folder : Path
        Where the runs are.
    parameters : tuple of Parameter
        In the order in which they were given.
    members : tuple of Member
        In the order of the product: the last parameter changes first.
    attributes : dict
        status, title, config (the run file of the first run), created, ...
    runs : sequence of Run
        Read from their files on access.

    Examples
    --------
    >>> import tempfile
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=2.0), mf.SA,
    ...     mf.von_mises_fisher(1.0))
    >>> with tempfile.TemporaryDirectory() as place:
    ...     made = mf.sweep(problem, {"problem.beta": "1:2:3"}, folder=f"{place}/betas",
    ...         time={"end": 1.0, "save": 2})
    ...     print(made.shape, made.values("order_parameter").round(4))
    (3,) [0.6371 0.6197 0.6013]
    """

    folder: Path
    parameters: tuple[Parameter, ...]
    members: tuple[Member, ...]
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def status(self) -> str:
        """Status of the sweep: 'completed', 'running', or the reason of an early end."""
        return self.facts.status

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each parameter."""
        return tuple(len(parameter.values) for parameter in self.parameters)

    @property
    def names(self) -> tuple[str, ...]:
        """Short names of the parameters: keys without section if these differ."""
        short = [parameter.key.rpartition(".")[2] for parameter in self.parameters]
        met = Counter(short)
        return tuple(
            name if met[name] == 1 and name not in _TAKEN else parameter.key.replace(".", "_")
            for name, parameter in zip(short, self.parameters, strict=True)
        )

    @property
    def statuses(self) -> npt.NDArray[np.str_]:
        """Status of each member, or "not finished", in the shape of the product."""
        words = [member.status or "not finished" for member in self.members]
        return np.array(words).reshape(self.shape)

    @property
    def runs(self) -> LazyRuns:
        """Runs in the order of the members, read on access."""
        return LazyRuns(self)

    @checked
    def run(self, **values: Any) -> Run:
        """Run at values of parameters, by their short names: sweep.run(beta=2.0).

        Raises
        ------
        ValueError
            If a parameter is unknown, is missing and has several values, or never had this value.
            If the run has not ended.
        """
        place = []
        for name in values:
            if name not in self.names:
                raise ValueError(f"{name} is no parameter. {list_names(name, self.names)}")
        for name, parameter in zip(self.names, self.parameters, strict=True):
            if name not in values and len(parameter.values) > 1:
                raise ValueError(f"give {name}: {', '.join(parameter.labels)}.")
            wanted = values.get(name, parameter.values[0])
            if wanted not in parameter.values:
                labels = ", ".join(parameter.labels)
                raise ValueError(f"{name} = {wanted!r} was not run. Known: {labels}.")
            place.append(parameter.values.index(wanted))
        return self.runs[int(np.ravel_multi_index(place, self.shape))]

    def read(self, member: Member, states: str = "all") -> Run:
        """Run of a member's file.

        Raises
        ------
        ValueError
            If it cannot be read, or its results do not have the hash in the index.
        """
        run: Run = VIEWS["Sweep.run"](self.folder / member.file, states=states)
        if member.result_hash not in (None, run.attributes.get("result_hash")):
            raise ValueError(
                f"{self.folder / member.file} is not the run that the index knows: its results are "
                "others. Delete it, and go on with meanfield sweep ... --resume."
            )
        return run

    @cached_property
    def observed(self) -> tuple[Run | None, ...]:
        """Runs without states, None for members that have not ended or have no file; cached."""
        return tuple(map(self.observed_run, self.members))

    def observed_run(self, member: Member) -> Run | None:
        """Run of a member without states, None if it has not ended or has no file."""
        written = member.result_hash is not None or (self.folder / member.file).exists()
        return self.read(member, "none") if member.status is not None and written else None

    @property
    def nearest(self) -> IntArray:
        """Numbers of members in the shape of the product; the nearest for one that is left out."""
        numbers = np.arange(len(self.members)).reshape(self.shape)
        out = np.array([member.status == LEFT_OUT for member in self.members]).reshape(self.shape)
        if not out.any():
            return numbers
        from scipy.ndimage import distance_transform_edt

        # Values in words are far apart.
        steps = [1.0 if parameter.is_numeric else 1e6 for parameter in self.parameters]
        place = distance_transform_edt(out, steps, return_distances=False, return_indices=True)
        return np.asarray(numbers[tuple(place)])

    def observables(self) -> tuple[str, ...]:
        """Names of observables with one number at each time, of any run; "clusters": the count."""
        return observable_names(self.observed)

    @checked
    def values(self, observable: str, *, time: float | None = None) -> FloatArray:
        """Values of an observable at the last saved time of each run, in the shape of the product.

        Parameters
        ----------
        observable : str
            A name of `observables()`, or "time" for the last saved time. "clusters" is the number
            of clusters, NaN before any has separated.
        time : float, optional
            A saved time, in the unit of the runs, instead of the last.

        Returns
        -------
        ndarray, shape (n_1, n_2, ...)
            NaN where a run has not ended, lacks the observable or ended before the time. Members
            that an adaptive sweep left out have the value of the nearest other member.

        Raises
        ------
        ValueError
            If no run has the observable, or one did not save the time.
        """
        if observable != "time":
            names = self.observables()
            if observable not in names and any(run is not None for run in self.observed):
                remedy = list_names(observable, ("time", *names))
                raise ValueError(f"{observable} is no observable of these runs. {remedy}")
        columns = [
            math.nan if run is None else last_value(run, observable, time) for run in self.observed
        ]
        return np.array(columns)[self.nearest]

    @checked
    def table(self, observable: str | None = None, *, time: float | None = None) -> Any:
        """Columns of one row a run: parameters, last time, clusters, observables, status.

        Parameters
        ----------
        observable : str, optional
            Only this one; default: all.
        time : float, optional
            A saved time, in the unit of the runs, instead of the last.

        Returns
        -------
        pandas.DataFrame, or dict of str to ndarray, shape (n_members,), without pandas
        """
        return data_frame(self.columns(observable, time))

    def columns(
        self, observable: str | None = None, time: float | None = None
    ) -> dict[str, npt.NDArray[Any]]:
        """Columns of `table`."""
        grids = np.meshgrid(*(p.coordinates for p in self.parameters), indexing="ij")
        columns: dict[str, Any] = {
            name: grid.ravel() for name, grid in zip(self.names, grids, strict=True)
        }
        wanted = self.observables() if observable is None else (observable,)
        for name in dict.fromkeys(("time", _NUMBER_OF_CLUSTERS, *wanted)):
            if name == _NUMBER_OF_CLUSTERS and name not in self.observables():
                continue
            column = f"observables_{name}" if name in self.names else name
            columns[column] = self.values(name, time=time).ravel()
        return columns | {"status": self.statuses.ravel()}

    @checked
    def to_xarray(self, *, lazy: bool = False) -> xarray.Dataset:
        """Dataset over the parameters, and over time if the runs share their saved times.

        Saved times are shared if every run has the first saved times of the longest run, each in
        its unit. After an early end values are NaN. Otherwise values are those at each run's last
        saved time, the variable `last_time`; the attribute `values` says so. Needs xarray.

        Parameters
        ----------
        lazy : bool
            Use Dask arrays, which read runs when values are computed. The first finished run
            determines saved times and observables. Needs dask.

        Returns
        -------
        xarray.Dataset

        Raises
        ------
        ValueError
            If no run has finished. When a lazy array is computed: if a run has other saved times.
        """
        dataset: xarray.Dataset = VIEWS["Sweep.to_xarray"](self, lazy)
        return dataset

    @checked
    def plot(
        self,
        kind: str | None = None,
        *,
        time: float | None = None,
        ax: Axes | None = None,
        title: str | None = None,
        figsize: tuple[float, float] | None = None,
        dpi: float | None = None,
    ) -> Any:
        """Figure of an observable against the parameters.

        Parameters
        ----------
        kind : str, optional
            Name of the observable; by default the number of clusters, or another if it is missing.
        time : float, optional
            A saved time, in the unit of the runs, instead of the last of each run.
        ax : matplotlib.axes.Axes, optional
            Empty axes to draw on, for at most two parameters.
        title, figsize, dpi : str, (float, float), float, optional
            Title, size in inches and dots per inch.

        Returns
        -------
        matplotlib.figure.Figure
            One parameter: a curve. Two: a map, or a curve for each value of the second if it has
            few values or words. More: panels.
        """
        return VIEWS["Sweep.plot"](
            self, kind, time=time, ax=ax, title=title, figsize=figsize, dpi=dpi
        )

    def __iter__(self) -> Iterator[tuple[dict[str, Any], Run]]:
        for member in self.members:
            if member.status not in (None, LEFT_OUT):
                yield (
                    dict(zip(self.names, member.overrides.values(), strict=True)),
                    self.read(member),
                )

    def __repr__(self) -> str:
        over = ", ".join(
            f"{name} ({len(parameter.values)})"
            for name, parameter in zip(self.names, self.parameters, strict=True)
        )
        return f"Sweep({self.folder}, over {over}: {self.summary})"

    @property
    def summary(self) -> str:
        """Numbers of runs that are completed, ended early, were left out, and are not finished.

        >>> beta = Parameter("problem.beta", (1, 2))
        >>> Sweep(Path("x"), (beta,), (Member("1.h5", {}, "completed"), Member("2.h5", {}))).summary
        '2 runs, 1 completed, 1 not finished'
        """
        unneeded = sum(member.status == LEFT_OUT for member in self.members)
        completed = sum(member.finished for member in self.members) - unneeded
        left = sum(member.status is None for member in self.members)
        early = len(self.members) - completed - left - unneeded
        parts = [f"{len(self.members)} runs", f"{completed} completed"]
        parts += [f"{early} ended early"] if early else []
        parts += [f"{unneeded} left out"] if unneeded else []
        return ", ".join([*parts, f"{left} not finished"] if left else parts)


def observable_names(runs: Sequence[Run | None]) -> tuple[str, ...]:
    """Names of `Sweep.observables` for some runs."""
    names: dict[str, None] = {}
    if any(run is not None and "clusters/count" in run.observables for run in runs):
        names[_NUMBER_OF_CLUSTERS] = None
    for run in runs:
        for name, values in ({} if run is None else run.observables).items():
            if values.ndim == 1 and name != "clusters/count":
                names[name] = None
    return tuple(names)


def last_value(run: Run, observable: str, time: float | None = None) -> float:
    """Value at a time, by default the last; NaN if a run has none."""
    if len(run.scaled_time) == 0 or (time is not None and run.time[-1] < time * (1 - 1e-9)):
        return math.nan
    index = -1 if time is None else run.index_of(time)
    return float(series(run, observable)[index])


def series(run: Run, observable: str) -> FloatArray:
    """An observable of `Sweep.values` at the saved times of a run; NaN if it is missing."""
    if observable == "time":
        return run.time
    if observable == _NUMBER_OF_CLUSTERS and "clusters/count" in run.observables:
        return run.cluster_counts()
    values = run.observables.get(observable)
    if values is None or values.ndim != 1:
        return np.full(len(run.scaled_time), np.nan)
    return values


def summary(sweep: Sweep) -> dict[str, npt.NDArray[Any]]:
    """Columns of `Sweep.table` for a screen: without most of the usual observables."""
    columns = sweep.columns()
    dropped = OBSERVABLES.keys() - {*sweep.names, *_SHOWN}
    return {name: column for name, column in columns.items() if name not in dropped}
