"""Labels: quadratures over positions and frequencies, and what each label sees."""

from __future__ import annotations

import numpy as np
import pytest

import meanfield as mf
from meanfield.labels import frequency_labels, positions


@pytest.mark.parametrize("rate", [0.0, 5.0])
def test_layers_see_integrals_to_second_order(rate: float) -> None:
    """All or none of a layer's own mass would be of first order."""
    errors = []
    for count in (100, 200):
        labels = positions(count, rate)
        s = labels.values
        # int_0^s e^{-rate (s - s')} e^{2 i s'} ds' over the same of 1.
        total = -np.expm1(-rate * s) / rate if rate else s
        exact = (np.exp(2j * s) - np.exp(-rate * s)) / (2j + rate) / total
        error = np.abs(labels.seen(np.exp(2j * s)[:, None])[:, 0] - exact)
        # Of the first layer, whose mean is over half of it, 1 / (2 M).
        assert error.max() < 1.1 / count
        errors.append(error[count // 2 :].max())
    assert errors[1] < 5e-5
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


def test_distant_layers_of_a_steep_mask_see_themselves_alone() -> None:
    """Weights far apart underflow, and must not overflow."""
    moments = np.arange(3.0)[:, None]
    np.testing.assert_array_equal(positions(3, 1e6).seen(moments), moments)


def test_frequency_labels_are_a_quadrature_without_idle_nodes() -> None:
    """Hermite's outer nodes weigh nothing, and would ask for short steps."""
    labels = frequency_labels(mf.Gaussian(width=0.5), 200)
    assert np.abs(labels.values).max() < 5.0
    assert labels.weights @ labels.values**6 == pytest.approx(15 * 0.5**6, rel=1e-13)
    assert labels.seen(labels.values[:, None] ** 2) == pytest.approx(np.array([[0.25]]), rel=1e-13)


def test_labels_are_of_problems_that_have_them() -> None:
    """Laws of labels would be averaged silently, and two labels make no list."""
    circle, law = mf.Circle(), mf.with_profile(mf.von_mises_fisher(1.0), 1.0)
    causal = mf.Attention([mf.Head()], beta=2.0, mask="causal")
    spread = mf.Gaussian(width=0.5)
    with pytest.raises(ValueError, match=r"law of labels, and tokens have none here"):
        mf.Problem(circle, mf.linear(), initial=law)
    with pytest.raises(ValueError, match=r"frequencies have from_labels"):
        mf.Problem(circle, mf.linear(), initial=law, frequencies=spread)
    with pytest.raises(ValueError, match=r"this problem has two"):
        mf.Problem(circle, causal, frequencies=spread).labels()
    with pytest.raises(ValueError, match=r"on the circle; elsewhere a rotation has an axis"):
        mf.Problem(mf.Sphere(), mf.linear(), frequencies=spread)
    with pytest.raises(ValueError, match=r"with a mask or with frequencies"):
        mf.Problem(circle, mf.linear()).labels()
    with pytest.raises(ValueError, match=r"incoherence_growth_rates has their stability"):
        _ = mf.Problem(circle, mf.linear(), frequencies=spread).zonal


def test_labelled_densities_say_what_does_not_fit() -> None:
    """Parts and labels that do not belong together would be read as others."""
    given = {"parts": [[1.0, 0.1]], "labels": [0.5, 0.7], "label_weights": [1.0]}
    with pytest.raises(ValueError, match=r"expected \(M, number of coefficients\), \(M,\)"):
        mf.LabelledDensity(mf.Circle(), [1.0], **given)
    with pytest.raises(ValueError, match=r"finite, and of mass 1"):
        mf.LabelledDensity(mf.Circle(), [1.0], parts=[[2.0]], labels=[0.5], label_weights=[1.0])
