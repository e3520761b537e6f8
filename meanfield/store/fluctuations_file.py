"""Fluctuations of N tokens in a run file, beside the run: its group /fluctuations.

Written at once and as a whole, when the run is there; a run that goes on loses them. They follow
from the problem and the saved times, and the hash of results does not cover them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from meanfield.problem import Problem
from meanfield.spaces import Manifold
from meanfield.store.layout import dataset
from meanfield.store.reading import plain_attributes

if TYPE_CHECKING:
    import h5py

    from meanfield.finite.results import Fluctuations

GROUP = "fluctuations"
_LAYOUTS = {
    1: "moments int e^{-ik theta} dmu, k = 0 ... degree",
    2: "moments int Y_lm dmu as pyshtools lays them out, (2, degree + 1, degree + 1) flat; 4-pi "
    "normalised, no Condon-Shortley phase",
}
_NUMBERS = ("degree", "max_degree", "resolved_degree", "agreement", "tail", "resolved_until")


def write_fluctuations(file: h5py.File, fluctuations: Fluctuations) -> None:
    """Put fluctuations at all saved times in the place of those that an open run file has."""
    drop_fluctuations(file)
    group = file.create_group(GROUP)
    # The same time under another name, for xarray.
    group["time"] = file["time"]
    count = fluctuations.shift.shape[1]
    for name in ("moment", "other_moment"):
        group.create_dataset(name, data=np.arange(count)).make_scale(name)
    limit = np.array([np.ravel(fluctuations.space.spread(row)) for row in fluctuations.limit])
    of_one, of_two = ("time", "moment"), ("time", "moment", "other_moment")
    for name, values, axes in (
        ("limit", limit, of_one),
        ("shift", fluctuations.shift, of_one),
        ("covariance", fluctuations.covariance, of_two),
        ("relation", fluctuations.relation, of_two),
    ):
        item = group.create_dataset(name, data=values)
        for axis, scale in enumerate(axes):
            item.dims[axis].attach_scale(group[scale])
    group.attrs.update({name: getattr(fluctuations, name) for name in _NUMBERS})
    group.attrs.update(
        {"note": fluctuations.note, "layout": _LAYOUTS[fluctuations.space.dimension]}
    )
    if fluctuations.tokens is not None:
        group.attrs["tokens"] = fluctuations.tokens


def drop_fluctuations(file: h5py.File) -> None:
    """Delete the fluctuations of an open run file."""
    if GROUP in file:
        del file[GROUP]


def read_fluctuations(
    space: Manifold, file: h5py.File, times: Any, problem: Callable[[], Problem], unit: str
) -> Fluctuations | None:
    """Fluctuations at the saved times of an open run file; None for a file without them.

    `problem` is called at first use; its stages end in `unit`.
    """
    if GROUP not in file:
        return None
    from meanfield.finite.results import Fluctuations, real_fluctuations

    group = file[GROUP]
    attributes = plain_attributes(group, *_NUMBERS, "note")
    rows, degree = len(times), int(attributes["degree"])
    circle = space.dimension == 1
    count, kind = (degree + 1, "c") if circle else (2 * (degree + 1) ** 2, "f")
    limit, shift = (dataset(group, name, kind, (rows, count))[()] for name in ("limit", "shift"))
    covariance, relation = (
        dataset(group, name, kind, (rows, count, count))[()] for name in ("covariance", "relation")
    )
    shape = (count,) if circle else (2, degree + 1, degree + 1)
    real_covariance, real_shift = real_fluctuations(space, degree, covariance, relation, shift)
    return Fluctuations(
        problem,
        space,
        times,
        degree,
        attributes.get("tokens"),
        limit=np.array([space.packed(row.reshape(shape)) for row in limit]),
        real_covariance=real_covariance,
        real_shift=real_shift,
        resolved_degree=attributes["resolved_degree"],
        agreement=attributes["agreement"],
        tail=attributes["tail"],
        note=attributes["note"],
        max_degree=attributes["max_degree"],
        unit=unit,
    )
