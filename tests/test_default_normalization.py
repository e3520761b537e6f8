"""One default normalization, softmax, by whichever door a problem comes in."""

import pytest

import meanfield as mf
from meanfield.commands.arguments import parser
from meanfield.explore.physics import Setting
from meanfield.papers.merging import DiagramOptions
from meanfield.runfile import load_config

KERNEL = mf.exponential(3.0)


@pytest.mark.parametrize("described", [
    mf.Flow(), mf.Attention([mf.Head()], beta=3.0), mf.Problem(mf.Circle(), KERNEL),
    mf.Problem(mf.Circle(), mf.Attention([mf.Head(value=[1.0, 2.0])], beta=3.0)),
    DiagramOptions(), Setting(),
])  # fmt: skip
def test_python_takes_softmax(described):
    """Two objects without a word on it would have two flows."""
    assert described.normalization == "softmax"


@pytest.mark.parametrize("heads", ["", "[[heads]]\nvalue = [1.0, 2.0]\n"])
def test_run_files_take_softmax_and_store_it(tmp_path, heads):
    """A run file would not be the Python of the same words, or a later default would change it."""
    path = tmp_path / "x.toml"
    path.write_text(f'[problem]\nmanifold = "circle"\nbeta = 3.0\n{heads}[time]\nend = 1.0\n')
    config = load_config(path)
    assert config.problem.normalization == "softmax"
    assert 'normalization = "softmax"\n' in config.text
    assert load_config(path, ["problem.normalized=false"]).problem.normalization == "none"


@pytest.mark.parametrize("command", ["stability", "phase"])
def test_options_take_softmax(command, cli):
    """A command would answer for another flow than Python."""
    line = [command, "--manifold", "circle", "--beta", "3"]
    assert cli.json(*line)["normalized"] is True
    assert cli.facts(*line, "--normalization", "none")["normalization"] == "none"


def test_template_and_options_say_softmax(tmp_path, cli):
    """A newcomer would start from another flow than the help names."""
    path = tmp_path / "x.toml"
    cli("init", path)
    assert load_config(path).problem.normalization == "softmax"
    assert parser().parse_args(["diagram", "--beta", "1"]).normalization == "softmax"
