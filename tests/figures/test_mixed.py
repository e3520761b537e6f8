"""Runs that change their representation: every kind of figure, and what it shows of each part."""

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import LineCollection, QuadMesh
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from parameters import refused
from scipy.integrate import solve_ivp

import meanfield as mf
from meanfield.events import Event
from meanfield.figures.data.circle import cell_means
from meanfield.figures.data.density import column, marks
from meanfield.figures.data.projections import Mollweide
from meanfield.figures.data.saved_times import part
from meanfield.figures.data.sphere import chosen_times, sphere_panel
from meanfield.figures.data.tokens import equal_nodes, token_paths, tokens_of
from meanfield.figures.draw import PLOTS, plot, save_plot
from meanfield.figures.draw.axes import style
from meanfield.figures.draw.film import draw_film
from meanfield.figures.draw.overview import film_picture
from meanfield.figures.draw.sphere import dot_style
from meanfield.spaces.label_cells import label_cells
from tests.figures.samples import kinds_of


def atoms_alone(run):
    return part(run, np.flatnonzero(np.array(run.representation) == "atoms"))


@pytest.mark.slow
def test_every_kind_shows_atoms_alone_or_says_why_not(mixed):
    """An empty range of colours would be a traceback; many axes of one figure are quick."""
    run = atoms_alone(mixed)
    message = "is for (the |spheres of|R)|of this run was atoms|has no labels|has no fluct"
    panels = Figure(figsize=(20.0, 20.0), dpi=30).subplots(4, 4).flat
    for kind in PLOTS:
        if kind not in kinds_of(run):
            refused(message, plot, run, kind)
        elif kind == "overview":
            plot(run, kind, dpi=30).canvas.draw()
        else:
            figure = plot(run, kind, ax=next(panels))
    figure.canvas.draw()


@pytest.mark.slow
def test_film_shows_every_part(mixed):
    """Frames of one part would be empty, or equal to another part's."""
    with style():
        film = draw_film(film_picture(mixed))
        few = replace(film, frames=film.frames[[3, 15, 22, -1]])
        places = [int(np.flatnonzero(film.frames == index)[0]) for index in few.frames]
        frames = list(replace(few, show=lambda k: film.show(places[k])).pixels())
    pairs = zip(frames, frames[1:], strict=False)
    assert all((first != second).mean() > 0.001 for first, second in pairs)


@pytest.mark.slow
def test_atoms_are_dashes_where_they_are_and_as_thick_as_they_are_heavy(mixed_circle):
    """Atoms would be drawn elsewhere, or all alike."""
    collections = plot(mixed_circle, "density").axes[0].findobj(LineCollection)
    (dashes,) = [c for c in collections if len(set(c.get_linewidths())) > 1]
    paths = dashes.get_segments()
    # They rest from merge to merge, without a seam: each merge makes one that lies elsewhere.
    assert len(paths) == 4 + 3
    last = max(paths, key=lambda path: path[-1, 0])
    assert last[:, 1].tolist() == [0.0, 0.0] and last[-1, 0] == mixed_circle.time[-1]
    widths = np.unique(np.round(dashes.get_linewidths(), 9))  # in order
    assert widths / widths[-1] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.6, 1.0])


@pytest.mark.slow
def test_no_dash_crosses_the_seam(mixed_circle):
    """An atom that passes from pi to -pi would be a line across the picture."""
    lines = plot(mixed_circle, "density").axes[0].findobj(LineCollection)
    paths = [path for each in lines for path in each.get_segments()]
    assert max(np.abs(np.diff(path[:, 1])).max() for path in paths) < 1.0
    assert all(np.all(np.abs(path[:, 1]) <= np.pi) for path in paths if len(path) == 2)


@pytest.mark.slow
def test_tokens_are_followed_until_atoms_take_over(mixed_circle, mixed_sphere):
    """An explicit method would follow tokens to 1e60."""
    times, angles = token_paths(mixed_circle, 10)
    assert times[-1] == mixed_circle.time[19] and angles.shape == (20, 10)
    tokens = tokens_of(mixed_sphere)
    assert [len(points) for points in tokens[:21]] == [300] * 20 + [4]
    assert len(tokens[-1]) == 1


@pytest.mark.slow
def test_all_pictures_of_a_run_follow_tokens_once(mixed_circle, mixed_sphere, monkeypatch):
    """An overview, a map, a globe and a film would each solve the same equation."""
    solves = []

    def counted(*arguments, **options):
        solves.append(arguments[1][1])
        return solve_ivp(*arguments, **options)

    monkeypatch.setattr("scipy.integrate.solve_ivp", counted)
    # New objects, of which nothing is known yet, beside those that others have drawn.
    ring, ball = replace(mixed_circle), replace(mixed_sphere)
    for run, kinds, own in (
        (ring, ("overview", "density"), 2),  # the ring of the film has tokens of its own
        (ball, ("overview", "map", "globe"), 1),
    ):
        solves.clear()
        for kind in kinds:
            PLOTS[kind].picture(run)
        film_picture(run)
        plot(run, kinds[-1], title="one that the run has not")
        assert solves == [run.time[19]] * own
    pairs = zip(tokens_of(mixed_sphere), tokens_of(ball), strict=True)
    assert all(np.array_equal(*pair) for pair in pairs)
    alive = weakref.ref(ring)
    del ring, run
    gc.collect()
    assert alive() is None


def test_nodes_of_characteristics_are_drawn_as_their_density():
    """A histogram of nodes would be full of holes, or the mass at the seam be lost."""
    # The mass is linear between points h = 0.4 / 64 apart: means over cells of a width c are wrong
    # by at most 2 h^2 / 8 max|f'| / c = 2.4e-4.
    law = mf.perturbed_uniform([[1, 0.3, 0.2], [3, 0.0, -0.4]])
    density, cells = law.build(mf.Circle()), label_cells(mf.Circle(), 0.4)
    for turn in (0.0, 2.0):
        places = cells.points + turn
        nodes = mf.Measure(mf.Circle(), places, density(places) * cells.weights, cells.order)
        assert cell_means(nodes, 90) == pytest.approx(cell_means(density, 90), abs=2.4e-4)
        # More cells than nodes: none is empty.
        assert cell_means(nodes, 2000).min() > 0.99 * cell_means(density, 2000).min()
        assert cell_means(nodes, 2000).mean() == pytest.approx(1.0, abs=1e-14)


@pytest.mark.slow
def test_light_atoms_of_many_fill_cells(mixed_circle):
    """A hundred thousand dashes a saved time would take minutes, or light atoms be left out."""
    run = mixed_circle
    masses = np.append(np.full(400, 0.5 / 400), 0.5)
    angles = np.append(np.linspace(-3.0, -1.0, 400), 2.0)
    many = replace(run, measures=(*run.measures[:-1], mf.Measure(mf.Circle(), angles, masses)))
    place, mass = marks(many, len(run.time) - 1)
    assert place.tolist() == [2.0] and mass.tolist() == [0.5]
    assert column(many, len(run.time) - 1, 240, marked=False).mean() == pytest.approx(0.5)
    assert column(many, len(run.time) - 1, 240).mean() == pytest.approx(1.0)


@pytest.mark.slow
def test_between_densities_colours_are_interpolated_and_atoms_begin_at_once(mixed_circle):
    """A density would seem to fade into the dark over the gap before the atoms."""
    axes = plot(mixed_circle, "density").axes[0]
    (mesh,) = [c for c in axes.collections if isinstance(c, QuadMesh)]
    assert isinstance(mesh.norm, LogNorm)
    shade = mesh.get_array().max(axis=0)
    begin = np.flatnonzero(shade <= mesh.norm.vmin * (1 + 1e-9))[0]
    assert shade[begin - 1] > 3.0 and np.all(shade[begin:] <= mesh.norm.vmin * (1 + 1e-9))


def test_nodes_for_equal_masses():
    """Dots would be dense where nodes are, not where mass is."""
    points = mf.Sphere().random_points(4, np.random.default_rng(0))
    measure = mf.Measure(mf.Sphere(), points, [0.5, 0.25, 0.25, 0.0])
    assert equal_nodes(measure, 4).tolist() == points[[0, 0, 1, 2]].tolist()


@pytest.mark.slow
def test_areas_of_atoms_are_their_masses(mixed_sphere):
    """A heavy atom would look as light as the others."""
    run = mixed_sphere
    tokens = tokens_of(run)
    early, late = (sphere_panel(run, i, Mollweide(), 20, tokens[i]) for i in (3, 20))
    areas = dot_style(late)["s"]
    assert areas / areas.sum() == pytest.approx([0.4, 0.2, 0.3, 0.1])
    assert np.unique(dot_style(early)["s"]).size == 1


@pytest.mark.slow
def test_panels_of_a_map_are_even_in_the_logarithm(mixed_sphere):
    """All panels but one would be of the last decade."""
    run = mixed_sphere
    times = run.time[chosen_times(run, 6)]
    assert np.sum(times > 1e59) == 1 and np.sum(times < 1e20) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["density", "energy", "staircase", "resolution", "clusters"])
def test_hand_overs_are_marked_and_named(kind, mixed_circle):
    """The user would not see which representation shows."""
    axes = plot(mixed_circle, kind).axes
    texts = [text for panel in axes for text in panel.texts]
    named = {text.get_text(): text for text in texts}
    assert {"characteristics", "atoms"} <= set(named)
    assert named["characteristics"].xy[0] == 12.0 and named["atoms"].xy[0] == 95.0
    # Not on one another.
    assert named["characteristics"].xyann[1] - named["atoms"].xyann[1] > 7.5
    # Nor does a line strike through the name above its own.
    lines = [line for panel in axes for line in panel.lines if list(line.get_xdata()) == [95.0] * 2]
    assert len(lines) == 1 and lines[0].get_ydata()[1] < 0.98


@pytest.mark.slow
def test_names_of_hand_overs_stay_inside(mixed_circle):
    """A name would leave the figure on the right."""
    late = Event(1e58, "hand-over", "atoms -> characteristics: a joke")
    axes = plot(replace(mixed_circle, events=(*mixed_circle.events, late)), "energy").axes
    texts = [text for panel in axes for text in panel.texts]
    (text,) = [t for t in texts if t.get_text() == "characteristics" and t.xy[0] == 1e58]
    assert text.get_ha() == "right"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["density", "energy", "spectrum", "staircase"])
def test_axes_reach_the_largest_times(kind, mixed_circle, tmp_path):
    """An overflow in the growth times or the ticks would be a warning, hence an error here."""
    run = atoms_alone(mixed_circle)
    long = replace(run, scaled_time=np.geomspace(1e-2, 1e300, len(run.time)), events=())
    save_plot(long, tmp_path / "figure.png", kind)
    assert plot(long, kind).axes[0].get_xlim()[1] == pytest.approx(1e300)
