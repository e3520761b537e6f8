"""Labelled densities: causal layers and tokens with frequencies, against closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import meanfield as mf
from meanfield.arrays import ComplexArray, FloatArray
from meanfield.measures import LabelledDensity
from meanfield.theory.causal import causal_poisson
from meanfield.theory.kuramoto import ott_antonsen_order


def causal(beta: float, **options: object) -> mf.Attention:
    """One head of numbers under a mask."""
    return mf.Attention([mf.Head()], beta=beta, mask="causal", **options)


def last(run: mf.Run) -> LabelledDensity:
    """Labelled density at the end of a run that reached it."""
    measure = run.measures[-1]
    assert run.status == "completed"
    assert isinstance(measure, LabelledDensity)
    return measure


@pytest.mark.parametrize(("power", "error"), [(0.0, 1e-10), (1.0, 2.6e-4), (2.0, 2.9e-5)])
def test_profiles_grow_at_their_share_of_the_rate(power: float, error: float) -> None:
    """About uniform c(s, t) = s^p e^{lambda t / (p + 1)}; full own weights would err by 8e-3."""
    law = mf.with_profile(mf.perturbed_uniform([[2, 1e-6, 0.0]]), power)
    problem = mf.Problem(mf.Circle(), causal(5.0), initial=law)
    rate = mf.growth_rates(problem, 2)[2]
    run = mf.simulate(problem, until=2.1 / rate, save=2, labels=200, tolerance=1e-12)
    begin, end = run.measures[0], last(run)
    slope = np.log(np.abs(end.parts[-1, 2] / begin.parts[-1, 2])) / 2.1 * (power + 1.0)
    assert slope == pytest.approx(1.0, abs=error)


def parameter(s: FloatArray) -> ComplexArray:
    """First moment int e^{i theta} dmu of each layer at time 0."""
    return np.asarray((0.1 + 0.3 * s) * np.exp(2j * s))


def poisson(s: float) -> mf.Law:
    """Poisson density of that parameter."""
    return mf.from_density(np.conj(parameter(np.asarray(s))) ** np.arange(40))


def test_linear_layers_converge_to_the_reduction() -> None:
    """Poisson densities stay so: zeta' = (H - conj(H) zeta^2) / 2, H = (1 / s) int_0^s zeta."""
    problem = mf.Problem(mf.Circle(), causal(0.0), initial=mf.from_labels(poisson))
    errors = []
    for count in (50, 100, 200):
        density = last(mf.simulate(problem, until=2.0, save=2, labels=count))
        exact = causal_poisson(problem.unlabelled, parameter, [2.0], density.labels)[0]
        errors.append(np.abs(np.conj(density.parts[:, 1]) - exact)[-1])
    assert errors[-1] < 1.3e-5
    # The corner of the mean over [0, s] at s = 0 keeps it below two.
    assert np.log2(errors[1] / errors[2]) == pytest.approx(1.64, abs=0.05)


def test_layers_that_begin_alike_are_the_unmasked_density() -> None:
    """Each sees a mean of equal densities: the carrier without labels is the judge."""
    law = mf.perturbed_uniform([[2, 0.1, 0.0], [3, 0.0, 0.1]])
    problem = mf.Problem(mf.Circle(), causal(5.0), initial=law)
    run = mf.simulate(problem, until=3.0, save=2, labels=7)
    alone = mf.simulate(problem.unlabelled, until=3.0, save=2, representation="density")
    degrees = alone.moments.shape[1]
    np.testing.assert_allclose(run.moments[-1, :degrees], alone.moments[-1], atol=1e-11)
    parts = last(run).parts
    np.testing.assert_allclose(parts, np.broadcast_to(parts[0], parts.shape), atol=1e-14)


def test_layers_of_heads_with_a_drift_and_noise_are_those_without_a_mask() -> None:
    """Heads go another way through the fields, and diffusion through another scheme."""
    heads = [mf.Head(score=[[0.9, -0.4], [0.7, 0.5]], value=[[0.8, 0.3], [-0.6, 1.1]])]
    law = mf.perturbed_uniform([[1, 0.2, 0.0], [2, 0.0, 0.1]])
    given = {"beta": 2.0, "diffusivity": 0.05}
    problem = mf.Problem(
        mf.Circle(),
        mf.Attention(heads, mask="causal", **given),
        initial=law,
        drift=mf.Drift([[0.1, -0.3], [0.4, 0.0]]),
    )
    run = mf.simulate(problem, until=1.0, save=2, labels=3, tolerance=1e-9)
    alone = mf.simulate(problem.unlabelled, until=1.0, save=2, tolerance=1e-9)
    np.testing.assert_allclose(run.moments[-1], alone.moments[-1], atol=1e-8)


def test_layers_on_the_sphere_grow_at_half_the_rate() -> None:
    """Fields of several layers are made at once, vectors along another axis."""
    law = mf.with_profile(mf.perturbed_uniform([[2, 1, 1e-3]]), 1.0)
    problem = mf.Problem(mf.Sphere(), causal(4.0), initial=law)
    rate = mf.growth_rates(problem, 2)[2]
    run = mf.simulate(problem, until=1.0 / rate, save=2, labels=40, max_degree=24)
    sizes = [np.abs(m.parts[-1, 1:]).max() for m in run.measures if isinstance(m, LabelledDensity)]
    # Half weights of 40 layers: 3e-3 / 2; and squares of the amplitude.
    assert np.log(sizes[1] / sizes[0]) == pytest.approx(0.5, abs=2e-3)


@pytest.mark.parametrize("degree", [1, 2])
def test_incoherence_grows_as_its_eigenvalue_says(degree: int) -> None:
    """Lorentz's law: s = lambda_k - k Delta, from the mode lambda_k / (s + i k omega) itself."""
    circle, width = mf.Circle(), 0.1
    rate = mf.growth_rates(mf.Problem(circle, mf.exponential(5.0), mf.SA), degree)[degree]
    growth = rate - degree * width

    def mode(omega: float) -> mf.Law:
        amplitude = 1e-6 * rate / (growth + 1j * degree * omega)
        return mf.from_density([1.0, *[0.0] * (degree - 1), amplitude])

    spread = mf.Lorentzian(width)
    problem = mf.Problem(
        circle, mf.exponential(5.0), mf.SA, mf.from_labels(mode), frequencies=spread
    )
    run = mf.simulate(problem, until=2.0, save=2, labels=24)
    moments = run.moments[:, degree]
    # Rational in the angle of the quadrature: 24 nodes are exact; squares of the amplitude.
    assert np.log(moments[1] / moments[0]) / 2.0 == pytest.approx(growth, abs=1e-8)
    assert growth == pytest.approx(mf.incoherence_growth_rates(problem)[degree], abs=1e-14)


@pytest.mark.parametrize(
    ("width", "labels", "order"), [(0.2, 64, 0.3903631504264), (0.7, 32, 0.0363966610087)]
)
def test_lorentzian_labels_follow_ott_and_antonsen(width: float, labels: int, order: float) -> None:
    """Order r obeys one equation; it decays below K_c = 2 Delta."""

    def start(omega: float) -> mf.Law:
        # Analytic in the upper half plane, and 0.1 where it counts, at omega = i Delta. What does
        # not fall off with omega would leave an error of M^{-3/4}: nodes miss fast e^{i omega t}.
        alpha = 0.4 * (1j * width / (omega + 1j * width)) ** 2
        return mf.from_density(np.conj(alpha) ** np.arange(24))

    spread = mf.Lorentzian(width)
    problem = mf.Problem(
        mf.Circle(), mf.linear(), initial=mf.from_labels(start), frequencies=spread
    )
    run = mf.simulate(problem, until=5.0, save=2, labels=labels, tolerance=1e-7)
    found = run.observables["order_parameter"]
    # 7e-5 with 128 and 256 labels.
    assert found == pytest.approx([0.1, order], abs=1e-3)
    assert order == pytest.approx(ott_antonsen_order(spread, 1.0, 5.0, 0.1), abs=1e-13)


def test_gaussian_labels_grow_at_landaus_rate() -> None:
    """Smooth laws need few labels: the pole of coupling H(z) = 1 after transients have gone."""
    problem = mf.Problem(
        mf.Circle(),
        mf.linear(),
        initial=mf.perturbed_uniform([[1, 2e-6, 0.0]]),
        frequencies=mf.Gaussian(0.3, centre=0.2),
    )
    run = mf.simulate(problem, until=16.0, save=[12.0, 16.0], labels=48)
    growth = np.log(run.moments[1, 1] / run.moments[0, 1]) / 4.0
    assert growth == pytest.approx(mf.incoherence_growth_rates(problem)[1], abs=1e-5)


def test_uniform_frequencies_lock_to_the_closed_form() -> None:
    """One token at each of Gauss's nodes, with its weight: fully locked, r is a quadrature."""
    spread = mf.UniformSpread(0.7)
    omega, weights = spread.nodes(60)
    problem = mf.Problem(
        mf.Circle(),
        mf.linear(),
        initial=mf.from_points(np.linspace(-0.5, 0.5, 60), weights),
        frequencies=mf.GivenFrequencies(omega),
    )
    run = mf.simulate(problem, until=60.0, save=2)
    order = run.observables["order_parameter"][-1]
    assert order == pytest.approx(0.8816555135046, abs=1e-9)
    assert order == pytest.approx(mf.synchronised_order(spread, 1.0), abs=1e-9)


def test_gaussian_tokens_reach_partial_synchrony() -> None:
    """Drifting tokens add nothing in the mean over time."""
    spread = mf.Gaussian(0.5)
    omega = spread.quantiles((np.arange(400) + 0.5) / 400)
    phases = np.random.default_rng(1).uniform(-1.5, 1.5, 400)
    problem = mf.Problem(
        mf.Circle(),
        mf.linear(),
        initial=mf.from_points(phases),
        frequencies=mf.GivenFrequencies(omega),
    )
    run = mf.simulate(problem, until=60.0, save=np.linspace(30.0, 60.0, 50), tolerance=1e-6)
    # 15 % drift, as random phases do: 0.02 at one time, less in the mean.
    mean = run.observables["order_parameter"].mean()
    assert mean == pytest.approx(0.7151739566832, abs=2e-3)


def test_tokens_draw_their_frequencies_from_the_law() -> None:
    """The seed says which; points and noise come from other numbers."""
    problem = mf.Problem(
        mf.Circle(),
        mf.linear(),
        mf.Flow(strength=1e-9),
        mf.from_points(np.zeros(400)),
        frequencies=mf.Gaussian(0.5, centre=1.0),
    )
    first, again = (mf.simulate(problem, until=1.0, save=2, seed=3) for _ in range(2))
    drawn = first.measures[-1].points
    np.testing.assert_array_equal(drawn, again.measures[-1].points)
    # Standard errors 0.025 and 0.018.
    assert (drawn.mean(), drawn.std()) == pytest.approx((1.0, 0.5), abs=0.08)


def test_locked_labels_end_the_run_with_what_to_do() -> None:
    """Each collapses into a point: no degree resolves that for long."""
    problem = mf.Problem(
        mf.Circle(),
        mf.linear(),
        initial=mf.von_mises_fisher(2.0),
        frequencies=mf.UniformSpread(0.3),
    )
    with pytest.raises(mf.SimulationError, match=r"of a label at degree 48; .* a diffusivity"):
        mf.simulate(problem, until=20.0, save=2, labels=8, max_degree=48, tolerance=1e-4)


def test_carriers_without_labels_refuse_them() -> None:
    """A density alone would leave mask or frequencies out."""
    problem = mf.Problem(mf.Circle(), causal(2.0), initial=mf.von_mises_fisher(1.0))
    with pytest.raises(ValueError, match=r"density cannot carry positions, .* use representation"):
        mf.simulate(problem, until=1.0, representation="density")
    with pytest.raises(ValueError, match=r"with a mask or with frequencies"):
        mf.simulate(problem.unlabelled, until=1.0, representation="labelled")
    with pytest.raises(ValueError, match=r"labels = 3 cannot act: it is for labelled densities"):
        mf.simulate(problem.unlabelled, until=1.0, labels=3)
    points = mf.Problem(mf.Circle(), causal(2.0), initial=mf.from_points([0.0, 1.0]))
    with pytest.raises(TypeError, match=r"needs an initial density, got points"):
        mf.simulate(points, until=1.0, representation="labelled")
    spread = mf.GivenFrequencies([0.1, 0.2, 0.3])
    three = mf.Problem(
        mf.Circle(), mf.linear(), initial=mf.from_points([0.0, 1.0]), frequencies=spread
    )
    with pytest.raises(ValueError, match=r"3 frequencies are given to 2 tokens"):
        mf.simulate(three, until=1.0)


def test_stages_of_layers_are_those_of_the_unmasked_density() -> None:
    """Labels, frames and degrees go on into a stage with a sharper kernel."""
    law = mf.perturbed_uniform([[2, 0.1, 0.0], [3, 0.0, 0.1]])
    moments = []
    for mask in ("causal", "none"):
        first, later = (mf.Attention([mf.Head()], beta=b, mask=mask) for b in (2.0, 40.0))
        stages = [mf.Stage(end=1.0), mf.Stage(kernel=later)]
        problem = mf.Problem(mf.Circle(), first, initial=law, stages=stages)
        given = {"labels": 4} if mask == "causal" else {"representation": "density"}
        run = mf.simulate(problem, until=1.5, save=2, **given)
        moments.append(run.moments[-1, :20])
    np.testing.assert_allclose(moments[0], moments[1], atol=1e-9)


@pytest.mark.parametrize(
    ("normalization", "mask"),
    [("none", {"mask": "causal"}), ("softmax", {"mask": "alibi", "alibi_rate": 4.0})],
)
def test_tokens_in_their_order_come_to_the_layers(normalization: str, mask: dict[str, Any]) -> None:
    """Tokens and layers would mean something else by a mask; the first moves by 0.02 and 0.09."""
    attention = mf.Attention([mf.Head()], normalization, beta=2.0, **mask)
    law = mf.from_labels(lambda s: mf.from_density([1.0, 0.4 * s * np.exp(-2j * s)]))
    layers = last(
        mf.simulate(mf.Problem(mf.Circle(), attention, initial=law), 1.0, save=2, labels=60)
    )
    # One token a position, by the inverse of the distribution at a sequence of low discrepancy.
    s = (np.arange(1200) + 1.0) / 1200
    angles = np.linspace(0.0, 2.0 * np.pi, 1001)
    shares = 2.0 * np.pi * (np.arange(1200) * 0.5 * (np.sqrt(5.0) - 1.0) % 1.0)
    below = angles + 0.8 * s[:, None] * (
        np.sin(angles - 2.0 * s[:, None]) + np.sin(2.0 * s[:, None])
    )
    points = [np.interp(share, row, angles) for share, row in zip(shares, below, strict=True)]
    problem = mf.Problem(mf.Circle(), attention, initial=mf.from_points(points))
    run = mf.simulate(problem, 1.0, save=2, representation="particles", tolerance=1e-6)
    later = np.exp(-1j * run.measures[-1].points[600:]).mean()
    assert later == pytest.approx(layers.parts[30:, 1].mean(), abs=2e-3)
