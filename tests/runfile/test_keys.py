"""Kinds of values, and how errors quote them."""

import datetime

import pytest
from parameters import refused, together

from meanfield.runfile import ConfigError
from meanfield.runfile.keys import (
    Key,
    boolean,
    either,
    format_value,
    integer,
    line,
    list_of,
    located,
    number,
    one_of,
    read_table,
    string,
)

HUGE = int("f" * 5000, 16)


@together(
    ("kind", "value", "expected"),
    [
        (number, 2, 2.0),
        (number, -0.5, -0.5),
        (integer, -3, -3),
        (boolean, False, False),
        (string, "a\nb", "a\nb"),
        (line, "\u00e4 b", "\u00e4 b"),
        (one_of("a", "b"), "b", "b"),
        (list_of(integer), [], []),
        (list_of(number, least=1), [1], [1.0]),
        (either(integer, list_of(number)), [0.5], [0.5]),
    ],
)
def test_kind_takes_its_values(kind, value, expected):
    """A right value would be refused or changed."""
    assert kind(value) == expected
    assert type(kind(value)) is type(expected)


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (number, "1", "must be a number"),
        (number, True, "must be a number"),
        (number, float("nan"), "must be a finite number"),
        (number, float("inf"), "must be a finite number"),
        pytest.param(number, HUGE, "must be a finite number", id="huge"),
        (integer, 1.0, "must be an integer"),
        (integer, True, "must be an integer"),
        (integer, 2**63, r"must be an integer below 2\^63"),
        (boolean, 1, "must be true or false"),
        (string, 1, "must be a string"),
        (string, "a\0b", "must be a string without null characters"),
        (line, "a\nb", "must be a string of one printable line"),
        (line, 3, "must be a string of one printable line"),
        (one_of("b", "a"), "c", "is not known. Known: a, b"),
        (one_of("a"), ["a"], "is not known"),
        (list_of(integer), 1, "must be a list"),
        (list_of(integer, least=2), [1], "must be a list of at least 2"),
        (list_of(integer), [1, "x"], 'holds "x", which must be an integer'),
        (either(integer, list_of(number)), "x", "must be an integer or a list"),
    ],
)
def test_kind_says_what_it_wants(kind, value, message):
    """A wrong value would pass, or its error would not say what is allowed."""
    refused(message, kind, value, error=TypeError)


def test_unknown_key_is_quoted_and_short():
    """An error would fill the screen."""
    table, message = {"a\nb" * 100: 1}, r"f: \[time\] 'a\\nba\\nb.*\.\.\. is not a key"
    refused(message, read_table, "f: [time]", table, {"end": Key(number)}, error=ConfigError)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('say "hi"\n', r'"say \"hi\"\n"'),
        ("\u00e4\x1b\udcff", r'"\xe4\x1b\udcff"'),
        (True, "true"),
        (1e300, "1e+300"),
        pytest.param(HUGE, "<integer of 6021 digits>", id="huge"),
        ([1, "a", [False]], '[1, "a", [false]]'),
        ({"k": datetime.date(2024, 1, 2)}, "{ k = 2024-01-02 }"),
        (list(range(1000)), "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16..."),
        pytest.param("x" * 10**6, '"' + "x" * 56 + "...", id="long"),
    ],
)
def test_values_are_quoted_as_toml_and_short(value, expected):
    """An error would quote Python, or fill the screen."""
    assert format_value(value) == expected


def test_deeply_nested_value_is_quoted():
    """Quoting a value would exceed the depth of the stack."""
    value = 1
    for _ in range(100_000):
        value = {"a": value}
    assert format_value(value) == "{ a = { a = { a = { a = ... } } } }"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        *[(kind("x\ny"), r"^f: \[time\] x y$") for kind in (ValueError, TypeError, OverflowError)],
        # An impossible size would look like a failure of the program.
        (MemoryError(), "needs more memory"),
        # The location would be said twice.
        (ConfigError("first"), "^first$"),
    ],
)
def test_errors_of_constructors_are_located(error, message):
    """A user would not know where to look."""
    with pytest.raises(ConfigError, match=message), located("f: [time]"):
        raise error
