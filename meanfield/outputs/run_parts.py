"""Parts of a run file, read and checked: series, states, events. Layout: `run_file`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from meanfield.arrays import ModalArray
from meanfield.events import Event
from meanfield.manifolds import Manifold
from meanfield.measures import Density, Measure
from meanfield.outputs.bounds import EXPANSION
from meanfield.outputs.layout import check_counts, check_indices, dataset, shown_text

if TYPE_CHECKING:
    import h5py

_Indices = npt.NDArray[np.int64]

EVENT_NUMBERS = ("time", "first_cluster", "second_cluster", "first_mass", "second_mass")
"""Columns of /events that are numbers, in the order of an `Event`'s."""

_COUNTS = {"steps", "rejected", "evaluations"}
_SLAB_BYTES = 2**25
# Texts read at once.
_TEXTS = 256
# What an under-resolved run may have saved is well below.
_LARGEST_MOMENT = 1000.0


def modal(space: Manifold, file: Any, name: str, count: int) -> h5py.Dataset:
    """Dataset of so many rows of coefficients, as the manifold spreads them."""
    if len(space.modal_axes) == 1:
        return dataset(file, name, "c", (count, None))
    found = dataset(file, name, "f", (count, 2, None, None))
    return dataset(file, name, "f", (count, 2, found.shape[2], found.shape[2]))


def read_moments(space: Manifold, file: h5py.File, count: int) -> ModalArray:
    """Moments at so many times."""
    found: ModalArray = modal(space, file, "moments", count)[()]
    if not np.all(np.isfinite(found)):
        raise ValueError("moments holds what is no number")
    # Of a probability measure |m_l| <= 1, |m_lm| <= sqrt(2 l + 1). Far beyond, whatever follows
    # them takes steps without end.
    most = _LARGEST_MOMENT * np.sqrt(2 * found.shape[-1] - 1)
    if found.size and np.abs(found).max() > most:
        raise ValueError(f"moments holds numbers beyond {most:.3g}, which no measure has")
    # There is no order above the degree, and no sine of order 0.
    if found.ndim > 2 and (np.any(np.triu(found, 1)) or np.any(found[:, 1, :, 0])):
        raise ValueError("moments holds numbers where there are no moments")
    return found


def texts(item: h5py.Dataset) -> list[str]:
    """Texts of a dataset, as they may be shown.

    Raises
    ------
    ValueError
        If they are longer than the file can hold: many may be one and the same long one.
    """
    found: list[str] = []
    read, most = 0, EXPANSION * item.file.id.get_filesize()
    for first in range(0, len(item), _TEXTS):
        some = [str(text) for text in item.asstr()[first : first + _TEXTS]]
        read += sum(map(len, some))
        if read > most:
            raise ValueError(f"{item.name.lstrip('/')} claims more than the file can hold")
        found += map(shown_text, some)
    return found


def found_observables(file: h5py.File) -> dict[str, h5py.Dataset]:
    """Datasets of observables in an open file, by name."""
    found: dict[str, h5py.Dataset] = {}

    def visit(name: str, item: Any) -> None:
        if hasattr(item, "shape") and not item.is_scale:
            found[name] = item

    if "observables" in file:
        file["observables"].visititems(visit)
    return found


def checked_observables(space: Manifold, file: h5py.File, count: int) -> dict[str, h5py.Dataset]:
    """Datasets of observables, each a number or a row of clusters at so many times."""
    if count == 0:
        return {}
    centre = (count, None, *space.point_shape)
    shapes: dict[str, tuple[int | None, ...]]
    shapes = {"clusters/mass": (count, None), "clusters/centre": centre}
    names = {"energy", *found_observables(file)}
    clusters = {"clusters/count", *shapes}
    # Whoever records other observables than `observe` makes has no clusters, or all of this.
    if names & clusters or "clusters" not in file["observables"]:
        names |= clusters
    return {
        name: dataset(file, f"observables/{name}", "f", shapes.get(name, (count,)))
        for name in sorted(names)
    }


def checked_diagnostics(file: h5py.File, count: int) -> dict[str, h5py.Dataset]:
    """Datasets of diagnostics that are numbers, one for each of so many times."""
    if count == 0:
        return {}
    group = file["diagnostics"]
    names = {name for name, item in group.items() if not item.is_scale} - {"representation"}
    found = {name: dataset(group, name, "fi", (count,)) for name in sorted(names)}
    for name in _COUNTS & names:
        if not np.all(np.isfinite(found[name][()])):
            raise ValueError(f"diagnostics/{name} holds what is no number")
    return found


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
    space: Manifold, file: h5py.File, count: int, states: str
) -> tuple[Density | Measure | None, ...]:
    """States at so many times, those that are kept and asked for: "all", "last" or "none"."""
    measures: list[Density | Measure | None] = [None] * count
    readers: dict[str, Callable[[Manifold, Any, _Indices], Iterator[Density | Measure]]]
    readers = {"density": _densities, "measure": _points}
    for name, read in readers.items():
        if states == "none" or name not in file:
            continue
        saves = dataset(file, f"{name}/save", "i", (None,))[()]
        check_indices(f"{name}/save", saves, count)
        kept = np.arange(len(saves)) if states == "all" else np.flatnonzero(saves == count - 1)
        for i, measure in zip(kept, read(space, file[name], kept), strict=True):
            measures[int(saves[i])] = measure
    return tuple(measures)


def _densities(space: Manifold, group: h5py.Group, kept: _Indices) -> Iterator[Density]:
    rows = len(group["save"])
    coefficients = modal(space, group, "coefficients", rows)
    degrees = dataset(group, "degree", "i", (rows,))[()]
    check_counts("density/degree", degrees, coefficients.shape[-1] - 1)
    for degree, row in zip(degrees[kept], _rows(coefficients, kept), strict=True):
        yield Density(space, space.resize(space.packed(row), int(degree)))


def _points(space: Manifold, group: h5py.Group, kept: _Indices) -> Iterator[Measure]:
    rows = len(group["save"])
    points = dataset(group, "points", "f", (rows, None, *space.point_shape))
    counts = dataset(group, "count", "i", (rows,))[()]
    check_counts("measure/count", counts, points.shape[1])
    weights: Iterator[Any] = repeat(None)
    if "weights" in group:
        # As wide as the widest row that has any.
        weights = _rows(dataset(group, "weights", "f", (rows, None)), kept)
    for count, row, weight in zip(counts[kept], _rows(points, kept), weights, strict=False):
        # Equal weights are not written.
        given = None if weight is None or np.isnan(weight[0]) else weight[:count]
        yield Measure(space, row[:count], given)


def _rows(source: h5py.Dataset, kept: _Indices) -> Iterator[Any]:
    """Rows of a dataset, read in slabs: one read a row takes a tenth of a millisecond."""
    slab = max(_SLAB_BYTES // max(source.dtype.itemsize * int(np.prod(source.shape[1:])), 1), 1)
    for first in range(0, len(kept), slab):
        chosen = kept[first : first + slab]
        yield from source[chosen[0] : chosen[-1] + 1][chosen - chosen[0]]
