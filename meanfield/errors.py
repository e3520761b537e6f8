"""Errors: a run that cannot go on, and errors as one line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from meanfield.renamed import RENAMED

# Other words for what has a name here.
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
    """A reason that neither shorter steps nor more degrees can mend."""


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
    evaluations : int
        Right-hand sides that the run computed, if it counted them.
    """

    evaluations: int = 0

    def __init__(self, time: float, step: int, reason: str) -> None:
        super().__init__(f"{reason.rstrip('.')} (stopped at t = {time:.6g}, step {step}).")
        self.time, self.step, self.reason = time, step, reason

    def __reduce__(self) -> tuple[type, tuple[float, int, str]]:
        return type(self), (self.time, self.step, self.reason)


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Which of some names was meant, if one is near; case does not count.

    >>> nearest("tolerence", ["max_degree", "tolerance"]), nearest("folder", ["output", "over"])
    ('tolerance', 'output')
    """
    # Only errors need it.
    from difflib import get_close_matches

    by_case = {each.lower(): each for each in names}
    # A slip of the pen is short.
    word = name[:_LONGEST_SLIP].lower()
    other = _OTHER_WORDS.get(word)
    if other in by_case.values():
        return other
    near = get_close_matches(word, by_case, 1)
    return by_case[near[0]] if near else None


def list_names(name: object, names: Iterable[str]) -> str:
    """End of the sentence on a name that is not known: which was meant, and all that are.

    >>> list_names("Circle", ["sphere", "circle"]), list_names(3, ["sphere", "circle"])
    ('Did you mean circle? Known: circle, sphere.', 'Known: circle, sphere.')
    """
    ordered = sorted(names)
    near = nearest(name, ordered) if isinstance(name, str) else None
    meant = "" if near is None else f"Did you mean {near}? "
    return f"{meant}Known: {', '.join(ordered)}."


def short_list(numbers: Sequence[float]) -> str:
    """Return numbers for a message, the first of many alone.

    >>> short_list([1.0, 2.0]), short_list([0.0] * 128)
    ('[1.0, 2.0]', '[0.0, 0.0, 0.0, ...]')
    """
    if len(numbers) <= _MOST_ENTRIES:
        return str(list(numbers))
    return f"[{', '.join(map(str, numbers[:3]))}, ...]"


def one_line(text: str) -> str:
    r"""Text as one line of printable characters; others as TOML would write them.

    >>> print(one_line("two\n  lines, \x1b[31mred"))
    two lines, \x1b[31mred
    """
    joined = " ".join(text.split())
    if joined.isprintable():
        return joined
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in joined)
