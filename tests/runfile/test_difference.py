"""Which run files may continue the result of another."""

from pathlib import Path

import numpy as np
import pytest
from parameters import refused

from meanfield.runfile import ConfigError, load_config
from meanfield.runfile.config import check_continues

TEXT = """\
title = "a"
problem = { normalization = "none", manifold = "circle", beta = 4.0 }
time = { end = 1.0, save = 3 }
output = { path = "x.h5" }
"""
FREE = {"time": ("end",), "output": None}
SCORE = [[0.9, -0.4], [0.7, 0.5]]


def continues(config, stored):
    label = str(config.source)
    attributes = {"config": stored}
    check_continues(label, config.tables, config.idle, attributes, Path("x.h5"), FREE)


@pytest.mark.parametrize(
    ("before", "after", "different"),
    [
        ([], ["title=b"], None),
        ([], ["output.path=y.h5"], None),
        ([], ["time.end=2.0"], None),
        ([], ["time.unit=scaled"], None),
        ([], ["time.save=4"], r"\[time\] save"),
        ([], ["problem.strength=2"], r"\[problem\] strength"),
        ([], ["initial={modes=[[1, 0.1, 0.0]]}"], r"\[initial\] modes"),
        (["problem.normalized=true"], ["problem.normalization=softmax"], None),
        ([], ["problem.normalization=none"], None),
        ([], ["heads=[{query=1, beta=4}]"], None),
        (["heads=[{query=1.0}]"], ["heads=[{}]"], None),
        (['heads=[{score="score.npy"}]'], [f"heads=[{{score={SCORE}, value=1}}]"], None),
        ([], ["problem.normalization=sinkhorn"], r"\[problem\] normalization"),
        (["heads=[{value=1}, {}]"], ["heads=[{}, {value=[1, 2]}]"], r"\[\[heads\]\] 2 value"),
        (["heads=[{}, {}]"], ["heads=[{}]"], r"the number of \[\[heads\]\]"),
    ],
)
def test_difference_is_refused_unless_free(path, before, after, different):
    """A run would be continued with another problem, or refused for a title or a default."""
    np.save("score.npy", SCORE)
    for one, other in ((before, after), (after, before)):
        stored, config = load_config(path, one).text, load_config(path, other)
        if different is None:
            continues(config, stored)
            continue
        message = rf"{different} differs from that of x\.h5, which"
        refused(message, continues, config, stored, error=ConfigError)


@pytest.mark.parametrize(
    "stored",
    ["no TOML", "initial = 3", "time = 1", "heads = 3", "problem = {normalization = 'none yet'}"],
)
def test_stored_text_that_is_no_run_file_is_one_line(path, stored):
    """A file that another program changed would be a traceback when it is resumed."""
    message = r"x\.h5 does not tell the run file it was made from"
    refused(message, continues, load_config(path), stored, error=ConfigError)


def test_keys_that_cannot_act_do_not_keep_a_run_from_going_on(path):
    """Older run files may have them: without them the same run could not be resumed."""
    stored = TEXT.replace("save = 3", "save = 3, step = 0.1") + "representation = { seed = 3 }"
    continues(load_config(path), stored)
    noisy = TEXT.replace("beta", "diffusivity = 0.1, beta") + "[compare]\n"
    path.write_text(noisy)
    stored = noisy.replace("save = 3", "save = 3, step = 0.1")
    refused(r"\[time\] step differs", continues, load_config(path), stored, error=ConfigError)
