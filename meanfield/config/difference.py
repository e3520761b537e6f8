"""Where two run files differ: what decides whether a stored result may be continued."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from meanfield.config.config import Config, with_defaults
from meanfield.config.document import parsed
from meanfield.config.errors import ConfigError


def check_continues(
    config: Config, stored: str, path: Path, free: Mapping[str, tuple[str, ...] | None]
) -> None:
    """Refuse to continue a result of another run file.

    Parameters
    ----------
    config : Config
        The run file given now.
    stored : str
        The run file that the result was made from, as TOML.
    path : Path
        Where the result is, for the error.
    free : mapping
        As in `config_difference`; keys that were left out have their defaults.

    Raises
    ------
    ConfigError
        If they differ in anything that is not free, or the stored one is none.
    """
    try:
        before = with_defaults(parsed(stored))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ConfigError(
            f"{path} does not tell the run file it was made from: use --overwrite to start again."
        ) from None
    different = config_difference(before, with_defaults(config.tables), free)
    if different is not None:
        raise ConfigError(
            f"{config.source.name}: {different} differs from that of {path}, which --resume "
            "continues. Use --overwrite to start again."
        )


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
