"""Snapshots of the time loop, and checkpoints from which it goes on."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from meanfield.arrays import FixedArrays, ModalArray, State
from meanfield.events import Event
from meanfield.measures import Density, Measure


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """State at the start of a step, from which a run goes on equal to the bit.

    Steps use a local clock, which starts again where steps are too short for it: a double near
    1e60 cannot represent a step of 1.
    """

    clock: float  # scaled time since `epoch`
    state: State  # state vector of the representation, one-dimensional
    step: float | None = None  # step that the stepper tries next; None lets it choose
    # Counts since time 0: accepted steps, rejected steps, right-hand sides (also at saved times).
    steps: int = 0
    rejected: int = 0
    evaluations: int = 0
    epoch: float = 0.0  # scaled time at which the local clock started
    events: int = 0  # number of events until now
    unit: float = 1.0  # the stepper's unit of time
    fixed: FixedArrays = field(default_factory=dict)  # see `Representation.fixed`

    @property
    def time(self) -> float:
        """Scaled time."""
        return self.epoch + self.clock


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A measure at one time."""

    time: float  # scaled time
    measure: Density | Measure
    moments: ModalArray  # up to the problem's `moment_degree`, packed
    representation: str
    diagnostics: dict[str, float] = field(default_factory=dict)  # accuracy, and work since time 0
    # Start of the step in which this time lies.
    checkpoint: Checkpoint = field(default_factory=lambda: Checkpoint(0.0, np.zeros(0)))
    # Events since the previous snapshot, or since the checkpoint from which the run started.
    events: tuple[Event, ...] = ()
