"""Layout of figures: no empty panels, no names on one another, no line through a name."""

from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from matplotlib.figure import Figure

import meanfield as mf
from meanfield.figures.data.series import energy_picture, spectrum_picture
from meanfield.figures.data.vectors import cosine_shares, similarity_picture
from meanfield.figures.draw import plot
from meanfield.figures.draw.clusters import clusters_picture
from meanfield.figures.draw.over_time import draw_energy
from meanfield.observables.cosines import similarity


@cache
def collapse():
    law = mf.perturbed_uniform([[3, 0.1, 0.0], [1, 0.01, 0.0], [2, 0.0, 0.02]])
    problem = mf.Problem(mf.Circle(), mf.exponential(4.0), mf.SA, law)
    return mf.simulate(problem, until=200.0, save=[0.0, *np.geomspace(0.1, 200.0, 60)])


def texts_drawn(axes):
    every = [text for panel in (axes, *axes.child_axes) for text in panel.texts]
    return [text for text in every if text.get_text().strip()]


def assert_apart(texts):
    assert texts
    texts[0].figure.draw_without_rendering()
    for one, other in combinations(texts, 2):
        overlap = one.get_window_extent().overlaps(other.get_window_extent())
        assert not overlap, f"{one.get_text()} and {other.get_text()}"


@pytest.mark.slow
def test_overview_has_no_empty_panels():
    """Heads without an energy would leave a panel of nothing on an axis to 0.001."""
    turn = mf.Attention([mf.Head(), mf.Head(value=[[0, -1], [1, 0]])], beta=4.0)
    law = mf.perturbed_uniform([[2, 0.1, 0.0]])
    run = mf.simulate(mf.Problem(mf.Circle(), turn, mf.SA, law), until=0.5, save=3)
    figure = plot(run)
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels == [r"angle $\theta$ (rad)", r"moments $|m_\ell|$"]
    assert figure.axes[-1].get_xlabel() == "scaled time $t$"
    # The panels that are left are as high as they were.
    assert figure.get_figheight() == pytest.approx(8.4 * (3.3 + 2.0) / (3.3 + 1.3 + 2.0))
    assert len(plot(collapse()).axes) == 3


@pytest.mark.slow
def test_moments_that_a_symmetry_forbids_are_not_drawn():
    """Rounding of 1e-16 to 1e-10 would look like growth."""
    law = mf.perturbed_uniform([[3, 0.1, 0.0]])
    problem = mf.Problem(mf.Circle(), mf.exponential(4.0), mf.SA, law)
    run = mf.simulate(problem, until=12.0, save=13)
    assert run.sizes_by_degree()[-1, 1] < 1e-9
    picture = spectrum_picture(run)
    assert picture.degrees == [3, 6] and picture.sizes.shape == picture.predicted.shape == (13, 2)
    # Without a symmetry small moments are as true as others.
    free = replace(run, attributes={k: v for k, v in run.attributes.items() if k != "symmetry"})
    assert spectrum_picture(free).degrees == list(range(1, 9))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["energy", "spectrum", "clusters", "overview"])
def test_names_do_not_overlap(kind):
    """Hand-overs, clusters and degrees would be written on one another."""
    for axes in plot(collapse(), kind).axes:
        names = [text for text in texts_drawn(axes) if text.arrow_patch is None]
        if len(names) > 1:
            assert_apart(names)


@pytest.mark.slow
def test_no_curve_runs_through_a_name():
    """The name of a hand-over would be struck out by the number of clusters."""
    figure = plot(collapse(), "energy")
    figure.draw_without_rendering()
    texts = [text for axes in figure.axes for text in axes.texts]
    names = [text for text in texts if text.get_text() in ("characteristics", "atoms")]
    lines = [line for axes in figure.axes for line in axes.lines if len(line.get_xdata()) > 2]
    assert len(names) == 2 and len(lines) == 2
    for line in lines:
        path = line.get_transform().transform_path(line.get_path())
        for name in names:
            assert not path.intersects_bbox(name.get_window_extent(), filled=False)
    # Names are placed on the layout of the figure, which must be the one that is drawn.
    places = []
    for _ in range(2):
        figure.draw_without_rendering()
        places.append([axes.get_position().bounds for axes in figure.axes])
    assert places[0] == places[1]


@pytest.mark.slow
def test_clusters_are_named_above_their_lines():
    """One name below its line and the next above would make the reader guess."""
    axes = next(axes for axes in plot(collapse(), "energy").axes if axes.texts)
    levels = [text for text in axes.texts if "equal clusters" in text.get_text()]
    assert [text.get_text() for text in levels] == ["2 equal clusters", "3 equal clusters"]
    axes.figure.draw_without_rendering()
    for text in levels:
        line = axes.transData.transform((1.0, text.xy[1]))[1]
        box = text.get_window_extent()
        assert line < box.y0 and box.y1 < axes.bbox.y1 + 2.0
        assert text.get_path_effects()


@pytest.mark.slow
def test_curve_strikes_no_name_of_a_level_through():
    """An energy just above that of two equal clusters ran through the words."""
    own = energy_picture(collapse())
    for energy, names in ((0.513, []), (0.9, ["2 equal clusters"])):
        axes = Figure().subplots()
        still = replace(own, energy=np.full_like(own.energy, energy), count=None, levels={2: 0.5})
        draw_energy(still, axes)
        assert [each.get_text() for each in axes.texts if "equal" in each.get_text()] == names


@pytest.mark.slow
def test_legend_of_linear_theory_has_a_line():
    """The legend would name dashes that are not drawn, or lie below the curve that covers them."""
    axes = plot(collapse(), "spectrum").axes[0]
    assert axes.get_legend() is not None
    dashed = [line for line in axes.lines if line.is_dashed() and len(line.get_xdata()) > 2]
    drawn = [line for line in dashed if np.isfinite(np.asarray(line.get_ydata(), float)).any()]
    curves = [line for line in axes.lines if not line.is_dashed()]
    assert drawn and min(l.get_linewidth() for l in drawn) > max(l.get_linewidth() for l in curves)
    # Predictions below the axis are invisible.
    assert plot(collapse(), "spectrum", limits=(0.9, 2.0)).axes[0].get_legend() is None


@pytest.mark.slow
def test_times_below_maps_do_not_overlap(mixed_sphere):
    """Names of neighbouring maps would run into each other."""
    labels = texts_drawn(plot(mixed_sphere).axes[0])
    times = [text for text in labels if text.get_text().startswith("$t")]
    assert len(times) == 6
    assert_apart(times)


def at_the_edge():
    """Tokens around three places of the sphere, one of them at longitude 180."""
    places = np.array([[-1.0, 0.0, 0.1], [0.3, 0.9, 0.2], [0.4, -0.8, -0.3]])
    points = np.repeat(places, 20, axis=0) + 0.1 * np.random.default_rng(0).normal(size=(60, 3))
    problem = mf.Problem(mf.Sphere(), mf.exponential(6.0), mf.SA, mf.from_points(points))
    return mf.simulate(problem, until=4.0, save=9, representation="particles")


@pytest.mark.slow
def test_clusters_at_the_edge_of_a_map_are_drawn_once():
    """A cluster at longitude 180 would be on both sides, in two colours."""
    run = at_the_edge()
    assert clusters_picture(run).middle == -180
    (panel,) = [each for each in plot(run, "clusters").axes[0].child_axes if each.texts]
    places = np.concatenate([np.asarray(c.get_offsets()) for c in panel.collections])
    # Off the edge of the ellipse, whose half width is 2 sqrt 2.
    assert np.abs(places[:, 0]).max() < 2.0
    assert [text.get_text() for text in panel.texts] == ["longitude 180° in the middle"]


def test_colours_of_clusters_begin_with_the_first_one():
    """Half the colours would stand for times at which there are no clusters."""
    run = at_the_edge()
    late = {name: run.observables[f"clusters/{name}"].copy() for name in ("mass", "centre")}
    for values in late.values():
        values[:3] = np.nan
    had = run.observables | {f"clusters/{name}": values for name, values in late.items()}
    assert clusters_picture(replace(run, observables=had)).span == (run.time[3], run.time[-1])


@cache
def many_dimensions():
    """Tokens on S^7 that are one cluster long before the end."""
    problem = mf.Problem(mf.Sphere(8), mf.exponential(1.0), mf.SA)
    return mf.simulate(problem, until=40.0, save=81, representation="particles", tokens=40)


@pytest.mark.slow
def test_panels_of_tokens_are_of_one_size():
    """The paths would be small beside their cosines."""
    figure = plot(many_dimensions())
    figure.draw_without_rendering()
    sizes = np.array([axes.get_window_extent().size for axes in figure.axes])
    assert len(sizes) == 4
    # To a pixel.
    np.testing.assert_allclose(sizes, np.full((4, 2), sizes[0, 0]), rtol=0, atol=1.0)


@pytest.mark.slow
def test_matrices_are_at_times_that_differ():
    """Three of four panels would be the same red square."""
    means = similarity_picture(many_dimensions()).matrices[0].mean(axis=(1, 2))
    assert len(means) == 4 and means[0] < 0.2 and means[-1] > 0.999
    # A third of the change each, as well as the saved times allow.
    assert np.diff(means).min() > 0.1


@pytest.mark.slow
def test_cosines_of_many_nodes_are_those_of_their_masses():
    """Views of characteristics would be blank; nodes that count alike would be another law."""
    law = mf.von_mises_fisher(2.0)
    density = law.build(mf.Sphere())
    grid = mf.Sphere().grid(80)
    mass = grid.weights * grid.to_nodal(density.coefficients).ravel()
    nodes = mf.Measure(mf.Sphere(), grid.points, mass / mass.sum())
    assert len(nodes.points) > 10_000
    run = mf.simulate(mf.Problem(mf.Sphere(), mf.exponential(2.0), mf.SA, law), 0.1, save=2)
    run = replace(run, measures=(nodes, density))
    # 2,048 of some 13,000 nodes; alike they would miss by 0.3 in sum.
    assert np.abs(cosine_shares(run, np.array([0, 1]))[0] - similarity(density)).sum() < 0.05
