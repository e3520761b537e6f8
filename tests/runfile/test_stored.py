"""The problem of a run from a file: that of its run file, or what the file lacks of it."""

from dataclasses import replace

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.recording import execute
from meanfield.runfile import load_config

CIRCLE = "[problem]\nnormalization = 'none'\nmanifold = 'circle'\n"


def run_of(folder, text, name="x"):
    source = folder / f"{name}.toml"
    source.write_text("time = {end = 0.5, save = 2}\n" + text)
    list(execute(load_config(source)))
    return mf.load(source.with_suffix(".h5"))


@pytest.mark.slow
def test_tokens_of_a_file_are_those_of_the_first_time(tmp_path):
    """A run file that names a file that is gone would have no problem."""
    np.save(tmp_path / "tokens.npy", np.array([0.1, 0.2, 3.0]))
    circle = CIRCLE + "beta = 4.0\n"
    run = run_of(tmp_path, circle + "[initial]\nname = 'tokens'\nfile = 'tokens.npy'\n")
    again = run_of(tmp_path, circle + "[initial]\nname = 'file'\npath = 'x.h5'\n", "y")
    (tmp_path / "tokens.npy").unlink()
    assert run.problem.initial_measure().points.tolist() == [0.1, 0.2, 3.0]
    assert again.problem.initial_measure().points.tolist() == run.measures[-1].points.tolist()
    lost = replace(run, measures=(None, None))
    assert lost.problem.kernel == mf.exponential(4.0)
    refused(r"starts from 'tokens', which its file does not hold", lost.problem.initial_measure)


def test_file_without_a_run_file_has_kernel_and_flow():
    """Files of other versions would have no token paths any more."""
    problem = mf.Problem(mf.Circle(), mf.exponential(3.0), mf.Flow(True, 0.5, 0.25))
    run = mf.simulate(problem, 0.5, save=2)
    assert run.problem is problem
    first = run.measures[0].coefficients.tolist()
    for config in ("", "[problem]\nmanifold = 'torus'", "]"):
        attributes = run.attributes | {"config": config}
        result = replace(run, source_problem=None, attributes=attributes).problem
        assert replace(result, initial=None) == problem
        assert result.initial_measure().coefficients.tolist() == first


@pytest.mark.slow
def test_function_of_ones_own_is_not_run(tmp_path):
    """Looking at a file of somebody else would run his Python."""
    (tmp_path / "mine.py").write_text("import numpy\ndef f(s):\n    return numpy.exp(s)\n")
    text = CIRCLE + "kernel = 'zonal'\nattention = 'mine.py:f'\n"
    run = run_of(tmp_path, text)
    (tmp_path / "mine.py").write_text("raise RuntimeError")
    message = r"'mine.py:f', a function of the user's own, of which"
    refused(message, getattr, run, "problem")
    assert run.plot("density")
