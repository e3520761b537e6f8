"""Kernels of the sphere: the same compiled and as Python, where every index is checked."""

import numpy as np
import pytest
from parameters import each

ROOM, SPACE = "engines.harmonics", "spaces.sphere"


def _unit(count: int, seed: int = 0) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(count, 3))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _weights(count: int) -> np.ndarray:
    return np.random.default_rng(count).dirichlet(np.ones(count))


@pytest.mark.parametrize("targets", [None, _unit(2, 1)])
@each("beta", [5.0, -5.0, 900.0, -900.0], normalized=[False, True])
def test_pairs(agree, beta, normalized, targets):
    """Tokens would be met twice or not at all; beta = 900 takes the way around underflow."""
    args = (_unit(3), _weights(3), beta, normalized, targets)
    # Rounding of exponents up to 1800.
    agree("engines.pairs.sphere:exponential_velocity_sphere", *args, rtol=1e-11, atol=1e-300)


def test_angles_and_tangent_vectors(agree):
    """Points on the axes, in every octant and of no direction would divide by zero."""
    signs = np.array([[x, y, z] for x in (1, -1, 0) for y in (2, -2, 0) for z in (3, -3, 0)])
    vectors = np.concatenate([signs, [[np.nan, 0.0, 1.0], [1e-200, 0.0, 0.0]]]).astype(float)
    agree(f"{ROOM}.angles:angles_of", vectors, atol=1e-15)
    components = np.random.default_rng(0).normal(size=(2, 26))
    args = (vectors[:26], components, np.empty((26, 3)))
    agree(_written, f"{ROOM}.angles:tangent_vectors", args, atol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("degree", [0, 5, 6])
def test_solid_harmonics(agree, degree):
    """Blocks, pairs of degrees and groups of orders that are not full would be left by one."""
    vectors = np.concatenate([_unit(131), [[0.0, 0.0, -2.0], [1e-9, 0.0, 1.0], [0.0, 0.0, 0.0]]])
    count = (degree + 1) * (degree + 2) // 2
    field = np.arange(1.0, count + 1) + 1j * np.arange(count)
    solid = f"{ROOM}.solid"
    agree(f"{solid}:moments", vectors[:-1], _weights(133), degree, atol=1e-14)
    agree(f"{solid}:moments", vectors, None, degree)
    agree(f"{solid}:evaluate", field, vectors, atol=1e-11)
    agree(f"{solid}:gradient", field, vectors, None, atol=1e-10)
    # Where the divisor is zero the quotient is no number to compare.
    agree(f"{solid}:gradient", field, vectors[:130], field[:1] + 5.0, atol=1e-10)


def _written(function: str, args: tuple[np.ndarray, ...]) -> np.ndarray:
    import importlib

    module, name = function.split(":")
    getattr(importlib.import_module(f"meanfield.{module}"), name)(*args)
    return args[-1]


def _states() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(2)
    centres = _unit(3)[rng.integers(0, 3, 60)]
    near = centres + 10.0 ** rng.uniform(-3.0, -0.7, (60, 1)) * rng.normal(size=(60, 3))
    return {
        "uniform": _unit(60), "clusters": near / np.linalg.norm(near, axis=1, keepdims=True),
        "collapsed": centres, "one": _unit(1),
    }  # fmt: skip


@each("radius", [0.02, 0.3, 1.2], state=_states())
def test_neighbourhoods(agree, state, radius):
    """A box would be split that has no parts, or a pile read above its top."""
    points = _states()[state]
    mass = _weights(len(points))
    agree(f"{SPACE}.neighbourhoods:dense", points, None, radius, 0.1)
    agree(f"{SPACE}.neighbourhoods:dense", points, mass, radius, 0.1)
    agree(f"{SPACE}.neighbourhoods:_mass_within", points, mass, radius, np.inf)
    agree(f"{SPACE}.neighbourhoods:linked", points, radius)


@pytest.mark.parametrize("threshold", [0.0, 0.03, 0.12])
def test_groups_on_rings(agree, threshold):
    """A window would reach beyond a ring, or a run beyond its end."""
    mass = np.random.default_rng(3).dirichlet(np.full(60, 0.1)).reshape(6, 10)
    theta = np.linspace(0.2, 3.0, 6)
    agree(f"{ROOM}.ring_groups:groups", theta, mass, 0.5, threshold, atol=1e-15)


def test_tree_of_many_boxes(agree):
    """Nodes beyond the first 64 would be written behind their arrays."""
    from meanfield.engines.harmonics.box_tree import curve_order

    points = _unit(400)
    agree(f"{ROOM}.box_tree:build", points[curve_order(points, True)], _weights(400))
    first, last = np.array([0, 0, 20_000, 0]), np.array([30_000, 20_000, 30_000, 0])
    agree(f"{ROOM}.neighbourhood_kernels:_subtrees", first, last, np.array([1, 0, 0, 0]))


def _field(degree: int, seed: int) -> np.ndarray:
    from meanfield.spaces.sphere.maxima import gaussian_fields

    variances = np.append(0.0, np.ones(degree))
    return gaussian_fields(variances, 1, np.random.default_rng(seed))[0]


@pytest.mark.slow
def test_maxima(agree):
    """A cell would be written beyond the last, or a summit be counted twice."""
    field = _field(2, 0)
    agree(f"{SPACE}.maxima:count_maxima", field[None])
    agree(f"{SPACE}.maxima:basins", field, _unit(6), atol=1e-9)
    agree(f"{SPACE}.maxima:maxima", field, atol=1e-9)


@pytest.mark.parametrize("hessian", [(-2.0, 0.5, -1.0), (2.0, 0.0, -1.0), (-1e-30, 0.0, 0.0)])
def test_verdicts(agree, hessian):
    """An eigenvalue of zero would be divided by."""
    for gradient in ((0.0, 0.0), (0.1, -0.2), (3.0, 4.0)):
        agree(f"{ROOM}.maxima_kernels:newton", *gradient, *hessian)
        for radius in (1e-3, 0.3):
            args = (*gradient, *hessian, radius, 1.0, 1e-15)
            agree(f"{ROOM}.maxima_kernels:verdict", *args)


def test_heat(agree):
    """Normals beyond the table would read past its end."""
    normals = np.array([[0.1, 0.2], [9.0, 9.0], [0.0, 0.0], [1.0, -2.0]])
    agree(f"{ROOM}.heat:diffuse", _unit(4), 0.1, normals, atol=1e-14)
