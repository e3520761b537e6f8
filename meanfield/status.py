"""How runs and files say why they end where they do: the words of a status, all of them."""

from __future__ import annotations

from meanfield.errors import SimulationError
from meanfield.files.replacing import NOT_WRITTEN

COMPLETED, RUNNING = "completed", "running"
_INTERRUPTED, _FAILED = "interrupted", "failed"


def stopped(error: SimulationError) -> str:
    """Reason with the time after what happened.

    Examples
    --------
    >>> stopped(SimulationError(3.2, 7, "under-resolved: spectral tail 1e-8"))
    'under-resolved at t = 3.2: spectral tail 1e-8'
    """
    happened, colon, details = error.reason.rstrip(".").partition(":")
    return f"{happened} at t = {error.time:.6g}{colon}{details}"


def cut_short(error: BaseException, where: str) -> str:
    """Status after anything but a reason of the run's own.

    Examples
    --------
    >>> cut_short(KeyboardInterrupt(), "at t = 3")
    'interrupted at t = 3'
    """
    # A stream that its consumer closes ends by GeneratorExit.
    asked = isinstance(error, KeyboardInterrupt | GeneratorExit)
    return f"{_INTERRUPTED if asked else _FAILED} {where}"


def is_cut_short(status: str) -> bool:
    """Whether nothing but a disturbance ended what the file holds: more of it can follow.

    Examples
    --------
    >>> is_cut_short("interrupted at t = 3"), is_cut_short("under-resolved at t = 3: tail 1e-3")
    (True, False)
    """
    return status.startswith((RUNNING, _INTERRUPTED, _FAILED)) or NOT_WRITTEN in status
