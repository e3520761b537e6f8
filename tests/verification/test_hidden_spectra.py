"""Densities whose spectra have gaps: what truncation takes must be seen whatever is excited.

A density that repeats itself k times has degrees 0, k, 2k, ... only; on the sphere single orders,
even degrees, or the invariants of a polyhedron. Each run is judged by one at several times the
degree, held there whatever is seen: a run may end, but nothing it yielded before may be wrong.
"""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.special import eval_legendre

import meanfield as mf
from meanfield.carriers import DensityRepresentation, Options, represent
from meanfield.errors import SimulationError
from meanfield.trajectory import trajectory

TOLERANCE = 1e-10
# Errors of steps grow with the instability of the flow.
LARGEST_ERROR = 100 * TOLERANCE
SPHERE = mf.Sphere()


class Held(DensityRepresentation):
    def adapt(self, time: float, state: np.ndarray) -> None:
        """Never."""

    def failure(self, time: float, state: np.ndarray) -> None:
        """Never."""


def largest_error(problem: mf.Problem, times: np.ndarray, degree: int, judge: int) -> float:
    """Largest error in the moments that are stored, of a run up to a degree, while it lasts."""
    chosen = Options(name="density", tolerance=TOLERANCE, max_degree=degree)
    entries = []
    try:
        for snapshot in trajectory(problem, represent(problem, chosen), times, tolerance=TOLERANCE):
            entries.append(snapshot)
    except SimulationError as error:
        assert "under-resolved" in error.reason
    if not entries:
        return 0.0
    space = problem.manifold
    state = space.resize(problem.initial_measure().coefficients, judge)
    carrier = Held(problem, state, TOLERANCE, judge)
    exact = trajectory(problem, carrier, [s.time for s in entries], tolerance=1e-11)
    return max(
        float(np.abs(one.moments - two.moments).max())
        for one, two in zip(entries, exact, strict=True)
    )


def on_circle(seed: int) -> tuple[mf.Problem, int]:
    """One or two modes on the circle, up to where the density touches zero; the first mode."""
    rng = np.random.default_rng(seed)
    first, second = (int(k) for k in rng.choice(np.arange(2, 32), 2, replace=False))
    large = float(rng.choice([0.01, 0.1, 0.3, 0.9]))
    small = (1.0 - large) * float(rng.choice([0.0, 1e-12, 1e-6, 0.5]))
    angle = rng.uniform(0, 2 * np.pi)
    law = mf.perturbed_uniform(
        [[first, large * np.cos(angle), large * np.sin(angle)], [second, small, 0.0]]
    )
    beta = float(np.exp(rng.uniform(np.log(2.0), np.log(40.0))))
    flow = mf.SA if rng.random() < 0.6 else mf.USA
    return mf.Problem(mf.Circle(), mf.exponential(beta), flow, law), first


def zonal_sum(directions: np.ndarray, degree: int, points: np.ndarray) -> np.ndarray:
    """Sum of P_degree(<n, x>) over directions n: of a polyhedron's corners, its invariant."""
    return np.asarray(eval_legendre(degree, points @ directions.T).sum(axis=1))


GOLDEN = (1 + np.sqrt(5)) / 2
CORNERS = {
    "tetrahedron": np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / np.sqrt(3),
    "octahedron": np.eye(3),
    "icosahedron": np.array(
        [[0, 1, GOLDEN], [0, 1, -GOLDEN], [1, GOLDEN, 0], [1, -GOLDEN, 0], [GOLDEN, 0, 1],
         [-GOLDEN, 0, 1]]
    ) / np.sqrt(1 + GOLDEN**2),
}  # fmt: skip
SHAPES = [("tetrahedron", 3), ("tetrahedron", 7), ("octahedron", 4), ("icosahedron", 6)]


def on_sphere(seed: int) -> tuple[mf.Problem, int]:
    """A single (l, m), sectoral or not, or a polyhedron, turned about any axis; its degree."""
    rng = np.random.default_rng(seed)
    nodes = SPHERE.grid(32)
    points = nodes.points @ Rotation.random(rng=rng).as_matrix()
    if rng.random() < 0.5:
        degree = int(rng.integers(3, 21))
        order = degree if rng.random() < 0.5 else int(rng.integers(-degree, degree + 1))
        mode = mf.perturbed_uniform([[degree, order, 0.01]]).build(SPHERE)
        values = SPHERE.evaluate(mode.coefficients, points) - 1.0
    else:
        name, degree = SHAPES[int(rng.integers(len(SHAPES)))]
        values = zonal_sum(CORNERS[name], degree, points)
        if name == "tetrahedron" and degree == 7:
            values += zonal_sum(CORNERS[name], 3, points)
    values *= float(rng.choice([0.03, 0.3, 0.9])) / np.abs(values).max()
    coefficients = SPHERE.resize(nodes.to_modal(1.0 + values), degree)
    coefficients[0] = 1.0
    beta = float(np.exp(rng.uniform(np.log(2.0), np.log(20.0))))
    flow = mf.SA if rng.random() < 0.6 else mf.USA
    return mf.Problem(SPHERE, mf.exponential(beta), flow, mf.from_density(coefficients)), degree


def times_of(problem: mf.Problem, degree: int) -> np.ndarray:
    """Times up to which a perturbation of that degree grows to a cluster, or decays."""
    rate = abs(mf.growth_rates(problem, degree)[degree])
    return np.linspace(0.02, 1.0, 50) * min(6.0 / max(rate, 1e-3), 12.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "fold, beta, flow", [(11, 40.0, mf.SA), (13, 12.0, mf.SA), (11, 40.0, mf.USA)]
)
def test_repeated_density_is_resolved_on_the_circle(fold, beta, flow):
    """By the top tenth of the degrees alone errors were 3e-2, 9e-9 and 2e-3."""
    law = mf.perturbed_uniform([[fold, 0.3, 0.0]])
    problem = mf.Problem(mf.Circle(), mf.exponential(beta), flow, law)
    assert largest_error(problem, times_of(problem, fold), 512, 1024) < 1e-9


@pytest.mark.slow
def test_repeated_density_hands_over_what_is_resolved():
    """Elevenfold, to clusters: as density and as characteristics, each from the start."""
    law = mf.perturbed_uniform([[11, 0.3, 0.0]])
    problem = mf.Problem(mf.Circle(), mf.exponential(40.0), mf.SA, law)
    auto = mf.simulate(problem, until=5.0, save=[3.0, 5.0])
    assert auto.representation == ("density", "characteristics")
    carried = mf.simulate(problem, until=5.0, save=[3.0, 5.0], representation="characteristics")
    np.testing.assert_allclose(auto.moments, carried.moments, rtol=0, atol=LARGEST_ERROR)


@pytest.mark.slow
@pytest.mark.parametrize(
    "drawn, seed, degree",
    [(on_circle, seed, 512) for seed in range(24)] + [(on_sphere, seed, 48) for seed in range(8)],
)
def test_sparse_spectra_are_resolved(drawn, seed, degree):
    """Whatever is excited at any amplitude, whatever the symmetry and wherever its axes."""
    problem, first = drawn(seed)
    times = times_of(problem, first)
    assert largest_error(problem, times, degree, 2 * degree) < LARGEST_ERROR
