"""Figures: every kind is drawn from every sort of run, and says what it cannot draw."""

import re
from dataclasses import replace
from functools import cache

import matplotlib
import numpy as np
import pytest
from fresh_process import run_python
from matplotlib.collections import LineCollection, PathCollection, QuadMesh
from matplotlib.figure import Figure
from parameters import refused, together

import meanfield as mf
from meanfield.api import simulate
from meanfield.figures.data.density import circle_picture
from meanfield.figures.data.series import equal_clusters, linear_prediction, visible_degrees
from meanfield.figures.draw import plot, save_plot
from meanfield.figures.draw.axes import label_ends
from meanfield.figures.draw.figures import SUFFIXES, write_figure
from meanfield.figures.draw.prediction import dispersion_picture, facts
from meanfield.figures.draw.spectrum import draw_rates, save_dispersion
from meanfield.runs import assembled
from tests.figures.samples import FIRST_BYTES, kinds_of, stateless

LAW = mf.perturbed_uniform([[1, 0.06, 0.02], [3, 0.0, -0.05], [4, 0.1, 0.02]])
PROBLEM = mf.Problem(mf.Circle(), mf.exponential(beta=9.0), mf.USA, LAW)


@cache
def run_of(name):
    """Run of a representation, of a few tokens, or over a logarithmic time axis."""
    if name == "density":
        return simulate(PROBLEM, until=20.0, save=21)
    if name == "particles":
        return simulate(PROBLEM, until=20.0, save=21, representation="particles", tokens=400)
    points = np.array([0.1, 1.0, 2.9, -3.0, -2.0])
    few = mf.Problem(mf.Circle(), mf.exponential(beta=4.0), mf.SA, mf.from_points(points))
    times = [0.0, *np.geomspace(1e-2, 1e3, 40)]
    return simulate(few, until=1e3, save=times, representation="particles")


@pytest.mark.slow
@pytest.mark.parametrize(("call", "message"), [
    (lambda: plot(run_of("density"), "densty"), "densty' is not known. Did you mean density. Kn"),
    # A run stopped at once would end in an IndexError.
    (lambda: plot(assembled(PROBLEM, [], {})), "no saved times"),
    # A format that is not offered would be drawn first and refused by matplotlib.
    (lambda: save_plot(run_of("density"), "figure.bmp"),
     "end in .png, .pdf, .svg, .mp4 or .gif, got '.bmp'"),
    (lambda: save_dispersion(PROBLEM, "figure"), "end in .png, .pdf or .svg"),
    # A missing folder would end in a traceback.
    (lambda: save_plot(run_of("density"), "nowhere/figure.png", "energy"),
     "nowhere/figure.png cannot be written: No such file"),
    (lambda: plot(stateless(run_of("density")), "density"),
     r"not loaded: run again with state=\"all\" \(in a run"),
    (lambda: plot(simulate(PROBLEM, until=1.0, save=[1.0]), "density"),
     "at least 2 saved times, the run has 1"),
    # Angles would be drawn as vectors.
    *[(lambda kind=kind: plot(run_of("density"), kind),
       f"kind '{kind}' is for the sphere, this run is on the circle. Kinds for it: overview")
      for kind in ("map", "globe")],
    # An empty figure would be taken for a perfect one.
    (lambda: plot(run_of("particles"), "resolution"), "particles: points have no spectral tail"),
])  # fmt: skip
def test_impossible_figures_are_refused(call, message, tmp_path, monkeypatch):
    """The user would not learn how to get the picture."""
    monkeypatch.chdir(tmp_path)
    refused(message, call)


@pytest.mark.slow
def test_every_kind_is_written_in_every_format(tmp_path):
    """A kind that fails for a run, or writes another format than its suffix, would show here."""
    # Each format by a third of the kinds, each run by half of them: matplotlib writes all axes
    # alike, and `test_every_axis_is_labelled` makes the figures of all cases.
    density, particles = run_of("density"), run_of("particles")
    kinds = [kind for kind in kinds_of(density) if kind != "overview"]
    for i, suffix in enumerate(SUFFIXES):
        figure = Figure(figsize=(12.0, 12.0), dpi=30)
        panels = figure.subplots(2, 2).flat
        for k, kind in enumerate(kinds[i::3]):
            run = particles if k % 2 and kind in kinds_of(particles) else density
            plot(run, kind, ax=next(panels))
        path = tmp_path / f"figure{suffix}"
        write_figure(figure, path)
        assert path.read_bytes().startswith(FIRST_BYTES[suffix])
    save_plot(density, tmp_path / "overview.png")
    assert (tmp_path / "overview.png").read_bytes().startswith(FIRST_BYTES[".png"])


@pytest.mark.slow
def test_figures_are_in_the_unit_of_the_run():
    """A paper's figure would have another clock on its axis than the paper."""
    run = simulate(PROBLEM, until=0.004, unit="paper", save=11)
    figures = [plot(run, kind).axes for kind in ("overview", "density", "energy", "staircase")]
    for axes in figures:
        lowest = min(axes, key=lambda panel: panel.get_position().y0)
        assert lowest.get_xlabel() == "paper time $t$" and lowest.get_xlim()[1] == 0.004
    density = figures[1][0]
    (paths,) = (c for c in density.collections if isinstance(c, LineCollection))
    assert max(path[:, 0].max() for path in paths.get_segments()) == pytest.approx(0.004)
    density.figure.canvas.draw()
    (top,) = (axes for axes in density.child_axes if "growth" in axes.get_xlabel())
    assert top.get_xlim()[1] == pytest.approx(run.time_in("growth")[-1])
    grown = simulate(PROBLEM, until=1.0, unit="growth", save=5)
    axes = plot(grown, "energy").axes[0]
    assert axes.get_xlabel() == "growth time $t$" and not axes.child_axes


@pytest.mark.slow
@pytest.mark.parametrize("name", ["density", "particles", "few"])
def test_every_axis_is_labelled(name):
    """An axis without its name or unit of time would show here."""
    for kind in kinds_of(run_of(name)):
        axes = plot(run_of(name), kind).axes
        # Over the angle or the cosine, panels of a few times beside each other.
        inside = {"velocity": slice(0, 3, 2), "histogram": slice(1)}.get(kind)
        if inside:
            axes = axes[0].child_axes[inside]
        assert all(panel.get_ylabel() for panel in axes), kind
        lowest = min(axes, key=lambda panel: panel.get_position().y0)
        assert inside or lowest.get_xlabel() == "scaled time $t$", kind


def test_logarithmic_save_times_get_a_logarithmic_axis():
    """On a linear axis everything before the last decade would be invisible."""
    axes = plot(run_of("few"), "energy").axes[0]
    assert axes.get_xscale() == "log" and axes.get_xlim()[0] == pytest.approx(1e-2)
    assert plot(run_of("density"), "energy").axes[0].get_xscale() == "linear"


def test_paths_that_wind_leave_no_line_across_the_picture():
    """A jump from pi to -pi drawn as a line would show here."""
    axes = plot(run_of("few"), "density").axes[0]
    (lines,) = [c for c in axes.collections if isinstance(c, LineCollection)]
    angles = [path[:, 1] for path in lines.get_segments()]
    assert len(angles) >= 5
    assert max(np.abs(np.diff(path)).max() for path in angles) < np.pi
    assert all(np.abs(path).min() <= np.pi for path in angles)


def test_overview_of_a_run_without_states_shows_clusters_instead():
    """Large runs keep no states: their default figure would be an error."""
    axes = plot(stateless(run_of("particles")), "overview").axes[0]
    assert any(isinstance(c, PathCollection) for c in axes.collections)


@pytest.mark.slow
@pytest.mark.parametrize("title", ["W" * 1000, "$5 and $\\nothing$", "a $\\beta$"])
def test_any_title_can_be_drawn(title):
    """A long one would leave no room for the figure, half a formula be a traceback."""
    run = run_of("density")
    run = replace(run, attributes=run.attributes | {"title": title})
    plot(run, "energy", dpi=30).canvas.draw()


@pytest.mark.slow
def test_single_saved_time_is_drawn_as_points():
    """A curve through one point is invisible."""
    run = simulate(PROBLEM, until=2.0, save=[2.0])
    assert plot(run, "order_parameter").axes[0].lines[0].get_marker() == "o"
    plot(run, "overview").canvas.draw()


def test_stored_tolerance_is_drawn_and_repulsion_has_no_dominant_degree():
    """Nobody would see how far the tail is; the slowest decay would be the fastest growth."""
    run = simulate(replace(PROBLEM, flow=mf.Flow("none", strength=-1.0)), until=2.0, save=5)
    text = "[representation]\ntolerance = 1e-9\n"
    run = replace(run, attributes=run.attributes | {"config": text})
    axes = plot(run, "resolution").axes[0]
    assert any(list(line.get_ydata()) == [1e-9, 1e-9] for line in axes.lines)
    assert [text.get_text() for text in axes.texts] == ["tolerance 1e-09"]
    assert visible_degrees(run)[1] is None
    assert plot(run, "spectrum").axes


@pytest.mark.slow
def test_noisy_tokens_are_a_smooth_density():
    """Lines would show ways between two saves that no token went, and a histogram stripes."""
    flow = mf.Flow("none", diffusivity=0.05)
    problem = mf.Problem(mf.Circle(), mf.exponential(3.0), flow, mf.from_points(np.arange(5.0)))
    run = simulate(problem, until=1.0, save=4, representation="particles", step=0.1)
    picture = circle_picture(run)
    assert picture.paths == [] and picture.smoothed
    # Relative to uniform, and positive: five tokens of width 0.2.
    np.testing.assert_allclose(picture.table.mean(axis=0), 1.0, rtol=1e-12)
    assert picture.table.min() > -1e-6 and picture.table.max() < np.sqrt(2.0 * np.pi) / 0.2
    bar = plot(run, "density").axes[0].child_axes
    assert any(axes.get_ylabel() == "smoothed density $f$ (uniform = 1)" for axes in bar)


def test_linear_prediction_follows_a_small_perturbation():
    """A wrong rate or a wrong start of the dashed lines would show here."""
    # 1e-4: the first correction is the square of the amplitude, 7e-3 at the end.
    law = mf.perturbed_uniform([[4, 1e-3, 0.0]])
    run = simulate(replace(PROBLEM, initial=law), until=20.0, save=5, tolerance=1e-12)
    assert linear_prediction(run, 4) == pytest.approx(np.abs(run.moments[:, 4]), rel=1e-4)
    assert run.growth_rates[4] * 20.0 > 1.5  # it grew
    assert np.all(np.isnan(linear_prediction(run, 2)))


@pytest.mark.slow
def test_linear_prediction_ends_with_the_linear_regime():
    """Dashed lines would cross the figure from far outside of what linear theory says."""
    # Where they end they are a third above what happens, 20 to 37 % for smooth starts.
    law = mf.perturbed_uniform([[4, 0.02, 0.0], [3, 0.0, 0.01]])
    run = simulate(replace(PROBLEM, initial=law), until=60.0, save=61)
    prediction = linear_prediction(run, 4)
    drawn = np.isfinite(prediction)
    assert drawn[0] and not drawn[-1] and not np.any(np.diff(drawn.astype(int)) > 0)
    assert prediction[drawn].max() > 0.2
    assert prediction[drawn] == pytest.approx(np.abs(run.moments[drawn, 4]), rel=0.5)
    bump = simulate(replace(PROBLEM, initial=mf.von_mises_fisher(2.0)), until=1.0, save=3)
    assert np.isnan(linear_prediction(bump, 1)).all()
    assert [axes.get_legend() for axes in plot(bump, "spectrum").axes] == [None]
    # Repulsion lets everything decay: linear theory gets ever better.
    apart = replace(PROBLEM, flow=mf.Flow("none", strength=-1.0), initial=law)
    assert np.isfinite(linear_prediction(simulate(apart, until=50.0, save=5), 4)).all()


def test_names_that_are_moved_are_led_to_their_curves():
    """Eight degrees that end together would be named in a stack beside none of them."""
    axes = Figure().subplots()
    label_ends(axes, [(0.5, "a", "red"), (0.9, "b", "blue")], height=3.0)
    assert all(text.arrow_patch is None for text in axes.texts)
    axes = Figure().subplots()
    label_ends(axes, [(0.99, name, "red") for name in "abcd"], height=3.0)
    assert all(text.arrow_patch is not None and text.xy == (1.0, 0.99) for text in axes.texts)
    heights = [text.xyann[1] for text in axes.texts]
    assert np.diff(heights) == pytest.approx(1.25 * 8.5) and 0.99 + heights[-1] / 216 <= 1.0


def test_spectrum_shows_the_dominant_degree_also_above_the_first_ones():
    """At large beta the degree that matters would be missing."""
    problem = mf.Problem(mf.Circle(), mf.exponential(beta=150.0), mf.USA)
    degrees, dominant = visible_degrees(simulate(problem, until=0.1, save=2))
    assert dominant == mf.dominant_degree(problem) == 17
    assert degrees == [1, 2, 3, 4, 5, 6, 7, 8, 17]


def test_energies_of_equal_clusters_are_those_of_runs():
    """The lines named 'n equal clusters' would lie elsewhere than such runs do."""
    run = run_of("density")
    had = run.observables | {"clusters/count": np.arange(len(run.time)) % 3 + 2.0}
    levels = equal_clusters(replace(run, observables=had))
    polygon = mf.from_points(2 * np.pi * np.arange(3) / 3)
    equal = simulate(replace(PROBLEM, initial=polygon), until=1.0, save=2)
    assert list(levels) == [2, 3, 4] and mf.dominant_degree(PROBLEM) == 4
    # Never separated: no line of one cluster.
    assert equal_clusters(replace(run, observables=had | {"clusters/count": np.ones(21)})) == {}
    assert levels[3] == pytest.approx(equal.observables["energy"][0], rel=1e-12)


@pytest.mark.slow
def test_observables_of_the_users_own_are_drawn(tmp_path, cli):
    """Users would have to draw their observables by hand; None would end in an error."""
    own = {
        "spread": lambda measure: 1.0 - abs(measure.moments(1)[1]),
        "sizes": lambda measure: np.abs(measure.moments(3)),
        "none": lambda measure: np.nan,
    }
    run = simulate(PROBLEM, until=2.0, save=3, observables=own)
    axes = run.plot("spread", limits=(0.0, 2.0)).axes[0]
    assert axes.get_ylabel() == "spread" and axes.get_ylim() == (0.0, 2.0)
    assert np.array_equal(axes.lines[0].get_ydata(), run.observables["spread"])
    assert len(run.plot("sizes").axes[0].get_legend().get_texts()) == 4
    run.save(tmp_path / "run.h5")
    cli("plot", tmp_path / "run.h5", "--kind", "spread")
    refused(r"Did you mean spread. Known: .*sizes, spectrum, spread", run.plot, "spred")
    refused("'none' is NaN at all times: nothing to draw", run.plot, "none")
    assert "spread</th>" in run._repr_html_() and "arrays of 4" in run._repr_html_()


def test_dispersion_says_what_the_thresholds_mean():
    """The annotation would contradict `meanfield stability`, or a problem could not be drawn."""
    figure = Figure(figsize=(9.0, 9.0))
    repelled = replace(PROBLEM, flow=mf.Flow("none", strength=-1.0))
    text = [
        (PROBLEM, r"degree 4 is fastest for $6.2113 < \beta < 10.2285$"),
        (mf.Problem(mf.Sphere(6), mf.exponential(9.0), mf.USA), r"degree 3 is fastest"),
        (mf.Problem(mf.Circle(), mf.linear(), mf.USA), "all decay for diffusivity > 0.5"),
        (repelled, "no degree grows: uniform is stable"),
        (replace(PROBLEM, flow=mf.Flow("none", diffusivity=0.01)), "without diffusion"),
    ]
    for (problem, line), axes in zip(text, figure.subplots(5, 1), strict=True):
        assert line in facts(problem)[0]
        draw_rates(dispersion_picture(problem), axes)
    figure.canvas.draw()


@pytest.mark.slow
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_figures_are_written_in_every_format_and_the_same_every_time(suffix, tmp_path):
    """Many degrees would fail in one of the formats; a date or a random id be in the file."""
    first, second = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    save_dispersion(PROBLEM, first, max_degree=300)
    assert first.read_bytes().startswith(FIRST_BYTES[suffix])
    save_plot(run_of("density"), first, "order_parameter")
    save_plot(run_of("density"), second, "order_parameter")
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.slow
def test_figure_is_drawn_on_axes_of_the_user():
    """Two runs could not stand side by side."""
    figure = Figure()
    left, right = figure.subplots(1, 2)
    run = run_of("density")
    assert run.plot("energy", ax=left, title="Left") is figure
    run.plot("density", ax=right, limits=(0.5, 2.0), times=(5.0, 15.0))
    assert left.get_title() == "Left" and not left.child_axes
    assert right.get_xlim() == (5.0, 15.0)
    mesh = next(c for c in right.collections if isinstance(c, QuadMesh))
    assert mesh.get_clim() == (0.5, 2.0)
    figure.canvas.draw()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["clusters", "density", "spectrum", "energy"])
def test_figure_on_axes_of_the_user_fits_without_a_layout_engine(kind):
    """The title would lie outside of the canvas, legends and colour bars on the neighbour."""
    figure = Figure(figsize=(11.0, 4.0))
    left, right = figure.subplots(1, 2)
    ends = left.get_position().x1, figure.bbox.height
    run_of("density").plot(kind, ax=left, title="Left")
    boxes = [axes.get_tightbbox() for axes in figure.axes if axes is not right]
    assert max(box.y1 for box in boxes) < ends[1]
    # Beside a label of the last tick, see `make_room`.
    assert max(box.x1 for box in boxes) <= (ends[0] + 0.02) * figure.bbox.width


@pytest.mark.slow
def test_axes_that_hold_a_drawing_are_refused():
    """A cell that is run again would draw over itself, also over a second axis that is left."""
    axes = Figure().subplots()
    run = run_of("density")
    run.plot("energy", ax=axes)
    refused("ax holds a drawing already: give empty axes", run.plot, "staircase", ax=axes)
    axes.clear()
    refused("ax holds a drawing already", run.plot, "energy", ax=axes)


def test_limits_are_those_of_what_is_drawn():
    """An option would be taken and ignored."""
    run = run_of("density")
    assert run.plot("energy", limits=(0.1, 0.4)).axes[0].get_ylim() == (0.1, 0.4)
    assert run.plot("spectrum", limits=(1e-4, 1.0)).axes[0].get_ylim() == (1e-4, 1.0)
    figure = run.plot("energy", times=(5.0, 10.0), figsize=(3.0, 2.0), dpi=50)
    assert figure.get_size_inches().tolist() == [3.0, 2.0] and figure.dpi == 50
    assert figure.axes[0].get_xlim() == (5.0, 10.0)


@together(
    ("kind", "options", "error", "message"),
    [
        ("enrgy", {}, ValueError, "'enrgy' is not known. Did you mean energy? Known: clusters"),
        ("energy", {"axs": 1}, TypeError, "plot: axs is not known; did you mean ax"),
        ("energy", {"ax": "left"}, TypeError, "subplots(), got 'left'"),
        ("overview", {"ax": True}, ValueError, "has several axes and needs a figure of its own"),
        ("energy", {"ax": True, "dpi": 9.0}, ValueError, "figsize and dpi are of a figure"),
        ("clusters", {"limits": (0.0, 1.0)}, ValueError, "kind 'clusters' has no limits"),
        ("density", {"limits": (0.0, 1.0)}, ValueError, "limits must be increasing and positive"),
        ("energy", {"limits": (1.0, 0.0)}, ValueError, "limits must be increasing, got"),
        ("energy", {"times": [1.0]}, ValueError, "are the first and the last that are shown"),
        ("energy", {"times": (0.0, 99.0)}, ValueError, "whose last saved time is 20 (scaled"),
        ("energy", {"figsize": (0.0, 0.0)}, ValueError, "must be 1 to 65535 dots a side, got"),
        ("energy", {"figsize": (1e6, 1.0)}, ValueError, "must be 1 to 65535 dots a side, got"),
        ("energy", {"dpi": -3.0}, ValueError, "got figsize = (9.0, 4.0) and dpi = -3."),
        ("energy", {"times": (0.1, 0.2)}, ValueError, "no saved time lies between 0.1 and 0.2"),
        ("tree", {"times": (0.0, 1.0)}, ValueError, "a tree is of the whole run"),
    ],
)
def test_options_that_a_kind_has_not_are_refused(kind, options, error, message):
    """A slip of the pen would be matplotlib's error, or change nothing."""
    if options.get("ax") is True:
        options = options | {"ax": Figure().subplots()}
    refused(re.escape(message), run_of("density").plot, kind, error=error, **options)


@pytest.mark.slow
def test_figure_shows_in_a_notebook_and_changes_no_settings():
    """A figure unknown to pyplot would be shown as text; matplotlib's settings be changed."""
    before = dict(matplotlib.rcParams)
    assert plot(run_of("density"), "order_parameter")._repr_png_().startswith(FIRST_BYTES[".png"])
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize(
    "code",
    [
        # `meanfield plot --list` would take half a second longer.
        "import meanfield.figures.draw; assert 'matplotlib' not in sys.modules",
        # Figures would pile up in pyplot's list, or open a window.
        pytest.param(
            "import meanfield as mf\nrun = mf.simulate(mf.Problem(mf.Circle(), mf.linear()), 1.0, "
            "save=2)\nrun.plot('energy'); assert 'matplotlib.pyplot' not in sys.modules",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_matplotlib_is_loaded_no_more_than_needed(code):
    """Half a second would be lost, or a window opened."""
    run_python(f"import sys; {code}")
