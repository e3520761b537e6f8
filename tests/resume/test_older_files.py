"""Results of versions whose default normalization was "none" keep their meaning.

Such a file stores the run file as its user wrote it: without the key.
"""

import re

import numpy as np
import pytest
import tomli_w

import meanfield as mf
from meanfield.commands.main import main

CONFIG = """\
problem = { manifold = "circle", beta = 3.0, normalization = "none" }
initial = { name = "perturbed_uniform", modes = [[2, 0.0, 0.2]] }
time = { end = 1.0, save = [0.5, 1.0] }
ensemble = { tokens = [8], runs = 1 }
compare = { tokens = [5, 8], runs = 2 }
"""
KEY = 'normalization = "none"\n'
REFUSED = re.compile(
    r"meanfield: \S+: \[problem\] normalization differs from that of \S+, which --resume "
    r'continues. Set it to "none" to go on. Use --overwrite to start again.\n'
)
SOFTMAX = ("--set", "problem.normalization=softmax")


def run_older(*arguments):
    dumps = tomli_w.dumps
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tomli_w, "dumps", lambda tables: dumps(tables).replace(KEY, ""))
        assert main([*arguments, "--quiet"]) == 0


@pytest.mark.slow
def test_older_run_loads_verifies_and_resumes_as_it_was(config, tmp_path, capsys):
    """An older run without softmax would be read as softmax, or go on with it."""
    path, command = tmp_path / "small.h5", ("run", str(config), "--quiet")
    run_older(*command, "--set", "time.save=[0.5]")
    run = mf.load(path)
    assert KEY not in run.attributes["config"]
    assert run.problem == mf.Problem(mf.Circle(), mf.exponential(3.0), mf.USA, run.problem.initial)
    assert main(["verify", str(path)]) == 0
    whole = mf.run(config)
    run_older(*command, "--overwrite", "--set", "time.end=0.5", "--set", "time.save=[0.5]")
    assert main([*command, "--resume", *SOFTMAX]) == 2
    assert REFUSED.fullmatch(capsys.readouterr().err)
    assert main([*command, "--resume"]) == 0
    np.testing.assert_array_equal(mf.load(path).moments, whole.moments)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["ensemble", "compare"])
def test_older_study_resumes_as_it_was(command, config, tmp_path, capsys):
    """Softmax runs would be added to a study without softmax."""
    path = tmp_path / f"small-{command}.h5"
    arguments = [command, str(config), "--quiet", "--workers", "1"]
    run_older(*arguments)
    assert main([*arguments, "--resume", *SOFTMAX]) == 2
    assert REFUSED.fullmatch(capsys.readouterr().err)
    more = ("--set", f"{command}.tokens=[5, 8, 9]")
    assert main([*arguments, "--resume", *more]) == 0
    assert len(mf.load(path).tokens) == 3


@pytest.mark.slow
def test_older_sweep_resumes_as_it_was(config, tmp_path, capsys):
    """A folder would hold runs of two normalizations."""
    folder = tmp_path / "small-sweep"
    arguments = ["sweep", str(config), "--over", "problem.beta=2,3", "--quiet", "--workers", "1"]
    run_older(*arguments)
    assert KEY not in (folder / "sweep.json").read_text()
    before = mf.load(folder).runs[0]
    (folder / "002.h5").unlink()
    assert main([*arguments, "--resume", *SOFTMAX]) == 2
    assert REFUSED.fullmatch(capsys.readouterr().err)
    assert main([*arguments, "--resume"]) == 0
    runs = mf.load(folder).runs
    assert [run.problem.normalization for run in runs] == ["none", "none"]
    np.testing.assert_array_equal(runs[0].moments, before.moments)
