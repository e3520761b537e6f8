"""The phase diagram: lines and regions follow the points, the tricritical point is marked."""

from dataclasses import replace

import numpy as np
import pytest

from meanfield.figures.draw.phase import phase_diagram_figure
from meanfield.studies.phase import PhaseDiagram, PhasePoint
from tests.figures.samples import legend_of


def continuous(beta):
    return PhasePoint(beta, np.exp(-beta), np.exp(-beta), None, "continuous", 0.0)


def discontinuous(beta, rise):
    """Point whose transition and saddle node lie `rise` and twice that above the critical one."""
    critical = np.exp(-beta)
    values = (critical, (1 + rise) * critical, (1 + 2 * rise) * critical)
    return PhasePoint(beta, *values, "discontinuous", 0.5)


POINTS = (continuous(1.0), continuous(2.0), discontinuous(3.0, 0.1), discontinuous(4.0, 0.2))
DIAGRAM = PhaseDiagram("circle", "exponential", False, 2.5, POINTS)


def lines(axes):
    return {line.get_label().split(":")[0]: line.get_xydata() for line in axes.get_lines()}


def words(figure):
    return "\n".join(text.get_text() for text in figure.axes[0].texts)


def test_lines_are_ratios_to_the_critical_diffusivity():
    """The figure would show another diagram than the table, or a jump where the grid lies."""
    first, second, third = phase_diagram_figure(DIAGRAM).axes
    drawn = lines(first)
    # The tricritical point joins the points where all three lines meet.
    assert drawn["critical"].tolist() == [[beta, 1.0] for beta in (1.0, 2.0, 2.5, 3.0, 4.0)]
    assert drawn["transition"][:, 1] == pytest.approx([1.0, 1.0, 1.0, 1.1, 1.2], rel=1e-14)
    saddle = drawn["saddle node"][:, 1]
    assert np.all(np.isnan(saddle[:2])) and saddle[2:] == pytest.approx([1.0, 1.2, 1.4], rel=1e-14)
    jump = second.get_lines()[0].get_xydata()
    assert jump.tolist() == [[1.0, 0.0], [2.0, 0.0], [2.5, 0.0], [3.0, 0.5], [4.0, 0.5]]
    # The critical diffusivity as it is, on an axis of its own.
    drawn = third.get_lines()[0].get_xydata()
    assert third.get_yscale() == "log"
    assert drawn[:, 1] == pytest.approx(np.exp(-drawn[:, 0]), rel=1e-14)


def test_dots_are_where_something_was_computed():
    """The tricritical point, put in between, has an interpolated critical diffusivity."""
    for axes in phase_diagram_figure(DIAGRAM).axes:
        assert axes.get_lines()[0].get_markevery() == [0, 1, 3, 4]
    many = tuple(continuous(beta) for beta in np.linspace(1.0, 2.0, 50))
    figure = phase_diagram_figure(replace(DIAGRAM, points=many))
    assert figure.axes[0].get_lines()[0].get_markevery() == []


@pytest.mark.slow
def test_regions_and_tricritical_point_are_named():
    """A reader would not know which side of a line is which; a name cover the lines around it."""
    written = words(phase_diagram_figure(DIAGRAM))
    for name in ("ordered", "both are stable", "uniform", r"$\beta_* = 2.5$"):
        assert name in written
    thin = (continuous(2.0), discontinuous(3.0, 1e-4))
    assert "both" not in words(phase_diagram_figure(replace(DIAGRAM, points=thin)))


@pytest.mark.parametrize("tricritical", [None, 0.5, 7.0])
def test_tricritical_point_outside_is_not_drawn(tricritical):
    """A mark would lie beyond the axes, or where there is no such point."""
    figure = phase_diagram_figure(replace(DIAGRAM, tricritical_beta=tricritical))
    assert "tricritical" not in words(figure)
    legend = legend_of(figure.axes[0])
    assert "$D_\\#$" in legend[0] and not any("tricritical" in text for text in legend)
    assert len(lines(figure.axes[0])["critical"]) == len(POINTS)


@pytest.mark.parametrize("saddle", [None, 0.3])
def test_unknown_transition_leaves_out_its_lines(saddle):
    """A normalised flow would have a transition in the figure and none in the table."""
    order = "continuous" if saddle is None else "discontinuous"
    points = tuple(PhasePoint(beta, 0.25, None, saddle, order, None) for beta in (1.0, 2.0))
    figure = phase_diagram_figure(PhaseDiagram("sphere", "exponential", True, None, points))
    assert len(figure.axes) == 2
    assert {*lines(figure.axes[0])} == {"critical"} | ({"saddle node"} if saddle else set())


@pytest.mark.slow
def test_order_of_the_points_does_not_matter():
    """A descending range would be drawn with crossing lines."""
    result = (phase_diagram_figure(replace(DIAGRAM, points=p)).axes for p in (POINTS, POINTS[::-1]))
    for one, other in zip(*result, strict=True):
        assert np.array_equal(one.get_lines()[0].get_xydata(), other.get_lines()[0].get_xydata())
