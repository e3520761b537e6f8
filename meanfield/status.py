"""All words of the status of runs and files: why they ended."""

from __future__ import annotations

from meanfield.errors import SimulationError
from meanfield.files import NOT_WRITTEN

COMPLETED, RUNNING = "completed", "running"
_INTERRUPTED, _FAILED = "interrupted", "failed"
_BY_RULE = "stopped: "
LEFT_OUT = "left out"
"""Status of a member that an adaptive sweep skipped."""


def stopped(error: SimulationError) -> str:
    """Status after a SimulationError: its reason, with the time inserted before the colon."""
    happened, colon, details = error.reason.rstrip(".").partition(":")
    return f"{happened} at t = {error.time:.6g}{colon}{details}"


def cut_short(error: BaseException, where: str) -> str:
    """Status after an interrupt or any other exception than a SimulationError."""
    # Closing a stream raises GeneratorExit in it.
    interrupted = isinstance(error, KeyboardInterrupt | GeneratorExit)
    return f"{_INTERRUPTED if interrupted else _FAILED} {where}"


def ended_by(rule: object) -> str:
    """Status of a run that its stop rule ended: a known name, or the name of a function.

    >>> ended_by("one_cluster"), ended_by(max), ended_by(lambda time, measure: True)
    ('stopped: one_cluster', 'stopped: max', 'stopped: lambda')
    """
    name = rule if isinstance(rule, str) else getattr(rule, "__name__", type(rule).__name__)
    return f"{_BY_RULE}{name.strip('<>')}"


def stop_rule(status: str) -> str:
    """Name of the stop rule that ended a run, else empty."""
    return status.removeprefix(_BY_RULE) if status.startswith(_BY_RULE) else ""


def is_finished(status: str | None) -> bool:
    """True if a run is complete: it reached its end, or its stop rule ended it."""
    return status == COMPLETED or bool(stop_rule(status or ""))


def is_cut_short(status: str) -> bool:
    """True if an interruption or an error ended a file, so that it can be continued."""
    return status.startswith((RUNNING, _INTERRUPTED, _FAILED)) or NOT_WRITTEN in status
