"""Interface of time steppers, and their start: all that the time loop uses of integrators."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from meanfield.arrays import State

RightHandSide = Callable[[float, State], State]
"""A function of (time, state)."""


@dataclass(frozen=True, eq=False)
class Start:
    """Where a stepper starts: all that a later one needs to go on equal to the bit."""

    time: float  # on the stepper's clock
    state: State
    step: float | None = None  # step to try first; None lets the stepper choose
    unit: float = 1.0  # unit of time in which it works
    steps: int = 0  # how many steps were taken before
    end: float = math.inf  # the right-hand side has no values beyond


INNER_ERROR = 10.0
"""Largest error of a state inside a step, in tolerances."""


class StepTooLong(Exception):
    """An accepted step jumped over a change that a shorter one from the same start meets."""

    def __init__(self, step: float) -> None:
        super().__init__(f"a step of {step:g} has a larger error than the longer one around it")
        self.step = step


class Stepper(Protocol):
    """Takes steps, without an end, so that saving and stopping never change them."""

    @property
    def time(self) -> float:
        """Scaled time where it stands."""
        ...

    @property
    def previous_time(self) -> float:
        """Time at which the last step began."""
        ...

    @property
    def state(self) -> State:
        """State where it stands."""
        ...

    @property
    def step_size(self) -> float:
        """Step that it tries next."""
        ...

    @property
    def attempts(self) -> int:
        """Attempts that the last step took; all but one were rejected."""
        ...

    def step(self, largest: float = ...) -> bool:
        """Take one step, not longer than `largest`; False if it fell below rounding."""
        ...

    def interpolate(self) -> None:
        """Prepare states inside the last step, where one preparation serves all of them."""
        ...

    def dense_output(self, time: float) -> State:
        """State inside the last step, which began at `previous_time`.

        StepTooLong where its error is above `INNER_ERROR` tolerances.
        """
        ...
