"""Runs of discrete layers and of their flows, against closed forms and other carriers."""

from dataclasses import replace

import core
import numpy as np
import pytest
from head_oracle import MASSES_3, TOKENS_3
from parameters import refused

import meanfield as mf
from meanfield.fields.layer_outputs import LayerOutputs
from meanfield.papers.normalization_schemes import terminal_contraction
from meanfield.schemes.layers import LAYER_NORMS, Layers, Placement

ALL = [each for each in LAYER_NORMS if each != "sandwich"]
LAW = mf.perturbed_uniform([[1, 0.1, 0.0], [3, 0.08, 0.0]])


def orthogonal(layers: Layers) -> mf.Problem:
    """Eight tokens along the axes of R^8, beta = 2."""
    law = mf.from_points(np.eye(8))
    return mf.Problem(mf.Sphere(8), mf.exponential(2.0), mf.SA, law, layers=layers)


def cosines(run: mf.Run) -> np.ndarray:
    """Mean cosine of pairs at the saved times; all are equal."""
    grams = [measure.points @ measure.points.T for measure in run.measures]
    for gram in grams:
        off = gram[~np.eye(len(gram), dtype=bool)]
        assert np.ptp(off) < 1e-11
    return np.array([(gram.sum() - 8.0) / 56.0 for gram in grams])


def of(placement: Placement, step: float) -> Layers:
    return Layers(step=step, placement=placement, alpha=0.5, tau=2.0, radius=1.5)


@pytest.mark.slow
@pytest.mark.parametrize("placement", ALL)
def test_flows_of_tokens_are_the_reduced_ones(placement):
    """N vectors of R^n with their lengths keep equal angles, on the closed curve."""
    problem = orthogonal(of(placement, 0.0))
    times = [1.0, 2.0, 5.0, 10.0]
    run = mf.simulate(problem, until=10.0, save=times, tolerance=1e-12)
    expected = mf.equiangular_layers(problem, 8, times)
    assert np.abs(cosines(run) - expected.cosine).max() < 1e-10
    if of(placement, 0.0).has_radius:
        for name in ("mean", "min", "max"):
            assert np.abs(run.diagnostics[f"radius_{name}"] - expected.radius).max() < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("placement", ALL)
def test_layers_of_tokens_are_the_reduced_map(placement):
    """Layers of h = 0.5, unprojected: x <- N(x + h A) and the others, with lengths."""
    problem = orthogonal(replace(of(placement, 0.5), count=8))
    run = mf.simulate(problem)
    assert run.time.tolist() == list(range(9))
    expected = mf.equiangular_layers(problem, 8)
    assert np.abs(cosines(run) - expected.cosine).max() < 1e-11


@pytest.mark.slow
def test_reference_values_of_layers():
    """Gamma at depth 2 (n = 8, beta = 2): numbers of an independent computation; first order."""
    expected = {
        "post": (0.596565737239, 0.653352831568, 0.659873709506),
        "projected": (0.6422234030147517, 0.6581712220738558, 0.659873709506),
        "pre": (0.353907998386, 0.373330281327, 0.375592696272),
        "peri": (0.544909147752, 0.573339405633, 0.576543115652),
    }
    for placement, (coarse, fine, exact) in expected.items():
        result = []
        for step in (0.1, 0.01):
            count = round(2.0 / step)
            layers = Layers(step=step, count=count, placement=placement)
            result.append(cosines(mf.simulate(orthogonal(layers), save=[count]))[0])
        assert result == pytest.approx([coarse, fine], abs=1e-11)
        order = np.log10((result[0] - exact) / (result[1] - exact))
        assert order == pytest.approx(1.0, abs=0.02)


def test_late_layers_shrink_the_gap_by_their_clock():
    """(1 - gamma_next) / (1 - gamma) -> 1 / (1 + h)^2 of post, (1 - h)^2 projected, h = 0.5."""
    law = mf.from_points(np.array([[1.0, 1e-5, 0.0], [1.0, -1e-5, 0.0], [1.0, 0.0, 1e-5]]))
    for placement, ratio in (("post", 4.0 / 9.0), ("projected", 1.0 / 4.0)):
        layers = Layers(step=0.5, count=1, placement=placement)
        problem = mf.Problem(mf.Sphere(), mf.exponential(2.0), mf.SA, law, layers=layers)
        run = mf.simulate(problem)
        before, after = (measure.points[0] - measure.points[1] for measure in run.measures)
        assert after @ after / (before @ before) == pytest.approx(ratio, abs=1e-6)
        assert terminal_contraction(problem) == pytest.approx(ratio, abs=1e-12)


@pytest.mark.parametrize(("placement", "ratio"), [
    ("post", 60.1036157), ("pre", 3.1954432), ("peri", 3.4207208), ("ngpt", 9.8991480),
    ("depth_scaled", 9.4596703),
])  # fmt: skip
def test_small_modes_grow_by_the_clock_of_the_placement(placement, ratio):
    """Mode 3 about uniform, beta = 5, r_0 = 1.5, t = 6: algebraic growth of pre and peri."""
    law = mf.perturbed_uniform([[3, 1e-6, 0.0]])
    problem = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.SA, law, layers=of(placement, 0.0))
    run = mf.simulate(problem, until=6.0, save=[0.0, 6.0], tolerance=1e-12)
    first, last = (abs(measure.moments(3)[3]) for measure in run.measures)
    assert last / first == pytest.approx(ratio, rel=1e-7)


@pytest.mark.parametrize("placement", ALL)
@pytest.mark.parametrize("step", [0.0, 0.2])
def test_nodes_are_pushed_forward_as_tokens_are(placement, step):
    """A density's nodes with their masses against 1,000 tokens of equal mass, with a drift."""
    angles = np.linspace(0.0, 2.0 * np.pi, 20001)
    covered = angles + 0.1 * np.sin(angles) + 0.08 / 3 * np.sin(3 * angles)
    levels = 2.0 * np.pi * (np.arange(1000) + 0.5) / 1000
    tokens = mf.from_points(np.interp(levels, covered, angles))
    layers, drift = replace(of(placement, step), tau=0.5), mf.LinearDrift([[0.2, -0.5], [0.5, 0.0]])
    until = 5 if step else 1.0
    records = []
    for law in (LAW, tokens):
        problem = mf.Problem(mf.Circle(), mf.exponential(3.0), mf.SA, law, drift=drift,
                             layers=layers)  # fmt: skip
        run = mf.simulate(problem, until=until, save=[until])
        records.append(run.measures[-1].moments(4))
    assert np.abs(records[1] - records[0]).max() < 1e-6


STEEP = mf.Head(score=[[2.04, -2.56], [0.42, -0.57]], value=[[1.0, 0.31], [0.22, 1.0]])


@pytest.mark.slow
@pytest.mark.parametrize("placement, step", [("peri", 0.1), ("post", 1.0), ("ngpt", 0.1)])
def test_a_layer_that_nodes_do_not_resolve_is_taken_again(placement, step):
    """The nodes of the start see nothing of a layer: it was refused. Against 4,000 labels."""
    labels = 2.0 * np.pi * np.arange(4000) / 4000
    masses = LAW.build(mf.Circle()).at(labels) / 4000
    layers, records = Layers(step, 3, placement), []
    for law in (LAW, mf.from_points(labels, masses / masses.sum())):
        problem = mf.Problem(mf.Circle(), mf.Attention([STEEP], "softmax", beta=1.0), initial=law,
                             layers=layers)  # fmt: skip
        run = mf.simulate(problem, representation="auto" if law is LAW else "particles")
        records.append(run.measures[-1].moments(12))
        if law is LAW:
            assert run.diagnostics["rejected"][-1] > 0
    assert np.abs(records[1] - records[0]).max() < 1e-11


@pytest.mark.slow
def test_a_layer_that_folds_the_nodes_says_so():
    """Finer nodes do not help where the order of the labels changes."""
    attention = mf.Attention(
        [mf.Head(value=[[0.0, -1.0], [1.0, 0.0]], score=[[3.0, 0.0], [0.0, -3.0]])],
        "softmax",
        beta=3.0,
    )
    problem = mf.Problem(mf.Circle(), attention, initial=LAW, layers=Layers(5.0, 3, "post"))
    refused("a layer of step 5 folds the nodes", mf.simulate, problem, error=mf.SimulationError)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "placement", "step", "layer"),
    [(2, "peri", 0.1, 0), (3, "peri", 0.1, 0), (1, "pre", 2.0, 1), (0, "ngpt", 0.5, 0)],
)
def test_layers_that_are_refused_do_fold(seed, placement, step, layer):
    """A smooth map would be refused as a fold; direct sums show neighbours change their order."""
    rng = np.random.default_rng(seed)
    score, value = rng.normal(size=(2, 2)), rng.normal(size=(2, 2))
    angles = 2.0 * np.pi * np.arange(4000) / 4000
    x = np.column_stack([np.cos(angles), np.sin(angles)])
    density = 1.0 + 0.1 * np.cos(angles) + 0.08 * np.cos(3.0 * angles)
    tokens, turned = core.Points(x, density / 4000), []
    for number in range(layer + 1):
        tokens = core.layer([core.attention([(score, value)])], placement, tokens, number, step)
        x = core.unit(tokens.y)
        after = np.roll(x, -1, axis=0)
        # Sign of the slope: of the turn from each token to the next.
        turned.append((x[:, 0] * after[:, 1] - x[:, 1] * after[:, 0]).min())
    assert turned[-1] < -1e-4 and min(turned[:-1], default=1.0) > 0.0
    attention = mf.Attention([mf.Head(score=score, value=value)], beta=1.0)
    problem = mf.Problem(mf.Circle(), attention, initial=LAW, layers=Layers(step, 3, placement))
    with pytest.raises(
        mf.SimulationError,
        match=rf"folds the nodes: .* Take representation 'particles'.*t = {layer},",
    ):
        mf.simulate(problem)
    run = mf.simulate(problem, representation="particles", tokens=200)
    assert run.status == "completed"


@pytest.mark.parametrize("carrier", ["density", "characteristics", "particles"])
def test_depth_scaled_flows_run_by_their_clock(carrier):
    """Depth t is time 2 sqrt(1 + t) - 2 of post, whatever carries the measure, also axial ones."""
    slow, law = Layers(step=0.0, placement="depth_scaled"), mf.von_mises_fisher(1.0)
    for space in (mf.Circle(), mf.Sphere(5)):
        records = []
        for layers, end in ((slow, 3.0), (None, 2.0)):
            problem = mf.Problem(space, mf.exponential(3.0), mf.SA, law, layers=layers)
            tokens = 40 if carrier == "particles" else None
            run = mf.simulate(problem, until=end, save=[end], representation=carrier,
                              tokens=tokens, tolerance=1e-10)  # fmt: skip
            records.append(run.measures[-1].moments(1))
        assert np.abs(records[1] - records[0]).max() < 1e-8


@pytest.mark.slow
def test_attention_then_a_layer_in_turn_is_of_first_order():
    """N(x + h A), then N(x + h u), against the flow of the sum: off by 0.285 h for four tokens."""
    law = mf.from_points(TOKENS_3, MASSES_3)
    layer = mf.FeedForward(
        [[1, -0.5, 0.3], [0.2, 0.8, -1.1]], [[0.7, -0.3], [0.4, 0.9], [-0.6, 0.5]], (0.1, -0.2),
        "tanh",
    )  # fmt: skip
    flow = mf.Problem(mf.Sphere(), mf.exponential(3.0), mf.SA, law, feed_forward=layer)
    exact = mf.simulate(flow, until=1.0, save=[1.0], tolerance=1e-12).measures[-1].points

    def error(step: float, splitting: str) -> float:
        count = round(1.0 / step)
        layers = Layers(step=step, count=count, splitting=splitting)
        run = mf.simulate(replace(flow, layers=layers), save=[count])
        return float(np.abs(run.measures[-1].points - exact).max())

    errors = [error(step, "lie") for step in (0.2, 0.1, 0.05, 0.025)]
    assert errors == pytest.approx([0.05428, 0.02788, 0.01411, 0.00710], abs=6e-6)
    for splitting in ("strang", "none"):
        coarse, fine = error(0.02, splitting), error(0.01, splitting)
        assert np.log2(coarse / fine) == pytest.approx(1.0, abs=0.05)


def test_layers_of_r_d_add_what_attention_finds():
    """X <- x + h A(x) without normalisation, by hand for two tokens."""
    x = np.array([[1.0, 0.0], [0.0, 2.0]])
    layers = Layers(step=0.25, count=1)
    problem = mf.Problem(
        mf.Euclidean(2), mf.exponential(1.0), mf.SA, mf.from_points(x), layers=layers
    )
    weights = np.exp(x @ x.T)
    weights /= weights.sum(axis=1, keepdims=True)
    points = mf.simulate(problem).measures[-1].points
    assert points == pytest.approx(x + 0.25 * weights @ x, abs=1e-14)
    refused('must be "post"', replace, problem, layers=Layers(placement="pre"))


@pytest.mark.slow
def test_early_speeds_and_late_gaps():
    """Initial speeds of the placements, and (1 - gamma) r^2 of pre and peri after a long time."""
    for placement, speed in (
        ("post", 0.1389945237720),
        ("pre", 0.1389945237720),
        ("depth_scaled", 0.1389945237720),
        ("peri", 0.2548274222271),
        ("ngpt", 0.1274137111136),
    ):
        problem = orthogonal(replace(of(placement, 0.0), radius=1.0))
        # What moves each token is along the others: theta_i' has gamma' / 2 along theta_j.
        rate = LayerOutputs(problem, None).rate(0.0, np.eye(8))
        off = rate[~np.eye(8, dtype=bool)]
        assert 2.0 * off == pytest.approx(np.full(56, speed), abs=1e-13)
    for placement in ("pre", "peri"):
        problem = orthogonal(Layers(step=0.0, placement=placement))
        run = mf.simulate(problem, until=1e3, save=[1e3], tolerance=1e-12)
        x = run.measures[-1].points
        gap = 0.5 * float(((x[0] - x[1]) ** 2).sum())
        constant = gap * run.diagnostics["radius_mean"][-1] ** 2
        assert constant == pytest.approx(3.734953426363, rel=1e-5)


def test_steps_that_overshoot_are_no_failure():
    """Layers of a long step may lower the energy that their flow climbs: no run may end by that."""
    law = mf.from_points([0.0, 1.5, 3.1])
    layers = Layers(step=2.0, count=3)
    problem = mf.Problem(mf.Circle(), mf.exponential(2.0), mf.Flow(True, -1.0), law, layers=layers)
    run = mf.simulate(problem)
    assert run.status == "completed"
    assert np.diff(run.observables["energy"]).max() > 0.1


@pytest.mark.slow
def test_masked_layers_leave_the_first_token(tmp_path):
    """Causal layers: token 1 stays, and a resumed run goes on to the bit."""
    rng = np.random.default_rng(0)
    law = mf.from_points(mf.Sphere(5).random_points(6, rng))
    attention = mf.Attention(mask="causal", beta=2.0)
    layers = Layers(step=0.3, count=9, placement="pre", radius=2.0)
    problem = mf.Problem(mf.Sphere(5), attention, initial=law, layers=layers)
    whole = mf.simulate(problem)
    first = np.array([measure.points[0] for measure in whole.measures])
    assert np.abs(first - first[0]).max() < 1e-15
    path = tmp_path / "run.h5"
    mf.simulate(problem, until=4, output=path)
    again = mf.simulate(problem, output=path, resume=True)
    assert np.array_equal(again.measures[-1].points, whole.measures[-1].points)
    assert again.diagnostics["radius_mean"][-1] == whole.diagnostics["radius_mean"][-1]


@pytest.mark.slow
@pytest.mark.parametrize("step", [0.0, 0.25])
def test_resumed_nodes_go_on_to_the_bit(tmp_path, step):
    """Lengths are states, and so is whether "mix" has turned."""
    layers = Layers(step=step, placement="mix", tau=1.0, radius=1.5)
    problem = mf.Problem(mf.Circle(), mf.exponential(3.0), mf.SA, LAW, layers=layers)
    middle, end = (8, 12) if step else (2.0, 3.0)
    path = tmp_path / "run.h5"
    whole = mf.simulate(problem, until=end, save=[middle, end])
    mf.simulate(problem, until=middle, save=[middle], output=path)
    again = mf.simulate(problem, until=end, save=[middle, end], output=path, resume=True)
    assert np.array_equal(again.measures[-1].points, whole.measures[-1].points)
    assert again.diagnostics["radius_max"][-1] == whole.diagnostics["radius_max"][-1]


@pytest.mark.slow
def test_what_layers_cannot_do_says_so():
    """One line each: vanished lengths, densities, noise, times inside layers, no end."""
    repelled = mf.Problem(
        mf.Circle(), mf.exponential(5.0), mf.Flow(True, -1.0), LAW,
        layers=Layers(step=0.0, placement="pre", radius=0.5),
    )  # fmt: skip
    with pytest.raises(mf.SimulationError, match="length of token .* fell to"):
        mf.simulate(repelled, until=5.0)
    for layers, words in (
        (Layers(step=0.0, placement="pre"), "lengths of tokens"),
        (Layers(step=0.0, placement="ngpt"), "lengths of outputs"),
        (Layers(step=0.1), "nodes can be pushed forward"),
    ):
        with pytest.raises(ValueError, match=words):
            mf.simulate(replace(repelled, layers=layers), until=1.0, representation="density")
    layered = replace(repelled, layers=Layers(step=0.1))
    refused("atoms cannot carry layers", mf.simulate, layered, until=1.0, representation="atoms")
    refused("until is missing: give it, or count", mf.simulate, layered)
    with pytest.raises(ValueError, match=r"save holds 0\.5, expected whole numbers"):
        mf.simulate(layered, until=2.0, save=[0.5, 2.0])
    refused(r"until = 1\.5 must be a whole number", mf.simulate, layered, until=1.5)
    refused('unit = "paper" is for flows', mf.simulate, layered, until=2, unit="paper")
    with pytest.raises(ValueError, match="must be at most 3, the layers' count"):
        mf.simulate(replace(layered, layers=Layers(count=3)), until=4)
    with pytest.raises(ValueError, match="layers and noise exclude each other"):
        replace(layered, flow=mf.Flow("none", diffusivity=0.1))
    grown = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.USA, LAW, layers=Layers(step=0.1))
    for study in (mf.convergence_study, lambda p, **_: mf.linear_operator(p)):
        refused("rest on the flow|have another clock", study, grown, until=1, save=[1.0])
    axial = replace(grown, manifold=mf.Sphere(5), initial=mf.von_mises_fisher(1.0))
    refused("nodes stand for whole rings", mf.simulate, axial, until=1)
    with pytest.raises(mf.SimulationError, match="folds the nodes"):
        mf.simulate(replace(repelled, layers=Layers(step=2.0, placement="pre")), until=3)


@pytest.mark.slow
@pytest.mark.parametrize("placement", ["pre", "peri"])
def test_a_length_that_vanishes_ends_the_flow(placement):
    """Steps beyond a length of 0 would lead back, and beyond again, for ever."""
    repelled = mf.Attention([mf.Head(value=-1.0)], beta=4.0)
    layers, law = mf.Layers(0.0, placement=placement), mf.from_points(np.eye(5))
    problem = mf.Problem(mf.Sphere(5), repelled, initial=law, layers=layers)
    with pytest.raises(mf.SimulationError, match="the length of token") as caught:
        mf.simulate(problem, until=1.2, save=2)
    assert 1.0 < caught.value.time < 1.1
