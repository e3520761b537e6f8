"""Fluctuations of N tokens against runs of them, whose control variates leave little to chance."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from parameters import refused

import meanfield as mf

LAW = mf.from_density(np.array([1.0, 0.25, -0.1j]))
SOFTMAX = mf.Problem(mf.Circle(), mf.exponential(beta=2.0), mf.SA, LAW)


def distance(result, expected):
    """Largest, in standard errors; what has none must be equal to rounding."""
    off = np.abs(result.value - expected)
    assert np.all(off[result.error < 1e-12] < 1e-9)
    return float((off[result.error >= 1e-12] / result.error[result.error >= 1e-12]).max())


@pytest.mark.slow
def test_covariance_and_shift_of_tokens_are_those_of_theory():
    """Covariance and shift would differ from theory; the next order is below the errors."""
    moments = mf.ensemble_moments(SOFTMAX, 1000, times=[1.0], runs=100)
    theory = mf.fluctuations(SOFTMAX, until=1.0, save=2)
    covariance, shift = moments.covariance(), moments.shift()
    assert distance(covariance, theory.covariance[-1:]) < 4.0
    assert distance(shift, theory.shift[-1:]) < 4.0
    variance = np.diag(theory.covariance[-1]).real[1:]
    assert np.all(np.diag(covariance.error[0])[1:] < 0.03 * variance)
    # Plain means would say nothing of shifts.
    plain = moments.shift(control=False)
    assert distance(plain, shift.value) < 4.0
    assert shift.error[0, 1] < 0.15 * abs(theory.shift[-1, 1]) < 0.05 * plain.error[0, 1]


@pytest.mark.slow
def test_energy_and_pairs_of_tokens_are_those_of_theory():
    """The energy; and the law of two tokens, which is not the square of the limit."""
    # N (rho_2 - f f)_{km} = C_km - (c_{k-m} - c_k conj c_m) + c_k conj eta_m + eta_k conj c_m,
    # where rho_2 has all pairs but those of a token with itself.
    tokens, degree = 500, SOFTMAX.kernel_degree
    moments = mf.ensemble_moments(SOFTMAX, tokens, times=[0.5], runs=100, degree=degree)
    theory = mf.fluctuations(SOFTMAX, until=0.5, save=2, degree=degree)
    (shift, variance), energy = moments.of("energy"), theory.of("energy")
    assert distance(shift, energy.shift[-1:]) < 4.0
    assert distance(variance, energy.variance[-1:]) < 4.0
    assert variance.error[0] < 0.05 * variance.value[0]

    def pairs(m):
        return float((tokens * m[2] * m[1].conj() - m[1]).real / (tokens - 1))

    c, eta, (result, _) = theory.limit[-1], theory.shift[-1], moments.of(pairs)
    off = tokens * (pairs(c) - (c[2] * c[1].conj()).real)
    expected = theory.covariance[-1, 2, 1] - (c[1] - c[2] * c[1].conj())
    expected += c[2] * eta[1].conj() + eta[2] * c[1].conj()
    assert abs(result.value[0] + off - expected.real) < 4.0 * result.error[0]


@pytest.mark.slow
def test_noise_on_the_way_adds_to_the_covariance():
    """Control variates know the draw of tokens alone: of the noise there are as many terms."""
    flow = mf.Flow(normalized=True, diffusivity=0.1)
    problem = mf.Problem(mf.Circle(), mf.exponential(beta=2.0), flow, LAW)
    moments = mf.ensemble_moments(problem, 300, times=[0.5], runs=120, step=0.05)
    theory = mf.fluctuations(problem, until=0.5, save=2)
    assert distance(moments.covariance(), theory.covariance[-1:]) < 4.0
    assert distance(moments.shift(), theory.shift[-1:]) < 4.0
    noise = np.diag(theory.real_covariance[-1]) - np.diag(moments.drawn[0])
    assert np.all(noise > 0.08 * np.diag(moments.drawn[0]))


@pytest.mark.slow
def test_moments_on_the_sphere_are_those_of_theory():
    """Odd orders of degree 1 would have a shift, or others none."""
    law = mf.perturbed_uniform([[2, 1, 0.1], [1, 0, 0.1]])
    problem = mf.Problem(mf.Sphere(), mf.exponential(beta=0.3), mf.SA, law)
    moments = mf.ensemble_moments(problem, 500, times=[1.0], runs=60, degree=2)
    degree = problem.kernel_degree
    theory = mf.fluctuations(problem, until=1.0, save=2, degree=2, max_degree=degree)
    assert distance(moments.covariance(), theory.covariance[-1:]) < 4.0
    assert distance(moments.shift(), theory.shift[-1:]) < 4.0


@pytest.mark.slow
@pytest.mark.parametrize("tokens", [100, 200])
def test_results_do_not_depend_on_processes_and_steps_are_short(tokens):
    """To the bit; and errors of steps are far below what is measured."""
    # 100 tokens are moved together with those of other runs, 200 by themselves.
    measure = partial(mf.ensemble_moments, SOFTMAX, tokens, times=[0.5, 1.0], runs=12)
    moments, fine = measure(), measure(tolerance=1e-10)
    with ThreadPoolExecutor(2) as executor:
        again = measure(executor=executor)
    np.testing.assert_array_equal(moments.samples, again.samples)
    np.testing.assert_array_equal(moments.predicted, again.predicted)
    assert np.abs(moments.samples - fine.samples).max() < 1e-5
    # Which fluctuation a run has is known from its start.
    apart, size = moments.samples - moments.predicted, moments.samples - moments.limit
    assert np.square(np.abs(apart)).mean() < 0.1 * np.square(np.abs(size)).mean()


def test_what_cannot_be_measured_is_refused():
    """An error would come from a worker, or from NumPy."""
    refused("times must be positive", mf.ensemble_moments, SOFTMAX, 10, times=[0.0, 1.0], runs=2)
    moments = mf.ensemble_moments(SOFTMAX, 10, times=[0.1], runs=2, degree=1)
    refused("give degree = ", moments.of, "energy")
    assert repr(moments) == "EnsembleMoments(2 runs of 10 tokens, 1 times up to t = 0.1, degree 1)"
