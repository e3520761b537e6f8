"""Figures of runs whose time is not that of growth rates, and of tokens under a mask."""

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.figures.data.saved_times import frame
from meanfield.figures.data.series import linear_prediction
from meanfield.figures.draw import plot
from meanfield.figures.draw.axes import time_axis_label

LAW = mf.perturbed_uniform([[2, 0.02, 0.0], [3, 0.01, 0.0]])


def _run(**problem):
    result = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.SA, LAW, **problem)
    return mf.simulate(result, until=4.0, save=5)


@pytest.mark.slow
def test_layers_have_no_growth_times_and_are_named():
    """Ten layers of step 0.1 are one unit of time: ten times the rates would be drawn."""
    run = _run(layers=mf.Layers(step=0.1, count=4))
    panel = frame(run)
    assert np.isnan(panel.growth_rate) and time_axis_label(panel) == "layer"
    assert np.isnan(linear_prediction(run, 3)).all()
    assert "4 post layers of step 0.1" in plot(run, "density").axes[0].get_title(loc="left")
    refused("under other layers modes grow by another clock", run.time_in, "growth")


@pytest.mark.slow
def test_clocks_of_growth_are_those_of_flows_with_one_rate():
    """The flow of post is the flow itself; rates of time 0 would measure all later times."""
    panel = frame(_run(layers=mf.Layers(step=0.0)))
    assert panel.growth_rate > 0 and time_axis_label(panel) == "scaled time $t$"
    assert np.isnan(frame(_run(layers=mf.Layers(step=0.0, placement="pre"))).growth_rate)
    rising = mf.Problem(mf.Circle(), mf.exponential(lambda t: 5.0 + t), mf.SA, LAW)
    assert frame(mf.simulate(rising, until=1.0, save=2)).growth_rate == 0.0


def _masked(points):
    masked = mf.Attention([mf.Head()], beta=5.0, mask="causal")
    problem = mf.Problem(mf.Circle(), masked, initial=mf.from_points(points))
    return mf.simulate(problem, until=1.0, save=3)


def test_tokens_under_a_mask_have_no_linear_prediction():
    """Each attends to other tokens; noise near the first grows faster than any rate of uniform."""
    assert np.isnan(linear_prediction(_masked(np.linspace(0.0, 6.0, 40)), 3)).all()
    # A run under a mask has labels; it is not one of their densities.
    refused('representation "labelled"', plot, _masked([0.0, 1.0, 2.0]), "labels")


@pytest.mark.slow
def test_middle_frequency_is_named_zero():
    """Nodes of a quadrature are 0 up to rounding, and a power of ten is a formula."""
    problem = mf.Problem(mf.Circle(), mf.exponential(2.0), mf.SA, LAW, frequencies=mf.Gaussian(0.1))
    axes = plot(mf.simulate(problem, until=1.0, save=3, labels=16), "label_order").axes[0]
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names[2] == "$0$" and all(name.startswith("$") for name in names)
