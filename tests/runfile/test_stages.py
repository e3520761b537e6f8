"""Sections [[stages]]: what they build, what is written of them, and every mistake in its line."""

from pathlib import Path

import numpy as np
import pytest
import tomli_w
from parameters import together
from scipy.special import softmax

import meanfield as mf
from meanfield.carriers import Options
from meanfield.runfile import load_config
from meanfield.runfile.written import written

TEXT = """\
[problem]
manifold = "circle"
beta = 2.0
normalization = "softmax"
[drift]
matrix = [[0, -1], [1, 0]]
[initial]
name = "normal_tokens"
tokens = 3
[time]
end = 3.0
save = 4
[[stages]]
end = 0.5
[[stages]]
end = 1.5
beta = 4
strength = -1
drift = { matrix = 0 }
[[stages]]
normalized = false
heads = [{ score = "w.npy" }, {}]
feed_forward = { output = "w.npy", activation = "tanh" }
"""
W = np.array([[1.0, 2.0], [0.0, -1.0]])
LAW = mf.normal_tokens(3)
SEVERAL = mf.Attention([mf.Head(score=W), mf.Head()], "none", beta=2.0)
PROBLEM = mf.Problem(
    mf.Circle(),
    mf.exponential(2.0),
    mf.SA,
    LAW,
    drift=mf.LinearDrift([[0, -1], [1, 0]]),
    stages=[
        mf.Stage(end=0.5),
        mf.Stage(1.5, mf.exponential(4.0), mf.Flow(True, -1.0), drift=mf.LinearDrift(0.0)),
        mf.Stage(kernel=SEVERAL, feed_forward=mf.FeedForward(output=W, activation="tanh")),
    ],
)


@pytest.fixture
def path(path):
    np.save("w.npy", W)
    return path


def test_run_file_says_what_python_says_and_its_result_too(path, stored):
    """A stage would have other parameters, or the previous stage's."""
    config = load_config(path)
    assert config.problem == PROBLEM
    assert [file.name for file in config.inputs] == ["run.toml", "w.npy"]
    Path("w.npy").unlink()
    assert stored(config.text) == PROBLEM


MASKED = mf.Attention(beta=3.0, mask="alibi", alibi_rate=2.0)
KERNEL = mf.Attention([mf.Head(query=[1.0, 2.0])], beta=3.0, strength=2.0)


@pytest.mark.parametrize(("first", "flow", "later"), [
    (mf.exponential(2.0), mf.SA, [mf.Stage(0.3), *PROBLEM.stages[1:]]),
    (KERNEL, KERNEL.flow, [mf.Stage(0.1), mf.Stage(kernel=mf.linear(), flow=mf.Flow(True, 0.5))]),
    (MASKED, MASKED.flow, [mf.Stage(1.0), mf.Stage(2.0, mf.Attention(beta=3.0)), mf.Stage()]),
    (mf.zonal(multipliers=[1.0, 0.5]), mf.SA, [mf.Stage(1.0), mf.Stage(flow=mf.USA)]),
    (mf.zonal(multipliers=[1.0, 0.5]), mf.USA, [mf.Stage(1.0), mf.Stage(kernel=MASKED)]),
])  # fmt: skip
def test_problem_of_python_is_read_again_from_what_is_written(path, first, flow, later, stored):
    """Files of runs made in Python would tell of another problem."""
    problem = mf.Problem(mf.Circle(), first, flow, mf.normal_tokens(3), stages=later)
    path.write_text(tomli_w.dumps(written(problem, Options(), {"end": 1.0, "save": 2})))
    config = load_config(path)
    assert config.problem == stored(config.text) == problem


MISTAKES = [
    ("stages=3", "[[stages]] must be a list of tables, got 3."),
    ("stages={end=3}", "[[stages]] is a list of tables: write [[stages]] above each"),
    ("stages=[{end=1, bet=2}, {}]", "[[stages]] 1 'bet' is not a key of this section. Did you me"),
    ("stages=[{end=1, manifold='circle'}, {}]", "[[stages]] 1 'manifold' is not a key"),
    ("stages=[{}, {beta=2}]", "[[stages]] stage 1 of 2 has no end, the last alone has none."),
    ("stages=[{end=1}]", "[[stages]] the last of 1 stages ends at 1, and nothing would follow it"),
    ("stages=[{end=1}, {end=0.5}, {}]", "[[stages]] stage 2 ends at 0.5, not after stage 1, which"),
    ("stages=[{end=-1}, {}]", "[[stages]] 1 end of a stage must be positive and finite, got -1."),
    ("stages=[{end=1}, {kernel='exponential'}]", "[[stages]] 2 [problem] beta is missing."),
    ("stages=[{end=1}, {heads=[{value=[1]}]}]", "[[stages]] 2 [[heads]] 1 value has 1 numbers"),
    ("stages=[{end=1}, {heads={value=1}}]", "[[stages]] 2 heads = { value = 1 } must be a list"),
    ("stages=[{end=1}, {drift={}}]", "[[stages]] 2 [drift] matrix is missing."),
    ("stages=[{end=1}, {drift=3}]", "[[stages]] 2 drift = 3 must be a table."),
    ("stages=[{end=1}, {strength=0}]", "[[stages]] 2 [problem] strength must be finite and not 0"),
    ("stages=[{end=1}, {normalized=false, beta=1e4}]", "vanishes beside that of the stage of the"),
    ("time.unit=growth",
     "[time] this rests on parameters that never change, and the problem has 3"),
]  # fmt: skip


@together(("change", "message"), MISTAKES)
def test_mistake_has_its_line(path, change, message, has_its_line):
    """A mistake would be computed with, or the user would not learn where it is."""
    has_its_line(path, [change], message)


LAYERED = """\
[problem]
manifold = "sphere:4"
beta = 2.0
normalization = "softmax"
[[heads]]
value = "stack.npz:value"
[[heads]]
score = "stack.npz:one"
[feed_forward]
input = "stack.npz:input"
bias = "stack.npz:bias"
output = "stack.npz:output"
activation = "gelu"
[layers]
step = 0.2
placement = "pre"
[initial]
name = "normal_tokens"
tokens = 5
"""


@pytest.fixture
def weights(path):
    shapes = {"value": (4, 4), "input": (7, 4), "bias": (7,), "output": (4, 7)}
    rng = np.random.default_rng(0)
    result = {name: rng.standard_normal((3, *shape)) for name, shape in shapes.items()}
    path.write_text(LAYERED)
    extra = {"one": np.diag([1.0, -1.0, 1.0, 1.0]), "two": np.ones((2, 4, 4))}
    np.savez("stack.npz", **result, **extra, deep=np.ones((2, 2, 2, 2)))
    return {**result, **extra}


def test_stacked_weights_are_stages_of_one_layer(path, weights, stored):
    """A layer would have another layer's weights, or all of them the first's."""
    config = load_config(path)
    assert config.times.tolist() == [0.0, 1.0, 2.0, 3.0]
    Path("stack.npz").unlink()
    assert stored(config.text) == config.problem
    assert config.problem.layers == mf.Layers(0.2, 3, "pre")
    run = mf.simulate(config.problem)
    # Layer by layer, each a problem of its own.
    x = config.problem.initial_measure().points
    for number in range(3):
        theta = x / np.linalg.norm(x, axis=1, keepdims=True)
        for score, value in (np.eye(4), weights["value"][number]), (weights["one"], np.eye(4)):
            shares = softmax(2.0 * theta @ score @ theta.T, axis=1)
            x = x + 0.2 * shares @ theta @ value.T
        theta = x / np.linalg.norm(x, axis=1, keepdims=True)
        block = mf.FeedForward(*(weights[n][number] for n in ("input", "output", "bias")), "gelu")
        x = x + 0.2 * block.vectors(theta)
        theta = x / np.linalg.norm(x, axis=1, keepdims=True)
        np.testing.assert_allclose(run.measures[number + 1].points, theta, rtol=0, atol=1e-12)


WEIGHTS_MISTAKES = [
    (["heads=[{value='stack.npz:two'}]"],
     "[feed_forward] input holds 3 layers and [[heads]] 1 val"),
    (["layers.count=4"], "[layers] count = 4, and [[heads]] 1 value holds 3 layers: leave count"),
    (["stages=[{}]"], "[[heads]] 1 value holds weights of 3 layers, each of which is a stage"),
    (["layers.step=0"], "has shape (3, 4, 4), expected (), (d,) or (k, d)."),
    (["layers=", "time={end=1}"], "has shape (3, 4, 4), expected (), (d,) or (k, d)."),
    (["heads=[{value='stack.npz:deep'}]"], "(2, 2, 2, 2), expected (), (d,) or (k, d), or one for"),
    (["heads=", "feed_forward="], "[time] end is missing: give it, or count to the layers."),
    (["time.end=2.5"], "[time] end = 2.5 must be a whole number of layers."),
    (["time.save=[0.5]"], "[time] save holds 0.5, expected whole numbers of layers."),
    (["heads=", "feed_forward=", "layers.count=3", "stages=[{end=0.5}, {}]"],
     "[[stages]] stage 1 ends at 0.5, expected a whole number of layers."),
    (["heads=", "feed_forward=", "layers.count=3", "stages=[{end=3}, {}]"],
     "[[stages]] stage 1 ends at 3, expected an end before the last of 3 layers."),
]  # fmt: skip


@pytest.mark.slow
@together(("changes", "message"), WEIGHTS_MISTAKES)
def test_mistake_of_layers_has_its_line(path, weights, changes, message, has_its_line):
    """Layers would be left out, or have weights that are not theirs."""
    has_its_line(path, changes, message)
