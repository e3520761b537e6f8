"""Run files on the sphere: what arrives, and the line of each mistake."""

import numpy as np
import pytest
from parameters import together

import meanfield as mf
from meanfield.runfile import load_config

TEXT = """\
problem = { normalization = "none", manifold = "sphere", beta = 5.0 }
initial = { name = "perturbed_uniform", modes = [[2, -1, 0.1], [3, 0, 0.05]] }
time = { end = 1.0 }
"""
VMF = 'initial={{name="von_mises_fisher", concentration={}, mean={}}}'
ATOMS = 'initial={{name="atoms", {}}}'
MISTAKES = [
    ("initial.modes=[[2, 3, 0.1]]", "mode [2.0, 3.0, 0.1] has order above degree: |m| <= l"),
    ("initial.modes=[[2, 1.5, 0.1]]", "must be [l, m, amplitude] with integers l >= 1 and m."),
    ("initial.modes=[[0, 0, 0.1]]", "must be [l, m, amplitude] with integers l >= 1 and m."),
    ("initial.modes=[[2, 0]]", "mode [2.0, 0.0] must be [l, m, amplitude]."),
    ("initial.modes=[[3, 0, 0.9]]", "density is negative: -1.381 at ["),
    ("initial.modes=[[3000, 0, 0.1]]", "modes holds degree 3000, expected at most 2047."),
    ("representation.max_degree=5000", "max_degree = 5000 must be at most 2047 on the sphere."),
    ("representation.max_degree=20",
     "max_degree = 20 is below degree 25 of the kernel: set it to 25"),
    (VMF.format(3, 0.3), "mean = 0.3 must be a vector [x, y, z] on the sphere."),
    (VMF.format(3, [0, 1]), "must be a vector [x, y, z] on the sphere"),
    (VMF.format(3, [0, 0, 0]), "mean = (0.0, 0.0, 0.0) must be a vector [x, y, z], not zero"),
    (VMF.format(1e8, [0, 0, 1]), "concentration = 1e+08 needs degree"),
    (ATOMS.format("angles=[0.1]"), "atoms on the sphere are given by points = [...] alone."),
    (ATOMS.format("points=[[0, 0, 0]]"), "point 0 is [0.0, 0.0, 0.0], expected a finite vector"),
    (ATOMS.format("points=[[0, 0, 1]], weights=[0.5]"), "weights sum to 0.5, expected 1"),
]  # fmt: skip


@pytest.mark.slow
@together("override, message", MISTAKES)
def test_mistake_has_its_line(path, override, message, has_its_line):
    """A mistake would fail later, or not at all."""
    has_its_line(path, [override], message)


def test_modes_are_real_harmonics(path):
    """Y_{2,-1} = sqrt(15) y z and Y_30 = sqrt(7) (5 z^3 - 3 z) / 2 have mean square 1."""
    measure = load_config(path).problem.initial_measure()
    points = mf.Sphere().random_points(20, np.random.default_rng(0))
    x, y, z = points.T
    expected = 1 + 0.1 * np.sqrt(15) * y * z + 0.05 * np.sqrt(7) * (5 * z**3 - 3 * z) / 2
    values = mf.Sphere().evaluate(measure.coefficients, points)
    np.testing.assert_allclose(values, expected, rtol=1e-13)


def test_mean_has_any_length_and_is_the_north_pole_by_default(path):
    """The density would be centred elsewhere, or a vector of length 2 refused."""
    default = 'initial={name="von_mises_fisher", concentration=3}'
    laws = [load_config(path, [text]) for text in (VMF.format(3, [0, 0, 2]), default)]
    first, second = (law.problem.initial_measure().coefficients for law in laws)
    np.testing.assert_array_equal(first, second)
    assert mf.Sphere().order_parameter(first) == pytest.approx(1 / np.tanh(3) - 1 / 3, rel=1e-13)


def test_vectors_in_a_file_are_normalised(path, has_its_line):
    """Tokens saved by another program have any length; zero has no direction."""
    text = 'initial={name="tokens", file="tokens.npy"}'
    np.save("tokens.npy", [[0.0, 0.0, 3.0], [1e-200, 0.0, 0.0], [2.0, 2.0, 1.0]])
    points = load_config(path, [text]).problem.initial_measure().points
    np.testing.assert_allclose(points, [[0, 0, 1], [1, 0, 0], [2 / 3, 2 / 3, 1 / 3]], rtol=1e-15)
    np.save("tokens.npy", [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    has_its_line(path, [text], "point 1 is [0.0, 0.0, 0.0], expected a")
