"""Stepper of discrete layers: each step is one layer and one unit of time."""

from __future__ import annotations

import numpy as np

from meanfield.arrays import State
from meanfield.schemes.stepper import RightHandSide, Start


class LayerStepper:
    """Takes one layer a step, state <- layer(time, state); time is the number of layers taken."""

    step_size = 1.0
    attempts = 1

    def __init__(self, layer: RightHandSide, start: Start) -> None:
        self._layer = layer
        self.time = self.previous_time = start.time
        self.state = self._before = start.state

    def step(self, largest: float = np.inf) -> bool:
        self.previous_time, self._before = self.time, self.state
        with np.errstate(all="ignore"):
            self.state = self._layer(self.time, self.state)
        self.time = self.previous_time + 1.0
        return True

    def interpolate(self) -> None:
        pass

    def dense_output(self, time: float) -> State:
        if time == self.previous_time:
            return self._before
        if time == self.time:
            return self.state
        raise ValueError(f"t = {time:g} lies inside a layer, expected a whole number of layers.")
