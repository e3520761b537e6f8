"""`[time] stop = "file.py:function"`: a stop rule of the user's own."""

from pathlib import Path

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.runfile import ConfigError, load_config
from meanfield.store.run_file import load

CODE = "def late(time, measure):\n    return bool(time > 0.2 and abs(measure.moments(3)[3]) > 0)\n"
TEXT = """\
problem = { manifold = "circle", beta = 5.0, normalization = "none" }
initial = { modes = [[3, 0.1, 0.0]] }
time = { end = 1.0, save = 11, stop = "rules.py:late" }
"""


@pytest.fixture
def config(path):
    Path("rules.py").write_text(CODE)
    return path


@pytest.mark.slow
def test_own_rule_ends_the_run(config, cli):
    """The run would go on to its end, or say that it completed."""
    cli("run", config)
    run = load(config.with_suffix(".h5"))
    assert run.time[-1] == pytest.approx(0.3) and run.status == "stopped: rules.py:late"
    assert "executing the Python of" in cli.err and "(stopped: rules.py:late)" in cli.err
    cli("run", config, "--resume")
    assert "stopped: rules.py:late: nothing to do." in cli.err


def test_own_rule_is_that_of_python(config):
    """A run file and a call would stop at different times."""
    names = {}
    exec(CODE, names)
    called = mf.simulate(load_config(config).problem, 1.0, save=11, stop=names["late"])
    assert np.array_equal(mf.run(config).moments, called.moments)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def late(time):\n    return True\n", "called as stop.time, measure., which"),
        ("late = 3\n", "is no function"),
        ("def late(time, measure):\n    return 1\n", "must give True or False, got 1"),
        ("def late(time, measure):\n    return 1 / 0\n", "failed: ZeroDivisionError"),
    ],
)
def test_wrong_rule_is_one_line(config, code, message):
    """The user's mistake would be a traceback of ours."""
    Path("rules.py").write_text(code)
    refused(f'time. stop = "rules.py:late" .*{message}', mf.run, config, error=ConfigError)


def test_word_that_is_no_rule_is_refused(config):
    """A slip would run to the end."""
    message = 'stop = "one_clustre" is not known. Did you mean one_cl'
    refused(message, load_config, config, ["time.stop=one_clustre"], error=ConfigError)


def test_check_does_not_execute_the_rule(config, cli):
    """Somebody else's Python would run where a file is only looked at."""
    assert "not executed  rules.py:late" in cli("check", config) and "executing" not in cli.err
    assert "is Python, which --no-code refuses" in cli.refused("run", config, "--no-code")
