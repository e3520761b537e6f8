"""Reading while a run or study writes: each read finds the first rows of the result, whole."""

import json
import time as clock

import numpy as np
import pytest

import meanfield as mf
from meanfield.commands.main import main
from meanfield.store.study_file import read_result

CONFIG = """\
problem = { manifold = "circle", beta = 4.0, normalized = true }
initial = { name = "perturbed_uniform", modes = [[1, 0.1, 0.0], [3, 0.0, 0.05]] }
representation = { tolerance = 1e-8 }
time = { end = 1e6, spacing = "log", first = 2, save = 100 }
ensemble = { tokens = [20, 60], runs = 50 }
"""


def said(capsys, *arguments):
    capsys.readouterr()
    assert main(list(arguments)) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def wait_for(condition):
    """Return when it holds; fail if that takes a minute."""
    deadline = clock.monotonic() + 300.0
    while not condition():
        assert clock.monotonic() < deadline


def assert_first_rows(run, final):
    """Every number is that of the same row of the finished run."""
    n = len(run.time)
    assert np.array_equal(run.time, final.time[:n])
    assert run.representation == final.representation[:n]
    assert n == 0 or np.array_equal(run.moments, final.moments[:n])
    assert repr(run.events) == repr(final.events[: len(run.events)])
    for name, values in (run.observables | run.diagnostics).items():
        expected = (final.observables | final.diagnostics)[name][:n]
        if values.ndim > 1:
            # Padded to the widest row so far.
            expected = expected[:, : values.shape[1]]
        assert np.array_equal(values, expected, equal_nan=True), name
    for one, other in zip(run.measures, final.measures, strict=False):
        for name in ("coefficients", "points", "weights"):
            assert np.array_equal(getattr(one, name, None), getattr(other, name, None))


def assert_growing(counts, total):
    assert counts == sorted(counts) and counts[0] < counts[-1] == total


@pytest.mark.slow
def test_every_read_of_a_growing_run_is_its_first_rows(config, server, survived):
    """A notebook would fail now and then, or show half a row."""
    path = config.with_suffix(".h5")
    server("run", str(config), "-o", str(path), "--set", "time.save=2")
    server.begin("run", str(config), "-o", str(path), "--overwrite")
    wait_for(lambda: mf.load(path).status == "running")
    reads = [mf.load(path)]
    while reads[-1].status != "completed":
        assert reads[-1].status == "running"
        reads.append(mf.load(path))
    assert server.end() == 0
    final = mf.load(path)
    assert set(final.representation) == {"density", "characteristics", "atoms"}
    assert_growing([len(run.time) for run in reads], 100)
    for run in reads:
        assert_first_rows(run, final)
    survived("reading while writing", "run file loaded", len(reads))


@pytest.mark.slow
def test_commands_show_a_growing_run(config, server, capsys, survived):
    """Looking at a run would have to wait for its end."""
    path, figure = config.with_suffix(".h5"), str(config.with_suffix(".png"))
    server("run", str(config), "-o", str(path), "--set", "time.save=2")
    # Figures need libraries that take as long to load as the run does.
    said(capsys, "plot", str(path), "-o", figure)
    server.begin("run", str(config), "-o", str(path), "--overwrite")
    wait_for(lambda: mf.load(path).status == "running" and len(mf.load(path).time) > 0)
    objects, tables, figures = [], [], 0
    while not objects or objects[-1]["status"] != "completed":
        objects.append(json.loads(said(capsys, "info", str(path), "--json")))
        tables.append(said(capsys, "info", str(path), "--csv"))
        assert "saved times" in said(capsys, "info", str(path))
        if len(objects) % 10 == 1:
            said(capsys, "plot", str(path), "-o", figure)
            figures += 1
    assert server.end() == 0
    final = json.loads(said(capsys, "info", str(path), "--json"))
    whole = said(capsys, "info", str(path), "--csv")
    assert_growing([len(text["time"]) for text in objects], 100)
    for text, table in zip(objects, tables, strict=True):
        assert text["time"] == final["time"][: len(text["time"])]
        assert whole.startswith(table)
    survived("reading while writing", "info of a run file", 3 * len(objects))
    survived("reading while writing", "plot of a run file", figures)


@pytest.mark.slow
def test_every_read_of_a_growing_ensemble_is_a_part_of_it(config, server, capsys, survived):
    """A study of days could not be looked at before its end."""
    path = config.with_suffix(".h5")
    server.begin("ensemble", str(config), "-o", str(path), "--workers", "1")
    wait_for(path.exists)
    reads = [read_result(path, "ensemble")]
    while reads[-1].attributes["status"] != "completed":
        reads.append(read_result(path, "ensemble"))
        assert " of 100 runs" in said(capsys, "info", str(path))
    assert server.end() == 0
    final = read_result(path, "ensemble")
    assert_growing([int((result.counts >= 0).all(axis=2).sum()) for result in reads], 100)
    for result in reads:
        done = result.counts >= 0
        assert np.array_equal(result.counts[done], final.counts[done])
    survived("reading while writing", "ensemble file loaded, and info", 2 * len(reads))
