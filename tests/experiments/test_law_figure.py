"""The figure of the comparison shows every point where it belongs."""

import numpy as np
import pytest
from law_figure import law_figure, save_law_plot
from law_points import LawPoint
from parameters import refused

from meanfield.studies.ensemble_results import CountLaw


def points(dimension=1):
    """Four betas and two sizes; the runs have one cluster less in a hundred."""
    return [
        LawPoint(
            beta=beta,
            tokens=n,
            dimension=dimension,
            dominant_degree=degree,
            closed_form=1.05 * degree,
            linear=CountLaw({degree: 0.9, degree + 1: 0.1}, degree + 0.1, 0.01, 100),
            corrected=CountLaw({degree: 1.0}, degree, 0.01, 100),
            measured=CountLaw({degree: 0.99, degree - 1: 0.01}, degree - 0.01, 0.01, 100),
            carrier="particles",
        )
        for beta, degree in ((2.0, 2), (5.0, 3), (7.0, 4), (12.0, 5))
        for n in (100, 20_000)
    ]


def labelled(figure, label):
    (panel,) = (axes for axes in figure.axes if axes.get_ylabel() == label)
    return panel


@pytest.mark.parametrize("dimension", [1, 2])
def test_every_panel_shows_all_points(dimension):
    """A size or a law would be missing from a panel."""
    figure = law_figure(points(dimension), "title", "subtitle")
    legend = labelled(figure, "mean number of clusters").get_legend()
    assert [text.get_text() for text in legend.get_texts()] == [
        "closed form", "corrected law", "runs", "$N = 100$", r"$N = 2 \times 10^{4}$",
    ]  # fmt: skip
    for label in (
        "mean number of clusters",
        r"mean number of clusters / $\sqrt{\beta}$",
        "closed form / measured mean",
        "corrected / measured mean",
    ):
        panel = labelled(figure, label)
        assert sum(len(bars[0].get_xdata()) for bars in panel.containers) == 8
    lines = labelled(figure, "total variation from the runs").lines
    assert sum(len(line.get_xdata()) for line in lines if line.get_marker() in ("o", "s")) == 16


def test_ratio_panels_show_their_own_ratio():
    """The two laws would be exchanged."""
    figure = law_figure(points())
    for label, expected in (
        ("closed form / measured mean", 1.05 * 5 / 4.99),
        ("corrected / measured mean", 5 / 4.99),
    ):
        last = labelled(figure, label).containers[-1][0]
        assert last.get_ydata()[-1] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("dimension", "threshold", "expected"),
    [(1, 3.1654344427006, 3.0), (2, 4.4252930123956, 3.711631)],
)
def test_staircase_jumps_at_the_threshold(dimension, threshold, expected):
    """The dominant degree would change at another beta than the growth rates say."""
    figure = law_figure(points(dimension))
    line = labelled(figure, r"mean number of clusters / $\sqrt{\beta}$").lines[0]
    beta, count = line.get_xdata(), line.get_ydata() * np.sqrt(line.get_xdata())
    assert count[beta < threshold][-1] == pytest.approx(2.0, rel=1e-12)
    assert count[beta > threshold][0] == pytest.approx(expected, abs=1e-6)


def test_distributions_are_the_requested_ones():
    """Bars would be of another point, or rare counts take the room."""
    chosen = points()[2]
    figure = law_figure(points(), shown=[chosen])
    panel = labelled(figure, "share")
    assert panel.get_title() == r"$\beta = 5,\ N = 100$"
    heights = sorted(bar.get_height() for bar in panel.patches)
    assert heights == pytest.approx([0.01, 0.1, 0.9, 0.99, 1.0], rel=1e-12)


@pytest.mark.slow
def test_one_point_alone_can_be_drawn(tmp_path):
    """A glance at the first ensemble would fail, or a file of an unknown kind be written."""
    save_law_plot(points()[:1], tmp_path / "law.png", title="one")
    assert (tmp_path / "law.png").stat().st_size > 10_000
    refused(r"law.bmp: figures end in", save_law_plot, points(), "law.bmp")
