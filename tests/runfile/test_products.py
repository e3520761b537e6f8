"""--over: the numbers of ranges, and lists of any values."""

import pytest

from meanfield.runfile.document import value_of
from meanfield.runfile.keys import ConfigError
from meanfield.runfile.products import parameters_of, toml_value

SECTIONS = {"problem": ["beta", "normalization"], "initial": ["modes"]}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1:20:39", [1 + i / 2 for i in range(39)]),
        ("0.1:0.9:9", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]),
        ("1:-1:3", [1, 0, -1]),
        ("1e-3:1e3:7:log", [1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0]),
        ("0,1:2:3,5", [0, 1, 1.5, 2, 5]),
    ],
)
def test_numbers_are_those_of_the_decimals(text, values):
    """Sums of rounded steps would make 0.30000000000000004 of 0.3."""
    assert list(parameters_of([f"problem.beta={text}"], SECTIONS)[0].values) == values


def test_range_has_two_ends():
    """A slip would be one value again and again."""
    with pytest.raises(ConfigError, match="LO and HI are the same, 1"):
        parameters_of(["problem.beta=1:1:3"], SECTIONS)


def test_lists_and_words_stay_whole():
    """A comma in brackets or quotes would part a value; it would not come back from TOML."""
    modes = parameters_of(["initial.modes=[[1, 0.1, 0]],[[2, 0.1, 0], [3, 0, 1]]"], SECTIONS)
    assert modes[0].values == ([[1, 0.1, 0]], [[2, 0.1, 0], [3, 0, 1]])
    for value in ("none", 'a "b", c', {"name": "x", "modes": [[1, 0.5]]}, 1e300, -3, True):
        (result,) = parameters_of([f"problem.normalization={toml_value(value)}"], SECTIONS)
        assert result.values == (value,) and value_of(toml_value(value)) == value


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (r"'a\','b'", ("a\\", "b")),
        (r'"a\\","b"', ("a\\", "b")),
        (r'"a\"","b,c"', ('a"', "b,c")),
    ],
)
def test_a_backslash_escapes_a_quote_where_toml_says_so(text, values):
    """Two values would become one."""
    assert parameters_of([f"problem.normalization={text}"], SECTIONS)[0].values == values
