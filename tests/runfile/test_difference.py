"""Which run files may continue the result of another."""

from pathlib import Path

import pytest

from meanfield.runfile import ConfigError, load_config
from meanfield.runfile.config import check_continues

TEXT = """\
title = "a"
problem = { normalization = "none", manifold = "circle", beta = 4.0 }
time = { end = 1.0, save = 3 }
output = { path = "x.h5" }
"""


def continues(config, stored):
    label = str(config.source)
    attributes = {"config": stored}
    check_continues(label, config.tables, config.idle, attributes, Path("x.h5"), FREE)


FREE = {"time": ("end",), "output": None}


@pytest.mark.parametrize(
    ("override", "refused"),
    [
        ("title=b", None),
        ("output.path=y.h5", None),
        ("time.end=2.0", None),
        ("time.unit=scaled", None),
        ("time.save=4", r"\[time\] save"),
        ("problem.strength=2", r"\[problem\] strength"),
        ("initial={modes=[[1, 0.1, 0.0]]}", r"\[initial\] modes"),
    ],
)
def test_difference_is_refused_unless_free(tmp_path, override, refused):
    """A run would be continued with another problem, or refused for a new title."""
    path = tmp_path / "run.toml"
    path.write_text(TEXT)
    for before, after in ([], [override]), ([override], []):
        stored, config = load_config(path, before).text, load_config(path, after)
        if refused is None:
            continues(config, stored)
            continue
        with pytest.raises(ConfigError, match=refused + r" differs from that of x\.h5, which"):
            continues(config, stored)


@pytest.mark.parametrize(
    "stored",
    ["no TOML", "initial = 3", "time = 1", "heads = 3", "problem = {normalization = 'none yet'}"],
)
def test_stored_text_that_is_no_run_file_is_one_line(tmp_path, stored):
    """A file that another program changed would be a traceback when it is resumed."""
    path = tmp_path / "run.toml"
    path.write_text(TEXT)
    with pytest.raises(ConfigError, match=r"x\.h5 does not tell the run file it was made from"):
        continues(load_config(path), stored)


def test_keys_that_cannot_act_do_not_keep_a_run_from_going_on(tmp_path):
    """Older run files may have them: without them the same run could not be resumed."""
    path = tmp_path / "run.toml"
    path.write_text(TEXT)
    stored = TEXT.replace("save = 3", "save = 3, step = 0.1") + "representation = { seed = 3 }"
    continues(load_config(path), stored)
    noisy = TEXT.replace("beta", "diffusivity = 0.1, beta") + "[compare]\n"
    path.write_text(noisy)
    stored = noisy.replace("save = 3", "save = 3, step = 0.1")
    with pytest.raises(ConfigError, match=r"\[time\] step differs"):
        continues(load_config(path), stored)
