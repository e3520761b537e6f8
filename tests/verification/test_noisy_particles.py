"""Noisy tokens: they follow the density, their centre diffuses, runs resume to the bit."""

import numpy as np
import pytest

import meanfield as mf
from meanfield.recording import execute
from meanfield.runfile import load_config
from meanfield.spaces.maxima import gaussian_fields
from meanfield.store.run_file import load
from meanfield.terms.kernels import KERNELS

LAWS = {
    "circle": mf.mixture([(0.6, 0.3, 2.0), (0.4, 2.0, 1.0)]),
    "sphere": mf.mixture([(0.6, [0.3, 0.2, 0.9], 1.0), (0.4, [-0.5, 0.8, 0.1], 2.0)]),
}
MANIFOLDS = {"circle": mf.Circle(), "sphere": mf.Sphere()}


def posed(name: str, beta: float, flow: mf.Flow) -> mf.Problem:
    return mf.Problem(MANIFOLDS[name], KERNELS["exponential"](beta), flow, LAWS[name])


def deviations(problem: mf.Problem, tokens: int, until: float, seed: int) -> np.ndarray:
    """Low moments of a system minus the density's, in standard errors of independent tokens."""
    options = {"until": until, "save": [until]}
    exact = mf.simulate(problem, **options).measures[0]
    run = mf.simulate(
        problem, representation="particles", tokens=tokens, step=0.05, seed=seed, **options
    )
    space, rng = problem.manifold, np.random.default_rng(1)
    # Test functions: a wave or harmonic field at a time, its mean and its variance by the density.
    grid = space.grid(max(exact.max_degree, 12))
    mass = grid.weights * grid.to_nodal(exact.moments(grid.max_degree))
    result = []
    for _ in range(12):
        field = gaussian_fields(space, np.array([0.0, 1.0, 0.1, 0.1]), 1, rng)[0]
        values = grid.to_nodal(space.resize(field, grid.max_degree))
        mean = mass @ values
        error = np.sqrt(mass @ (values - mean) ** 2 / tokens)
        points = run.measures[0].points
        result.append((space.evaluate(field, points).mean() - mean) / error)
    return np.array(result)


@pytest.mark.parametrize(
    "name, tokens",
    [
        ("circle", 20_000),
        pytest.param("circle", 400_000, marks=pytest.mark.slow),
        pytest.param("sphere", 100_000, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    "beta, flow", [(5.0, mf.Flow("none", diffusivity=0.4)), (3.0, mf.Flow(True, -1.0, 0.3))]
)
def test_noisy_tokens_follow_the_density(name, beta, flow, tokens, verified):
    """Random harmonics within 4 standard errors: sqrt(2 D) and the bias of steps of 0.05."""
    # Nothing grows here, so that tokens scatter less than independent ones. Degree 1 has decayed
    # by one e-fold, where a wrong D shows best: 5 % of it at 400,000 tokens.
    problem = posed(name, beta, flow)
    assert mf.growth_rate_max(problem) < 0
    result = deviations(problem, tokens, 2.0 / problem.manifold.dimension, seed=3)
    what = f"noisy tokens against the density, {name}, in standard errors"
    verified("statistics", what, result, 4.0)
    assert np.abs(result).max() > 0.2


@pytest.mark.slow
@pytest.mark.parametrize("name, what, beta, diffusivity, end, options", [
    ("circle", "W1", 5.0, 0.03, 4.0, {"runs": 40, "step": 0.1}),
    # The Sobolev distance knows no logarithm.
    ("sphere", "the Sobolev distance", 3.0, 0.05, 2.0,
     {"runs": 20, "step": 0.2, "metric": "sobolev"}),
])  # fmt: skip
def test_noisy_tokens_approach_the_density_like_their_number(
    name, what, beta, diffusivity, end, options, verified
):
    """Distances fall like n^{-1/2}, halfway and at the end."""
    problem = posed(name, beta, mf.Flow("none", diffusivity=diffusivity))
    sizes = (100, 1000, 10_000)
    study = mf.convergence_study(problem, end, save=[end / 2, end], tokens=sizes, **options)
    what = f"exponent of {what} from noisy tokens to the density, {name}"
    verified("statistics", what, study.exponents + 0.5, 0.05, measured=study.exponents[-1])


def lifted_means(beta: float, flow: mf.Flow, tokens: int) -> np.ndarray:
    """Mean unwrapped angle along a run, of tokens that start and are shaken alike."""
    options = {"until": 4.0, "save": [0.0, 0.33, 4.0], "representation": "particles"}
    problem = posed("circle", beta, flow)
    run = mf.simulate(problem, tokens=tokens, step=0.1, seed=5, **options)
    return np.array([measure.points.mean() for measure in run.measures])


@pytest.mark.parametrize("tokens", [50, 3000])
def test_mean_angle_of_tokens_feels_the_noise_alone(tokens, verified):
    """Opposite forces cancel: whatever beta and the strength, the centre goes the same way."""
    # With noise the mean angle is not conserved but a Brownian motion of diffusivity D / n.
    plain = lifted_means(5.0, mf.Flow(False, 1.0, 0.2), tokens)
    for beta, strength in ((5.0, -1.0), (0.0, 1.0), (-4.0, 3.0)):
        moved = lifted_means(beta, mf.Flow(False, strength, 0.2), tokens)
        what = "mean unwrapped angle of noisy tokens: the noise alone, circle"
        verified("invariants", what, moved - plain, 1e-12)
    spread = np.sqrt(2.0 * 0.2 * 4.0 / tokens)
    assert 1e-3 * spread < abs(plain[-1] - plain[0]) < 4.0 * spread
    normalized = lifted_means(5.0, mf.Flow(True, 1.0, 0.2), tokens)
    assert np.abs(normalized - plain).max() > 1e-6


@pytest.mark.slow
def test_saving_more_often_does_not_change_the_path():
    """Tokens and densities alike, on both manifolds, to the bit."""
    for name in MANIFOLDS:
        problem = posed(name, 4.0, mf.Flow("none", diffusivity=0.05))
        for options in ({"representation": "particles", "tokens": 40, "step": 0.1}, {}):
            rare = mf.simulate(problem, until=0.43, save=[0.43], **options)
            often = mf.simulate(problem, until=0.43, save=[0.01, 0.25, 0.27, 0.43], **options)
            assert np.array_equal(rare.moments[-1], often.moments[-1])


TEXT = """\
[problem]
normalization = "none"
manifold = "circle"
beta = 4.0
diffusivity = 0.05
[initial]
name = "perturbed_uniform"
modes = [[1, 0.1, 0.2]]
[time]
end = 0.6
save = 4
"""
TOKENS = ["representation.name=particles", "representation.tokens=30", "time.step=0.05"]
SPHERE = ["problem.manifold=sphere", "initial.modes=[[1, 1, 0.1], [2, -1, 0.05]]"]
RUNS = {
    "density": [], "normalised": ["problem.normalized=true"], "tokens": TOKENS,
    "density on the sphere": SPHERE, "tokens on the sphere": [*SPHERE, *TOKENS],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_noisy_runs_resume_equal_to_the_bit(tmp_path, name):
    """The same random numbers and the same steps, wherever a run was interrupted."""
    config, output = tmp_path / "run.toml", tmp_path / "run.h5"
    config.write_text(TEXT)
    read = load_config(config, RUNS[name], output)
    stream = execute(read)
    next(stream), next(stream)
    stream.close()
    assert load(output).status.startswith("interrupted at t = ")
    assert len(list(execute(read, resume=True))) == 2
    resumed = load(output)
    list(execute(read, overwrite=True))
    whole = load(output)
    assert np.array_equal(resumed.moments, whole.moments)
    for kind in ("steps", "evaluations"):
        assert np.array_equal(resumed.diagnostics[kind], whole.diagnostics[kind])
