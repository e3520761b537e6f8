"""A run in memory: what it shows of itself, and how rows become arrays."""

import errno
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.errors import SimulationError
from meanfield.files import OutputError, not_written, replace_bytes
from meanfield.observables import resolution
from meanfield.problem_facts import problem_attributes
from meanfield.runs import Run, assembled, padded
from meanfield.snapshot import Checkpoint, Snapshot
from meanfield.status import COMPLETED, RUNNING, is_cut_short
from meanfield.store import recorder
from meanfield.store.locks import OutputFile
from meanfield.store.recorder import record
from meanfield.store.run_file import load

LAW = mf.perturbed_uniform([[2, 0.1, 0.0]])
PROBLEM = mf.Problem(mf.Circle(), mf.exponential(3.0), mf.Flow("none", strength=-1.0), LAW)


@pytest.fixture(scope="module")
def run() -> Run:
    return mf.simulate(PROBLEM, until=2.0, save=5)


@pytest.mark.slow
def test_counts_of_clusters_are_none_before_anything_separates():
    """Uniform would be one cluster, or a collapsed run none."""
    modes = mf.perturbed_uniform([[4, 0.1, 0.0], [1, 0.0, 0.01]])
    problem = mf.Problem(mf.Circle(), mf.exponential(beta=9.0), mf.USA, modes)
    run = mf.simulate(problem, until=40.0, save=5)
    counts = run.cluster_counts()
    assert np.isnan(counts[0]) and run.observables["clusters/count"][0] == 1
    assert counts[-1] == 4
    tokens = replace(problem, initial=mf.from_points([0.1, 0.1, 0.11]))
    one = mf.simulate(tokens, until=1.0, save=2)
    assert one.cluster_counts().tolist() == [1.0, 1.0]


def test_series_have_one_row_a_time(run):
    """A figure would plot against the wrong times."""
    assert run.time.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0]
    assert len(run.moments) == len(run.representation) == len(run.measures) == 5
    for series in (run.observables, run.diagnostics):
        assert all(len(values) == 5 for values in series.values())


def test_moments_are_those_of_the_measures(run):
    """Two views of one state would disagree."""
    for moments, measure in zip(run.moments, run.measures, strict=True):
        assert measure is not None
        assert np.array_equal(measure.moments(run.moments.shape[1] - 1), moments)


@pytest.mark.slow
def test_density_at_a_saved_time_whatever_carries_it():
    """A notebook would have to know which class carries which time, and the scaled time of each."""
    law = mf.perturbed_uniform([[1, 0.2, 0.0]])
    problem = mf.Problem(mf.Circle(), mf.exponential(2.0), mf.USA, law)
    result = mf.simulate(problem, until=2.0, unit="paper", save=5, representation="characteristics")
    at = np.array([[0.0, 1.0], [2.0, -3.0]])
    exact = mf.simulate(problem, until=2.0, unit="paper", save=5, representation="density")
    density = result.density(at, time=0.5 * (1 + 1e-12))
    assert density == pytest.approx(exact.density(at, time=0.5), abs=1e-9)
    np.testing.assert_array_equal(result.density(at), result.density(at, time=2.0))
    tokens = mf.simulate(problem, until=1.0, save=2, representation="particles", tokens=10, seed=1)
    assert tokens.density(0.0, width=0.5) == tokens.measures[-1].smoothed(0.5)(0.0)
    between = r"t = 0.6 \(paper time\) is no saved time: beside it lie 0.5 and 1"
    for run, options, message in (
        (result, {"time": 0.6}, between),
        (result, {"time": 3.0}, "the last one is 2. Take one of run.time"),
        (tokens, {}, "10 points have no density. Give width="),
        (replace(result, measures=(None,) * 5), {}, "the state at t = 2 was not kept"),
        (replace(result, scaled_time=np.zeros(0)), {}, "the run has no saved times"),
    ):
        refused(message, run.density, at, **options)
    refused("points is missing: give a number or an array of them", result.density, error=TypeError)


@pytest.mark.slow
@pytest.mark.parametrize("space", [mf.Circle(), mf.Sphere()])
def test_nodes_of_a_file_carry_their_density(space, tmp_path):
    """A run that was loaded would show bare nodes."""
    problem = mf.Problem(space, mf.exponential(2.0), mf.USA, mf.von_mises_fisher(1.0))
    options = {"representation": "characteristics", "output": tmp_path / "x.h5"}
    mf.simulate(problem, 0.1, save=2, **options)
    run = load(tmp_path / "x.h5")
    at = space.random_points(5, np.random.default_rng(0))
    first = problem.initial_measure()
    assert run.density(at, time=0.0) == pytest.approx(first(at), rel=1e-6)


def test_table_has_a_row_a_saved_time(monkeypatch):
    """`pd.DataFrame(run.observables)` fails, for masses of clusters have two axes."""
    run = mf.simulate(
        PROBLEM, until=1.0, unit="paper", save=3, observables=["energy", ("two", two_numbers)]
    )
    table = run.table()
    names = ["time", "energy", "clusters", "clusters_mass_0", "clusters_centre_0", "two_0", "two_1"]
    assert list(table) == names and len(table) == 3
    assert table["time"].tolist() == [0.0, 0.5, 1.0]
    assert table["two_1"].tolist() == run.observables["two"][:, 1].tolist()
    np.testing.assert_array_equal(table["clusters"], run.cluster_counts())
    monkeypatch.setitem(sys.modules, "pandas", None)
    plain = run.table()
    assert type(plain) is dict and list(plain) == names
    assert all(column.shape == (3,) for column in plain.values())


def two_numbers(measure: mf.Density | mf.Measure) -> list[float]:
    return [abs(measure.moments(1)[1]), 2.0]


def test_tokens_of_the_sphere_are_one_array_and_columns():
    """A plot of trajectories would need a loop, and centres of clusters have three axes there."""
    problem = mf.Problem(mf.Sphere(), mf.exponential(2.0), mf.SA)
    run = mf.simulate(problem, 1.0, save=4, representation="particles", tokens=6)
    assert run.tokens.shape == (4, 6, 3)
    np.testing.assert_array_equal(run.tokens[-1], run.measures[-1].points)
    x, y, z = (run.table()[f"clusters_centre_0_{axis}"].to_numpy() for axis in range(3))
    np.testing.assert_allclose(np.sqrt(x**2 + y**2 + z**2), 1.0, rtol=1e-12)


def test_tokens_that_are_no_trajectories_are_refused(run):
    """Rows of another number of points would be a ragged array, and densities have none."""
    three, two = (mf.Measure(mf.Circle(), np.zeros(count)) for count in (3, 2))
    for measures, message in (
        (run.measures, "5 of 5 saved states are densities: take representation"),
        ((three, two), "the saved states have 2 or 3 points"),
        ((), "the saved states have no points"),
        ((None,) * 5, "the state at t = 0 was not kept"),
    ):
        refused(message, getattr, replace(run, measures=measures), "tokens")


def test_attributes_are_facts_of_the_problem():
    """A figure or a file would be labelled with another problem."""
    facts = problem_attributes(PROBLEM)
    assert facts["manifold"] == "circle" and facts["kernel"] == "exponential"
    assert (facts["beta"], facts["strength"], facts["normalized"]) == (3.0, -1.0, False)
    assert facts["paper_time_factor"] == np.exp(-3.0)
    assert facts["growth_rate_max"] == mf.growth_rate_max(PROBLEM)
    assert facts["initial"] == "perturbed_uniform"


def test_run_shows_what_it_is(run):
    """A notebook would show an object at an address."""
    assert repr(run) == "Run(circle, 5 saved times from t = 0 to 2, completed)"
    html = run._repr_html_()
    assert html.startswith("<table>") and "5 from 0 to 2 (scaled time)" in html
    assert f"{run.observables['energy'][-1]:.4g} at last" in html


def test_empty_run_can_be_printed():
    """A run that was interrupted at once would fail in a notebook."""
    empty = assembled(PROBLEM, [], {})
    assert repr(empty) == "Run(circle, 0 saved times from t = 0 to 0, completed)"
    assert "<table>" in empty._repr_html_()


def test_assembled_runs_keep_the_order_of_the_stream():
    """Rows would belong to other times."""
    run = assembled(PROBLEM, [(snapshot, {}) for snapshot in disturbed(None)], {})
    assert run.time.tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([np.array(1.0), np.array(2.0)], [1.0, 2.0]),
        ([np.zeros(0), np.array([1.0, 2.0])], [[np.nan, np.nan], [1.0, 2.0]]),
        ([np.zeros(0)], np.zeros((1, 0))),
    ],
)
def test_rows_are_padded(rows, expected):
    """Clusters of one time would be read as another time's."""
    assert np.array_equal(padded(rows), expected, equal_nan=True)


ATTRIBUTES = problem_attributes(mf.Problem(mf.Circle(), mf.linear(), mf.USA)) | {"status": RUNNING}
# What ends a file that is not all there -> how its status begins.
DISTURBANCES: list[tuple[BaseException, str]] = [
    (KeyboardInterrupt(), "interrupted"), (GeneratorExit(), "interrupted"),
    (ValueError("no"), "failed"), (MemoryError(), "failed"), (SystemExit(1), "failed"),
]  # fmt: skip
REASONS = [
    "under-resolved: spectral tail 1e-3 above 1e-8",
    "the step became too small: the tolerance cannot be reached, raise it",
    "state became non-finite: reduce strength or beta",
]


def test_what_cannot_be_written_is_recognised(tmp_path):
    """A place that cannot be written would look like a result, a full disk like a reason."""
    with pytest.raises(OutputError) as caught:
        replace_bytes(tmp_path / "nodir" / "x.png", b"")
    for code in (errno.ENOENT, errno.ENOSPC, errno.EIO):
        message = not_written(tmp_path / "nodir/x.png", os.strerror(code))
        assert message.endswith(f"x.png cannot be written: {os.strerror(code)}.")
        assert is_cut_short(message)
        assert (str(caught.value) == message) is (code == errno.ENOENT)


def disturbed(error: BaseException | None) -> Iterator[Snapshot]:
    for time in (0.0, 1.0):
        state = np.array([1.0, 0.1], complex)
        density = mf.Density(mf.Circle(), state)
        moments = density.moments(12)
        yield Snapshot(time, density, moments, "density", {"steps": time}, Checkpoint(time, state))
    if error is not None:
        raise error


def recorded(path: Path, error: BaseException | None) -> str:
    stream = record(
        OutputFile(path), disturbed(error), attributes=ATTRIBUTES, growth_rates=np.zeros(3),
        observe=lambda snapshot: {"energy": np.array(snapshot.time)},
    )  # fmt: skip
    try:
        list(stream)
    except BaseException as caught:
        assert caught is error or isinstance(caught, SimulationError)
    return load(path).status


@pytest.mark.parametrize(("error", "word"), DISTURBANCES)
def test_run_that_was_disturbed_is_recognised(tmp_path, error, word):
    """The recorder would write what `--resume` takes for a reason to leave a run as it is."""
    status = recorded(tmp_path / "x.h5", error)
    assert status == f"{word} at t = 1"
    assert is_cut_short(status)


@pytest.mark.parametrize("reason", REASONS)
def test_run_that_cannot_go_on_is_left_as_it_is(tmp_path, reason):
    """A run that is under-resolved would be called completed."""
    status = recorded(tmp_path / "x.h5", SimulationError(1.5, 3, reason))
    assert status == reason.replace(":", " at t = 1.5:", 1)
    assert not is_cut_short(status)
    completed = recorded(tmp_path / "x.h5", None)
    assert completed == COMPLETED and not is_cut_short(completed)
    assert is_cut_short(RUNNING) and not is_cut_short("")


def test_run_whose_disk_failed_is_recognised(tmp_path, monkeypatch):
    """A run that lacked nothing but its last word would stay unfinished for ever."""
    real, calls = recorder.replace_file, []

    def full_once(output: OutputFile, *others: Any) -> None:
        calls.append(output)
        if len(calls) == 2:
            raise OutputError(not_written(output.path, os.strerror(errno.ENOSPC)))
        real(output, *others)

    monkeypatch.setattr(recorder, "replace_file", full_once)
    status = recorded(tmp_path / "x.h5", None)
    assert "x.h5 cannot be written at t = " in status and status != COMPLETED
    assert is_cut_short(status)


@pytest.mark.slow
def test_vectors_of_the_circle_come_back(tmp_path):
    """A run of Sphere(2) was read as one of angles: its file was called damaged."""
    problem = mf.Problem(mf.Sphere(2), mf.exponential(3.0), mf.SA, mf.uniform())
    run = mf.simulate(problem, until=1.0, save=2, representation="particles", tokens=5)
    run.save(tmp_path / "run.h5")
    again = load(tmp_path / "run.h5")
    assert run.manifold == again.manifold == again.problem.manifold == mf.Sphere(2)
    np.testing.assert_array_equal(again.measures[-1].points, run.measures[-1].points)
    assert repr(again.view()).startswith("View(sphere:2, 2 frames")


@pytest.mark.parametrize("changes", ["never", "in stages", "with time"])
def test_resolution_is_that_of_the_saved_density(changes):
    """The carrier's measurements would belong to another problem, or to another time."""
    law = mf.perturbed_uniform([[3, 0.2, 0.0]])
    kernel = mf.exponential(lambda t: 4.0 + t) if changes == "with time" else mf.exponential(4.0)
    stages = [mf.Stage(end=0.5), mf.Stage(kernel=mf.exponential(9.0))]
    stages = stages if changes == "in stages" else []
    problem = mf.Problem(mf.Circle(), kernel, mf.SA, law, stages=stages)
    run = mf.simulate(problem, until=1.0, save=5, representation="density", progress=False)
    saves = zip(run.scaled_time, run.measures, strict=True)
    expected = [resolution(problem.at(time), measure) for time, measure in saves]
    assert run.observables["resolution"].tolist() == expected
