"""A run file with every section, for all tests of run files."""

import re
from pathlib import Path

import numpy as np
import pytest

from meanfield.runfile import ConfigError, load_config
from meanfield.runfile.written import stored_problem
from meanfield.runs import Run

TEXT = """\
title = "All keys"
[problem]
manifold = "circle"
kernel = "exponential"
beta = 4
normalized = true
strength = -1.5
[initial]
name = "perturbed_uniform"
modes = [[1, 0.1, 0.0], [3, 0.0, 0.05]]
[representation]
name = "density"
tolerance = 1e-6
max_degree = 128
[time]
end = 3.0
save = 4
stop = "one_cluster"
[output]
observables = ["entropy"]
state = "last"
[compare]
tokens = [10, 30]
runs = 3
metric = "W2"
seed = 5
"""


@pytest.fixture
def path(request, tmp_path, monkeypatch):
    """The run file TEXT of the module, or one with every section, in the folder of the test."""
    monkeypatch.chdir(tmp_path)
    file = Path("run.toml")
    file.write_text(getattr(request.module, "TEXT", TEXT))
    return file


@pytest.fixture
def stored():
    """Function: problem of a result, from the text of its run file."""

    def problem(text, **attributes):
        attributes["config"] = text
        return stored_problem(Run(np.zeros(0), np.zeros((0, 1)), {}, {}, (), (), attributes))

    return problem


@pytest.fixture
def has_its_line():
    """Check that a run file with some changes is refused with this message, in one line."""

    def check(path, changes, message):
        with pytest.raises(ConfigError, match=re.escape(message)) as caught:
            load_config(path, changes)
        assert str(caught.value).startswith("run.toml: ") and "\n" not in str(caught.value)

    return check
