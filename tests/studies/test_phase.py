"""Phase diagram with noise: published and computed numbers, limits, and its errors."""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import h5py
import numpy as np
import pytest
from parameters import refused, together
from scipy.special import ive

import meanfield as mf
from meanfield.stationary.branches import branch_direction, primary_branch, tricritical_beta
from meanfield.stationary.continuation import ContinuationError
from meanfield.studies.phase import onset, phase_diagram, phase_point

REPULSIVE = mf.Flow("none", strength=-1.0)

# d, beta, kappa_#, kappa_c / kappa_#, |m_1| at kappa_c, kappa_SN / kappa_#; kappa = e^-beta / D.
# Computed by another code to a residual below 1e-15, printed with 8 or 9 digits.
JUMPS = [
    (2, 2.5, 0.9933579142, 0.999895540, 0.16936649, 0.999861235),
    (2, 3, 0.7588462084, 0.991225571, 0.48154381, 0.988685320),
    (2, 4, 0.4098585257, 0.955146901, 0.66880552, 0.944396595),
    (2, 5, 0.2054599575, 0.914902489, 0.74803098, 0.897015093),
    (2, 7, 0.04486055303, 0.844022044, 0.82236956, 0.816408140),
    (2, 10, 0.003743932531, 0.764124873, 0.87103596, 0.728419119),
    (3, 2, 2.052581507, 0.996882913, 0.39676810, 0.995900098),
    (3, 3, 1.337619591, 0.922343245, 0.76226421, 0.903431392),
    (3, 5, 0.4210930111, 0.740563337, 0.90192846, 0.696319663),
    (3, 10, 0.01008887326, 0.482586003, 0.96440627, 0.428284595),
]
MANIFOLDS = {2: mf.Circle(), 3: mf.Sphere()}


def family(beta, flow=mf.USA):
    return mf.Problem(mf.Circle(), mf.exponential(beta), flow)


def point_at(d, beta, flow=mf.USA):
    """Phase point of self-attention on S^{d-1}."""
    return phase_point(mf.Problem(MANIFOLDS.get(d, mf.Sphere(d)), mf.exponential(beta), flow))


@pytest.mark.parametrize("row", JUMPS, ids=str)
def test_jumps_are_those_of_the_table(row, verified):
    """All digits of the table: critical point, transition, its order parameter, saddle node."""
    d, beta, critical, transition, order, saddle_node = row
    point = point_at(d, beta)
    assert point.order == "discontinuous"
    ratio = point.critical_diffusivity
    for what, error, tolerance in [
        ("critical point, relative", math.exp(-beta) / ratio / critical - 1.0, 1e-9),
        ("transition", ratio / point.transition_diffusivity - transition, 1e-9),
        ("order parameter", point.order_parameter_at_transition - order, 1e-8),
        ("saddle node", ratio / point.saddle_node_diffusivity - saddle_node, 1e-9),
    ]:
        name = f"phase diagram as printed, {MANIFOLDS[d].name}: {what}"
        verified("exact solutions", name, error, tolerance)


@pytest.mark.parametrize(
    ("d", "beta", "critical"), [(2, 2.4, 1.044330156), (3, 1.7, 2.27190295)], ids=str
)
def test_below_the_tricritical_beta_order_is_continuous(d, beta, critical):
    """Transition and critical point are then one, and there is no saddle node."""
    point = point_at(d, beta)
    assert point.transition_diffusivity == point.critical_diffusivity
    result = (point.order, point.saddle_node_diffusivity, point.order_parameter_at_transition)
    assert result == ("continuous", None, 0.0)
    assert math.exp(-beta) / point.critical_diffusivity == pytest.approx(critical, rel=1e-9)


@pytest.mark.parametrize("d", [2, 4, 8])
def test_order_changes_at_the_tricritical_beta(d):
    """Down to jumps that no diffusivity resolves in double precision."""
    beta = tricritical_beta(mf.Sphere(d))
    assert point_at(d, beta * (1 - 1e-9)).order == "continuous"
    assert point_at(d, beta * (1 + 1e-9)).order == "discontinuous"


@pytest.mark.parametrize("above", [1e-5, 3e-4])
def test_jump_sets_in_as_the_expansion_says(above):
    """D = D_# (1 + B eps^2 - C eps^4) turns at eps^2 = B / 2C, and wins at eps^2 = 3B / 4C."""
    # C = 0.09218 of the circle is fitted. Higher terms are a share of |m_1|^2 or less, here 1e-4;
    # the diffusivities differ by a share of 5e-12 at 1e-5 only, of which 5e-14 is rounding.
    beta, quartic = tricritical_beta(mf.Circle()) + above, 0.09218
    direction = branch_direction(family(beta))
    point = point_at(2, beta)
    assert point.saddle_node_diffusivity / point.critical_diffusivity - 1.0 == pytest.approx(
        direction**2 / (4.0 * quartic), rel=5e-4, abs=2e-13
    )
    # |m_1| is eps / sqrt(d).
    assert point.order_parameter_at_transition == pytest.approx(
        math.sqrt(0.75 * direction / quartic / 2.0), rel=2e-3
    )


def test_next_to_the_tricritical_point_the_three_are_one():
    """Rounding would be reported as a transition, or beta = beta_* + 1e-7 as continuous."""
    point = point_at(2, tricritical_beta(mf.Circle()) + 1e-7)
    assert point.order == "discontinuous"
    assert point.transition_diffusivity == pytest.approx(point.critical_diffusivity, rel=1e-12)
    assert point.saddle_node_diffusivity == pytest.approx(point.critical_diffusivity, rel=1e-12)
    assert point.order_parameter_at_transition < 1e-3


def test_order_parameter_is_that_of_the_critical_degree():
    """Even states on the sphere have no mean: |int x dmu| is 0 at their jump."""
    problem = mf.Problem(mf.Sphere(), mf.exponential(-40.0), REPULSIVE)
    branch = primary_branch(problem)
    point, (transition,) = onset(branch), [s for s in branch.special if s.kind == "transition"]
    assert point.order_parameter_at_transition == transition.order_parameter > 0.9
    assert transition.moments[0] / math.sqrt(5.0) == pytest.approx(
        transition.order_parameter, rel=1e-14
    )
    assert branch.degree == 2 and branch.state(-1).order_parameter == 0.0


@pytest.mark.parametrize(("d", "beta"), [(2, 100.0), (3, 30.0), (8, 5.0)])
def test_diffusivities_are_ordered(d, beta):
    """Uniform loses stability first, then order wins, then order ceases to exist."""
    point = point_at(d, beta)
    assert point.critical_diffusivity < point.transition_diffusivity < point.saddle_node_diffusivity
    assert 0.7 < point.order_parameter_at_transition < 1.0


@pytest.mark.parametrize(
    ("d", "beta", "strength"), [(2, 5.0, 1.0), (2, 5.0, 2.0), (2, -20.0, 1.0), (3, -20.0, 1.0)]
)
def test_softmax_is_continuous_without_free_energy(d, beta, strength):
    """A transition without a free energy; at beta < 0 the branch went to absurd diffusivities."""
    point = point_at(d, beta, mf.Flow(normalized=True, strength=strength))
    result = (point.order, point.transition_diffusivity, point.saddle_node_diffusivity)
    assert (*result, point.order_parameter_at_transition) == ("continuous", None, None, None)


def test_jumps_of_degree_two_have_their_own_moment():
    """Even degrees leave uniform linearly; at beta = -12 w_2 = I_2(12) e^-12 / 12."""
    point = point_at(3, -5.0, mf.Flow(normalized=True, strength=-1.0))
    assert point.order == "discontinuous"
    assert point.transition_diffusivity is None
    assert point.saddle_node_diffusivity > point.critical_diffusivity
    point = point_at(2, -12.0, REPULSIVE)
    assert point.critical_diffusivity == pytest.approx(ive(2, 12.0) / 12.0, rel=1e-14)
    assert point.order == "discontinuous"
    assert 0.5 < point.order_parameter_at_transition < 0.6


@pytest.mark.slow
@pytest.mark.parametrize("d", [2, 3])
def test_large_beta_is_reached(d):
    """More than a hundred degrees, and diffusivities far above the critical one."""
    point = point_at(d, 200.0)
    assert point.transition_diffusivity > 3.0 * point.critical_diffusivity


@pytest.mark.slow
def test_own_kernel_that_overhangs_is_discontinuous():
    """With q = w_2/w_1 < 1/2 a branch may leave downwards and yet come back above D_#."""
    # w_1 = 1/4, w_2 = 0.115 and w_3 = 0.19 on the circle: a_{l+1} = a_{l-1} - 2 l w_l.
    w = {1: 0.25, 2: 0.115, 3: 0.19}
    a2, a3 = 1.0 - 2 * w[1], 0.8 - 4 * w[2]
    kernel = mf.zonal(multipliers=[1.0, 0.8, a2, a3, a2 - 6 * w[3], a3])
    problem = mf.Problem(mf.Circle(), kernel, mf.USA)
    assert branch_direction(problem) < 0
    point = phase_point(problem)
    assert point.order == "discontinuous"
    assert point.transition_diffusivity > point.critical_diffusivity


def test_diagram_has_the_points_and_shows_its_branches():
    """Order, facts and progress."""
    records = []

    def progress(branches):
        for branch in branches:
            records.append(branch)
            yield branch

    diagram = phase_diagram(family, [3.0, 2.0], progress=progress)
    assert [point.beta for point in diagram.points] == [3.0, 2.0]
    assert tuple(onset(branch) for branch in records) == diagram.points
    facts = (diagram.manifold, diagram.kernel, diagram.normalized)
    assert facts == ("circle", "exponential", False)
    assert diagram.tricritical_beta == tricritical_beta(mf.Circle())
    table = diagram.table()
    assert table["beta"].tolist() == [3.0, 2.0]
    assert table["order"].tolist() == ["discontinuous", "continuous"]
    assert table["saddle_node_diffusivity"].isna().tolist() == [False, True]
    # A beta that is given twice is a row twice.
    assert [point.beta for point in phase_diagram(family, [2.0, 2.0]).points] == [2.0, 2.0]


def test_diagram_through_zero_takes_the_linear_kernel_there():
    """The linear kernel is beta = 0 of the exponential one, and the diagram is smooth there."""

    def problem_at(beta):
        return mf.Problem(mf.Circle(), mf.exponential(beta) if beta else mf.linear(), mf.USA)

    diagram = phase_diagram(problem_at, [-1e-3, 0.0, 1e-3])
    assert diagram.kernel == "exponential"
    scaled = [point.critical_diffusivity * math.exp(abs(point.beta)) for point in diagram.points]
    np.testing.assert_allclose(scaled, 0.5, rtol=1e-6)


def test_tricritical_beta_is_detected_between_points():
    """Where no closed form is at hand: degree 2 on the circle, I_4 = I_2 / 2."""
    diagram = phase_diagram(lambda beta: family(beta, REPULSIVE), [-5.0, -12.0])
    beta = -diagram.tricritical_beta
    assert ive(4, beta) / ive(2, beta) == pytest.approx(0.5, rel=1e-10)


@pytest.mark.parametrize(
    "problem_at",
    [lambda beta: family(beta, mf.SA), lambda beta: replace(family(1.0), kernel=mf.linear())],
)
def test_diagrams_without_change_have_no_tricritical_beta(problem_at):
    """Softmax and the linear kernel are continuous throughout."""
    assert phase_diagram(problem_at, [1.0, 5.0]).tricritical_beta is None


@together(("call", "error", "message"), [
    # Not a diagram of zeros.
    (lambda: point_at(2, 3.0, REPULSIVE), ValueError,
     "no transition: uniform is stable at every diffusivity"),
    # An empty diagram has no manifold to name.
    (lambda: phase_diagram(family, []), ValueError, "needs at least one beta, got none"),
    # Python would say that a Problem is not callable.
    (lambda: phase_diagram(family(3.0), [1.0]), TypeError,
     "problem_at must be a function of beta, such as lambda beta: .*, got Problem"),
])  # fmt: skip
def test_what_has_no_diagram_is_refused(call, error, message):
    """In one line."""
    refused(message, call, error=error)


def test_no_transition_on_the_branch_is_an_error():
    """A branch that overhangs without equal free energies has lost one of its states."""
    branch = primary_branch(family(3.0))
    entries = tuple(each for each in branch.special if each.kind != "transition")
    text = "beta = 3 never has the free energy of uniform"
    refused(text, onset, replace(branch, special=entries), error=ContinuationError)


def same(first, second):
    assert first.points == second.points and str(first) == str(second)
    for name in ("manifold", "kernel", "normalized", "tricritical_beta"):
        assert getattr(first, name) == getattr(second, name)


def test_diagram_in_a_file_is_that_in_memory(tmp_path):
    """A diagram of a night would be lost, or its transition be another."""
    path = tmp_path / "d.h5"
    at_once = phase_diagram(family, [2.0, 3.0])
    few = phase_diagram(family, [3.0], output=path)
    assert few.points == at_once.points[1:]
    with ThreadPoolExecutor(2) as pool:
        grown = phase_diagram(family, [2.0, 3.0], output=path, resume=True, executor=pool)
    same(grown, at_once)
    back = mf.load(path)
    assert isinstance(back, mf.PhaseDiagram) and back.attributes["status"] == "completed"
    same(back, at_once)
    data = pytest.importorskip("xarray") and back.to_xarray()
    assert data.critical_diffusivity.sel(beta=3.0) == at_once.points[1].critical_diffusivity
    assert data.discontinuous.values.tolist() == [0, 1]


def test_diagram_of_softmax_has_no_transition_in_its_file(tmp_path):
    """A number that is not known would come back as one."""
    diagram = phase_diagram(lambda beta: family(beta, mf.SA), [1.0])
    diagram.save(tmp_path / "d.h5")
    same(mf.load(tmp_path / "d.h5"), diagram)
    assert diagram.points[0].transition_diffusivity is None and diagram.tricritical_beta is None


def test_only_betas_may_be_added_to_a_diagram(tmp_path):
    """A file would hold points of two problems, or lose one."""
    path = tmp_path / "d.h5"
    phase_diagram(family, [2.0], output=path)
    grow = partial(phase_diagram, output=path, resume=True)
    text = "another problem: resume=True may only add betas"
    refused(text, grow, lambda beta: family(beta, mf.SA), [2.0])
    refused(r"betas lacks 2, which .*d\.h5 holds: resume=True may", grow, family, [3.0])
    text = "branches are computed in this process and not written: leave out output"
    refused(text, phase_diagram, family, [3.0], workers=2, progress=lambda branches: branches)


def test_a_damaged_diagram_is_refused(tmp_path):
    """A figure would have a gap at a beta that has a transition."""
    phase_diagram(family, [2.0], output=tmp_path / "d.h5")
    with h5py.File(tmp_path / "d.h5", "a") as file:
        file["critical_diffusivity"][0] = np.nan
    refused("beta or critical_diffusivity holds what is no number", mf.load, tmp_path / "d.h5")
