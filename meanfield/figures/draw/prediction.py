"""Figures of predictions: growth rates by degree, and laws of the number of clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from meanfield.arrays import FloatArray
from meanfield.described import Facts
from meanfield.figures.data.projections import Mollweide, Projection
from meanfield.figures.data.sphere import pixels
from meanfield.figures.draw.axes import (
    DARK_HALO,
    ENERGY,
    FAINT,
    INK,
    MUTED,
    ORDER,
    facts_title,
    style,
    title_above,
)
from meanfield.figures.draw.figures import draw_on, new_figure, panel_figure
from meanfield.figures.draw.sphere import (
    TOKENS,
    draw_clusters,
    draw_field,
    draw_graticule,
    token_style,
)
from meanfield.problem import Problem
from meanfield.problem_facts import facts_of
from meanfield.spaces.manifold import Manifold
from meanfield.spectrum.stability import (
    critical_diffusivity,
    dominant_degree,
    growth_rates,
    switching_threshold,
    switching_thresholds,
)
from meanfield.studies.corrected_law import CorrectedRuns
from meanfield.studies.ensemble_results import CountLaw
from meanfield.studies.prediction import ClusterPrediction, TokenPrediction

_ANGLES, _PIXELS = 2000, 900
_DOTS = 2000  # most tokens that are drawn on the sphere


@dataclass(frozen=True, eq=False)
class RatesPicture:
    """Growth rates of the uniform state by degree."""

    facts: Facts  # manifold, kernel and flow
    rates: FloatArray  # (degrees,): per scaled time
    dominant: int | None  # degree that grows fastest
    lines: list[str]  # consequences of the thresholds, see `facts`


def dispersion_picture(problem: Problem, max_degree: int | None = None) -> RatesPicture:
    """Dispersion relation of a problem up to `max_degree`; default as in `growth_rates`."""
    return RatesPicture(
        facts_of(problem),
        growth_rates(problem, max_degree),
        dominant_degree(problem),
        facts(problem),
    )


def facts(problem: Problem) -> list[str]:
    """Consequences of the thresholds for this problem, one line each."""
    fastest = dominant_degree(problem)
    if fastest is None:
        return ["no degree grows: uniform is stable"]
    lines = []
    thresholds = switching_thresholds(problem)
    if problem.zonal.kernel.name == "exponential" and problem.zonal.kernel.beta > 0:
        degree = len(thresholds) + 1
        upper = switching_threshold(problem.manifold, degree)
        lower = thresholds[-1] if thresholds else 0.0
        without = " without diffusion" if problem.flow.diffusivity else ""
        lines.append(
            rf"degree {degree} is fastest for ${lower:.6g} < \beta < {upper:.6g}${without}"
        )
    lines.append(f"all decay for diffusivity > {critical_diffusivity(problem):.4g}")
    return lines


@dataclass(frozen=True, eq=False)
class PotentialOnCircle:
    """Attention potential (n,) of tokens at the onset time, its maxima (k,) and basins."""

    angles: FloatArray
    values: FloatArray  # largest modulus 1
    tokens: FloatArray  # (tokens,): angles
    places: FloatArray  # angles of maxima
    heights: FloatArray
    masses: FloatArray  # of basins
    dominant: FloatArray  # angles of the maxima of the dominant degree


@dataclass(frozen=True, eq=False)
class PotentialOnSphere:
    """Attention potential of tokens at the onset time on a map, its maxima and basins."""

    projection: Projection
    values: FloatArray  # (height, width): the potential in pixels, row by row from below
    tokens: FloatArray  # (n, 2): places of at most 2000 tokens
    places: FloatArray  # (k, 2): places of maxima
    masses: FloatArray  # (k,): of basins


def potential_picture(
    space: Manifold, where: TokenPrediction
) -> PotentialOnCircle | PotentialOnSphere:
    """Potential with maxima and tokens: values along the circle or on a map of the sphere."""
    if space.dimension == 1:
        angles = np.linspace(-np.pi, np.pi, _ANGLES)
        values = space.evaluate(where.potential, angles)
        scale = float(np.abs(values).max())
        heights = space.evaluate(where.potential, where.positions) / scale
        return PotentialOnCircle(
            angles, values / scale, np.angle(np.exp(1j * where.points)), where.positions, heights,
            where.masses, where.dominant_positions,
        )  # fmt: skip
    projection = Mollweide()
    points = pixels(projection, _PIXELS)
    values = space.evaluate(where.potential, np.ascontiguousarray(points.reshape(-1, 3)))
    return PotentialOnSphere(
        projection, values.reshape(points.shape[:2]), projection.to_plane(where.points[:_DOTS]),
        projection.to_plane(where.positions), where.masses,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class PredictionPicture:
    """Growth rates, laws of the number of clusters, and the potential of given tokens."""

    tokens: int  # number of tokens
    linear: CountLaw  # of the number of clusters
    corrected: CountLaw | None  # only on request
    message: str  # reason why no law is needed, else empty
    facts: Facts  # manifold, kernel and flow
    rates: FloatArray  # (degrees,): growth rates, per scaled time
    dominant: int | None
    second: int | None
    rate_ratio: float
    mean_clusters: float
    potential: PotentialOnCircle | PotentialOnSphere | None  # of given tokens

    @property
    def on_circle(self) -> bool:
        return self.facts.manifold == "circle"


def prediction_picture(prediction: ClusterPrediction) -> PredictionPicture:
    """Picture of a prediction."""
    problem, where = prediction.problem, prediction.positions
    return PredictionPicture(
        prediction.tokens,
        prediction.linear,
        prediction.corrected,
        prediction.message,
        facts_of(problem),
        growth_rates(problem),
        prediction.dominant_degree,
        prediction.second_degree,
        prediction.rate_ratio,
        prediction.mean_clusters_linear,
        None if where is None else potential_picture(problem.manifold, where),
    )


_WIDTH, _HEIGHT, _BELOW = 9.0, 4.2, {1: 3.2, 2: 4.6}
# More degrees or numbers of clusters are drawn as lines instead of stems and bars.
_MANY = 60
# Rarer numbers of clusters are not drawn.
_LEAST_SHARE = 1e-3
# Tokens in each bin of their histogram, and the least and largest number of bins.
_TOKENS_A_BIN, _BINS = 12, (24, 180)
# Most clusters that are labelled with their masses.
_LABELS = 24


def prediction_figure(
    prediction: ClusterPrediction,
    *,
    ax: Axes | None = None,
    title: str | None = None,
    **options: Any,
) -> Figure:
    """Growth rates, laws, and the potential of given tokens; on axes of the user only the laws."""
    picture = prediction_picture(prediction)
    if ax is not None:
        return draw_on(ax, partial(_laws, picture), title)
    return draw_prediction(picture, title=title, **options)


def draw_prediction(
    picture: PredictionPicture, *, title: str | None = None, **options: Any
) -> Figure:
    """Figure of the picture of a prediction."""
    where = picture.potential
    below = 0.0 if where is None else _BELOW[1 if picture.on_circle else 2]
    with style():
        figure = new_figure((_WIDTH, _HEIGHT + below), **options)
        rows = figure.subplot_mosaic(
            [["rates", "laws"]] if where is None else [["rates", "laws"], ["where", "where"]],
            height_ratios=[_HEIGHT] if where is None else [_HEIGHT, below],
        )
        title = f"Clusters of {picture.tokens} tokens" if title is None else title
        title_above(rows["rates"], title, facts_title(picture.facts))
        _rates(picture, rows["rates"])
        _laws(picture, rows["laws"])
        if where is not None:
            _potential(where, rows["where"])
    return figure


def corrected_runs_figure(result: CorrectedRuns, **options: Any) -> Figure:
    """Figure of the distribution of the number of clusters of short runs."""

    def draw(axes: Axes) -> None:
        highest = _bars([("corrected law", result.law, ENERGY)], axes)
        axes.set_xlabel("number of clusters")
        axes.set_ylabel("share of runs")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=12))
        axes.set_ylim(0.0, 1.4 * highest)
        axes.legend(loc="upper right")

    heading = f"Clusters of {result.tokens[0]} tokens"
    size = (0.6 * _WIDTH, _HEIGHT)
    return panel_figure(draw, size, heading, facts_title(result.facts), **options)


def _rates(picture: PredictionPicture, axes: Axes) -> None:
    """Draw growth rates by degree, and mark the dominant and the second degree."""
    rates, first, second = picture.rates, picture.dominant, picture.second
    degrees = np.arange(len(rates))
    axes.axhline(0.0, color=MUTED, linewidth=0.8, zorder=1)
    if len(rates) <= _MANY:
        axes.vlines(degrees[1:], 0.0, rates[1:], color=MUTED, linewidth=1.2, zorder=2)
        axes.scatter(degrees[1:], rates[1:], s=18, color=MUTED, zorder=3)
    else:
        axes.plot(degrees[1:], rates[1:], color=MUTED, linewidth=1.2)
    marks = [(first, ENERGY, "dominant degree"), (second, ORDER, "second degree")]
    for degree, colour, name in marks:
        if degree is not None:
            label = f"{name} {degree}"
            if degree == second:
                label += f": {picture.rate_ratio:.3f} of its rate"
            axes.vlines(degree, 0.0, rates[degree], color=colour, linewidth=2.0, zorder=4)
            axes.scatter(degree, rates[degree], s=44, color=colour, zorder=5, label=label)
    axes.set_xlabel(r"degree $\ell$")
    axes.set_ylabel(r"growth rate $\lambda_\ell$ (per scaled time)")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.margins(x=0.03, y=0.05)
    if first is not None:
        # Room for the legend above the stems.
        axes.set_ylim(top=1.3 * float(rates.max()))
        axes.legend(loc="upper right")


def _laws(picture: PredictionPicture, axes: Axes) -> None:
    """Draw the distributions, their means, and the dominant degree."""
    # A potential belongs to given tokens, but the laws are for random ones.
    of_whom = "" if picture.potential is None else " of as many random tokens"
    axes.set_xlabel(f"number of clusters{of_whom}")
    axes.set_ylabel("probability")
    if picture.message:
        axes.set_axis_off()
        axes.annotate(
            picture.message, (0.5, 0.5), xycoords="axes fraction", ha="center", fontsize=11
        )
        return
    laws = [("linear law", picture.linear, ORDER)]
    if picture.corrected is not None:
        laws.append(("corrected law", picture.corrected, ENERGY))
    highest = _bars(laws, axes)
    _mark_dominant(picture, axes, 1.06 * highest)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=12))
    # Room for the legend above the bars.
    axes.set_ylim(0.0, 1.6 * highest)
    axes.margins(x=0.05)
    axes.legend(loc="upper right")
    axes.set_title(
        f"linear mean in closed form {picture.mean_clusters:.4g}",
        loc="right",
        color=MUTED,
        pad=8,
    )


def _bars(laws: Sequence[tuple[str, CountLaw, str]], axes: Axes) -> float:
    """Draw shares of numbers of clusters with their means; return the largest share."""
    numbers = [k for _, law, _ in laws for k, p in law.distribution.items() if p >= _LEAST_SHARE]
    counts = np.arange(min(numbers), max(numbers) + 1)
    width = 0.8 / len(laws)
    for i, (name, law, colour) in enumerate(laws):
        shares = np.array([law.distribution.get(int(k), 0.0) for k in counts])
        if len(counts) <= _MANY:
            places = counts + width * (i - 0.5 * (len(laws) - 1))
            axes.bar(places, shares, width=0.92 * width, color=colour, alpha=0.85, label=name)
        else:
            axes.plot(counts, shares, color=colour, label=name)
    highest = float(axes.dataLim.ymax)
    for name, law, colour in laws:
        label = f"mean of the {name} {_mean(law.mean, law.standard_error)}"
        axes.vlines(
            law.mean, 0.0, 1.06 * highest, color=colour, linewidth=1.4, linestyle="--", label=label
        )
    return highest


def _mark_dominant(picture: PredictionPicture, axes: Axes, height: float) -> None:
    """Mark the dominant degree, on the circle the number of clusters it gives alone."""
    degree = picture.dominant
    if degree is not None and picture.on_circle:
        axes.bar(
            degree, height, width=0.96, color=FAINT, alpha=0.55, zorder=0,
            label=f"dominant degree {degree}",
        )  # fmt: skip


def _mean(mean: float, error: float) -> str:
    """Mean and error, with digits up to the first one of the error."""
    if not error > 0:
        return f"${mean:.4g}$"
    digits = max(0, -int(np.floor(np.log10(error))))
    return rf"${mean:.{digits}f} \pm {error:.{digits}f}$"


def _potential(picture: PotentialOnCircle | PotentialOnSphere, axes: Axes) -> None:
    """Draw the potential of given tokens at the onset time, with its maxima."""
    count = len(picture.masses)
    title = f"attention potential at the onset time: {count} cluster{'s' * (count > 1)}"
    axes.set_title(title, loc="left", color=MUTED, pad=8)
    if isinstance(picture, PotentialOnCircle):
        _potential_on_circle(picture, axes)
    else:
        _potential_on_sphere(picture, axes)


def _potential_on_circle(picture: PotentialOnCircle, axes: Axes) -> None:
    places, heights, count = picture.places, picture.heights, len(picture.tokens)
    tokens = axes.twinx()
    bins = int(np.clip(count / _TOKENS_A_BIN, *_BINS))
    tokens.hist(
        picture.tokens, bins=bins, range=(-np.pi, np.pi), color=FAINT,
        weights=np.full(count, bins / count), zorder=1,
    )  # fmt: skip
    tokens.set_ylabel("density of the tokens", color=MUTED)
    # The histogram fills the lower half.
    tokens.set_ylim(0.0, 2.0 * tokens.dataLim.ymax)
    tokens.spines["right"].set_visible(True)
    # The curve is in front of the histogram, which has its own axis.
    axes.set_zorder(tokens.get_zorder() + 1)
    axes.patch.set_visible(False)
    axes.plot(picture.angles, picture.values, color=INK, zorder=3)
    axes.scatter(
        places,
        heights,
        s=36,
        color=ENERGY,
        zorder=4,
        label="maxima, with the masses of their basins",
    )
    if len(places) <= _LABELS:
        for place, height, mass_here in zip(places, heights, picture.masses, strict=True):
            axes.annotate(
                f"{mass_here:.2f}", (place, height), xytext=(0, 6), textcoords="offset points",
                ha="center", color=ENERGY, fontsize=8.5,
            )  # fmt: skip
    alone = picture.dominant
    if len(alone):
        axes.plot(
            alone, np.full(len(alone), -1.3), "^", color=ORDER, markersize=5, zorder=4,
            label=f"degree {len(alone)} alone",
        )  # fmt: skip
    axes.set_xlim(-np.pi, np.pi)
    axes.set_ylim(-1.4, 1.75)
    names = [r"$-\pi$", r"$-\pi/2$", "0", r"$\pi/2$", r"$\pi$"]
    axes.set_xticks(np.arange(-2, 3) * np.pi / 2, names)
    axes.set_yticks([-1.0, 0.0, 1.0])
    axes.set_xlabel(r"angle $\theta$")
    axes.set_ylabel("potential (scaled)")
    axes.legend(loc="upper right", ncols=2)


def _potential_on_sphere(picture: PotentialOnSphere, axes: Axes) -> None:
    projection, places = picture.projection, picture.places
    draw_field(axes, picture.values, projection)
    draw_graticule(axes, projection)
    axes.scatter(*picture.tokens.T, **TOKENS | token_style(len(picture.tokens)))
    draw_clusters(axes, places)
    if len(places) <= _LABELS:
        for place, mass in zip(places, picture.masses, strict=True):
            axes.annotate(
                f"{mass:.2f}", (place[0], place[1]), xytext=(0, 7), textcoords="offset points",
                ha="center", color="white", fontsize=8.5, zorder=5, path_effects=DARK_HALO,
            )  # fmt: skip
