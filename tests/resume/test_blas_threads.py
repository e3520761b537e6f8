"""Sums by BLAS, whose last bits depend on its threads: runs and observables use one."""

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

import meanfield as mf
from meanfield.carriers import particles
from meanfield.observables import OBSERVABLES, observe
from meanfield.trajectory import trajectory

COUNTS = (1, 2, 3)


@pytest.fixture
def blas():
    """Setter of the number of BLAS threads; in the end it is as before."""
    import scipy.linalg.lapack  # noqa: F401

    controller = ThreadpoolController()
    with controller.limit(limits=None):
        yield controller


def test_observables_do_not_depend_on_blas_threads(blas):
    """Entropies, and with them the hash of results, would differ from machine to machine."""
    problem = mf.Problem(mf.Circle(), mf.exponential(4.0), mf.Flow("none", diffusivity=0.1))
    modes = np.random.default_rng(1).normal(size=(2, 6000)) / 1e4
    modes[0, 0] = 1.0
    density = mf.Density(mf.Circle(), modes[0] + 1j * modes[1] * (np.arange(6000) > 0))
    moments = density.moments(problem.moment_degree)
    result = []
    for count in COUNTS:
        with blas.limit(limits=count, user_api="blas"):
            # A density of its own: the entropy of the last one is kept.
            same = mf.Density(mf.Circle(), density.coefficients)
            values = observe(problem, same, moments, tuple(OBSERVABLES))
            # As text: what is not defined is equal to itself there.
            result.append({name: repr(value.tolist()) for name, value in values.items()})
    assert result[0] == result[1] == result[2]


def test_steps_do_not_depend_on_blas_threads(blas):
    """The error of a step is a sum: the next step, and all that follows, would differ."""
    problem = mf.Problem(mf.Circle(), mf.exponential(4.0), mf.USA)
    angles = np.random.default_rng(2).uniform(0.0, 6.0, 40_000)
    result = []
    for count in COUNTS:
        with blas.limit(limits=count, user_api="blas"):
            start = particles(problem, mf.Measure(mf.Circle(), angles))
            *_, last = trajectory(problem, start, [0.0, 6.0], tolerance=1e-8)
            result.append(last)
    for other in result[1:]:
        assert other.checkpoint.step == result[0].checkpoint.step
        assert other.diagnostics == result[0].diagnostics
        assert np.array_equal(other.measure.points, result[0].measure.points)


def test_blas_threads_are_returned_between_snapshots(blas):
    """Whoever uses the library would find BLAS on one thread for what comes after."""
    problem = mf.Problem(mf.Circle(), mf.exponential(4.0), mf.USA)

    def counts():
        return [info["num_threads"] for info in blas.info() if info["user_api"] == "blas"]

    with blas.limit(limits=2, user_api="blas"):
        before = counts()  # a library without threads, if another test loaded one, stays at 1
        start = particles(problem, mf.Measure(mf.Circle(), np.arange(3.0)))
        records = [counts() for _ in trajectory(problem, start, [0.0, 0.5, 1.0], tolerance=1e-6)]
        assert 2 in before
        assert [*records, counts()] == [before] * 4
