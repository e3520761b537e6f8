"""`meanfield phase`: the promised numbers under the promised names, and mistakes in one line."""

import json
import re
from pathlib import Path

import pytest

import meanfield as mf
from meanfield.commands import predict
from meanfield.commands.predict import inverse_temperatures
from meanfield.stationary.continuation import ContinuationError

DOCS = Path(__file__).parent.parent.parent / "docs"
FLOW = "--normalization=none"
KEYS = {"critical_diffusivity", "transition_diffusivity", "saddle_node_diffusivity", "order",
        "order_parameter_at_transition", "tricritical_beta"}  # fmt: skip
"""Those of the contract with programs that read the JSON."""


@pytest.fixture
def answer(cli):
    return lambda line: cli.json("phase", *line.split())


def test_json_of_one_beta_is_that_of_the_paper(answer):
    """The command would find other numbers than the theory, or give them other names."""
    result = answer(f"--manifold circle --beta 3 {FLOW}")
    assert set(result) == KEYS | {"manifold", "kernel", "beta", "normalized"}
    critical = mf.critical_diffusivity(mf.Problem(mf.Circle(), mf.exponential(3.0), mf.USA))
    assert result["critical_diffusivity"] == pytest.approx(critical, rel=1e-14)
    # The digits of the reference table, computed by a solver of another kind.
    for name, share in (("transition", 0.991225571), ("saddle_node", 0.988685320)):
        assert critical / result[f"{name}_diffusivity"] == pytest.approx(share, abs=6e-10)
    assert result["order_parameter_at_transition"] == pytest.approx(0.48154381, abs=6e-9)
    assert result["order"] == "discontinuous"
    assert result["tricritical_beta"] == pytest.approx(2.446918311289, abs=1e-11)


@pytest.mark.parametrize("line", ["--beta 0", "--kernel linear --beta 3"])
@pytest.mark.parametrize(("manifold", "d"), [("circle", 2), ("sphere", 3), ("sphere:8", 8)])
def test_kuramoto_is_continuous_at_one_over_d(answer, manifold, d, line):
    """Zero and the linear kernel would be two problems, or have another onset than 1/d."""
    result = answer(f"--manifold {manifold} {line} {FLOW}")
    assert (result["kernel"], result["beta"], result["order"]) == ("linear", 0.0, "continuous")
    assert result["critical_diffusivity"] == pytest.approx(1 / d, rel=1e-14)
    assert result["transition_diffusivity"] == result["critical_diffusivity"]
    assert result["saddle_node_diffusivity"] is None
    assert result["order_parameter_at_transition"] == 0.0


def test_normalised_transition_is_null_and_said_in_words(answer, cli):
    """A number would be given for which there is no theory, or a blank without a reason."""
    line = "--manifold sphere --beta 3 --normalized"
    result = answer(line)
    assert result["transition_diffusivity"] is None and result["tricritical_beta"] is None
    assert result["order"] == "continuous"
    text = cli("phase", *line.split())
    assert "transition" in text and "no free energy is known for the normalised flow" in text


@pytest.mark.parametrize("line", ["--manifold circle --beta -3", "--manifold sphere:5 --beta 1.2"])
def test_every_sphere_and_either_sign_has_an_answer(answer, line):
    """Cases that linear theory allows would be refused."""
    assert answer(f"{line} {FLOW}")["order"] == "continuous"


def test_range_is_a_list_of_the_same_objects(answer):
    """A program could not read a range as it reads a point."""
    result = answer(f"--manifold sphere:4 {FLOW} --beta 1 2 3")
    assert set(result) == {"manifold", "kernel", "normalized", "tricritical_beta", "diagram"}
    assert [point["beta"] for point in result["diagram"]] == [1.0, 1.5, 2.0]
    single, keys = answer(f"--manifold sphere:4 {FLOW} --beta 1.5"), KEYS - {"tricritical_beta"}
    assert all(set(point) == keys | {"beta"} for point in result["diagram"])
    assert result["diagram"][1].items() <= single.items() and result["manifold"] == "sphere:4"


def test_range_is_a_row_for_each_beta(cli):
    """The table would lack a point, or show what is not there as a number."""
    text = cli("phase", "--manifold", "circle", FLOW, "--beta", 1, 3, 3)
    rows = {row[0]: row for row in map(str.split, text.splitlines()) if row and row[0] in "123"}
    words = {beta: row[1] for beta, row in rows.items()}
    assert words == {"1": "continuous", "2": "continuous", "3": "discontinuous"}
    assert rows["1"][4] == "-"


def test_range_tells_how_far_it_is(cli, monkeypatch):
    """A long diagram would be silent, or talk into the table."""
    monkeypatch.setattr("meanfield.commands.progress._SECONDS_BETWEEN_LINES", 0.0)
    out = cli("phase", "--manifold", "circle", FLOW, "--beta", 1, 3, 3, "--json")
    lines = {",".join(line.split(",")[:2]) for line in cli.err.splitlines() if "/3" in line}
    assert lines == {"phase: 1/3, beta = 1", "phase: 2/3, beta = 2"}
    assert len(json.loads(out)["diagram"]) == 3


def test_grid_through_zero_meets_it():
    """Rounding would turn Kuramoto into an exponential kernel of beta = 1e-17."""
    assert inverse_temperatures([-0.3, 0.6, 10.0])[3] == 0.0


@pytest.mark.parametrize(
    ("line", "begin"),
    [("3", ""), ("3000", "phase: beta = 3000 needs 4"), ("1 3000 2", "phase: beta = 3000 needs 4")],
)
def test_long_branches_are_announced_and_failures_one_line(cli, monkeypatch, line, begin):
    """A command would be silent for minutes; a numerical failure a traceback, or bad input."""

    def lost(*_, **__):
        raise ContinuationError("lost at D = 0.1\nafter 7 points")

    monkeypatch.setattr(predict, "phase_diagram", lost)
    cli("phase", "--manifold", "circle", FLOW, "--beta", *line.split(), "--json", status=1)
    *announced, failure = cli.err.splitlines()
    assert failure == "meanfield: lost at D = 0.1 after 7 points"
    assert len(announced) == bool(begin) and "".join(announced).startswith(begin)


@pytest.mark.slow
@pytest.mark.parametrize("range_of_beta", ["2", "1 3 3"])
def test_plot_is_a_figure_beside_the_answer(answer, tmp_path, range_of_beta):
    """--plot would write nothing, or change what is printed."""
    line, figure = f"--manifold circle {FLOW} --beta {range_of_beta}", tmp_path / "figure.svg"
    assert answer(f"{line} --plot {figure}") == answer(line)
    assert figure.read_text().startswith("<?xml")


@pytest.mark.slow
def test_drawn_branch_goes_beyond_the_transition(answer, monkeypatch, tmp_path):
    """The jump would be marked where the figure has no branch."""
    from meanfield.figures.draw import bifurcation

    drawn = []
    monkeypatch.setattr(bifurcation, "save_bifurcation", lambda *options: drawn.extend(options))
    # An ordered state near a Dirac, and a saddle node at twenty times the critical diffusivity.
    result = answer(f"--manifold sphere {FLOW} --beta 100 --plot {tmp_path / 'x.png'}")
    branch = drawn[1]
    assert result["order_parameter_at_transition"] > 0.99
    assert branch.order_parameter[-1] > result["order_parameter_at_transition"]
    assert branch.free_energy[-1] < 0


def test_commands_page_has_the_keys_of_phase_json():
    """A script would look for a key that is not there."""
    page = (DOCS / "commands.md").read_text(encoding="utf-8")
    section = page.split("## `meanfield phase`")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (`[a-z].*?) \|", section, re.M)
    named = {key for cell in cells for key in cell.split("`")[1::2]}
    family = lambda beta: mf.Problem(mf.Circle(), mf.exponential(beta), normalization="none")  # noqa: E731
    diagrams = [mf.phase_diagram(family, betas) for betas in ([1.0], [1.0, 3.0])]
    assert named == {key for diagram in diagrams for key in predict.phase_report(diagram).data}
