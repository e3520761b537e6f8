"""Token paths and cell means: what the picture of a density is made of."""

from dataclasses import replace

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.api import simulate
from meanfield.figures.data.circle import cell_edges, cell_means, quantiles
from meanfield.figures.data.saved_times import spread_evenly
from meanfield.figures.data.tokens import evenly_chosen, token_paths
from meanfield.figures.draw.axes import spread

CIRCLE = mf.Circle()
LAW = mf.perturbed_uniform([[1, 0.06, 0.02], [3, 0.0, -0.05], [4, 0.1, 0.02]])
PROBLEM = mf.Problem(CIRCLE, mf.exponential(beta=9.0), mf.USA, LAW)


@pytest.mark.parametrize(("flow", "until"), [(mf.USA, 30.0), (mf.SA, 4.0)])
def test_paths_of_a_density_are_those_of_its_tokens(flow, until):
    """Lines that do not move with the density they are drawn on would show here."""
    # The tokens start at quantiles, which leaves them 1e-5 from the mean-field limit.
    problem = replace(PROBLEM, flow=flow)
    times, angles = token_paths(simulate(problem, until, save=31), 40)
    # Every 51st of 40 * 51 quantiles, from the 26th on, is one of 40.
    tokens = mf.from_points(quantiles(LAW.build(CIRCLE), 40 * 51))
    followed = simulate(replace(problem, initial=tokens), until, save=31)
    exact = np.array([measure.points for measure in followed.measures])[:, 25::51]
    assert times.tolist() == followed.time.tolist()
    assert np.abs(angles - exact).max() < 1e-4
    assert np.abs(exact[-1] - exact[0]).max() > 0.3  # they did move


TURNED = mf.Attention([mf.Head(score=[[0.9, -0.4], [0.7, 0.5]], value=[1.0, 0.4])], beta=6.0)


@pytest.mark.parametrize(
    ("problem", "until"), [(PROBLEM, 30.0), (mf.Problem(CIRCLE, TURNED, initial=LAW), 3.0)]
)
def test_mass_between_paths_of_a_density_is_conserved(problem, until):
    """The independent check: no density flows across a token's path."""
    # 1e-5: mass is read off cells of width 2 pi / 4096 by linear interpolation.
    run = simulate(problem, until, save=31, representation="density")
    _, angles = token_paths(run, 10)
    cells = 4096
    mass = np.concatenate([[0.0], np.cumsum(cell_means(run.measures[-1], cells))]) / cells
    turns = np.floor((angles[-1] + np.pi) / (2 * np.pi))
    below = turns + np.interp(angles[-1] - 2 * np.pi * turns, cell_edges(cells), mass)
    assert np.diff(below) == pytest.approx(np.full(9, 0.1), abs=1e-5)


def test_finer_paths_pass_through_the_coarse_ones():
    """Points between the saved times would bend the paths."""
    run = simulate(PROBLEM, 10.0, save=11)
    times, fine = token_paths(run, 5, per_interval=4)
    assert times[::4] == pytest.approx(run.time, abs=1e-13)
    # Both are integrated to 1e-8, with the same steps.
    assert fine[::4] == pytest.approx(token_paths(run, 5)[1], abs=1e-7)


def test_paths_of_particles_are_their_tokens():
    """Another token's path, or a wrapped one, would show here."""
    run = simulate(PROBLEM, 5.0, save=6, representation="particles", tokens=300)
    _, angles = token_paths(run, 40)
    points = np.array([measure.points for measure in run.measures])
    assert angles.shape == (6, 40)
    assert all(any(np.array_equal(path, token) for token in points.T) for path in angles.T)
    assert np.all(np.diff(angles[0] % (2 * np.pi)) > 0)


@pytest.mark.slow
def test_unknown_kernel_or_diffusion_has_no_paths():
    """Paths under a velocity that the file does not have would be wrong."""
    run = simulate(replace(PROBLEM, kernel=mf.zonal(lambda s: np.exp(s - 1))), 1.0, save=3)
    assert token_paths(replace(run, source_problem=None), 40)[1].shape == (3, 0)
    # Made here, the function is at hand: its paths are those of the kernel that it is.
    same = simulate(replace(PROBLEM, kernel=mf.exponential(1.0)), 1.0, save=3)
    assert token_paths(run, 40)[1] == pytest.approx(token_paths(same, 40)[1], abs=1e-7)
    noise = mf.Flow("none", diffusivity=0.1)
    noisy = simulate(mf.Problem(CIRCLE, mf.linear(), noise, LAW), 1.0, save=3)
    assert token_paths(noisy, 40)[1].shape == (3, 0)


def test_cell_means_are_integrals_of_the_density():
    """Samples instead of means, or a shifted grid, would show here."""
    density = mf.Density(CIRCLE, [1.0, 0.2 - 0.1j, 0.05j])
    edges = cell_edges(10)
    k, c = np.array([1, 2]), density.coefficients[1:]
    primitive = edges + 2 * np.real(np.exp(1j * np.outer(edges, k)) @ (c / (1j * k)))
    exact = np.diff(primitive) * 10 / (2 * np.pi)
    assert cell_means(density, 10) == pytest.approx(exact, abs=1e-14)


@pytest.mark.parametrize("count", [4, 720])
def test_cell_means_of_a_narrow_peak_hold_its_mass(count):
    """A peak between two cells' centres would vanish, or count twice."""
    peak = mf.von_mises_fisher(1e4, mean=0.3).build(CIRCLE)
    means = cell_means(peak, count)
    assert means.mean() == pytest.approx(1.0, abs=1e-13)
    low, high = cell_edges(count)[means.argmax() :][:2]
    assert low <= 0.3 <= high


def test_quantiles_cut_into_equal_masses():
    """Tokens drawn on the picture would crowd where the density does not."""
    density = mf.Density(CIRCLE, [1.0, 0.25])  # F = (theta + pi + sin(theta) / 2) / 2 pi
    result = quantiles(density, 8)
    mass = (result + np.pi + 0.5 * np.sin(result)) / (2 * np.pi)
    # Linear interpolation in cells of width h: h^2 / 8 max|F''| = 2.4e-8.
    assert mass == pytest.approx((np.arange(8) + 0.5) / 8, abs=5e-8)


def test_labels_keep_their_distance_and_stay_inside():
    """Labels at the ends of curves would overlap, or leave the figure at the top."""
    places = spread([0.1, 0.11, 0.5, 0.97, 0.98, 0.99], 0.06)
    assert np.all(np.diff(places) >= 0.06 - 1e-12)
    assert places[-1] <= 1.0 and places[2] == 0.5


def test_moments_that_cannot_be_followed_are_refused():
    """A figure of a damaged file would end in a traceback."""
    run = simulate(PROBLEM, 1.0, save=3)
    wild = replace(run, moments=np.full_like(run.moments, 1e300))
    with np.errstate(all="ignore"):
        refused("tokens cannot follow the moments of this run: ", token_paths, wild, 5)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        # Weights, and angles outside [-pi, pi], would be lost.
        (cell_means(mf.Measure(CIRCLE, [-np.pi, np.pi, 5 * np.pi, 0.1], [0.1, 0.2, 0.3, 0.4]), 4),
         [2.4, 0.0, 1.6, 0.0]),
        (quantiles(mf.Measure(CIRCLE, [3.0, -1.0, 1.0], [0.25, 0.25, 0.5]), 4), [-1, 1, 1, 3]),
        # A run of five tokens would show one of them several times.
        (np.sort(evenly_chosen(np.array([0.3, 6.0, -0.2]), 40)), [0, 1, 2]),
        # Marks would crowd at one end.
        (1 + spread_evenly(np.linspace(1.0, 1000.0, 1000), 4, logarithmic=True),
         [1.0, 10.0, 100.0, 1000.0]),
    ],
)  # fmt: skip
def test_points_and_times_are_chosen_by_their_weight(value, expected):
    """Cells, quantiles, tokens or times would be others than their formula says."""
    assert np.asarray(value) == pytest.approx(expected)
