"""The staircase: levels, names of plateaus, merges, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.events import Event
from meanfield.figures.data.series import plateaus_of
from meanfield.figures.draw import plot
from meanfield.figures.draw.over_time import plateau_words

LAW = mf.perturbed_uniform([[4, 0.1, 0.02]])
PROBLEM = mf.Problem(mf.Circle(), mf.exponential(beta=9.0), mf.USA, LAW)


@pytest.mark.slow
def test_plateaus_have_names_levels_and_merges(mixed_circle):
    """The figure would show steps and not of what, or mark merges beside their step."""
    axes = plot(mixed_circle, "staircase").axes[0]
    words = {text.get_text().replace("\n", " ") for text in axes.texts}
    assert {"1", "0.6, 0.4", "0.6, 0.3, 0.1"} <= words
    # Sums of squared masses.
    levels = [line.get_ydata()[0] for line in axes.lines if len(set(line.get_ydata())) == 1]
    assert [x for x in levels if x > 0.4] == pytest.approx([0.46, 0.52, 1.0])
    (dots,) = [line for line in axes.lines if line.get_marker() == "o"]
    assert dots.get_xdata().tolist() == [2e3, 5e7, 1e41]
    energy = mixed_circle.observables["energy"]
    assert np.all(np.diff(dots.get_ydata()) > 0) and dots.get_ydata()[-1] < energy[-1]


@pytest.mark.slow
def test_run_without_atoms_shows_the_stored_clusters():
    """A density or particle run would have a staircase without names."""
    law = mf.from_points(np.repeat([0.0, 2.0, 4.5], [50, 30, 20]))
    run = mf.simulate(replace(PROBLEM, initial=law), until=1e3, save=[0.0, 1.0, 10.0, 1e3],
                      representation="particles")  # fmt: skip
    (plateau,) = plateaus_of(run)
    assert plateau.mass == pytest.approx([0.5, 0.3, 0.2])
    assert (plateau.begin, plateau.end) == (0.0, 1e3)
    assert "0.5, 0.3, 0.2" in [text.get_text() for text in plot(run, "staircase").axes[0].texts]


def test_uniform_is_no_plateau_of_one_cluster():
    """A nearly uniform density would be named one cluster of mass 1."""
    assert plateaus_of(mf.simulate(PROBLEM, until=4.0, save=5, representation="density")) == ()


def test_energies_of_time_0_alone_are_no_staircase():
    """Heads that have an energy at time 0 and none later would end in an error of axes."""
    head = mf.Head(value=lambda t: [[1.0, t], [-t, 1.0]])
    attention = mf.Attention([head], beta=2.0)
    run = mf.simulate(replace(PROBLEM, kernel=attention, flow=None), until=1.0, save=3)
    assert np.isfinite(run.observables["energy"]).tolist() == [True, False, False]
    refused("the run has no energy", plot, run, "staircase")


def test_time_axis_is_logarithmic_also_for_linear_saves():
    """Time 0 has no place on it, the others have; one point is no staircase."""
    axes = plot(mf.simulate(PROBLEM, until=4.0, save=5), "staircase").axes[0]
    assert axes.get_xscale() == "log" and axes.get_xlim() == pytest.approx((1.0, 4.0))
    short = mf.simulate(PROBLEM, until=1.0, save=[0.0, 1.0])
    refused("at least 2 saved times after 0, the run has 1", plot, short, "staircase")


@pytest.mark.slow
def test_thousands_of_merges_are_not_named_on_one_another(mixed_circle):
    """Names of invisible plateaus would take minutes and blacken the figure."""
    count = 3000
    events = [Event(1.0, "cluster", "", (i, -1), (1 / count, np.nan)) for i in range(count)]
    events += [Event(1e15 + 1e9 * i, "merge", "", (0, i)) for i in range(1, count)]
    axes = plot(replace(mixed_circle, events=tuple(events)), "staircase").axes[0]
    assert [text.get_text() for text in axes.texts] == ["3000 clusters", "1"]


def test_words_take_the_room_there_is():
    """Names would overlap the neighbours'."""
    mass = np.array([0.41, 0.33, 0.26])
    assert plateau_words(mass, 16) == "0.41, 0.33, 0.26"
    assert plateau_words(mass, 11) == "0.41, 0.33,\n0.26"
    assert plateau_words(mass, 5) == "0.41,\n0.33,\n0.26"
    # A bare 3 would be a mass.
    assert plateau_words(mass, 4) == plateau_words(mass, 0) == ""
    assert plateau_words(np.full(60, 1 / 60), 6) == "n = 60"
    for room in range(40):
        lines = plateau_words(np.full(30, 1 / 30), room).split("\n")
        assert len(lines) <= 3 and all(len(line) <= room for line in lines)
