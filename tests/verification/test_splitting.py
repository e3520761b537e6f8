"""Attention and a feed-forward layer in turn, each by its own flow: what splitting costs."""

import numpy as np
import pytest
from head_oracle import MASSES_3, TOKENS_3

import meanfield as mf

INPUT, BIAS = [[1.0, -0.5, 0.3], [0.2, 0.8, -1.1]], [0.1, -0.2]
OUTPUT = np.array([[0.7, -0.3], [0.4, 0.9], [-0.6, 0.5]])
ON, OFF = (mf.FeedForward(INPUT, scale * OUTPUT, BIAS, "tanh") for scale in (1.0, 0.0))
SEEING, BLIND = (mf.Attention([mf.Head(value=v)], beta=3.0) for v in (1.0, 0.0))
LAW = mf.from_points(TOKENS_3, MASSES_3)


def ends(problem: mf.Problem, until: float) -> np.ndarray:
    return mf.simulate(problem, until=until, save=2, tolerance=1e-12).measures[-1].points


def in_turn(shares: list[tuple[str, float]]) -> np.ndarray:
    """Flows of attention ("a") and of the feed-forward layer ("f"), each for its time."""
    parts = {
        "a": {"kernel": SEEING, "feed_forward": OFF},
        "f": {"kernel": BLIND, "feed_forward": ON},
    }
    times = np.cumsum([time for _, time in shares])
    stages = [
        mf.Stage(end=float(end), **parts[which])
        for (which, _), end in zip(shares[:-1], times[:-1], strict=True)
    ]
    stages.append(mf.Stage(**parts[shares[-1][0]]))
    problem = mf.Problem(mf.Sphere(), SEEING, initial=LAW, feed_forward=ON, stages=stages)
    return ends(problem, float(times[-1]))


@pytest.mark.slow
def test_splitting_has_its_order():
    """Stages that end elsewhere, or forget a part, would have other constants."""
    # Lie is of order one, 0.290 h, Strang of order two, 0.0372 h^2 (LSODA at 1e-13).
    whole = ends(mf.Problem(mf.Sphere(), SEEING, initial=LAW, feed_forward=ON), 1.0)
    lie, strang = [], []
    for n in (5, 10):
        h = 1.0 / n
        lie.append(np.abs(in_turn([("a", h), ("f", h)] * n) - whole).max())
        inner = [("f", h), ("a", h)] * (n - 1)
        shares = [("a", h / 2), *inner, ("f", h), ("a", h / 2)]
        strang.append(np.abs(in_turn(shares) - whole).max())
    assert lie == pytest.approx([0.06197, 0.03004], abs=1e-5)
    assert strang == pytest.approx([1.494e-3, 3.723e-4], rel=2e-3)
