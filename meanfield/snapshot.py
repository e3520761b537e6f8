"""What the time loop yields: the measure at one time, and where to go on from."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from meanfield.arrays import ModalArray, State
from meanfield.measures import Density, Measure


@dataclass(frozen=True)
class Event:
    """Something that happened between two saved times.

    Attributes
    ----------
    time : float
        Scaled time.
    kind : str
        "hand-over" (to another representation), "atom" (a cluster is an atom from here on), "merge"
        (two clusters have met), "note".
    text : str
        One line for the reader.
    atoms : (int, int)
        Numbers of the atoms concerned, -1 for none: the new atom, or one atom of each cluster.
    mass : (float, float)
        Their masses; of a merge those of the two clusters just before it.
    """

    time: float
    kind: str
    text: str = ""
    atoms: tuple[int, int] = (-1, -1)
    mass: tuple[float, float] = (math.nan, math.nan)


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """State at the start of a step: enough to go on equal to the bit.

    Attributes
    ----------
    time : float
        Scaled time.
    state : ndarray
        State vector of the representation, one-dimensional.
    step : float or None
        Step that the stepper tries next; None lets it choose.
    steps, rejected, evaluations : int
        Counts since time 0: accepted steps, rejected steps, right-hand sides.
    """

    time: float
    state: State
    step: float | None = None
    steps: int = 0
    rejected: int = 0
    evaluations: int = 0


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A measure at one time.

    Attributes
    ----------
    time : float
        Scaled time.
    measure : Density or Measure
        The state as a measure.
    moments : ndarray
        Moments up to the problem's `moment_degree`, packed as the manifold likes.
    representation : str
        Name of the representation that carries it.
    diagnostics : dict of str to float
        How well it is represented, and the work done so far.
    checkpoint : Checkpoint
        Start of the step in which this time lies.
    """

    time: float
    measure: Density | Measure
    moments: ModalArray
    representation: str
    diagnostics: dict[str, float] = field(default_factory=dict)
    checkpoint: Checkpoint = field(default_factory=lambda: Checkpoint(0.0, np.zeros(0)))
