"""Fluctuations of N tokens in a run file, beside the run: its group /fluctuations.

Written at once and as a whole, when the run is there; a run that goes on loses them. They follow
from the problem and the saved times, and the hash of results does not cover them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from meanfield.problem import Problem
from meanfield.store.reading import plain_attributes
from meanfield.store.study_file import labelled_arrays, put_arrays, restored

if TYPE_CHECKING:
    import h5py

    from meanfield.finite.results import Fluctuations

GROUP = "fluctuations"


def write_fluctuations(file: h5py.File, fluctuations: Fluctuations) -> None:
    """Put fluctuations at all saved times in the place of those that an open run file has."""
    drop_fluctuations(file)
    group = file.create_group(GROUP)
    # The same time under another name, for xarray.
    group["time"] = file["time"]
    put_arrays(group, labelled_arrays(fluctuations))
    group.attrs.update(fluctuations.stored_facts())


def drop_fluctuations(file: h5py.File) -> None:
    """Delete the fluctuations of an open run file."""
    if GROUP in file:
        del file[GROUP]


def read_fluctuations(
    file: h5py.File, attributes: Mapping[str, Any], problem: Callable[[], Problem]
) -> Fluctuations | None:
    """Fluctuations at the saved times of an open run file; None for a file without them.

    `problem` is called at first use.
    """
    if GROUP not in file:
        return None
    from meanfield.finite.results import Fluctuations

    group = file[GROUP]
    known = {name: value for name, value in attributes.items() if name != "format_version"}
    own = plain_attributes(group, *Fluctuations.required[1:])
    return replace(restored(Fluctuations, group, known | own), source=problem)
