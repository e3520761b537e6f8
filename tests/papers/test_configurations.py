"""Sharp configurations, designs, bounds of the energy and gaps against independent facts."""

import numpy as np
import pytest
from parameters import refused
from scipy.optimize import brentq, minimize_scalar
from scipy.special import iv

import meanfield as mf
from meanfield.papers.configurations import (
    SHARP,
    design_strength,
    pair_energy,
    pair_energy_bound,
    polynomials,
    relaxation_gap,
    sharp_configuration,
    uniform_energy,
)
from meanfield.spaces.configurations import FIXED, simplex

# Order of the design, energies at beta = 1, 5, 10, of another program.
TABLE = {
    (2, 3): (2, 0.482086773432, 0.333702056247, 0.333333537268),
    (3, 4): (2, 0.447697853587, 0.250954475351, 0.250001214698),
    (3, 6): (3, 0.434475507987, 0.171166197988, 0.166696933630),
    (8, 16): (3, 0.392852966227, 0.068398541120, 0.062539725067),
    (3, 12): (5, 0.432348456829, 0.109905254215, 0.084989578470),
    (4, 120): (11, 0.415820830700, 0.065590208653, 0.024378281563),
    (5, 16): (3, 0.406423264447, 0.074052106377, 0.062709699310),
    (6, 27): (4, 0.399598757235, 0.051178325089, 0.037364904035),
    (7, 56): (5, 0.394905718326, 0.035671505945, 0.018471515068),
    (8, 240): (7, 0.391454794929, 0.026986497373, 0.005762760649),
    (21, 112): (3, 0.376857229237, 0.017762615349, 0.009028745763),
    (21, 162): (3, 0.376793329675, 0.015651999642, 0.006296527211),
    (22, 100): (3, 0.376485962758, 0.018414432464, 0.010087031060),
    (22, 275): (4, 0.376339807369, 0.013555764168, 0.003779480874),
    (22, 891): (5, 0.376328498019, 0.012089508953, 0.001338393864),
    (23, 552): (5, 0.375958711397, 0.012171200984, 0.001981778774),
    (23, 4600): (7, 0.375957292335, 0.011498597595, 0.000492001300),
    (24, 196560): (11, 0.375617730481, 0.011230601356, 0.000317729921),
}


def test_sharp_configurations_have_their_energies_and_designs():
    """A multiplicity or a cosine would be wrong; no energy is below that of uniform."""
    for (d, n), (design, *energies) in TABLE.items():
        result = sharp_configuration(d, n)
        assert result is not None and result.design == design, (d, n)
        for beta, energy in zip((1.0, 5.0, 10.0), energies, strict=True):
            assert result.energy(beta) == pytest.approx(energy, rel=0, abs=6e-13), (d, n, beta)
            assert result.energy(beta) > uniform_energy(d, beta)
        # m cosines and a (2 m - 1)-design; the 600-cell alone has more of them.
        assert design >= 2 * len(result.cosines) - 1 or n == 120
    for n in (2, 7, 16):
        polygon, terms = sharp_configuration(2, n), np.arange(-40, 41)
        assert polygon.design == n - 1
        expected = np.exp(-5.0) * iv(n * terms, 5.0).sum()
        assert polygon.energy(5.0) == pytest.approx(expected, rel=1e-13)
    for d, n in ((2, 0), (2, 1), (1, 4), (3, -3)):
        refused("must be at least 2", sharp_configuration, d, n)
    refused("tokens must be an integer, got 2.5", sharp_configuration, 3, 2.5)


@pytest.mark.slow
def test_coordinates_have_the_cosines_of_the_catalogue():
    """Every construction, from each of three points: what lattices say against what tables say."""
    for sharp in SHARP:
        points = FIXED[sharp.name]()
        n = sharp.tokens
        assert points.shape == (n, sharp.dimension)
        for one in (0, n // 3, n - 1):
            gram = points @ points[one]
            assert gram[one] == pytest.approx(1.0, abs=1e-14)
            others = np.delete(gram, one)
            counts = [(np.abs(others - c) < 1e-13).sum() for c in sharp.cosines]
            assert tuple(counts) == sharp.multiplicities, sharp.name


def test_moments_recognise_designs_too():
    """P_l in any dimension; degrees 1 ... t of a t-design vanish, and t + 1 does not."""
    for shape, strength in (("icosahedron", 5), ("dodecahedron", 5), ("cube", 3)):
        measure = mf.configuration(shape).build(mf.Sphere())
        assert design_strength(measure.points) == strength
        moments = mf.Sphere().moments(measure.points, None, 6)
        sizes = mf.Sphere().sizes_by_degree(moments)
        assert sizes[1 : strength + 1].max() < 1e-12 < 1e-2 < sizes[strength + 1]
    assert design_strength(FIXED["600_cell"]()) == 11
    assert design_strength(FIXED["higman_sims"]()) == 3
    assert design_strength(np.arange(9) * 2 * np.pi / 9) == 8
    assert design_strength(simplex(5)) == 2
    assert design_strength(1e200 * np.concatenate([np.eye(3), -1e-9 * np.eye(3)])) == 3
    for wrong, message in (
        (np.zeros((2, 3)), "no zero vector"),
        (np.array([[np.inf, 0.0, 0.0]]), "got inf"),
        (np.ones((3, 1)), r"shape \(n,\) or \(n, d\) with d >= 2, got \(3, 1\)"),
    ):
        refused(message, design_strength, wrong)


@pytest.mark.parametrize(
    ("d", "n", "beta", "value"),
    # The last: a programme of degree 12 of another program, safe but not the best.
    [
        (3, 5, 5.0, 0.033273692),
        (3, 13, 5.0, 2.5849831),
        (3, 16, 10.0, 0.6236084),
        # Another way to solve this programme finds the same to five digits.
        (3, 24, 25.0, 0.0490175),
    ],
)
def test_bounds_are_certified(d, n, beta, value):
    """The polynomial, less its shift, stays below the kernel on a fine grid, coefficients >= 0."""
    result = pair_energy_bound(d, n, beta)
    s = 1.0 - 2.0 * np.sin(np.linspace(0, 0.5 * np.pi, 20_001)) ** 2
    h = result.coefficients
    excess = h @ polynomials(d, s, len(h) - 1) - np.exp(beta * (s - 1.0))
    assert excess.max() <= result.shift and (h[1:] >= 0).all()
    certain = 0.5 * (n**2 * h[0] - n * h.sum() - n * (n - 1) * result.shift)
    assert result.value == pytest.approx(certain, rel=1e-9) and result.value <= certain
    assert value * (1 - 1e-7) < result.value < value * (1 + 2e-5)


@pytest.mark.slow
def test_bounds_are_attained_by_sharp_configurations():
    """From below, on any sphere, where the degree is that of their proof or more."""
    for d, n in ((2, 7), (3, 6), (3, 12), (8, 240), (22, 275)):
        sharp = sharp_configuration(d, n).pair_energy(5.0)
        assert -1e-8 < pair_energy_bound(d, n, 5.0).value / sharp - 1.0 <= 0.0, (d, n)
    # Where energies are 1e-71, rounding to the solver.
    sharp = sharp_configuration(3, 12).pair_energy(300.0)
    assert -1e-8 < pair_energy_bound(3, 12, 300.0).value / sharp - 1.0 <= 0.0
    for wrong in ({"tokens": 1}, {"dimension": 1}, {"beta": 0.0}, {"degree": 0}):
        refused("must be", pair_energy_bound, **{"dimension": 3, "tokens": 4, "beta": 1.0} | wrong)


def test_gap_is_the_least_curvature_of_the_energy():
    """A pair in closed form; small P, rotations and dimensions would spoil it."""
    for space in (mf.Sphere(), mf.Sphere(6), mf.Circle()):
        pair = mf.configuration("antipodal").build(space)
        # P = e^{-2 beta} (1 + beta |e_1 + e_2|^2 / 2) for displacements across.
        expected = 2 * 25.0 * np.exp(-50.0)
        assert relaxation_gap(pair, 25.0) == pytest.approx(expected, rel=1e-12)
    for wrong in (-1.0, 0.0, 1e4):
        refused("beta must be positive, at most 300", relaxation_gap, pair, wrong)
    points = np.random.default_rng(0).standard_normal((5, 4))
    points /= np.sqrt((points**2).sum(axis=1))[:, None]
    gaps = ((points[:, None] - points) ** 2).sum(axis=-1)[np.triu_indices(5, 1)]
    assert pair_energy(points, 3.0) == pytest.approx(np.exp(-1.5 * gaps).sum(), rel=1e-14)


def test_five_tokens_change_their_shape_at_a_beta():
    """A bipyramid of three, then a pyramid of four: equal energies at 6.886160810628."""

    def bipyramid(beta: float) -> float:
        return np.exp(-2 * beta) + 6 * np.exp(-beta) + 3 * np.exp(-1.5 * beta)

    def pyramid(beta: float) -> float:
        def at(z: float) -> float:
            flat = -beta * (1 - z * z)
            return 4 * np.exp(-beta * (1 + z)) + 4 * np.exp(flat) + 2 * np.exp(2 * flat)

        return minimize_scalar(at, bounds=(0.01, 0.4), options={"xatol": 1e-12}).fun

    switch = brentq(lambda b: bipyramid(b) / pyramid(b) - 1.0, 6.0, 8.0, xtol=1e-13)
    assert switch == pytest.approx(6.886160810628, abs=1e-11)
    for beta, expected in ((6.8, bipyramid), (7.0, pyramid)):
        optimum = mf.optimal_configuration(mf.Sphere(), 5, beta, starts=8)
        assert optimum.pair_energy == pytest.approx(expected(beta), rel=1e-13)
