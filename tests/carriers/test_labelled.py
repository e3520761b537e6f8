"""Labelled densities: causal layers and tokens with frequencies, against closed forms."""

import re
from dataclasses import replace
from functools import partial
from unittest.mock import Mock

import numpy as np
import pytest
from head_oracle import B1, V1
from parameters import refused, together
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline
from scipy.signal import lfilter

import meanfield as mf
from meanfield.arrays import ComplexArray, FloatArray
from meanfield.carriers import Options
from meanfield.carriers.label_counts import enough_labels, resolving_labels
from meanfield.measures import LabelledDensity
from meanfield.papers.causal import causal_poisson
from meanfield.papers.kuramoto import ott_antonsen_order
from meanfield.simulation import Evolution, evolve


def causal(beta: float, **options: object) -> mf.Attention:
    return mf.Attention([mf.Head()], beta=beta, mask="causal", **options)


def kuramoto(law: mf.Law, spread: object, flow: mf.Flow = mf.USA, **given: object) -> mf.Problem:
    return mf.Problem(mf.Circle(), mf.linear(), flow, law, frequencies=spread, **given)


def last(run: mf.Run) -> LabelledDensity:
    assert run.status == "completed"
    return run.measures[-1]


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0])
def test_profiles_grow_at_their_share_of_the_rate(power):
    """About uniform c(s, t) = s^p e^{lambda t / (p + 1)}, as the causal mean of s^p says."""
    law = mf.with_profile(mf.perturbed_uniform([[2, 1e-6, 0.0]]), power)
    problem = mf.Problem(mf.Circle(), causal(5.0), initial=law)
    rate = mf.growth_rates(problem, 2)[2]
    run = mf.simulate(problem, until=2.1 / rate, save=2, labels=24, tolerance=1e-12)
    begin, end = run.measures[0], last(run)
    slope = np.log(np.abs(end.parts[-1, 2] / begin.parts[-1, 2])) / 2.1 * (power + 1.0)
    assert slope == pytest.approx(1.0, abs=1e-10)


def parameter(s: FloatArray) -> ComplexArray:
    """First moment int e^{i theta} dmu of each layer at time 0."""
    return np.asarray((0.1 + 0.3 * s) * np.exp(2j * s))


def test_linear_layers_converge_to_the_reduction():
    """Poisson densities stay so: zeta' = (H - conj(H) zeta^2) / 2, H = (1 / s) int_0^s zeta."""
    law = mf.from_labels(lambda s: mf.from_density(np.conj(parameter(s)) ** np.arange(40)))
    problem = mf.Problem(mf.Circle(), causal(0.0), initial=law)
    density = last(mf.simulate(problem, until=2.0, save=2, labels=48))
    exact = causal_poisson(problem.unlabelled, parameter, [2.0], density.labels)[0]
    np.testing.assert_allclose(np.conj(density.parts[:, 1]), exact, rtol=0, atol=1e-9)


def test_layers_that_begin_alike_are_the_unmasked_density():
    """Each attends to a mean of equal densities: the carrier without labels is the judge."""
    law = mf.perturbed_uniform([[2, 0.1, 0.0], [3, 0.0, 0.1]])
    problem = mf.Problem(mf.Circle(), causal(5.0), initial=law)
    run = mf.simulate(problem, until=3.0, save=2, labels=7)
    alone = mf.simulate(problem.unlabelled, until=3.0, save=2, representation="density")
    degrees = alone.moments.shape[1]
    np.testing.assert_allclose(run.moments[-1, :degrees], alone.moments[-1], rtol=0, atol=1e-11)
    parts = last(run).parts
    np.testing.assert_allclose(parts, np.broadcast_to(parts[0], parts.shape), rtol=0, atol=1e-14)


@pytest.mark.slow
def test_layers_of_heads_with_a_drift_and_noise_are_those_without_a_mask():
    """Heads go another way through the fields, and diffusion through another scheme."""
    heads = [mf.Head(score=B1, value=V1)]
    attention = mf.Attention(heads, mask="causal", beta=2.0, diffusivity=0.05)
    law = mf.perturbed_uniform([[1, 0.2, 0.0], [2, 0.0, 0.1]])
    drift = mf.LinearDrift([[0.1, -0.3], [0.4, 0.0]])
    problem = mf.Problem(mf.Circle(), attention, initial=law, drift=drift)
    run = mf.simulate(problem, until=1.0, save=2, labels=3, tolerance=1e-9)
    alone = mf.simulate(problem.unlabelled, until=1.0, save=2, tolerance=1e-9)
    np.testing.assert_allclose(run.moments[-1], alone.moments[-1], rtol=0, atol=1e-8)


@pytest.mark.slow
def test_layers_on_the_sphere_grow_at_half_the_rate():
    """Fields of several layers are made at once, vectors along another axis."""
    law = mf.with_profile(mf.perturbed_uniform([[2, 1, 1e-3]]), 1.0)
    problem = mf.Problem(mf.Sphere(), causal(4.0), initial=law)
    rate = mf.growth_rates(problem, 2)[2]
    run = mf.simulate(problem, until=1.0 / rate, save=2, labels=16, max_degree=24)
    sizes = [np.abs(measure.parts[-1, 1:]).max() for measure in run.measures]
    # Half weights of 40 layers: 3e-3 / 2; and squares of the amplitude.
    assert np.log(sizes[1] / sizes[0]) == pytest.approx(0.5, abs=2e-3)


@pytest.mark.parametrize("degree", [1, 2])
def test_incoherence_grows_as_its_eigenvalue_says(degree):
    """Lorentz's law: s = lambda_k - k Delta, from the mode lambda_k / (s + i k omega) itself."""
    circle, width = mf.Circle(), 0.1
    rate = mf.growth_rates(mf.Problem(circle, mf.exponential(5.0), mf.SA), degree)[degree]
    growth = rate - degree * width

    def mode(omega: float) -> mf.Law:
        amplitude = 1e-6 * rate / (growth + 1j * degree * omega)
        return mf.from_density([1.0, *[0.0] * (degree - 1), amplitude])

    law, spread = mf.from_labels(mode), mf.Lorentzian(width)
    problem = mf.Problem(circle, mf.exponential(5.0), mf.SA, law, frequencies=spread)
    run = mf.simulate(problem, until=2.0, save=2, labels=24)
    moments = run.moments[:, degree]
    # Rational in the angle of the quadrature: 24 nodes are exact; squares of the amplitude.
    assert np.log(moments[1] / moments[0]) / 2.0 == pytest.approx(growth, abs=1e-8)
    assert growth == pytest.approx(mf.incoherence_growth_rates(problem)[degree], abs=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "labels", "order"), [(0.2, 64, 0.3903631504264), (0.7, 32, 0.0363966610087)]
)
def test_lorentzian_labels_follow_ott_and_antonsen(width, labels, order):
    """Order r obeys one equation; it decays below K_c = 2 Delta."""

    def start(omega: float) -> mf.Law:
        # Analytic in the upper half plane, and 0.1 where it counts, at omega = i Delta. What does
        # not fall off with omega would leave an error of M^{-3/4}: nodes miss fast e^{i omega t}.
        alpha = 0.4 * (1j * width / (omega + 1j * width)) ** 2
        return mf.from_density(np.conj(alpha) ** np.arange(24))

    spread = mf.Lorentzian(width)
    problem = kuramoto(mf.from_labels(start), spread)
    run = mf.simulate(problem, until=5.0, save=2, labels=labels, tolerance=1e-3)
    assert run.observables["order_parameter"] == pytest.approx([0.1, order], abs=1e-3)
    assert order == pytest.approx(ott_antonsen_order(spread, 1.0, 5.0, 0.1), abs=1e-13)


def test_gaussian_labels_grow_at_landaus_rate():
    """Smooth laws need few labels: the pole of coupling H(z) = 1 after transients have gone."""
    problem = kuramoto(mf.perturbed_uniform([[1, 2e-6, 0.0]]), mf.Gaussian(0.3, centre=0.2))
    run = mf.simulate(problem, until=16.0, save=[12.0, 16.0], labels=48)
    growth = np.log(run.moments[1, 1] / run.moments[0, 1]) / 4.0
    assert growth == pytest.approx(mf.incoherence_growth_rates(problem)[1], abs=1e-5)


def test_uniform_frequencies_lock_to_the_closed_form():
    """One token at each of Gauss's nodes, with its weight: fully locked, r is a quadrature."""
    spread = mf.UniformSpread(0.7)
    omega, weights = spread.nodes(60)
    law = mf.from_points(np.linspace(-0.5, 0.5, 60), weights)
    problem = kuramoto(law, mf.GivenFrequencies(omega))
    run = mf.simulate(problem, until=60.0, save=2)
    order = run.observables["order_parameter"][-1]
    assert order == pytest.approx(0.8816555135046, abs=1e-9)
    assert order == pytest.approx(mf.synchronised_order(spread, 1.0), abs=1e-9)


@pytest.mark.slow
def test_gaussian_tokens_reach_partial_synchrony():
    """Drifting tokens add nothing in the mean over time."""
    omega = mf.Gaussian(0.5).quantiles((np.arange(400) + 0.5) / 400)
    phases = np.random.default_rng(1).uniform(-1.5, 1.5, 400)
    problem = kuramoto(mf.from_points(phases), mf.GivenFrequencies(omega))
    run = mf.simulate(problem, until=60.0, save=np.linspace(30.0, 60.0, 50), tolerance=1e-6)
    # 15 % drift, as random phases do: 0.02 at one time, less in the mean.
    mean = run.observables["order_parameter"].mean()
    assert mean == pytest.approx(0.7151739566832, abs=2e-3)


@pytest.mark.slow
def test_tokens_draw_their_frequencies_from_the_law():
    """The seed says which; points and noise come from other numbers."""
    law, spread = mf.from_points(np.zeros(400)), mf.Gaussian(0.5, centre=1.0)
    problem = kuramoto(law, spread, mf.Flow("none", strength=1e-9))
    first, again = (mf.simulate(problem, until=1.0, save=2, seed=3) for _ in range(2))
    drawn = first.measures[-1].points
    np.testing.assert_array_equal(drawn, again.measures[-1].points)
    # Standard errors 0.025 and 0.018.
    assert (drawn.mean(), drawn.std()) == pytest.approx((1.0, 0.5), abs=0.08)


@pytest.mark.slow
def test_locked_labels_end_the_run_with_what_to_do():
    """Each collapses into a point: no degree resolves that for long."""
    problem = kuramoto(mf.von_mises_fisher(2.0), mf.UniformSpread(0.3))
    with pytest.raises(mf.SimulationError, match=r"of a label at degree 48; .* a diffusivity"):
        mf.simulate(problem, until=20.0, save=2, labels=8, max_degree=48, tolerance=1e-4)


@together(
    "law, masked, options, error, message",
    [
        (mf.von_mises_fisher(1.0), True, {"representation": "density"}, ValueError,
         "density cannot carry positions, .* use representation"),
        (mf.von_mises_fisher(1.0), False, {"representation": "labelled"}, ValueError,
         "with a mask or with frequencies"),
        (mf.von_mises_fisher(1.0), False, {"labels": 3}, ValueError,
         "labels = 3 cannot act: it is for labelled densities"),
        (mf.from_points([0.0, 1.0]), True, {"representation": "labelled"}, TypeError,
         "needs an initial density, got points"),
    ],
)  # fmt: skip
def test_carriers_without_labels_refuse_them(law, masked, options, error, message):
    """A density alone would leave mask or frequencies out."""
    problem = mf.Problem(mf.Circle(), causal(2.0), initial=law)
    problem = problem if masked else problem.unlabelled
    refused(message, partial(mf.simulate, problem, until=1.0, **options), error=error)


def test_each_token_has_its_frequency():
    """Others would turn at a frequency of none."""
    three = kuramoto(mf.from_points([0.0, 1.0]), mf.GivenFrequencies([0.1, 0.2, 0.3]))
    refused("3 frequencies are given to 2 tokens", mf.simulate, three, until=1.0)


def test_stages_of_layers_are_those_of_the_unmasked_density():
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
    np.testing.assert_allclose(moments[0], moments[1], rtol=0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("normalization", "mask"),
    [
        ("none", {"mask": "causal"}),
        ("softmax", {"mask": "alibi", "alibi_rate": 4.0}),
        ("softmax", {"mask": "causal", "sink": 0.3}),
    ],
)
def test_tokens_in_their_order_come_to_the_layers(normalization, mask):
    """Tokens and layers would mean something else by a mask; the first moves by 0.02 and 0.09."""
    attention = mf.Attention([mf.Head()], normalization, beta=2.0, **mask)
    law = mf.from_labels(lambda s: mf.from_density([1.0, 0.4 * s * np.exp(-2j * s)]))
    problem = mf.Problem(mf.Circle(), attention, initial=law)
    layers = last(mf.simulate(problem, 1.0, save=2, labels=60))
    # One token a position, by the inverse of the distribution at a sequence of low discrepancy.
    s = (np.arange(1200) + 1.0) / 1200
    angles = np.linspace(0.0, 2.0 * np.pi, 1001)
    shares = 2.0 * np.pi * (np.arange(1200) * 0.5 * (np.sqrt(5.0) - 1.0) % 1.0)
    turned = 2.0 * s[:, None]
    below = angles + 0.4 * turned * (np.sin(angles - turned) + np.sin(turned))
    points = [np.interp(share, row, angles) for share, row in zip(shares, below, strict=True)]
    problem = replace(problem, initial=mf.from_points(points))
    run = mf.simulate(problem, 1.0, save=2, representation="particles", tolerance=1e-6)
    later = np.exp(-1j * run.measures[-1].points[600:]).mean()
    mean = 2.0 * CubicSpline(layers.labels, layers.parts[:, 1]).integrate(0.5, 1.0)
    assert later == pytest.approx(mean, abs=2e-3)


def equidistant(until: float, diffusivity: float = 0.0, tau: float = 0.0) -> ComplexArray:
    """Moments 0 to 9 of the linear kernel from 1 + 0.3 cos(theta + tau omega), by 401 frequencies.

    c_k' = -(i k omega + D k^2) c_k - (k / 2) (z c_{k+1} - conj(z) c_{k-1}), z = conj(mean c_1).
    """
    omega, k = np.linspace(-7.0, 7.0, 401), np.arange(10)[:, None]
    weights = np.exp(-0.5 * omega**2)
    weights /= weights.sum()
    b = np.zeros((10, 401), dtype=np.complex128)
    b[0], b[1] = 1.0, 0.15 * np.exp(1j * tau * omega)

    def slope(t: float, state: ComplexArray) -> ComplexArray:
        # In frames that turn.
        b, turn = state.reshape(10, 401), np.exp(-1j * omega * t)
        pull = np.conj(weights @ (turn * b[1])) * turn
        change = -diffusivity * k**2 * b
        change[1:-1] -= 0.5 * k[1:-1] * (pull * b[2:] - np.conj(pull) * b[:-2])
        return change.ravel()

    b = solve_ivp(slope, (0.0, until), b.ravel(), "DOP853", rtol=1e-10, atol=1e-10).y[:, -1]
    return (b.reshape(10, 401) * np.exp(-1j * k * omega * until)) @ weights


@pytest.mark.slow
@pytest.mark.parametrize(
    ("until", "diffusivity", "tolerance"),
    [(30.0, 0.0, 1e-4), (16.0, 0.0, 1e-6), (40.0, 1e-3, 1e-6)],
)
def test_frequencies_do_not_recur(until, diffusivity, tolerance):
    """Finitely many echo: 44 of Gauss and Hermite had 0.35 for 7e-5 at t = 16."""
    law, flow = mf.perturbed_uniform([[1, 0.3, 0.0]]), mf.Flow("none", diffusivity=diffusivity)
    problem = kuramoto(law, mf.Gaussian(width=1.0), flow)
    run = mf.simulate(problem, until=until, save=2, tolerance=tolerance)
    exact = equidistant(until, diffusivity)
    # The reference's lowest moments do not recur before t = 2 pi / 0.035 / degree.
    np.testing.assert_allclose(run.moments[-1, :4], exact[:4], rtol=0, atol=tolerance)
    assert run.diagnostics["label_error"].max() < tolerance
    # Without the band the sum over 192 recurs at t = 80 / degree, that over 64 at 27 / degree.
    assert run.diagnostics["labels"].max() <= 192
    assert len(last(run).labels) == 64


def waves(tau: float) -> mf.from_labels:
    """Densities 1 + 0.3 cos(theta + tau label)."""
    return mf.from_labels(lambda label: mf.from_density([1.0, 0.15 * np.exp(1j * tau * label)]))


@pytest.mark.slow
@pytest.mark.parametrize("tau", [6.702, 9.0])
def test_waves_between_labels_are_resolved(tau):
    """16 labels take waves of 6.702 = 2 pi / h for none, and began with |c_1| = 0.15."""
    spread, times = mf.Gaussian(width=1.0), np.linspace(0.0, tau, 4)
    problem = kuramoto(waves(tau), spread, mf.Flow("none", strength=1e-9))
    run = mf.simulate(problem, until=tau, save=times, tolerance=1e-6, labels=16)
    # Free streaming: the characteristic function of the law, at t - tau.
    exact = 0.15 * np.exp(-0.5 * (times - tau) ** 2)
    np.testing.assert_allclose(run.moments[:, 1], exact, rtol=0, atol=1e-6)
    assert run.diagnostics["labels"][0] == 144


@pytest.mark.slow
def test_waves_that_meet_the_field_are_those_of_sums():
    """An echo of the start that the kernel pulls at as it comes."""
    problem = kuramoto(waves(6.7), mf.Gaussian(width=1.0))
    run = mf.simulate(problem, until=8.0, save=2, tolerance=1e-5, labels=16)
    exact = equidistant(8.0, tau=6.7)
    assert np.abs(exact[1]) > 0.1
    np.testing.assert_allclose(run.moments[-1, :4], exact[:4], rtol=0, atol=1e-5)


def bump(width: float) -> mf.Problem:
    """Layers of which those near s = 0.501 alone begin with a moment."""
    law = mf.from_labels(
        lambda s: mf.from_density([1.0, 0.3 * np.exp(-0.5 * ((s - 0.501) / width) ** 2)])
    )
    return mf.Problem(mf.Circle(), causal(2.0), initial=law)


def test_layers_between_positions_are_resolved():
    """A bump between two of 64 positions was no bump."""
    run = mf.simulate(bump(0.02), until=1e-6, save=2, tolerance=1e-6)
    assert run.diagnostics["labels"][0] == 192
    # Its integral over s: 0.3 width sqrt(2 pi).
    assert run.moments[0, 1] == pytest.approx(0.3 * 0.02 * np.sqrt(2 * np.pi), abs=1e-9)


@pytest.mark.slow
def test_layers_too_narrow_end_with_how_many_positions_would_do():
    """More than 666 positions are the choice of the user."""
    with pytest.raises(ValueError, match=r"576 positions, .* 1e-06; give labels = 9\d\d or more"):
        mf.simulate(bump(0.003), until=1.0, tolerance=1e-6)
    with pytest.raises(ValueError, match="even 1153 would not do"):
        mf.simulate(bump(0.0005), until=1.0, tolerance=1e-6)


@pytest.mark.slow
def test_numbers_of_labels_in_errors_resolve_the_start():
    """The number in the message would fail again."""
    problem = kuramoto(waves(400.0), mf.Gaussian(width=1.0))
    with pytest.raises(ValueError, match=r"give labels = \d+ or more") as error:
        mf.simulate(problem, until=1.0, labels=1400, tolerance=1e-6)
    enough = int(re.findall("give labels = ([0-9]+)", str(error.value))[0])
    labels, _ = resolving_labels(problem, enough, 1, 1e-6)
    assert len(labels.values) == enough


@pytest.mark.slow
def test_more_labels_report_events_once():
    """A run that begins again would enter its stages twice, or forget one at a saved time."""
    problem = kuramoto(
        mf.perturbed_uniform([[1, 0.3, 0.0]]),
        mf.Gaussian(width=1.0),
        stages=[mf.Stage(end=1.0), mf.Stage(flow=mf.Flow("none", strength=0.5))],
    )
    run = mf.simulate(problem, until=10.0, save=[1.0, 10.0], tolerance=1e-4, labels=8)
    assert run.diagnostics["labels"][-1] > 8
    assert [(e.time, e.text) for e in run.events] == [(1.0, "stage 2 begins")]


@pytest.mark.parametrize(("mask", "rate"), [("causal", None), ("alibi", 5.0), ("alibi", 200.0)])
def test_positions_are_resolved_by_default(mask, rate):
    """Equal cells left 1e-4 to 6e-4; the judge is a sum over 4,000 cells."""
    law = mf.with_profile(mf.perturbed_uniform([[1, 0.2, 0.1]]), 1.0)
    attention = mf.Attention([mf.Head()], "none", beta=0.0, mask=mask, alibi_rate=rate)
    problem = mf.Problem(mf.Circle(), attention, initial=law)
    run = mf.simulate(problem, until=1.0, save=2)
    cells = 4000
    s = (np.arange(cells) + 0.5) / cells
    c = np.zeros((12, cells), dtype=np.complex128)
    c[0], c[1] = 1.0, (0.1 - 0.05j) * s
    k, q = np.arange(12)[:, None], np.exp(-(rate or 0.0) / cells)

    def slope(t: float, state: ComplexArray) -> ComplexArray:
        c = state.reshape(12, cells)
        sums = lfilter([0.0, q], [1.0, -q], c[:2], axis=1) + 0.5 * np.sqrt(q) * c[:2]
        z = np.conj(sums[1] / sums[0])
        change = np.zeros_like(c)
        change[1:-1] = -0.5 * k[1:-1] * (z * c[2:] - np.conj(z) * c[:-2])
        return change.ravel()

    exact = solve_ivp(slope, (0.0, 1.0), c.ravel(), rtol=1e-7, atol=1e-7).y[:, -1]
    mean = run.moments[-1, :3]
    assert np.abs(mean[1]) > 0.05
    np.testing.assert_allclose(mean, exact.reshape(12, cells)[:3].mean(axis=1), rtol=0, atol=2e-5)
    assert run.diagnostics["label_error"].max() < 1e-10


EQUAL = kuramoto(mf.from_density(0.3 ** np.arange(24)), mf.Lorentzian(0.2))
"""Lorentzian frequencies, from a law that is the same at all of them."""


def test_too_few_frequencies_end_the_run_with_how_many_would_do():
    """Lorentz's tails leave an error that falls too slowly, and were silent about it."""
    problem = replace(EQUAL, kernel=mf.exponential(2.0))
    message = "1728 frequencies resolve moments to 1e-10 until here, .* even 100000 would not do"
    refused(message, mf.simulate, problem, 3.0, save=2, error=mf.SimulationError)


@pytest.mark.parametrize("until", [0.5, 20.0])
def test_advised_frequencies_resolve_waves_until_the_end(until):
    """Too few labels would be advised, and another number by the next refusal."""
    allowed, times = 2e-3, np.random.default_rng(0).uniform(0.0, until, 200)
    count = enough_labels(EQUAL, EQUAL.labels(64), allowed, until)

    def error(count: int, k: int) -> float:
        labels = EQUAL.labels(count)
        return labels.error(0.3**k * np.exp(1j * k * np.outer(labels.values, times))).max()

    assert max(error(count, 1), error(count, 2)) <= allowed < error(count // 5, 1)


@pytest.mark.slow
def test_advised_number_completes(monkeypatch):
    """Each refusal would advise another number."""
    monkeypatch.setattr("meanfield.carriers.label_counts._MOST_FREQUENCIES", 64)
    options = {"until": 0.3, "save": 3, "tolerance": 6e-3}
    with pytest.raises(mf.SimulationError, match="64 frequencies resolve moments") as refusal:
        mf.simulate(EQUAL, **options)
    advised = int(re.findall("give labels = ([0-9]+)", str(refusal.value))[0])
    run = mf.simulate(EQUAL, labels=advised, **options)
    exact = ott_antonsen_order(mf.Lorentzian(0.2), 1.0, 0.3, 0.3)
    assert run.observables["order_parameter"][-1] == pytest.approx(exact, abs=6e-3)


@pytest.mark.slow
def test_evaluations_count_what_fewer_labels_took():
    """Work would seem to fall where a run begins again with more labels."""
    problem = kuramoto(mf.perturbed_uniform([[1, 0.3, 0.0]]), mf.Gaussian(width=1.0))
    calls, labels, counts = Mock(), [], []
    evolution = Evolution(problem, Options(labels=16, tolerance=1e-3), np.linspace(0.0, 12.0, 7))
    for snapshot in evolve(evolution, watch=calls):
        labels.append(snapshot.diagnostics["labels"])
        counts.append(snapshot.diagnostics["evaluations"])
        assert counts[-1] == calls.call_count
    assert labels[-1] > labels[0]
    assert np.all(np.diff(counts) > 0)
