"""Figures of studies on axes of the user's: one panel, whose title is the user's own."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from parameters import refused

import meanfield as mf
from meanfield.models.token_limit import TokenLimit
from meanfield.papers.limit_shapes import limit_shape
from meanfield.papers.merging import MergingDiagram
from tests.figures.samples import comparison, ensemble
from tests.figures.test_phase import DIAGRAM

PROBLEM = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.USA)


def merging():
    done, sums = np.ones((2, 3), dtype=bool), np.ones((2, 2))
    return MergingDiagram(np.array([1.0, 2.0]), np.array([0.0, 1.0]), 8, 3, done, sums, sums)


def shape():
    points = np.random.default_rng(0).normal(size=(8, 2))
    attention = mf.Attention([mf.Head()], beta=1.0)
    problem = mf.Problem(mf.Euclidean(2), attention, mf.SA, mf.from_points(points))
    return limit_shape(problem, problem.initial.build(problem.manifold), 1.0)


CASES = {
    "ensemble": (ensemble, "share of runs"),
    "comparison": (comparison, r"mean $W_1(\mu^n_t, f_t)$"),
    "prediction": (
        lambda: mf.predict_clusters(PROBLEM, np.linspace(0, 3, 40), samples=50, corrected=False),
        "probability",
    ),
    "phase": (lambda: DIAGRAM, "diffusivity over the critical one\n$D / D_\\#$"),
    "merging": (merging, r"inverse temperature $\beta$"),
    "tokens": (
        lambda: TokenLimit("model", np.array([4, 8]), 32, np.array([[[0.2], [0.1]]])),
        "error of states, relative",
    ),
    "spectrum": (lambda: mf.linear_operator(PROBLEM), r"frequency Im $\lambda$ (per scaled time)"),
    "shape": (shape, "$z_2$"),
    "fluctuations": (lambda: mf.fluctuations(PROBLEM, until=0.2, save=2), ""),
}


def headings(figure):
    bold = [text for text in figure.findobj(Text) if text.get_fontweight() == "bold"]
    return [text.get_text() for text in bold]


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_studies_are_drawn_on_axes_of_the_user(name):
    """A panel of a figure of one's own would stay empty, or have a title that it was not given."""
    result, label = CASES[name]
    built = result()
    left, right = Figure(figsize=(10.0, 4.0)).subplots(1, 2)
    assert headings(built.plot(title="Mine")) == ["Mine", *headings(built.plot(title=""))]
    figure = built.plot(ax=left, title="Mine")
    assert figure is left.figure and left.get_title() == "Mine" and left.get_title("left") == ""
    assert left.get_ylabel() == label
    assert left.has_data() or left.child_axes
    assert not right.has_data() and right.get_title() == ""
    if left.has_data():
        refused("ax holds a drawing already", built.plot, ax=left)


@pytest.fixture(scope="module")
def bifurcation():
    return mf.bifurcation_diagram(mf.Problem(mf.Circle(), mf.exponential(3.0), mf.USA))


@pytest.mark.slow
def test_bifurcation_diagram_is_drawn_on_own_axes_and_on_those_of_a_user(bifurcation):
    """A panel of a user's figure would stay empty, or hold the words of a magnified part."""
    whole = bifurcation.plot(title="Mine", figsize=(8.0, 5.0))
    assert tuple(whole.get_size_inches()) == (8.0, 5.0) and len(whole.axes) > 1
    assert headings(bifurcation.plot()) == ["Stationary states"]
    assert not headings(bifurcation.plot(title=""))
    axes = Figure().subplots()
    assert bifurcation.plot(ax=axes, title="Mine") is axes.figure
    assert axes.get_title() == "Mine" and axes.get_xlabel() == "diffusivity $D$"
    stable = next(line for line in axes.get_lines() if line.get_label() == "order, stable")
    assert np.nanmax(stable.get_ydata()) == pytest.approx(bifurcation.branch.order_parameter.max())
    refused("ax holds a drawing already", bifurcation.plot, ax=axes)
    message = "figsize and dpi are of a figure of our own"
    refused(message, bifurcation.plot, ax=Figure().subplots(), dpi=50.0)


def test_phase_point_draws_its_diagram(bifurcation):
    """A phase point would need modules inside of the package to be looked at."""
    point = bifurcation.point
    axes = Figure().subplots()
    assert point.plot(ax=axes).axes == [axes]
    refused("this phase point has no problem: take that of", replace(point, problem=None).plot)


def test_figures_of_equal_panels_refuse_axes():
    """One of their panels would be drawn, and the user would not know which."""
    pairs = mf.pair_correlation(PROBLEM, 8, times=[0.5], runs=16)
    message = "PairCorrelation.plot has several axes: leave out ax"
    refused(message, pairs.plot, ax=Figure().subplots())
