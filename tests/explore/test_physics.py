"""Meaning of the sliders: numbers of theory, and the run that users would make."""

import base64
import re

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.explore.physics import (
    COLOURS,
    RANGES,
    Setting,
    explored,
    linear_law,
    rates_of,
    setting_of,
)
from meanfield.explore.server import PAGES


def messages(setting):
    result = {}
    for message in explored(setting, lambda: None, runs=2):
        result.setdefault(message["kind"], []).append(message)
    return result


def test_rates_are_those_of_theory():
    """Sliders would show another problem than their names say."""
    options = {"manifold": "sphere", "beta": "7", "normalization": "none", "diffusivity": "0.01"}
    attention = mf.Attention([mf.Head()], "none", beta=7.0, diffusivity=0.01)
    problem = mf.Problem(mf.Sphere(), attention)
    result = rates_of(setting_of(options))
    assert result["rates"] == mf.growth_rates(problem, 12)[1:].tolist()
    assert result["dominant"] == mf.dominant_degree(problem)
    assert result["critical_diffusivity"] == mf.critical_diffusivity(problem)


@pytest.mark.slow
def test_frames_are_those_of_the_run():
    """The page would show another run, or other tokens, than the package makes."""
    result = messages(Setting(beta=4.0, tokens=30, seed=3))
    problem = mf.Problem(mf.Circle(), mf.exponential(4.0), mf.SA)
    frames = [result["begin"][0]["frame"], *(message["frame"] for message in result["frame"])]
    times = [frame["time"] for frame in frames]
    options = {"representation": "particles", "tokens": 30, "seed": 3, "tolerance": 1e-6}
    run = mf.simulate(problem, until=times[-1], save=times, **options)
    coded = np.frombuffer(base64.b64decode(frames[-1]["points"]), "<i2")
    gap = np.angle(np.exp(1j * (coded * np.pi / 32767 - run.measures[-1].points)))
    assert np.abs(gap).max() <= 0.51 * np.pi / 32767  # half a step of 16 bits
    energies = [frame["curves"]["energy"] for frame in frames]
    assert energies == run.observables["energy"].tolist()
    counts = [frame["curves"]["clusters"] for frame in frames]
    assert counts == [None if np.isnan(count) else count for count in run.cluster_counts()]


def test_densities_have_the_colours_of_their_logarithm():
    """The live picture would have another scale than its header says."""
    setting = Setting("sphere", beta=3.0, carrier="density", diffusivity=0.02)
    begin = next(each for each in explored(setting, lambda: None) if each["kind"] == "begin")
    _, columns = begin["header"]["values"]["size"]
    q = np.frombuffer(base64.b64decode(begin["frame"]["values"]), np.uint8).reshape(-1, columns)
    low, high = COLOURS
    latitude = np.pi * ((np.arange(len(q)) + 0.5) / len(q) - 0.5)
    mass = (low * (high / low) ** (q / 255.0) * np.cos(latitude)[:, None]).mean() * np.pi / 2
    assert abs(mass - 1.0) < 0.01  # a step of colour is 1.8 %, either way
    assert begin["frame"]["curves"]["clusters"] is None  # nearly uniform is no cluster


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"beta": "warm"}, "beta must be a number between 0.01 and 100, got 'warm'"),
        ({"tokens": "10.5"}, "tokens must be a whole number between 2 and 5000, got '10.5'"),
        ({"diffusivity": "nan"}, "diffusivity must be a number between 0 and 10, got 'nan'"),
        ({"manifold": "torus"}, "manifold must be one of circle, sphere, got 'torus'"),
        ({"betta": "1"}, "betta is not known"),
        ({"normalization": "sinkhorn", "tokens": "2000"}, "at most 1000 tokens here, got 2000"),
    ],
)
def test_wrong_settings_are_refused_in_one_line(options, reason):
    """A page would get a traceback, or a run of something else."""
    refused(re.escape(reason), setting_of, options)


def test_ends_of_sliders_are_in_range():
    """A slider would lead to a complaint."""
    page = PAGES[""].read_text("utf-8")
    for name in ("beta", "tokens", "diffusivity", "length"):
        slider = rf'id="{name}-slider" .* min="(\S+)" max="(\S+)".*?(?:data-most="(\S+)"|>)'
        low, high, end = re.search(slider, page).groups()
        (least, most), round_off = RANGES[name], 1.0 + 1e-9
        assert least <= 10 ** float(low) * round_off
        assert (float(end) if end else 10 ** float(high)) <= most * round_off


def test_missing_laws_are_reported():
    """The page would show the law of another setting, or none without a word."""
    for setting, text in (
        (Setting(strength="repel"), "none: uniform is stable"),
        (Setting(normalization="sinkhorn"), "No law of cluster counts is known"),
        (Setting("sphere", beta=100.0), "clusters in the mean"),
        (Setting(tokens=2), "the linear law does not hold for 2 tokens, only from 100 on"),
    ):
        law = linear_law(setting, lambda: None)
        assert text in law["text"] and law["law"] == []


@pytest.mark.slow
def test_a_run_that_fails_says_so(monkeypatch):
    """A density that no series resolves would look like one that is done."""
    monkeypatch.setattr("meanfield.explore.physics._SPHERE_DEGREE", 1)
    result = messages(Setting("sphere", beta=1.0, carrier="density", length=1.0))
    (failed,) = result["failed"]
    assert re.search(r"^under-resolved.*stopped at t =.*no density resolves", failed["text"])
    assert "end" not in result


def test_a_run_ends_where_nobody_waits():
    """Runs of the sliders' former places would pile up."""
    records = []

    def check():
        if len(records) > 3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        for message in explored(Setting(tokens=50), check):
            records.append(message["kind"])
    assert "end" not in records and len(records) < 20
