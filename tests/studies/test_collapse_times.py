"""Time to one cluster over many starts: runs, the law of two clusters, files."""

from dataclasses import replace

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.observables.clusters import cluster_radius
from meanfield.studies.collapse_times import CollapseTimes, collapse

PROBLEM = mf.Problem(mf.Circle(), mf.exponential(4.0), mf.SA)


@pytest.fixture(scope="module")
def study():
    return mf.collapse_times(PROBLEM, tokens=(2, 12), runs=3, until=1e7)


@pytest.mark.slow
def test_two_tokens_obey_their_law(study):
    """Times would be saved times, or steps, in place of the flow's."""
    exact = [mf.two_cluster_time(PROBLEM, angle, cluster_radius(4.0)) for angle in study.angles[0]]
    np.testing.assert_allclose(study.predicted[0], exact, rtol=1e-14)
    # Steps have the tolerance 1e-8, and errors grow until tokens meet.
    np.testing.assert_allclose(study.times[0], exact, rtol=1e-6)
    assert np.all(study.pair_times[0] == 0.0) and np.all(study.masses[0] == 0.5)


@pytest.mark.slow
def test_last_two_clusters_decide_when_one_is_left(study):
    """The law would be of other clusters, or of another time."""
    # Clusters that are not yet points when two are left: a per cent of their short times.
    np.testing.assert_allclose(study.predicted[1], study.times[1], rtol=0.02)
    assert np.all(study.pair_times[1] > 0.0) and np.all(study.pair_times <= study.times)
    assert np.all((study.masses > 0.0) & (study.masses <= 0.5))


@pytest.mark.slow
def test_atoms_and_tokens_meet_at_the_same_time():
    """The time would depend on when a run hands over to atoms."""
    points = np.array([0.0, 0.1, 2.0, 2.1])
    time = collapse(PROBLEM, points, 1e6)[0]
    problem = replace(PROBLEM, initial=mf.from_points(points))
    run = mf.simulate(problem, until=1e4, save=2, representation="atoms")
    assert run.events[-1].kind == "merge"
    assert time == pytest.approx(run.events[-1].time, rel=1e-5)


def test_share_of_runs_is_that_of_their_times():
    """A curve would drop at other times, or count runs that were not made."""
    times = np.array([[1.0, 4.0, np.inf, np.nan]])
    nothing = np.full_like(times, np.nan)
    law = np.array([[2.0, 5.0, np.nan, np.nan]])
    result = CollapseTimes(np.array([8]), 10.0, times, nothing, nothing, nothing, law)
    np.testing.assert_allclose(result.survival([0.5, 1.0, 4.5]), [[1.0, 2 / 3, 1 / 3]])
    np.testing.assert_allclose(result.survival([1.0, 2.0], law=True), [[1.0, 0.5]])
    assert result.quartiles().tolist() == [[1.0, 4.0, np.inf]]
    assert result.finished.tolist() == [3] and result.runs == 4
    text = "CollapseTimes(n = 8, 4 runs, median time to one cluster 4, 1 later than 10)"
    assert repr(result) == text
    unmade = replace(result, times=nothing)
    assert np.isnan(unmade.survival([1.0])).all() and str(unmade) == repr(unmade)


@pytest.mark.slow
def test_files_hold_the_study_and_grow(study, tmp_path, cli):
    """A study of a night would be lost, or differ from the study that runs at once."""
    path = tmp_path / "c.h5"
    mf.collapse_times(PROBLEM, tokens=2, runs=2, until=1e7, output=path)
    larger = {"tokens": (2, 12), "runs": 3, "output": path, "resume": True}
    grown, back = mf.collapse_times(PROBLEM, until=1e7, **larger), mf.load(path)
    assert isinstance(back, CollapseTimes)
    for name, values in study.stored_values().items():
        np.testing.assert_array_equal(grown.stored_values()[name], values)
        np.testing.assert_array_equal(back.stored_values()[name], values)
    output = cli("info", path)
    assert output.startswith("kind ") and output.endswith(f"{study}\n")
    text = "until cannot change: .* use another output="
    refused(text, mf.collapse_times, PROBLEM, until=1e6, **larger)


@pytest.mark.slow
def test_report_says_what_was_measured_and_what_the_law_says(study):
    """A table would leave out the law, or a size."""
    header, *rows = [line.split() for line in str(study).splitlines()]
    assert " ".join(header) == "n runs one cluster time: 1/4 1/2 3/4 law: 1/4 1/2 3/4"
    assert [row[:3] for row in rows[:2]] == [["2", "3", "3"], ["12", "3", "3"]]
    assert "circle, exponential kernel, beta = 4, SA" in study._repr_html_()
    assert {len(column) for column in study.columns.values()} == {6}


@pytest.mark.slow
def test_figure_has_a_curve_and_a_law_for_each_size(study):
    """A size would be missing, or have no law beside it."""
    (axes,) = study.plot().axes
    assert [line.get_linestyle() for line in axes.lines] == ["-", "--", "-", "--", "--"]
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["$N = 2$", "$N = 12$", "last two clusters alone"]


@pytest.mark.parametrize(("problem", "options", "message"), [
    (PROBLEM, {"until": 0.01}, r"until must lie between 0\.05 and 1e\+100, got 0\.01"),
    (PROBLEM, {"until": 1e200}, "until must lie between"),
    (PROBLEM, {"tokens": 1}, "tokens must all be at least 2"),
    (PROBLEM, {"runs": 0}, "runs must lie between 1 and"),
    (mf.Problem(mf.Circle(), mf.exponential(-2.0), mf.SA), {}, "become one cluster where they"),
    (mf.Problem(mf.Sphere(5), mf.exponential(2.0), mf.SA), {}, "on the circle and S"),
    (replace(PROBLEM, flow=mf.Flow(normalized=True, diffusivity=0.1)), {}, "diffusi"),
    (replace(PROBLEM, drift=mf.LinearDrift([[0.0, 1.0], [-1.0, 0.0]])), {},
     "leave out other terms"),
])  # fmt: skip
def test_what_has_no_time_to_one_cluster_is_refused(problem, options, message):
    """A study would wait for ever, or compare with a law of something else."""
    refused(message, mf.collapse_times, problem, **{"until": 1e3, "tokens": 2, "runs": 1} | options)
