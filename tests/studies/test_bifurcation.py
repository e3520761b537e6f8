"""The bifurcation diagram: one branch, its onset, its table and its figures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

import meanfield as mf

PROBLEM = mf.Problem(mf.Circle(), mf.exponential(beta=3.0), mf.USA)


@pytest.fixture(scope="module")
def diagram() -> mf.BifurcationDiagram:
    """Diagram with a saddle node."""
    return mf.bifurcation_diagram(PROBLEM)


def test_diagram_is_the_branch_with_its_onset(diagram: mf.BifurcationDiagram) -> None:
    """The point that is marked would belong to another branch."""
    point = mf.phase_point(PROBLEM)
    assert diagram.point == point and diagram.point.problem == PROBLEM
    assert str(diagram) == str(point) and repr(point) in repr(diagram)
    table = diagram.table()
    assert table["diffusivity"].max() <= point.saddle_node_diffusivity * (1 + 1e-12)
    assert table["diffusivity"][0] == point.critical_diffusivity
    shorter = mf.bifurcation_diagram(PROBLEM, smallest=0.9)
    lowest = shorter.branch.values[-1]
    assert table["diffusivity"].min() < lowest == pytest.approx(0.9 * table["diffusivity"][0])
    with pytest.raises(ValueError, match=r"smallest must be a share of D_# in \(0, 1\), got 2"):
        mf.bifurcation_diagram(PROBLEM, smallest=2.0)


def test_diagram_is_drawn_on_own_axes_and_on_those_of_a_user(
    diagram: mf.BifurcationDiagram,
) -> None:
    """A panel of a user's figure would stay empty, or hold the words of a magnified part."""
    whole = diagram.plot(title="Mine", figsize=(8.0, 5.0))
    assert tuple(whole.get_size_inches()) == (8.0, 5.0) and len(whole.axes) > 1
    axes = Figure().subplots()
    assert diagram.plot(ax=axes, title="Mine") is axes.figure
    assert axes.get_title() == "Mine" and axes.get_xlabel() == "diffusivity $D$"
    stable = next(line for line in axes.get_lines() if line.get_label() == "order, stable")
    assert np.nanmax(stable.get_ydata()) == pytest.approx(diagram.branch.order_parameter.max())
    with pytest.raises(ValueError, match="ax holds a drawing already"):
        diagram.plot(ax=axes)
    with pytest.raises(ValueError, match="figsize and dpi are of a figure of our own"):
        diagram.plot(ax=Figure().subplots(), dpi=50.0)


def test_phase_point_draws_its_diagram(diagram: mf.BifurcationDiagram) -> None:
    """A phase point would need modules inside of the package to be looked at."""
    point = diagram.point
    axes = Figure().subplots()
    assert point.plot(ax=axes).axes == [axes]
    with pytest.raises(ValueError, match="this phase point has no problem: take that of"):
        replace(point, problem=None).plot()


def test_figures_of_studies_are_drawn_on_axes() -> None:
    """Axes of a user would stay empty beside a figure of ours."""
    ensemble = mf.ensemble(PROBLEM, tokens=10, runs=2)
    fluctuations = mf.fluctuations(PROBLEM, until=1.0, save=3, degree=2)
    for result in (ensemble, fluctuations, mf.linear_operator(PROBLEM)):
        axes = Figure().subplots()
        assert result.plot(ax=axes) is axes.figure
        assert axes.has_data() or axes.child_axes


def test_figures_of_equal_panels_refuse_axes() -> None:
    """One of their panels would be drawn, and the user would not know which."""
    pairs = mf.pair_correlation(PROBLEM, 8, times=[0.5], runs=16)
    with pytest.raises(ValueError, match=r"PairCorrelation.plot has several axes: leave out ax"):
        pairs.plot(ax=Figure().subplots())
