"""Arguments that several commands share."""

from __future__ import annotations

import argparse

import pytest
from parameters import together

from meanfield.commands.arguments import parser
from meanfield.commands.problem_options import problem_of
from meanfield.commands.table import finite, positive
from meanfield.spaces import manifold_of


@pytest.mark.parametrize(
    ("name", "dimension"),
    [("circle", 1), ("sphere", 2), ("sphere:2", 1), ("sphere:3", 2), ("sphere:1000000", 999_999)],
)
def test_manifold_has_its_dimension(name: str, dimension: int) -> None:
    """The analysis would be that of another sphere."""
    assert manifold_of(name).dimension == dimension


@together("name", ["torus", "sphere:", "sphere:1", "sphere:\u00b2", ""])
def test_unknown_manifold_is_refused(name: str) -> None:
    """A slip would be another manifold, or a traceback."""
    with pytest.raises(ValueError, match=r"is not known\. .*Known: circle, sphere, sphere:D"):
        manifold_of(name)


@together("text", ["nan", "-inf", "1e999", "1,5", ""])
def test_what_is_no_finite_number_is_refused(text: str) -> None:
    """Nonsense would be computed with."""
    with pytest.raises(argparse.ArgumentTypeError, match="is not a finite number"):
        finite(text)


@together("text", ["0", "1.5", "", "1.5e0", "1e16", "-1e3", "1e999", "9" * 5000])
def test_what_is_no_positive_integer_is_refused(text: str) -> None:
    """Nonsense would be computed with."""
    with pytest.raises(argparse.ArgumentTypeError, match="is not a positive integer"):
        positive(text)


def test_whole_numbers_may_be_written_as_powers() -> None:
    """1e6 tokens would be a mistake."""
    assert [positive(text) for text in ("1e6", "2.5E3", "7")] == [1_000_000, 2500, 7]


@pytest.mark.parametrize("beta", ["-3", "-1e-3", "-.5"])
def test_negative_numbers_are_numbers(beta: str) -> None:
    """`--beta -1e-3` would be taken for an option."""
    options = parser().parse_args(["stability", "--manifold", "circle", "--beta", beta])
    assert problem_of(options).kernel.beta == float(beta)


def test_zero_beta_is_the_linear_kernel() -> None:
    """The limit would be an error, or another model."""
    line = ["stability", "--manifold", "circle", "--normalized", "--strength", "-2", "--beta", "0"]
    problem = problem_of(parser().parse_args([*line, "--diffusivity", "0.1"]))
    assert problem.kernel.name == "linear"
    assert (problem.flow.normalized, problem.flow.strength, problem.flow.diffusivity) == (
        True,
        -2.0,
        0.1,
    )


def test_command_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    """Without one there is nothing to execute."""
    with pytest.raises(SystemExit):
        parser().parse_args([])
    assert capsys.readouterr().err == "meanfield: a command is missing. See meanfield --help.\n"
