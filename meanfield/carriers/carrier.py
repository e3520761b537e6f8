"""Interface between representations and the time loop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, ClassVar, TypeVar

from meanfield.arrays import FixedArrays, ModalArray, State
from meanfield.events import Event
from meanfield.measures import Density, Measure
from meanfield.problem import Problem
from meanfield.schemes import Stepper

_Method = TypeVar("_Method", bound=Callable[..., Any])


class Representation(ABC):
    """A measure as a state vector with its right-hand side, in scaled time since the run began.

    A representation does not change: the time loop stores the state, and `adapt` returns a new
    representation when the state outgrows the old one.
    """

    name: str
    state: State
    tolerance: float
    carries: ClassVar[frozenset[str]] = frozenset()
    """Names among `step_limits.FEATURES` that a problem may have beside attention."""

    @abstractmethod
    def rhs(self, time: float, state: State) -> State:
        """Time derivative of the state, in scaled time."""

    @abstractmethod
    def measure(self, state: State) -> Density | Measure:
        """Measure of a state."""

    @abstractmethod
    def moments(self, state: State, max_degree: int) -> ModalArray:
        """Moments of that measure up to `max_degree`."""

    @property
    def fixed(self) -> FixedArrays:
        """Arrays that, with a later state, rebuild the representation."""
        return {}

    def state_under(self, problem: Problem, state: State) -> State:
        """State of the same representation under another problem."""
        return state

    def largest_step(self, time: float, state: State) -> float:
        """Largest stable time step of an explicit method from this state."""
        return float("inf")

    def adapt(self, time: float, state: State) -> Representation | None:
        """Representation that replaces this one in this state; None to keep this one."""
        return None

    def refined(self, state: State, rejected: State) -> Representation | None:
        """Finer representation after a rejected step; None if it cannot be refined."""
        return None

    def failure(self, time: float, state: State) -> str | None:
        """Reason to distrust this state, or None."""
        return None

    def events(self, step: Stepper) -> Sequence[Event]:
        """Events within the last step, in order, on the stepper's clock."""
        return ()

    def arrival(self) -> Sequence[Event]:
        """Events at the start of this representation, on a clock that starts there."""
        return ()

    def diagnostics(self, time: float, state: State) -> dict[str, float]:
        """Numbers that say how well the state is represented."""
        return {}

    def at_saved_time(
        self, time: float, state: State, max_degree: int
    ) -> tuple[Density | Measure, ModalArray, dict[str, float]]:
        """Measure, moments and diagnostics of a state, computed together."""
        return self.measure(state), self.moments(state, max_degree), self.diagnostics(time, state)


def at_time(method: _Method) -> _Method:
    """Decorator: call a method of (time, state) with the problem of that time."""

    @wraps(method)
    def answer(carrier: Any, time: float, state: Any) -> Any:
        if not carrier.problem.is_time_dependent:
            return method(carrier, time, state)
        result = method(_at(carrier, time), time, state)
        # A new carrier keeps the time-dependent problem.
        is_carrier = isinstance(result, type(carrier))
        return replace(result, problem=carrier.problem) if is_carrier else result

    return answer  # type: ignore[return-value]


def _at(carrier: Any, time: float) -> Any:
    """Carrier under the problem of a time; cached, for a step uses each time repeatedly."""
    last = carrier.__dict__.get("_at_time")
    if last is None or last[0] != time:
        last = time, replace(carrier, problem=carrier.problem.now(time))
        carrier.__dict__["_at_time"] = last
    return last[1]
