"""What bounds explicit steps."""

import pytest

import meanfield as mf
from meanfield.carriers.step_limits import (
    NOISY,
    check_movable,
    check_no_diffusion,
    contraction_rate,
)


@pytest.mark.parametrize("flow, beta, rate", [(mf.USA, -3.0, 1.0), (mf.Flow(True, -2.0), 5.0, 2.0)])
def test_contraction_is_the_largest_attention(flow: mf.Flow, beta: float, rate: float) -> None:
    """The scaled kernel is at most 1, softmax weights sum to 1; times the strength."""
    assert contraction_rate(mf.Problem(mf.Circle(), mf.exponential(beta), flow)) == rate


def test_diffusion_is_refused_with_the_alternative() -> None:
    """What is carried by the velocity alone would lose the noise without a word."""
    problem = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.Flow("none", diffusivity=0.05))
    with pytest.raises(ValueError, match='got diffusivity = 0.05. Use representation "density" or'):
        check_no_diffusion(problem, "characteristics", NOISY)


def test_kernels_beyond_the_manifold_are_refused() -> None:
    """Memory would be filled before the first step."""
    problem = mf.Problem(mf.Sphere(), mf.exponential(1e6), mf.USA)
    with pytest.raises(ValueError, match="the kernel needs degree .*, at most .* on the sphere"):
        check_movable(problem)
