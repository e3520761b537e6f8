"""Stages: parameters of a problem that change with time, piecewise constant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from meanfield.arguments import checked
from meanfield.laws.initial import uniform
from meanfield.terms.attention import Attention
from meanfield.terms.fixed import FeedForward, LinearDrift
from meanfield.terms.flows import Flow
from meanfield.terms.kernels import Kernel

if TYPE_CHECKING:
    from meanfield.problem import Problem

CHANGING = ("kernel", "flow", "feed_forward", "drift")
"""Parts of a problem that a stage may change."""


@checked
@dataclass(frozen=True)
class Stage:
    """Part of a run with other parameters; those that are None are the problem's.

    An attention has its own flow.

    Attributes
    ----------
    end : float, optional
        End, in the unit of time of the run; with layers their number. The last stage has none.
    kernel : Kernel or Attention, optional
    flow : Flow, optional
    feed_forward, drift : FeedForward, LinearDrift; optional
        To switch one off, give a FeedForward with output = 0, or LinearDrift(0).

    Raises
    ------
    ValueError
        If the end is not positive and finite.

    Examples
    --------
    >>> import meanfield as mf
    >>> stages = [mf.Stage(end=2.0), mf.Stage(kernel=mf.exponential(9.0))]
    >>> mf.Problem(mf.Circle(), mf.exponential(3.0), mf.SA, stages=stages).staged[1].kernel
    exponential(beta=9.0)
    """

    end: float | None = None
    kernel: Kernel | Attention | None = None
    flow: Flow | None = None
    feed_forward: FeedForward | None = None
    drift: LinearDrift | None = None

    def __post_init__(self) -> None:
        if self.end is not None and not 0.0 < self.end < math.inf:
            raise ValueError(f"end of a stage must be positive and finite, got {self.end:g}.")

    def __repr__(self) -> str:
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        arguments = (f"{name}={value!r}" for name, value in values.items() if value is not None)
        return f"Stage({', '.join(arguments)})"


def check_ends(stages: Sequence[Stage]) -> None:
    """Refuse ends that are missing or out of order.

    >>> check_ends([Stage(end=2.0), Stage(end=1.0), Stage()])
    Traceback (most recent call last):
    ValueError: stage 2 ends at 1, not after stage 1, which ends at 2.
    """
    before = 0.0
    for number, stage in enumerate(stages, 1):
        if number == len(stages):
            if stage.end is not None:
                raise ValueError(
                    f"the last of {number} stages ends at {stage.end:g}, and nothing would follow "
                    "it: give it no end, it lasts on."
                )
        elif stage.end is None:
            raise ValueError(
                f"stage {number} of {len(stages)} has no end, the last alone has none."
            )
        elif stage.end <= before:
            raise ValueError(
                f"stage {number} ends at {stage.end:g}, not after stage {number - 1}, which ends "
                f"at {before:g}."
            )
        else:
            before = stage.end


def stage_problems(problem: Problem) -> tuple[Problem, ...]:
    """Problem of each stage alone, with the initial law `uniform`."""
    problems = []
    for number, stage in enumerate(problem.stages, 1):
        parts = {name: getattr(stage, name) for name in CHANGING}
        changes = {name: value for name, value in parts.items() if value is not None}
        if isinstance(changes.get("kernel", problem.kernel), Attention):
            changes.setdefault("flow", None)  # the attention sets its flow
        try:
            problems.append(replace(problem, initial=uniform(), stages=(), **changes))
        except ValueError as error:
            raise ValueError(f"stage {number}: {error}") from None
    return tuple(problems)


def differing_stages(problem: Problem, alone: Sequence[Problem]) -> tuple[Stage, ...]:
    """Stages with only the parts that differ from the problem."""
    stages = list[Stage]()
    for stage, own in zip(problem.stages, alone, strict=True):
        parts: dict[str, Any] = {name: getattr(own, name) for name in CHANGING}
        changed = {name: part for name, part in parts.items() if part != getattr(problem, name)}
        stages.append(Stage(stage.end, **changed))
    return tuple(stages)


def on_clock_of(problem: Problem, alone: Problem) -> Problem:
    """The problem of a stage, or of one time, in the scaled time of the whole problem."""
    share = float(np.exp(alone.log_scale - problem.log_scale))
    kernel, flow = alone.kernel, alone.flow
    if share == 0.0:
        raise ValueError(
            f"the velocity of a stage with beta = {alone.beta:g} vanishes beside that of the "
            f"stage of the largest beta, by e^{alone.log_scale - problem.log_scale:.4g}."
        )
    if share != 1.0 and isinstance(kernel, Attention):
        kernel = replace(kernel, strength=share * kernel.strength)
        flow = kernel.flow
    elif share != 1.0:
        flow = replace(flow, strength=share * flow.strength)
    scaled = replace(alone, kernel=kernel, flow=flow, initial=problem.initial)
    # All stages share one initial measure, although a law may depend on the parameters.
    scaled.__dict__["_initial_measure"] = problem._initial_measure
    return scaled
