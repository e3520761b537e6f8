"""Each wing can be removed: runs, stability and run files work without it."""

import re
from pathlib import Path

import pytest
from fresh_process import run_python
from run_folder import SMALL

import meanfield

WINGS = (
    "certificates", "explore", "finite", "models", "papers", "stationary", "transport",
    "verification",
)  # fmt: skip

WITHOUT = """
import sys

class Removed:
    def find_spec(self, name, path=None, target=None):
        if name == "meanfield.WING" or name.startswith("meanfield.WING."):
            raise ImportError(f"removed: {name}")

sys.meta_path.insert(0, Removed())

import meanfield as mf

law = mf.perturbed_uniform([[3, 0.1, 0.0]])
problem = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.USA, law)
print(repr(mf.simulate(problem, until=1.0, save=2)))
tokens = mf.Problem(mf.Sphere(), mf.exponential(3.0), mf.SA)
print(repr(mf.simulate(tokens, until=0.5, save=2, representation="particles", tokens=20)))
print(mf.growth_rates(problem, 4), mf.linear_operator(problem))
print(repr(mf.run("run.toml", output="run.h5")))
print(len(mf.load("run.h5")._repr_html_()) > 1000)
"""


# One of them every day, and the graph of imports of all.
@pytest.mark.parametrize(
    "wing", [WINGS[0], *(pytest.param(wing, marks=pytest.mark.slow) for wing in WINGS[1:])]
)
def test_the_core_works_without_a_wing(wing, tmp_path):
    """The package could not be read, or carried on, without its wings."""
    (tmp_path / "run.toml").write_text(SMALL)
    done = run_python(WITHOUT.replace("WING", wing), cwd=tmp_path)
    assert done.stdout.count("completed") == 3


def test_the_list_of_wings_is_whole():
    """A folder that was removed or renamed would be blocked in vain."""
    package = Path(meanfield.__file__).parent
    assert set(WINGS) < {path.name for path in package.iterdir()}
    design = (package.parent / "docs" / "design.md").read_text()
    sentence = design.split("The *wings* are ")[1].split(".")[0]
    assert set(WINGS) == set(re.findall(r"`(\w+)`", sentence))
