"""Spaces of any dimension, masks, and the sections [feed_forward], [drift] and [layers]."""

from pathlib import Path

import numpy as np
import pytest
import tomli_w
from parameters import together

import meanfield as mf
from meanfield.carriers import Options
from meanfield.runfile import load_config
from meanfield.runfile.written import written

TEXT = """\
[problem]
manifold = "sphere:4"
beta = 2.0
normalization = "softmax"
mask = "alibi"
alibi_rate = 3
[feed_forward]
input = "mlp.npz:input"
bias = "mlp.npz:bias"
output = "mlp.npz:output"
activation = "tanh"
[drift]
matrix = [1.0, -1.0, 0.0, 0.0]
[initial]
name = "normal_tokens"
tokens = 5
seed = 1
[time]
end = 0.5
save = 2
"""
WEIGHTS = np.random.default_rng(0).standard_normal((7, 4))
PROBLEM = mf.Problem(
    mf.Sphere(4),
    mf.Attention(beta=2.0, mask="alibi", alibi_rate=3.0),
    initial=mf.normal_tokens(5, seed=1),
    feed_forward=mf.FeedForward(WEIGHTS, WEIGHTS.T, WEIGHTS[:, 0], "tanh"),
    drift=mf.LinearDrift([1.0, -1.0, 0.0, 0.0]),
)


@pytest.fixture
def path(path):
    np.savez("mlp.npz", input=WEIGHTS, output=WEIGHTS.T, bias=WEIGHTS[:, 0], wide=np.ones((4, 5)))
    return path


def test_run_file_says_what_python_says_and_its_result_too(path, stored):
    """A run, or whoever reads its result, would have another mask, other weights, other tokens."""
    config = load_config(path)
    assert config.problem == PROBLEM
    assert [file.name for file in config.inputs] == ["run.toml", "mlp.npz"]
    Path("mlp.npz").unlink()
    assert stored(config.text) == PROBLEM


LAYERS = mf.Layers(0.1, 24, "mix", "strang", tau=0.5, radius=3.0)


@pytest.mark.parametrize("problem", [
    PROBLEM,
    mf.Problem(mf.Sphere(4), mf.linear(), mf.SA, mf.normal_tokens(3, scale=0.5), layers=LAYERS),
    mf.Problem(mf.Sphere(9), mf.exponential(2.0), mf.USA, initial=mf.normal_tokens(3),
               drift=mf.LinearDrift(2.0)),
    mf.Problem(mf.Sphere(4), mf.linear(), mf.USA, mf.configuration("simplex", None, 2)),
    mf.Problem(mf.Sphere(), mf.zonal(multipliers=[1.0, 0.5, 0.1]), mf.Flow("none", strength=-2.0),
               mf.von_mises_fisher(2.0)),
    mf.Problem(mf.Circle(), mf.linear(), mf.Flow("none", diffusivity=0.1), mf.sampled(50)),
    mf.Problem(mf.Circle(), mf.linear(), mf.USA,
               initial=mf.configuration("polygon", 2, weights=[0.1, 0.9])),
])  # fmt: skip
def test_problem_of_python_is_read_again_from_what_is_written(path, problem, stored):
    """Files of runs made in Python would tell of another problem."""
    Path("mlp.npz").unlink()
    path.write_text(tomli_w.dumps(written(problem, Options(), {"end": 1.0, "save": 2})))
    config = load_config(path)
    assert config.problem == stored(config.text) == problem


@pytest.mark.slow
@pytest.mark.parametrize("space", [mf.Sphere(6), mf.Euclidean(6)])
def test_run_in_many_dimensions_is_stored_and_read(path, space):
    """Results would be lost in files that cannot be read."""
    problem = mf.Problem(space, mf.linear(), mf.SA, mf.normal_tokens(4), drift=mf.LinearDrift(3.0))
    run = mf.simulate(problem, 1.0, save=2)
    run.save("run.h5")
    again = mf.load("run.h5")
    assert again.problem == problem
    np.testing.assert_array_equal(again.measures[-1].points, run.measures[-1].points)
    np.testing.assert_array_equal(again.moments, run.moments)


MISTAKES = [
    (["problem.manifold=sphere:1"], '[problem] manifold = "sphere:1" is not known. Known: '),
    (["problem.manifold=space:0"], "space:D with D = 1 to 1,000,000"),
    (["problem.manifold=sphere:5"], "[feed_forward] feed_forward input has shape (7, 4), expected"),
    (["problem.mask=causl"], '[problem] mask = "causl" is not known. Did you mean causal? Known: '),
    (["problem.alibi_rate="], '[problem] alibi_rate belongs to mask = "alibi"'),
    (["problem.kernel=linear"], '[problem] mask = "alibi" needs kernel = "exponential", got "lin'),
    (["problem.normalization=sinkhorn"], '[problem] mask = "alibi" and normalization = "sinkhorn"'),
    (["feed_forward.activation=rely"], '[feed_forward] activation = "rely" is not known. Did you'),
    (["feed_forward.output=mlp.npz:wide"], "[feed_forward] feed_forward output has shape (4, 5)"),
    (["feed_forward.output=mlp.npz:x"], '[feed_forward] output = "mlp.npz:x" names no array of th'),
    (["drift.matrix="], "[drift] matrix is missing."),
    (["drift.matrix=[1, 2]"], "[drift] drift matrix has 2 numbers on its diagonal, expected 4"),
    (["drift=1"], "[drift] must be a table, got 1."),
    (["layers.placement=past"], '[layers] placement = "past" is not known. Did you mean post?'),
    (["layers.count=3", "layers.step=0"], "[layers] count needs layers of a step > 0"),
    (["layers.count=0"], "[layers] count must be at least 1, got 0."),
    (["initial.scale=0"], "[initial] scale must be positive, at most 1e+08, got 0."),
    (["initial={name='uniform'}"], "[problem] axial:4: densities keep their axis under a kernel"),
    (["initial={name='atoms', points=[[1, 0]]}"], "[initial] points holds [1.0, 0.0], expected ve"),
]


@pytest.mark.slow
@together(("changes", "message"), MISTAKES)
def test_mistake_has_its_line(path, changes, message, has_its_line):
    """A mistake would be computed with, or the user would not learn where it is."""
    has_its_line(path, changes, message)
