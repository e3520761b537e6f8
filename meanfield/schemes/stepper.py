"""Interface of time steppers, and their start. The time loop uses nothing else of them."""

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
    """Start of a stepper: enough to continue a run equal to the bit."""

    time: float  # on the stepper's clock
    state: State
    step: float | None = None  # step to try first; None lets the stepper choose
    unit: float = 1.0  # unit of time in which it works
    steps: int = 0  # steps taken before
    end: float = math.inf  # the right-hand side has no values at later times


INNER_ERROR = 10.0
"""Largest error of a state inside a step, in tolerances."""


class StepTooLong(Exception):
    """An accepted step jumped over a change that a shorter step from its start meets."""

    def __init__(self, step: float) -> None:
        super().__init__(f"a step of {step:g} has a larger error than the longer one around it")
        self.step = step


class Stepper(Protocol):
    """Takes steps that saving and stopping never change."""

    @property
    def time(self) -> float:
        """Scaled time after the last step."""
        ...

    @property
    def previous_time(self) -> float:
        """Time at which the last step began."""
        ...

    @property
    def state(self) -> State:
        """State after the last step."""
        ...

    @property
    def step_size(self) -> float:
        """Step size to try next."""
        ...

    @property
    def attempts(self) -> int:
        """Attempts of the last step; all but one were rejected."""
        ...

    def step(self, largest: float = ...) -> bool:
        """Take a step, not longer than `largest` unless steps are fixed; False if none succeeds."""
        ...

    def interpolate(self) -> None:
        """Do the work that all states inside the last step share."""
        ...

    def dense_output(self, time: float) -> State:
        """State inside the last step; StepTooLong if it errs by over `INNER_ERROR` tolerances."""
        ...
