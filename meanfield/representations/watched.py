"""A representation that is watched: a function is called at every right-hand side.

Long steps of many tokens can then be interrupted between two evaluations, where nothing is
half done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from meanfield.arrays import ModalArray
from meanfield.measures import Density, Measure
from meanfield.arrays import State
from meanfield.representations.representation import Representation


@dataclass(frozen=True, eq=False)
class WatchedRepresentation:
    """Representation that does what another one does.

    Attributes
    ----------
    inner : Representation
        Given.
    watch : callable () -> None
        Given. What it raises ends the run.
    """

    inner: Representation
    watch: Callable[[], None]

    @property
    def name(self) -> str:
        """Name of the inner one."""
        return self.inner.name

    @property
    def state(self) -> State:
        """State of the inner one."""
        return self.inner.state

    def rhs(self, time: float, state: State) -> State:
        """Watch, then evaluate."""
        self.watch()
        return self.inner.rhs(time, state)

    def measure(self, state: State) -> Density | Measure:
        """Measure of the inner one."""
        return self.inner.measure(state)

    def moments(self, state: State, max_degree: int) -> ModalArray:
        """Moments of the inner one."""
        return self.inner.moments(state, max_degree)

    def largest_step(self, state: State) -> float:
        """Largest step of the inner one."""
        return self.inner.largest_step(state)

    def adapt(self, state: State) -> Representation | None:
        """Adapt, and go on watching."""
        return self._watched(self.inner.adapt(state))

    def refined(self, state: State) -> Representation | None:
        """Refine, and go on watching."""
        return self._watched(self.inner.refined(state))

    def failure(self, state: State) -> str | None:
        """Failure of the inner one."""
        return self.inner.failure(state)

    def diagnostics(self, state: State) -> dict[str, float]:
        """Diagnostics of the inner one."""
        return self.inner.diagnostics(state)

    def _watched(self, inner: Representation | None) -> Representation | None:
        return None if inner is None else replace(self, inner=inner)
