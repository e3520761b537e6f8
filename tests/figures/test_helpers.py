"""Small functions of figures: labels, colours, choices of times, places and tokens."""

import numpy as np
from matplotlib.figure import Figure
from parameters import refused, together

import meanfield as mf
from meanfield.figures.data.circle import quantiles
from meanfield.figures.data.projections import Mollweide, Orthographic, PlateCarree, directions
from meanfield.figures.data.saved_times import (
    colour_range,
    edges_between,
    is_logarithmic,
    spread_evenly,
)
from meanfield.figures.data.tokens import evenly_chosen, refined
from meanfield.figures.data.vectors import alike_order, ends_and_between, principal_axes
from meanfield.figures.data.view import _opening_frame
from meanfield.figures.draw import animate
from meanfield.figures.draw.axes import (
    colour_ticks,
    facts_title,
    number_label,
    power_of_ten,
    shades,
    spread,
)
from meanfield.figures.draw.clusters import _middle
from meanfield.figures.draw.figures import check_empty, check_figure, check_suffix
from meanfield.figures.draw.fluctuations import panel_grid
from meanfield.figures.draw.prediction import _mean
from meanfield.figures.draw.spectrum import subtitle
from meanfield.figures.draw.sphere import place_label, token_style
from meanfield.figures.draw.sweep import _has_ratios
from meanfield.figures.view import quantised
from meanfield.problem_facts import facts_of

EAST, UP = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
RISING = np.array([0.1, 0.1, 0.3, 0.9, 1.0])


class Still:
    def field(self, measure, x, time):
        return mf.VectorField(0.0 * x, np.zeros(len(x)))


REPELLED = mf.Problem(mf.Circle(), mf.exponential(9.0), mf.Flow("none", strength=-1.0))
STEEPENING = mf.Problem(mf.Circle(), mf.exponential(lambda t: 2.0 + t), mf.USA)
TURNED = mf.Problem(mf.Circle(), mf.Attention([mf.Head(value=[[0, -1], [1, 0]])], beta=4.25))


@together(
    ("value", "expected"),
    [
        (_middle(-EAST[None]), -180),
        (_middle(EAST[None]), 0),
        (colour_range(np.array([-1e-9, 0.3, 400.0])), (0.3, 30.0)),
        (colour_range(np.array([1.0, 1.01])), (0.8, 1.25)),
        (colour_ticks(0.8, 1.25), [0.8, 1.0, 1.25]),
        (colour_ticks(0.3, 2.0), [0.5, 1.0, 2.0]),
        (is_logarithmic(np.geomspace(1.0, 1e4, 50)), True),
        (is_logarithmic(np.linspace(0.0, 1e4, 50)), False),
        (is_logarithmic(np.array([0.0, 1.0, 1e60, 1e120])), True),
        (is_logarithmic(np.array([0.0, 1.0, 1e10, 1e20])), True),
        (is_logarithmic(np.geomspace(1e-2, 1e143, 5)), True),
        (is_logarithmic(np.append(0.0, np.geomspace(1.0, 1e300, 30))), True),
        (is_logarithmic(np.arange(4.0)), False),
        (is_logarithmic(np.array([0.0, 50.0, 100.0])), False),
        (is_logarithmic(np.array([5.0])), False),
        (is_logarithmic(np.array([0.0])), False),
        (_has_ratios(np.array([0.1, 1.0, 10.0])), True),
        (_has_ratios(np.linspace(1.0, 20.0, 39)), False),
        (_opening_frame(np.arange(5.0), {"energy": RISING}, np.arange(5.0)), 3),
        (number_label(12.34567), "12.35"),
        (number_label(2.5e60, 3), r"2.5 \times 10^{60}"),
        (number_label(1e-7), "10^{-7}"),
        (power_of_ten(1500), "1500"),
        (power_of_ten(10_000), "10^{4}"),
        (power_of_ten(20_000), r"2 \times 10^{4}"),
        (_mean(3.0312, 0.0042), r"$3.031 \pm 0.004$"),
        (_mean(1.0, 0.0), "$1$"),
        (place_label(np.array([0.0, -1.0, 0.0])), "90° W, 0°"),
        (place_label(np.array([0.6, 0.0, 0.8])), "0°, 53° N"),
        (token_style(20), {"s": 9.0, "alpha": 0.9}),
        (token_style(2000), {"s": 1.5, "alpha": 0.45}),
        (panel_grid(3), (1, 3)),
        (panel_grid(6), (2, 3)),
        (shades("viridis", 0.0, 1.0, 3), ["#440154", "#21918c", "#fde725"]),
        (check_suffix("figure.PNG"), ".png"),
        (
            facts_title(facts_of(REPELLED)),
            r"circle,  exponential kernel,  $\beta = 9$,  USA,  strength $-1$",
        ),
        (facts_title(facts_of(TURNED)), r"circle,  1 head,  softmax,  $\beta |B| = 4.25$"),
        (facts_title(facts_of(STEEPENING)), r"circle,  exponential kernel,  $\beta(0) = 2$,  USA"),
        (facts_title(facts_of(mf.Problem(mf.Circle(), [Still()]))), "circle,  Still"),
        (subtitle(TURNED), r"circle,  1 head,  $\beta |B| = 4.25$,  softmax"),
    ],
)
def test_words_and_choices_of_figures(value, expected):
    """A label, a colour or a choice would be another one."""
    assert value == expected


@together(
    ("value", "expected"),
    [
        (quantiles(mf.Density(mf.Circle(), [1.0]), 2), [-np.pi / 2, np.pi / 2]),
        (Mollweide().to_plane(UP), [0.0, np.sqrt(2)]),
        (PlateCarree().to_plane(np.array([0.0, -1.0, 0.0])), [-np.pi / 2, 0.0]),
        (Orthographic(EAST).to_plane(np.array([0.0, 0.6, 0.8])), [0.6, 0.8]),
        (directions(0.5 * np.pi, 0.0), [0.0, 1.0, 0.0]),
        (edges_between(np.array([1.0, 3.0, 5.0]), False), [1.0, 2.0, 4.0, 5.0]),
        (edges_between(np.array([1.0, 16.0]), True), [1.0, 4.0, 16.0]),
        (spread_evenly(np.linspace(0.0, 1.0, 11), 3), [0, 5, 10]),
        (spread_evenly(np.linspace(0.0, 1.0, 8), 4), [0, 3, 7]),
        (ends_and_between(np.linspace(0.0, 1.0, 12), 4, False), [0, 4, 7, 11]),
        (evenly_chosen(np.array([0.3, 0.1, 0.2, 0.4]), 2), [2, 3]),
        (refined(np.array([0.0, 1.0, 3.0]), 2), [0.0, 0.5, 1.0, 2.0, 3.0]),
        (alike_order(np.eye(3)[[0, 1, 0, 1, 0]]), [1, 3, 4, 0, 2]),
        (principal_axes(np.diag([3.0, 1.0, 2.0]), 2)[0], [[1, 0, 0], [0, 0, 1]]),
        (principal_axes(np.diag([3.0, 1.0, 2.0]), 2)[1], 13 / 14),
        (spread([0.0, 0.5, 0.5], 0.25), [0.0, 0.375, 0.625]),
        (quantised(np.array([0.0, 0.1, 1.0, 10.0, 99.0]), (0.1, 10.0)), [0, 0, 128, 255, 255]),
    ],
)
def test_numbers_of_figures(value, expected):
    """Places on maps, edges of columns, chosen times and tokens are what their formula says."""
    np.testing.assert_allclose(value, expected, rtol=0, atol=1e-12)  # rounding of numbers about 1


def test_places_of_figures_are_checked_first(tmp_path):
    """Fresh axes would be refused; other errors come after hours of work."""
    check_empty(Figure().subplots())
    refused("its folder does not exist", check_figure, tmp_path / "nowhere" / "figure.png")
    refused(r"run.avi: films end in .mp4 or .gif, got '.avi'", animate, None, "run.avi")
