"""Replays in files, from the command line and as figures."""

import io
import re

import h5py
import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.models.heads import equiangular_by_layer
from tests.models.encoders import random_arrays, write_encoder

_TEXT = "the tokens of a mean field on the sphere cluster, attention is in it"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoders") / "small"
    write_encoder(folder)
    return folder


@pytest.fixture(scope="module")
def replayed(folder):
    return mf.replay(mf.load_encoder(folder), [_TEXT, "你好 tokens 😀"])


@pytest.mark.slow
def test_files_hold_the_replay(tmp_path, replayed):
    """Every array and text comes back to the bit, and is hashed."""
    replayed.save(tmp_path / "r.h5")
    run = mf.load(tmp_path / "r.h5")
    assert run.texts == replayed.texts
    assert (run.model, run.beta) == (replayed.model, replayed.beta)
    values = run.stored_values()
    for name, expected in replayed.stored_values().items():
        np.testing.assert_array_equal(values[name], expected, err_msg=name)
    assert len(run.attributes["result_hash"]) == 64
    refused("exists: use overwrite=True", replayed.save, tmp_path / "r.h5")
    run.save(tmp_path / "again.h5")
    assert mf.load(tmp_path / "again.h5").attributes == run.attributes


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("text_of", lambda values: values + 5),
        ("letters", lambda values: values + 0x110000),
        ("letters", lambda values: 0 * values + 0xD800),
        ("rung", lambda values: values[:-1]),
        ("states", lambda values: values[:, :, :-1]),
    ],
)
def test_changed_files_are_refused(tmp_path, replayed, name, change):
    """Missing texts, bytes that are no letters, or another shape would pass."""
    path = tmp_path / "r.h5"
    replayed.save(path)
    with h5py.File(path, "r+") as file:
        values = change(file[name][()])
        if values.shape == file[name].shape:
            file[name][()] = values
        else:
            del file[name]
            file[name] = values
    refused("damaged", mf.load, path)


@pytest.mark.slow
def test_command_replays_and_shows(tmp_path, folder, cli, monkeypatch):
    """Files and standard input; the same numbers again from `info`; a figure."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.txt").write_text(_TEXT)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"the circle is a sphere")))
    facts = cli.json("replay", folder, "one.txt", "-", "--plot", "r.svg", "--quiet")
    run = mf.load("replay.h5")
    assert run.texts == (_TEXT, "the circle is a sphere")
    assert facts["heads"]["r2_fit"] == run.heads.r2_fit.tolist()
    assert "<svg" in (tmp_path / "r.svg").read_text()
    assert "from the model to an equation" in cli("info", "replay.h5")
    assert len(cli("info", "replay.h5", "--csv").splitlines()) == run.depth + 2
    cli("plot", "replay.h5")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("FOLDER none.txt", "none.txt: No such file.*- for standard input"),
        ("FOLDER latin.txt", "no text in UTF-8"),
        ("FOLDER one.txt -o there.h5", "use --overwrite to replace it"),
        ("FOLDER one.txt -o one.txt", "one.txt"),
        ("FOLDER one.txt --plot x.bmp", "figures end in"),
        ("FOLDER long.txt", "takes at most 40"),
    ],
)
def test_wrong_uses_are_one_line(tmp_path, folder, cli, monkeypatch, line, reason):
    """Status 2, one line, and nothing is lost or left."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.txt").write_text(_TEXT)
    (tmp_path / "long.txt").write_text("the " * 60)
    (tmp_path / "latin.txt").write_bytes(b"\xe9t\xe9")
    (tmp_path / "there.h5").write_text("mine")
    before = sorted(tmp_path.iterdir())
    words = [folder if word == "FOLDER" else word for word in line.split()]
    assert re.search(reason, cli.refused("replay", *words))
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "there.h5").read_text() == "mine"


@pytest.mark.slow
def test_figures_draw_the_replay(replayed, folder):
    """The rungs of the picture are the ladder's means; every axis is labelled."""
    figure = replayed.plot(title="mine")
    lines = {line.get_label(): line.get_ydata() for line in figure.axes[1].get_lines()}
    assert np.array_equal(lines["model"], replayed.ladder.cosine.mean(axis=0)[0])
    assert all(axes.get_xlabel() and axes.get_ylabel() for axes in figure.axes)
    limit = mf.token_limit(
        mf.load_encoder(folder), _TEXT, np.random.default_rng(0), counts=(4, 8), tokens=32, runs=2
    )
    (axes,) = limit.plot().axes
    assert np.array_equal(axes.get_lines()[0].get_ydata(), limit.mean[:, 0])
    assert "R^2" in replayed._repr_html_()


@pytest.mark.parametrize("size", [1e11, 3e13, 1e300])
def test_huge_weights_are_replayed_or_refused_in_one_line(tmp_path, cli, size):
    """A replay would never end, or fail on NaN without a word of the file."""
    arrays = random_arrays()
    name = "encoder.layer.0.attention.self.value.weight"
    arrays[name] = size * arrays[name] / np.abs(arrays[name]).max()
    write_encoder(tmp_path / "huge", arrays=arrays)
    (tmp_path / "x.txt").write_text(_TEXT)
    words = ["replay", tmp_path / "huge", tmp_path / "x.txt", "--quiet", "-o", tmp_path / "r.h5"]
    if size < 1e12:
        cli.quiet(*words)
        return
    text = f"huge/model.safetensors: {name} holds {size:.3g}, expected trained weights"
    assert text in cli.refused(*words)


@pytest.mark.parametrize("strength", [300.0, 1e10, -1e10])
def test_strong_heads_end_at_their_limit(strength):
    """Explicit steps would take 1e10 steps: tokens agree, or come to a simplex, -1 / (n - 1)."""
    end = equiangular_by_layer(9, 0.1, np.array([2.0]), np.array([strength]))[-1]
    assert end == pytest.approx(1.0 if strength > 0 else -1 / 8, abs=1e-11)
