"""Carriers of problems that change with time: each question is answered at its own time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar

_Method = TypeVar("_Method", bound=Callable[..., Any])


def at_time(method: _Method) -> _Method:
    """Let a carrier answer (time, state) under its problem of that time."""

    @wraps(method)
    def answer(carrier: Any, time: float, state: Any) -> Any:
        if not carrier.problem.is_time_dependent:
            return method(carrier, time, state)
        result = method(_at(carrier, time), time, state)
        # A refined carrier goes on under the whole problem.
        is_carrier = isinstance(result, type(carrier))
        return replace(result, problem=carrier.problem) if is_carrier else result

    return answer  # type: ignore[return-value]


def _at(carrier: Any, time: float) -> Any:
    """Carrier under the problem at a time; the last one is stored, for a step asks it often."""
    last = carrier.__dict__.get("_at_time")
    if last is None or last[0] != time:
        last = time, replace(carrier, problem=carrier.problem.now(time))
        carrier.__dict__["_at_time"] = last
    return last[1]
