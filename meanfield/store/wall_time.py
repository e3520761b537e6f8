"""Wall time of a run in seconds, by phase, added up over sessions.

One phase runs at a time: a phase inside another one interrupts it, so the phases add up to the
time spent.
"""

from __future__ import annotations

import time as clock
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

Item = TypeVar("Item")

PHASES = ("setup", "stepping", "observing", "running", "writing")
"""Set-up; steps of a run, and its observables; tasks of a study; writing files."""

_PREFIX = "seconds_"


@dataclass(eq=False)
class WallTime:
    """Seconds by phase, counted while they pass."""

    # Phases are those of `PHASES`.
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
        """Count the time of the current phase and begin another one; return the former."""
        now = clock.perf_counter()
        if self._phase is not None:
            self.add({self._phase: now - self._since})
        before, self._phase, self._since = self._phase, phase, now
        return before


def seconds_by_phase(attributes: Mapping[str, Any]) -> dict[str, float]:
    """Seconds in the attributes of a file, in the order of `PHASES`."""
    named = {phase: attributes.get(_PREFIX + phase) for phase in PHASES}
    return {phase: float(seconds) for phase, seconds in named.items() if seconds is not None}
