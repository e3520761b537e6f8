"""The bifurcation diagram: full lines are stable, dashed unstable, and words say what is marked."""

from types import SimpleNamespace

import numpy as np
import pytest

import meanfield as mf
from meanfield.figures.draw.bifurcation import bifurcation_figure
from meanfield.studies.phase import PhasePoint


def branch_of(order, values, stable, free_energy, special=(), flow=mf.USA):
    return SimpleNamespace(
        problem=mf.Problem(mf.Circle(), mf.exponential(3.0), flow), degree=1,
        symmetry=SimpleNamespace(name="axisymmetric"), values=values, order_parameter=order,
        free_energy=free_energy, stable_within_symmetry=stable, special=special,
    )  # fmt: skip


def folded(overhang, flow=mf.USA):
    """Branch D = 1 + overhang (4 r^2 - 4 r^4), whose saddle node is at r^2 = 1/2, D = 1 + overhang.

    With dF/dD = r^2 its free energy is overhang (2 r^4 - 8/3 r^6): 0 at r^2 = 3/4.
    """
    order = np.linspace(0.01, 1.0, 40)
    unit = np.nan if flow.normalized else overhang
    turn = SimpleNamespace(kind="saddle_node", value=1 + overhang, order_parameter=np.sqrt(0.5),
                           free_energy=unit / 6)  # fmt: skip
    begin = SimpleNamespace(kind="bifurcation", value=1.0, order_parameter=0.0, free_energy=0.0)
    branch = branch_of(
        order, 1 + overhang * (4 * order**2 - 4 * order**4), order**2 > 0.5,
        unit * (2 * order**4 - 8 / 3 * order**6), (begin, turn), flow,
    )  # fmt: skip
    transition, jump = (None, None) if flow.normalized else (1 + 0.75 * overhang, np.sqrt(0.75))
    return PhasePoint(3.0, 1.0, transition, 1 + overhang, "discontinuous", jump), branch


def pitchfork():
    """Branch D = 1 - r^2 / 2."""
    order = np.linspace(0.01, 1.0, 30)
    branch = branch_of(order, 1 - order**2 / 2, np.ones(30, dtype=bool), -(order**4) / 4)
    return PhasePoint(3.0, 1.0, 1.0, None, "continuous", 0.0), branch


def panels(result):
    return bifurcation_figure(*result).axes


def curve(axes, label):
    return next(line for line in axes.get_lines() if line.get_label() == label)


def marks(axes):
    texts = [text for text in axes.texts if "\n" in text.get_text()]
    return {text.get_text().split("\n")[0]: (text.xy[0], text.get_ha()) for text in texts}


@pytest.mark.parametrize(("panel", "height"), [(0, np.sqrt(0.5)), (1, 0.4 / 6)])
def test_branch_turns_at_the_saddle_node(panel, height):
    """Stable and unstable states would be taken for each other, or the cusp lie elsewhere."""
    axes = panels(folded(0.4))[panel]
    stable, unstable = curve(axes, "order, stable"), curve(axes, "order, unstable")
    assert stable.get_linestyle() == "-" and unstable.get_linestyle() == "--"
    for end in (stable.get_xydata()[0], unstable.get_xydata()[-1]):
        assert end == pytest.approx([1.4, height], rel=1e-14)


def test_curve_is_smooth_between_the_states():
    """A magnified turn would have corners, or leave the branch."""
    axes = panels(folded(0.4))[0]
    for label in ("order, stable", "order, unstable"):
        diffusivity, order = curve(axes, label).get_xydata().T
        assert np.abs(np.diff(order)).max() < 0.02
        # Cubic splines in the square are exact for these polynomials, up to rounding.
        assert diffusivity == pytest.approx(1 + 1.6 * (order**2 - order**4), rel=1e-12)


def test_branch_with_a_loop_is_drawn_as_it_is():
    """An order parameter that falls along the branch would be put in another order."""
    point, branch = pitchfork()
    branch.order_parameter = branch.order_parameter[::-1]
    drawn = curve(bifurcation_figure(point, branch).axes[0], "order, stable").get_xydata()
    assert np.array_equal(drawn, np.column_stack([branch.values, branch.order_parameter]))


@pytest.mark.slow
def test_near_marks_have_enough_digits():
    """Critical diffusivity, transition and saddle node would seem to be one number."""
    numbers = []
    for overhang in (1e-4, 1e-9):
        texts = [text.get_text() for text in panels(folded(overhang))[1].texts]
        numbers.append([text.split("\n")[1] for text in texts if "\n" in text])
    assert numbers == [["$D$ = 1", "$D$ = 1.000075", "$D$ = 1.0001"], ["", "", ""]]
    # Three labels at one place would lie on each other.
    whole, energy = panels(folded(1e-14))
    assert marks(whole) == {"critical; saddle node beside it": (1.0, "left")}


def test_uniform_exchanges_stability_at_the_critical_diffusivity():
    """Uniform would be drawn stable where it is not, or a jump invented."""
    axes = panels(pitchfork())[0]
    stable, unstable = curve(axes, "uniform, stable"), curve(axes, "uniform, unstable")
    assert stable.get_linestyle() == "-" and unstable.get_linestyle() == "--"
    assert stable.get_xdata()[0] == unstable.get_xdata()[1] == 1.0
    assert stable.get_xdata()[1] > 1.0 > unstable.get_xdata()[0] == 0.0
    assert marks(axes) == {"critical (continuous)": (1.0, "left")} and not axes.patches


def test_marks_have_words_and_hysteresis_is_shaded():
    """A reader would not know which line is the transition."""
    axes = panels(folded(0.4))[0]
    # Critical and transition on the left of their lines, the saddle node on the right.
    words = {"critical": (1.0, "right"), "transition": (1.3, "right"), "saddle node": (1.4, "left")}
    assert marks(axes) == words
    assert any(text.get_text() == "jump 0.866" for text in axes.texts)
    shade = next(patch for patch in axes.patches if patch.get_label().startswith("both stable"))
    ends = shade.get_extents().transformed(axes.transData.inverted()).intervalx
    assert ends == pytest.approx([1.0, 1.4], rel=1e-12)


def test_narrow_hysteresis_is_magnified():
    """The turn would be a hair in a wide picture."""
    whole, order, energy = panels(folded(0.01))
    assert whole.get_xlim() == pytest.approx((0.0, 1.25 * 1.01))
    low, high = order.get_xlim()
    assert 0.25 < 0.01 / (high - low) < 0.35 and energy.get_xlim() == (low, high)
    assert not marks(whole) and len(marks(order)) == 3


def test_normalised_flow_has_no_free_energy():
    """An empty panel would be drawn, or a transition that is not known."""
    (axes,) = panels(folded(0.4, mf.SA))
    assert set(marks(axes)) == {"critical", "saddle node"}


@pytest.mark.slow
def test_words_are_of_the_symmetry_and_the_degree():
    """A full line would be taken for stability against everything, degree 2 for the mean."""
    (point, branch), titles = folded(0.4), []
    for name in ("axisymmetric", "2-fold"):
        branch.symmetry = SimpleNamespace(name=name)
        axes = panels((point, branch))[0]
        titles.append(axes.get_legend().get_title().get_text())
    assert titles == ["stability among\naxisymmetric states:", "stability among\n2-fold states:"]
    assert r"\int x" in axes.get_ylabel()
    branch.degree = 2
    assert "degree 2" in panels((point, branch))[0].get_ylabel()
