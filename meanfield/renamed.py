"""Old names of classes, arguments, keys and options; the next release after 0.2.0 drops them."""

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
"""Old name -> new name, which replaces it wherever the new one is allowed."""

CLASSES = {"Drift": "LinearDrift", "Space": "Euclidean"}
"""Old name of a public class -> new name."""


class RenamedWarning(DeprecationWarning):
    """Warning about a name that the next release drops."""


def current_name(name: str, names: Collection[str]) -> str:
    """New name of an argument or a key where `names` has it, else the name itself.

    >>> current_name("replicas", ["tokens", "runs"]), current_name("replicas", ["replicas"])
    ('runs', 'replicas')
    """
    new = RENAMED.get(name, name)
    return new if name not in names and new in names else name


def notice(old: str, new: str) -> str:
    """Message on an old name."""
    return f"{old} is called {new} now: the old name goes with the next release."


def warned_class(name: str) -> str | None:
    """New name of a public class, with a warning; None if the name is not an old one."""
    new = CLASSES.get(name)
    if new is not None:
        warnings.warn(f"mf.{notice(name, f'mf.{new}')}", RenamedWarning, stacklevel=3)
    return new


def renamed(
    values: Mapping[str, Any], names: Collection[str], where: str | None = "", level: int = 3
) -> dict[str, Any]:
    """Values by their new names; each old name warns, in a sentence that begins with `where`.

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
