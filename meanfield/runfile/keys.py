"""Keys of a run file: a section is a function or a dataclass, its parameters are the keys.

The type of a parameter gives the kind of its values: float a number, tuple[int, ...] a list of
integers, Literal one of a few strings, `Annotated[..., kind]` that kind. keys.toml explains the
keys. `schema` makes the tables of the docs and the JSON schema from both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import Parameter, signature
from types import NoneType
from typing import Annotated, Any, Literal, cast, get_args, get_origin, get_type_hints

from meanfield.errors import list_names, one_line

REQUIRED = object()
"""Default of a key that must be given."""

HEADS = ("heads", "random_heads")
"""Sections that are lists of heads."""

# Errors quote values up to this length and depth: a run file may hold anything.
_MOST_CHARACTERS = 60
_MOST_LEVELS = 4
_MOST_BITS = 128
_MOST_ITEMS = 20


@dataclass(frozen=True, eq=False)
class Kind:
    """Kind of a value.

    `take` returns the value as the program uses it, or raises TypeError with the expected kind;
    `schema` is the JSON schema of the values.
    """

    take: Callable[[Any], Any]
    schema: Mapping[str, Any]

    def __call__(self, value: Any) -> Any:
        return self.take(value)


def kind(**schema: Any) -> Callable[[Callable[[Any], Any]], Kind]:
    """Decorator that makes a `Kind` from its `take`."""
    return lambda take: Kind(take, schema)


class ConfigError(ValueError):
    """Error in a run file, in one line: file, section, key and allowed values."""

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message))


@contextmanager
def located(where: str) -> Iterator[None]:
    """Turn errors of constructors in the block into `ConfigError` that begins with `where`."""
    try:
        yield
    except ConfigError:
        raise
    except (ValueError, TypeError, OverflowError, MemoryError) as error:
        reason = str(error) or "needs more memory than there is."
        raise ConfigError(f"{where} {reason}") from None


@dataclass(frozen=True)
class Key:
    """One key of a section: its kind, and its default, or `REQUIRED`."""

    kind: Kind
    default: Any = REQUIRED


def keys_of(section: Callable[..., Any], **kinds: Kind) -> dict[str, Key]:
    """Keys of a section: its parameters, but for those before a slash.

    `kinds` replaces kinds that the types alone do not determine.

    >>> def times(problem, /, end: float, save: int | None = 61): ...
    >>> read_table("run.toml: [time]", {"end": 2}, keys_of(times))
    {'end': 2.0, 'save': 61}
    """
    hints = get_type_hints(section, include_extras=True)
    return {
        name: Key(kinds.get(name) or _kind_of(hints[name]), _default(parameter.default))
        for name, parameter in signature(section).parameters.items()
        if parameter.kind is not Parameter.POSITIONAL_ONLY
    }


def _kind_of(hint: Any) -> Kind:
    if get_origin(hint) is Annotated:
        return cast(Kind, get_args(hint)[1])
    if get_origin(hint) is Literal:
        return one_of(*get_args(hint))
    if get_origin(hint) is tuple:
        return list_of(_kind_of(get_args(hint)[0]), least=1)
    if NoneType in get_args(hint):
        return _kind_of(get_args(hint)[0])
    return {float: number, int: integer, bool: boolean, str: string}[hint]


def table_schema(keys: Mapping[str, Key], texts: Mapping[str, str] | None = None) -> dict[str, Any]:
    """JSON schema of a table with these keys; texts: key -> its meaning.

    >>> table_schema({"end": Key(number)}, {"end": "End time"})
    {'type': 'object', 'properties': {'end': {'type': 'number', 'description': 'End time'}}, \
'required': ['end'], 'additionalProperties': False}
    """
    properties = {}
    for name, key in keys.items():
        usual = {} if key.default in (REQUIRED, None) else {"default": key.default}
        text = {"description": texts[name]} if texts is not None else {}
        properties[name] = {**key.kind.schema, **usual, **text}
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name, key in keys.items() if key.default is REQUIRED],
        "additionalProperties": False,
    }


def _default(value: Any) -> Any:
    """Default as a run file would give it."""
    if value is Parameter.empty:
        return REQUIRED
    return list(value) if isinstance(value, tuple) else value


def read_table(where: str, table: Any, keys: dict[str, Key]) -> dict[str, Any]:
    """Values of all keys of a section."""
    if not isinstance(table, dict):
        raise ConfigError(f"{where} must be a table, got {format_value(table)}.")
    for name in table:
        if name not in keys:
            unknown = f"{where} {shortened(repr(name))} is not a key of this section."
            raise ConfigError(f"{unknown} {list_names(name, keys)}")
    values = {}
    for name, key in keys.items():
        if name not in table and key.default is REQUIRED:
            raise ConfigError(f"{where} {name} is missing.")
        try:
            values[name] = key.kind(table[name]) if name in table else key.default
        except TypeError as error:
            raise ConfigError(f"{where} {name} = {format_value(table[name])} {error}.") from None
    return values


def format_value(value: Any) -> str:
    """Short form of a value as TOML would write it.

    >>> format_value({"end": [1, "two", True]})
    '{ end = [1, "two", true] }'
    """
    return shortened(_toml(value, _MOST_LEVELS))


def shortened(text: str) -> str:
    """Text of at most 60 characters, so that a message stays a line."""
    return text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 3] + "..."


def _toml(value: Any, depth: int) -> str:
    if isinstance(value, str):
        escaped = value[: _MOST_CHARACTERS + 1].encode("unicode_escape").decode()
        return '"' + escaped.replace('"', '\\"') + '"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return f"<integer of {int(value.bit_length() * math.log10(2)) + 1} digits>"
    if isinstance(value, list | dict) and depth == 0:
        return "..."
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item, depth - 1) for item in value[:_MOST_ITEMS]) + "]"
    if isinstance(value, dict):
        items = [f"{key} = {_toml(value[key], depth - 1)}" for key in list(value)[:_MOST_ITEMS]]
        return "{ " + ", ".join(items) + " }"
    return str(value)


@kind(type="number")
def number(value: Any) -> float:
    """Finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("must be a number")
    try:
        converted = float(value)
    except OverflowError:
        converted = math.inf
    if not math.isfinite(converted):
        raise TypeError("must be a finite number")
    return converted


@kind(type="integer")
def integer(value: Any) -> int:
    """Integer that fits 63 bits."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("must be an integer")
    if abs(value) >= 2**63:
        raise TypeError("must be an integer below 2^63")
    return value


@kind(type="boolean")
def boolean(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise TypeError("must be true or false")
    return value


@kind(type="string")
def string(value: Any) -> str:
    """String without null characters."""
    if not isinstance(value, str):
        raise TypeError("must be a string")
    if "\0" in value:
        raise TypeError("must be a string without null characters")
    return value


@kind(type="string")
def line(value: Any) -> str:
    """String of one printable line."""
    if not isinstance(value, str) or not value.isprintable():
        raise TypeError("must be a string of one printable line")
    return value


def one_of(*allowed: str) -> Kind:
    """One of a few strings."""

    @kind(enum=list(allowed))
    def name(value: Any) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise TypeError(f"is not known. {list_names(value, allowed).rstrip('.')}")
        return value

    return name


def list_of(item_kind: Kind, *, least: int = 0) -> Kind:
    """List whose members are all of one kind."""

    @kind(type="array", items=item_kind.schema, minItems=least)
    def items(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise TypeError("must be a list")
        if len(value) < least:
            raise TypeError(f"must be a list of at least {least}")
        taken = []
        for item in value:
            try:
                taken.append(item_kind(item))
            except TypeError as error:
                raise TypeError(f"holds {format_value(item)}, which {error}") from None
        return taken

    return items


def either(*kinds: Kind) -> Kind:
    """Value of the first kind that accepts it."""

    @kind(anyOf=[each.schema for each in kinds])
    def first(value: Any) -> Any:
        reasons = []
        for candidate in kinds:
            try:
                return candidate(value)
            except TypeError as error:
                reasons.append(str(error))
        others = [reason.removeprefix("must be ") for reason in reasons[1:]]
        raise TypeError(" or ".join(reasons[:1] + others))

    return first
