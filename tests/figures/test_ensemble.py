"""The figure of an ensemble: what was counted, at its place and by its name."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.container import BarContainer
from parameters import refused

from meanfield.figures.draw import save_plot
from meanfield.figures.draw.comparison import ensemble_figure
from meanfield.studies.ensemble_results import Ensemble


def ensemble(times=(1.0, 2.0), *, predicted=3.5):
    """Two sizes of four runs each, one of which has not been made."""
    counts = np.array([[[5, 3], [5, 4], [6, 3], [5, 3]], [[4, 4], [6, 5], [5, 4], [-1, -1]]])
    counts = counts[:, :, -len(times) :]
    nothing = np.full((*counts.shape, 1), np.nan)
    sizes = np.array([100, 1000])
    law = np.full(2, predicted)
    return Ensemble(np.array(times), sizes, np.log(sizes), counts, nothing, nothing, law)


def texts(axes):
    legend = axes.get_legend()
    return [text.get_text() for text in legend.get_texts()]


def test_means_stand_over_their_sizes():
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
    assert texts(right) == ["$N = 100$", "$N = 1000$"]
    assert right.get_xlabel() == "clusters at 2 onset times"


def test_one_size_is_drawn_against_time():
    """A panel would hold a single point."""
    result = ensemble()
    sized = ("tokens", "onset_times", "counts", "mass", "centre", "predicted")
    one = replace(result, **{name: getattr(result, name)[:1] for name in sized})
    left, _ = ensemble_figure(one).axes
    assert left.get_xlabel() == "onset times" and "linear law at 1 onset time" in texts(left)
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
    legend = right.get_legend()
    bars = [bar.get_window_extent() for each in right.containers for bar in each]
    assert max(box.y1 for box in bars) < legend.get_window_extent().y0


@pytest.mark.slow
def test_words_are_those_of_what_was_counted():
    """The figure would say "1 onset times", name no law, or not say what it counts."""
    figure = ensemble_figure(ensemble((1.0,)))
    left, right = figure.axes
    assert texts(left) == ["linear law", "at 1 onset time"]
    assert right.get_xlabel() == "clusters at 1 onset time"
    # A law that does not hold for tokens that are not uniform.
    assert "linear law" not in texts(ensemble_figure(ensemble(predicted=np.nan)).axes[0])
    assert left.texts[0].get_text() == "Clusters of random tokens"
    axes = ensemble_figure(ensemble(), title="Mine").axes[0]
    # An unknown problem has no description.
    assert (axes.texts[0].get_text(), axes.get_title(loc="left")) == ("Mine", "")
