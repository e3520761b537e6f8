"""Initial laws."""

import pickle

import numpy as np
import pytest
from parameters import refused, together
from scipy.special import ive

import meanfield as mf
from meanfield.runfile import load_config

CIRCLE = mf.Circle()


def values(law: mf.Law, angles: np.ndarray) -> np.ndarray:
    _, *c = law.build(CIRCLE).coefficients
    return 1.0 + 2.0 * (np.exp(1j * np.outer(angles, np.arange(1, len(c) + 1))) @ c).real


def test_uniform_is_one():
    """No degree but 0."""
    assert np.array_equal(mf.uniform().build(CIRCLE).coefficients, [1.0])


def test_perturbed_uniform_has_the_amplitudes_of_its_modes():
    """The density is 1 + sum A cos k theta + B sin k theta; modes of one degree add up."""
    t = np.linspace(0, 6, 9)
    law = mf.perturbed_uniform([[2, 0.1, 0.2], [5, 0.0, -0.3], [2, 0.1, 0.0]])
    expected = 1 + 0.2 * np.cos(2 * t) + 0.2 * np.sin(2 * t) - 0.3 * np.sin(5 * t)
    np.testing.assert_allclose(values(law, t), expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("concentration", [0.0, 0.1, 3.0, 500.0])
def test_von_mises_fisher_is_its_density(concentration):
    """Proportional to exp(kappa cos(theta - mean)), with mass one."""
    t, mean = np.linspace(0, 2 * np.pi, 50), 2.5
    law = mf.von_mises_fisher(concentration, mean=mean)
    expected = np.exp(concentration * (np.cos(t - mean) - 1)) / ive(0, concentration)
    bound = 4e-15 * (1 + expected.max()) ** 1.5
    np.testing.assert_allclose(values(law, t), expected, rtol=0, atol=bound)


def test_mixture_adds_weighted_densities():
    """Weights, means and concentrations of each component."""
    t = np.linspace(0, 2 * np.pi, 50)
    law = mf.mixture([(0.7, 0.5, 9.0), (0.2, 3.0, 1.0), (0.1, 0.0, 0.0)])
    parts = [values(mf.von_mises_fisher(k, mean=m), t) for m, k in ((0.5, 9.0), (3.0, 1.0), (0, 0))]
    expected = np.array([0.7, 0.2, 0.1]) @ parts
    np.testing.assert_allclose(values(law, t), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("strength", [1.0, -1.0])
def test_sampled_has_its_degree_from_the_problem(strength, tmp_path):
    """Python would ask for what a run file does not name, or keep other degrees."""
    flow = mf.Flow("none", strength=strength)
    problem = mf.Problem(CIRCLE, mf.exponential(9.0), flow, mf.sampled(1000))
    # The dominant degree is 4; nothing grows where tokens repel.
    degree = 8 if strength > 0 else 2
    expected = mf.sampled(1000, 0, degree).build(CIRCLE)
    assert np.array_equal(problem.initial_measure().coefficients, expected.coefficients)
    assert problem == pickle.loads(pickle.dumps(problem))
    (tmp_path / "run.toml").write_text(
        'initial = { name = "sampled", tokens = 1000 }\ntime = { end = 1.0 }\n[problem]\n'
        f'normalization = "none"\nmanifold = "circle"\nbeta = 9.0\nstrength = {strength}\n'
    )
    assert load_config(tmp_path / "run.toml").problem == problem
    assert repr(problem.initial) == "sampled(1000)"


def test_sampled_has_the_moments_of_its_tokens():
    """Moments up to max_degree would not be the iid uniform tokens' of that seed, zero above."""
    density = mf.sampled(tokens=20_000, seed=3, max_degree=6).build(CIRCLE)
    tokens = CIRCLE.random_points(20_000, np.random.default_rng(3))
    expected = np.exp(-1j * np.outer(np.arange(7), tokens)).mean(axis=1)
    np.testing.assert_allclose(density.coefficients, expected, rtol=0, atol=1e-14)


def test_laws_of_points_and_coefficients_keep_them():
    """Nothing is resampled or smoothed."""
    measure = mf.from_points(np.array([0.0, 1.0]), np.array([0.25, 0.75])).build(CIRCLE)
    assert isinstance(measure, mf.Measure)
    assert np.array_equal(measure.points, [0.0, 1.0])
    assert np.array_equal(measure.mass, [0.25, 0.75])
    density = mf.from_density([1.0, 0.1j]).build(CIRCLE)
    assert np.array_equal(density.coefficients, [1.0, 0.1j])


MODE = r"must be \[k, cosine, sine\] with an integer k >= 1"
FINITE = r"modes .* must be a finite number"
CONCENTRATION = r"concentration must be (finite and >= 0, at most .*|a finite number), got"


@together("law, argument, message", [
    *((mf.mixture, [(weight, 0.0, 1.0) for weight in weights],
       "weights of a mixture sum to .*, expected 1") for weights in ((0.5, 0.4), (1.5, -0.5))),
    (mf.mixture, [], "a mixture needs a component, got none"),
    # A negative one is the same density elsewhere: most likely a slip.
    *((mf.von_mises_fisher, kappa, CONCENTRATION) for kappa in (-1.0, np.inf, np.nan)),
    *((lambda mean: mf.von_mises_fisher(1.0, mean=mean), mean,
       "mean .*must be (finite|a finite number), got") for mean in (np.nan, [0.0, np.inf, 1.0])),
])  # fmt: skip
def test_mixtures_refuse_what_they_cannot_build(law, argument, message):
    """The density would be NaN, or another one than was meant, in the middle of a run."""
    refused(message, law, argument)


@together("law, argument, message", [
    # Degree 0 is the mass and is not free.
    *((mf.perturbed_uniform, [mode], MODE)
      for mode in ([1.5, 0.1, 0.0], [0, 0.1, 0.0], [-2, 0.1, 0.0], [1, 0.1])),
    # The degree too: a NaN there has no integer to be compared with.
    *((mf.perturbed_uniform, [mode], FINITE)
      for mode in ([1, np.nan, 0.0], [1, 0.0, np.inf], [np.nan, 0.1, 0.0])),
    (mf.perturbed_uniform, [[3, 1.2, 0.0]],
     r"density is negative: -0\.2 at (1\.0472|3\.1416|5\.236)"),
    (mf.perturbed_uniform, [[1, 0.0, 1.5]], r"density is negative: -0\.5 at 4\.7124"),
    # Beyond rounding, 1e-10.
    (mf.from_density, [1.0, 0.5 + 1e-9], r"density is negative: -2e-09 at 3\.1416"),
    (lambda degree: mf.sampled(10, 0, degree), 8,
     "Take more tokens than 10, .* the law's max_degree below 8"),
    (mf.sampled, 1000, "max_degree has no default without a problem: give it"),
    (lambda degree: mf.sampled(10, max_degree=degree), 200_000,
     "max_degree = 200000 must be at most 131072 on"),
])  # fmt: skip
def test_what_is_no_density_is_refused(law, argument, message):
    """A run would start from something else; the user reads what to change, and where."""
    refused(message, lambda: law(argument).build(CIRCLE))


def test_density_that_touches_zero_is_accepted():
    """1 + cos is zero at pi, and rounding makes it -1e-17."""
    assert mf.perturbed_uniform([[1, 1.0, 0.0]]).build(CIRCLE).max_degree == 1


@pytest.mark.parametrize(
    ("law", "argument"),
    [
        (mf.from_points, np.array([0.5, 1.0])),
        (lambda weights: mf.from_points(np.array([0.5, 1.0]), weights), np.array([0.5, 0.5])),
        (mf.from_density, np.array([1.0, 0.1 + 0j])),
        (mf.perturbed_uniform, [[1, 0.1, 0.0]]),
        (mf.mixture, [[1.0, 0.0, 2.0]]),
        (mf.from_values, np.ones(4)),
    ],
    ids=["points", "weights", "density", "modes", "mixture", "values"],
)
def test_laws_keep_their_arguments(law, argument):
    """Reusing an array would change a law that is built later."""
    result = law(argument)
    moments = result.build(CIRCLE).moments(3)
    (argument if isinstance(argument, np.ndarray) else argument[0])[1] = 0.3
    assert np.array_equal(result.build(CIRCLE).moments(3), moments)


@pytest.mark.parametrize(
    ("space", "law", "cosines"),
    [
        (mf.Circle(), mf.configuration("polygon", 5), [np.cos(0.8 * np.pi), np.cos(0.4 * np.pi)]),
        (mf.Sphere(), mf.configuration("polygon", 4), [-1, 0]),
        (mf.Sphere(5), mf.configuration("simplex", dimension=3), [-1 / 3]),
        (mf.Sphere(5), mf.configuration("simplex"), [-1 / 5]),
        (mf.Sphere(4), mf.configuration("cross_polytope"), [-1, 0]),
        (mf.Euclidean(3), mf.configuration("cube"), [-1, -1 / 3, 1 / 3]),
        (mf.Sphere(7), mf.configuration("antipodal", weights=[0.2, 0.8]), [-1]),
    ],
)
def test_configurations_have_their_angles(space, law, cosines):
    """In a subsphere where they have fewer dimensions, with the masses that are given."""
    measure = law.build(space)
    vectors = space.vectors(measure.points)
    gram = vectors @ vectors.T
    np.testing.assert_allclose(gram.diagonal(), 1.0, rtol=0, atol=1e-15)
    assert np.unique(gram.round(12)).tolist() == [*np.round(sorted(cosines), 12), 1.0]
    if law.weights:
        assert measure.mass.tolist() == [0.2, 0.8] and measure.points[0, -1] == 1.0


@together(("space", "arguments", "message"), [
    (CIRCLE, ("icosahedrn",), "shape 'icosahedrn' is not known. Did you mean icosahedron?"),
    (CIRCLE, ("polygon",), "a polygon needs tokens"),
    (CIRCLE, ("subsphere", 8), "a subsphere needs dimension, d of its"),
    (mf.Sphere(4), ("subsphere", 8, 5), r"subsphere lies in R\^5"),
    (mf.Sphere(4), ("simplex", None, 10**6), r"simplex lies in R\^1000000"),
    (mf.Sphere(9), ("subsphere", 40, 6), "more than 100000 points: take fewer"),
    (CIRCLE, ("polygon", 1), "at least 2 tokens, got 1"),
    (CIRCLE, ("cube", 3), "cube takes no tokens, got 3: only polygon and sub"),
    (CIRCLE, ("e8", None, 8),
     "dimension = 8 of e8: only subsphere, simplex, cross_polytope, cube have"),
    (CIRCLE, ("icosahedron",), r"icosahedron lies in R\^3, and points here are in R\^2"),
    (mf.Sphere(40), ("cube",), r"a cube in R\^40 has 2\^40 corners"),
    (mf.Axial(8), ("e8",), r"which are rings: take mf.Sphere\(8\)"),
    (CIRCLE, ("antipodal", None, None, [1.0]), "weights"),
])  # fmt: skip
def test_configurations_that_are_none_are_refused(space, arguments, message):
    """In one line that says what to do."""
    refused(message, lambda: mf.configuration(*arguments).build(space))


@pytest.mark.parametrize("law, name", [
    (mf.from_points(np.ones(2), np.full(2, 0.5)), "points"),
    (mf.from_points(np.ones(2), np.full(2, 0.5)), "weights"),
    (mf.from_values(np.ones(4)), "values"),
    (mf.from_labels(np.ones((2, 3))), "densities"),
    (mf.from_density(np.ones(2)), "coefficients"),
])  # fmt: skip
def test_arrays_of_laws_are_read_only(law, name):
    """Laws are equal, and hashed, by value: a changed array would be found as another law."""
    with pytest.raises(ValueError, match="read-only"):
        getattr(law, name)[0] = 0.5
