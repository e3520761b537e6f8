"""Spectra of stationary measures against matrices of clusters, quadratures and moving rings."""

from dataclasses import replace

import numpy as np
import pytest
from exact_solutions import ring_height
from parameters import refused

import meanfield as mf

KERNELS = [
    mf.exponential(3.0), mf.linear(), mf.exponential(-1.2),
    mf.zonal(lambda s: 1 / (2 - s), name="hyperbola"),
]  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize(
    ("d", "law"),
    [
        (3, mf.configuration("cross_polytope")),
        (5, mf.configuration("cross_polytope", dimension=3)),
        (6, mf.configuration("simplex", dimension=4)),
        (2, mf.configuration("polygon", 5)),
        (4, mf.configuration("polygon", 6)),
        (4, mf.configuration("antipodal", weights=[0.3, 0.7])),
        (3, mf.configuration("simplex", dimension=1)),
    ],
    ids=repr,
)
def test_formulas_are_the_eigenvalues_of_the_clusters(d, law, kernel):
    """All of them, each as often: softmax and repulsive sums, in subspheres too."""
    for flow in (mf.SA, mf.Flow("none", strength=-1.5)):
        problem = mf.Problem(mf.Circle() if d == 2 else mf.Sphere(d), kernel, flow, law)
        spectrum = mf.stationary_spectrum(problem)
        matrix = mf.cluster_rates(problem, problem.initial_measure()).escape.real
        assert spectrum.closed and spectrum.multiplicities.sum() == len(matrix)
        # Eigenvalues of symmetric matrices of some 20 rows.
        each = np.repeat(spectrum.rates, spectrum.multiplicities)
        np.testing.assert_allclose(each, matrix, rtol=0, atol=1e-13 * np.abs(matrix).max())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("d", "size", "tokens", "error"), [(3, 2, 40, 1e-14), (4, 2, 40, 1e-14), (4, 3, 10, 3e-5)]
)
def test_rates_of_subspheres_are_those_of_their_quadratures(d, size, tokens, error):
    """Points would not converge faster than any power to the continuous measure's low degrees."""
    law = mf.configuration("subsphere", tokens, size)
    for flow in (mf.SA, mf.USA)[: 4 - size]:
        problem = mf.Problem(mf.Sphere(d), mf.exponential(2.0), flow, law)
        exact = mf.stationary_spectrum(problem, 1 if size == 3 else 5)
        points = mf.cluster_rates(problem, problem.initial_measure())
        assert points.drift < max(error, 1e-12)
        for rate, count in zip(exact.rates, exact.multiplicities, strict=True):
            away = np.sort(np.abs(points.escape.real - rate))
            assert away[count - 1] < error < away[count] or rate == 0.0


def test_a_subsphere_is_left_as_a_ring_leaves_the_equator():
    """Degree 0 along the normal is the height of a ring of S^7, by its own equation."""
    law = mf.configuration("subsphere", 2, 7)
    there = mf.Problem(mf.Sphere(8), mf.exponential(5.0), mf.SA, law)
    spectrum = mf.stationary_spectrum(there)
    rate = spectrum.rates[spectrum.modes.index("degree 0 along a normal")]
    heights = ring_height(8, 5.0, [0.0, 1.0], 1e-7)
    # Beyond linear: 1e-14.
    assert abs(np.log(heights[1] / heights[0]) - rate) < 1e-11


def test_without_scores_the_second_moments_are_the_spectrum():
    """Linear kernel, mean 0: rates 1 - s of the eigenvalues s of int x x^T, the rest 0."""
    x = mf.Sphere().random_points(5, np.random.default_rng(0))
    points = np.concatenate([x, -x])
    problem = mf.Problem(mf.Sphere(), mf.linear(), mf.SA, mf.from_points(points))
    spectrum = mf.stationary_spectrum(problem)
    moments = np.linalg.eigvalsh(points.T @ points / 10)
    np.testing.assert_allclose(spectrum.rates, [*1.0 - moments, 0.0], rtol=0, atol=1e-14)
    assert spectrum.index == 3 and spectrum.multiplicities.tolist() == [1, 1, 1, 17]


def test_what_moves_has_no_spectrum():
    """Unequal masses on a triangle; another density; and repulsion settles an octahedron."""
    law = mf.configuration("simplex", weights=[0.5, 0.25, 0.25])
    problem = mf.Problem(mf.Circle(), mf.exponential(2.0), mf.SA, law)
    refused("is not stationary: a cluster moves at", mf.stationary_spectrum, problem)
    bump = replace(problem, initial=mf.von_mises_fisher(2.0))
    refused("is a density: mf.linear_operator has spectra", mf.stationary_spectrum, bump)
    repulsive, law = mf.Flow("none", strength=-1.0), mf.configuration("cross_polytope")
    octahedron = mf.Problem(mf.Sphere(), mf.exponential(5.0), repulsive, law)
    assert mf.stationary_spectrum(octahedron).is_stable


def test_spectra_of_other_masses_and_degrees_are_refused():
    """A pair may have masses that no measure has; without a degree nothing is the largest."""
    for weights, reason in (([1.0], "shape"), ([0.3, 0.3], "sum to 0.6"), ([-0.3, 1.3], "not neg")):
        law = mf.configuration("antipodal", weights=weights)
        problem = mf.Problem(mf.Sphere(), mf.exponential(5.0), mf.USA, law)
        refused(reason, mf.stationary_spectrum, problem)
    problem = mf.Problem(mf.Circle(), mf.exponential(2.0), mf.SA, mf.uniform())
    refused("max_degree", mf.stationary_spectrum, problem, 0)


def test_index_at_extreme_beta_is_right_or_missing():
    """Small rates of formulas grow all the same; those that underflow are no stability."""
    law = mf.configuration("cross_polytope")

    def index(beta: float) -> int:
        problem = mf.Problem(mf.Sphere(), mf.exponential(beta), mf.SA, law)
        return mf.stationary_spectrum(problem).index

    assert (index(1e-6), index(300.0)) == (9, 9)
    refused("Take a smaller beta", index, 1e3)
