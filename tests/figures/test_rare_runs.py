"""Figures of runs that are drawn in another way than most."""

from dataclasses import replace

import numpy as np
import pytest

import meanfield as mf
from meanfield.figures.data.density import circle_picture
from meanfield.figures.data.series import visible_degrees
from meanfield.figures.draw import plot
from meanfield.figures.draw.comparison import comparison_figure
from meanfield.studies.convergence_results import ConvergenceStudy
from meanfield.transport.sphere.wasserstein import sample_floor

LAW = mf.perturbed_uniform([[2, 0.1, 0.0]])


@pytest.fixture(scope="module")
def repelled():
    """Density that spreads: nothing grows. With the text of a run file."""
    problem = mf.Problem(mf.Circle(), mf.exponential(3.0), mf.Flow("none", strength=-1.0), LAW)
    run = mf.simulate(problem, until=2.0, save=5)
    text = "[representation]\ntolerance = 1e-9\n"
    return replace(run, attributes=dict(run.attributes) | {"config": text})


def test_rare_lines_are_reported(repelled):
    """Nobody would see how far the tail is; the slowest decay would be the fastest growth."""
    axes = plot(repelled, "resolution").axes[0]
    assert any(list(line.get_ydata()) == [1e-9, 1e-9] for line in axes.lines)
    assert [text.get_text() for text in axes.texts] == ["tolerance 1e-09"]
    assert visible_degrees(repelled)[1] is None
    assert plot(repelled, "spectrum").axes


@pytest.mark.slow
def test_noisy_tokens_are_a_smooth_density():
    """Lines would show ways between two saves that no token went, and a histogram stripes."""
    flow = mf.Flow("none", diffusivity=0.05)
    problem = mf.Problem(mf.Circle(), mf.exponential(3.0), flow, mf.from_points(np.arange(5.0)))
    run = mf.simulate(problem, until=1.0, save=4, representation="particles", step=0.1)
    picture = circle_picture(run)
    assert picture.paths == [] and picture.smoothed
    # Relative to uniform, and positive: five tokens of width 0.2.
    np.testing.assert_allclose(picture.table.mean(axis=0), 1.0, rtol=1e-12)
    assert picture.table.min() > -1e-6 and picture.table.max() < np.sqrt(2.0 * np.pi) / 0.2
    bar = plot(run, "density").axes[0].child_axes
    assert any(axes.get_ylabel() == "smoothed density $f$ (uniform = 1)" for axes in bar)


def test_floor_of_two_samples_is_drawn_on_the_sphere_only():
    """A fitted formula for the sphere would be shown for the circle, too."""
    tokens, times = np.array([100, 1000]), np.array([0.0, 1.0])
    distances = np.ones((2, 3, 2)) / np.sqrt(tokens)[:, None, None]
    study = ConvergenceStudy(times, tokens, distances, "W1", -1.0, np.full(2, np.inf))
    drawn = {}
    for name in ("circle", "sphere"):
        axes = comparison_figure(replace(study, attributes={"manifold": name})).axes[1]
        drawn[name] = [l.get_ydata() for l in axes.lines if l.get_linestyle() == ":"]
    assert drawn["circle"] == []
    np.testing.assert_allclose(drawn["sphere"][0], [sample_floor(100), sample_floor(1000)])
