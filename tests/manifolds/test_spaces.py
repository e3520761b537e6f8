"""Geometry of all spaces, whatever their dimension and however they store points."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import meanfield as mf
from meanfield.manifolds import MANIFOLDS, Basis, Manifold, Space

SPACES = [mf.Circle(), mf.Sphere(), mf.Sphere(5), mf.Sphere(8)]


def points_of(space: Space, count: int = 6, seed: int = 3) -> np.ndarray:
    """Random points."""
    return space.random_points(count, np.random.default_rng(seed))


@pytest.mark.parametrize("name", MANIFOLDS)
def test_manifolds_are_spaces_with_a_basis(name: str) -> None:
    """Problems find their manifold by name; what it lacks would be missed in a run."""
    manifold: Manifold = MANIFOLDS[name]()
    promised = [member for member in {*dir(Space), *dir(Basis)} if not member.startswith("_")]
    assert [member for member in promised if not hasattr(manifold, member)] == []
    assert manifold.name == name
    uniform = manifold.from_modes([])
    assert len(manifold.modal_axes) == manifold.spread(uniform).ndim


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_points_are_unit_vectors_and_back(space: Space) -> None:
    """Matrices act on vectors: what comes back would be another point."""
    points = points_of(space)
    x = space.vectors(points)
    assert x.shape == (6, space.dimension + 1)
    np.testing.assert_allclose((x**2).sum(axis=1), 1.0, rtol=8e-16)
    # Of any length.
    again = space.points_of(3.0 * x)
    np.testing.assert_allclose(space.distance(again, points), 0.0, atol=1e-15)
    np.testing.assert_allclose(
        np.cos(space.distance(points[:, None], points)), x @ x.T, rtol=0, atol=1e-15
    )
    assert space.check_points(points).shape == (6, *space.point_shape)
    np.testing.assert_array_equal(space.unflattened(points.ravel()), points)
    origin = space.vectors(space.check_points(np.asarray(space.origin)[None]))
    assert np.count_nonzero(origin) == 1


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_projection_is_the_velocity_of_steps_along_a_vector(space: Space) -> None:
    """P_x v is where the direction of x + h v goes; its length and its product with numbers."""
    points, h = points_of(space), 1e-6
    rng = np.random.default_rng(4)
    v = rng.standard_normal((6, space.dimension + 1))
    tangent = space.project(points, v)
    x = space.vectors(points)
    ambient = v - (x * v).sum(axis=1)[:, None] * x
    np.testing.assert_allclose(space.squared_norm(tangent), (ambient**2).sum(axis=1), rtol=1e-13)
    moved, _ = space.retract(points + h * tangent)
    np.testing.assert_allclose(space.vectors(moved), x + h * ambient, rtol=0, atol=20 * h**2)
    numbers = np.arange(6.0)
    np.testing.assert_allclose(
        space.squared_norm(tangent * space.per_point(numbers)),
        numbers**2 * space.squared_norm(tangent),
        rtol=1e-14,
    )


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_random_points_are_uniform(space: Space) -> None:
    """The mean of x x^T is 1 / d, to six standard errors of 20,000 points."""
    x = space.vectors(points_of(space, 20_000))
    d = space.dimension + 1
    np.testing.assert_allclose(
        x.T @ x / len(x), np.eye(d) / d, rtol=0, atol=6 / np.sqrt(len(x)) / d
    )


def test_spheres_of_any_dimension_are_one_family() -> None:
    """Equal, pickled, printed and named by R^d around them."""
    assert mf.Hypersphere(7) == mf.Sphere(8) == pickle.loads(pickle.dumps(mf.Sphere(8)))
    assert mf.Sphere(3) == mf.Sphere() != mf.Sphere(2)
    assert [repr(mf.Sphere(d)) for d in (3, 8)] == ["Sphere()", "Sphere(8)"]
    assert [mf.Sphere(d).name for d in (2, 3, 8)] == ["sphere:2", "sphere", "sphere:8"]
    with pytest.raises(ValueError, match=r"lies in R\^D, D an integer >= 2, got D = 1"):
        mf.Sphere(1)
    with pytest.raises(ValueError, match=r"got D = 2.5"):
        mf.Sphere(2.5)  # type: ignore[arg-type]
    for dimension in (0, "a"):
        with pytest.raises(ValueError, match=f"an integer of at least 1, got {dimension!r}"):
            mf.Hypersphere(dimension)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        mf.Circle(4)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "call",
    [
        lambda space: space.grid(4),
        lambda space: space.from_modes([]),
        lambda space: space.packed(np.zeros((2, 3, 3))),
        lambda space: mf.Density(space, np.ones(6)),
        lambda space: mf.Measure(space, np.eye(8)).moments(2),
        lambda space: space.diffuse(np.eye(8), 0.1, np.zeros((8, 2))),
    ],
)
def test_harmonics_are_those_of_the_sphere_alone(call) -> None:
    """Coefficients on S^7 would be taken for those on S^2."""
    with pytest.raises(ValueError, match="sphere:8 is for theory only; evolve on the circle or"):
        call(mf.Sphere(8))


def test_points_of_another_dimension_are_refused() -> None:
    """A point of S^2 is none of S^7."""
    with pytest.raises(ValueError, match=r"points have shape \(2, 3\), expected vectors \(n, 8\)"):
        mf.Measure(mf.Sphere(8), np.eye(3)[:2])
