"""Labels: quadratures over positions and frequencies, and what each label attends to."""

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.labels import frequency_labels, positions
from meanfield.terms.masks import NamedMask


@pytest.mark.slow
@pytest.mark.parametrize("count", [48, 300])
@pytest.mark.parametrize("rate", [0.0, 5.0, 200.0, 1e6])
def test_positions_integrate_to_rounding(rate, count):
    """Waves of a profile, and the layer of width 1 / rate at s = 0, want few positions."""
    labels = positions(count, NamedMask(True, rate))
    s = labels.values
    # int_0^s e^{-rate (s - s')} e^{2 i s'} ds' over the same of 1; by expm1, for s may be small.
    wave, faded = np.expm1(2j * s), np.expm1(-rate * s)
    exact = (1.0 - wave / faded) * rate / (2j + rate) if rate else wave / (2j * s)
    np.testing.assert_allclose(
        labels.attended(np.exp(2j * s)[:, None])[:, 0], exact, rtol=0, atol=1e-13
    )
    assert labels.mean(s[:, None] ** 3) == pytest.approx(0.25, rel=1e-14)


@pytest.mark.parametrize("refinement", [3, 9])
def test_stored_labels_are_among_more(refinement):
    """A run that takes more labels would go on with others than it has stored."""
    spread = mf.Gaussian(width=0.5)
    rules = [
        lambda q, mask=mask: positions(8, mask, q)
        for mask in (NamedMask(True, 3.0), mf.Window(0.3))
    ]
    for rule in (*rules, lambda q: frequency_labels(spread, 8, q)):
        few, many = rule(1), rule(refinement)
        np.testing.assert_allclose(many.values[many.stored], few.values, rtol=1e-12)
        np.testing.assert_allclose(many.stored_weights, few.weights, rtol=1e-12)


def test_errors_of_labels_are_those_of_their_integrals():
    """An error that is not watched is silent; the judge is the closed form e^{-tau^2 / 2}."""
    labels = frequency_labels(mf.Gaussian(width=1.0), 64)
    result, watched = [], []
    for tau in (1.0, 10.0, 13.0, 25.0):
        wave = np.exp(1j * tau * labels.values)[:, None]
        result.append(abs(labels.weights @ wave[:, 0] - np.exp(-0.5 * tau * tau)))
        watched.append(labels.error(wave)[0])
    # The rule recurs at 26.8, and every second label at 13.4.
    assert result[:3] < [1e-13] * 3 and result[3] > 0.1
    assert watched[0] < 1e-13 and watched[1] > 1e-4 and watched[2] > 0.9
    layers = positions(64, NamedMask(True))
    s = layers.values
    assert layers.error(np.exp(5j * s)[:, None])[0] < 1e-14
    assert layers.error(np.sign(s - 0.3)[:, None])[0] > 1e-3


def test_frequency_labels_are_a_quadrature_without_idle_nodes():
    """Nodes of no weight would ask for short steps."""
    labels = frequency_labels(mf.Gaussian(width=0.5), 50)
    assert np.abs(labels.values).max() < 5.0
    # Beyond 7.5 deviations lies 1e-9 of it.
    assert labels.weights @ labels.values**6 == pytest.approx(15 * 0.5**6, rel=1e-8)
    mean = labels.attended(labels.values[:, None] ** 2)
    assert mean == pytest.approx(np.array([[0.25]]), rel=1e-13)


def test_labels_are_of_problems_that_have_them():
    """Laws of labels would be averaged silently, and two labels make no list."""
    circle, law = mf.Circle(), mf.with_profile(mf.von_mises_fisher(1.0), 1.0)
    causal = mf.Attention([mf.Head()], beta=2.0, mask="causal")
    spread = mf.Gaussian(width=0.5)
    plain = (circle, mf.linear(), mf.USA)
    refused("law of labels, and tokens have none here", mf.Problem, *plain, law)
    refused("frequencies have from_labels", mf.Problem, *plain, law, frequencies=spread)
    with pytest.raises(TypeError, match=r"densities\(0.5\) gave 3.0 \(float\), expected a law"):
        mf.from_labels(lambda s: 3.0).parts(circle, np.array([0.5]))
    refused("this problem has two", mf.Problem(circle, causal, frequencies=spread).labels)
    axis = "on the circle; elsewhere a rotation has an axis"
    refused(axis, mf.Problem, mf.Sphere(), *plain[1:], frequencies=spread)
    refused("with a mask or with frequencies", mf.Problem(*plain).labels)
    stability = "incoherence_growth_rates has their stability"
    refused(stability, getattr, mf.Problem(*plain, frequencies=spread), "zonal")


def test_labelled_densities_say_what_does_not_fit():
    """Parts and labels that do not belong together would be read as others."""
    for parts, labels, message in (
        ([[1.0, 0.1]], [0.5, 0.7], r"expected \(M, number of coefficients\), \(M,\)"),
        ([[2.0]], [0.5], "finite, and of mass 1"),
    ):
        options = {"parts": parts, "labels": labels, "label_weights": [1.0]}
        refused(message, mf.LabelledDensity, mf.Circle(), [1.0], **options)
