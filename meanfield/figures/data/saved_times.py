"""Saved times of a run: those for a figure, their representations, their axis; range of colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from meanfield.arrays import FloatArray
from meanfield.described import Facts
from meanfield.events import successor
from meanfield.measures import Density, Measure
from meanfield.runs import KEEP_STATES, Run
from meanfield.schemes.layers import FLOW_OF

CHARACTERISTICS, ATOMS = "characteristics", "atoms"
# Tokens follow stored moments up to this scaled time. Clusters contract at rates of about 1, which
# limits the steps of an explicit method, and later pictures no longer change.
_FOLLOWED_UNTIL = 5e3
_MOST_FRAMES = 150
# The axis is logarithmic if half of the saved times lie in the first twentieth of the run.
_EARLY = 0.05
_ENOUGH = 3


def is_smooth(run: Run, index: int) -> bool:
    """True if the state at a saved time is a density, or the quadrature nodes of one."""
    measure = run.measures[index]
    return isinstance(measure, Density) or (measure is not None and measure.cell_order > 0)


def atoms_at(run: Run, index: int) -> Measure | None:
    """Atoms of a saved time; None for another representation, or if the state was not kept."""
    measure = run.measures[index]
    is_atoms = isinstance(measure, Measure) and run.representation[index] == ATOMS
    return measure if isinstance(measure, Measure) and is_atoms else None


def saves_with_a_density(run: Run) -> int:
    """Number of saved times, from the first on, at which a density can move tokens."""
    count = 0
    for time, name in zip(run.scaled_time, run.representation, strict=True):
        if name not in ("density", CHARACTERISTICS) or time > _FOLLOWED_UNTIL:
            break
        count += 1
    return count


def saves_with_the_same_tokens(run: Run) -> int:
    """Number of saved times, from the first on, with the same tokens in the same order."""
    count = 0
    first = run.measures[0]
    for measure, name in zip(run.measures, run.representation, strict=True):
        if name in (CHARACTERISTICS, ATOMS) or not isinstance(measure, Measure):
            break
        if not isinstance(first, Measure) or len(measure.points) != len(first.points):
            break
        count += 1
    return count


def is_logarithmic(time: FloatArray) -> bool:
    """True if the saved times are spread over orders of magnitude."""
    later = time[time > 0]
    return len(later) >= _ENOUGH and bool(later[(len(later) - 1) // 2] < _EARLY * later[-1])


def places_on_axis(times: FloatArray, logarithmic: bool) -> FloatArray:
    """Places of times along their axis, up to a linear map."""
    return np.log(times) if logarithmic else times


def edges_between(times: FloatArray, logarithmic: bool) -> FloatArray:
    """Edges of columns: middles between times along the axis, and the first and last time."""
    places = places_on_axis(times, logarithmic)
    middle = 0.5 * (places[1:] + places[:-1])
    return np.concatenate([times[:1], np.exp(middle) if logarithmic else middle, times[-1:]])


def shown(run: Run) -> NDArray[np.int64]:
    """Indices of the saved times on the axis; a logarithmic one has no place for 0."""
    return np.flatnonzero(run.time > 0) if is_logarithmic(run.time) else np.arange(len(run.time))


def spread_evenly(times: FloatArray, count: int, logarithmic: bool = False) -> NDArray[np.int64]:
    """Indices of up to `count` times, even along the axis, with the first and the last."""
    places = places_on_axis(times, logarithmic)
    gap = (places[-1] - places[0]) / max(count - 1, 1) * (1.0 - 1e-9)
    chosen = [0]
    for i, place in enumerate(places[1:], start=1):
        if place - places[chosen[-1]] >= gap:
            chosen.append(i)
    # The last time replaces the last choice: pictures show the state at the end of a run.
    if count > 1 and len(places) > 1:
        chosen[max(len(chosen) - 1, 1) :] = [len(places) - 1]
    return np.array(chosen)


@dataclass(frozen=True, eq=False)
class Frame:
    """Frame of every picture of a run: title, facts and time axis."""

    title: str  # may be empty
    facts: Facts  # manifold, kernel and flow
    # (n,): saved times on the axis, or its two ends. All times of a picture are in `unit`.
    times: FloatArray
    logarithmic: bool  # whether the axis is log t
    # Largest growth rate of the uniform state, per `unit`; growth times are t times this.
    growth_rate: float
    hand_overs: tuple[tuple[float, str], ...]  # time of each hand-over, and the new representation
    unit: str = "scaled"  # unit of the run: "scaled", "paper" or "growth"; or "layers"
    # Whether the picture is drawn on axes of the user. Then only the title is above it, because
    # facts and growth times need more room.
    guest: bool = False

    @property
    def has_angles(self) -> bool:
        """True if points are angles, so that figures have an axis for them beside time."""
        return self.on_circle or self.facts.manifold.startswith("axial")

    @property
    def on_circle(self) -> bool:
        return self.facts.manifold in ("", "circle")


def frame(run: Run, limits: tuple[float, float] | None = None) -> Frame:
    """Frame of the pictures of a run; `limits` gives the ends of a logarithmic axis."""
    facts = run.facts
    # With functions of time, the rate at time 0 does not hold later.
    rate = 0.0 if facts.functions else facts.growth_rate_max
    return Frame(
        facts.title,
        facts,
        run.time[shown(run)] if limits is None else np.array(limits),
        limits is not None or is_logarithmic(run.time),
        rate * run.unit_length,
        tuple(
            (event.time, successor(event))
            for event in run.events_in(run.unit)
            if event.kind == "hand-over"
        ),
        "layers" if counts_layers(facts) else run.unit,
    )


def counts_layers(facts: Facts) -> bool:
    """True if times are numbers of layers with a step other than 0."""
    return bool(facts.layers) and not facts.layers.startswith(FLOW_OF)


def part(run: Run, indices: Sequence[int] | NDArray[np.int64]) -> Run:
    """Run of some of the saved times of another."""
    chosen = np.asarray(indices, dtype=np.int64)
    return replace(
        run,
        scaled_time=run.scaled_time[chosen],
        moments=run.moments[chosen],
        observables={name: values[chosen] for name, values in run.observables.items()},
        diagnostics={name: values[chosen] for name, values in run.diagnostics.items()},
        representation=tuple(run.representation[i] for i in chosen),
        measures=tuple(run.measures[i] for i in chosen),
    )


def film_times(run: Run, most: int = _MOST_FRAMES) -> NDArray[np.int64]:
    """Indices of the saved times with a state: at most `most`, even along the time axis."""
    saves = np.array([i for i in shown(run) if run.measures[i] is not None], dtype=np.int64)
    if len(saves) < 2:
        raise ValueError(
            f"films and views need at least 2 saved times with their states, the run has "
            f"{len(saves)}: {KEEP_STATES}."
        )
    if len(saves) > most:
        saves = saves[spread_evenly(run.time[saves], most, is_logarithmic(run.time))]
    return saves


Limits = tuple[float, float] | None
"""Lowest and highest value to draw, from the user."""

# Colours span at most this range, and at least the factor _NEAR_UNIFORM around uniform.
_LOWEST, _HIGHEST = 0.05, 30.0
_NEAR_UNIFORM = 1.25


def colour_range(values: FloatArray) -> tuple[float, float]:
    """Lowest and highest density that have a colour of their own."""
    positive = values[values > 0]
    lowest = min(max(float(positive.min()), _LOWEST), 1.0 / _NEAR_UNIFORM)
    return lowest, max(min(float(positive.max()), _HIGHEST), _NEAR_UNIFORM)
