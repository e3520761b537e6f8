"""Read keys from TOML tables: known keys only, with the right types.

A `Key` says what a value must be; `read_table` checks a whole section against its keys.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from meanfield.config.errors import ConfigError

REQUIRED = object()
"""Default of a key that must be given."""

# Errors quote values up to this length and depth: a run file may hold anything.
_SHOWN_LENGTH = 60
_SHOWN_DEPTH = 4
_SHOWN_BITS = 128
_SHOWN_ITEMS = 20


@dataclass(frozen=True)
class Key:
    """One key of a section.

    Attributes
    ----------
    kind : callable (value) -> value
        Given. Returns the value as the program uses it; raises TypeError naming what it wants.
    default : object
        Given. `REQUIRED` if there is none.
    """

    kind: Callable[[Any], Any]
    default: Any = REQUIRED


def read_table(where: str, table: Any, keys: dict[str, Key]) -> dict[str, Any]:
    """Values of all keys of a section.

    Raises
    ------
    ConfigError
        If the section is no table, a key is unknown, missing, or of the wrong type.

    Examples
    --------
    >>> read_table("run.toml: [time]", {"end": 2}, {"end": Key(number)})
    {'end': 2.0}
    """
    if not isinstance(table, dict):
        raise ConfigError(f"{where} must be a table, got {shown(table)}.")
    for name in table:
        if name not in keys:
            known = ", ".join(sorted(keys))
            raise ConfigError(
                f"{where} {shortened(repr(name))} is not a key of this section. Known: {known}."
            )
    values = {}
    for name, key in keys.items():
        if name not in table:
            if key.default is REQUIRED:
                raise ConfigError(f"{where} {name} is missing.")
            values[name] = key.default
            continue
        try:
            values[name] = key.kind(table[name])
        except TypeError as error:
            raise ConfigError(f"{where} {name} = {shown(table[name])} {error}.") from None
    return values


def shown(value: Any) -> str:
    """Short form of a value as TOML would write it.

    Examples
    --------
    >>> shown({"end": [1, "two", True]})
    '{ end = [1, "two", true] }'
    """
    return shortened(_toml(value, _SHOWN_DEPTH))


def shortened(text: str) -> str:
    """Text of at most 60 characters, so that a message stays a line."""
    return text if len(text) <= _SHOWN_LENGTH else text[: _SHOWN_LENGTH - 3] + "..."


def _toml(value: Any, depth: int) -> str:
    if isinstance(value, str):
        escaped = value[: _SHOWN_LENGTH + 1].encode("unicode_escape").decode()
        return '"' + escaped.replace('"', '\\"') + '"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and value.bit_length() > _SHOWN_BITS:
        return f"<integer of {int(value.bit_length() * math.log10(2)) + 1} digits>"
    if isinstance(value, list | dict) and depth == 0:
        return "..."
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item, depth - 1) for item in value[:_SHOWN_ITEMS]) + "]"
    if isinstance(value, dict):
        items = [f"{key} = {_toml(value[key], depth - 1)}" for key in list(value)[:_SHOWN_ITEMS]]
        return "{ " + ", ".join(items) + " }"
    return str(value)


def number(value: Any) -> float:
    """Finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("must be a number")
    try:
        converted = float(value)
    except OverflowError:
        raise TypeError("must be a finite number") from None
    if not math.isfinite(converted):
        raise TypeError("must be a finite number")
    return converted


def integer(value: Any) -> int:
    """Integer that fits 63 bits."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("must be an integer")
    if abs(value) >= 2**63:
        raise TypeError("must be an integer below 2^63")
    return value


def boolean(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise TypeError("must be true or false")
    return value


def string(value: Any) -> str:
    """String without null characters."""
    if not isinstance(value, str):
        raise TypeError("must be a string")
    if "\0" in value:
        raise TypeError("must be a string without null characters")
    return value


def line(value: Any) -> str:
    """String of one printable line."""
    if not isinstance(value, str) or not value.isprintable():
        raise TypeError("must be a string of one printable line")
    return value


def one_of(*allowed: str) -> Callable[[Any], str]:
    """One of a few strings."""

    def kind(value: Any) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise TypeError(f"is not known. Known: {', '.join(sorted(allowed))}")
        return value

    return kind


def list_of(kind: Callable[[Any], Any], *, least: int = 0) -> Callable[[Any], list[Any]]:
    """List whose members are all of one kind."""

    def checked(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise TypeError("must be a list")
        if len(value) < least:
            raise TypeError(f"must be a list of at least {least}")
        items = []
        for item in value:
            try:
                items.append(kind(item))
            except TypeError as error:
                raise TypeError(f"holds {shown(item)}, which {error}") from None
        return items

    return checked


def either(*kinds: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Value of the first kind that takes it."""

    def kind(value: Any) -> Any:
        reasons = []
        for candidate in kinds:
            try:
                return candidate(value)
            except TypeError as error:
                reasons.append(str(error))
        raise TypeError(" or ".join(reasons))

    return kind
