"""Figures of pair correlations: what is drawn of the runs, and which closures beside them."""

import numpy as np
import pytest

import meanfield as mf
from meanfield.figures.draw.pair_correlation import pair_picture
from meanfield.papers.pair_correlation import CLOSURES


@pytest.mark.slow
def test_a_figure_has_a_column_for_each_time():
    """Closures that are not known for a flow are left out."""
    problem = mf.Problem(mf.Circle(), mf.exponential(beta=2.0), mf.USA)
    correlation = mf.pair_correlation(problem, 10, times=[0.0, 0.5, 1.0, 1.5, 2.0, 2.5], runs=20)
    picture = pair_picture(correlation)
    assert picture.times.tolist() == [0.0, 1.0, 1.5, 2.5]
    assert [closed.name for closed in picture.closures] == list(CLOSURES)
    np.testing.assert_array_equal(picture.closures[0].psi[0], 1.0)
    figure = correlation.plot(title="Ten")
    assert len(figure.axes) == 8
    assert [line.get_label() for line in figure.axes[4].get_lines()][2:] == list(CLOSURES)
    softmax = mf.Problem(mf.Sphere(), mf.exponential(beta=2.0), mf.SA)
    alone = pair_picture(mf.pair_correlation(softmax, 10, times=[1.0], runs=3))
    assert [closed.name for closed in alone.closures] == ["linear"]
