"""The bifurcation diagram: one branch, its onset, and its table."""

import h5py
import numpy as np
import pytest
from parameters import refused

import meanfield as mf

PROBLEM = mf.Problem(mf.Circle(), mf.exponential(beta=3.0), mf.USA)


@pytest.fixture(scope="module")
def diagram():
    return mf.bifurcation_diagram(PROBLEM)


def test_diagram_is_the_branch_with_its_onset(diagram):
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
    text = r"smallest must be a share of D_# in \(0, 1\), got 2"
    refused(text, mf.bifurcation_diagram, PROBLEM, smallest=2.0)


def test_diagram_comes_back_from_its_file(diagram, tmp_path, cli):
    """A branch that took minutes would be followed again for another figure."""
    path = tmp_path / "diagram.h5"
    diagram.save(path)
    back = mf.load(path)
    assert isinstance(back, mf.BifurcationDiagram) and back.point == diagram.point
    assert str(back) == str(diagram) and repr(back) == repr(diagram)
    for name, values in diagram.stored_values().items():
        np.testing.assert_array_equal(back.stored_values()[name], values)
    state, own = back.branch.state(-1), diagram.branch.state(-1)
    assert state.free_energy == own.free_energy and state.is_stable == own.is_stable
    output = cli("info", path)
    assert output.startswith("kind           bifurcation_diagram") and str(diagram) in output
    pytest.importorskip("xarray")
    data = back.to_xarray()
    assert data.moments.dims == ("state", "degree") and data.special_diffusivity.shape == (3,)
    assert data.attrs["kernel"] == "exponential"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda file: file["degree"].__setitem__(0, 7), "degree holds other numbers than the mul"),
        (lambda file: file.attrs.__setitem__("nodes", 10**9), "nodes is 1000000000, expected at"),
        (lambda file: file["special_kind"].__setitem__(0, 3), "special kinds from 0 to 2"),
    ],
)
def test_other_branches_are_refused(change, message, diagram, tmp_path):
    """Damage would be read as a branch."""
    diagram.save(tmp_path / "diagram.h5")
    with h5py.File(tmp_path / "diagram.h5", "a") as file:
        change(file)
    refused(message, mf.load, tmp_path / "diagram.h5")


@pytest.mark.slow
def test_diagram_that_no_file_could_give_back_is_not_saved(tmp_path):
    """The file would be called damaged, and an evening of branches be lost."""
    own = mf.zonal(lambda s: 1.0 + s + 0.1 * s**2)
    diagram = mf.bifurcation_diagram(mf.Problem(mf.Circle(), own, mf.USA))
    refused("would not be read back, .* Python of your own", diagram.save, tmp_path / "made.h5")
    assert not list(tmp_path.iterdir())
