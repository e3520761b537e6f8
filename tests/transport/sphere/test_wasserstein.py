"""Distances on the sphere: exact values, and brackets against POT's network simplex."""

from itertools import product

import numpy as np
import ot
import pytest
from any_threads import check_any_threads
from parameters import each, refused

import meanfield as mf
from meanfield.measures import Density, Measure
from meanfield.transport.bracket import Bracket
from meanfield.transport.sphere import wasserstein as module
from meanfield.transport.sphere.wasserstein import bracket, sample_floor, wasserstein_sphere

SPHERE = mf.Sphere()
UNIFORM = Density(SPHERE, np.array([1.0 + 0.0j]))
COSTS = ["geodesic", "chordal"]
KINDS = ["uniform", "shifted", "clusters", "weighted", "duplicates", "cap"]
each_cost = pytest.mark.parametrize("p, cost", list(product((1, 2), COSTS)))


def distance(x: np.ndarray, y: np.ndarray, cost: str) -> np.ndarray:
    chord = np.linalg.norm(x[:, None] - y[None], axis=2)
    return chord if cost == "chordal" else 2.0 * np.arcsin(np.minimum(0.5 * chord, 1.0))


def random_measure(kind: str, count: int, rng: np.random.Generator) -> Measure:
    points, weights = rng.normal(size=(count, 3)), None
    if kind == "shifted":
        points += rng.normal(size=3)
    if kind == "clusters":
        centres = rng.normal(size=(3, 3))
        points = centres[rng.integers(0, 3, count)] + 1e-3 * points
    if kind == "duplicates":
        points = points[rng.integers(0, max(1, count // 3), count)]
    if kind == "cap":
        points = 0.05 * points + np.array([0.0, 0.0, 1.0])
    if kind == "weighted":
        weights = rng.dirichlet(np.full(count, 0.5))
    return Measure(SPHERE, points, weights)


def tilted(slope: float) -> Density:
    """1 + 3 slope z: the moments of a Dirac at the pole are Y_10 = 3^(1/2)."""
    moments = SPHERE.moments(np.array([[0.0, 0.0, 1.0]]), None, 1)
    return Density(SPHERE, moments * np.array([1.0, slope, slope]))


def linear_programme(first: Measure, second: Measure, p: int, cost: str) -> float:
    """W_p^p by POT."""
    costs = distance(first.points, second.points, cost) ** p
    return float(ot.emd2(first.mass, second.mass, costs, numItermax=10**8))


@pytest.mark.slow
@each_cost
def test_two_diracs_are_apart_by_their_angle(p, cost):
    """The distance itself would be wrong, at some angle."""
    for angle in (*np.linspace(0.0, np.pi, 60), 1e-9, 1e-5, np.pi - 1e-5, np.pi - 1e-8):
        x = np.array([[0.0, 0.6, 0.8]])
        y = np.cos(angle) * x + np.sin(angle) * np.array([[1.0, 0.0, 0.0]])
        expected = angle if cost == "geodesic" else 2.0 * np.sin(0.5 * angle)
        distance = wasserstein_sphere(Measure(SPHERE, x), Measure(SPHERE, y), p, cost=cost)
        # Points are right to 1e-16, the arcsine of a chord near 2 to its square root.
        tolerance = 2e-15 if angle < 3.0 else 2e-15 / (np.pi - angle + 3e-8)
        # The points themselves are rounded.
        assert distance.lower - 1e-15 <= expected <= distance.upper + 1e-15
        assert distance.value == pytest.approx(expected, abs=tolerance)
        assert distance.width < 16.0 * tolerance


@pytest.mark.slow
@each_cost
def test_uniform_to_dirac_is_in_the_bracket(p, cost):
    """W_1 = pi / 2 and W_2^2 = (pi^2 - 4) / 2, W_1 = 4 / 3 and W_2^2 = 2 for the chord."""
    values = {"geodesic": (np.pi / 2, (np.pi**2 - 4) / 2), "chordal": (4 / 3, 2.0)}
    expected = values[cost][p - 1] ** (1 / p)
    dirac = Measure(SPHERE, [[0.48, 0.6, 0.64]])
    distance = wasserstein_sphere(UNIFORM, dirac, p, cost=cost)
    assert distance.lower <= expected <= distance.upper * (1 + 1e-15)  # 2^(1/2) is reached
    assert distance.width < 2e-3 * expected  # measured: at most 7e-4


@pytest.mark.slow
@each_cost
def test_distance_of_points_equals_the_linear_programme(p, cost):
    """The plan would not be optimal, in one of 36 situations."""
    rng = np.random.default_rng(p)
    for one in KINDS:
        for other in KINDS:
            first = random_measure(one, int(rng.integers(1, 120)), rng)
            second = random_measure(other, int(rng.integers(1, 120)), rng)
            distance = wasserstein_sphere(first, second, p, cost=cost)
            expected = linear_programme(first, second, p, cost)
            # POT's masses and costs are rounded.
            assert distance.value**p == pytest.approx(expected, abs=1e-13), (one, other)
            assert distance.upper**p - distance.lower**p < 1e-13, (one, other)


@pytest.mark.parametrize("tolerance", [0.5, 1e-2])
def test_points_are_bracketed_by_stages(monkeypatch, tolerance):
    """Sets too large for an exact distance would get that of a coarse stage, or a wrong one."""
    first, second = (random_measure("shifted", 60, np.random.default_rng(k)) for k in (0, 1))
    exact = linear_programme(first, second, 1, "geodesic")
    monkeypatch.setattr(module, "EXACT", 20)
    monkeypatch.setattr(module, "_STAGES", ((60, 20), (60, 60)))
    distance = wasserstein_sphere(first, second, tolerance=tolerance)
    # Rounding of the masses, and of POT.
    assert distance.lower - 1e-12 <= exact <= distance.upper + 1e-12
    assert distance.width <= tolerance * distance.upper  # measured, last stage: 2.4e-3


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_brackets_hold_the_exact_distance(block):
    """A bound would not be one, in 200 random cases on 2,000 points."""
    for case in range(10 * block, 10 * block + 10):
        rng = np.random.default_rng(case)
        p, cost = 1 + case % 2, COSTS[case // 2 % 2]
        first = random_measure(KINDS[case % 6], 2000, rng)
        second = random_measure(KINDS[case // 6 % 6], 2000, rng)
        expected = linear_programme(first, second, p, cost) ** (1 / p)
        cells = module._point_cells(first, second)
        result = bracket(*cells, cost == "geodesic", p, largest=(400, 1600)[case % 2])
        assert result.lower <= expected * (1 + 1e-12), case
        assert result.upper >= expected * (1 - 1e-12), case
        assert result.width < 0.12, case  # measured: 0.06; the cells are 0.1 wide


@pytest.mark.slow
@each("p", [1, 2], cost=["chordal", "geodesic"])
def test_uniform_to_octahedron_is_in_the_bracket(p, cost):
    """Mass goes to the nearest of six corners: the mean of d^p over a face of the cube."""
    corners = np.concatenate((np.eye(3), -np.eye(3)))
    nodes, weights = np.polynomial.legendre.leggauss(40)
    a, b = np.tan(0.25 * np.pi * nodes[:, None]), np.tan(0.25 * np.pi * nodes[None, :])
    length = np.sqrt(1.0 + a**2 + b**2)
    density = np.outer(weights, weights) * np.pi / 64.0 * (1.0 + a**2) * (1.0 + b**2) / length**3
    angle = np.arccos(1.0 / length)
    reached = angle if cost == "geodesic" else 2.0 * np.sin(0.5 * angle)
    expected = (6.0 * np.sum(density * reached**p)) ** (1 / p)
    distance = wasserstein_sphere(Measure(SPHERE, corners), UNIFORM, p, cost=cost)
    assert distance.lower <= expected <= distance.upper
    assert distance.width < 0.02 * expected


@pytest.mark.slow
def test_triangle_inequality_of_densities_and_points():
    """Brackets of three pairs would contradict each other."""
    tokens, density = random_measure("shifted", 200, np.random.default_rng(3)), tilted(0.3)
    pairs = (tokens, UNIFORM), (UNIFORM, density), (tokens, density)
    sides = [wasserstein_sphere(*pair) for pair in pairs]
    for k in range(3):
        assert sides[k].lower <= sides[k - 1].upper + sides[k - 2].upper


@pytest.mark.parametrize("p", [1, 2])
def test_triangle_inequality_of_points(p):
    """The distance would be none."""
    rng = np.random.default_rng(p)
    for _ in range(5):
        a, b, c = (random_measure(kind, 60, rng) for kind in rng.choice(KINDS, 3))
        long = wasserstein_sphere(a, c, p).lower
        assert long <= wasserstein_sphere(a, b, p).upper + wasserstein_sphere(b, c, p).upper + 1e-12


@pytest.mark.slow
def test_bracket_of_a_linear_density_holds_its_distance(monkeypatch):
    """W_1 of f = 1 + a z from uniform is a pi / 8: mass moves along meridians, F has slope 1."""
    # By Kantorovich with the polar angle t: int t (a cos t) sin t / 2 dt = - a pi / 8.
    exact = 0.6 * np.pi / 8
    distance = wasserstein_sphere(tilted(0.2), UNIFORM)
    assert distance.lower <= exact <= distance.upper
    assert distance.upper < 1.002 * exact  # measured: 1.0003
    assert distance.lower > 0.9 * exact  # measured: 0.917
    monkeypatch.setattr(module, "_STAGES_OF_DENSITIES", ((60, 30), (400, 200)))
    message = "finer cells take ten times as long and leave a bracket"
    with pytest.warns(UserWarning, match=message) as warned:
        coarse = mf.wasserstein(tilted(0.2), UNIFORM)
    assert warned[0].filename == __file__
    assert coarse.lower <= exact <= coarse.upper


@pytest.mark.slow
def test_order_does_not_matter():
    """A density given first would be taken for one given second."""
    tokens = random_measure("shifted", 20, np.random.default_rng(0))
    assert wasserstein_sphere(tokens, UNIFORM) == wasserstein_sphere(UNIFORM, tokens)


@pytest.mark.slow
def test_threads_do_not_change_a_bit():
    """Results would depend on the machine."""
    tokens = random_measure("shifted", 2100, np.random.default_rng(0))
    other = random_measure("uniform", 2100, np.random.default_rng(1))
    check_any_threads(lambda: [wasserstein_sphere(tokens, other, 2)])


@pytest.mark.slow
def test_densities_that_differ_by_rounding_are_at_distance_zero():
    """The parts of the difference would be empty, or noise be blown up."""
    near = Density(SPHERE, tilted(0.3).coefficients * (1 + 2e-16))
    distance = wasserstein_sphere(tilted(0.3), near)
    assert distance.lower == 0.0
    assert distance.upper < 1e-12


def test_same_measure_is_at_distance_zero():
    """Equal measures would be apart."""
    tokens = random_measure("weighted", 300, np.random.default_rng(0))
    assert wasserstein_sphere(tokens, tokens, 2) == Bracket(0.0, 0.0)
    assert wasserstein_sphere(UNIFORM, UNIFORM) == Bracket(0.0, 0.0)


@pytest.mark.slow
def test_floor_is_the_mean_distance_of_two_samples():
    """The constant would be wrong: 12 pairs of 500, whose mean has a deviation of 2.4 %."""
    rng, n = np.random.default_rng(0), 500
    pairs = [[random_measure("uniform", n, rng) for _ in range(2)] for _ in range(12)]
    distances = [wasserstein_sphere(*pair).value for pair in pairs]
    assert np.mean(distances) == pytest.approx(sample_floor(n), rel=0.07)


def test_what_has_no_distance_is_refused():
    """A misspelt cost would be taken for another, and no tokens have no distance."""
    message = "cost = 'euclidean' is not known. Known: geodesic"
    refused(message, wasserstein_sphere, UNIFORM, UNIFORM, cost="euclidean")
    for tokens in (0, -3):
        refused(f"tokens = {tokens}, expected at least 1", sample_floor, tokens)


@pytest.mark.slow
def test_cells_of_a_density_are_built_once(monkeypatch):
    """Every system of a study would partition the density it is compared with again."""
    result = []
    plain = module.density_cells

    def counted(*arguments):
        result.append(arguments[2])
        return plain(*arguments)

    monkeypatch.setattr(module, "density_cells", counted)
    law = mf.von_mises_fisher(2.0).build(SPHERE)
    tokens = [random_measure("uniform", 20, np.random.default_rng(seed)) for seed in (1, 2)]
    distances = [wasserstein_sphere(measure, law, 1, tolerance=0.1) for measure in tokens]
    assert result == [6_000]
    again = Density(SPHERE, law.coefficients)
    assert wasserstein_sphere(tokens[1], again, 1, tolerance=0.1) == distances[1]
    assert result == [6_000, 6_000]


@pytest.mark.slow
def test_few_tokens_take_few_cells_and_lie_in_the_bracket():
    """A hundred tokens would wait for cells that no sampling asks for; bounds stay bounds."""
    law = mf.von_mises_fisher(2.0).build(SPHERE)
    tokens = random_measure("shifted", 100, np.random.default_rng(3))
    quick = wasserstein_sphere(tokens, law, 1, tolerance=0.1)
    fine = module._cells(law, 24_000, 1, "second"), module._cells(tokens, 0, 1, "first")
    sure = bracket(*fine, True, 1, largest=1_600)
    assert quick.width <= 0.1 * quick.upper
    assert quick.lower <= sure.upper and sure.lower <= quick.upper
