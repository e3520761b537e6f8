"""Kernels of transport distances: the same compiled and as Python, where indices are checked."""

import numpy as np
import pytest
from parameters import each


def _measure(kind: str) -> tuple[str, object]:
    rng = np.random.default_rng(1)
    return {
        "tokens": ("Measure", rng.uniform(-7.0, 7.0, 9)),
        "weighted": ("Measure", rng.uniform(-7.0, 7.0, 7), rng.dirichlet(np.ones(7))),
        "smooth": ("Density", np.array([1.0, 0.3 - 0.2j, 0.1j])),
        "smoother": ("Density", np.array([1.0, 0.1j])),
        "peaked": ("Density", np.exp(-0.02 * np.arange(25) ** 2 - 2j * np.arange(25))),
    }[kind]


def _distance(manifold: str, first: tuple, second: tuple, p: int, cost: str):  # type: ignore[no-untyped-def,type-arg]
    import meanfield as mf

    place = getattr(mf, manifold)()
    measures = [getattr(mf, kind)(place, *args) for kind, *args in (first, second)]
    distance = mf.wasserstein(*measures, p=p, cost=cost)
    return distance if manifold == "Circle" else (distance.lower, distance.value, distance.upper)


PAIRS = [
    ("tokens", "tokens"), ("tokens", "weighted"), ("tokens", "peaked"), ("weighted", "smooth"),
    ("smooth", "smoother"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_circle(agree, pair, p):
    """A cell or a level beyond the last would be read, where a circle closes."""
    first, second = map(_measure, pair)
    agree(_distance, "Circle", first, second, p, "geodesic", rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("cost", ["geodesic", "chordal"])
@pytest.mark.parametrize("p", [1, 2])
def test_sphere(agree, p, cost):
    """The simplex would hang a tree by a missing node."""
    first = ("Measure", np.random.default_rng(1).normal(size=(12, 3)))
    rng = np.random.default_rng(1)
    second = ("Measure", rng.normal(size=(9, 3)), rng.dirichlet(np.ones(9)))
    agree(_distance, "Sphere", first, second, p, cost, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("levels", [np.zeros(0), np.cumsum(np.full(7, 1.0 / 7.0))])
def test_samples_of_many_points(agree, levels):
    """The level before the first point, or after the last, would be one of memory's."""
    from meanfield.engines.fourier.cdf import local_polynomials

    points = np.sort(np.random.default_rng(0).uniform(0.0, 6.0, 7))
    rows = local_polynomials(np.array([1.0, 0.3 - 0.2j, 0.1j]))
    agree("transport.circle.w1:_samples", points, levels, rows, 1.0, 16, atol=1e-15)


def test_pieces_outside_a_window(agree):
    """Lengths above and below the window would not be those that are left out."""
    from meanfield.engines.fourier.cdf import local_polynomials

    points = np.array([1.0, 1.0, 2.5, 6.0])
    rows = local_polynomials(np.array([1.0, 0.3 - 0.2j, 0.1j]))
    values = np.empty((len(points) + len(rows), 7))
    args = (points, np.zeros(0), rows, 1.0, -0.05, 0.05, values)
    agree("transport.circle.w1:_sort_out", *args, atol=1e-15)


def _tangents(count: int, reach: float) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(count)
    points, slopes, normals = rng.normal(size=(3, count, 3)) / 3.0
    reaches = reach * rng.uniform(0.0, 1.0, count)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points, reaches, slopes, normals, rng.normal(size=count) / 9.0


def _transform(first: tuple, second: tuple, duals: np.ndarray, geodesic: bool, p: int):  # type: ignore[no-untyped-def,type-arg]
    from meanfield.transport.sphere.tangents import Tangents, transform

    return transform(Tangents(*first), Tangents(*second), duals, geodesic, p)


@each("geodesic, p", [(True, 1), (False, 2)], reaches=[(0.0, 0.0), (0.1, 0.0), (0.0, 0.2)])
def test_transform(agree, geodesic, p, reaches):
    """A run of neighbours would be left out, or looked for beyond the tree."""
    first, second = _tangents(5, reaches[0]), _tangents(40, reaches[1])
    duals = 0.3 * second[0][:, 0]
    agree(_transform, first, second, duals, geodesic, p, atol=1e-14)


def test_products_of_edges_and_parts(agree):
    """A sink without parts would take the next sink's."""
    agree("transport.sphere.plans:_products", np.array([0, 2, 2, 5]), np.array([0, 3, 4, 6]))


@pytest.mark.parametrize("geodesic", [True, False])
@pytest.mark.parametrize("p", [1, 2])
def test_costs(agree, geodesic, p):
    """Series, antipodes and slopes at zero are branches of their own."""
    costs = "transport.sphere.search"
    for chord in (0.0, 1e-5, 0.7, 1.99):
        agree(f"{costs}:cost_of_chord", chord, geodesic, p)
        agree(f"{costs}:slope_of_chord", chord, geodesic, p)
        agree(f"{costs}:pair_slope", chord, 0.0, geodesic, p)
        agree(f"{costs}:slope_variation", 0.5 * chord, chord, geodesic, p)
    agree(f"{costs}:cost_of_chord", 2.0, geodesic, p)
