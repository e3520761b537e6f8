"""The figure of a study: what it shows, and studies that are hard to draw."""

import numpy as np
import pytest

from meanfield.figures.draw import save_plot
from meanfield.figures.draw.comparison import comparison_figure
from meanfield.studies.convergence_results import ConvergenceStudy


def study(sizes=3, repetitions=5, rate=0.1):
    times, tokens = np.linspace(0.0, 60.0, 13), 10 ** np.arange(2, 2 + sizes)
    rng = np.random.default_rng(0)
    scatter = rng.gamma(6.0, size=(sizes, repetitions, 1)) / 6.0
    distances = tokens[:, None, None] ** -0.5 * scatter * np.exp(0.05 * times)
    onsets = np.log(tokens) / (2 * rate) if rate > 0 else np.full(sizes, np.inf)
    return ConvergenceStudy(times, tokens, distances, "W1", rate, onsets)


@pytest.mark.slow
def test_figure_shows_every_size(tmp_path):
    """A size would be missing, its curve not be the mean distance, or its onset elsewhere."""
    of = study()
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
    save_plot(of, tmp_path / "c.png")
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_legend_names_what_is_drawn_and_covers_nothing():
    """It lay over a band, and named onset times that were later than the end."""
    figure = comparison_figure(study())
    (legend,) = figure.legends
    assert len(legend.get_texts()) == 3
    figure.canvas.draw()
    lowest = min(axes.get_window_extent().y0 for axes in figure.axes)
    assert legend.get_window_extent().y1 < lowest
    short = study()
    short = ConvergenceStudy(
        short.times, short.tokens, short.distances, "W1", 0.1, 1e3 * short.onset_times
    )
    names = [text.get_text() for text in comparison_figure(short).legends[0].get_texts()]
    assert len(names) == 2 and not any("onset" in name for name in names)


def test_guide_grows_like_the_fastest_mode():
    """The dashed line would have another slope than lambda_max."""
    lines = comparison_figure(study()).axes[0].lines
    guides = [line for line in lines if line.get_linestyle() == "--"]
    assert len(guides) == 3
    for guide in guides:
        (t0, t1), (d0, d1) = guide.get_data()
        assert np.log(d1 / d0) / (t1 - t0) == pytest.approx(0.1)


@pytest.mark.slow
def test_hard_studies_can_be_drawn():
    """One size, nothing that grows, and a study that is not finished."""
    unfinished = study()
    unfinished.distances[2] = unfinished.distances[1, 1:] = np.nan
    of = (unfinished.times, unfinished.tokens, unfinished.distances, "W1", 0.1)
    again = ConvergenceStudy(*of, unfinished.onset_times)
    for hard in (study(sizes=1), study(rate=-0.1), again):
        comparison_figure(hard).canvas.draw()
