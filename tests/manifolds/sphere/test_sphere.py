"""Geometry and layout of the sphere."""

import numpy as np
import pytest

import meanfield as mf
from meanfield.manifolds.extremes import extremes
from meanfield.manifolds.sphere import coefficients as packing
from meanfield.manifolds.sphere.sphere import Sphere

SPHERE = Sphere()


def random_field(degree: int, seed: int = 0) -> np.ndarray:
    """Coefficients of a real field."""
    rng = np.random.default_rng(seed)
    count = packing.count_of(degree)
    found = (rng.normal(size=count) + 1j * rng.normal(size=count)) / np.sqrt(count)
    found[: degree + 1] = found[: degree + 1].real
    return found


def density(degree: int = 3) -> np.ndarray:
    """Coefficients of a density."""
    found = 0.1 * random_field(degree)
    found[0] = 1.0
    return found


def test_distance_is_the_angle_near_and_far() -> None:
    """Also where the arc cosine of the product has lost all digits."""
    angles = np.array([0.0, 1e-12, 1e-5, 0.3, np.pi / 2, 3.0, np.pi - 1e-7])
    points = np.stack([np.sin(angles), 0 * angles, np.cos(angles)], axis=1)
    north = np.array([0.0, 0.0, 1.0])
    found = SPHERE.distance(points, north)
    np.testing.assert_allclose(found[:-1], angles[:-1], rtol=1e-15)
    # Near pi the distance to the antipode keeps its digits, to the rounding of the points.
    np.testing.assert_allclose(np.pi - found[-1], 1e-7, rtol=1e-8)
    assert SPHERE.distance(north, -north) == np.pi
    np.testing.assert_array_equal(SPHERE.distance(north, points), found)


def test_random_points_are_uniform() -> None:
    """Unit vectors whose moments of degree 1 to 4 are those of sigma within 4 deviations."""
    count = 20_000
    points = SPHERE.random_points(count, np.random.default_rng(1))
    assert points.shape == (count, 3)
    np.testing.assert_allclose((points**2).sum(axis=1), 1.0, rtol=1e-15)
    power = packing.power_by_degree(SPHERE.moments(points, None, 4))[1:]
    # 2 l + 1 squares of mean 1 / count each.
    orders = 2 * np.arange(1, 5) + 1
    assert np.all(np.abs(power * count - orders) < 4 * np.sqrt(2 * orders))


def test_sizes_by_degree_are_rotation_invariant_and_bound_coefficients() -> None:
    """A rotated density is resolved as well as before."""
    rng = np.random.default_rng(3)
    points = SPHERE.random_points(40, rng)
    rotation, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    moments = SPHERE.moments(points, None, 9)
    sizes = SPHERE.sizes_by_degree(moments)
    turned = SPHERE.sizes_by_degree(SPHERE.moments(points @ rotation.T, None, 9))
    np.testing.assert_allclose(turned, sizes, rtol=1e-13)
    assert np.all(sizes * (1 + 1e-15) >= np.abs(SPHERE.spread(moments)).max(axis=(0, 2)))
    # Of uniform alone, which has no degree 1.
    assert SPHERE.order_parameter(np.ones(1)) == 0.0


def test_retract_gives_unit_vectors_and_lengths() -> None:
    """Steps leave the sphere; what is no number stays none, without a warning."""
    points = np.array([[0.0, 0.0, 2.0], [3.0, 4.0, 0.0], [np.nan, 0.0, 1.0], [0.0, 0.0, 0.0]])
    found, lengths = SPHERE.retract(points)
    np.testing.assert_array_equal(found[:2], [[0.0, 0.0, 1.0], [0.6, 0.8, 0.0]])
    np.testing.assert_array_equal(lengths, [2.0, 5.0, np.nan, 0.0])
    assert np.all(np.isnan(found[2:]))


def test_check_points_normalises_any_finite_length() -> None:
    """Huge and tiny vectors too, whose squares leave the range of doubles."""
    directions = SPHERE.random_points(5, np.random.default_rng(4))
    lengths = np.array([1.0, 1e-5, 1e200, 1e-200, 7.0])
    found = SPHERE.check_points(directions * lengths[:, None])
    np.testing.assert_allclose(found, directions, rtol=0, atol=4e-16)
    np.testing.assert_allclose((found**2).sum(axis=1), 1.0, rtol=0, atol=1e-15)


def test_check_points_keeps_the_bits_of_unit_vectors() -> None:
    """A run that is resumed must start where it stopped."""
    found = SPHERE.check_points(np.random.default_rng(5).normal(size=(1000, 3)))
    np.testing.assert_array_equal(SPHERE.check_points(found), found)
    mixed = np.concatenate([found, [[0.0, 3.0, 4.0]]])
    np.testing.assert_array_equal(SPHERE.check_points(mixed)[:-1], found)


@pytest.mark.parametrize("shape", [(3,), (0, 3), (4, 2), (2, 2, 3)])
def test_check_points_refuses_other_shapes(shape: tuple[int, ...]) -> None:
    """One vector alone is an array of one row."""
    with pytest.raises(ValueError, match=r"points have shape \(.*\), expected vectors \(n, 3\)"):
        SPHERE.check_points(np.ones(shape))


@pytest.mark.parametrize(
    ("vector", "shown"),
    [
        ([0.0, 0.0, 0.0], r"\[0.0, 0.0, 0.0\]"),
        ([0.0, np.nan, 1.0], r"\[0.0, nan, 1.0\]"),
        ([-np.inf, 0.0, 1.0], r"\[-inf, 0.0, 1.0\]"),
    ],
)
def test_check_points_refuses_what_has_no_direction(vector: list[float], shown: str) -> None:
    """The message names the point."""
    points = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], vector])
    with pytest.raises(ValueError, match=f"point 2 is {shown}, expected a finite vector, not zero"):
        SPHERE.check_points(points)


def test_check_coefficients_takes_all_three_forms() -> None:
    """Packed, pyshtools' array, and SHCoeffs of any convention are one density."""
    f = density()
    theirs = packing.to_shcoeffs(f)
    forms = [f, SPHERE.spread(f), theirs, theirs.convert(normalization="ortho", csphase=-1)]
    for form in forms:
        np.testing.assert_allclose(SPHERE.check_coefficients(form), f, rtol=0, atol=1e-15)
    np.testing.assert_allclose(SPHERE.packed(SPHERE.spread(f)), f, rtol=0, atol=1e-16)


def test_check_coefficients_copies() -> None:
    """A density must not change with the array it was made from."""
    f = density()
    SPHERE.check_coefficients(f)[1] = 7.0
    assert f[1] != 7.0


def test_check_coefficients_removes_rounding_where_entries_are_real() -> None:
    """Order 0 has no imaginary part."""
    f = density()
    f[1] += 1e-17j
    assert np.all(SPHERE.check_coefficients(f)[:4].imag == 0.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((0, 1.1), r"coefficient of degree 0 is 1.1, expected the mass 1"),
        ((4, np.nan), "coefficients of a density must be finite"),
        ((4, complex(0, np.inf)), "coefficients of a density must be finite"),
        ((2, 0.1 + 0.1j), r"coefficient of degree 2 and order 0 is 0.1\+0.1j, expected it real"),
    ],
)
def test_check_coefficients_refuses_what_is_no_density(
    change: tuple[int, complex], message: str
) -> None:
    """Finite, mass 1, real where the order is 0."""
    f = density()
    f[change[0]] = change[1]
    with pytest.raises(ValueError, match=message):
        SPHERE.check_coefficients(f)


@pytest.mark.parametrize("shape", [(), (2, 6), (1, 1, 2, 2)])
def test_check_coefficients_refuses_other_shapes(shape: tuple[int, ...]) -> None:
    """One density, in one of the two layouts."""
    with pytest.raises(ValueError, match=r"coefficients have shape .* expected \(2, L \+ 1"):
        SPHERE.check_coefficients(np.ones(shape))


@pytest.mark.parametrize("degree", [0, 1, 7, 40])
def test_extremes_enclose_all_values(degree: int) -> None:
    """No value, at 20,000 points and at all nodes, leaves what extremes promises."""
    field = random_field(degree)
    lowest, where, bound = extremes(SPHERE, field)
    points = SPHERE.random_points(20_000, np.random.default_rng(6))
    values = SPHERE.evaluate(field, points)
    slack = 1e-12
    assert np.abs(values).max() <= bound
    # A factor of 1.17 is the bound's own, the rest is what 20,000 points miss.
    assert bound <= np.abs(values).max() * 1.35 + slack
    assert SPHERE.evaluate(field, where[None])[0] == pytest.approx(lowest, abs=slack)
    # The grid misses the lowest value by less than the samples do, at these degrees.
    assert lowest <= values.min() + 0.05 * np.abs(values).max()


def test_extremes_of_a_known_field() -> None:
    """1 + a Y_20 is lowest on the equator, 1 - a sqrt(5) / 2."""
    lowest, where, bound = extremes(SPHERE, SPHERE.from_modes([[2, 0, 0.4]]))
    assert lowest == pytest.approx(1 - 0.2 * np.sqrt(5), rel=1e-13)
    assert where[2] == pytest.approx(0.0, abs=1e-12)
    assert bound >= 1 + 0.4 * np.sqrt(5)


def test_extremes_in_strips_are_those_of_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is saved, no ring is lost."""
    from meanfield.manifolds.sphere import extremes as room

    field = random_field(12)
    whole = room.extremes(field)
    monkeypatch.setattr(room, "_STRIP", 300)
    parts = room.extremes(field)
    assert parts[0] == pytest.approx(whole[0], rel=1e-14)
    np.testing.assert_allclose(parts[1], whole[1], rtol=0, atol=1e-15)
    assert parts[2] == pytest.approx(whole[2], rel=1e-14)


def test_extremes_of_nan_are_nan() -> None:
    """Nothing that is no number is above a bound."""
    field = random_field(3)
    field[4] = np.nan
    lowest, _, bound = extremes(SPHERE, field)
    assert np.isnan(lowest)
    assert np.isnan(bound)


def test_shcoeffs_out_is_shcoeffs_in() -> None:
    """What pyshtools plots or saves would be another field."""
    law = mf.perturbed_uniform([[2, -1, 0.1], [3, 0, 0.05], [4, 4, 0.2]]).build(mf.Sphere())
    theirs = mf.Sphere().to_shcoeffs(law.coefficients)
    again = mf.Density(mf.Sphere(), theirs.convert(normalization="schmidt", csphase=-1))
    np.testing.assert_allclose(again.coefficients, law.coefficients, rtol=0, atol=1e-15)
    power = mf.Sphere().sizes_by_degree(law.coefficients) ** 2
    np.testing.assert_allclose(theirs.spectrum(), power, rtol=1e-13, atol=1e-30)
