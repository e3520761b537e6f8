"""Numbers for training loops beside the observables of this package, and arrays of others."""

import math
import sys

import numpy as np
import pytest
from parameters import refused, together

import meanfield as mf
from meanfield.models.heads import on_sphere
from meanfield.observables.cosines import effective_rank, mean_cosine

RNG = np.random.default_rng(3)
_X = RNG.normal(size=(100, 24)) + 0.5
_P = RNG.random((3, 100, 100))
_P /= _P.sum(axis=-1, keepdims=True)


def test_numbers_are_those_of_the_observables():
    """The same name would stand for another number."""
    numbers = mf.monitor(_X, _P)
    measure = on_sphere(_X)
    assert numbers["mean_cosine"] == pytest.approx(mean_cosine(measure), abs=1e-14)
    # Eigenvalues that are rounding do not count: 76 of 100.
    assert numbers["effective_rank"] == pytest.approx(effective_rank(measure), rel=1e-12)
    entropies = -(_P * np.log(_P)).sum(axis=-1)
    assert numbers["entropy"] == pytest.approx(entropies.mean(), rel=1e-14)
    assert numbers["attended_tokens"] == pytest.approx(np.exp(entropies).mean(), rel=1e-14)
    assert numbers["sink_share"] == pytest.approx(_P[:, :, 0].mean(), rel=1e-14)
    assert list(mf.monitor(_X)) == ["mean_cosine", "effective_rank"]


def test_causal_attention_and_a_batch():
    """Zeros above the diagonal have no logarithm; texts are averaged, not mixed."""
    causal = np.tril(np.ones((2, 5, 5))) / np.arange(1, 6)[:, None]
    numbers = mf.monitor(_X[:5], causal)
    assert numbers["attended_tokens"] == pytest.approx(3.0, rel=1e-14)
    assert numbers["sink_share"] == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 5)
    halves = np.stack([_P[:, :50, :50], _P[:, 50:, 50:]])
    halves /= halves.sum(axis=-1, keepdims=True)
    one, other = mf.monitor(_X[:50], halves[0]), mf.monitor(_X[50:], halves[1])
    both = mf.monitor(_X.reshape(2, 50, 24), halves)
    assert both == pytest.approx({name: (one[name] + other[name]) / 2 for name in one}, rel=1e-12)


def test_of_many_tokens_128_give_the_rank():
    """A thousand tokens in 20 directions have the rank of those at equal distances."""
    x = RNG.normal(size=(1000, 20)) @ RNG.normal(size=(20, 50))
    chosen = x[(np.arange(0.5, 128) * 1000 / 128).astype(int)]
    numbers = mf.monitor(x)
    assert numbers["effective_rank"] == mf.monitor(chosen)["effective_rank"]
    assert numbers["mean_cosine"] == pytest.approx(mean_cosine(on_sphere(x)), abs=1e-13)


def test_sink_share_is_that_of_all_rows():
    """The first row attends to itself alone: among 128 chosen ones it would weigh too much."""
    x = RNG.normal(size=(1024, 4))
    uniform = np.tril(np.ones((1024, 1024))) / np.arange(1, 1025)[:, None]
    expected = np.mean(1.0 / np.arange(1, 1025))
    assert mf.monitor(x, uniform[None])["sink_share"] == pytest.approx(expected, abs=1e-6)
    # Also a mean of log i over the chosen rows is that of all, to half a distance.
    entropy = mf.monitor(x, uniform[None])["entropy"]
    assert entropy == pytest.approx(np.log(np.arange(1, 1025)).mean(), rel=1e-3)


@together("size", [1.0, 1e19, 1e30, 1e-10, 1e-23, 1e-36])
def test_small_and_large_numbers_of_single_precision(size):
    """Their squares are 0 or infinite, their directions are what they are."""
    x = RNG.normal(size=(2, 64, 32)).astype(np.float32)
    assert mf.monitor(x * np.float32(size)) == pytest.approx(mf.monitor(x), rel=1e-4, abs=1e-6)
    same = mf.monitor(np.full((64, 3), size, np.float32))
    assert same == pytest.approx({"mean_cosine": 1.0, "effective_rank": 1.0}, abs=1e-4)


class _Tensor:
    """Arrays as torch offers them: no array before `detach`, and then the array interface."""

    def __init__(self, values, ready=False):
        self.values, self.ready = values, ready

    def detach(self):
        return _Tensor(self.values, True)

    def __array__(self, dtype=None, copy=None):
        if not self.ready:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        if self.values is None:
            raise TypeError("can't convert cuda:0 device type tensor to numpy.")
        return self.values


def test_arrays_of_other_libraries_are_taken():
    """Precision of the input is kept down to single; no library is imported."""
    expected = mf.monitor(_X)
    for options in (_Tensor(_X), _X.astype(np.float32), _X.tolist(), _X.astype(np.float16)):
        # Halves have three digits.
        assert mf.monitor(options) == pytest.approx(expected, rel=2e-3)
    assert mf.monitor(_X.astype(np.float32)) == pytest.approx(expected, rel=1e-5)
    assert not {"torch", "jax"} & {*sys.modules}


def test_what_cannot_be_measured_is_nan_or_refused():
    """A loop that diverges goes on with NaN; shapes that do not fit are mistakes."""
    for bad in (0.0, math.nan, math.inf):
        x = _X.copy()
        x[0] = bad
        assert all(math.isnan(value) for value in mf.monitor(x).values())
    refused(r"hidden has shape \(24,\), expected \(n, d\) or", mf.monitor, _X[0])
    refused("with n of 2 or more", mf.monitor, _X[:1])
    refused(r"attention has shape \(100, 100\), expected \(heads, 100", mf.monitor, _X, _P[0])
    refused(r"shape \(0, 100, 100\), .* with heads of 1 or more", mf.monitor, _X, _P[:0])
    for wrong in (_P + 1.0, -_P, 2.0 * _P):
        refused("rows of attention sum to .*, expected sums of 1", mf.monitor, _X, wrong)
    for wrong in (_Tensor(None), "hidden", object(), 1j * _X):
        message = "hidden is .*, expected real numbers .*float.*cpu"
        refused(message, mf.monitor, wrong, error=TypeError)
