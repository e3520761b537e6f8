"""Kernels that draw tokens: the same compiled and as Python, where every index is checked."""

import numpy as np
import pytest

import meanfield as mf


def _drawn(name: str, coefficients: np.ndarray, count: int) -> np.ndarray:
    import importlib

    module = importlib.import_module(f"meanfield.laws.sampling.{name}")
    draw = getattr(module, f"{name}_tokens")
    return np.asarray(draw(coefficients, count, np.random.default_rng(1)))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "space"), [("circle", mf.Circle()), ("sphere", mf.Sphere())])
def test_tokens_drawn_by_inversion(agree, name, space):
    """A level at an end of a table would be looked for outside of it."""
    coefficients = mf.von_mises_fisher(30.0).build(space).coefficients
    agree(_drawn, name, coefficients, 20, rtol=0.0, atol=1e-12)
