"""Waves that heads carry around the circle: on their way, and where linear theory says."""

from dataclasses import replace

import numpy as np
import pytest
from head_oracle import turn

import meanfield as mf
from meanfield.figures.data.circle import cell_edges
from meanfield.figures.data.density import circle_picture, predicted_wave
from meanfield.figures.data.tokens import token_paths

CIRCLE = mf.Circle()


def turning(law, normalization="softmax"):
    """Values turned by 0.6."""
    heads = [mf.Head(value=turn(0.6))]
    return mf.Problem(CIRCLE, mf.Attention(heads, normalization, beta=4.0), initial=law)


def test_crest_of_linear_theory_is_that_of_the_run():
    """A wrong sense of rotation, or phase, would show here."""
    # What is left is of second order in the density's distance from uniform, 1e-5.
    law = mf.perturbed_uniform([[3, 0.0, 1e-5], [1, 1e-6, 0.0]])
    run = mf.simulate(turning(law), until=4.0, save=5)
    wave = predicted_wave(run)
    assert wave is not None and wave.order == 3 and wave.times[-1] == 4.0
    values = -np.angle(run.moments[-1, 3]) / 3.0
    turns = (wave.angles[-1] - values) * 3.0 / (2.0 * np.pi)
    assert turns == pytest.approx(round(turns), abs=1e-4)
    assert wave.angles[-1] - wave.angles[0] == pytest.approx(4.0 * 0.5394109, abs=1e-5)


def test_wave_turns_per_unit_of_the_time_axis():
    """The number would not be the slope of the crest that it names."""
    law = mf.perturbed_uniform([[3, 0.0, 1e-5]])
    run = mf.simulate(turning(law), until=1.0, unit="growth", save=2)
    wave = predicted_wave(run)
    slope = (wave.angles[-1] - wave.angles[0]) / (wave.times[-1] - wave.times[0])
    assert wave.velocity == pytest.approx(slope, rel=1e-12)
    assert abs(run.unit_length - 1.0) > 0.1
    assert wave.velocity == pytest.approx(0.5394109 * run.unit_length, abs=1e-6)


def test_waves_are_predicted_near_uniform_of_heads_alone():
    """A slope beside a kernel's stripes, or where linear theory fails, would be a false claim."""
    near = mf.perturbed_uniform([[2, 0.01, 0.0]])
    far = mf.perturbed_uniform([[2, 0.9, 0.0]])
    reflected = mf.Attention([mf.Head(score=[1.0, -1.0], value=[1.0, -1.0])], beta=4.0)
    for problem in (
        mf.Problem(CIRCLE, mf.exponential(4.0), mf.SA, near),
        mf.Problem(CIRCLE, reflected, initial=near),
        turning(far),
    ):
        assert predicted_wave(mf.simulate(problem, until=0.1, save=2)) is None


def test_functions_of_time_have_no_wave_and_no_paths():
    """Both would have the parameters of time 0, or an error would replace the figure."""
    law = mf.perturbed_uniform([[1, 0.001, 0.0]])
    head = mf.Head(value=lambda t: [[1.0, -1.0 - t], [1.0 + t, 1.0]])
    run = mf.simulate(mf.Problem(CIRCLE, mf.Attention([head], beta=2.0), initial=law), 0.1, save=2)
    assert predicted_wave(run) is None and token_paths(run, 5)[1].shape == (2, 0)


@pytest.mark.slow
def test_clusters_are_drawn_on_their_way():
    """Between two saves a cluster that travels would fade out, and in 1.7 farther on."""
    # 0.1: it is 0.14 wide at first, and leans forward.
    law = mf.von_mises_fisher(50.0, mean=2.5)
    run = mf.simulate(turning(law), until=3.0, save=2, representation="characteristics")
    picture = circle_picture(run)
    highest = cell_edges(len(picture.values))[picture.values.argmax(axis=0)]
    # One cluster turns at sin(0.6): from 2.5 over the seam.
    middle = 0.5 * (picture.edges[1:] + picture.edges[:-1])
    expected = 2.5 + np.sin(0.6) * middle
    assert np.abs(np.angle(np.exp(1j * (highest - expected)))).max() < 0.1


@pytest.mark.slow
def test_paths_of_sinkhorn_keep_the_mass_between_them():
    """Weights of the measures that were kept, not of stored moments, move its tokens."""
    # 1e-5: starts are read off cells of width 2 pi / 4096, moments interpolated in time.
    law = mf.perturbed_uniform([[1, 0.06, 0.02], [3, 0.0, -0.05], [4, 0.1, 0.02]])
    run = mf.simulate(turning(law, "sinkhorn"), until=1.0, save=6, representation="density")
    _, angles = token_paths(run, 10)
    assert angles[-1].mean() - angles[0].mean() > 0.25
    density = run.measures[-1]
    k = np.arange(1, density.max_degree + 1)
    waves = np.exp(1j * np.outer(angles[-1], k)) @ (density.coefficients[1:] / (1j * k))
    below = (angles[-1] + 2.0 * waves.real) / (2.0 * np.pi)
    assert np.diff(below) == pytest.approx(np.full(9, 0.1), abs=1e-5)
    # Without the states nobody knows the weights.
    unknown = replace(run, measures=(run.measures[0], *[None] * 5))
    assert token_paths(unknown, 10)[1].shape == (6, 0)
