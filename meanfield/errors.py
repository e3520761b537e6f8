"""Errors of runs, and helpers for messages of one line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from meanfield.renamed import RENAMED

# Words that users may try -> our names.
_OTHER_WORDS = {
    "s1": "circle",
    "s^1": "circle",
    "s2": "sphere",
    "s^2": "sphere",
    "gaussian": "von_mises_fisher",
    "normal": "von_mises_fisher",
    "vmf": "von_mises_fisher",
    "kuramoto": "linear",
    "softmax": "exponential",
    "points": "tokens",
    "tokens": "from_points",
    "until": "end",
    "folder": "output",
    "dt": "step",
    **RENAMED,
}

_LONGEST_SLIP = 60
# Vectors that messages show whole.
_MOST_ENTRIES = 8


class Final(str):
    """Reason of a failure that neither shorter steps nor more degrees can mend."""


class SimulationError(RuntimeError):
    """A run that cannot go on.

    Attributes
    ----------
    time : float
        Scaled time up to which the run is valid.
    step : int
        Accepted steps until then.
    reason : str
        One line: what happened and what to do.
    evaluations : int
        Right-hand sides that the run computed; 0 where nothing counts them.
    """

    evaluations: int = 0

    def __init__(self, time: float, step: int, reason: str) -> None:
        super().__init__(f"{reason.rstrip('.')} (stopped at t = {time:.6g}, step {step}).")
        self.time, self.step, self.reason = time, step, reason

    def __reduce__(self) -> tuple[type, tuple[float, int, str]]:
        return type(self), (self.time, self.step, self.reason)


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Name that is nearest to a mistyped one, ignoring case; None if none is near.

    >>> nearest("tolerence", ["max_degree", "tolerance"]), nearest("folder", ["output", "over"])
    ('tolerance', 'output')
    """
    from difflib import get_close_matches

    by_case = {each.lower(): each for each in names}
    # Bounds the time for a long text.
    word = name[:_LONGEST_SLIP].lower()
    other = _OTHER_WORDS.get(word)
    if other in by_case.values():
        return other
    near = get_close_matches(word, by_case, 1)
    return by_case[near[0]] if near else None


def list_names(name: object, names: Iterable[str]) -> str:
    """Hint for an unknown name: the nearest known one, then all of them.

    >>> list_names("Circle", ["sphere", "circle"]), list_names(3, ["sphere", "circle"])
    ('Did you mean circle? Known: circle, sphere.', 'Known: circle, sphere.')
    """
    ordered = sorted(names)
    near = nearest(name, ordered) if isinstance(name, str) else None
    meant = "" if near is None else f"Did you mean {near}? "
    return f"{meant}Known: {', '.join(ordered)}."


def short_list(numbers: Sequence[float]) -> str:
    """Numbers for a message; of more than eight only the first three.

    >>> short_list([1.0, 2.0]), short_list([0.0] * 128)
    ('[1.0, 2.0]', '[0.0, 0.0, 0.0, ...]')
    """
    if len(numbers) <= _MOST_ENTRIES:
        return str(list(numbers))
    return f"[{', '.join(map(str, numbers[:3]))}, ...]"


def one_line(text: str) -> str:
    r"""Text as one line; characters that cannot be printed become escapes.

    >>> print(one_line("two\n  lines, \x1b[31mred"))
    two lines, \x1b[31mred
    """
    joined = " ".join(text.split())
    if joined.isprintable():
        return joined
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in joined)
