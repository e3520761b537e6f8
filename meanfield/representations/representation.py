"""What a representation is: the only thing that the time loop knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from meanfield.arrays import FixedArrays, ModalArray, State
from meanfield.events import Event
from meanfield.integrators import Stepper
from meanfield.measures import Density, Measure


class Representation(Protocol):
    """A measure as a state vector with its right-hand side, in scaled time since the run began.

    A representation does not change: the time loop holds the state, and `adapt` returns a
    new representation when the state has outgrown the old one. What may ask for a velocity gets
    the time. `refined` and `arrival` do not; `events` has the stepper's clock. Atoms that rest,
    meetings (`meeting.py`) and the ascent of the energy are of flows that do not depend on it.
    """

    @property
    def name(self) -> str:
        """What run files call it."""
        ...

    @property
    def state(self) -> State:
        """State vector to start from."""
        ...

    @property
    def tolerance(self) -> float:
        """What it may leave unresolved, in moments."""
        ...

    @property
    def fixed(self) -> FixedArrays:
        """Arrays that, beside a later state, are enough to make it again."""
        ...

    def rhs(self, time: float, state: State) -> State:
        """Time derivative of the state, in scaled time."""
        ...

    def measure(self, state: State) -> Density | Measure:
        """Measure that the state stands for."""
        ...

    def moments(self, state: State, max_degree: int) -> ModalArray:
        """Moments of that measure."""
        ...

    def largest_step(self, time: float, state: State) -> float:
        """Largest stable time step of an explicit method from this state."""
        ...

    def adapt(self, time: float, state: State) -> Representation | None:
        """Representation to go on with from this state, None to go on as it is."""
        ...

    def refined(self, state: State) -> Representation | None:
        """Finer representation of the same state, None if there is none."""
        ...

    def failure(self, time: float, state: State) -> str | None:
        """Reason why this state must not be trusted, None if there is none."""
        ...

    def events(self, step: Stepper) -> Sequence[Event]:
        """What happened within the last step, in order, on the stepper's clock."""
        ...

    def arrival(self) -> Sequence[Event]:
        """What there is to say where it takes over, on a clock that starts there."""
        ...

    def diagnostics(self, time: float, state: State) -> dict[str, float]:
        """Numbers that say how well the state is represented."""
        ...
