"""Packing of coefficients, and pyshtools' arrays."""

import numpy as np
import pytest
from scipy.special import sph_harm_y

from meanfield.manifolds.sphere import coefficients as packing


def random_field(degree: int, seed: int = 0) -> np.ndarray:
    """Coefficients of a real field, of size about 1."""
    rng = np.random.default_rng(seed)
    count = packing.count_of(degree)
    found = (rng.normal(size=count) + 1j * rng.normal(size=count)) / np.sqrt(count)
    found[: degree + 1] = found[: degree + 1].real
    return found


def direct_values(coefficients: np.ndarray, theta: np.ndarray, phi: np.ndarray) -> np.ndarray:
    """Sum of g_l0 Y_l0 + 2 Re sum_{m>0} g_lm Y_lm with SciPy's harmonics."""
    degree = packing.degree_of(coefficients)
    found = np.zeros(np.broadcast(theta, phi).shape)
    for m in range(degree + 1):
        for l in range(m, degree + 1):
            harmonic = np.sqrt(4 * np.pi) * sph_harm_y(l, m, theta, phi)
            g = coefficients[packing.index(l, m, degree)]
            found += (1.0 if m == 0 else 2.0) * (g * harmonic).real
    return found


@pytest.mark.parametrize("degree", [0, 1, 2, 7, 300])
def test_degree_of_inverts_the_count(degree: int) -> None:
    """The degree is known by the number of coefficients alone."""
    assert packing.degree_of(np.zeros(packing.count_of(degree))) == degree
    assert packing.degree_of(np.zeros((3, packing.count_of(degree)))) == degree


@pytest.mark.parametrize("shape", [(), (0,), (2,), (5,), (6, 4)])
def test_degree_of_refuses_other_counts(shape: tuple[int, ...]) -> None:
    """Four coefficients belong to no degree."""
    with pytest.raises(ValueError, match=r"expected \(L \+ 1\)\(L \+ 2\) / 2 of them"):
        packing.degree_of(np.zeros(shape))


def test_resize_keeps_every_coefficient_of_the_degrees_kept() -> None:
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


def test_convolve_multiplies_by_degree_and_cuts_to_the_shorter() -> None:
    """All orders of a degree share one multiplier."""
    multipliers = np.array([1.0, 0.5, 0.25, 0.125])
    field = random_field(5)
    found = packing.convolve(multipliers, field)
    assert packing.degree_of(found) == 3
    for l in range(4):
        for m in range(l + 1):
            expected = multipliers[l] * field[packing.index(l, m, 5)]
            assert found[packing.index(l, m, 3)] == expected
    np.testing.assert_array_equal(packing.convolve(np.ones(9), field), field)


def test_convolve_leaves_its_input_alone() -> None:
    """A convolution to the same degree must not work in place."""
    field = random_field(3)
    before = field.copy()
    packing.convolve(np.full(4, 2.0), field)
    np.testing.assert_array_equal(field, before)


def test_power_is_pyshtools_spectrum_and_sums_to_the_square() -> None:
    """Power per degree, 4-pi-normalised."""
    field = random_field(8)
    power = packing.power_by_degree(field)
    spectrum = packing.to_shcoeffs(field).spectrum(convention="power", unit="per_l")
    np.testing.assert_allclose(power, spectrum, rtol=1e-14)
    assert power.sum() == pytest.approx(packing.inner(field, field), rel=1e-14)


def test_packed_inverts_spread() -> None:
    """Files give back the coefficients; sqrt(2) costs a rounding."""
    batch = np.stack([random_field(7), random_field(7, seed=1)])
    array = packing.spread(batch)
    assert array.shape == (2, 2, 8, 8)
    np.testing.assert_allclose(packing.packed(array), batch, rtol=0, atol=2e-16)
    np.testing.assert_array_equal(packing.spread(batch[1]), array[1])


def test_spread_entries_belong_to_real_harmonics() -> None:
    """C_lm goes with cos, S_lm with sin, without Condon-Shortley phase, mean square 1.

    Low degrees written out: sqrt(3) x, sqrt(3) y, sqrt(3) z, sqrt(15) x y.
    """
    rng = np.random.default_rng(2)
    x, y, z = points = rng.normal(size=(3, 20))
    x, y, z = points / np.sqrt((points**2).sum(axis=0))
    theta, phi = np.arctan2(np.hypot(x, y), z), np.arctan2(y, x)
    fields = {(0, 1, 1): x, (1, 1, 1): y, (0, 1, 0): z, (1, 2, 2): np.sqrt(5.0) * x * y}
    for entry, values in fields.items():
        array = np.zeros((2, 3, 3))
        array[entry] = 1.0
        found = direct_values(packing.packed(array), theta, phi)
        np.testing.assert_allclose(found, np.sqrt(3.0) * values, rtol=0, atol=1e-14)


def test_pyshtools_expands_our_field() -> None:
    """The array means the same field to pyshtools, orientation and signs included.

    Up to 5 degrees from the poles: nearer, pyshtools itself loses digits.
    """
    field = random_field(20)
    rng = np.random.default_rng(3)
    lat, lon = rng.uniform(-85, 85, 50), rng.uniform(0, 360, 50)
    theirs = packing.to_shcoeffs(field).expand(lat=lat, lon=lon)
    ours = direct_values(field, np.deg2rad(90 - lat), np.deg2rad(lon))
    # 231 terms of size 1, angles through degrees.
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-13)


@pytest.mark.parametrize("normalization", ["4pi", "ortho", "schmidt", "unnorm"])
@pytest.mark.parametrize("csphase", [1, -1])
def test_shcoeffs_of_any_convention_come_back(normalization: str, csphase: int) -> None:
    """An SHCoeffs carries its convention; the field is the same."""
    field = random_field(6)
    theirs = packing.to_shcoeffs(field).convert(normalization=normalization, csphase=csphase)
    assert packing.is_shcoeffs(theirs)
    np.testing.assert_allclose(packing.from_shcoeffs(theirs), field, rtol=0, atol=1e-15)


def test_from_shcoeffs_refuses_a_complex_field() -> None:
    """A density is real."""
    theirs = packing.to_shcoeffs(random_field(3)).convert(kind="complex")
    with pytest.raises(ValueError, match="kind 'complex', expected 'real'"):
        packing.from_shcoeffs(theirs)


def test_is_shcoeffs_knows_by_more_than_the_name() -> None:
    """Another class called SHCoeffs is not pyshtools'."""
    assert not packing.is_shcoeffs(np.zeros(3))
    assert not packing.is_shcoeffs(type("SHCoeffs", (), {})())


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ((0, 1, 2), r"entry \[0, 1, 2\] of the coefficients is order above degree"),
        ((1, 0, 1), r"entry \[1, 0, 1\] of the coefficients is order above degree"),
        ((1, 2, 0), r"entry \[1, 2, 0\] of the coefficients is a sine of order 0"),
    ],
)
def test_packed_refuses_entries_that_no_harmonic_has(
    entry: tuple[int, int, int], message: str
) -> None:
    """An amplitude in a wrong place must not vanish silently."""
    array = np.zeros((2, 3, 3))
    array[entry] = 1e-3
    with pytest.raises(ValueError, match=message):
        packing.packed(array)


@pytest.mark.parametrize("shape", [(3, 3), (3, 3, 3), (2, 3, 4), (2, 0, 0)])
def test_packed_refuses_other_shapes(shape: tuple[int, ...]) -> None:
    """Only (2, L + 1, L + 1) is an array of coefficients."""
    with pytest.raises(ValueError, match=r"expected \(2, L \+ 1, L \+ 1\)"):
        packing.packed(np.zeros(shape))


def test_from_modes_adds_real_harmonics_to_uniform() -> None:
    """Cosine, sine and zonal modes; the same mode twice adds."""
    modes = [[2, 0, 0.1], [3, 2, 0.2], [3, -2, 0.05], [1, -1, 0.3], [1, -1, 0.1]]
    array = packing.spread(packing.from_modes(modes))
    expected = np.zeros((2, 4, 4))
    expected[0, 0, 0] = 1.0
    expected[0, 2, 0], expected[0, 3, 2], expected[1, 3, 2] = 0.1, 0.2, 0.05
    expected[1, 1, 1] = 0.4
    np.testing.assert_allclose(array, expected, rtol=0, atol=1e-16)


@pytest.mark.parametrize(
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
def test_from_modes_refuses_malformed_modes(mode: list[float], message: str) -> None:
    """The message names the mode as the user typed it."""
    with pytest.raises(ValueError, match=message):
        packing.from_modes([[1, 0, 0.1], mode])
