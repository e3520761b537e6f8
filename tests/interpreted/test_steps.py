"""Kernels of steps, blocks and sampling: the same compiled and as Python."""

import numpy as np
import pytest

import meanfield as mf


def _elementary(values: np.ndarray) -> tuple[np.ndarray, ...]:
    from meanfield.engines import elementary
    from meanfield.engines.compiled import njit

    exp2, small = elementary.exp2, elementary.small_sine_cosine
    spread = [small(0.01 * value) for value in values]
    fused = njit(cache=False)(lambda x, y, z: elementary.fma(x, y, z))
    return np.array([exp2(value) for value in values]), np.array(spread), fused(1e16, 1.5, -1.0)


def test_elementary_functions(agree):
    """Stand-ins would not be what they stand for; 2^-1030 is cut to zero."""
    agree(_elementary, np.array([-1030.0, -3.25, 0.0, 0.5, 70.0]))


def _stepped(start: np.ndarray, rates: np.ndarray) -> tuple[np.ndarray, float]:
    from meanfield.schemes.exponential import exponential

    stepper = exponential(
        lambda time, state: 0.3 * state * state - 0.1 * state[::-1], rates, 0.0, start,
        tolerance=1e-6,
    )  # fmt: skip
    for _ in range(3):
        assert stepper.step(0.5)
    return stepper.state, stepper.time


@pytest.mark.slow
@pytest.mark.parametrize("rates", [-(np.arange(8.0) ** 3), np.repeat([-40.0, 0.0], 4)])
@pytest.mark.parametrize("start", [np.linspace(0.1, 1.0, 8), np.exp(1j * np.arange(8.0))])
def test_exponential_steps(agree, start, rates):
    """Real numbers would be read as complex ones, or a rate for the wrong coefficient."""
    agree(_stepped, start, rates, rtol=1e-9)


def _output(x: np.ndarray, options: dict[str, object]) -> np.ndarray:
    from meanfield.fields.blocks import attention_output
    from meanfield.terms.attention import HeadMatrices

    heads = [HeadMatrices(np.diag([2.0, -1.0, 0.5]), np.eye(3))]
    return attention_output(x, heads, np.array([0.0, 0.2, 0.3, 0.5]), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{}, {"mask": "causal"}, {"mask": "alibi", "rate": 0.3}])
def test_rows_of_blocks(agree, options):
    """Rows above the diagonal, without mass, and of exponents beyond the range of doubles."""
    x = np.random.default_rng(1).normal(size=(2, 4, 3)) * np.array([[[1.0]], [[40.0]]])
    # Rounding of exponents up to several thousand.
    agree(_output, x, options, atol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "space"), [("circle", mf.Circle()), ("sphere", mf.Sphere())])
def test_tokens_drawn_by_inversion(agree, name, space):
    """A level at an end of a table would be looked for outside of it."""
    args = (mf.von_mises_fisher(30.0).build(space).coefficients, 20, np.random.default_rng(1))
    agree(f"laws.sampling.{name}:{name}_tokens", *args, rtol=0.0, atol=1e-12)
