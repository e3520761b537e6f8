"""Heads with weights a(<x, y>) of their own."""

import pickle

import numpy as np
import pytest
from parameters import refused, together

import meanfield as mf
from meanfield.fields.interactions import interaction_of

KERNEL = mf.zonal(lambda s: 1.0 + s**2, name="squares")
HEAD = mf.Head(weight=KERNEL)


@pytest.mark.parametrize("space", [mf.Circle(), mf.Sphere(), mf.Sphere(5), mf.Axial(4)])
def test_one_head_with_a_weight_is_the_kernel_with_its_flow(space):
    """Strength, value or diffusivity would be lost, or another engine taken."""
    attention = mf.Attention(
        [mf.Head(weight=KERNEL, value=2.0)], "none", strength=-1.5, diffusivity=0.1
    )
    assert mf.Problem(space, attention) == mf.Problem(space, KERNEL, mf.Flow("none", -3.0, 0.1))
    assert mf.Problem(space, mf.Attention([HEAD])) == mf.Problem(space, KERNEL, mf.SA)


@pytest.mark.slow
@pytest.mark.parametrize("space", [mf.Circle(), mf.Sphere()])
def test_weights_without_normalisation_add_up(space):
    """A head would be left out, or have another's value."""
    weights = [(2.0, KERNEL), (-0.5, mf.exponential(3.0))]
    attention = mf.Attention([mf.Head(weight=w, value=v) for v, w in weights], "none", strength=2.0)
    density = mf.von_mises_fisher(1.0).build(space).coefficients
    points = space.random_points(9, np.random.default_rng(1))
    problems = [mf.Problem(space, w, mf.Flow("none", 2.0 * v)) for v, w in weights]
    of_sum, *parts = (
        interaction_of(problem).of_density(density).velocity(points)
        for problem in (mf.Problem(space, attention), *problems)
    )
    # Rounding of a quadrature of 2,000 nodes.
    assert np.abs(of_sum - sum(parts)).max() < 1e-13
    assert np.abs(of_sum).max() > 0.1


def test_values_of_weights_may_be_functions_of_time():
    """The value of time 0 would stay."""
    moving = mf.Attention([mf.Head(weight=mf.linear(), value=lambda t: 1.0 + t)], "none")
    problem = mf.Problem(mf.Circle(), moving, initial=mf.from_points([0.1, 1.7]))
    assert problem.now(0.5).flow == mf.Flow("none", 1.5)
    run = mf.simulate(problem, until=0.5, save=2)
    # tan(gap / 2) falls like e^{-t} on the clock int (1 + t) dt = 0.625.
    gap = np.diff(run.measures[-1].points)[0]
    assert abs(gap - 2 * np.arctan(np.tan(0.8) * np.exp(-0.625))) < 1e-9


def test_one_of_several_weights_may_not_change_its_scale():
    """Its scale e^{-beta} would be that of each time, that of one head is that of time 0."""
    moving = mf.exponential(lambda t: 2.0 + t)
    mf.Attention([mf.Head(weight=moving)], "none")
    message = "and a beta is a function of time: take one head, or"
    refused(message, mf.Attention, [mf.Head(weight=moving), HEAD], "none")


def test_sums_of_weights_compare_and_pickle():
    """Studies send problems to other processes, and compare them."""
    heads = [mf.Head(weight=mf.exponential(2.0)), mf.Head(weight=mf.linear(), value=0.5)]
    problem = mf.Problem(mf.Circle(), mf.Attention(heads, "none"))
    assert pickle.loads(pickle.dumps(problem)) == problem
    assert problem.own_kernel.beta == 2.0


def test_a_head_with_a_weight_prints_as_it_is_written():
    """The text of a head would leave its weight out."""
    head = mf.Head(weight=mf.exponential(2.0), value=3.0)
    assert repr(head) == "Head(weight=exponential(beta=2.0), value=3.0)"


@together(
    "heads, options, message",
    [
        # A matrix that nothing uses would be taken for one that acts.
        ({"score": 1.0}, {}, "both weight and score"),
        ({"query": 2.0}, {}, "both weight and query"),
        ({"beta": 2.0}, {}, "both weight and beta"),
        ({"value": [1.0, 2.0]}, {}, r"value of shape \(2,\) beside weight"),
        ([HEAD, mf.Head()], {"normalization": "none", "beta": 1.0}, "some heads have a weight"),
        ([HEAD, HEAD], {}, "2 heads with weights of their own have several Z"),
        ([HEAD], {"mask": "causal"}, 'has no mask = "causal"'),
        ([HEAD], {"normalization": "sinkhorn"}, 'has no normalization = "sinkhorn"'),
        ([HEAD], {}, "head 1: a weight of its own has no matrices"),
    ],
)
def test_weights_are_not_combined_with_all(heads, options, message):
    """Another attention than the one that is written down would run."""
    with pytest.raises(ValueError, match=message):
        if isinstance(heads, dict):
            mf.Head(weight=KERNEL, **heads)
        mf.Attention(heads, **options).matrices(2)
