"""Values of --over: keys of a run file, each with its values.

    section.key=LO:HI:COUNT          COUNT equally spaced numbers from LO to HI
    section.key=LO:HI:COUNT:log      the same with equal ratios
    section.key=A,B,C                values, as --set takes them; ranges may stand among them

Numbers of ranges are exact decimals: 0.1:0.9:9 holds 0.3, not the double beside it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import numpy as np

from meanfield.runfile.document import RIVALS, named, value_of
from meanfield.runfile.keys import ConfigError, format_value
from meanfield.studies.sweep_results import Parameter

MOST_MEMBERS = 100_000
"""Largest number of members of a product: each is a file."""

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
# Text that begins like a range is a range, or an error.
_RANGE = re.compile(rf"\s*{_NUMBER}\s*:.*")
_PARTS = re.compile(rf"({_NUMBER}):({_NUMBER}):(\d+)(:log)?")
# Digits of ratios, and digits that decide whether a number is whole.
_DIGITS, _KEPT = 60, 40
# Exponents beyond those of doubles would be written out, or be infinite.
_LARGEST_EXPONENT = 307
# Sections of studies, which act on no run.
_OTHERS = ("compare", "ensemble")


def parameters_of(
    arguments: Iterable[str], sections: Mapping[str, Collection[str]], fixed: Sequence[str] = ()
) -> tuple[Parameter, ...]:
    """Parameters of some "section.key=values".

    sections: section -> keys that it may have.
    fixed: arguments of --set, whose keys are refused here.

    >>> found = parameters_of(["time.end=0.1:0.5:5", "time.unit=paper,growth"],
    ...     {"time": ["end", "unit"]})
    >>> [parameter.values for parameter in found]
    [(0.1, 0.2, 0.3, 0.4, 0.5), ('paper', 'growth')]
    """
    parameters: list[Parameter] = []
    before = {_plain_name(each): "--set" for each in fixed}
    for argument in arguments:
        section, key = named(argument, sections, "--over")
        name = section if key is None else f"{section}.{key}"
        said = f"--over {format_value(argument)}"
        if name in before:
            again = "twice" if before[name] == "--over" else "to --set, too: give one"
            raise ConfigError(f"{said}: {name} is given {again}.")
        other = f"{section}.{RIVALS.get(key or '', '')}"
        if section == "problem" and other in before:
            raise ConfigError(f"{said}: {other} says the same and is given, too.")
        before[name] = "--over"
        if section in _OTHERS or name in ("title", "output", "output.path"):
            why = "each has a file of its own" if section == "output" else f"[{section}] is none"
            raise ConfigError(f"{said} changes nothing in runs: {why if key else name}.")
        values = [value for part in _split(argument.partition("=")[2], said) for value in part]
        parameters.append(Parameter(name, checked_values(said, values)))
    check_size(parameters)
    return tuple(parameters)


def checked_values(said: str, values: Sequence[Any]) -> tuple[Any, ...]:
    """Values of one parameter: at least one, and all distinct."""
    if not values:
        raise ConfigError(f"{said} has no values: give LO:HI:COUNT, or A,B,C.")
    met: set[Any] = set()
    for i, value in enumerate(values):
        # Lists and tables cannot be hashed, but they are few.
        plain = isinstance(value, str | int | float)
        if value in met if plain else value in values[:i]:
            raise ConfigError(f"{said} has {toml_value(value)} twice.")
        if plain:
            met.add(value)
    return tuple(values)


def check_size(parameters: Sequence[Parameter]) -> None:
    """Refuse a product that is empty or too large."""
    if not parameters:
        raise ConfigError("a sweep needs a key: give --over SECTION.KEY=LO:HI:COUNT.")
    count = prod(len(parameter.values) for parameter in parameters)
    if count > MOST_MEMBERS:
        raise ConfigError(f"--over: {count} runs are more than {MOST_MEMBERS}.")


def members_of(parameters: Sequence[Parameter]) -> list[dict[str, Any]]:
    """Overrides of each member: key -> value, the last parameter changing first.

    >>> members_of([Parameter("time.end", (1, 2)), Parameter("time.unit", ("paper",))])
    [{'time.end': 1, 'time.unit': 'paper'}, {'time.end': 2, 'time.unit': 'paper'}]
    """
    keys = [parameter.key for parameter in parameters]
    return [
        dict(zip(keys, values, strict=True))
        for values in product(*(parameter.values for parameter in parameters))
    ]


def toml_value(value: Any) -> str:
    """A value as TOML writes it on one line.

    >>> toml_value(["a", 1.5, True]), toml_value({"name": "uniform"}), toml_value(np.float64(2))
    ('["a", 1.5, true]', '{name = "uniform"}', '2.0')
    """
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, Mapping):
        pairs = (f"{_toml_key(name)} = {toml_value(each)}" for name, each in value.items())
        return f"{{{', '.join(pairs)}}}"
    raise ConfigError(f"{format_value(str(value))} is no value of a run file.")


def _toml_key(name: Any) -> str:
    text = str(name)
    return text if re.fullmatch(r"[A-Za-z0-9_-]+", text) else toml_value(text)


def _plain_name(argument: str) -> str:
    """Key that an argument names, without spaces."""
    return ".".join(part.strip() for part in argument.partition("=")[0].split("."))


def _split(text: str, said: str) -> Iterable[list[Any]]:
    """Values of each part between commas outside brackets and strings."""
    for part in _parts(text):
        if not part.strip():
            raise ConfigError(f"{said} lacks a value: give LO:HI:COUNT, or A,B,C.")
        yield numbers_of(part.strip(), said) if _RANGE.fullmatch(part) else [value_of(part)]


def _parts(text: str) -> Iterable[str]:
    depth, quote, escaped, start = 0, "", False, 0
    for i, letter in enumerate(text):
        if escaped:
            escaped = False
        elif quote:
            # Strings in single quotes have no escapes.
            escaped = letter == "\\" and quote == '"'
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in "[{":
            depth += 1
        elif letter in "]}":
            depth -= 1
        elif letter == "," and depth == 0:
            yield text[start:i]
            start = i + 1
    yield text[start:]


def numbers_of(text: str, said: str) -> list[int | float]:
    """Numbers of a range LO:HI:COUNT, or LO:HI:COUNT:log.

    Whole numbers are integers if both ends are written as integers.

    >>> numbers_of("1:3:5", ""), numbers_of("0.01:1:3:log", ""), numbers_of("1:1000:4:log", "")
    ([1, 1.5, 2, 2.5, 3], [0.01, 0.1, 1.0], [1, 10, 100, 1000])
    """
    match = _PARTS.fullmatch(text.replace(" ", ""))
    if match is None:
        raise ConfigError(f"{said}: {format_value(text)} must be LO:HI:COUNT or LO:HI:COUNT:log.")
    low, high, count = Decimal(match[1]), Decimal(match[2]), int(match[3])
    if max(abs(each.adjusted()) for each in (low, high)) > _LARGEST_EXPONENT:
        raise ConfigError(f"{said}: {format_value(text)} holds numbers that are out of range.")
    if not 2 <= count <= MOST_MEMBERS:
        raise ConfigError(f"{said}: COUNT must be 2 to {MOST_MEMBERS}, got {count}.")
    if low == high:
        raise ConfigError(f"{said}: LO and HI are the same, {match[1]}.")
    whole = all(re.fullmatch(r"[+-]?\d+", match[i]) for i in (1, 2))
    if match[4] is None:
        first, step = Fraction(low), (Fraction(high) - Fraction(low)) / (count - 1)
        # Exact until it becomes the nearest double.
        exact = [first + i * step for i in range(count)]
        return [int(x) if whole and x.denominator == 1 else float(x) for x in exact]
    if low * high <= 0:
        raise ConfigError(f"{said}: ends of a range with equal ratios must have the same sign.")
    with localcontext(Context(prec=_DIGITS)):
        ratio = high / low
        powers = [low * ratio ** (Decimal(i) / (count - 1)) for i in range(count)]
    keep = Context(prec=_KEPT)
    rounded = [keep.plus(x) for x in powers]
    return [int(x) if whole and x == x.to_integral_value() else float(x) for x in rounded]
