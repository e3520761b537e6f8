"""The bifurcation diagram: one branch, its onset, and its table."""

from __future__ import annotations

import pytest

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
    assert "<table>" in diagram._repr_html_()
    assert diagram.report().csv().startswith("diffusivity,order_parameter\n")
    table = diagram.table()
    assert table["diffusivity"].max() <= point.saddle_node_diffusivity * (1 + 1e-12)
    assert table["diffusivity"][0] == point.critical_diffusivity
    shorter = mf.bifurcation_diagram(PROBLEM, smallest=0.9)
    lowest = shorter.branch.values[-1]
    assert table["diffusivity"].min() < lowest == pytest.approx(0.9 * table["diffusivity"][0])
    with pytest.raises(ValueError, match=r"smallest must be a share of D_# in \(0, 1\), got 2"):
        mf.bifurcation_diagram(PROBLEM, smallest=2.0)
