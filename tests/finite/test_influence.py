"""Influence functions: one token more at x, tried out."""

from functools import partial

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.carriers.options import Options
from meanfield.engines.threads import one_blas_thread
from meanfield.finite.path import Settings, density_of, path, tangent
from meanfield.simulation import Evolution

LAW = mf.from_density(np.array([1.0, 0.25, -0.1j]))


@pytest.mark.slow
@pytest.mark.parametrize("flow", [mf.USA, mf.Flow(normalized=True, diffusivity=0.05)])
def test_a_little_mass_moved_from_here_to_there(flow):
    """(1 - e) mu_0 + e nu changes J by e int psi dnu, nu = 1 + cos(theta - 1)."""
    problem = mf.Problem(mf.Circle(), mf.exponential(beta=3.0), flow, LAW)
    psi = mf.influence(problem, lambda m: m[2].imag, until=1.0)
    other = np.array([1.0, 0.5 * np.exp(-1j)])

    def second_moment(share):
        mixed = (1 - share) * np.array([1.0, 0.25, -0.1j]) + share * np.append(other, 0.0)
        moved = mf.Problem(mf.Circle(), problem.kernel, flow, mf.from_density(mixed))
        run = mf.simulate(moved, 1.0, save=2, tolerance=1e-13, representation="density")
        return float(run.moments[-1][2].imag)

    h = 1e-3
    slope = (8 * (second_moment(h) - second_moment(-h)) - second_moment(2 * h)
             + second_moment(-2 * h)) / (12 * h)  # fmt: skip
    grown = problem.manifold.inner(psi.coefficients[0], np.append(other, np.zeros(60)))
    np.testing.assert_allclose(grown, slope, rtol=1e-8)


@pytest.mark.slow
def test_zonal_moments_of_the_sphere():
    """1 + 0.1 P_3 would differ from rings perturbed one by one by a code of its own, 5 digits."""
    law = mf.perturbed_uniform([[3, 0, 0.1 / np.sqrt(7.0)]])
    problem = mf.Problem(mf.Sphere(), mf.exponential(beta=5.0), mf.USA, law)

    def mean_legendre(degree, moments):
        return float(mf.Sphere().unpacked(moments)[0, degree, 0] / np.sqrt(2 * degree + 1))

    legendre = [partial(mean_legendre, degree) for degree in range(1, 5)]
    psi = mf.influence(problem, legendre, until=0.1 * np.exp(5.0))
    np.testing.assert_allclose(psi.variances, [0.86139, 1.27361, 1.04852, 0.51828], rtol=1e-5)
    np.testing.assert_allclose(psi.covariance[0, 1:3], [0.0453308, 0.0031776], rtol=3e-5)


@pytest.mark.slow
def test_tokens_have_what_influence_predicts_to_order_one_over_n():
    """Same tokens, another way: what is left falls like 1/N, what is explained like N^{-1/2}."""
    problem = mf.Problem(mf.Circle(), mf.exponential(beta=3.0), mf.SA, LAW)
    psi = mf.influence(problem, lambda m: abs(m[1]) ** 2, until=1.0)
    left, all_of_it = {}, {}
    for tokens in (200, 3200):
        ended, predicted = [], []
        for seed in range(6):
            run = mf.simulate(
                problem, 1.0, save=2, representation="particles", tokens=tokens, seed=seed
            )
            start = run.measures[0]
            assert isinstance(start, mf.Measure)
            predicted.append(psi.predicted(start.points)[0])
            ended.append(abs(run.moments[-1][1]) ** 2)
        left[tokens] = np.std(np.array(ended) - predicted)
        all_of_it[tokens] = np.std(ended)
    # 1/16 and 1/4, within the scatter of six runs.
    assert left[3200] < 0.15 * left[200]
    assert 0.1 < all_of_it[3200] / all_of_it[200] < 0.6
    assert left[3200] < 0.1 * all_of_it[3200]


def test_tangents_and_adjoints_of_a_long_run_agree_to_rounding():
    """More steps than states are kept: what lies between is made again."""
    problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.SA, LAW)
    psi = mf.influence(problem, lambda m: m[1].real, until=2.0, degree=96)
    settings = Settings(problem, (0.0, 2.0), 96, 1e-10)
    timeline = Evolution(problem, Options(), np.array([0.0, 2.0])).timeline
    along, _ = path(timeline, density_of(problem).coefficients, settings.times, 96, 1e-10, 1e-8)
    with one_blas_thread():
        start = np.zeros((1, 97), complex)
        start[0, 3] = 0.5j
        perturbation = start
        for step, flows, _ in along.forward():
            perturbation = tangent(step, flows, perturbation)
    backward = problem.manifold.inner(psi.coefficients[0], start[0])
    np.testing.assert_allclose(perturbation[0, 1].real, backward, rtol=1e-12)


def test_bad_observables_are_refused():
    """Names and functions that are no observables."""
    problem = mf.Problem(mf.Circle(), mf.exponential(beta=3.0), mf.SA, LAW)
    for observable, error, message in (
        ("spread", ValueError, "observable 'spread' is not known. Known: energy"),
        (lambda m: m, TypeError, "one real number of the moments"),
        (lambda m: "m", TypeError, "one real number of the moments"),
        ([], ValueError, "must hold at least one"),
        (lambda m: float("nan"), ValueError, "its value is nan; take one that is smooth"),
    ):
        refused(message, mf.influence, problem, observable, error=error, until=1.0)


def test_influence_functions_print_in_one_line():
    """Arrays would be printed in place of time and degree."""
    problem = mf.Problem(mf.Circle(), mf.exponential(beta=3.0), mf.SA, LAW)
    influence = mf.influence(problem, ["energy", lambda m: m[1].real], until=1.0, degree=48)
    assert repr(influence) == "Influence(2 observables at t = 1, degree 48)"
