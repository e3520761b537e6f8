"""The figure of an ensemble: what was counted, at its place and by its name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.container import BarContainer

from meanfield.figures.draw import save_plot
from meanfield.figures.draw.ensemble import ensemble_figure
from meanfield.studies.ensemble_results import Ensemble


def ensemble(times: tuple[float, ...] = (1.0, 2.0), *, predicted: float = 3.5) -> Ensemble:
    """Two sizes of four runs each, one of which has not been made."""
    counts = np.array([[[5, 3], [5, 4], [6, 3], [5, 3]], [[4, 4], [6, 5], [5, 4], [-1, -1]]])
    counts = counts[:, :, -len(times) :]
    nothing = np.full((*counts.shape, 1), np.nan)
    sizes = np.array([100, 1000])
    law = np.full(2, predicted)
    return Ensemble(np.array(times), sizes, np.log(sizes), counts, nothing, nothing, law)


def texts(axes: Axes) -> list[str]:
    """Texts of a legend."""
    legend = axes.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def test_means_stand_over_their_sizes() -> None:
    """A curve would show another time, or another number than the mean of its runs."""
    made = ensemble()
    left = ensemble_figure(made).axes[0]
    curves = {str(c.get_label()): c.lines[0].get_data() for c in left.containers}  # type: ignore[attr-defined]
    assert list(curves) == ["at 1 onset time", "at 2 onset times"]
    for j, (tokens, means) in enumerate(curves.values()):
        np.testing.assert_array_equal(tokens, made.tokens)
        np.testing.assert_array_equal(means, made.mean_count[:, j])


def test_bars_are_shares_of_the_last_time() -> None:
    """Bars would be of an earlier time, stand over another count, or count runs not yet made."""
    made = ensemble()
    right = ensemble_figure(made).axes[1]
    bars = [c for c in right.containers if isinstance(c, BarContainer)]
    assert len(bars) == 2
    for i, container in enumerate(bars):
        places = [round(bar.get_x() + bar.get_width() / 2) for bar in container]
        heights = [bar.get_height() for bar in container]
        assert dict(zip(places, heights, strict=True)) == made.distribution(i, 1)
    assert texts(right) == ["$N = 100$", "$N = 1000$"]
    assert right.get_xlabel() == "clusters at 2 onset times"


def test_one_onset_time_is_one() -> None:
    """The figure would say "1 onset times"."""
    left, right = ensemble_figure(ensemble((1.0,))).axes
    assert texts(left) == ["linear law", "at 1 onset time"]
    assert right.get_xlabel() == "clusters at 1 onset time"


def test_law_is_drawn_only_where_there_is_one() -> None:
    """A legend would name a law that does not hold for tokens that are not uniform."""
    assert "linear law" in texts(ensemble_figure(ensemble()).axes[0])
    assert "linear law" not in texts(ensemble_figure(ensemble(predicted=np.nan)).axes[0])


def test_one_size_is_drawn_against_time() -> None:
    """A panel would hold a single point."""
    made = ensemble()
    one = replace(
        made,
        tokens=made.tokens[:1], onset_times=made.onset_times[:1], counts=made.counts[:1],
        mass=made.mass[:1], centre=made.centre[:1], predicted=made.predicted[:1],
    )  # fmt: skip
    left, _ = ensemble_figure(one).axes
    assert left.get_xlabel() == "onset times" and "linear law at 1 onset time" in texts(left)
    last = replace(
        one, times=one.times[-1:], counts=one.counts[:, :, -1:], mass=one.mass[:, :, -1:],
        centre=one.centre[:, :, -1:],
    )  # fmt: skip
    assert len(ensemble_figure(last, title="Mine").axes) == 1


def test_figure_is_saved(tmp_path: Path) -> None:
    """No file, or one that nothing opens."""
    save_plot(ensemble(), tmp_path / "e.png")
    assert (tmp_path / "e.png").read_bytes().startswith(b"\x89PNG")


def test_wrong_suffix_or_kind_is_refused(tmp_path: Path) -> None:
    """The figure would be drawn and then lost, or a kind of runs ignored."""
    for name, kind, message in (
        ("e.xyz", None, r"figures end in \.png"),
        ("e.gif", None, r"films are of runs\. End in \.png"),
        ("e.png", "energy", "a study has one figure: leave out 'energy'"),
    ):
        with pytest.raises(ValueError, match=message):
            save_plot(ensemble(), tmp_path / name, kind)


def test_legend_is_above_the_bars() -> None:
    """It would hide the highest bar, which says what happens most."""
    figure = ensemble_figure(ensemble())
    figure.draw_without_rendering()
    right = figure.axes[1]
    legend = right.get_legend()
    assert legend is not None
    bars = [bar.get_window_extent() for each in right.containers for bar in each]
    assert max(box.y1 for box in bars) < legend.get_window_extent().y0


def test_ensemble_without_a_title_has_one() -> None:
    """A figure would not say that it counts clusters of random tokens."""
    figure = ensemble_figure(ensemble())
    assert figure.axes[0].texts[0].get_text() == "Clusters of random tokens"
    figure = ensemble_figure(ensemble(), title="Mine")
    assert figure.axes[0].texts[0].get_text() == "Mine"
    # Of a problem that is not known nothing is said.
    assert figure.axes[0].get_title(loc="left") == ""
