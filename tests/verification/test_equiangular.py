"""Tokens that start orthogonal keep one common cosine gamma, which obeys one equation.

    SA    gamma' = 2 (1 - gamma) ((n - 1) gamma + 1) / (e^{beta (1 - gamma)} + n - 1)
    USA   gamma' = (2 / n) e^{beta gamma - |beta|} (1 - gamma) ((n - 1) gamma + 1), scaled time

Geshkovski, Letrouit, Polyanskiy, Rigollet, arXiv:2312.10794, eq. 6.9 and 6.10.
"""

import numpy as np
import pytest
from parameters import each
from scipy.integrate import solve_ivp

import meanfield as mf

STARTS = {
    "circle": (mf.Circle(), np.array([0.3, 0.3 + np.pi / 2])),
    # A rotated frame, no axis of the grid.
    "sphere": (mf.Sphere(), np.linalg.qr(np.array([[2.0, 1, 3], [1, -1, 2], [0, 1, 1]]))[0]),
}


def exact_cosine(n: int, beta: float, normalized: bool, end: float) -> float:
    def speed(_: float, gamma: np.ndarray) -> np.ndarray:
        both = 2 * (1 - gamma) * ((n - 1) * gamma + 1)
        if normalized:
            return both / (np.exp(beta * (1 - gamma)) + n - 1)
        return both * np.exp(beta * gamma - abs(beta)) / n

    solution = solve_ivp(speed, (0.0, end), [0.0], "DOP853", rtol=1e-13, atol=1e-14)
    return float(solution.y[0, -1])


@pytest.mark.parametrize("name", STARTS)
@each("beta", [-1.0, 2.0, 4.0], normalized=[False, True], carrier=["particles", "atoms"])
def test_orthogonal_tokens_keep_one_cosine(name, beta, normalized, carrier, verified):
    """A force of a wrong size, or one that is not tangent, would show in the first digits."""
    space, points = STARTS[name]
    law = mf.from_points(points, name="atoms")
    problem = mf.Problem(space, mf.exponential(beta), mf.Flow(normalized), law)
    n = len(points)
    # A share of the time in which the first speed would close the gap.
    end = 0.1 * (np.exp(beta) + n - 1 if normalized else n * np.exp(abs(beta)))
    run = mf.simulate(problem, until=end, save=[end], tolerance=1e-13, representation=carrier)
    result = run.measures[0].points
    vectors = np.column_stack([np.cos(result), np.sin(result)]) if name == "circle" else result
    gram = vectors @ vectors.T
    expected = exact_cosine(n, beta, normalized, end)
    cosines = gram[~np.eye(n, dtype=bool)]
    assert 0.05 < expected < 0.999
    what = f"common cosine of orthogonal tokens, {name}"
    verified("exact solutions", what, cosines - expected, 1e-11)


@pytest.mark.slow
@pytest.mark.parametrize(
    "n, beta, until, cosine",
    [
        (8, 5.0, 10.0, 0.5672911504513),
        (32, 1.0, 2.0, 0.5897728228996),
        (32, 9.0, 5.0, 0.001259498564551),
    ],
)
def test_orthogonal_tokens_of_many_dimensions(n, beta, until, cosine):
    """N tokens along the axes of R^n, closed form at 30 digits: all pairs alike, on the curve."""
    law = mf.from_points(np.eye(n))
    problem = mf.Problem(mf.Sphere(n), mf.exponential(beta), mf.SA, law)
    points = mf.simulate(problem, until=until, save=[until], tolerance=1e-13).measures[0].points
    cosines = (points @ points.T)[~np.eye(n, dtype=bool)]
    assert np.ptp(cosines) < 1e-12
    assert np.abs(cosines - cosine).max() < 1e-11
