"""Evolve a problem and collect the run: the front door from Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.problem import Problem
from meanfield.representations import Options, hand_over_rule, represent
from meanfield.representations.effects import check_options
from meanfield.runs import Run, collect
from meanfield.theory.time_units import time_unit
from meanfield.trajectory import trajectory

LATEST = 1e300
"""Latest time of a run, in scaled time: sums of times and steps stay below 1.8e308."""


def simulate(
    problem: Problem,
    until: float,
    *,
    save: int | Sequence[float] = 61,
    representation: str = "auto",
    step: float | None = None,
    unit: str = "scaled",
    **options: Any,
) -> Run:
    """Evolve a problem and collect the run.

    Parameters
    ----------
    problem : Problem
        What is solved, with its initial law.
    until : float
        End time, in `unit`.
    save : int or sequence of float
        Number of equally spaced times, 0 and the end included, or the times themselves.
    representation : str
        "auto", "density", "characteristics", "atoms" or "particles".
    step : float, optional
        Time step of noisy particles, in `unit`.
    unit : str
        "scaled", "paper" or "growth".
    **options
        tolerance, max_degree, max_nodes, tokens, seed: see `Options`.

    Returns
    -------
    Run

    Raises
    ------
    ValueError
        If a value is out of range, or an option cannot act on this run.
    SimulationError
        If the run cannot go on.

    Examples
    --------
    >>> import meanfield as mf
    >>> law = mf.perturbed_uniform([[3, 0.1, 0.0]])
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA, law)
    >>> run = mf.simulate(problem, until=0.05, unit="paper", save=2)
    >>> run.moments[-1, 3].real.round(9)
    np.float64(0.126185441)
    """
    scaled_step = None if step is None else time_unit(problem, unit) * step
    chosen = Options(name=representation, step=scaled_step, **options)
    times = scaled_times(problem, until, save, unit)
    begun = represent(problem, chosen)
    check_options(problem, chosen)
    stream = trajectory(
        problem,
        begun,
        times,
        tolerance=chosen.step_tolerance,
        hand_over=hand_over_rule(problem, chosen),
    )
    return collect(problem, stream, unit=unit)


def scaled_times(
    problem: Problem, until: float, save: int | Sequence[float], unit: str
) -> FloatArray:
    """Times at which to save, in scaled time.

    Raises
    ------
    ValueError
        As `save_times` and `time_unit`, or if the last is later than 1e300.
    """
    times = time_unit(problem, unit) * save_times(until, save)
    if not times[-1] <= LATEST:
        raise ValueError(
            f"end = {until:g} must be at most {LATEST:g} in scaled time, got {times[-1]:.3g}."
        )
    return times


def save_times(until: float, save: int | Sequence[float]) -> FloatArray:
    """Increasing times at which to save.

    Raises
    ------
    ValueError
        If the end is not positive, or a time is negative, later than the end, or out of order.
    """
    if not np.isfinite(until) or until <= 0:
        raise ValueError(f"end must be positive and finite, got {until:g}.")
    if isinstance(save, int | np.integer):
        if save < 2:
            raise ValueError(f"save must be at least 2 times, got {save}.")
        return np.linspace(0.0, until, save)
    times = np.asarray(save, dtype=np.float64)
    if times.ndim != 1 or len(times) == 0 or not np.all(np.isfinite(times)):
        raise ValueError("save must be a number of times or a list of finite times.")
    if np.any(np.diff(times) <= 0) or times[0] < 0:
        raise ValueError("save times must be increasing and not negative.")
    if times[-1] > until:
        raise ValueError(f"save holds {times[-1]:g}, later than end = {until:g}.")
    return times
