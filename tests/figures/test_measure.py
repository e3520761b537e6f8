"""Figures of single measures."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from parameters import refused

import meanfield as mf


@pytest.mark.slow
def test_density_and_points_of_the_circle_are_drawn_as_what_they_are():
    """Tokens would be a density that they have not, or a density a histogram."""
    density = mf.Density(mf.Circle(), [1.0, 0.25])
    (axes,) = density.plot(figsize=(4.0, 2.0)).axes
    (curve,) = axes.patches
    assert axes.get_title(loc="left") == "Density(degree 1 on the circle)"
    assert curve.get_data().values.max() == pytest.approx(1.5, rel=1e-4)
    few = mf.Measure(mf.Circle(), [0.0, 7.0], [0.25, 0.75])
    (axes,) = few.plot(title="two").axes
    (stems,) = axes.collections
    ends = [tuple(path.vertices[1]) for path in stems.get_paths()]
    assert ends == [(0.0, 0.25), (pytest.approx(7.0 - 2 * np.pi), 0.75)]
    (smooth,) = few.plot(width=0.3).axes[0].patches
    highest = few(np.linspace(0.0, 1.0, 1000), width=0.3).max()
    assert smooth.get_data().values.max() == pytest.approx(highest, rel=1e-4)
    many = mf.Measure(mf.Circle(), np.linspace(0.0, 6.0, 1000))
    assert len(many.plot().axes[0].patches[0].get_data().values) == 100


@pytest.mark.slow
def test_measures_of_the_sphere_are_maps_on_axes_of_the_user():
    """A map would need a run."""
    figure = Figure()
    left, right = figure.subplots(1, 2)
    density = mf.Density(mf.Sphere(), mf.Sphere().from_modes([[1, 0, 0.3]]))
    assert density.plot(ax=left) is figure
    points = mf.Sphere().random_points(50, np.random.default_rng(0))
    mf.Measure(mf.Sphere(), points).plot(ax=right)
    assert len(left.images) == len(right.images) == 1
    assert len(right.collections[-1].get_offsets()) == 50
    message = "plot: widht is not known; did you mean width"
    refused(message, density.plot, error=TypeError, widht=0.1)
