"""Branches over beta against branches over the diffusivity: the same states, met crosswise."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import pytest

import meanfield as mf
from meanfield.stationary.beta_branch import beta_branch
from meanfield.stationary.bordered import ContinuationError
from meanfield.stationary.branches import Branch, SpecialPoint, primary_branch

DIFFUSIVITY = 0.066
GUESS = [0.9, 0.4, 0.1]


def problem_at(beta: float) -> mf.Problem:
    """Circle with noise; ordered and uniform states coexist at beta = 3."""
    return mf.Problem(mf.Circle(), mf.exponential(beta), mf.Flow(diffusivity=DIFFUSIVITY))


@lru_cache
def followed() -> Branch:
    """The branch of that problem over beta, followed once for all questions."""
    return beta_branch(problem_at(3.0), GUESS, (2.0, 5.0))


def only(branch: Branch, kind: str) -> SpecialPoint:
    """The one special point of a kind."""
    (point,) = [each for each in branch.special if each.kind == kind]
    return point


@pytest.mark.parametrize("kind", ["saddle_node", "transition"])
def test_special_points_lie_on_one_curve_of_the_plane(kind: str) -> None:
    """The fold over beta at fixed D and the fold over D at that beta are the same state."""
    over_beta = only(followed(), kind)
    over_diffusivity = only(primary_branch(problem_at(over_beta.value)), kind)
    assert over_diffusivity.value == pytest.approx(DIFFUSIVITY, rel=1e-12)
    # A fold is located through its tangent: half of the digits would be lost through D alone.
    assert over_diffusivity.order_parameter == pytest.approx(over_beta.order_parameter, abs=1e-8)


def test_branch_merges_with_uniform_at_the_critical_beta() -> None:
    """There D_#(beta) is the diffusivity."""
    end = followed().special[-1]
    assert (end.kind, end.order_parameter) == ("bifurcation", pytest.approx(0.0, abs=1e-12))
    assert mf.critical_diffusivity(problem_at(end.value)) == pytest.approx(DIFFUSIVITY, rel=1e-12)


def test_states_are_those_of_the_branch_over_diffusivity() -> None:
    """A state of the one is the end of the other, when that is led to the same diffusivity."""
    branch = followed()
    i = int(np.flatnonzero(branch.order_parameter > 0.7)[-1])
    problem = problem_at(float(branch.values[i]))
    other = primary_branch(problem, smallest=DIFFUSIVITY / mf.critical_diffusivity(problem))
    assert other.values[-1] == pytest.approx(DIFFUSIVITY, rel=1e-14)
    shared = min(len(other.symmetry.degrees), len(branch.symmetry.degrees))
    np.testing.assert_allclose(
        other.moments[-1, :shared], branch.moments[i, :shared], rtol=0, atol=1e-12
    )


def test_stability_is_exchanged_at_the_fold() -> None:
    """The ordered side is stable, the side that merges with uniform is not."""
    branch = followed()
    fold = only(branch, "saddle_node").order_parameter
    np.testing.assert_array_equal(branch.stable_within_symmetry, branch.order_parameter > fold)


def test_branch_ends_on_its_lower_bound() -> None:
    """The first point lies at the bound of falling beta."""
    assert followed().values[0] == pytest.approx(2.0, rel=1e-14)


def test_negative_beta_is_followed_in_its_modulus() -> None:
    """Bounds of a negative beta may come in either order."""
    flow = mf.Flow(diffusivity=0.02)
    problem = mf.Problem(mf.Circle(), mf.exponential(-3.0), flow)
    branch = beta_branch(problem, GUESS, (-4.0, -2.0))
    assert branch.values[0] == pytest.approx(-2.0, rel=1e-14)
    assert branch.values[-1] == pytest.approx(-4.0, rel=1e-14)


def test_too_many_moments_are_refused() -> None:
    """NumPy would complain of shapes that nobody chose."""
    with pytest.raises(ValueError, match=r"guess has shape \(500,\), expected at most"):
        beta_branch(problem_at(3.0), np.zeros(500), (2.0, 5.0))


def test_states_have_their_own_beta() -> None:
    """A state of a branch over beta would be one of the problem it started from."""
    branch = followed()
    state = branch.state(0)
    assert state.problem.kernel.beta == branch.values[0]
    assert state.residual < 1e-13


def test_guesses_far_from_any_state_are_told_in_beta(monkeypatch: pytest.MonkeyPatch) -> None:
    """A message would speak of p = 0, which no user knows."""
    monkeypatch.setattr("meanfield.stationary.bordered._NEWTON_STEPS", 1)
    with pytest.raises(ContinuationError, match="near the guess at beta = 3"):
        beta_branch(problem_at(3.0), GUESS, (2.0, 5.0))


def test_other_kernels_are_refused() -> None:
    """The linear kernel has no beta to change."""
    problem = mf.Problem(mf.Circle(), mf.linear(), mf.Flow(diffusivity=0.1))
    with pytest.raises(ValueError, match="needs the exponential kernel, got 'linear'"):
        beta_branch(problem, GUESS, (1.0, 2.0))


def test_diffusivity_is_needed() -> None:
    """Without it ordered states are Diracs."""
    problem = mf.Problem(mf.Circle(), mf.exponential(2.0))
    with pytest.raises(ValueError, match="needs a diffusivity above 0"):
        beta_branch(problem, GUESS, (1.0, 3.0))


@pytest.mark.parametrize("betas", [(3.5, 4.0), (1.0, 2.0), (-1.0, 4.0)])
def test_bounds_must_enclose_beta(betas: tuple[float, float]) -> None:
    """The branch is followed both ways from the problem's own beta."""
    with pytest.raises(ValueError, match="betas must enclose beta = 3 and have its sign"):
        beta_branch(problem_at(3.0), GUESS, betas)


def test_uniform_is_no_start() -> None:
    """Above the saddle node every guess leads to uniform."""
    problem = mf.Problem(mf.Circle(), mf.exponential(3.0), mf.Flow(diffusivity=math.pi))
    with pytest.raises(ValueError, match="the moments lead to uniform at diffusivity = 3.14159"):
        beta_branch(problem, GUESS, (2.0, 5.0))
