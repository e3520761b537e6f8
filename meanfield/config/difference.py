"""Where two run files differ: what decides whether a stored result may be continued."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def config_difference(
    before: dict[str, Any], after: dict[str, Any], free: Mapping[str, tuple[str, ...] | None]
) -> str | None:
    """First key in which two run files differ and may not.

    Parameters
    ----------
    before, after : dict
        TOML documents.
    free : mapping
        Section -> keys that may differ; None frees the whole section. The title is free.

    Returns
    -------
    str or None
        "[section] key", None if there is no such key.

    Examples
    --------
    >>> config_difference({"time": {"end": 1, "save": 2}}, {"time": {"end": 3}}, {"time": ("end",)})
    '[time] save'
    """
    for section in sorted({*before, *after} - {"title"}):
        keys = free.get(section, ())
        if keys is None:
            continue
        old, new = before.get(section, {}), after.get(section, {})
        if not isinstance(old, dict) or not isinstance(new, dict):
            return section
        for key in sorted({*old, *new} - set(keys)):
            if old.get(key) != new.get(key):
                return f"[{section}] {key}"
    return None
