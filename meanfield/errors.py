"""What went wrong: a run that cannot go on, and errors as one line."""

from __future__ import annotations


class SimulationError(RuntimeError):
    """A run that cannot go on.

    Attributes
    ----------
    time : float
        Scaled time up to which the run is valid.
    step : int
        Accepted steps until then.
    reason : str
        What happened and what to do, one line.
    """

    def __init__(self, time: float, step: int, reason: str) -> None:
        """Keep the facts and make one line of them."""
        super().__init__(f"{reason.rstrip('.')} (stopped at t = {time:.6g}, step {step}).")
        self.time, self.step, self.reason = time, step, reason

    def __reduce__(self) -> tuple[type, tuple[float, int, str]]:
        """Survive the way from a worker process."""
        return type(self), (self.time, self.step, self.reason)


def one_line(text: str) -> str:
    r"""Text as one line of printable characters; others as TOML would write them.

    Examples
    --------
    >>> print(one_line("two\n  lines, \x1b[31mred"))
    two lines, \x1b[31mred
    """
    joined = " ".join(text.split())
    if joined.isprintable():
        return joined
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in joined)
