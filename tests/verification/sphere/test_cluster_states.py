"""Polytopes of clusters on the sphere escape at the rates of theory (1.5).

`cluster_rates`, and differences of the velocity that runs use, against closed forms. Rates are in
scaled time: the papers' times e^{-beta} for USA; SA divides by Z.
"""

from collections.abc import Callable

import numpy as np
import pytest
from parameters import each

import meanfield as mf
from meanfield.carriers import particles
from meanfield.fields.mean_field import interaction
from meanfield.spectrum.cluster_rates import ClusterRates, cluster_rates
from meanfield.trajectory import trajectory

SPHERE = mf.Sphere()
EDGE = np.sqrt(0.75)
GOLDEN = (1 + np.sqrt(5)) / 2
POINTS = {
    "pair": [[0, 0, 1], [0, 0, -1]],
    "triangle": [[1, 0, 0], [-0.5, EDGE, 0], [-0.5, -EDGE, 0]],
    "tetrahedron": [[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]],
    "octahedron": np.vstack([np.eye(3), -np.eye(3)]),
    "icosahedron": [
        np.roll([0, a, b * GOLDEN], shift) for shift in range(3) for a in (-1, 1) for b in (-1, 1)
    ],
}
# All rates in the papers' units (USA), with how often each occurs; 0 are the three rotations.
SPECTRA: dict[str, Callable[[float], list[float]]] = {
    "pair": lambda b: 2 * [np.exp(-b)] + 2 * [0],
    "triangle": lambda b: 2 * [np.exp(-b / 2) * (0.5 + 0.75 * b)] + [np.exp(-b / 2)] + 3 * [0],
    # Pairs of edges that twist, and the mean vector, which is faster below beta = 3.
    "tetrahedron": lambda b: (
        2 * [2 * b / 3 * np.exp(-b / 3)] + 3 * [(2 / 3 + 4 * b / 9) * np.exp(-b / 3)] + 3 * [0]
    ),
    # The second is the mean vector, faster below beta = 1.2785.
    "octahedron": lambda b: (
        3 * [2 * b / 3] + 3 * [(b + 1 + np.exp(-b)) / 3] + 3 * [(b - 1 + np.exp(-b)) / 3] + 3 * [0]
    ),
}


def vertices(name: str) -> np.ndarray:
    return SPHERE.check_points(np.array(POINTS[name], dtype=float))


def frame(points: np.ndarray) -> np.ndarray:
    """Tangent basis at each point, shape (n, 2, 3)."""
    return np.array([np.linalg.svd(point[None])[2][1:] for point in points])


def jacobian(velocity: Callable[[np.ndarray], np.ndarray], points: np.ndarray) -> np.ndarray:
    """Derivative of v_i along the tangent frames, (2 n, 2 n): sixth-order differences."""
    h, basis, n = 5e-3, frame(points), len(points)
    columns = []
    for i in range(n):
        for e in basis[i]:
            values = []
            for j in (-3, -2, -1, 1, 2, 3):
                moved = points.copy()
                moved[i] = np.cos(j * h) * points[i] + np.sin(j * h) * e
                values.append(velocity(moved))
            a, b, c, d, f, g = values
            slope = (g - a - 9 * (f - b) + 45 * (d - c)) / (60 * h)
            columns.append(np.einsum("nkx,nx->nk", basis, slope).ravel())
    return np.array(columns).T


def rates(name: str, beta: float, flow: mf.Flow) -> ClusterRates:
    problem = mf.Problem(SPHERE, mf.exponential(beta), flow)
    return cluster_rates(problem, mf.Measure(SPHERE, vertices(name)))


def spectra(name: str, beta: float) -> list[tuple[mf.Flow, np.ndarray]]:
    points = vertices(name)
    expected = np.sort(SPECTRA[name](beta))[::-1] * np.exp(-abs(beta))
    partition = np.exp(beta * (points @ points[0])).mean() * np.exp(-abs(beta))
    return [(mf.USA, expected), (mf.SA, expected / partition)]


def rates_by_differences(name: str, beta: float, flow: mf.Flow, by_moments: bool) -> np.ndarray:
    """Eigenvalues of the derivative of the velocity that runs use, largest first."""
    problem, points = mf.Problem(SPHERE, mf.exponential(beta), flow), vertices(name)
    carrier, field = particles(problem, mf.Measure(SPHERE, points)), interaction(problem)

    def velocity(x: np.ndarray) -> np.ndarray:
        if by_moments:
            return field.field(SPHERE.moments(x, None, field.degree)).velocity(x)
        return carrier.rhs(0.0, x.ravel()).reshape(-1, 3)

    eigenvalues = np.linalg.eigvals(jacobian(velocity, points))
    assert np.abs(eigenvalues.imag).max() < 1e-7
    return np.sort(eigenvalues.real)[::-1]


@each("name", SPECTRA, beta=[-4.0, 1.0, 5.0, 10.0, 81.0])
def test_escape_rates_are_the_closed_forms(name, beta, verified):
    """Every rate and its multiplicity, relative to the largest, down to 1e-70."""
    for flow, spectrum in spectra(name, beta):
        escape = rates(name, beta, flow).escape
        # An exponent of up to 2 beta rounds, and so does every coordinate of a vertex.
        size = np.abs(spectrum).max()
        what = "escape rates of polytopes of clusters, sphere, relative to the largest"
        verified("exact solutions", what, (escape - spectrum) / size, 2e-15 * (2 + abs(beta)))


@each("name", SPECTRA, beta=[-4.0, 1.0, 5.0, 10.0], by_moments=[False, True])
def test_velocity_of_runs_has_these_rates(name, beta, by_moments, verified):
    """Sums over pairs and by moments, differentiated numerically."""
    for flow, spectrum in spectra(name, beta):
        result = rates_by_differences(name, beta, flow, by_moments)
        # Differences: h^6 beta^7 / 140 of them, and rounding eps / h.
        slack = 1e-9 * np.abs(spectrum).max() + 2e-12
        what = "escape rates of polytopes from the velocity of runs, sphere"
        verified("exact solutions", what, result - spectrum, slack)


@each(
    "name, printed, count",
    [
        ("pair", lambda b: np.exp(-b), 2),
        ("tetrahedron", lambda b: 2 * b / 3 * np.exp(-b / 3), 2),
        ("octahedron", lambda b: 2 * b / 3, 3),
    ],
    beta=[5.0, 10.0],
)
def test_largest_escape_rate_is_the_printed_one(name, printed, count, beta):
    """Which of the closed forms is largest, and how often, at betas for which theory says so."""
    largest = rates(name, beta, mf.USA).escape[: count + 1] * np.exp(beta)
    np.testing.assert_allclose(largest[:count], printed(beta), rtol=1e-13)
    assert largest[count] < 0.99 * largest[0]


def test_icosahedron_escapes_at_the_printed_rate():
    """At beta = 5: 12.2693 (USA) and 0.752193 (SA)."""
    usa, sa = (rates("icosahedron", 5.0, flow).escape[0] for flow in (mf.USA, mf.SA))
    assert usa * np.exp(5.0) == pytest.approx(12.2693, abs=5.1e-5)
    assert sa == pytest.approx(0.752193, abs=5.1e-7)


@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
@pytest.mark.parametrize("name", ["tetrahedron", "octahedron"])
def test_a_run_leaves_a_polytope_at_its_rate(name, flow, verified):
    """Two e-folds of a disturbance of 1e-6 along the fastest direction, at beta = 5."""
    problem, points = mf.Problem(SPHERE, mf.exponential(5.0), flow), vertices(name)
    result = rates(name, 5.0, flow)
    rate, tangent = result.escape[0], result.modes[0]
    offsets = []
    for sign in (1e-6, -1e-6):
        moved = mf.Measure(SPHERE, SPHERE.check_points(points + sign * tangent))
        stream = trajectory(problem, particles(problem, moved), [0.0, 2.0 / rate], tolerance=1e-13)
        offsets.append([snapshot.measure.points for snapshot in stream])
    # Odd in the disturbance: nonlinear terms of the second order cancel.
    before, after = (np.linalg.norm(plus - minus) for plus, minus in zip(*offsets, strict=True))
    what = "runs leave polytopes at their rate, sphere, relative"
    verified("exact solutions", what, np.log(after / before) / 2.0 - 1, 1e-6)


@pytest.mark.parametrize("beta, stable", [(-0.6, False), (-0.7, True)])
def test_triangle_becomes_stable_below_minus_two_thirds(beta, stable):
    """In its plane at beta < -2/3; perpendicular to it the rate e^{-beta / 2} stays positive."""
    result = rates("triangle", beta, mf.USA).escape * np.exp(abs(beta))
    in_plane, across = np.exp(-beta / 2) * (0.5 + 0.75 * beta), np.exp(-beta / 2)
    for rate in (in_plane, in_plane, across):
        assert np.abs(result - rate).min() < 1e-14
    assert (in_plane < 0) == stable
