"""Snapshots of the time loop: the measure at one time, and the checkpoint to go on from."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from meanfield.arrays import FixedArrays, ModalArray, State
from meanfield.events import Event
from meanfield.measures import Density, Measure


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """State at the start of a step: enough to go on equal to the bit.

    Steps are taken on a local clock, which starts again where steps are too short for it: beside
    1e60 a double knows no step of 1.

    - clock: scaled time since `epoch`.
    - state: state vector of the representation, one-dimensional.
    - step: step that the stepper tries next; None lets it choose.
    - steps, rejected, evaluations: counts since time 0: accepted steps, rejected steps, right-hand
      sides (also at saved times).
    - epoch: scaled time at which the local clock started.
    - events: how many events happened until now.
    - unit: unit of time in which the stepper works.
    - fixed (dict of str to ndarray): what the representation needs besides its state, see
      `Representation.fixed`.
    """

    clock: float
    state: State
    step: float | None = None
    steps: int = 0
    rejected: int = 0
    evaluations: int = 0
    epoch: float = 0.0
    events: int = 0
    unit: float = 1.0
    fixed: FixedArrays = field(default_factory=dict)

    @property
    def time(self) -> float:
        """Scaled time."""
        return self.epoch + self.clock


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A measure at one time.

    - time: scaled time.
    - measure (Density or Measure): the state as a measure.
    - moments: moments up to the problem's `moment_degree`, packed as the manifold likes.
    - representation: name of the representation that carries it.
    - diagnostics (dict of str to float): how well it is represented, and the work done so far.
    - checkpoint (Checkpoint): start of the step in which this time lies.
    - events (tuple of Event): what happened since the previous snapshot, or since the checkpoint
      the run started from.
    """

    time: float
    measure: Density | Measure
    moments: ModalArray
    representation: str
    diagnostics: dict[str, float] = field(default_factory=dict)
    checkpoint: Checkpoint = field(default_factory=lambda: Checkpoint(0.0, np.zeros(0)))
    events: tuple[Event, ...] = ()
