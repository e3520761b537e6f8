"""Arguments that several commands share."""

import argparse
from operator import attrgetter

import pytest
from parameters import refused, together

from meanfield.commands.arguments import duration, finite, parser, positive
from meanfield.commands.options import problem_of
from meanfield.spaces import manifold_of


@pytest.mark.parametrize(
    ("name", "dimension"),
    [("circle", 1), ("sphere", 2), ("sphere:2", 1), ("sphere:3", 2), ("sphere:1000000", 999_999)],
)
def test_manifold_has_its_dimension(name, dimension):
    """The analysis would be that of another sphere."""
    assert manifold_of(name).dimension == dimension


@together("name", ["torus", "sphere:", "sphere:1", "sphere:\u00b2", ""])
def test_unknown_manifold_is_refused(name):
    """A slip would be another manifold, or a traceback."""
    refused(r"is not known\. .*Known: circle, sphere, sphere:D", manifold_of, name)


@together(
    ("kind", "text", "message"),
    [
        *[(finite, text, "a finite number") for text in ("nan", "-inf", "1e999", "1,5", "")],
        *[(positive, text, "a positive integer") for text in ("0", "1.5", "", "1.5e0", "1e16")],
        *[(positive, text, "a positive integer") for text in ("-1e3", "1e999", "9" * 5000)],
        *[(duration, text, "time such as") for text in ("", "m", "0", "-5m", "inf", "nan")],
        *[(duration, text, "time such as") for text in ("5 weeks", "1:00")],
    ],
)
def test_what_is_no_such_number_is_refused(kind, text, message):
    """Nonsense would be computed with."""
    refused(f"is (not|no) {message}", kind, text, error=argparse.ArgumentTypeError)


@together(
    ("kind", "text", "number"),
    [
        (positive, "1e6", 1_000_000),
        (positive, "2.5E3", 2500),
        (positive, "7", 7),
        (duration, "90", 90.0),
        (duration, "90s", 90.0),
        (duration, "55m", 3300.0),
        (duration, "1.5h", 5400.0),
        (duration, "2d", 172800.0),
    ],
)
def test_numbers_may_be_powers_and_times_have_units(kind, text, number):
    """1e6 tokens would be a mistake; minutes would be taken for seconds."""
    assert kind(text) == number


@pytest.mark.parametrize("beta", ["-3", "-1e-3", "-.5"])
def test_negative_numbers_are_numbers(beta):
    """`--beta -1e-3` would be taken for an option."""
    options = parser().parse_args(["stability", "--manifold", "circle", "--beta", beta])
    assert problem_of(options).kernel.beta == float(beta)


def test_zero_beta_is_the_linear_kernel():
    """The limit would be an error, or another model."""
    line = "stability --manifold circle --normalized --strength -2 --beta 0 --diffusivity 0.1"
    problem = problem_of(parser().parse_args(line.split()))
    flow = attrgetter("normalized", "strength", "diffusivity")(problem.flow)
    assert (problem.kernel.name, *flow) == ("linear", True, -2.0, 0.1)


def test_command_is_needed(capsys):
    """Without one there is nothing to execute."""
    with pytest.raises(SystemExit):
        parser().parse_args([])
    assert capsys.readouterr().err == "meanfield: a command is missing. See meanfield --help.\n"
