"""Section [time]: when a run ends, and which times it saves."""

from __future__ import annotations

from typing import Any

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.config.tables import Key, either, integer, list_of, number, one_of
from meanfield.problem import Problem
from meanfield.simulation import scaled_times
from meanfield.theory.time_units import TIME_UNITS, time_unit
from meanfield.trajectory import MOST_STEPS

_MANY_SAVES = 1_000_000

TIME_KEYS = {
    "end": Key(number),
    "unit": Key(one_of(*TIME_UNITS), "scaled"),
    "save": Key(either(integer, list_of(number, least=1)), 61),
    "spacing": Key(one_of("linear", "log"), "linear"),
    "first": Key(number, None),
    "stop": Key(one_of("one_cluster"), None),
    "step": Key(number, None),
}


def times_of(values: dict[str, Any], problem: Problem) -> FloatArray:
    """Times to save, in scaled time.

    Raises
    ------
    ValueError
        If they are too many, out of order or out of range.
    """
    save = values["save"]
    count = save if isinstance(save, int) else len(save)
    if count > _MANY_SAVES:
        raise ValueError(f"save must be at most {_MANY_SAVES} times, got {count}.")
    if values["spacing"] == "log":
        save = _logarithmic(save, values["first"], values["end"])
    elif values["first"] is not None:
        raise ValueError('first needs spacing = "log".')
    return scaled_times(problem, values["end"], save, values["unit"])


def step_of(values: dict[str, Any], problem: Problem) -> float | None:
    """Time step of noisy particles, in scaled time.

    Raises
    ------
    ValueError
        If it is not positive, longer than the run, or so short that the run would not end.
    """
    step, end = values["step"], values["end"]
    if step is None:
        return None
    if not 0.0 < step <= end:
        raise ValueError(f"step = {step:g} must be positive, and at most end = {end:g}.")
    if end > MOST_STEPS * step:
        raise ValueError(
            f"step = {step:g} makes {end / step:.3g} steps until end = {end:g}, at most "
            f"{MOST_STEPS:g}: nobody could wait for more."
        )
    return float(step) * time_unit(problem, values["unit"])


def _logarithmic(count: Any, first: float | None, end: float) -> list[float]:
    if not isinstance(count, int) or count < 2 or first is None or not 0 < first < end:
        raise ValueError(
            'spacing = "log" needs save = COUNT of at least 2 and first between 0 and end.'
        )
    times = np.geomspace(first, end, count)
    times[0], times[-1] = first, end
    return [float(t) for t in times]
