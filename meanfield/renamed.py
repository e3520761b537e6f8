"""Names before 0.2.0 of classes, arguments, keys and options; they work until the next release."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from typing import Any

RENAMED = {
    "repetitions": "runs",
    "replicas": "runs",
    "corrected_samples": "runs",
    "carrier": "representation",
    "encoder": "model",
}
"""Old name -> the name of today, which takes its place wherever it is known."""

CLASSES = {"Drift": "LinearDrift", "Space": "Euclidean"}
"""Old name of a public class -> the name of today."""


class RenamedWarning(DeprecationWarning):
    """A name that the next release will not know."""


def current_name(name: str, names: Collection[str]) -> str:
    """Name of today of an argument or a key, where that one is known; else the name itself.

    >>> current_name("replicas", ["tokens", "runs"]), current_name("replicas", ["replicas"])
    ('runs', 'replicas')
    """
    new = RENAMED.get(name, name)
    return new if name not in names and new in names else name


def notice(old: str, new: str) -> str:
    """Sentence on an old name."""
    return f"{old} is called {new} now: the old name goes with the next release."


def warned_class(name: str) -> str | None:
    """Name of today of a public class, with a warning to the caller's caller; None if not old."""
    new = CLASSES.get(name)
    if new is not None:
        warnings.warn(f"mf.{notice(name, f'mf.{new}')}", RenamedWarning, stacklevel=3)
    return new


def renamed(
    values: Mapping[str, Any], names: Collection[str], where: str | None = "", level: int = 3
) -> dict[str, Any]:
    """Values by their names of today, with a warning that begins with `where` for each old name.

    >>> renamed({"tokens": [8], "repetitions": 3}, ["tokens", "runs"], None)
    {'tokens': [8], 'runs': 3}
    """
    today = {}
    for old, value in values.items():
        new = current_name(old, names)
        if new != old and new in values:
            raise ValueError(f"{where or ''}{old} is an old name of {new}: give {new} alone.")
        if new != old and where is not None:
            warnings.warn(where + notice(old, new), RenamedWarning, stacklevel=level)
        today[new] = value
    return today
