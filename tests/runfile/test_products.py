"""--over: the numbers of ranges, and lists of any values."""

import pytest
from parameters import refused

from meanfield.runfile.document import value_of
from meanfield.runfile.keys import ConfigError
from meanfield.runfile.products import parameters_of, toml_value

SECTIONS = {"problem": ["beta"]}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        # Sums of rounded steps would make 0.30000000000000004 of 0.3.
        ("1:20:39", [1 + i / 2 for i in range(39)]),
        ("0.1:0.9:9", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]),
        ("1:-1:3", [1, 0, -1]),
        ("1e-3:1e3:7:log", [1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0]),
        ("0,1:2:3,5", [0, 1, 1.5, 2, 5]),
        # A comma in brackets or quotes parts no value, and a backslash escapes where TOML says so.
        ("[[1, 0.1, 0]],[[2, 0.1, 0], [3, 0, 1]]", [[[1, 0.1, 0]], [[2, 0.1, 0], [3, 0, 1]]]),
        (r"'a\','b'", ["a\\", "b"]),
        (r'"a\\","b"', ["a\\", "b"]),
        (r'"a\"","b,c"', ['a"', "b,c"]),
    ],
)
def test_values_are_those_of_the_text(text, values):
    """Two values would become one, one two, or a decimal another number."""
    assert list(parameters_of([f"problem.beta={text}"], SECTIONS)[0].values) == values


def test_range_has_two_ends():
    """A slip would be one value again and again."""
    message, text = "LO and HI are the same, 1", ["problem.beta=1:1:3"]
    refused(message, parameters_of, text, SECTIONS, error=ConfigError)


def test_values_come_back_from_toml():
    """A point of a product would be run with another value."""
    for value in ("none", 'a "b", c', {"name": "x", "modes": [[1, 0.5]]}, 1e300, -3, True):
        (result,) = parameters_of([f"problem.beta={toml_value(value)}"], SECTIONS)
        assert result.values == (value,) and value_of(toml_value(value)) == value
