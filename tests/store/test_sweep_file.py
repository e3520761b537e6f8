"""The index of a sweep, and what figures make of it."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.figures.draw.sweep import sweep_figure, sweep_picture
from meanfield.store.layout import FormatError
from meanfield.store.sweep_file import load_sweep, write_sweep
from meanfield.studies.sweep_results import Member, Parameter, Sweep


def sweep_of(folder, *parameters):
    """Sweep whose member i has order parameter i at the last time; the last one ended early."""
    places = list(product(*(parameter.values for parameter in parameters)))
    keys = [parameter.key for parameter in parameters]
    members = tuple(
        Member(f"{i}.h5", dict(zip(keys, values, strict=True)), "completed", "0")
        for i, values in enumerate(places)
    )
    members = (*members[:-1], replace(members[-1], status="under-resolved at t = 1"))
    sweep = Sweep(folder, tuple(parameters), members, {"title": "Made"})
    run = mf.simulate(mf.Problem(mf.Circle(), mf.linear(), mf.USA), 1.0, save=2)
    # In place of what is read from files.
    sweep.__dict__["observed"] = tuple(
        replace(run, observables={"order_parameter": np.array([0.0, i])})
        for i in range(len(places))
    )
    return sweep


def test_picture_has_each_value_at_its_place(tmp_path):
    """Axes would be exchanged, unsorted values joined by a zigzag, an early end be missing."""
    flow = Parameter("problem.normalization", ("softmax", "none"))
    noise = Parameter("problem.diffusivity", (1.0, 0.1, 0.01))
    beta = Parameter("problem.beta", tuple(range(1, 9)))
    sweep = sweep_of(tmp_path, flow, noise, beta)
    picture = sweep_picture(sweep)
    assert (picture.x.label, picture.x.logarithmic) == (r"inverse temperature $\beta$", False)
    assert picture.y is not None and picture.y.words == ("0.01", "0.1", "1")
    assert picture.panels == ("normalization = softmax", "normalization = none")
    np.testing.assert_array_equal(picture.values, np.arange(48.0).reshape(2, 3, 8)[:, ::-1])
    assert np.argwhere(picture.early).tolist() == [[1, 0, 7]]
    # Both of numbers, and many: a map.
    plane = sweep_of(tmp_path, beta, Parameter("problem.strength", tuple(np.linspace(1, 2, 9))))
    picture, figure = sweep_picture(plane), sweep_figure(plane)
    assert picture.is_map and picture.x.label == "strength"
    np.testing.assert_array_equal(picture.values[0], np.arange(72.0).reshape(8, 9))
    mesh = figure.axes[0].collections[0]
    np.testing.assert_array_equal(np.ravel(mesh.get_array()), np.arange(72.0))


def test_seeds_are_points_and_their_mean(tmp_path):
    """Lines would join runs that have nothing to do with each other, one over the other."""
    beta = Parameter("problem.beta", (1.0, 2.0))
    seed = Parameter("representation.seed", tuple(range(9)))
    sweep = sweep_of(tmp_path, beta, seed)
    picture = sweep_picture(sweep)
    assert not picture.is_map and picture.whole
    assert picture.x.label == r"inverse temperature $\beta$"
    assert picture.y is not None and picture.y.is_seed and not picture.x.is_seed
    axes = sweep_figure(sweep).axes[0]
    runs = [line for line in axes.lines if line.get_marker() == "o"]
    assert len(runs) == 9 and {line.get_linestyle() for line in runs} == {"None"}
    # None on another, all nearer to their own value than to the next.
    places = np.array([line.get_xdata() for line in runs])
    assert np.unique(places).size == 18 and np.abs(places - [1.0, 2.0]).max() < 0.25
    (mean,) = [line for line in axes.lines if line.get_label() == "their mean"]
    np.testing.assert_allclose(mean.get_ydata(), [4.0, 13.0], rtol=1e-15)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sweep_format_version": 2}, "is not a sweep of format 1"),
        ({"members": []}, "members are not those of the product"),
        ({"parameters": []}, "parameters are none"),
        ({"attributes": 3}, "is damaged"),
        ({"members": [{"file": "../x.h5", "overrides": {"time.end": 1}, "status": None,
                       "result_hash": None}]}, "files of members are the same, or lie elsewhere"),
    ],
)  # fmt: skip
def test_a_damaged_index_is_reported(change, message, tmp_path):
    """A table would be of another product, or a file outside of the folder be read."""
    sweep = Sweep(tmp_path, (Parameter("time.end", (1,)),), (Member("1.h5", {"time.end": 1}),))
    write_sweep(tmp_path / "sweep.json", sweep)
    assert load_sweep(tmp_path).members == sweep.members
    index = json.loads((tmp_path / "sweep.json").read_text()) | change
    (tmp_path / "sweep.json").write_text(json.dumps(index))
    refused(message, load_sweep, tmp_path / "sweep.json", error=FormatError)
    (tmp_path / "sweep.json").write_text('{"sweep_format_version": 1, "x": NaN')
    refused("is damaged: NaN is no number of JSON", load_sweep, tmp_path, error=FormatError)


@pytest.mark.parametrize("form", [(), ("--csv",), ("--json",)])
def test_texts_of_an_index_do_not_reach_the_terminal_as_they_are(form, tmp_path, cli):
    """A folder from somebody else would colour the terminal, or write its title, or hide lines."""
    value = "circle\x1b[31m"
    write_sweep(
        tmp_path / "sweep.json",
        Sweep(
            tmp_path,
            (Parameter("problem.manifold", (value,)),),
            (Member("1.h5", {"problem.manifold": value}),),
            {"title": "\x1b]0;mine\x07", "created": "\x9b2J\r"},
        ),
    )
    text = cli("info", tmp_path, *form)
    assert all(line.isprintable() for line in text.split("\n")) and "circle" in text
    assert r"\x1b" in text or r"\u001b" in text
