"""Figures and films of tokens on spheres of any dimension and in R^d."""

from functools import cache

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from parameters import refused

import meanfield as mf
from meanfield.figures.data.vectors import (
    attention_picture,
    axes_picture,
    cosines_picture,
    histogram_picture,
    similarity_picture,
)
from meanfield.figures.draw import PLOTS, animate, plot
from meanfield.figures.draw.hulls import hulls_picture
from meanfield.observables import similarity
from tests.figures.samples import stateless

RNG = np.random.default_rng(0)
SPHERE = RNG.standard_normal((12, 40))
PLANE = 2.0 * RNG.standard_normal((10, 2))
SOLID = 2.0 * RNG.standard_normal((8, 5))


@cache
def run_of(name):
    if name == "sphere":
        law = mf.from_points(SPHERE)
        return mf.simulate(mf.Problem(mf.Sphere(40), mf.exponential(3.0), mf.SA, law), 6.0, save=7)
    value, points = {
        "polytope": (1.0, PLANE),
        "hyperplanes": ([1.0, 0.3], PLANE),
        "origin": (-1.0, PLANE),
        "turning": ([[0.5, -1.0], [1.0, 0.5]], PLANE),
        "product": ([1.0, 1.0, 1.0, 0.3, 0.2], SOLID),
        "solid": ([1.0, 0.4, 0.3, 0.3, 0.2], SOLID),
        "line": (1.0, PLANE[:, :1]),
    }[name]
    attention = mf.Attention([mf.Head(value=value)], beta=1.0)
    problem = mf.Problem(mf.Euclidean(points.shape[1]), attention, initial=mf.from_points(points))
    return mf.simulate(problem, 8.0, save=9)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "space"), [("sphere", "vectors"), ("polytope", "space")])
def test_every_kind_is_drawn(name, space):
    """A kind that fails for a run would show here; many axes of one figure are quick."""
    panels = Figure(figsize=(16.0, 16.0), dpi=30).subplots(3, 3).flat
    for kind in (name for name, entry in PLOTS.items() if space in entry.manifolds):
        if kind == "overview":
            draw(plot(run_of(name), kind, dpi=30))
        else:
            figure = plot(run_of(name), kind, ax=next(panels))
    draw(figure)


@pytest.mark.slow
def test_histograms_stand_side_by_side():
    """Densities show the law of <x, y>; rings and states that are not stored show no law."""
    law = mf.von_mises_fisher(2.0)
    for space in (mf.Circle(), mf.Axial(5)):
        run = mf.simulate(mf.Problem(space, mf.exponential(2.0), mf.SA, law), 0.2, save=3)
        assert len(plot(run, "histogram", times=run.time[[0, 2]]).axes[0].child_axes) == 2
        shares = histogram_picture(run).shares
        np.testing.assert_array_equal(shares, [similarity(each) for each in run.measures])
    refused("no state of the run was kept", plot, stateless(run), "histogram")
    rings = mf.Problem(mf.Axial(5), mf.exponential(2.0), mf.SA, mf.from_points([0.5, 1.0]))
    message = "not known of this run: .* rings of axial measures"
    refused(message, plot, mf.simulate(rings, 0.1, save=2), "histogram")


@pytest.mark.slow
def test_hulls_of_every_limit_are_drawn():
    """One of points, of lines or of intervals would fail, in a run or as a shape alone."""
    names = ("hyperplanes", "origin", "turning", "product", "solid", "line")
    panels = Figure(figsize=(12.0, 8.0), dpi=30).subplots(2, 3).flat
    for name, panel in zip(names, panels, strict=True):
        run = run_of(name)
        figure = plot(run, "hulls", ax=panel)
        shape = mf.limit_shape(run.problem, run.measures[-1], 8.0)
        assert "tokens of R^" in str(shape) and shape.plot().axes[0].has_data()
    draw(figure)


def draw(figure):
    FigureCanvasAgg(figure).draw()
    assert np.ptp(np.asarray(figure.canvas.buffer_rgba())) > 100


@pytest.mark.slow
def test_pictures_of_a_sphere():
    """Matrices are of the tokens, in one order; cosines end together, near the curve."""
    run = run_of("sphere")
    picture = similarity_picture(run)
    cosines = run.measures[0].points @ run.measures[0].points.T
    np.testing.assert_allclose(np.sort(picture.matrices[0, 0].ravel()), np.sort(cosines.ravel()))
    # Even in the mean cosine, which grows fastest in between.
    assert picture.times.tolist() == [0.0, 2.0, 3.0, 6.0]
    over_time = cosines_picture(run)
    np.testing.assert_allclose(over_time.shares.sum(axis=0), 1.0)
    mean = run.observables["mean_cosine"]
    assert over_time.curve[0] == pytest.approx(mean[0]) and abs(over_time.curve[3] - mean[3]) < 0.1
    plane = axes_picture(run)
    assert np.all(np.linalg.norm(plane.points, axis=2) <= 1.0 + 1e-12) and 0.3 < plane.share < 1.0
    np.testing.assert_allclose(attention_picture(run).matrices.sum(axis=3), 1.0)


TWO_HEADS = mf.Attention([mf.Head(), mf.Head(score=0.5)], beta=9.0)
STAGES = [mf.Stage(1.0), mf.Stage(kernel=TWO_HEADS)]


@pytest.mark.parametrize(("kernel", "stages", "expected"), [
    # Every layer of stacked weights would be drawn with the first layer's.
    (mf.exponential(1.0), STAGES, TWO_HEADS),
    # A beta that grows would be drawn with its value at time 0.
    (mf.exponential(lambda t: 1.0 + 2.0 * t), (), mf.exponential(5.0)),
], ids=["stage", "function"])  # fmt: skip
def test_attention_is_that_of_its_time(kernel, stages, expected):
    """The matrix would have the parameters of time 0."""
    space, law = mf.Sphere(40), mf.from_points(SPHERE)
    run = mf.simulate(mf.Problem(space, kernel, mf.SA, law, stages=stages), 2.0, save=[0.5, 2.0])
    matrices = attention_picture(run).matrices
    later = mf.attention_matrix(mf.Problem(space, expected, mf.SA), run.measures[1])
    assert matrices.shape == (1, 2, 12, 12)
    np.testing.assert_allclose(np.sort(matrices[0, 1].ravel()), np.sort(later[0].ravel()))


@pytest.mark.slow
def test_pictures_of_r_d_are_rescaled():
    """Hulls shrink about vertices that rest; lines lie where tokens gather."""
    picture = hulls_picture(run_of("polytope"))
    assert np.abs(picture.paths).max() == pytest.approx(np.abs(PLANE).max(), rel=0.05)
    assert picture.shape.theorem == "polytope" and len(picture.hulls) == 5
    lines = hulls_picture(run_of("hyperplanes")).lines
    assert [line[0, 0] for _, line in lines] == pytest.approx([level for level, _ in lines])
    solid = hulls_picture(run_of("solid"))
    nearest = np.abs(solid.paths[-1][:, :1] - solid.shape.levels).min(axis=1)
    assert nearest.max() < 0.01 * np.ptp(solid.shape.levels)


@pytest.mark.slow
def test_films_of_tokens_play(tmp_path):
    """On a sphere with energies, in R^d with lengths."""
    for name in ("sphere", "polytope"):
        assert animate(run_of(name), tmp_path / f"{name}.gif").stat().st_size > 5000


@pytest.mark.slow
def test_kinds_say_which_a_run_has():
    """And what is missing."""
    run = run_of("sphere")
    refused("'map' is for the sphere, this run is on sphere:40. K", plot, run, "map")
    message = "Kinds for it: overview, order_parameter, axes, .*hulls"
    refused(message, plot, run_of("polytope"), "energy")
    refused("were not kept", plot, stateless(run), "axes")


@pytest.mark.slow
def test_measures_of_tokens_are_drawn_and_are_no_densities():
    """One line where a density is wanted; atoms are no representation there."""
    for measure in (run_of("sphere").measures[0], run_of("line").measures[0]):
        assert measure.plot().axes[0].has_data()
        refused("have no density, smoothed or not", measure.smoothed, 0.1)
    run, message = run_of("sphere"), "atoms are known on the circle and the sphere, not on S"
    refused("have no density: leave out grid", run.to_xarray, grid=4)
    refused(message, mf.simulate, run.problem, 1.0, representation="atoms")
