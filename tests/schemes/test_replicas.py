"""Many systems with steps of their own: exact solutions, and nothing of each other."""

import core
import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.arrays import FloatArray
from meanfield.fields.blocks import attention_output
from meanfield.schemes.replicas import Numbers, replicas_at
from meanfield.terms.attention import HeadMatrices

TIMES = np.array([0.0, 0.5, 0.51, 2.0, 5.0])


def attending(numbers: Numbers, x: FloatArray) -> FloatArray:
    """Softmax attention at beta = 2 of system 0, 3 of system 1, ..."""
    own = (2.0 + numbers)[:, None, None] * np.eye(x.shape[-1])
    a = attention_output(x, [HeadMatrices(own, np.eye(x.shape[-1]))])
    return a - (x * a).sum(axis=-1, keepdims=True) * x


def states(start: FloatArray, tolerance: float, first: int = 0) -> FloatArray:
    out = np.full((len(start), len(TIMES), *start.shape[1:]), np.nan)
    moved = replicas_at(
        lambda numbers, x: attending(numbers + first, x), start, TIMES,
        tolerance=tolerance, retract=core.unit,
    )  # fmt: skip
    for numbers, indices, x in moved:
        out[numbers, indices] = x
    return out


@pytest.mark.slow
def test_equiangular_tokens_stay_on_their_curve() -> None:
    """Every pair of orthogonal tokens, at times within steps too, has the cosine in closed form."""
    x = states(np.array([np.eye(8)] * 2), 1e-9)
    for system, beta in enumerate((2.0, 3.0)):
        problem = mf.Problem(mf.Sphere(8), mf.exponential(beta), mf.SA)
        exact = mf.equiangular_cosine(problem, 8, TIMES)
        cosines = np.array([(e @ e.T)[~np.eye(8, dtype=bool)] for e in x[system]])
        # The extension inside a step is of order four: its error is some ten times that of a step.
        np.testing.assert_allclose(cosines, np.array([exact] * 56).T, rtol=0, atol=1e-7)


@pytest.mark.slow
def test_systems_do_not_feel_each_other() -> None:
    """To the bit: steps, and which systems are still under way, are of each alone."""
    start = core.unit(np.random.default_rng(0).normal(size=(5, 6, 3)))
    together = states(start, 1e-5)
    for r in (0, 4):
        np.testing.assert_array_equal(states(start[r : r + 1], 1e-5, r)[0], together[r])


def test_velocities_that_are_not_finite_end_it() -> None:
    """Steps would shrink for ever."""
    moved = replicas_at(lambda numbers, x: x * np.nan, np.ones((1, 1, 2)), TIMES,
                        tolerance=1e-5, retract=core.unit)  # fmt: skip
    refused("steps fell below rounding", list, moved, error=FloatingPointError)
