"""Heads at the ends of what numbers allow: a right answer, or one line that says why not."""

import numpy as np
import pytest
from head_oracle import B1, B3, V1, V3
from parameters import together

import meanfield as mf
from meanfield.laws.initial import InitialLaw

CIRCLE, SPHERE = mf.Circle(), mf.Sphere()
MATRICES = {"circle": (B1 / np.linalg.norm(B1, 2), V1), "sphere": (B3 / np.linalg.norm(B3, 2), V3)}
POINTS = {
    "circle": np.linspace(0.0, 5.0, 7),
    "sphere": np.random.default_rng(0).normal(size=(7, 3)),
}
LAWS = {
    "circle": mf.perturbed_uniform([[1, 0.2, 0.1], [2, 0.1, 0.0]]),
    "sphere": mf.perturbed_uniform([[1, 0, 0.1], [2, 1, 0.1]]),
}


def still(space: mf.Circle | mf.Sphere, law: InitialLaw, **options: float) -> mf.Problem:
    of = mf.Attention([mf.Head(score=MATRICES[space.name][0], value=0.0)], beta=2.0, **options)
    return mf.Problem(space, of, initial=law)


@pytest.mark.parametrize(
    "space, carrier",
    [(CIRCLE, each) for each in ("density", "characteristics", "particles", "atoms", "auto")]
    + [(SPHERE, each) for each in ("density", "particles")],
)
def test_heads_without_value_move_nothing(space, carrier):
    """Steps of the length 1 / rate would divide by zero."""
    from_tokens = carrier in ("atoms", "auto")
    law = mf.from_points(POINTS[space.name]) if from_tokens else LAWS[space.name]
    more = {"tokens": 20} if carrier == "particles" else {}
    run = mf.simulate(still(space, law), 1.0, save=2, representation=carrier, **more)
    # Atoms are summed in another order.
    np.testing.assert_allclose(run.moments[1], run.moments[0], rtol=0, atol=1e-14)


def test_noise_alone_moves_particles_of_heads_without_value():
    """Steps would be taken for too short, beside a velocity that is not there."""
    run = mf.simulate(
        still(CIRCLE, LAWS["circle"], diffusivity=0.1), 1.0, save=2, representation="particles",
        tokens=2000, step=0.5,
    )  # fmt: skip
    apart = run.measures[1].points - run.measures[0].points
    # Variance 2 D t, five standard errors.
    assert abs(np.mean(np.angle(np.exp(1j * apart)) ** 2) - 0.2) < 5 * 0.2 * np.sqrt(2 / 2000)


@pytest.mark.parametrize(
    "space, normalization",
    [(CIRCLE, each) for each in ("none", "softmax", "sinkhorn")] + [(SPHERE, "softmax")],
)
def test_tiny_scores_are_no_scores(space, normalization):
    """At beta = 1e-12 a table of one degree, or a scale of its own, would differ from beta = 0."""
    score, value = MATRICES[space.name]
    ends = []
    for beta in (0.0, 1e-12):
        of = mf.Attention([mf.Head(score=score, value=value)], normalization, beta=beta)
        problem = mf.Problem(space, of, initial=LAWS[space.name])
        ends.append(mf.simulate(problem, 0.1, save=2, representation="density").moments[-1])
    np.testing.assert_allclose(ends[1], ends[0], rtol=0, atol=1e-12)


def test_many_heads_add_up():
    """Fifty heads of a fiftieth of the value are one."""
    score, value = MATRICES["circle"]
    ends = []
    for heads in (
        [mf.Head(score=score, value=value)],
        [mf.Head(score=score, value=value / 50)] * 50,
    ):
        of = mf.Attention(heads, beta=2.0)
        problem = mf.Problem(CIRCLE, of, initial=LAWS["circle"])
        ends.append(mf.simulate(problem, 0.1, save=2, representation="density").moments[-1])
    np.testing.assert_allclose(ends[1], ends[0], rtol=0, atol=1e-12)


@pytest.mark.slow
def test_sharp_heads_of_few_tokens():
    """At beta |B| = 5e3 every token sees one other: v = P_x V y, y the best seen."""
    space = CIRCLE
    score, value = MATRICES[space.name]
    of = mf.Attention([mf.Head(score=score, value=value)], beta=5e3)
    law = mf.from_points(POINTS[space.name])
    problem = mf.Problem(space, of, initial=law)
    run = mf.simulate(problem, 1e-5, save=2, representation="particles")
    x, later = (space.vectors(m.points) for m in run.measures)
    y = x[np.argmax(x @ score @ x.T, axis=1)]
    pull = y @ value.T
    pull -= x * (x * pull).sum(axis=1)[:, None]
    np.testing.assert_allclose((later - x) / 1e-5, pull, rtol=0, atol=1e-3)


@together(
    "options, reason",
    [
        ({"score": np.nan}, "score holds nan"),
        ({"score": 1e9}, "score holds 1e\\+09"),
        ({"beta": np.nan}, "beta"),
        ({"beta": np.inf}, "beta"),
        ({"score": np.eye(4)}, "score has shape"),
    ],
)
def test_what_is_no_head_is_refused(options, reason):
    """Not a number would come out of a run as not a number."""
    arguments = {"value": [[0, -1], [1, 0]], "beta": 2.0} | options
    with pytest.raises((ValueError, TypeError), match=reason):
        mf.simulate(mf.Problem(CIRCLE, mf.Attention([mf.Head(**arguments)])), 1.0, save=2)


@pytest.mark.parametrize("space, beta", [(CIRCLE, 1e6), (SPHERE, 3e3)])
def test_too_sharp_heads_of_densities_are_refused(space, beta):
    """Tables would not fit in memory."""
    score, value = MATRICES[space.name]
    of = mf.Attention([mf.Head(score=score, value=value)], beta=beta)
    with pytest.raises(ValueError, match="reduce beta"):
        mf.simulate(mf.Problem(space, of, initial=LAWS[space.name]), 0.1, save=2)
