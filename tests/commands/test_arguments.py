"""Arguments that several commands share."""

import argparse
from operator import attrgetter

import pytest
from parameters import refused, together

from meanfield.commands.arguments import finite, parser, positive
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
        *[(finite, text, "finite number") for text in ("nan", "-inf", "1e999", "1,5", "")],
        *[(positive, text, "positive integer") for text in ("0", "1.5", "", "1.5e0", "1e16")],
        *[(positive, text, "positive integer") for text in ("-1e3", "1e999", "9" * 5000)],
    ],
)
def test_what_is_no_such_number_is_refused(kind, text, message):
    """Nonsense would be computed with."""
    refused(f"is not a {message}", kind, text, error=argparse.ArgumentTypeError)


def test_whole_numbers_may_be_written_as_powers():
    """1e6 tokens would be a mistake."""
    assert [positive(text) for text in ("1e6", "2.5E3", "7")] == [1_000_000, 2500, 7]


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
