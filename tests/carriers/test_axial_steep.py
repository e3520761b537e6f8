"""Steep axial densities of many dimensions, whose series drown in their own rounding."""

import numpy as np
import pytest
from parameters import refused
from scipy.special import ive

import meanfield as mf


def _steep(d: int, concentration: float) -> mf.Problem:
    law = mf.von_mises_fisher(concentration)
    return mf.Problem(mf.Axial(d), mf.exponential(5.0), mf.SA, law)


@pytest.mark.parametrize(("d", "concentration"), [(64, 200.0), (300, 500.0), (1000, 900.0)])
def test_steep_laws_begin_with_their_own_moments(d, concentration):
    """Coefficients of 1e33 would leave no digit of m_1, and the run would end as completed."""
    run, nodes = (
        mf.simulate(_steep(d, concentration), until=1.0, save=2, representation=name)
        for name in ("auto", "characteristics")
    )
    mean = ive(d / 2, concentration) / ive(d / 2 - 1, concentration)
    np.testing.assert_allclose(run.moments[0, 1], mean, rtol=0, atol=1e-10)
    np.testing.assert_allclose(run.moments[-1, 1:4], nodes.moments[-1, 1:4], rtol=0, atol=1e-9)


@pytest.mark.slow
def test_a_series_that_is_rounding_stops_the_run():
    """It cannot carry the law, and must say so."""
    with pytest.raises(mf.SimulationError, match="coefficients of the density are so large"):
        mf.simulate(_steep(300, 500.0), until=1.0, save=2, representation="density")


def test_masses_of_a_series_that_is_rounding_are_refused():
    """Its distribution function is noise: distances and tokens would be, too."""
    density = mf.von_mises_fisher(500.0).build(mf.Axial(300))
    refused("masses are known to", mf.wasserstein, density, mf.uniform().build(mf.Axial(300)))
