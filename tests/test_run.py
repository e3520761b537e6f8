"""A run in memory: what it shows of itself, and how rows become arrays."""

from __future__ import annotations

import numpy as np
import pytest

import meanfield as mf
from meanfield.run import Run, collect, padded, problem_attributes
from meanfield.trajectory import trajectory

LAW = mf.perturbed_uniform([[2, 0.1, 0.0]])
PROBLEM = mf.Problem(mf.Circle(), mf.exponential(3.0), mf.Flow(strength=-1.0), LAW)


@pytest.fixture(scope="module")
def run() -> Run:
    """A short run."""
    return mf.simulate(PROBLEM, until=2.0, save=5)


def test_series_have_one_row_a_time(run: Run) -> None:
    """A figure would plot against the wrong times."""
    assert run.time.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0]
    assert len(run.moments) == len(run.representation) == len(run.measures) == 5
    for series in (run.observables, run.diagnostics):
        assert all(len(values) == 5 for values in series.values())


def test_moments_are_those_of_the_measures(run: Run) -> None:
    """Two views of one state would disagree."""
    for moments, measure in zip(run.moments, run.measures, strict=True):
        assert measure is not None
        assert np.array_equal(measure.moments(run.moments.shape[1] - 1), moments)


def test_attributes_are_facts_of_the_problem() -> None:
    """A figure or a file would be labelled with another problem."""
    facts = problem_attributes(PROBLEM)
    assert facts["manifold"] == "circle" and facts["kernel"] == "exponential"
    assert (facts["beta"], facts["strength"], facts["normalized"]) == (3.0, -1.0, False)
    assert facts["paper_time_factor"] == np.exp(-3.0)
    assert facts["growth_rate_max"] == mf.growth_rate_max(PROBLEM)
    assert facts["initial"] == "perturbed_uniform"


def test_run_shows_what_it_is(run: Run) -> None:
    """A notebook would show an object at an address."""
    assert repr(run) == "Run(circle, 5 saved times from t = 0 to 2, completed)"
    html = run._repr_html_()
    assert html.startswith("<table>") and "interaction energy" in html
    assert f"{run.observables['energy'][-1]:.6g}" in html


def test_empty_run_can_be_shown() -> None:
    """A run that was interrupted at once would fail in a notebook."""
    empty = collect(PROBLEM, [])
    assert repr(empty) == "Run(circle, 0 saved times from t = 0 to 0, completed)"
    assert "<table>" in empty._repr_html_()


def test_collect_keeps_the_order_of_the_stream() -> None:
    """Rows would belong to other times."""
    from meanfield.representations import Options, represent

    representation = represent(PROBLEM, Options())
    stream = trajectory(PROBLEM, representation, [0.25, 0.75], tolerance=1e-10)
    assert collect(PROBLEM, stream).time.tolist() == [0.25, 0.75]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([np.array(1.0), np.array(2.0)], [1.0, 2.0]),
        ([np.zeros(0), np.array([1.0, 2.0])], [[np.nan, np.nan], [1.0, 2.0]]),
        ([np.zeros(0)], np.zeros((1, 0))),
    ],
)
def test_rows_are_padded(rows: list[np.ndarray], expected: object) -> None:
    """Clusters of one time would be read as those of another."""
    assert np.array_equal(padded(rows), expected, equal_nan=True)
