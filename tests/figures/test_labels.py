"""Figures of labelled densities: what they hold, and that they are drawn."""

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.figures.draw.labels import label_order_picture, labels_picture


@pytest.fixture(scope="module")
def run():
    law = mf.from_labels(lambda w: mf.from_density([1.0, 0.2 + 0.1 * w]))
    frequencies = mf.GivenFrequencies([0.5, -1.0, 1.0])
    problem = mf.Problem(mf.Circle(), mf.linear(), mf.USA, law, frequencies=frequencies)
    return mf.simulate(problem, until=1.0, save=4)


def test_pictures_order_labels_by_their_value(run):
    """A row would be drawn at another frequency than its own."""
    picture = label_order_picture(run)
    np.testing.assert_allclose(picture.values[:, 0], [0.1, 0.25, 0.3])
    np.testing.assert_allclose(picture.axis.edges, [0.0, 1 / 3, 2 / 3, 1.0])
    _, cells = labels_picture(run).panels[0]
    np.testing.assert_allclose(cells.mean(axis=1), 1.0, rtol=1e-12)
    # The densest cell, at angle 0.
    np.testing.assert_allclose(cells.max(axis=1), 1.0 + 2.0 * np.array([0.1, 0.25, 0.3]), rtol=1e-3)


@pytest.mark.slow
def test_figures_of_labels_are_drawn(run):
    """A kind would be listed that cannot be drawn; or of runs without labels end in a traceback."""
    assert len(run.plot("label_order").axes) == 2
    assert len(run.plot("labels", times=[0.0, 1.0], limits=(0.5, 2.0)).axes[0].child_axes) == 3
    alone = mf.simulate(mf.Problem(mf.Circle(), mf.linear(), mf.USA), until=1.0, save=2)
    refused(r"the run has no labels", alone.plot, "labels")
