"""A hash of results: the same numbers have the same one, however the file came to hold them.

SHA-256 over a line "meanfield results 1" and then, for each array in the order of their names, a
line "NAME TYPE SHAPE" and its numbers in C order: little-endian doubles (f8), pairs of them for
complex numbers (c16), integers of 8 bytes (i8). Every NaN has the same bytes. What a run pads with
NaN counts as far as it is needed: columns that are NaN in all rows are left off at the end.

Where the time of a run goes: seconds on the wall clock, by phase, added up over sessions.

One phase at a time is running; what a phase does inside another one counts for itself alone, so
that phases add up to the time spent.
"""

from __future__ import annotations

import hashlib
import time as clock
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

_TYPES = {"f": "f8", "c": "c16", "i": "i8", "u": "i8"}

# Wide moments are read in pieces of this size.
_PIECE_BYTES = 2**24


def result_hash(results: Mapping[str, Any]) -> str:
    """Hash of named arrays, 64 hexadecimal digits.

    results: of floating, complex or integer numbers, with at least one axis.
    """
    digest = hashlib.sha256(b"meanfield results 1\n")
    for name in sorted(results):
        values = results[name]
        if values.dtype.kind not in _TYPES:
            raise TypeError(f"{name} is of {values.dtype}, expected an array of numbers.")
        kind = _TYPES[values.dtype.kind]
        shape = "x".join(map(str, values.shape))
        digest.update(f"{name} {kind} {shape}\n".encode())
        for piece in _pieces(values):
            digest.update(_canonical(piece, kind).data)
    return digest.hexdigest()


def run_results(time: Any, moments: Any, observables: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays of a run that its hash covers: time, moments and observables.

    observables: by name. Those with several columns are read as a whole.
    """
    named = {f"observables/{name}": _unpadded(values) for name, values in observables.items()}
    return {"time": time, "moments": moments, **named}


def _unpadded(values: Any) -> Any:
    if len(values.shape) < 2:
        return values
    table = values[()]
    others = tuple(axis for axis in range(table.ndim) if axis != 1)
    used = np.flatnonzero(~np.isnan(table).all(axis=others))
    return table[:, : used[-1] + 1 if len(used) else 0]


def _pieces(values: Any) -> Iterator[npt.NDArray[Any]]:
    """Rows of an array or dataset, many at a time."""
    row_bytes = values.dtype.itemsize * int(np.prod(values.shape[1:]))
    rows = max(_PIECE_BYTES // max(row_bytes, 1), 1)
    for first in range(0, values.shape[0], rows):
        yield np.asarray(values[first : first + rows])


def _canonical(piece: npt.NDArray[Any], kind: str) -> npt.NDArray[Any]:
    """Numbers of a piece, one-dimensional, whose memory is what is hashed."""
    flat = np.ascontiguousarray(piece, f"<{kind}").reshape(-1)
    if kind == "i8":
        return flat
    numbers = flat.view("<f8")
    missing = np.isnan(numbers)
    # Bits of a NaN tell where it comes from, which is no result.
    return np.where(missing, np.nan, numbers) if missing.any() else numbers


Item = TypeVar("Item")

PHASES = ("setup", "stepping", "observing", "running", "writing")
"""Set-up; steps of a run, and what is observed of them; tasks of a study; files."""

_PREFIX = "seconds_"


@dataclass(eq=False)
class WallTime:
    """Seconds by phase, counted while they pass."""

    # Given or derived. Phases are those of `PHASES`.
    seconds: dict[str, float] = field(default_factory=dict)
    _phase: str | None = field(default=None, init=False, repr=False)
    _since: float = field(default=0.0, init=False, repr=False)

    @contextmanager
    def during(self, phase: str) -> Iterator[None]:
        """Count the block for a phase, and not for the one around it."""
        around = self._turn_to(phase)
        try:
            yield
        finally:
            self._turn_to(around)

    def over(self, items: Iterable[Item], phase: str) -> Iterator[Item]:
        """Pass items through and count the making of each for a phase."""
        source, end = iter(items), object()
        while True:
            with self.during(phase):
                item = next(source, end)
            if item is end:
                return
            yield item  # type: ignore[misc]

    def add(self, seconds: Mapping[str, float]) -> None:
        """Count seconds that passed in an earlier session."""
        for phase, earlier in seconds.items():
            self.seconds[phase] = self.seconds.get(phase, 0.0) + earlier

    def attributes(self) -> dict[str, float]:
        """Attributes of a file that hold the seconds until now."""
        self._turn_to(self._phase)
        return {_PREFIX + phase: seconds for phase, seconds in self.seconds.items()}

    def _turn_to(self, phase: str | None) -> str | None:
        """Count what has passed and begin another phase; which one ran until now."""
        now = clock.perf_counter()
        if self._phase is not None:
            self.add({self._phase: now - self._since})
        before, self._phase, self._since = self._phase, phase, now
        return before


def seconds_by_phase(attributes: Mapping[str, Any]) -> dict[str, float]:
    """Seconds that the attributes of a file tell of, in the order of `PHASES`."""
    named = {phase: attributes.get(_PREFIX + phase) for phase in PHASES}
    return {phase: float(seconds) for phase, seconds in named.items() if seconds is not None}
