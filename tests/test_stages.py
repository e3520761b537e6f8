"""Stages: each ends where it is to end, all on one clock, whatever carries the measure."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from exact_solutions import poisson_radius
from parameters import refused
from scipy.linalg import expm

import meanfield as mf

LAW = mf.perturbed_uniform([[2, 0.2, 0.0], [3, 0.1, 0.1]])
STILL = mf.Attention([mf.Head(value=0.0)], beta=1.0)


def switched(flow: mf.Flow = mf.SA, law: Any = LAW, end: float = 0.5) -> mf.Problem:
    """Problem whose beta rises from 2 to 6."""
    stages = [mf.Stage(end=end), mf.Stage(kernel=mf.exponential(6.0))]
    return mf.Problem(mf.Circle(), mf.exponential(2.0), flow, law, stages=stages)


@pytest.mark.parametrize("space", [mf.Euclidean(4), mf.Sphere(4)])
def test_linear_drifts_follow_one_another(space):
    """A step across the end of a stage would miss e^{t_2 M_2} e^{t_1 M_1} by its length."""
    rng = np.random.default_rng(0)
    first, second = 0.5 * rng.standard_normal((2, 4, 4))
    stages = [mf.Stage(end=0.7), mf.Stage(drift=mf.LinearDrift(second))]
    problem = mf.Problem(
        space, STILL, initial=mf.normal_tokens(5), drift=mf.LinearDrift(first), stages=stages
    )
    run = mf.simulate(problem, 2.0, save=[0.5, 0.7, 2.0])
    for time, measure in zip(run.time, run.measures, strict=True):
        moved = expm(max(time - 0.7, 0.0) * second) @ expm(min(time, 0.7) * first)
        exact = problem.initial_measure().points @ moved.T
        if space.is_sphere:
            exact /= np.linalg.norm(exact, axis=1, keepdims=True)
        # Steps have a tolerance of 1e-10.
        np.testing.assert_allclose(measure.points, exact, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["density", "characteristics"])
def test_poisson_densities_have_the_sum_of_strengths_for_time(name):
    """At beta = 0 strengths only stretch time: a density would lag behind."""
    radius = 0.2
    law = mf.perturbed_uniform([[k, 2 * radius**k, 0.0] for k in range(1, 24)])
    stages = [
        mf.Stage(0.37), mf.Stage(0.9, flow=mf.Flow(True, -2.0)), mf.Stage(flow=mf.Flow("none")),
    ]  # fmt: skip
    flow = mf.Flow("none", strength=3.0)
    problem = mf.Problem(mf.Circle(), mf.linear(), flow, law, stages=stages)
    run = mf.simulate(problem, 1.5, save=[0.37, 0.6, 1.5], representation=name)
    values = np.array([0.37 * 3, 0.37 * 3 - 2 * 0.23, 0.37 * 3 - 2 * 0.53 + 0.6])
    np.testing.assert_allclose(
        run.moments[:, 1].real, poisson_radius(values, radius), rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("flow", [mf.SA, mf.USA])
@pytest.mark.parametrize("name", ["density", "particles"])
def test_stages_are_runs_joined_by_hand(name, flow):
    """The clock of papers would not be that of all stages, or a state would be lost."""
    options: dict[str, Any] = {"unit": "paper", "representation": name}
    drawn = {"tokens": 50} if name == "particles" else {}
    end = 0.5 if flow is mf.SA else 0.2
    run = mf.simulate(switched(flow, end=end), end + 0.01, save=[end + 0.01], **options, **drawn)
    first = mf.Problem(mf.Circle(), mf.exponential(2.0), flow, LAW)
    half = mf.simulate(first, end, save=[end], **options, **drawn).measures[-1]
    law = mf.from_points(half.points) if drawn else mf.from_density(half.coefficients)
    second = mf.Problem(mf.Circle(), mf.exponential(6.0), flow, law)
    whole = mf.simulate(second, 0.01, save=[0.01], **options)
    assert np.abs(run.moments[0, :13] - whole.moments[0, :13]).max() < 1e-10
    np.testing.assert_allclose(run.attributes["paper_time_factor"], np.exp(-6.0 * (flow is mf.USA)))


def test_characteristics_hold_through_stages_what_a_density_does():
    """Nodes would keep the velocity, or the units, of the stage before."""
    density, nodes = (
        mf.simulate(switched(), 1.0, save=[0.5, 1.0], representation=name)
        for name in ("density", "characteristics")
    )
    # Cells leave 1e-10 each.
    assert np.abs(density.moments[:, :13] - nodes.moments[:, :13]).max() < 1e-9
    assert [(e.time, e.text) for e in density.events] == [(0.5, "stage 2 begins")]


@pytest.mark.slow
def test_atoms_of_one_stage_go_on_in_the_next():
    """Tokens that have met would be forgotten, or rest for ever."""
    tokens = mf.from_points([0.0, 0.3, 2.0, 2.2, 4.4])
    problem = switched(law=tokens, end=30.0)
    run = mf.simulate(problem, 31.0, save=[30.0, 31.0])
    assert run.representation == ("atoms", "atoms")
    met = run.measures[0]
    law = mf.from_points(met.points, met.weights, "atoms")
    second = mf.Problem(mf.Circle(), mf.exponential(6.0), mf.SA, law)
    whole = mf.simulate(second, 1.0, save=[1.0]).measures[-1]
    np.testing.assert_allclose(run.measures[1].moments(8), whole.moments(8), rtol=0, atol=1e-10)


def test_what_a_later_stage_takes_apart_does_not_become_one():
    """Tokens that attract each other first and repel later would stay glued together."""
    stages = [mf.Stage(end=20.0), mf.Stage(flow=mf.Flow(True, -1.0))]
    tokens = mf.from_points([0.0, 1.0, 2.0])
    problem = mf.Problem(mf.Circle(), mf.exponential(2.0), mf.SA, tokens, stages=stages)
    run = mf.simulate(problem, 60.0, save=[20.0, 60.0])
    assert set(run.representation) == {"particles"}
    assert abs(run.moments[0, 1]) > 0.999999 and abs(run.moments[1, 1]) < 1e-2
    both = replace(problem, initial=mf.from_points([0.0, 1.0], name="atoms"))
    message = "not all stages hold together what has met"
    refused(message, mf.simulate, both, 1.0, representation="atoms")


NOISY = mf.Problem(
    mf.Circle(), mf.exponential(2.0), mf.Flow(True, 1.0, 0.1), LAW,
    stages=[mf.Stage(end=0.5), mf.Stage(flow=mf.SA)],
)  # fmt: skip
LAYERED = mf.Problem(
    mf.Sphere(4), mf.exponential(2.0), mf.SA, mf.normal_tokens(6), layers=mf.Layers(0.3, 4, "pre"),
    stages=[mf.Stage(end=2.0), mf.Stage(flow=mf.Flow(True, -1.0))],
)  # fmt: skip
CASES: dict[str, tuple[mf.Problem, dict[str, Any]]] = {
    "density": (switched(), {}),
    "density with noise": (NOISY, {}),
    "characteristics": (switched(mf.USA), {"representation": "characteristics"}),
    "particles": (switched(), {"representation": "particles", "tokens": 20}),
    "noisy": (NOISY, {"representation": "particles", "tokens": 20, "step": 0.15}),
    "layers": (LAYERED, {}),
    "atoms": (switched(law=mf.from_points([0.0, 1.0, 3.0], name="atoms")), {}),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_resumed_runs_are_the_same_to_the_bit(case, tmp_path):
    """A run that was interrupted inside a stage, or at its end, would go on elsewhere."""
    problem, options = CASES[case]
    times = [1.0, 2.0, 3.0, 4.0] if problem.layers else [0.3, 0.5, 0.7, 1.0]
    whole = mf.simulate(problem, times[-1], save=times, **options)
    stored = options | {"output": tmp_path / "x.h5", "resume": True}
    for count in (1, 2, 4):
        # Later stages and ends are the same, whatever has been reached.
        run = mf.simulate(problem, times[count - 1], save=times[:count], **stored)
    np.testing.assert_array_equal(run.moments, whole.moments)
    assert [e.text for e in run.events] == [e.text for e in whole.events]
    assert "stage 2 begins" in [e.text for e in run.events]


def test_later_stages_are_refused_before_anything_runs():
    """A run would fail at the end of a stage, hours later."""
    noise = [mf.Stage(end=0.5), mf.Stage(flow=mf.Flow(True, 1.0, 0.1))]
    problem = replace(switched(), stages=noise)
    first, second = (mf.Attention([mf.Head()], beta=beta, mask="causal") for beta in (2.0, 6.0))
    causal = mf.Problem(
        mf.Circle(), first, initial=LAW, stages=[mf.Stage(0.5), mf.Stage(kernel=second)]
    )
    degree = "max_degree = 24 is below degree"
    for case, options, message in (
        (problem, {"representation": "characteristics"}, "characteristics cannot carry diffusion"),
        (problem, {"representation": "particles", "tokens": 5}, "particles .* need a time step"),
        (switched(), {"representation": "density", "max_degree": 24}, degree),
        (causal, {"labels": 4, "max_degree": 24}, degree),
    ):
        refused(f"stage 2: {message}", mf.simulate, case, 1.0, **options)
    for theory in (mf.growth_rates, mf.linear_operator, mf.predict_clusters):
        refused("the problem has 2 stages: take one of problem.staged", theory, problem, 3)
    refused("2 stages", mf.convergence_study, problem, 1.0, tokens=[10, 20], runs=2)


@pytest.mark.slow
def test_a_run_knows_the_problem_of_each_saved_time(tmp_path):
    """Velocities and energies of a later stage would be drawn with the parameters of the first."""
    run = mf.simulate(switched(mf.USA, end=0.2), 0.4, save=[0.1, 0.2, 0.3], unit="paper")
    run.save(tmp_path / "x.h5")
    again = mf.load(tmp_path / "x.h5")
    assert again.problem == run.problem
    assert [again.problem_at(i).beta for i in range(3)] == [2.0, 2.0, 6.0]
    assert again.problem_at(0).flow.strength == pytest.approx(np.exp(-4.0))
    assert again.problem_at(2).flow.strength == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("placement", ["post", "ngpt", "peri"])
@pytest.mark.parametrize("step", [0.3, 0.0])
def test_layers_go_on_where_weights_are_small(placement, step):
    """Layers would end at a stage whose weights are e^-59 beside another stage's."""
    head = mf.Head(score=np.diag([1.0, 1.0, 1.0, 0.9]))
    soft, sharp = (mf.Attention([head], beta=beta, normalization="none") for beta in (1.0, 60.0))
    law = mf.from_points(np.random.default_rng(0).standard_normal((6, 4)))
    stages = [mf.Stage(end=3), mf.Stage(end=5, kernel=soft), mf.Stage(kernel=sharp)]
    layers = mf.Layers(step, None, placement)
    problem = mf.Problem(mf.Sphere(4), sharp, initial=law, layers=layers, stages=stages)
    assert mf.simulate(problem, until=6, save=[6.0]).time[-1] == 6.0


def test_a_timeline_is_every_stage_with_its_end() -> None:
    """A stage would end where another one does, or the last one not last on."""
    problem = switched(end=0.5)
    assert [end for end, _ in problem.timeline] == [0.5, np.inf]
    assert [stage.beta for _, stage in problem.timeline] == [2.0, 6.0]
    alone = mf.Problem(mf.Circle(), mf.exponential(2.0))
    assert alone.timeline == ((np.inf, alone),)


def test_a_problem_without_layers_has_those_of_its_flow() -> None:
    """Runs without layers would be counted in layers, or slow down."""
    layers = switched().layering
    assert layers.is_flow and layers.keeps_time and layers.clock(3.0) == 1.0
    assert LAYERED.layering is LAYERED.layers
