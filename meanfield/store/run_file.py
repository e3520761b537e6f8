"""The result file of a run (HDF5): its layout, and how to read it.

    /time                   (n_saves,) scaled time, with units, paper_time_factor, growth_rate_max
    /moments                circle (n_saves, K + 1) complex: int e^{-ik theta} dmu
                            sphere (n_saves, 2, L + 1, L + 1) real: int Y_lm dmu, laid out as
                            in pyshtools (4-pi normalised, no Condon-Shortley phase)
                            axial:D (n_saves, L + 1) real; sphere:D, space:D (n_saves, 1 + D) real:
                            mass and mean
    /observables/<name>     (n_saves,); clusters/count (n_saves,), clusters/mass and /centre padded;
                            a user's own (n_saves,), or (n_saves, n) padded
    /density/coefficients   (n_kept, ...) with the axes of moments, zeros above /density/degree;
                            /density/save the index into /time of each kept row
    /labelled/coefficients  (n_kept, M, ...) the same of the density of each label;
                            /labelled/values, weights (M,); /labelled/mean (n_kept, ...) of all
    /measure/points, weights, save    the same for points: angles (n_kept, n) or vectors
                            (n_kept, n, D), NaN beyond /measure/count; weights only if not equal
    /diagnostics/<name>     (n_saves,); representation as text
    /events/<column>        (n_events,) see `events.Event`: time, kind and
                            text; first_cluster, second_cluster; first_mass, second_mass
    /stability/growth_rates (n_degrees,) of the uniform state
    /fluctuations/<name>    deviations of N tokens from the limit, if requested: limit, shift
                            (n_saves, n), covariance, relation (n_saves, n, n), NaN where they are
                            not resolved; attributes say why, and how n moments are laid out
    /checkpoint/state       state at which a run goes on, one-dimensional; attributes epoch, clock
                            (time is their sum), unit, step and counts; checkpoint/fixed/<name>
                            constants of the representation
    attributes              format_version, meanfield_version, config, seed, created, status,
                            result_hash (not while running), and the attributes of `provenance`
                            and `wall_time`, ...

Every axis has its dimension scale, so that xarray opens the file with engine="h5netcdf"; time is
linked into the groups of series. A checksum over the whole file follows its end (`locks.seal`).

Fluctuations are written as a whole after the run; a run that goes on deletes them. They follow from
the problem and the saved times, so the hash of results does not cover them.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from meanfield.arrays import ModalArray
from meanfield.carriers import REPRESENTATIONS
from meanfield.engines.limits import available_memory
from meanfield.events import Event
from meanfield.labels import Labels
from meanfield.measures import Density, LabelledDensity, Measure
from meanfield.observables import OBSERVABLES
from meanfield.problem import Problem
from meanfield.runs import Run
from meanfield.snapshot import Checkpoint
from meanfield.spaces import Manifold, named_space
from meanfield.spaces.label_cells import usual_order
from meanfield.spectrum.time_units import TIME_UNITS
from meanfield.store.layout import (
    EXPANSION,
    EXPECTED,
    FormatError,
    check_counts,
    check_grows,
    check_indices,
    dataset,
    increasing_times,
    opened,
    plain_attributes,
    printable_text,
)
from meanfield.store.result_hash import run_results
from meanfield.store.study_file import labelled_arrays, put_arrays, restored, study_kind, writer_of

if TYPE_CHECKING:
    import h5py

    from meanfield.finite.results import Fluctuations

FORMAT_VERSION = 2

_FACTS = (
    "manifold",
    "kernel",
    "beta",
    "normalized",
    "strength",
    "diffusivity",
    "paper_time_factor",
    "growth_rate_max",
    "initial",
)
_COUNTS = ("steps", "rejected", "evaluations", "events")
_NO_MOMENTS = np.zeros((0, 1), complex)
_Indices = npt.NDArray[np.int64]

EVENT_NUMBERS = ("time", "first_cluster", "second_cluster", "first_mass", "second_mass")
"""Columns of /events that are numbers, in the order of an `Event`'s."""

_SERIES = ("density", "labelled")
_WHOLE = {"steps", "rejected", "evaluations"}
_SLAB_BYTES = 2**25
# Texts read at once.
_TEXTS = 256
# Moments of under-resolved runs are well below.
_LARGEST_MOMENT = 1000.0


def load(path: str | os.PathLike[str], states: str = "all") -> Run:
    """Load the result file of a run.

    states: states to read: "all", "last" or "none"; the others become None.

    >>> load("nothing.h5")
    Traceback (most recent call last):
    ...
    meanfield.store.layout.FormatError: nothing.h5: no such file.
    """
    with opened(path) as file:
        return read_run(path, file, states)


def read_checkpoint(path: str | os.PathLike[str]) -> tuple[Checkpoint, str]:
    """Checkpoint of a result file, and its representation."""
    with opened(path) as file:
        check_format(path, file)
        if "checkpoint" not in file:
            raise FormatError(
                f"{os.fspath(path)} has no state to go on from: a run that had been loaded was "
                "saved in it. Go on with the file that the run was loaded from."
            )
        check_grows(file, "checkpoint", "stability", GROUP)
        group = file["checkpoint"]
        attributes = plain_attributes(group, *_COUNTS, "clock", "epoch", "unit", "representation")
        name = _representation(attributes["representation"])
        # NaN if the stepper chooses the next step.
        step = float(group.attrs["step"])
        clock, epoch, unit = (float(attributes[key]) for key in ("clock", "epoch", "unit"))
        # The step that contains the last saved time begins before it, up to rounding.
        last = increasing_times(file)[-1] * (1 + 1e-9)
        sound = min(clock, epoch) >= 0 and clock + epoch <= last and 0 < unit < np.inf
        if not sound or step <= 0 or np.isinf(step):
            raise ValueError("the clock of the checkpoint is out of range")
        checkpoint = Checkpoint(
            clock=clock,
            # Coefficients of densities, points of all others.
            state=dataset(group, "state", "fc" if name in _SERIES else "f", (None,))[()],
            step=None if np.isnan(step) else step,
            **{key: attributes[key] for key in _COUNTS},
            epoch=epoch,
            unit=unit,
            fixed=_fixed(group["fixed"]),
        )
        return checkpoint, name


def _fixed(group: h5py.Group) -> dict[str, Any]:
    """Constants of a representation beside its state; only an initial density is complex."""
    return {
        name: dataset(group, name, "fic" if name == "initial" else "fi", item.shape)[()]
        for name, item in group.items()
        if not (item.is_scale or name.rpartition("_axis")[0] in group)
    }


def file_results(file: h5py.File) -> dict[str, Any]:
    """Datasets of an open result file that its hash covers, see `result_hash`."""
    count = len(increasing_times(file))
    moments = file.get("moments", _NO_MOMENTS)
    results = run_results(file["time"], moments, stored_observables(file))
    for name, item in results.items():
        if len(item.shape) == 0 or len(item) != count:
            raise ValueError(f"{name} has shape {item.shape}, expected {count} rows")
    return results


def check_format(path: str | os.PathLike[str], file: h5py.File) -> None:
    """Refuse an open file that is not the result file of a run, in this format."""
    version = file.attrs.get("format_version")
    kind = study_kind(file)
    if kind is not None:
        raise FormatError(
            f"{os.fspath(path)} is a file of {writer_of(kind)}, no run: open it with "
            "meanfield.load, or look at it with meanfield info."
        )
    if version != FORMAT_VERSION or "time" not in file:
        again = "Run its configuration again with this version."
        advice = EXPECTED if version is None else again
        raise FormatError(
            f"{os.fspath(path)} is not a run file of format {FORMAT_VERSION} "
            f"(format_version is {version}). {advice}"
        )


def _check_memory(file: h5py.File, states: str) -> None:
    """Refuse to read more than there is memory for."""
    sizes: list[int] = []

    def visit(name: str, item: Any) -> None:
        of_states = name.startswith(("density/", "labelled/", "measure/", "checkpoint/"))
        if hasattr(item, "nbytes") and (states == "all" or not of_states):
            sizes.append(int(item.nbytes))

    file.visititems(visit)
    there = available_memory()
    if sum(sizes) > there:
        raise FormatError(
            f"{file.filename} holds {sum(sizes) / 2**30:.1f} GiB of numbers, more than the memory "
            f"of {there / 2**30:.1f} GiB."
        )


def read_run(path: str | os.PathLike[str], file: h5py.File, states: str = "all") -> Run:
    """Run of an open file, see `load`."""
    check_format(path, file)
    _check_memory(file, states)
    attributes = plain_attributes(file, *_FACTS)
    _check_config(attributes.get("config", ""))
    attributes.setdefault("requested_time_unit", _requested_unit(attributes))
    space = named_space(str(attributes["manifold"]))
    time = increasing_times(file)
    count = len(time)
    names, moments = [], _NO_MOMENTS
    if count:
        names = texts(dataset(file, "diagnostics/representation", "O", (count,)))
        moments = read_moments(space, file, count)
    run = Run(
        scaled_time=time,
        moments=moments,
        observables={n: item[()] for n, item in checked_observables(space, file, count).items()},
        diagnostics={n: item[()] for n, item in checked_diagnostics(file, count).items()},
        representation=tuple(_representation(name) for name in names),
        measures=read_measures(space, file, count, states, names),
        attributes=attributes,
        growth_rates=dataset(file, "stability/growth_rates", "f", (None,))[()],
        events=read_events(file),
    )
    run.time_in(run.unit)  # raises where the attributes know no such unit
    fluctuations = read_fluctuations(file, attributes, partial(getattr, run, "problem"))
    return run if fluctuations is None else replace(run, fluctuations=fluctuations)


def _check_config(text: str) -> None:
    """Refuse a run file that is no TOML."""
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"attribute config is no TOML: {error}") from None


def _requested_unit(attributes: dict[str, Any]) -> str:
    """Unit of time in the run file that a result file of an older version contains."""
    with suppress(ValueError, KeyError, TypeError, AttributeError):
        unit = tomllib.loads(str(attributes["config"]))["time"]["unit"]
        return unit if unit in TIME_UNITS else "scaled"
    return "scaled"


def _representation(name: Any) -> str:
    if name not in REPRESENTATIONS:
        raise ValueError(f"representation {name!r} is not known")
    return str(name)


def modal(space: Manifold, file: Any, name: str, count: int) -> h5py.Dataset:
    """Dataset of `count` rows of coefficients, in the layout of the manifold."""
    if len(space.modal_axes) == 1:
        some = space.unpacked(space.moments(np.array([space.origin]), None, 0))
        return dataset(file, name, some.dtype.kind, (count, None))
    data = dataset(file, name, "f", (count, 2, None, None))
    return dataset(file, name, "f", (count, 2, data.shape[2], data.shape[2]))


def read_moments(space: Manifold, file: h5py.File, count: int) -> ModalArray:
    """Moments at all `count` times."""
    result: ModalArray = modal(space, file, "moments", count)[()]
    if not np.all(np.isfinite(result)):
        raise ValueError("moments holds what is no number")
    # A probability measure has |m_l| <= 1, |m_lm| <= sqrt(2 l + 1). Far larger moments would take
    # steps without end. In R^d tokens grow.
    most = _LARGEST_MOMENT * np.sqrt(2 * result.shape[-1] - 1) if space.is_sphere else np.inf
    if result.size and np.abs(result).max() > most:
        raise ValueError(f"moments holds numbers beyond {most:.3g}, which no measure has")
    # There is no order above the degree, and no sine of order 0.
    if result.ndim > 2 and (np.any(np.triu(result, 1)) or np.any(result[:, 1, :, 0])):
        raise ValueError("moments holds numbers where there are no moments")
    return result


def texts(item: h5py.Dataset) -> list[str]:
    """Texts of a dataset, for output."""
    strings: list[str] = []
    read, most = 0, EXPANSION * item.file.id.get_filesize()
    for first in range(0, len(item), _TEXTS):
        some = [str(text) for text in item.asstr()[first : first + _TEXTS]]
        read += sum(map(len, some))
        if read > most:
            raise ValueError(f"{item.name.lstrip('/')} claims more than the file can hold")
        strings += map(printable_text, some)
    return strings


def stored_observables(file: h5py.File) -> dict[str, h5py.Dataset]:
    """Datasets of observables in an open file, by name."""
    datasets: dict[str, h5py.Dataset] = {}

    def visit(name: str, item: Any) -> None:
        if hasattr(item, "shape") and not item.is_scale:
            datasets[name] = item

    if "observables" in file:
        file["observables"].visititems(visit)
    return datasets


def checked_observables(space: Manifold, file: h5py.File, count: int) -> dict[str, h5py.Dataset]:
    """Datasets of observables: numbers, rows of clusters, arrays of the user's own."""
    if count == 0:
        return {}
    centre = (count, None, *space.point_shape)
    shapes: dict[str, tuple[int | None, ...]]
    shapes = {"clusters/mass": (count, None), "clusters/centre": centre}
    clusters = {"clusters/count", *shapes}
    datasets = stored_observables(file)
    names = {"energy", *datasets}
    numbers = {n for n, each in OBSERVABLES.items() if each.axis is None}
    # Names with a slash are parts of the package's observables, each of one shape.
    for name in {n for n in names - numbers if "/" not in n}:
        if len(datasets[name].shape) == 2:
            shapes[name] = (count, None)
    # A file has all arrays of clusters or, with other observables, none.
    if names & clusters or "clusters" not in file["observables"]:
        names |= clusters
    return {
        name: dataset(file, f"observables/{name}", "f", shapes.get(name, (count,)))
        for name in sorted(names)
    }


def checked_diagnostics(file: h5py.File, count: int) -> dict[str, h5py.Dataset]:
    """Datasets of numerical diagnostics, with a number for each of `count` times."""
    if count == 0:
        return {}
    group = file["diagnostics"]
    names = {name for name, item in group.items() if not item.is_scale} - {"representation"}
    datasets = {name: dataset(group, name, "fi", (count,)) for name in sorted(names)}
    for name in _WHOLE & names:
        if not np.all(np.isfinite(datasets[name][()])):
            raise ValueError(f"diagnostics/{name} holds what is no number")
    return datasets


def read_events(file: h5py.File) -> tuple[Event, ...]:
    """Events of an open file."""
    if "events" not in file:
        return ()
    group = file["events"]
    count = len(dataset(group, "time", "f", (None,)))
    words = [texts(dataset(group, name, "O", (count,))) for name in ("kind", "text")]
    numbers = [dataset(group, name, "fi", (count,))[()] for name in EVENT_NUMBERS]
    return tuple(
        Event(float(time), kind, text, (int(a), int(b)), (float(m), float(n)))
        for kind, text, time, a, b, m, n in zip(*words, *numbers, strict=True)
    )


def read_measures(
    space: Manifold, file: h5py.File, count: int, states: str, names: Sequence[str]
) -> tuple[Density | Measure | None, ...]:
    """States at `count` times; None where not stored or not wanted ("all", "last" or "none").

    `names` are the representations at all times.
    """
    measures: list[Density | Measure | None] = [None] * count
    readers: dict[str, Callable[[Manifold, Any, _Indices], Iterator[Density | Measure]]]
    readers = {"density": _densities, "labelled": _labelled, "measure": _points}
    for name, read in readers.items():
        if states == "none" or name not in file:
            continue
        saves = dataset(file, f"{name}/save", "i", (None,))[()]
        check_indices(f"{name}/save", saves, count)
        wanted = np.arange(len(saves)) if states == "all" else np.flatnonzero(saves == count - 1)
        for i, measure in zip(wanted, read(space, file[name], wanted), strict=True):
            at = int(saves[i])
            if names[at] == "characteristics" and isinstance(measure, Measure):
                order = usual_order(space)
                along = space.dimension if space.point_shape else 1
                if len(measure.points) % order**along == 0:
                    measure = replace(measure, cell_order=order)
            measures[at] = measure
    return tuple(measures)


def _densities(space: Manifold, group: h5py.Group, saves: _Indices) -> Iterator[Density]:
    rows = len(group["save"])
    coefficients = modal(space, group, "coefficients", rows)
    degrees = dataset(group, "degree", "i", (rows,))[()]
    check_counts("density/degree", degrees, coefficients.shape[-1] - 1)
    for degree, row in zip(degrees[saves], _rows(coefficients, saves), strict=True):
        yield Density(space, space.resize(space.packed(row), int(degree)))


def _labelled(space: Manifold, group: h5py.Group, saves: _Indices) -> Iterator[LabelledDensity]:
    rows, count = len(group["save"]), len(group["values"])
    values, weights = (dataset(group, name, "f", (count,))[()] for name in ("values", "weights"))
    name = group.attrs["label_name"]
    if name not in ("position", "frequency"):
        raise ValueError(f"labels are called {name!r}, expected position or frequency")
    labels = Labels(name, values, weights)
    kind, shape = ("c", (None,)) if len(space.modal_axes) == 1 else ("f", (2, None, None))
    coefficients = dataset(group, "coefficients", kind, (rows, count, *shape))
    degrees = dataset(group, "degree", "i", (rows,))[()]
    check_counts("labelled/degree", degrees, coefficients.shape[-1] - 1)
    means: Iterator[Any] = repeat(None)
    if "mean" in group:
        means = _rows(dataset(group, "mean", kind, (rows, *shape)), saves)
    for degree, row, mean in zip(degrees[saves], _rows(coefficients, saves), means, strict=False):
        parts = np.array([space.resize(space.packed(part), int(degree)) for part in row])
        density = LabelledDensity.of(space, parts, labels)
        if mean is not None:
            density = replace(density, coefficients=space.resize(space.packed(mean), int(degree)))
        yield density


def _points(space: Manifold, group: h5py.Group, saves: _Indices) -> Iterator[Measure]:
    rows = len(group["save"])
    points = dataset(group, "points", "f", (rows, None, *space.point_shape))
    counts = dataset(group, "count", "i", (rows,))[()]
    check_counts("measure/count", counts, points.shape[1])
    weights: Iterator[Any] = repeat(None)
    if "weights" in group:
        # As wide as the widest row with weights.
        weights = _rows(dataset(group, "weights", "f", (rows, None)), saves)
    for count, row, weight in zip(counts[saves], _rows(points, saves), weights, strict=False):
        # Equal weights are not written.
        weights_of_points = None if weight is None or np.isnan(weight[0]) else weight[:count]
        yield Measure(space, row[:count], weights_of_points)


def _rows(source: h5py.Dataset, rows: _Indices) -> Iterator[Any]:
    """Rows of a dataset, read in slabs, because one read takes a tenth of a millisecond."""
    slab = max(_SLAB_BYTES // max(source.dtype.itemsize * int(np.prod(source.shape[1:])), 1), 1)
    for first in range(0, len(rows), slab):
        chosen = rows[first : first + slab]
        yield from source[chosen[0] : chosen[-1] + 1][chosen - chosen[0]]


GROUP = "fluctuations"


def write_fluctuations(file: h5py.File, fluctuations: Fluctuations) -> None:
    """Replace the fluctuations at all saved times in an open result file."""
    drop_fluctuations(file)
    group = file.create_group(GROUP)
    # The same time under another name, for xarray.
    group["time"] = file["time"]
    put_arrays(group, labelled_arrays(fluctuations))
    group.attrs.update(fluctuations.stored_facts())


def drop_fluctuations(file: h5py.File) -> None:
    """Delete the fluctuations of an open result file."""
    if GROUP in file:
        del file[GROUP]


def read_fluctuations(
    file: h5py.File, attributes: Mapping[str, Any], problem: Callable[[], Problem]
) -> Fluctuations | None:
    """Fluctuations of an open result file, or None; `problem` is called at first use."""
    if GROUP not in file:
        return None
    from meanfield.finite.results import Fluctuations

    group = file[GROUP]
    known = {name: value for name, value in attributes.items() if name != "format_version"}
    own = plain_attributes(group, *Fluctuations.required[1:])
    return replace(restored(Fluctuations, group, known | own), source=problem)
