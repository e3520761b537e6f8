"""Figures of studies of tokens: distances to the density, numbers of clusters, pairs."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.container import BarContainer
from parameters import refused

import meanfield as mf
from meanfield.figures.draw import save_plot
from meanfield.figures.draw.comparison import comparison_figure, ensemble_figure
from meanfield.figures.draw.pair_correlation import pair_picture
from meanfield.papers.pair_correlation import CLOSURES
from meanfield.transport.sphere.wasserstein import sample_floor
from tests.figures.samples import comparison, ensemble, legend_of


@pytest.mark.slow
def test_figure_shows_every_size():
    """A size would be missing, its curve not be the mean distance, or its onset elsewhere."""
    of = comparison()
    left, right = comparison_figure(of).axes
    solid = [line for line in left.lines if line.get_linestyle() == "-"]
    curves = [line for line in solid if len(line.get_xdata()) == len(of.times)]
    np.testing.assert_allclose([line.get_ydata() for line in curves], of.mean_distance)
    sizes = {"$n = 100$", "$n = 10^{3}$", "$n = 10^{4}$"}
    title = "Distance of tokens from their limit"
    assert {text.get_text() for text in left.texts} == sizes | {title}
    assert any(f"{of.exponent:.2f}" in text.get_text() for text in right.texts)
    marks = [line for line in left.lines if line.get_marker() == "o"]
    assert [float(line.get_xdata()[0]) for line in marks] == pytest.approx(of.onset_times)


@pytest.mark.slow
def test_legend_names_what_is_drawn_and_covers_nothing():
    """It lay over a band, and named onset times that were later than the end."""
    figure = comparison_figure(comparison())
    (legend,) = figure.legends
    assert len(legend.get_texts()) == 3
    figure.canvas.draw()
    lowest = min(axes.get_window_extent().y0 for axes in figure.axes)
    assert legend.get_window_extent().y1 < lowest
    short = replace(comparison(), onset_times=1e3 * comparison().onset_times)
    names = [text.get_text() for text in comparison_figure(short).legends[0].get_texts()]
    assert len(names) == 2 and not any("onset" in name for name in names)


def test_guide_grows_like_the_fastest_mode():
    """The dashed line would have another slope than lambda_max."""
    lines = comparison_figure(comparison()).axes[0].lines
    guides = [line for line in lines if line.get_linestyle() == "--"]
    assert len(guides) == 3
    for guide in guides:
        (t0, t1), (d0, d1) = guide.get_data()
        assert np.log(d1 / d0) / (t1 - t0) == pytest.approx(0.1)


@pytest.mark.slow
def test_hard_studies_can_be_drawn():
    """One size, nothing that grows, and a study that is not finished."""
    distances = comparison().distances
    distances[2] = distances[1, 1:] = np.nan
    unfinished = replace(comparison(), distances=distances)
    for hard in (comparison(sizes=1), comparison(rate=-0.1), unfinished):
        comparison_figure(hard).canvas.draw()


def test_floor_of_two_samples_is_drawn_on_the_sphere_only():
    """A fitted formula for the sphere would be shown for the circle, too."""
    drawn = {}
    for name in ("circle", "sphere"):
        axes = comparison_figure(comparison(sizes=2, attributes={"manifold": name})).axes[1]
        drawn[name] = [l.get_ydata() for l in axes.lines if l.get_linestyle() == ":"]
    assert drawn["circle"] == []
    np.testing.assert_allclose(drawn["sphere"][0], [sample_floor(100), sample_floor(1000)])


def test_means_of_an_ensemble_stand_over_their_sizes():
    """A curve would show another time, or another number than the mean of its runs."""
    result = ensemble()
    left = ensemble_figure(result).axes[0]
    curves = {str(c.get_label()): c.lines[0].get_data() for c in left.containers}
    assert list(curves) == ["at 1 onset time", "at 2 onset times"]
    for j, (tokens, means) in enumerate(curves.values()):
        np.testing.assert_array_equal(tokens, result.tokens)
        np.testing.assert_array_equal(means, result.mean_count[:, j])


def test_bars_are_shares_of_the_last_time():
    """Bars would be of an earlier time, stand over another count, or count runs not yet made."""
    result = ensemble()
    right = ensemble_figure(result).axes[1]
    bars = [c for c in right.containers if isinstance(c, BarContainer)]
    assert len(bars) == 2
    for i, container in enumerate(bars):
        places = [round(bar.get_x() + bar.get_width() / 2) for bar in container]
        heights = [bar.get_height() for bar in container]
        assert dict(zip(places, heights, strict=True)) == result.distribution(i, 1)
    assert legend_of(right) == ["$N = 100$", "$N = 1000$"]
    assert right.get_xlabel() == "clusters at 2 onset times"


def test_one_size_of_an_ensemble_is_drawn_against_time():
    """A panel would hold a single point."""
    result = ensemble()
    sized = ("tokens", "onset_times", "counts", "mass", "centre", "predicted")
    one = replace(result, **{name: getattr(result, name)[:1] for name in sized})
    left, _ = ensemble_figure(one).axes
    assert left.get_xlabel() == "onset times" and "linear law at 1 onset time" in legend_of(left)
    last = {name: getattr(one, name)[:, :, -1:] for name in ("counts", "mass", "centre")}
    assert len(ensemble_figure(replace(one, times=one.times[-1:], **last), title="Mine").axes) == 1


@pytest.mark.slow
def test_figure_is_saved_as_what_it_is(tmp_path):
    """No file, or one that nothing opens; a kind of runs would be ignored."""
    save_plot(ensemble(), tmp_path / "e.png")
    assert (tmp_path / "e.png").read_bytes().startswith(b"\x89PNG")
    for name, kind, message in (
        ("e.xyz", None, r"figures end in \.png"),
        ("e.gif", None, r"films are of runs\. End in \.png"),
        ("e.png", "energy", "a study has one figure: leave out 'energy'"),
    ):
        refused(message, save_plot, ensemble(), tmp_path / name, kind)


@pytest.mark.slow
def test_legend_is_above_the_bars():
    """It would hide the highest bar, which says what happens most."""
    figure = ensemble_figure(ensemble())
    figure.draw_without_rendering()
    right = figure.axes[1]
    bars = [bar.get_window_extent() for each in right.containers for bar in each]
    assert max(box.y1 for box in bars) < right.get_legend().get_window_extent().y0


@pytest.mark.slow
def test_words_are_those_of_what_was_counted():
    """The figure would say "1 onset times", name no law, or not say what it counts."""
    left, right = ensemble_figure(ensemble((1.0,))).axes
    assert legend_of(left) == ["linear law", "at 1 onset time"]
    assert right.get_xlabel() == "clusters at 1 onset time"
    # A law that does not hold for tokens that are not uniform.
    assert "linear law" not in legend_of(ensemble_figure(ensemble(predicted=np.nan)).axes[0])
    assert left.texts[0].get_text() == "Clusters of random tokens"
    axes = ensemble_figure(ensemble(), title="Mine").axes[0]
    # An unknown problem has no description.
    assert (axes.texts[0].get_text(), axes.get_title(loc="left")) == ("Mine", "")


@pytest.mark.slow
def test_pair_correlations_have_a_column_for_each_time():
    """Closures that are not known for a flow are left out."""
    problem = mf.Problem(mf.Circle(), mf.exponential(beta=2.0), mf.USA)
    correlation = mf.pair_correlation(problem, 10, times=[0.0, 0.5, 1.0, 1.5, 2.0, 2.5], runs=20)
    picture = pair_picture(correlation)
    assert picture.times.tolist() == [0.0, 1.0, 1.5, 2.5]
    assert [closed.name for closed in picture.closures] == list(CLOSURES)
    np.testing.assert_array_equal(picture.closures[0].psi[0], 1.0)
    figure = correlation.plot(title="Ten")
    assert len(figure.axes) == 8
    assert [line.get_label() for line in figure.axes[4].get_lines()][2:] == list(CLOSURES)
    softmax = mf.Problem(mf.Sphere(), mf.exponential(beta=2.0), mf.SA)
    alone = pair_picture(mf.pair_correlation(softmax, 10, times=[1.0], runs=3))
    assert [closed.name for closed in alone.closures] == ["linear"]
