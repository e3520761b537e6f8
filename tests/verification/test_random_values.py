"""Random values: reference runs on given paths, exact laws, and two forms of one limit."""

from dataclasses import replace

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.runfile import ConfigError, load_config
from meanfield.terms.own import Seen
from meanfield.terms.random_values import ItoDrift, RandomValues

BETA = 2.0
POLAR, AZIMUTH = np.array([[0.4, 1.2, 2.3, 1.7], [0.3, 2.0, 4.1, 5.5]])
TOK3 = np.stack(
    [np.sin(POLAR) * np.cos(AZIMUTH), np.sin(POLAR) * np.sin(AZIMUTH), np.cos(POLAR)], axis=1
)
MASS3 = np.array([0.1, 0.4, 0.3, 0.2])
TOK2 = np.array([0.3, 1.1, 2.0, 2.7, 4.4])
MASS2 = np.array([0.1, 0.3, 0.2, 0.15, 0.25])
LAW3, LAW2 = mf.from_points(TOK3, MASS3), mf.from_points(TOK2, MASS2)
# Fourier coefficients of 1 + 0.1 cos t + 0.05 sin 2t - 0.08 cos(3t + 0.5).
RHO2 = mf.from_density([1.0, 0.05, -0.025j, -0.04 * np.exp(0.5j)])
HEAD = mf.Head(beta=BETA)


def increments(seed: int, steps: int, time: float, d: int, blocks: int) -> np.ndarray:
    """Increments of a given path, sums of consecutive blocks of finer ones."""
    fine = np.random.default_rng(seed).standard_normal((steps, d, d)) * np.sqrt(time / steps / d)
    return fine.reshape(blocks, steps // blocks, d, d).sum(axis=1)


@pytest.fixture
def on_path(monkeypatch):
    def make(arguments: np.ndarray, **options) -> RandomValues:
        path = np.concatenate([np.zeros_like(arguments[:1]), np.cumsum(arguments, axis=0)])
        monkeypatch.setattr(RandomValues, "paths", lambda values, d: path[:, None])
        return mf.RandomValues([HEAD], **options)

    return make


def table(text: str) -> np.ndarray:
    return np.array([[float(each) for each in row.split()] for row in text.split("|")])


def final(problem: mf.Problem, until: float, **options) -> np.ndarray:
    run = mf.simulate(problem, until, save=2, tolerance=1e-12, **options)
    return problem.manifold.vectors(run.measures[-1].points)


@pytest.mark.slow
@pytest.mark.parametrize(
    "law, options, last",
    [
        (
            LAW3,
            (20261123, 12800, 2.0, 3, 200),
            "0.785754472838 0.577676576836 0.221087496233 |"
            "0.337179834475 0.936813860463 -0.093217756181 |"
            "-0.823027959657 -0.565379087703 -0.054511143912 |"
            "-0.030825651422 -0.992216579799 0.120648406478",
        ),
        (
            LAW2,
            (5, 6400, 2.0, 2, 200),
            "0.186837283224 0.982390874142 | -0.048894998624 0.998803924256 |"
            "-0.646332130003 0.763056208759 | -0.642214612726 -0.766524879701 |"
            "0.120554394785 -0.992706723004",
        ),
    ],
)
def test_layers_follow_their_path(on_path, law, options, last):
    """X <- N(x + dW m), by another code on the same path."""
    last, space = table(last), mf.Circle() if law is LAW2 else mf.Sphere()
    values = on_path(increments(*options), depth=2.0)
    problem = mf.Problem(space, values, initial=law, layers=mf.Layers(step=0.01))
    np.testing.assert_allclose(final(problem, 200), last, rtol=0, atol=2e-12)


@pytest.mark.slow
def test_smooth_paths_move_tokens_as_another_code(on_path):
    """Straight lines between 200 points of a path, by Runge-Kutta of order four elsewhere."""
    last = table(
        "0.7861185093 0.5833931018 0.2041327463 | 0.3513114280 0.9311983535 -0.0972106324 |"
        "-0.8472056662 -0.5298599925 -0.0386127893 | -0.0140246517 -0.9938952834 0.1094325128"
    )
    noise = increments(20261123, 12800, 2.0, 3, 200)
    values = on_path(noise, depth=2.0, step=0.01, interpretation="stratonovich")
    problem = mf.Problem(mf.Sphere(), values, initial=LAW3)
    np.testing.assert_allclose(final(problem, 2.0), last, rtol=0, atol=2e-9)


@pytest.mark.slow
@pytest.mark.parametrize("carrier", ["density", "characteristics"])
def test_smooth_paths_move_a_density_as_other_codes(on_path, carrier):
    """Moments from 512 Lagrangian nodes, and from a spectral code of 512 points."""
    moments = [0.05151325213 - 0.01476100566j, 0.1037562083 - 0.1186821765j]
    moments += [-0.0275217539 + 0.0019962356j]
    values = on_path(
        increments(31, 20, 1.0, 2, 20), depth=1.0, step=0.05, interpretation="stratonovich"
    )
    problem = mf.Problem(mf.Circle(), values, initial=RHO2)
    run = mf.simulate(problem, save=2, tolerance=1e-10, representation=carrier)
    assert run.representation[-1] == carrier
    np.testing.assert_allclose(run.moments[-1][1:4], moments, rtol=0, atol=1e-9)


@pytest.mark.slow
def test_smooth_paths_move_a_density_on_the_sphere(on_path):
    """Moments from two sets of Lagrangian nodes of another code."""
    noise = increments(32, 10, 0.5, 3, 10)
    values = on_path(noise, depth=0.5, step=0.05, interpretation="stratonovich")
    # 1 + 0.3 x_3 + 0.2 x_1 x_2 - 0.25 (x_2^2 - 1/3).
    law = mf.from_function(
        lambda x: 1 + 0.3 * x[:, 2] + 0.2 * x[:, 0] * x[:, 1] - 0.25 * (x[:, 1] ** 2 - 1 / 3)
    )
    problem = mf.Problem(mf.Sphere(), values, initial=law)
    run = mf.simulate(problem, save=2, tolerance=1e-9, representation="characteristics")
    measure = run.measures[-1]
    x, mass = measure.points, measure.weights / measure.weights.sum()
    np.testing.assert_allclose(
        mass @ x, [0.0028134876, -0.0145093601, 0.0731184520], rtol=0, atol=1e-7
    )
    second = np.einsum("i,ia,ib->ab", mass, x, x)[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    expected = [0.33347994, 0.34302248, 0.32349759, 0.05995281, 0.01940716, 0.01120178]
    np.testing.assert_allclose(second, expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    "law, c",
    [
        (
            LAW3,
            "-0.021031748866 0.020078837665 0.005986200175 |"
            "-0.000358337396 0.000533713348 -0.001631837672 |"
            "-0.004283522280 0.002699661767 0.000283384615 |"
            "0.000337606982 0.000964657962 -0.003396920207",
        ),
        (
            LAW2,
            "-0.013736440070 0.044406176411 | -0.001328595215 0.000676212589 |"
            "0.002813110302 0.001287441181 | 0.019829053738 0.041946043593 |"
            "0.003984084276 -0.001286714361",
        ),
    ],
)
def test_drift_of_layers_is_that_of_the_table(law, c):
    """Two codes of others agree on its digits."""
    space = mf.Circle() if law is LAW2 else mf.Sphere()
    x = space.vectors(law.build(space).points)
    drift = ItoDrift(mf.Attention([HEAD]), BETA).field(Seen(x, law.build(space).mass), x, 0.0)
    u = -drift.u
    u -= (u * x).sum(axis=1)[:, None] * x
    np.testing.assert_allclose(u, table(c), rtol=0, atol=1e-11)


@pytest.mark.parametrize("how, sink", [("softmax", 0.0), ("softmax", 0.4), ("none", 0.0)])
def test_drift_of_layers_is_that_of_the_fields_of_noise(how, sink):
    """C is half the sum of the changes of all d^2 fields along themselves, for general heads."""
    rng, d, m = np.random.default_rng(1), 4, 6
    x = rng.standard_normal((m, d))
    x /= np.linalg.norm(x, axis=1)[:, None]
    mass = rng.dirichlet(np.ones(m))
    scores = [rng.standard_normal((d, d)), rng.standard_normal((d, d))]
    heads = [mf.Head(score=scores[0], value=1.3), mf.Head(score=scores[1])]
    attention = mf.Attention(heads, how, beta=1.0, sink=sink)
    largest = max(np.linalg.norm(score, 2) for score in scores)

    def field(score, y, noise):
        weights = mass * np.exp(y @ score @ y.T - largest)
        if how == "softmax":
            weights /= weights.sum(axis=1)[:, None] + sink
        u = weights @ y @ noise.T
        return u - (u * y).sum(axis=1)[:, None] * y / (y * y).sum(axis=1)[:, None]

    c, eps = np.zeros_like(x), 1e-5
    for score, value in zip(scores, (1.3, 1.0), strict=True):
        for noise in value * np.eye(d * d).reshape(d * d, d, d) / np.sqrt(d):
            along = field(score, x, noise)
            up, down = (field(score, x + s * eps * along, noise) for s in (1, -1))
            c += (up - down) / (4.0 * eps)
    c -= (c * x).sum(axis=1)[:, None] * x
    drift = ItoDrift(attention, largest)
    values = drift.field(Seen(x, mass), x, 0.0)
    u = -values.u
    np.testing.assert_allclose(
        u - (u * x).sum(axis=1)[:, None] * x, c, rtol=0, atol=1e-9 * abs(c).max() + 1e-11
    )
    steps = [eps * np.eye(d)[k] for k in range(d)]

    def at(y):
        return drift.field(Seen(x, mass), y, 0.0).u

    slopes = np.stack([(at(x + s) - at(x - s)) / (2.0 * eps) for s in steps], axis=-1)
    np.testing.assert_allclose(np.trace(slopes, axis1=1, axis2=2), values.trace, rtol=0, atol=1e-9)
    along = np.einsum("na,nab,nb->n", x, slopes, x)
    np.testing.assert_allclose(along, values.along, rtol=0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    "how, sink, own_sink, scale",
    [("none", 0.0, 0.0, np.exp(-2.0)), ("softmax", 0.4, 0.4 * np.exp(2.0), 1.0)],
)
def test_drift_of_layers_has_the_unit_of_all_heads(how, sink, own_sink, scale):
    """A head of beta 4 and value 0 beside random ones of beta 2 changes the unit of weights."""
    x = LAW3.build(mf.Sphere()).points
    still = mf.Attention([mf.Head(value=0.0, beta=4.0)], how, sink=sink)
    alone = mf.RandomValues(mf.Attention([HEAD], how, sink=own_sink), scale, depth=0.5)
    beside = mf.RandomValues(mf.Attention([HEAD], how, sink=sink), depth=0.5)
    ends = [
        final(mf.Problem(mf.Sphere(), terms, initial=LAW3), 0.25)
        for terms in ([alone], [still, beside])
    ]
    assert abs(ends[0] - x).max() > 1e-2
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-9)


@pytest.mark.slow
def test_both_forms_of_layers_come_nearer_on_finer_steps(on_path):
    """Layers, and smooth paths with their drift, are one limit; without it they stay apart."""
    apart = {}
    for steps in (50, 800):
        noise, h = increments(20261123, 12800, 2.0, 3, steps), 2.0 / steps
        ends = []
        for options in ({"layers": mf.Layers(step=h)}, {}):
            values = on_path(noise, depth=2.0, step=h)
            problem = mf.Problem(mf.Sphere(), values, initial=LAW3, **options)
            ends.append(final(problem, steps if options else 2.0))
        values = on_path(noise, depth=2.0, step=h, interpretation="stratonovich")
        ends.append(final(mf.Problem(mf.Sphere(), values, initial=LAW3), 2.0))
        apart[steps] = [abs(each - ends[0]).max() for each in ends[1:]]
    assert apart[800][0] < 0.5 * apart[50][0]
    assert apart[800][0] < 0.7 * apart[800][1]


@pytest.mark.slow
def test_cross_ratio_is_preserved_without_scores(on_path):
    """At beta = 0 smooth paths move the circle by Moebius maps."""
    noise = increments(5, 6400, 2.0, 2, 200)
    values = replace(
        on_path(noise, depth=2.0, step=0.01, interpretation="stratonovich"),
        heads=[mf.Head(score=0.0, beta=1.0)],
    )
    x = final(mf.Problem(mf.Circle(), values, initial=LAW2), 2.0)
    z = x[:, 0] + 1j * x[:, 1]
    ratio = (z[0] - z[2]) * (z[1] - z[3]) / ((z[0] - z[3]) * (z[1] - z[2]))
    assert ratio == pytest.approx(1.329376144023, abs=1e-8)


def ring(interpretation: str) -> mf.Problem:
    values = mf.RandomValues([HEAD], 1.5, interpretation, depth=0.5, step=1 / 32, seed=8)
    return mf.Problem(mf.Circle(), values, initial=RHO2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "interpretation", [pytest.param("ito", marks=pytest.mark.slow), "stratonovich"]
)
def test_carriers_agree_under_one_realisation(interpretation):
    """A density, characteristics, and tokens drawn from neither but weighted nodes."""
    problem = ring(interpretation)
    ends = [
        mf.simulate(problem, save=2, tolerance=1e-9, representation=name).moments[-1][:6]
        for name in ("density", "characteristics")
    ]
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-7)
    angles = 2 * np.pi * np.arange(400) / 400
    density = problem.initial_measure()
    law = mf.from_points(angles, density(angles) / 400)
    run = mf.simulate(
        replace(problem, initial=law), save=2, tolerance=1e-9, representation="particles"
    )
    np.testing.assert_allclose(run.moments[-1][:6], ends[0], rtol=0, atol=1e-7)


@pytest.mark.slow
def test_a_density_is_the_limit_of_tokens_under_one_realisation():
    """100,000 tokens drawn from it: moments within three standard errors."""
    problem = ring("stratonovich")
    density = mf.simulate(problem, save=2, representation="density").moments[-1]
    tokens = mf.simulate(problem, save=2, representation="particles", tokens=100_000, seed=1)
    assert abs(tokens.moments[-1][1:4] - density[1:4]).max() < 3.0 / np.sqrt(100_000)


@pytest.mark.slow
def test_paths_converge_with_order_one_half():
    """Noise of d^2 fields that do not commute: increments alone give no more."""
    ends = []
    for step in (2.0**-4, 2.0**-7, 2.0**-9):
        layers = mf.Layers(step=step, count=round(1.0 / step))
        runs = [
            mf.Problem(mf.Sphere(), mf.RandomValues([HEAD], seed=seed), initial=LAW3, layers=layers)
            for seed in range(16)
        ]
        ends.append([final(each, layers.count) for each in runs])
    coarse, fine = (np.square(np.subtract(each, ends[-1])).sum(axis=(1, 2)) for each in ends[:2])
    order = 0.5 * np.log(coarse.mean() / fine.mean()) / np.log(8.0)
    assert 0.4 < order < 0.75


@pytest.mark.slow
def test_even_measures_stay_even():
    """From uniform, which is not stationary, odd moments stay rounding."""
    values = mf.RandomValues([HEAD], interpretation="stratonovich", depth=0.5, seed=4)
    run = mf.simulate(mf.Problem(mf.Circle(), values), save=2, tolerance=1e-10)
    moments = abs(run.moments[-1])
    assert moments[2] > 1e-2
    assert moments[1::2].max() < 1e-12


def test_path_does_not_depend_on_steps_heads_and_depth():
    """Runs of other steps would be of another realisation."""
    coarse = RandomValues([HEAD], depth=2.0, step=0.5, seed=3).paths(3)
    fine = RandomValues([HEAD], depth=2.0, step=0.125, seed=3).paths(3)
    longer = RandomValues([HEAD, HEAD], depth=3.0, step=0.5, seed=3).paths(3)
    np.testing.assert_array_equal(fine[::4], coarse)
    np.testing.assert_array_equal(longer[:5, :1], coarse)
    other = RandomValues([HEAD], depth=2.0, step=0.5, seed=4).paths(3)
    assert abs(other[1:] - coarse[1:]).min() > 0.0


def test_increments_are_independent_normals_of_variance_h_over_d():
    """Time would run faster or slower."""
    d, values = 20, RandomValues([HEAD], depth=16.0, step=1 / 16, seed=1)
    drawn = np.diff(values.paths(d)[:, 0], axis=0) * np.sqrt(16 * d)
    n = drawn.size
    assert abs(drawn.mean()) < 4 / np.sqrt(n)
    assert abs(drawn.var() - 1.0) < 4 * np.sqrt(2 / n)
    assert abs((drawn**4).mean() - 3.0) < 4 * np.sqrt(96 / n)
    for lag in (1, 2, 8, 16):
        assert abs((drawn[lag:] * drawn[:-lag]).mean()) < 4 / np.sqrt(n)


@pytest.mark.slow
def test_equal_tokens_stay_equal_and_resumed_runs_equal_others(tmp_path):
    """A run that goes on would be another one."""
    values = mf.RandomValues([HEAD], depth=1.0, step=1 / 16, seed=2)
    law = mf.from_points(np.array([[1.0, 0, 0], [0, 1, 0], [0, 1, 0]]))
    problem = mf.Problem(mf.Sphere(), values, initial=law)
    whole = mf.simulate(problem, save=9, output=tmp_path / "whole.h5")
    x = whole.measures[-1].points
    np.testing.assert_allclose(x[1], x[2], rtol=0, atol=1e-12)

    def stops(time, measure):
        return time > 0.4

    mf.simulate(problem, save=9, output=tmp_path / "cut.h5", stop=stops)
    cut = mf.simulate(problem, save=9, output=tmp_path / "cut.h5", resume=True)
    np.testing.assert_array_equal(cut.measures[-1].points, x)


def test_depth_may_be_missing_or_that_of_layers():
    """0.1 * 3 is not 0.3; without a depth there is nothing to draw."""
    values = mf.RandomValues([HEAD], seed=7)
    assert values.summary == "random values: ito, drawn anew every 0.015625, seed 7"
    refused("depth of random values is missing", values.paths, 3)
    layers = mf.Layers(step=0.1, count=3)
    assert mf.RandomValues([HEAD], depth=0.3).fitted(layers).count == 3


@pytest.mark.slow
def test_problem_is_written_and_read():
    """A stored run would be of another realisation."""
    steady = mf.Attention([mf.Head(value=[[0, -1], [1, 0]])], beta=3.0, sink=0.5)
    drawn = mf.Attention([mf.Head(value=0.5, score=[2.0, 1.0]), mf.Head()], beta=2.0, sink=0.5)
    values = mf.RandomValues(drawn, scale=2.0, interpretation="stratonovich", depth=1.0, seed=5)
    problem = mf.Problem(mf.Circle(), [steady, values], initial=mf.von_mises_fisher(1.0))
    run = mf.simulate(problem, 0.25, save=2)
    again = replace(run, source_problem=None).problem
    assert again.random.summary == problem.random.summary
    assert again.stages == problem.stages
    assert again.kernel == problem.kernel
    assert "RandomValues" in repr(again)
    assert "drawn anew every 0.015625 until 1, seed 5, scale 2" in run.report().text()
    assert not run.events


class Turn:
    """A term of the user's own, with names that the package has for its own."""

    is_steady = True

    def field(self, records, x, time):
        return (time < 0.25) * x @ np.array([[0.0, 1, 0], [-1, 0, 0], [0, 0, 0]])

    def vectors(self):
        raise AssertionError


@pytest.mark.slow
def test_terms_of_the_user_beside_random_values():
    """They would be taken for steady ones, or be lost in the file."""
    values = mf.RandomValues([mf.Head(value=0.0, beta=1.0)], depth=0.5)
    run = mf.simulate(mf.Problem(mf.Sphere(), [values, Turn()], initial=LAW3), save=2)
    np.testing.assert_allclose(run.measures[-1].points[:, 2], TOK3[:, 2], rtol=0, atol=1e-6)
    angle = np.arctan2(*run.measures[-1].points[:, 1::-1].T) - np.arctan2(*TOK3[:, 1::-1].T)
    np.testing.assert_allclose(np.exp(1j * abs(angle)), np.exp(0.25j), rtol=0, atol=1e-5)
    assert run.facts.terms == "Turn"
    with pytest.raises(ValueError, match="terms and stages"):
        _ = replace(run, source_problem=None).problem


@pytest.mark.slow
def test_drift_of_layers_is_no_term_of_the_user():
    """Reports, titles and files would name a class of the package."""
    problem = mf.Problem(mf.Sphere(), mf.RandomValues([HEAD], depth=0.5), initial=LAW3)
    run = mf.simulate(problem, 1 / 64, save=2)
    assert "ItoDrift" not in run.report().text() + str(mf.check(problem))
    assert replace(run, source_problem=None).problem.own_terms == problem.own_terms


def test_values_are_drawn_anew_for_other_random_values():
    """Those of the old ones would stay."""
    problem = mf.Problem(mf.Sphere(), mf.RandomValues([HEAD], depth=0.5), initial=LAW3)
    other = mf.RandomValues([HEAD], interpretation="stratonovich", depth=0.25, seed=1)
    again = replace(problem, kernel=other)
    assert again == mf.Problem(mf.Sphere(), other, initial=LAW3)
    still = replace(problem, kernel=[mf.Attention([HEAD])])
    assert still == mf.Problem(mf.Sphere(), mf.exponential(BETA), initial=LAW3)


LAYERED = mf.Problem(mf.Sphere(), mf.RandomValues([HEAD]), layers=mf.Layers(step=1.0, count=4))
FLOWING = mf.Problem(mf.Sphere(), mf.RandomValues([HEAD], depth=2.0, step=1.0))

STAGES = [mf.Stage(1.0), mf.Stage(kernel=mf.exponential(3.0))]


@pytest.mark.parametrize(
    "problem, change, message",
    [
        (LAYERED, {"layers": None}, "drawn for another attention or other layers"),
        (FLOWING, {"layers": mf.Layers(step=1.0)}, "drawn for another attention or other layers"),
        (FLOWING, {"layers": mf.Layers(step=0.5)}, "step = 1 beside layers of step 0.5"),
        (FLOWING, {"kernel": mf.exponential(1.0)}, "drawn for another attention"),
        (FLOWING, {"kernel": mf.Attention([mf.Head(beta=9.0)])}, "drawn for another attention"),
        (FLOWING, {"stages": STAGES}, "stages beside random values"),
        (FLOWING, {"stages": [mf.Stage(1.0), mf.Stage()]}, "stages beside random values"),
        (FLOWING, {"kernel": [mf.Attention([HEAD])], "stages": STAGES}, "stages beside random"),
        (FLOWING, {"random": replace(FLOWING.random, seed=1)}, "stages beside random values"),
    ],
)
def test_other_parts_than_values_were_drawn_for_are_refused(problem, change, message):
    """The old values would act in another unit of time, or without their drift."""
    refused(message, replace, problem, **change)


WRONG = {
    "depth of random values is missing": lambda: mf.Problem(mf.Circle(), mf.RandomValues([HEAD])),
    "expected a whole number": lambda: mf.Problem(
        mf.Circle(), mf.RandomValues([HEAD], depth=1.0, step=0.3)
    ),
    "value that is no number": lambda: mf.RandomValues([mf.Head(value=[1, 2], beta=1.0)]),
    "must be at most 1, where random values end": lambda: mf.simulate(
        mf.Problem(mf.Circle(), mf.RandomValues([HEAD], depth=1.0), initial=LAW2), 2.0
    ),
    "sink of random values is 0.0, and 0.5": lambda: mf.Problem(
        mf.Circle(),
        [mf.Attention(beta=1.0, sink=0.5), mf.RandomValues([HEAD], depth=1.0)],
    ),
    "write it as mf.Attention": lambda: mf.Problem(
        mf.Circle(), [mf.exponential(1.0), mf.RandomValues([HEAD], depth=1.0)]
    ),
    'layers are the "ito" model': lambda: mf.Problem(
        mf.Circle(),
        mf.RandomValues([HEAD], interpretation="stratonovich", depth=1.0),
        layers=mf.Layers(step=0.5),
    ),
    "depth = 3 beside 4 layers": lambda: mf.Problem(
        mf.Circle(), mf.RandomValues([HEAD], depth=3.0), layers=mf.Layers(step=0.5, count=4)
    ),
    r"positions \(mask, rotary\) and random values": lambda: mf.Problem(
        mf.Circle(), mf.RandomValues(mf.Attention(beta=1.0, mask="causal"), depth=1.0)
    ),
    "random scores have layers alone": lambda: mf.Problem(
        mf.Circle(), mf.RandomValues([HEAD], depth=1.0, score_scale=1.0)
    ),
    "give them no query, key, score": lambda: mf.RandomValues(
        [mf.Head(query=2.0, beta=1.0)], score_scale=1.0
    ),
    "R.1 has none": lambda: mf.Problem(
        mf.Euclidean(1), mf.RandomValues([HEAD], interpretation="stratonovich", depth=1.0)
    ),
    'placement = "peri" normalises what random values add': lambda: mf.Problem(
        mf.Sphere(), mf.RandomValues([HEAD]), layers=mf.Layers(step=0.5, count=2, placement="peri")
    ),
    "and the flow of layers exclude each other": lambda: mf.Problem(
        mf.Sphere(),
        mf.RandomValues([HEAD], depth=1.0),
        layers=mf.Layers(step=0.0, placement="pre"),
    ),
    "the problem has random values": lambda: mf.growth_rates(FLOWING, 3),
    "drift of random values of the .ito. model depends": lambda: mf.fluctuations(
        mf.Problem(mf.Circle(), mf.RandomValues([HEAD], depth=1.0), initial=RHO2),
        tokens=10,
        until=0.5,
    ),
    "stages beside random values": lambda: mf.Problem(
        mf.Circle(), mf.RandomValues([HEAD], depth=1.0), stages=[mf.Stage(end=1.0), mf.Stage()]
    ),
    "sum over all pairs": lambda: mf.simulate(
        mf.Problem(
            mf.Circle(),
            mf.RandomValues([HEAD], depth=1.0),
            initial=mf.from_points(np.linspace(0, 6, 5001)),
        )
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("message", WRONG)
def test_wrong_values_are_refused(message):
    """One line says what, and what to do."""
    refused(message, WRONG[message], error=(ValueError, TypeError))


@pytest.mark.parametrize("more, message", [
    ("[[random_heads]]", "belong together"),
    ("[random_values]\ndepth = 1.0", "belong together"),
    ("[[random_heads]]\n[random_values]\ndepth = 1.0\n[[stages]]\nend = 1.0\n[[stages]]",
     "beside random values"),
    ("[[random_heads]]\nvalue = [1, 2]\n[random_values]\ndepth = 1.0", "is no number"),
    ("[[random_heads]]\n[random_values]\ndepth = 1.0\nsteps = 2", "steps"),
    ("[random_heads]\n[random_values]\ndepth = 1.0", r"write \[\[random_heads\]\] above"),
    ("[[random_heads]]\nquery = [[1, 0, 0]]\n[random_values]\ndepth = 1.0",
     r"\[\[random_heads\]\] 1 query has shape"),
])  # fmt: skip
def test_wrong_run_files_are_refused(tmp_path, more, message):
    """One line names the section."""
    path = tmp_path / "run.toml"
    path.write_text(
        f'[problem]\nmanifold = "circle"\nbeta = 2.0\n[time]\nend = 1.0\n{more}\n', "utf-8"
    )
    refused(message, load_config, path, error=ConfigError)


@pytest.mark.parametrize("heads", ["", "[[heads]]\n"])
def test_weights_of_several_layers_are_refused(tmp_path, heads):
    """All of them would stand in the message."""
    np.save(tmp_path / "s.npy", np.zeros((4, 2, 2)))
    path = tmp_path / "run.toml"
    path.write_text(
        f'[problem]\nmanifold = "circle"\nbeta = 2.0\n[[random_heads]]\n{heads}score = "s.npy"\n'
        "[random_values]\n[layers]\nstep = 0.1\ncount = 4\n",
        "utf-8",
    )
    with pytest.raises(ConfigError, match="score holds weights of 4 layers, and random values"):
        load_config(path)


@pytest.mark.slow
@pytest.mark.parametrize("d, beta", [(2, 0.5), (3, 1.0), (3, 2.0), (4, 2.0)])
def test_pairs_end_antipodal_as_often_as_the_law_says(d, beta):
    """Three standard errors, and what layers of a step differ by."""
    laws, runs = mf.papers.random_layers, 20_000
    ends = laws.sample_layers(np.eye(d)[:2], beta, layers=1000, runs=runs, time=50.0, seed=d)
    share = (np.einsum("ra,ra->r", ends[:, 0], ends[:, 1]) < 0.0).mean()
    law = laws.antipodal_probability(d, beta)
    assert abs(share - law) < 3 * np.sqrt(law * (1 - law) / runs) + 0.01 * law


@pytest.mark.slow
@pytest.mark.parametrize("d, beta", [(2, 1.0), (3, 2.0)])
def test_many_pairs_end_antipodal_as_often_as_the_law_says(d, beta):
    """Three standard errors of 1e5 pairs, no more; at d = 3 a step of 0.05 agrees, too."""
    laws, runs = mf.papers.random_layers, 100_000
    ends = laws.sample_layers(np.eye(d)[:2], beta, layers=400, runs=runs, time=40.0, seed=11)
    share = (np.einsum("ra,ra->r", ends[:, 0], ends[:, 1]) < 0.0).mean()
    law = laws.antipodal_probability(d, beta)
    assert abs(share - law) < 3 * np.sqrt(law * (1 - law) / runs)


@pytest.mark.slow
def test_random_scores_end_antipodal_as_often_as_the_law_says():
    """0.137333, by a scale function with Gauss-Hermite sums over scores; layers add a few."""
    runs = 20_000
    ends = mf.papers.random_layers.sample_layers(
        np.eye(3)[:2], 1.0, layers=1500, runs=runs, time=60.0, seed=3, score_scale=1.0
    )
    share = (np.einsum("ra,ra->r", ends[:, 0], ends[:, 1]) < 0.0).mean()
    assert abs(share - 0.137333) < 3 * np.sqrt(0.137 * 0.863 / runs) + 0.002


def test_layers_of_random_scores_are_those_of_their_numbers():
    """Layers by hand from the numbers that a problem draws."""
    values = mf.RandomValues([mf.Head(beta=0.7)], seed=6, score_scale=2.0)
    layers = mf.Layers(step=0.1, count=5)
    problem = mf.Problem(mf.Sphere(), values, initial=LAW3, layers=layers)
    fitted, x = values.fitted(layers), TOK3
    for k, jump in enumerate(np.diff(fitted.paths(3)[:, 0], axis=0)):
        weights = MASS3 * np.exp(0.7 * x @ (2.0 * fitted.scores(k, 3)[0]) @ x.T)
        x = x + weights / weights.sum(axis=1)[:, None] @ x @ jump.T
        x /= np.linalg.norm(x, axis=1)[:, None]
    np.testing.assert_allclose(final(problem, 5), x, rtol=0, atol=1e-13)


def test_one_token_after_layers_is_the_exact_mean():
    """Another variance of the entries would be seen."""
    laws, runs = mf.papers.random_layers, 20_000
    ends = laws.sample_layers(np.eye(3)[:1], 1.0, layers=10, runs=runs, seed=5)[:, 0, 0]
    error = ends.std() / np.sqrt(runs)
    assert abs(ends.mean() - laws.layered_mean(3, layers=10)) < 3 * error
    fewer = laws.sample_layers(np.eye(3)[:1], 1.0, layers=10, runs=100, seed=5)[:, 0, 0]
    np.testing.assert_array_equal(fewer, ends[:100])


@pytest.mark.slow
def test_tight_clusters_contract_by_one_normal_factor():
    """Logarithm of mean -(d - 1) t / 2 d and variance t / d."""
    laws, runs, d, time = mf.papers.random_layers, 10_000, 3, 2.0
    start = np.array([[1.0, 0, 0], [1.0, 2e-5, 0]])
    start /= np.linalg.norm(start, axis=1)[:, None]
    ends = laws.sample_layers(start, 2.0, layers=100, runs=runs, time=time)
    logs = np.log(np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1) / 2e-5)
    assert abs(logs.mean() + (d - 1) * time / (2 * d)) < 4 * np.sqrt(time / d / runs) + 0.005
    assert abs(logs.var() - time / d) < 4 * time / d * np.sqrt(2 / runs) + 0.005


@pytest.mark.parametrize("normalization", ["softmax", "none"])
def test_drift_in_blocks_of_pairs_is_that_of_all_at_once(monkeypatch, normalization):
    """At the points themselves, and elsewhere."""
    heads = [mf.Head(beta=2.0), mf.Head(beta=1.0, score=np.arange(9.0).reshape(3, 3) / 9)]
    drift = ItoDrift(mf.Attention(heads, normalization=normalization), 2.0)
    records = Seen(TOK3, MASS3)
    others = np.concatenate([TOK3, -TOK3[:, [1, 2, 0]]])
    for x in (TOK3, others, others[4:5]):
        whole = (*drift.field(records, x, 0.0), drift.vectors(records, x))
        with monkeypatch.context() as patch:
            patch.setattr("meanfield.terms.random_values._PAIRS", 12)
            parts = (*drift.field(records, x, 0.0), drift.vectors(records, x))
        for one, other in zip(whole, parts, strict=True):
            np.testing.assert_allclose(other, one, rtol=0, atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("d, beta, side", [(3, 1.0, -1), (4, 0.5, -1), (3, 2.0, 1)])
def test_exponents_of_runs_are_those_of_the_law(d, beta, side):
    """Three standard errors; half of the exponents of 1 - R and of 1 + R."""
    laws, start = mf.papers.random_layers, np.eye(d)[[0, 0]]
    start[1, :2] = side * np.cos(1e-6), np.sin(1e-6)
    ends = laws.sample_layers(start, beta, layers=50, runs=8192, time=2.0, seed=1)
    result, error = laws.lyapunov_exponent(start, ends, 2.0)
    assert abs(result - laws.overlap_exponents(d, beta)[0 if side > 0 else 1] / 2) < 3 * error


@pytest.mark.slow
@pytest.mark.parametrize("d, beta", [(2, 1.0), (3, 1.0), (3, 2.0)])
def test_mean_overlap_of_runs_is_that_of_the_law(d, beta):
    """Three standard errors: layers of this step add less than one."""
    laws = mf.papers.random_layers
    ends = laws.sample_layers(np.eye(d)[:2], beta, layers=100, runs=8192, seed=2)
    result, error = laws.overlap_statistics(ends)
    assert abs(result - laws.mean_overlap(d, beta, 1.0)) < 3 * error


def test_statistics_of_runs_are_their_sums():
    """Loops over pairs, of tokens at both ends of an axis."""
    laws, rng = mf.papers.random_layers, np.random.default_rng(0)
    start = np.eye(3)[[0, 0, 0]] * [[1], [-1], [1]] + 1e-3 * rng.standard_normal((3, 3))
    start /= np.linalg.norm(start, axis=1)[:, None]
    ends = laws.sample_layers(start, 1.0, layers=4, runs=5)
    pairs, signs = [(0, 1), (0, 2), (1, 2)], [-1, 1, -1]

    def size(x):
        apart = [x[i] - s * x[j] for (i, j), s in zip(pairs, signs, strict=True)]
        return np.linalg.norm(apart)

    logs = np.log([size(x) / size(start) for x in ends])
    overlaps = np.array([np.mean([x[i] @ x[j] for i, j in pairs]) for x in ends])
    for result, each in (
        (laws.lyapunov_exponent(start, ends, 0.5), logs / 0.5),
        (laws.overlap_statistics(ends), overlaps),
    ):
        expected = each.mean(), each.std(ddof=1) / np.sqrt(5)
        np.testing.assert_allclose(result, expected, rtol=1e-9)


PAIR = np.array([[[1.0, 0.0], [0.6, 0.8]]])


@pytest.mark.parametrize(
    "start, runs, time, message",
    [
        (PAIR[0], PAIR, 1.0, r"shape \(1, 2, 2\), expected \(runs, n, d\)"),
        (PAIR[0][:1], PAIR.repeat(2, axis=0), 1.0, "start has shape"),
        (PAIR[0], PAIR.repeat(2, axis=0)[:, [0, 0]], 1.0, "lost in rounding"),
        (PAIR[0], PAIR.repeat(2, axis=0), 0.0, "time must be positive"),
    ],
)
def test_exponents_without_a_meaning_are_refused(start, runs, time, message):
    """A logarithm of zero, or a mean without an error."""
    refused(message, mf.papers.random_layers.lyapunov_exponent, start, runs, time)


@pytest.mark.slow
def test_three_tokens_never_end_antipodal():
    """An antipodal end needs a half of the mass."""
    laws = mf.papers.random_layers
    x = np.random.default_rng(0).standard_normal((4, 3))
    x /= np.linalg.norm(x, axis=1)[:, None]
    three = laws.phase_shares(laws.sample_layers(x[:3], 1.0, layers=1000, runs=600, time=60.0))
    four = laws.phase_shares(laws.sample_layers(x, 1.0, layers=1000, runs=600, time=60.0))
    assert three["antipodal"] < 0.01 < 0.02 < four["antipodal"]
    assert three["one cluster"] > 0.9


@pytest.mark.slow
def test_layers_tend_to_their_limit_with_order_one():
    """E R after L layers differs from the limit by c / L."""
    laws, runs = mf.papers.random_layers, 2**18
    limit, errors = laws.mean_overlap(3, 1.0, 1.0), []
    for layers in (2, 8):
        ends = laws.sample_layers(np.eye(3)[:2], 1.0, layers, runs, seed=layers)
        overlaps = np.einsum("ra,ra->r", ends[:, 0], ends[:, 1])
        errors.append(overlaps.mean() - limit)
        three = 3 * overlaps.std() / np.sqrt(runs)
    # Exact operator on the overlap, by Gauss-Hermite sums: 8 (E R_8 - E R_1) = 0.0534.
    assert abs(8 * errors[1] - 0.0534) < 8 * three
    assert 2.5 < errors[0] / errors[1] < 7.0


@pytest.mark.parametrize(
    "change, message",
    [
        ({"tokens": 2 * np.eye(3)}, "unit vectors"),
        ({"weights": [1.0]}, "2 positive numbers"),
        ({"layers": 0}, "layers"),
        ({"time": 0.0}, "time must be positive"),
    ],
)
def test_wrong_samples_are_refused(change, message):
    """They would give numbers without a meaning."""
    arguments = {"tokens": np.eye(3)[:2], "beta": 1.0, "layers": 2, "runs": 3} | change
    refused(message, mf.papers.random_layers.sample_layers, **arguments)
