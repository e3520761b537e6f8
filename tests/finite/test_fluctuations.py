"""Covariance and mean shift of moments: reference numbers, closed forms, two ways."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from parameters import refused

import meanfield as mf

ASYMMETRIC = mf.from_density(np.array([1.0, 0.25, -0.1j]))
RIPPLE = mf.from_density(np.array([1.0, 0.0, 0.0, 0.05]))


def fluctuations_of(beta, flow, law, until):
    """Fluctuations up to degree 4 on the circle, and variances of the moments in the end."""
    problem = mf.Problem(mf.Circle(), mf.exponential(beta=beta), flow, law)
    of = mf.fluctuations(problem, until=until, save=2)
    return of, np.diag(of.covariance[-1]).real[1:]


@pytest.mark.slow
@pytest.mark.parametrize(("flow", "until", "variance", "covariance", "shift"), [
    (mf.USA, 0.5 * np.exp(2.0), [2.001344915, 4.560674803, 4.216151211, 2.856468269],
     [1.70489570 - 0.19358097j, 0.86512009 + 0.61626475j],
     [-0.41171709 + 0.03472537j, -0.63281107 + 0.59171672j,
      -0.47583755 + 0.97412231j, 0.01234198 + 0.86083559j]),
    (mf.SA, 1.0, [1.7436521013, 2.9715216826, 2.3689865606, 1.6324349068], [],
     [-0.46380504 - 0.08567435j, 0.06397539 + 0.54869572j,
      -0.04902911 + 0.20485396j, 0.14176900 - 0.06679926j]),
], ids=["USA", "SA"])  # fmt: skip
def test_reference_numbers_of_an_asymmetric_density(flow, until, variance, covariance, shift):
    """Influence functions on quadrature nodes, a code of its own; 9 digits."""
    of, variances = fluctuations_of(2.0, flow, ASYMMETRIC, until)
    np.testing.assert_allclose(variances, variance, rtol=1e-9)
    others = of.covariance[-1][1, 2 : 2 + len(covariance)]
    np.testing.assert_allclose(others, covariance, rtol=1e-8)
    np.testing.assert_allclose(of.shift[-1][1:], shift, rtol=0, atol=1e-8)
    # Forward and backward sweeps share nothing but the derivative.
    assert of.agreement < 1e-9


@pytest.mark.parametrize(
    ("flow", "until", "variance", "shift"),
    [
        (mf.USA, 0.1 * np.exp(5.0), [2.5622765, 14.9396765, 34.8346276, 23.5637547], -19.789447),
        (mf.SA, 1.0, [1.42595404, 2.77648860, 3.86791028, 3.29079417], -0.60659628),
    ],
)
def test_a_threefold_density_shifts_no_other_moment(flow, until, variance, shift):
    """By symmetry; quadrature on 80 nodes, 8 digits."""
    of, variances = fluctuations_of(5.0, flow, RIPPLE, until)
    np.testing.assert_allclose(variances, variance, rtol=3e-8)
    np.testing.assert_allclose(of.shift[-1], [0.0, 0.0, 0.0, shift, 0.0], rtol=0, atol=1e-6)


@pytest.mark.slow
def test_the_sphere_two_ways():
    """The shift about uniform would not vanish, or sweeps disagree."""
    law = mf.perturbed_uniform([[2, 1, 0.1]])
    problem = mf.Problem(mf.Sphere(), mf.exponential(beta=0.3), mf.SA, law)
    of = mf.fluctuations(problem, until=1.0, save=2, degree=2, max_degree=problem.kernel_degree)
    assert of.agreement < 1e-8
    # Rotation by pi about the axis turns odd orders round: of degree 1 nothing shifts.
    shift = of.shift[-1].reshape(2, 3, 3)
    assert np.abs(shift[:, 1]).max() < 1e-12 < 1e-3 < np.abs(shift[:, 2]).max()


@pytest.mark.slow
def test_noise_about_uniform():
    """C_kk = e^{2 lambda t} + D k^2 (e^{2 lambda t} - 1) / lambda, and nothing shifts."""
    flow = mf.Flow(normalized=True, diffusivity=0.05)
    problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), flow)
    of = mf.fluctuations(problem, until=1.0, save=3, degree=4)
    rates, k, t = mf.growth_rates(problem, 4)[1:], np.arange(1, 5), of.times[:, None]
    grown = np.exp(2.0 * rates * t)
    exact = grown + 0.05 * k**2 * (grown - 1.0) / rates
    variance = np.array([np.diag(each).real[1:] for each in of.covariance])
    np.testing.assert_allclose(variance, exact, rtol=1e-8)
    assert np.abs(of.shift).max() < 1e-12
    assert of.agreement < 1e-8


@pytest.mark.slow
def test_heads_and_stages_two_ways():
    """No closed form: forward and backward sweeps, through a stage, must agree."""
    head = mf.Head(score=[[0.9, 0.7], [-0.4, 0.5]], value=[[0.8, 0.3], [-0.6, 1.1]])
    stages = [mf.Stage(end=0.4), mf.Stage(kernel=mf.Attention([head], beta=3.0))]
    kernel = mf.Attention([head], beta=1.0)
    problem = mf.Problem(mf.Circle(), kernel, initial=ASYMMETRIC, stages=stages)
    of = mf.fluctuations(problem, until=1.0, save=2)
    assert of.agreement < 1e-9
    single = mf.fluctuations(mf.Problem(mf.Circle(), kernel, initial=ASYMMETRIC), until=1.0, save=2)
    assert np.abs(of.covariance[-1] - single.covariance[-1]).max() > 0.1


@pytest.mark.slow
def test_energy_of_independent_tokens_is_exact():
    """E[E_N] = E + (1 - E) / N at time 0: pairs that are one token have energy 1."""
    problem = mf.Problem(mf.Circle(), mf.exponential(beta=2.0), mf.SA, ASYMMETRIC)
    energy = mf.fluctuations(problem, until=0.1, save=2, degree=problem.kernel_degree).of("energy")
    np.testing.assert_allclose(energy.shift[0], 1.0 - energy.limit[0], rtol=1e-12)
    refused("give degree = ", mf.fluctuations(problem, until=0.1, save=2).of, "energy")


def test_what_is_not_linearised_is_refused():
    """In one line that says what is."""
    for problem in (
        mf.Problem(mf.Circle(), mf.Attention([mf.Head()], beta=2.0, mask="causal")),
        mf.Problem(mf.Circle(), mf.Attention([mf.Head()], "sinkhorn", beta=2.0)),
        mf.Problem(mf.Sphere(8), mf.exponential(beta=2.0), mf.USA),
        mf.Problem(mf.Circle(), mf.exponential(beta=2.0), mf.USA, layers=mf.Layers(0.1)),
    ):
        message = "fluctuations, .* are known for flows of densities"
        refused(message, mf.fluctuations, problem, until=1.0)
    law = mf.from_points([0.0, 1.0])
    points = mf.Problem(mf.Circle(), mf.exponential(beta=2.0), mf.USA, law)
    refused("the initial law gives points", mf.fluctuations, points, error=TypeError, until=1.0)


def test_a_run_that_outgrows_its_degree_says_so():
    """It ends with an error, not with numbers."""
    problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.SA, RIPPLE)
    message, error = "end earlier, or raise degrees or tolerance", mf.SimulationError
    refused(message, mf.fluctuations, problem, error=error, until=20.0, max_degree=48)


@pytest.mark.slow
def test_times_that_are_not_resolved_are_nan_and_say_why():
    """The other times would differ from a run that ends there."""
    problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.SA, RIPPLE)
    of = mf.fluctuations(problem, until=6.0, save=7, max_degree=48, unresolved="nan")
    last = int(of.resolved.sum()) - 1
    assert 1 <= last < 6 and of.resolved_until == of.times[last]
    assert of.note.startswith(f"{last + 1} of 7 times are resolved: ") and "48" in of.note
    for rows in (of.limit, of.covariance, of.relation, of.shift):
        assert np.isnan(rows[last + 1 :]).all() and np.isfinite(rows[: last + 1]).all()
    assert np.isnan(of.of(lambda m: m[3].real).variance[last + 1 :]).all()
    part = mf.fluctuations(problem, until=float(last), save=2, max_degree=48)
    np.testing.assert_allclose(of.covariance[last], part.covariance[-1], rtol=1e-9, atol=1e-9)
    assert not part.note


@pytest.mark.slow
def test_moments_above_the_first_degree_are_resolved_too():
    """About uniform C_kk = e^{2 lambda_k t}, also above the degree of the mean field."""
    problem = mf.Problem(mf.Circle(), mf.exponential(beta=0.5), mf.SA)
    of = mf.fluctuations(problem, until=0.5, save=2, degree=60)
    assert of.resolved_degree >= 60
    rates = mf.growth_rates(problem, 60)
    np.testing.assert_allclose(np.diag(of.covariance[-1]).real[1:], np.exp(rates[1:]), rtol=1e-9)


@pytest.mark.slow
def test_stages_end_in_the_requested_unit():
    """A second kernel would begin e^beta times too early: the limit is that of the run."""
    stages = [mf.Stage(end=0.2), mf.Stage(kernel=mf.exponential(beta=3.0))]
    problem = mf.Problem(mf.Circle(), mf.exponential(beta=2.0), mf.USA, ASYMMETRIC, stages=stages)
    of = mf.fluctuations(problem, until=0.3, unit="paper", save=2, degree=2)
    run = mf.simulate(problem, until=0.3, unit="paper", save=2)
    np.testing.assert_allclose(of.limit[-1], run.moments[-1, :3], rtol=0, atol=1e-7)
    assert of.agreement < 1e-6
    psi = mf.influence(problem, lambda m: m[2].real, until=0.3, unit="paper")
    assert psi.time == run.scaled_time[-1]
    np.testing.assert_allclose(psi.values, run.moments[-1, 2].real, rtol=0, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("until", [0.1, 0.2, 0.5])
def test_energy_is_that_of_the_stage_at_each_time(until):
    """Not that of the first stage, nor of the last one, which may never be reached."""
    stages = [mf.Stage(end=0.2, kernel=mf.exponential(2.0)), mf.Stage(kernel=mf.exponential(4.0))]
    law = mf.from_density([1.0, 0.2, 0.1])
    problem = mf.Problem(mf.Circle(), mf.exponential(2.0), mf.SA, law, stages=stages)
    records = mf.simulate(problem, until, save=2, tolerance=1e-12).observables["energy"][-1]
    degree = problem.kernel_degree
    result = mf.fluctuations(problem, until=until, save=2, degree=degree).of("energy")
    influence = mf.influence(problem, "energy", until=until)
    slopes = mf.gradient(lambda p: problem, [1.0], "energy", until=until)
    for value in (result.limit[-1], influence.values[0], slopes.value):
        np.testing.assert_allclose(value, records, rtol=1e-9)
    np.testing.assert_allclose(influence.variances, result.variance[-1:], rtol=1e-7)


@pytest.mark.parametrize(("observable", "first", "second"), [
    (lambda m: m[3].real ** 8, lambda x: 8 * x**7, lambda x: 56 * x**6),
    (lambda m: np.log(abs(m[3].real)), lambda x: 1 / x, lambda x: -1 / x**2),
    (lambda m: np.exp(9 * m[3].real), lambda x: 9 * np.exp(9 * x), lambda x: 81 * np.exp(9*x)),
])  # fmt: skip
def test_observables_that_bend_within_a_hundredth(observable, first, second):
    """Differences as coarse as beside moments of order one would be other numbers."""
    law = mf.perturbed_uniform([[3, 0.02, 0.0]])
    problem = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.SA, law)
    fluctuations = mf.fluctuations(problem, until=0.5, save=2)
    statistics, x = fluctuations.of(observable), fluctuations.limit[-1][3].real
    variance = (fluctuations.covariance + fluctuations.relation)[-1, 3, 3].real / 2
    np.testing.assert_allclose(statistics.variance[-1], first(x) ** 2 * variance, rtol=1e-7)
    expected = first(x) * fluctuations.shift[-1, 3].real + second(x) * variance / 2
    np.testing.assert_allclose(statistics.shift[-1], expected, rtol=1e-5)


def test_kinks_at_the_limit_are_refused():
    """The size of a mode that the limit has not is no normal number at all."""
    problem = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.USA)
    fluctuations = mf.fluctuations(problem, until=0.5, save=2)
    refused("no first derivatives", fluctuations.of, lambda m: abs(m[2]))
    refused("no second derivatives", fluctuations.of, lambda m: abs(m[2]) ** 1.5)
    refused("than the 5 moments", fluctuations.of, lambda m: m[7].real)


@pytest.mark.slow
def test_no_tolerance_lets_unresolved_influence_through():
    """Tails are shares: one that may be 1 bounds nothing, and C was wrong by 1e-3."""
    law = mf.perturbed_uniform([[2, 0.3, 0.0], [3, 0.2, 0.1]])
    problem = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.SA, law)
    fluctuations = mf.fluctuations(problem, until=2.5, save=2, tolerance=1e-4)
    fine = mf.fluctuations(problem, until=2.5, save=2, tolerance=1e-8)
    assert fluctuations.tail < 1e-2
    np.testing.assert_allclose(fluctuations.variance_by_degree, fine.variance_by_degree, rtol=2e-4)
    refused("time 0 alone", mf.fluctuations, problem, until=1.0, save=[0.0])


@pytest.mark.slow
@pytest.mark.parametrize("manifold", [mf.Circle(), mf.Sphere()])
def test_fluctuations_come_back_from_their_file(manifold: Any, tmp_path: Path) -> None:
    """A covariance that took minutes would be found again for another figure."""
    problem = mf.Problem(manifold, mf.exponential(beta=4.0), mf.SA)
    fluctuations = mf.fluctuations(problem, until=1.0, save=2, degree=2, tokens=50)
    fluctuations.save(tmp_path / "made.h5")
    back = mf.load(tmp_path / "made.h5")
    assert isinstance(back, mf.Fluctuations) and (back.tokens, back.degree) == (50, 2)
    assert str(back) == str(fluctuations) and repr(back) == repr(fluctuations)
    assert "<table>" in back._repr_html_() and [*back.table()] == [*fluctuations.columns]
    for name in ("limit", "shift", "covariance", "relation", "variance_by_degree"):
        np.testing.assert_allclose(
            getattr(back, name), getattr(fluctuations, name), rtol=0, atol=1e-14
        )
    assert (back.problem.kernel, back.problem.flow) == (problem.kernel, problem.flow)
    replace(fluctuations, tokens=None).save(tmp_path / "made.h5", overwrite=True)
    assert mf.load(tmp_path / "made.h5").tokens is None
    pytest.importorskip("xarray")
    data = back.to_xarray()
    assert data.covariance.dims == ("time", "moment", "other_moment")
    assert data.attrs["resolved_until"] == 1.0 and data.time.attrs["units"] == "scaled time"


def test_other_moments_are_refused(tmp_path: Path) -> None:
    """Damage would be read as moments."""
    import h5py

    problem = mf.Problem(mf.Circle(), mf.exponential(beta=4.0), mf.SA)
    mf.fluctuations(problem, until=1.0, save=2, degree=2).save(tmp_path / "made.h5")
    with h5py.File(tmp_path / "made.h5", "a") as file:
        file.attrs["degree"] = 3
    refused("limit holds other moments than those of degree 3", mf.load, tmp_path / "made.h5")


@pytest.mark.slow
def test_stages_in_paper_time_come_back_from_their_file(tmp_path):
    """The energy was taken under the other stage, and differed by a third."""
    stages = [mf.Stage(end=0.3), mf.Stage(kernel=mf.exponential(beta=1.0))]
    problem = mf.Problem(mf.Circle(), mf.exponential(beta=2.0), mf.USA, stages=stages)
    fluctuations = mf.fluctuations(problem, until=0.5, save=3, unit="paper", tokens=100, degree=20)
    fluctuations.save(tmp_path / "made.h5")
    back, energy = mf.load(tmp_path / "made.h5").of("energy"), fluctuations.of("energy")
    for name in ("limit", "shift", "variance"):
        np.testing.assert_allclose(getattr(back, name), getattr(energy, name), rtol=0, atol=1e-13)
