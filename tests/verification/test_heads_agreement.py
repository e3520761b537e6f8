"""Heads drawn at random: all carriers agree, converge, and know no axis and no engine."""

import numpy as np
import pytest
from head_oracle import carried, turn, vectors
from oracles import gauss_nodes

import meanfield as mf
from meanfield.carriers import DensityRepresentation
from meanfield.fields.heads import HeadsInteraction
from meanfield.fields.interactions import interaction_of
from meanfield.schemes import runge_kutta
from meanfield.terms.attention import HeadMatrices

CIRCLE, SPHERE = mf.Circle(), mf.Sphere()
MODES = {
    "circle": [[1, 0.2, 0.1], [2, 0.0, -0.15], [3, 0.1, 0.05]],
    "sphere": [[1, 0, 0.1], [1, -1, 0.08], [2, 1, 0.1], [2, -2, 0.06], [3, 2, 0.05]],
}
BETA = 1.5


def drawn(space: mf.Circle | mf.Sphere, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Two heads (B, V) of norm 1 at most, nothing symmetric."""
    rng = np.random.default_rng(seed)
    d = space.dimension + 1
    pairs = rng.normal(size=(2, 2, d, d))
    return [tuple(m / np.linalg.norm(m, 2) for m in pair) for pair in pairs]


def attending(space, heads, normalization, **options):
    """Problem of heads (B, V), from the same density."""
    listed = [mf.Head(score=score, value=value) for score, value in heads]
    of = mf.Attention(listed, normalization, beta=BETA, **options)
    return mf.Problem(space, of, initial=mf.perturbed_uniform(MODES[space.name]))


def quadrature(problem: mf.Problem) -> tuple[np.ndarray, np.ndarray]:
    points, weights = gauss_nodes(20)
    if problem.manifold.dimension == 1:
        points, weights = 2 * np.pi * np.arange(128) / 128, np.full(128, 1 / 128)
    masses = weights * problem.initial_measure().at(points)
    return points, masses / masses.sum()


CASES = [
    pytest.param(
        space,
        seed,
        normalization,
        marks=[pytest.mark.slow] if space is SPHERE else [],
        id=f"{space.name}-{seed}-{normalization}",
    )
    for space in (CIRCLE, SPHERE)
    for seed in (0, 1, 2)
    for normalization in ("none", "softmax", "sinkhorn")
    # Half a minute each: densities of the sphere are long to balance.
    if seed == 0 or normalization != "sinkhorn"
    if seed == 0 or space is SPHERE or normalization != "none"
]


@pytest.mark.slow
@pytest.mark.parametrize("space, seed, normalization", CASES)
def test_carriers_and_direct_sums_agree(space, seed, normalization, verified):
    """Density, characteristics, particles by moments, and a code that shares no line with them."""
    heads = drawn(space, seed)
    problem = attending(space, heads, normalization)
    points, masses = quadrature(problem)
    of_points = mf.Problem(space, problem.kernel, initial=mf.from_points(points, masses))
    time, result = 0.25 if space is CIRCLE else 0.15, {}
    tolerances = {"density": 1e-9, "characteristics": 1e-9, "particles": 1e-11}
    if space is SPHERE:
        tolerances["characteristics"] = 1e-5
    for carrier, tolerance in tolerances.items():
        run = mf.simulate(
            of_points if carrier == "particles" else problem, time, save=2, unit="paper",
            representation=carrier, tolerance=tolerance, observables=[],
        )  # fmt: skip
        result[carrier] = run.packed_moments()[-1]
        result["start"] = run.packed_moments()[0]
    scores = [(BETA * score, value) for score, value in heads]
    moved = carried(vectors(points), masses, scores, normalization, time, 1e-10)
    if space is CIRCLE:
        moved = np.arctan2(moved[:, 1], moved[:, 0])
    degree = problem.moment_degree
    result["direct sums"] = space.moments(moved, masses, degree)
    result = {name: space.resize(each, 6) for name, each in result.items()}
    assert np.abs(result["density"] - result["start"]).max() > 0.01
    for name in ("characteristics", "particles", "direct sums"):
        what = f"random heads, {name} against density, {space.name}"
        verified("independent methods", what, result[name] - result["density"], 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("normalization", ["none", "softmax", "sinkhorn"])
@pytest.mark.parametrize("space", [CIRCLE, SPHERE], ids=["circle", "sphere"])
def test_densities_converge_spectrally(space, normalization, verified):
    """A relevant degree twice, or an aliased product, would bend the line of errors."""
    if space is SPHERE and normalization == "sinkhorn":
        pytest.skip("a grid of the sphere takes a minute to be balanced at every stage")
    problem = attending(space, drawn(space, 1), normalization)
    degrees = np.array([12, 16, 20, 40] if space is CIRCLE else [8, 12, 16, 32])
    ends = []
    for degree in degrees:
        state = space.resize(problem.initial_measure().coefficients, int(degree))
        carrier = DensityRepresentation(problem, state, 1.0, int(degree))
        stepper = runge_kutta(carrier.rhs, 0.0, state, tolerance=1e-13, step=0.02)
        for _ in range(5):
            assert stepper.step(largest=0.02)
        ends.append(space.resize(stepper.state, 6))
    errors = np.array([np.abs(end - ends[-1]).max() for end in ends[:-1]])
    what = f"density of random heads, {space.name}"
    verified("convergence in degree", what, errors[-1], 1e-9, curve=(degrees[:-1], errors))
    # Each four degrees gain two digits at least, down to rounding.
    assert (errors[1:] < np.maximum(errors[:-1] / 30, 1e-14)).all()


@pytest.mark.parametrize(
    "space, carrier",
    [
        pytest.param(space, carrier, id=f"{space.name}-{carrier}")
        for space in (CIRCLE, SPHERE)
        for carrier in ("density", "characteristics", "particles")
        if space is CIRCLE or carrier != "characteristics"
    ]
    + [pytest.param(SPHERE, "characteristics", marks=pytest.mark.slow)],
)
def test_errors_follow_the_tolerance(space, carrier):
    """Steps would ask less than the tolerance that they are given."""
    problem = attending(space, drawn(space, 1), "softmax")
    if carrier == "particles":
        points, masses = quadrature(problem)
        problem = mf.Problem(space, problem.kernel, initial=mf.from_points(points, masses))
    ends = {}
    steps = [1e-4, 1e-6, 1e-11]
    if carrier == "characteristics":
        steps = [1e-4, 1e-6, 1e-11] if space is CIRCLE else [1e-2, 1e-3, 1e-4]
    for tolerance in steps:
        run = mf.simulate(
            problem, 0.3, save=2, representation=carrier, tolerance=tolerance, observables=[]
        )
        ends[tolerance] = space.resize(run.packed_moments()[-1], 6)
    truth = ends.pop(steps[-1])
    for tolerance, end in ends.items():
        assert np.abs(end - truth).max() <= 2 * tolerance


@pytest.mark.parametrize("space", [CIRCLE, SPHERE], ids=["circle", "sphere"])
def test_heads_of_ones_are_the_kernel(space, verified):
    """One head of ones is SA to the bit; two that share its value, the same through the tables."""
    law = mf.perturbed_uniform(MODES[space.name])
    plain = mf.Problem(space, mf.exponential(4.0), mf.SA, law)
    ends = []
    halves = [mf.Head(value=0.5), mf.Head(value=0.5)]
    for problem in (
        plain,
        mf.Problem(space, mf.Attention([mf.Head()], beta=4.0), initial=law),
        mf.Problem(space, mf.Attention(halves, beta=4.0), initial=law),
    ):
        run = mf.simulate(problem, 0.3, save=2, representation="density")
        ends.append(run.packed_moments()[-1])
    np.testing.assert_array_equal(ends[0], ends[1])
    shared = space.resize(ends[2], 12) - space.resize(ends[0], 12)
    verified("independent methods", f"two heads of one half, {space.name}", shared, 1e-13)


@pytest.mark.parametrize("flow", [mf.USA, mf.SA], ids=["USA", "SA"])
@pytest.mark.parametrize("space", [CIRCLE, SPHERE], ids=["circle", "sphere"])
def test_tables_of_ones_are_the_kernel(space, flow, verified):
    """The engine of heads, given identities, and the kernel's: velocity and divergence."""
    problem = mf.Problem(space, mf.exponential(6.0), flow, mf.perturbed_uniform(MODES[space.name]))
    ones = HeadMatrices(6.0 * np.eye(space.dimension + 1), np.eye(space.dimension + 1))
    normalization = "softmax" if flow.normalized else "none"
    field = HeadsInteraction(space, (ones,), normalization, problem.log_scale)
    density = space.resize(problem.initial_measure().coefficients, 40)
    points = space.grid(7).points
    heads, kernel = (each.of_density(density) for each in (field, interaction_of(problem)))
    for one, other in zip(
        heads.velocity_and_divergence(points), kernel.velocity_and_divergence(points), strict=True
    ):
        verified("independent methods", f"tables of ones, {space.name}", one - other, 1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("normalization", ["softmax", "sinkhorn"])
@pytest.mark.parametrize("space", [CIRCLE, SPHERE], ids=["circle", "sphere"])
def test_everything_turned_runs_turned(space, normalization, verified):
    """A grid's axes would be preferred: B -> R B R^T, V -> R V R^T, mu -> R mu."""
    heads, d = drawn(space, 2), space.dimension + 1
    r = turn(0.7, d)
    if d == 3:
        r = r @ np.roll(np.roll(turn(1.1, 3), 1, axis=0), 1, axis=1)
    result = []
    w = np.array([0.3, -0.2, 0.15])[:d]
    for turned in (np.eye(d), r):

        def start(points: np.ndarray, turned: np.ndarray = turned) -> np.ndarray:
            x = vectors(np.asarray(points)) @ turned
            return np.asarray(1 + x @ w + 0.3 * (x[:, 0] ** 2 - 1 / d) + 0.2 * x[:, 0] * x[:, 1])

        of = [mf.Head(score=turned @ b @ turned.T, value=turned @ v @ turned.T) for b, v in heads]
        problem = mf.Problem(
            space, mf.Attention(of, normalization, beta=BETA), initial=mf.from_function(start)
        )
        time = 0.1
        if d == 3 and normalization == "sinkhorn":
            # Balancing a density takes long on the sphere.
            points = gauss_nodes(10)[0] @ turned.T
            law = mf.from_points(points, np.full(200, 1 / 200))
            problem = mf.Problem(space, problem.kernel, initial=law)
            run = mf.simulate(problem, time, save=2, representation="particles")
        else:
            run = mf.simulate(problem, time, save=2, representation="density")
        last = run.measures[-1]
        if isinstance(last, mf.Density):
            grid = space.grid(last.max_degree + 2)
            points, masses = grid.points, grid.weights * last.at(grid.points)
        else:
            points, masses = last.points, np.full(200, 1 / 200)
        x = vectors(points) @ turned
        third = np.einsum("n,ni,nj,nk->ijk", masses, x, x, x)
        result.append(np.concatenate([masses @ x, third.ravel()]))
    verified("symmetry", f"turned heads, {space.name}", result[1] - result[0], 2e-11)
