"""Geometry and layout of the sphere."""

import re

import numpy as np
import pytest
from parameters import refused, together
from random_data import sphere_field

from meanfield.engines.harmonics import coefficients as packing
from meanfield.spaces.extremes import extremes
from meanfield.spaces.sphere.sphere import Sphere

SPHERE = Sphere()


def random_field(degree: int, seed: int = 0) -> np.ndarray:
    return 2.0 * sphere_field(degree, seed)


def density(degree: int = 3) -> np.ndarray:
    result = 0.1 * random_field(degree)
    result[0] = 1.0
    return result


def test_distance_is_the_angle_near_and_far():
    """Also where the arc cosine of the product has lost all digits."""
    angles = np.array([0.0, 1e-12, 1e-5, 0.3, np.pi / 2, 3.0, np.pi - 1e-7])
    points = np.stack([np.sin(angles), 0 * angles, np.cos(angles)], axis=1)
    north = np.array([0.0, 0.0, 1.0])
    distances = SPHERE.distance(points, north)
    np.testing.assert_allclose(distances[:-1], angles[:-1], rtol=1e-15)
    # Near pi the distance to the antipode keeps its digits, to the rounding of the points.
    np.testing.assert_allclose(np.pi - distances[-1], 1e-7, rtol=1e-8)
    assert SPHERE.distance(north, -north) == np.pi
    np.testing.assert_array_equal(SPHERE.distance(north, points), distances)


def test_random_points_are_uniform():
    """Moments of degree 1 to 4 would be more than 4 deviations from sigma's."""
    count = 20_000
    points = SPHERE.random_points(count, np.random.default_rng(1))
    assert points.shape == (count, 3)
    np.testing.assert_allclose((points**2).sum(axis=1), 1.0, rtol=1e-15)
    power = packing.power_by_degree(SPHERE.moments(points, None, 4))[1:]
    # 2 l + 1 squares of mean 1 / count each.
    orders = 2 * np.arange(1, 5) + 1
    assert np.all(np.abs(power * count - orders) < 4 * np.sqrt(2 * orders))


def test_sizes_by_degree_are_rotation_invariant_and_bound_coefficients():
    """A rotated density is resolved as well as before."""
    rng = np.random.default_rng(3)
    points = SPHERE.random_points(40, rng)
    rotation, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    moments = SPHERE.moments(points, None, 9)
    sizes = SPHERE.sizes_by_degree(moments)
    turned = SPHERE.sizes_by_degree(SPHERE.moments(points @ rotation.T, None, 9))
    np.testing.assert_allclose(turned, sizes, rtol=1e-13)
    assert np.all(sizes * (1 + 1e-15) >= np.abs(SPHERE.unpacked(moments)).max(axis=(0, 2)))
    # Uniform alone has no degree 1.
    assert SPHERE.order_parameter(np.ones(1)) == 0.0


def test_retract_gives_unit_vectors_and_lengths():
    """Steps leave the sphere; what is no number stays none, without a warning."""
    points = np.array([[0.0, 0.0, 2.0], [3.0, 4.0, 0.0], [np.nan, 0.0, 1.0], [0.0, 0.0, 0.0]])
    result, lengths = SPHERE.retract(points)
    np.testing.assert_array_equal(result[:2], [[0.0, 0.0, 1.0], [0.6, 0.8, 0.0]])
    np.testing.assert_array_equal(lengths, [2.0, 5.0, np.nan, 0.0])
    assert np.all(np.isnan(result[2:]))


def test_check_points_normalises_any_finite_length():
    """Huge and tiny vectors too, whose squares leave the range of doubles."""
    directions = SPHERE.random_points(5, np.random.default_rng(4))
    lengths = np.array([1.0, 1e-5, 1e200, 1e-200, 7.0])
    result = SPHERE.check_points(directions * lengths[:, None])
    np.testing.assert_allclose(result, directions, rtol=0, atol=4e-16)
    np.testing.assert_allclose((result**2).sum(axis=1), 1.0, rtol=0, atol=1e-15)


def test_check_points_keeps_the_bits_of_unit_vectors():
    """A run that is resumed must start where it stopped."""
    result = SPHERE.check_points(np.random.default_rng(5).normal(size=(1000, 3)))
    np.testing.assert_array_equal(SPHERE.check_points(result), result)
    mixed = np.concatenate([result, [[0.0, 3.0, 4.0]]])
    np.testing.assert_array_equal(SPHERE.check_points(mixed)[:-1], result)


@together("vector", [[0.0, 0.0, 0.0], [0.0, np.nan, 1.0], [-np.inf, 0.0, 1.0]])
def test_check_points_refuses_what_has_no_direction(vector):
    """The message names the point."""
    points = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], vector])
    message = f"point 2 is {re.escape(str(vector))}, expected a finite vector, not zero"
    refused(message, SPHERE.check_points, points)


def test_check_coefficients_takes_all_three_forms():
    """Packed, pyshtools' array, and SHCoeffs of any convention are one density."""
    f = density()
    theirs = SPHERE.to_shcoeffs(f)
    forms = [f, SPHERE.unpacked(f), theirs, theirs.convert(normalization="ortho", csphase=-1)]
    for form in forms:
        np.testing.assert_allclose(SPHERE.check_coefficients(form), f, rtol=0, atol=1e-15)


def test_check_coefficients_copies_and_removes_rounding():
    """A density must not change with the array it was made from; order 0 is real."""
    f = density()
    f[1] += 1e-17j
    checked = SPHERE.check_coefficients(f)
    assert np.all(checked[:4].imag == 0.0)
    checked[1] = 7.0
    assert f[1] != 7.0


@together(
    ("change", "message"),
    [
        ((0, 1.1), r"coefficient of degree 0 is 1.1, expected the mass 1"),
        ((4, np.nan), "coefficients of a density must be finite"),
        ((4, complex(0, np.inf)), "coefficients of a density must be finite"),
        ((2, 0.1 + 0.1j), r"coefficient of degree 2 and order 0 is 0.1\+0.1j, expected it real"),
    ],
)
def test_check_coefficients_refuses_what_is_no_density(change, message):
    """Finite, mass 1, real where the order is 0."""
    f = density()
    f[change[0]] = change[1]
    refused(message, SPHERE.check_coefficients, f)


@together("call, message, shape", [
    # One vector alone is an array of one row.
    *((SPHERE.check_points, r"points have shape \(.*\), expected vectors \(n, 3\)", shape)
      for shape in ((3,), (0, 3), (4, 2), (2, 2, 3))),
    *((SPHERE.check_coefficients, r"coefficients have shape .* expected \(2, L \+ 1", shape)
      for shape in ((), (2, 6), (1, 1, 2, 2))),
    # Four coefficients belong to no degree.
    *((packing.degree_of, r"expected \(L \+ 1\)\(L \+ 2\) / 2 of them", shape)
      for shape in ((), (0,), (2,), (5,), (6, 4))),
    *((packing.packed, r"expected \(2, L \+ 1, L \+ 1\)", shape)
      for shape in ((3, 3), (3, 3, 3), (2, 3, 4), (2, 0, 0))),
])  # fmt: skip
def test_other_shapes_are_refused(call, message, shape):
    """Broadcasting would make points or densities of them."""
    refused(message, call, np.ones(shape))


@pytest.mark.parametrize("degree", [0, 1, 7, 40])
def test_extremes_enclose_all_values(degree):
    """No value, at 20,000 points and at all nodes, leaves what extremes promises."""
    field = random_field(degree)
    lowest, where, bound = extremes(SPHERE, field)
    values = SPHERE.evaluate(field, SPHERE.random_points(20_000, np.random.default_rng(6)))
    largest, slack = np.abs(values).max(), 1e-12
    # A factor of 1.17 is the bound's own, the rest is what 20,000 points miss.
    assert largest <= bound <= largest * 1.35 + slack
    assert SPHERE.evaluate(field, where[None])[0] == pytest.approx(lowest, abs=slack)
    # The grid misses the lowest value by less than the samples do, at these degrees.
    assert lowest <= values.min() + 0.05 * largest


def test_extremes_of_an_exact_field():
    """1 + a Y_20 is lowest on the equator, 1 - a sqrt(5) / 2."""
    lowest, where, bound = extremes(SPHERE, SPHERE.from_modes([[2, 0, 0.4]]))
    assert lowest == pytest.approx(1 - 0.2 * np.sqrt(5), rel=1e-13)
    assert where[2] == pytest.approx(0.0, abs=1e-12)
    assert bound >= 1 + 0.4 * np.sqrt(5)


def test_extremes_in_strips_are_those_of_one_piece(monkeypatch):
    """Memory is saved, no ring is lost."""
    field = random_field(12)
    lowest, where, bound = extremes(SPHERE, field)
    monkeypatch.setattr("meanfield.spaces.extremes._STRIP", 300)
    parts = extremes(SPHERE, field)
    assert (parts[0], parts[2]) == pytest.approx((lowest, bound), rel=1e-14)
    np.testing.assert_allclose(parts[1], where, rtol=0, atol=1e-15)


def test_extremes_of_nan_are_nan():
    """Nothing that is no number is above a bound."""
    field = random_field(3)
    field[4] = np.nan
    lowest, _, bound = extremes(SPHERE, field)
    assert np.isnan([lowest, bound]).all()


@pytest.mark.parametrize("degree", [0, 1, 2, 7, 300])
def test_degree_of_inverts_the_count(degree):
    """The degree is known by the number of coefficients alone."""
    assert packing.degree_of(np.zeros(packing.count_of(degree))) == degree
    assert packing.degree_of(np.zeros((3, packing.count_of(degree)))) == degree


def test_resize_keeps_every_coefficient_of_its_degrees():
    """Degrees stay where their index says, new ones are zero, leading axes are kept."""
    field = random_field(6)
    wide = packing.resize(field, 9)
    for l in range(10):
        for m in range(l + 1):
            expected = field[packing.index(l, m, 6)] if l <= 6 else 0.0
            assert wide[packing.index(l, m, 9)] == expected
    np.testing.assert_array_equal(packing.resize(wide, 6), field)
    batch = packing.resize(np.stack([field, 2 * field]), 9)
    np.testing.assert_array_equal(batch, [wide, 2 * wide])


def test_convolve_multiplies_by_degree_and_cuts_to_the_shorter():
    """All orders of a degree share one multiplier; the input stays as it was."""
    multipliers, field = np.array([1.0, 0.5, 0.25, 0.125]), random_field(5)
    before = field.copy()
    expected = packing.unpacked(field)[:, :4, :4] * multipliers[:, None]
    np.testing.assert_array_equal(packing.unpacked(packing.convolve(multipliers, field)), expected)
    np.testing.assert_array_equal(packing.convolve(np.ones(9), field), before)
    np.testing.assert_array_equal(field, before)


def test_power_is_pyshtools_spectrum_and_sums_to_the_square():
    """Power per degree, 4-pi-normalised."""
    field = random_field(8)
    power = packing.power_by_degree(field)
    spectrum = packing.to_shcoeffs(field).spectrum(convention="power", unit="per_l")
    np.testing.assert_allclose(power, spectrum, rtol=1e-14)
    assert power.sum() == pytest.approx(packing.inner(field, field), rel=1e-14)


def test_packed_inverts_unpacked():
    """Files give back the coefficients; sqrt(2) costs a rounding."""
    batch = np.stack([random_field(7), random_field(7, seed=1)])
    array = packing.unpacked(batch)
    assert array.shape == (2, 2, 8, 8)
    np.testing.assert_allclose(packing.packed(array), batch, rtol=0, atol=2e-16)
    np.testing.assert_array_equal(packing.unpacked(batch[1]), array[1])


def test_unpacked_entries_belong_to_real_harmonics():
    """C_lm goes with cos, S_lm with sin, without Condon-Shortley phase, mean square 1."""
    # Low degrees written out: sqrt(3) x, sqrt(3) y, sqrt(3) z, sqrt(15) x y.
    x, y, z = points = SPHERE.random_points(20, np.random.default_rng(2)).T
    fields = {(0, 1, 1): x, (1, 1, 1): y, (0, 1, 0): z, (1, 2, 2): np.sqrt(5.0) * x * y}
    for entry, values in fields.items():
        array = np.zeros((2, 3, 3))
        array[entry] = 1.0
        result = SPHERE.evaluate(packing.packed(array), points.T)
        np.testing.assert_allclose(result, np.sqrt(3.0) * values, rtol=0, atol=1e-14)


def test_pyshtools_expands_our_field():
    """The array means the same field to pyshtools, orientation and signs included."""
    # Up to 5 degrees from the poles: nearer, pyshtools itself loses digits.
    field = random_field(20)
    rng = np.random.default_rng(3)
    lat, lon = rng.uniform(-85, 85, 50), rng.uniform(0, 360, 50)
    theirs = packing.to_shcoeffs(field).expand(lat=lat, lon=lon)
    x, y = np.cos(np.deg2rad(lon)), np.sin(np.deg2rad(lon))
    south = np.deg2rad(90 - lat)
    ours = SPHERE.evaluate(
        field, np.stack([np.sin(south) * x, np.sin(south) * y, np.cos(south)], 1)
    )
    # 231 terms of size 1, angles through degrees.
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-13)


@together("normalization", ["4pi", "ortho", "schmidt", "unnorm"])
@together("csphase", [1, -1])
def test_shcoeffs_of_any_convention_come_back(normalization, csphase):
    """An SHCoeffs carries its convention; the field is the same."""
    field = random_field(6)
    theirs = packing.to_shcoeffs(field).convert(normalization=normalization, csphase=csphase)
    assert packing.is_shcoeffs(theirs)
    np.testing.assert_allclose(packing.from_shcoeffs(theirs), field, rtol=0, atol=1e-15)


def test_from_shcoeffs_refuses_a_complex_field():
    """A density is real."""
    theirs = packing.to_shcoeffs(random_field(3)).convert(kind="complex")
    refused("kind 'complex', expected 'real'", packing.from_shcoeffs, theirs)


def test_is_shcoeffs_knows_by_more_than_the_name():
    """Another class called SHCoeffs is not pyshtools'."""
    assert not packing.is_shcoeffs(np.zeros(3))
    assert not packing.is_shcoeffs(type("SHCoeffs", (), {})())


@together(
    ("entry", "message"),
    [
        ((0, 1, 2), r"entry \[0, 1, 2\] of the coefficients is order above degree"),
        ((1, 0, 1), r"entry \[1, 0, 1\] of the coefficients is order above degree"),
        ((1, 2, 0), r"entry \[1, 2, 0\] of the coefficients is a sine of order 0"),
    ],
)
def test_packed_refuses_entries_that_no_harmonic_has(entry, message):
    """An amplitude in a wrong place must not vanish silently."""
    array = np.zeros((2, 3, 3))
    array[entry] = 1e-3
    refused(message, packing.packed, array)


def test_from_modes_adds_real_harmonics_to_uniform():
    """Cosine, sine and zonal modes; the same mode twice adds."""
    modes = [[2, 0, 0.1], [3, 2, 0.2], [3, -2, 0.05], [1, -1, 0.3], [1, -1, 0.1]]
    expected = np.zeros((2, 4, 4))
    expected[0, 0, 0], expected[0, 2, 0], expected[0, 3, 2] = 1.0, 0.1, 0.2
    expected[1, 3, 2], expected[1, 1, 1] = 0.05, 0.4
    array = packing.unpacked(packing.from_modes(modes))
    np.testing.assert_allclose(array, expected, rtol=0, atol=1e-16)


@together(
    ("mode", "message"),
    [
        ([1, 0.5], r"mode \[1, 0.5\] must be \[l, m, amplitude\]"),
        ([2, 1, np.nan], r"mode \[2, 1, nan\] must be finite"),
        ([np.inf, 1, 0.1], r"mode \[inf, 1, 0.1\] must be finite"),
        ([1.5, 1, 0.1], r"mode \[1.5, 1, 0.1\] .* integers l >= 1 and m"),
        ([2, 0.5, 0.1], r"mode \[2, 0.5, 0.1\] .* integers l >= 1 and m"),
        ([0, 0, 0.1], r"mode \[0, 0, 0.1\] .* integers l >= 1 and m"),
        ([2, -3, 0.1], r"mode \[2, -3, 0.1\] has order above degree"),
    ],
)
def test_from_modes_refuses_malformed_modes(mode, message):
    """The message names the mode as the user typed it."""
    refused(message, packing.from_modes, [[1, 0, 0.1], mode])
