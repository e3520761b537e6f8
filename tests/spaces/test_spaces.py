"""Spaces, their bases and grids, noise on them, and the doors to what they have besides."""

import pickle

import numpy as np
import pytest
import scipy.special
from parameters import refused, together

import meanfield as mf
from meanfield.spaces import MANIFOLDS, Basis, Geometry, Manifold, label_cells, maxima
from meanfield.spaces.manifold import laplacian_eigenvalues

SPACES = [mf.Circle(), mf.Sphere(), mf.Sphere(5), mf.Sphere(8)]
BASES = [make() for make in MANIFOLDS.values()]
on_each = pytest.mark.parametrize("space", SPACES, ids=repr)
both = pytest.mark.parametrize("space", BASES, ids=repr)


def points_of(space: Geometry, count: int = 6, seed: int = 3) -> np.ndarray:
    return space.random_points(count, np.random.default_rng(seed))


@pytest.mark.parametrize("name", MANIFOLDS)
def test_manifolds_are_spaces_with_a_basis(name):
    """Problems find their manifold by name; what it lacks would be missed in a run."""
    manifold: Manifold = MANIFOLDS[name]()
    promised = [member for member in {*dir(Geometry), *dir(Basis)} if not member.startswith("_")]
    assert [member for member in promised if not hasattr(manifold, member)] == []
    assert manifold.name == name
    uniform = manifold.from_modes([])
    assert len(manifold.modal_axes) == manifold.unpacked(uniform).ndim


@on_each
def test_points_are_unit_vectors_and_back(space):
    """Matrices act on vectors: what comes back would be another point."""
    points = points_of(space)
    x = space.vectors(points)
    assert x.shape == (6, space.dimension + 1)
    np.testing.assert_allclose((x**2).sum(axis=1), 1.0, rtol=8e-16)
    # Vectors of any length.
    again = space.points_of(3.0 * x)
    assert space.distance(again, points).max() < 1e-15
    cosines = np.cos(space.distance(points[:, None], points))
    np.testing.assert_allclose(cosines, x @ x.T, rtol=0, atol=1e-15)
    assert space.check_points(points).shape == (6, *space.point_shape)
    np.testing.assert_array_equal(space.unflattened(points.ravel()), points)
    origin = space.vectors(space.check_points(np.asarray(space.origin)[None]))
    assert np.count_nonzero(origin) == 1


@pytest.mark.parametrize("space", [*SPACES, mf.Axial(4), mf.Euclidean(3)], ids=repr)
def test_mass_alone_has_no_order(space):
    """Moments of degree 0 raised an IndexError on the circle and for axial measures."""
    assert space.order_parameter(space.moments(points_of(space), None, 0)) == 0.0


@on_each
def test_projection_is_the_velocity_of_steps_along_a_vector(space):
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
    squares = space.squared_norm(tangent * space.per_point(numbers))
    np.testing.assert_allclose(squares, numbers**2 * space.squared_norm(tangent), rtol=1e-14)


@on_each
def test_random_points_are_uniform(space):
    """The mean of x x^T is 1 / d, to six standard errors of 20,000 points."""
    x = space.vectors(points_of(space, 20_000))
    d = space.dimension + 1
    bound = 6 / np.sqrt(len(x)) / d
    np.testing.assert_allclose(x.T @ x / len(x), np.eye(d) / d, rtol=0, atol=bound)


def test_spheres_of_any_dimension_are_one_family():
    """Equal, pickled, printed and named by R^d around them."""
    assert mf.Sphere(8.0) == mf.Sphere(8) == pickle.loads(pickle.dumps(mf.Sphere(8)))
    assert mf.Sphere(3) == mf.Sphere() != mf.Sphere(2)
    assert [repr(mf.Sphere(d)) for d in (3, 8)] == ["Sphere()", "Sphere(8)"]
    assert [mf.Sphere(d).name for d in (2, 3, 8)] == ["sphere:2", "sphere", "sphere:8"]
    refused(r"lies in R\^D, D an integer >= 2, got D = 1", mf.Sphere, 1)
    refused("ambient must be an integer, got 2.5", mf.Sphere, 2.5)
    message = r"Hypersphere\(m\), S\^m, is Sphere\(m \+ 1\)"
    refused(message, getattr, mf, "Hypersphere", error=AttributeError)
    refused("one argument too many", mf.Circle, 4, error=TypeError)


@pytest.mark.parametrize(
    "call, argument",
    [(mf.Sphere.grid, 4), (mf.Sphere.from_modes, []), (mf.Density, np.ones(6))],
    ids=["grid", "modes", "density"],
)
def test_harmonics_are_those_of_the_sphere_alone(call, argument):
    """Coefficients on S^7 would be taken for those on S^2."""
    refused("axis|no harmonics", call, mf.Sphere(8), argument)


def test_points_of_another_dimension_are_refused():
    """A point of S^2 would pass on S^7."""
    message = r"points have shape \(2, 3\), expected vectors \(n, 8\)"
    refused(message, mf.Measure, mf.Sphere(8), np.eye(3)[:2])


@pytest.mark.slow
@both
def test_doors_lead_to_the_room_of_the_space(space):
    """Maxima of one space would be looked for on another."""
    fields = maxima.gaussian_fields(space, np.array([0.0, 1.0, 1.0]), 3, np.random.default_rng(0))
    summits = [maxima.maxima(space, field) for field in fields]
    np.testing.assert_array_equal(maxima.count_maxima(space, fields), [len(x) for x in summits])
    assert maxima.basins(space, fields[0], summits[0])[0] == 0
    cells = label_cells.label_cells(space, 1.0)
    again = label_cells.cells_of(space, cells.bounds)
    np.testing.assert_array_equal(again.points, cells.points)


def test_doors_refuse_a_space_without_the_room():
    """A KeyError would not say where maxima are known."""
    message = "no search for maxima is known on the sphere:8. Known: "
    refused(message, maxima.maxima, mf.Sphere(8), np.ones(3))


@pytest.mark.parametrize("space", [mf.Circle(), mf.Sphere(), mf.Axial(4)], ids=repr)
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_fields_that_are_not_finite_have_no_maxima(space, wrong):
    """They counted 0, or the search for them did not end well."""
    field = np.ones((2, 6), dtype=np.complex128)
    field[1, 3] = wrong
    for search in (maxima.maxima, lambda *of: maxima.basins(*of, np.zeros(1))):
        refused("a field holds NaN or infinity", search, space, field[1])
    refused("a field holds NaN or infinity", maxima.count_maxima, space, field)


def random_field(space: Manifold, degree: int, seed: int = 0) -> np.ndarray:
    """Coefficients of a real field: moments of points with masses of both signs."""
    rng = np.random.default_rng(seed)
    return space.moments(space.random_points(40, rng), rng.normal(size=40) / 6.0, degree)


@both
def test_inner_product_is_the_integral(space):
    """Int f g dsigma of real fields, of different degree."""
    f, g, grid = random_field(space, 4), random_field(space, 8, seed=1), space.grid(8)
    expected = grid.weights @ (grid.to_nodal(f) * grid.to_nodal(g))
    assert space.inner(f, g) == pytest.approx(expected, rel=1e-13)
    assert space.inner(g, f) == pytest.approx(expected, rel=1e-13)


@both
def test_moments_of_points_are_coefficients_of_their_density(space):
    """Moments and coefficients share one convention: m_l = int conj(Y_l) dmu."""
    f, grid = random_field(space, 6), space.grid(6)
    moments = space.moments(grid.points, grid.to_nodal(f) * grid.weights, 6)
    np.testing.assert_allclose(moments, f, rtol=0, atol=1e-14)


@both
def test_values_and_slopes_at_points_are_those_of_the_grid(space):
    """Scattered points and grid must use one basis; the divisor divides."""
    f, grid = random_field(space, 8), space.grid(8)
    z = 0.1 * space.resize(random_field(space, 2, seed=1), 4)
    z[0] = 2.0
    points = np.ascontiguousarray(grid.points)
    slack = 1e-13
    np.testing.assert_allclose(space.evaluate(f, points), grid.to_nodal(f), rtol=0, atol=slack)
    squared = grid.squared_norm(grid.gradient(f))
    norms = space.squared_norm(space.gradient(f, points))
    np.testing.assert_allclose(norms, squared, rtol=0, atol=slack * squared.max())
    quotient = space.gradient(f, points) / space.per_point(grid.to_nodal(z))
    np.testing.assert_allclose(space.gradient(f, points, z), quotient, rtol=0, atol=4 * slack)


@both
def test_order_parameter_is_the_length_of_the_mean_vector(space):
    """|int x dmu| of tokens, from moments of degree 1 or more."""
    points = space.random_points(7, np.random.default_rng(2))
    expected = np.linalg.norm(space.vectors(points).mean(axis=0))
    for degree in (1, 5):
        order = space.order_parameter(space.moments(points, None, degree))
        assert order == pytest.approx(expected, rel=1e-14)


@both
def test_resize_and_convolve_cut_or_fill_with_zeros(space):
    """Refining must not invent coefficients; degrees beyond the shorter are cut."""
    f = random_field(space, 3)
    wide = space.resize(f, 7)
    assert (space.degree_of(f), space.degree_of(wide)) == (3, 7)
    np.testing.assert_array_equal(space.resize(wide, 3), f)
    assert np.abs(wide).sum() == pytest.approx(np.abs(f).sum(), rel=1e-15)
    doubled = space.convolve(np.array([1.0, 2.0]), f)
    expected = [1.0, 2.0] * space.sizes_by_degree(f)[:2]
    np.testing.assert_allclose(space.sizes_by_degree(doubled), expected, rtol=1e-15)
    np.testing.assert_array_equal(space.convolve(np.ones(8), f), f)


@both
@pytest.mark.parametrize("degree", [0, 1, 2, 7, 64, 127])
def test_roundtrip_is_the_identity(space, degree):
    """Analysis undoes synthesis; rounding grows with the degree."""
    grid, f = space.grid(degree), random_field(space, degree)
    assert len(grid.weights) == len(grid.points) and grid.weights.min() > 0
    assert grid.weights.sum() == pytest.approx(1.0, abs=1e-14)
    result = grid.to_modal(grid.to_nodal(f))
    np.testing.assert_allclose(result, f, rtol=0, atol=1e-15 * (degree + 4) * np.abs(f).max())


@both
@pytest.mark.parametrize("degree", [1, 6, 63, 127])
def test_divergence_of_the_gradient_is_the_laplacian(space, degree):
    """Degree by degree -l (l + d - 2); nothing of degree 0."""
    grid, f = space.grid(degree), random_field(space, degree)
    divergence = grid.divergence(grid.gradient(f))
    expected = -space.convolve(laplacian_eigenvalues(space.dimension, degree), f)
    slack = 1e-14 * degree * np.abs(expected).max()
    np.testing.assert_allclose(divergence, expected, rtol=0, atol=slack)
    assert divergence[0] == 0


TOKENS = 200_000


@pytest.mark.parametrize("times", [[0.06], [0.004], [0.2], [0.15, 0.15]], ids=repr)
@both
def test_moments_decay_with_the_eigenvalues(space, times):
    """Noise without memory or direction has the generator Laplacian: e^{-l(l+d-2) t}, l <= 6."""
    rng = np.random.default_rng(len(times) - 1)
    start = moved = np.repeat(space.random_points(1, rng), TOKENS, axis=0)
    for time in times:
        normals = rng.standard_normal((TOKENS,) if space.dimension == 1 else (TOKENS, 2))
        moved = space.diffuse(moved, time, normals)
    decay = np.exp(-sum(times) * laplacian_eigenvalues(space.dimension, 6))
    # Zonal harmonics, 1 where points coincide.
    zonal = scipy.special.eval_chebyt if space.dimension == 1 else scipy.special.eval_legendre
    for l in range(1, 7):
        values = zonal(l, np.cos(space.distance(moved, start)))
        assert abs(values.mean() - decay[l]) < 4.0 * values.std() / np.sqrt(TOKENS)
    # Moments of every order: E error^2 <= harmonics / n on the sphere; on the circle the size of an
    # error is that of one of two.
    expected = space.convolve(decay, space.moments(start[:1], None, 6))
    error = space.sizes_by_degree(space.moments(moved, None, 6) - expected)
    harmonics = 2 * np.arange(7) + 1 if space.dimension == 2 else np.ones(7)
    assert np.all(error[1:] < 4.0 * np.sqrt(harmonics / TOKENS)[1:])


@together("time", [-0.1, float("nan")])
@together("space", [*BASES, mf.Sphere(5), mf.Euclidean(3)])
def test_refuses_times_that_are_none(space, time):
    """Noise cannot run backwards; the root of a negative time would be NaN in silence."""
    points = space.random_points(2, np.random.default_rng(0))
    shape = (2,) if space.dimension == 1 else (2, space.dimension)
    message = "is not a time to diffuse for, expected at least 0"
    refused(message, space.diffuse, points, time, np.zeros(shape))


@both
def test_refuses_normals_that_do_not_fit(space):
    """Broadcasting would move all tokens alike."""
    points = space.random_points(2, np.random.default_rng(0))
    for wrong in (np.zeros(1), np.zeros((1, 2)), np.zeros((2, 3))):
        refused(r"points have shape .* and normals .*, expected", space.diffuse, points, 0.1, wrong)
