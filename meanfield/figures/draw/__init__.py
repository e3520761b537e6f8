"""Figures of runs, by kind, listed in `PLOTS`; films, by `animate`; one figure for each study.

A figure follows from a `Run`, from a file as well as from memory. Nothing here touches pyplot or
any other global state, and matplotlib is imported when a figure is drawn.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meanfield.errors import list_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from meanfield.figures.draw.film import InlineFilm, Progress
    from meanfield.runs import Run
    from meanfield.store.result_file import Result
    from meanfield.studies.phase import PhaseDiagram
    from meanfield.studies.prediction import ClusterPrediction

DEFAULT_KIND = "overview"
STUDIES = {
    "comparison": "distances to the density against time, and against the number of tokens",
    "ensemble": "mean number of clusters against the number of tokens, and its distributions",
    "diagram": "share of merged pairs of tokens over beta and time, with the curve (6.12)",
    "phase_diagram": "what is stable where, jump of order, critical diffusivity over beta",
    "corrected_runs": "shares of the numbers of clusters of short runs",
    "replay": "pairs of tokens by layer, from the model to an equation, betas, spectra of values",
}
"""The one figure of each kind of study."""
_DENSITIES, _TOKENS = ("axial", "circle", "sphere"), ("vectors", "space")
_SPHERES, _ALL = (*_DENSITIES, "vectors"), (*_DENSITIES, *_TOKENS)
SPACES = {
    "axial": "axial measures",
    "circle": "the circle",
    "sphere": "the sphere",
    "vectors": "spheres of other dimensions",
    "space": "R^d",
}
"""Names of spaces: families, and R^d."""
# Kinds whose picture takes the limits: limits of colours, or of axes with other marks beside them.
_LIMITS_OF_PICTURES = ("density", "labels", "map", "globe", "spectrum")
_LIMITS_OF_AXES = ("energy", "order_parameter", "resolution", "staircase")
# Height of a figure of 2 or 3 maps, which stand in one row.
_ROW_OF_MAPS = {2: 3.1, 3: 2.4}
# Most saved times of kinds that show a few of them.
_PANELS = {
    "map": 6, "globe": 1, "velocity": 3, "histogram": 4, "similarity": 4, "attention": 3,
    "labels": 3,
}  # fmt: skip


@dataclass(frozen=True)
class PlotKind:
    """One kind of figure."""

    name: str  # for `--kind`
    title: str  # one line
    # Makes the data from a run, without matplotlib; ValueError if the run lacks them. Kinds in
    # `_LIMITS_OF_PICTURES` also take limits.
    picture: Callable[..., Any]
    draw: Callable[[Any, Any], None]  # draws the picture on empty axes; the overview, on a figure
    size: tuple[float, float] = (9.0, 4.2)  # width and height in inches
    manifolds: tuple[str, ...] = _ALL  # names in `SPACES`


def _function(module: str, name: str) -> Callable[..., Any]:
    """Return a function of a module that is imported at the first call."""
    return lambda *given, **named: getattr(import_module(module), name)(*given, **named)


PLOTS: dict[str, PlotKind] = {
    name: PlotKind(
        name,
        title,
        _function(f"meanfield.figures.{data}", f"{name}_picture"),
        _function(f"{__name__}.{file}", f"draw_{name}"),
        (9.0, height),
        manifolds,
    )
    for name, data, file, height, manifolds, title in [
        (
            "overview", "draw.overview", "overview", 8.4, _ALL,
            "what happened at a glance: density or tokens, energy, spectrum or cosines",
        ),
        (
            "density", "draw.overview", "overview", 4.6, _DENSITIES,
            "density in space and time, with tokens; on the sphere, maps",
        ),
        (
            "velocity", "draw.velocity", "velocity", 4.4, ("circle", "sphere"),
            "velocity at a few times over the density; heads one by one on the circle",
        ),
        (
            "energy", "data.series", "over_time", 4.0, _SPHERES,
            "interaction energy and number of clusters",
        ),
        ("order_parameter", "data.series", "over_time", 4.0, _ALL, "length of the mean vector"),
        (
            "spectrum", "data.series", "over_time", 4.6, _DENSITIES,
            "moments by degree, with the growth that linear theory predicts",
        ),
        (
            "clusters", "draw.clusters", "clusters", 4.6, _DENSITIES,
            "centres of the clusters, by mass",
        ),
        (
            "resolution", "data.series", "over_time", 4.0, _DENSITIES,
            "spectral tail and degree of the density",
        ),
        (
            "staircase", "data.series", "over_time", 4.4, _SPHERES,
            "energy against log time, with the clusters of each plateau",
        ),
        (
            "tree", "data.series", "clusters", 5.0, _DENSITIES,
            "who merged with whom, and when, once a run is atoms",
        ),
        (
            "map", "data.sphere", "sphere", 4.1, ("sphere",),
            "density at a few times as equal-area maps, with tokens",
        ),
        (
            "globe", "data.sphere", "sphere", 5.0, ("sphere",),
            "density at the last time from in front and from behind",
        ),
        (
            "axes", "data.vectors", "vectors", 5.6, _TOKENS,
            "paths of tokens on their two leading principal axes",
        ),
        (
            "cosines", "data.vectors", "vectors", 4.2, _TOKENS,
            "histogram of the cosines of pairs over time, with equal angles",
        ),
        (
            "histogram", "data.vectors", "vectors", 3.4, _ALL,
            "histograms of the cosines of pairs at a few times",
        ),
        (
            "similarity", "data.vectors", "vectors", 3.0, _TOKENS,
            "cosines of all pairs at a few times, tokens by cluster",
        ),
        (
            "attention", "data.vectors", "vectors", 3.6, _TOKENS,
            "attention matrices at a few times, a row a head",
        ),
        (
            "hulls", "draw.hulls", "hulls", 6.0, ("space",),
            "rescaled tokens with their convex hulls, or the hyperplanes that they reach",
        ),
        (
            "label_order", "draw.labels", "labels", 4.4, ("circle", "sphere"),
            "order parameter of each position or frequency against time",
        ),
        (
            "fluctuations", "draw.fluctuations", "fluctuations", 3.5, ("circle", "sphere"),
            "moments of N tokens beside their limit, of a run file with [fluctuations]",
        ),
        (
            "labels", "draw.labels", "labels", 4.2, ("circle",),
            "densities of all positions or frequencies at a few times",
        ),
    ]
}  # fmt: skip
"""Kinds of figures, by the name that `meanfield plot --kind` takes."""


def _plot_kinds(run: Run) -> dict[str, PlotKind]:
    """Kinds for a run: `PLOTS`, and each other observable against time."""
    entries = {}
    for name, values in run.observables.items():
        if name in PLOTS or not 1 <= values.ndim <= 2:
            continue
        entries[name] = PlotKind(
            name,
            "observable against time",
            partial(_function("meanfield.figures.data.series", "observable_picture"), name=name),
            _function(f"{__name__}.over_time", "draw_observable"),
            (9.0, 4.0),
        )
    return PLOTS | entries


def plot(
    run: Run,
    kind: str = DEFAULT_KIND,
    *,
    ax: Any = None,
    title: str | None = None,
    times: Sequence[float] | None = None,
    limits: tuple[float, float] | None = None,
    figsize: tuple[float, float] | None = None,
    dpi: float | None = None,
    particles: Sequence[Run] = (),
) -> Figure:
    """Figure of a run outside pyplot, or the figure of `ax`; arguments as for `Run.plot`.

    >>> import meanfield as mf
    >>> from meanfield.api import simulate
    >>> law = mf.perturbed_uniform([[1, 0.1, 0.0]])
    >>> run = simulate(mf.Problem(mf.Circle(), mf.linear(), mf.USA, law), until=1.0, save=5)
    >>> [axes.get_ylabel() for axes in plot(run, "order_parameter").axes]
    ['order parameter $R$']
    """
    kinds = _plot_kinds(run)
    space = run.manifold
    group = getattr(space, "family", "space") if space.is_sphere else "space"
    if kind not in kinds:
        drawn = [name for name, entry in kinds.items() if group in entry.manifolds]
        raise ValueError(f"kind of figure {kind!r} is not known. {list_names(kind, drawn)}")
    _check_saved(run)
    chosen = kinds[kind]
    if group not in chosen.manifolds:
        names = ", ".join(name for name, entry in kinds.items() if group in entry.manifolds)
        *others, last = (SPACES[each] for each in chosen.manifolds)
        spaces = f"{', '.join(others)} and {last}" if others else last
        named = f"the {space.name}" if space.name in ("circle", "sphere") else space.name
        raise ValueError(
            f"kind {kind!r} is for {spaces}, this run is on {named}. Kinds for it: {names}."
        )
    from meanfield.figures.draw.axes import style
    from meanfield.figures.draw.figures import check_empty, make_room, new_figure

    single, guest = kind != DEFAULT_KIND, ax is not None
    if guest:
        _check_axes(kind, figsize, dpi)
        check_empty(ax)
    whole, saves = run, None if times is None else _visible_saves(run, kind, times)
    if saves is not None:
        from meanfield.figures.data.saved_times import part

        run = part(run, saves)
    extra: tuple[Any, ...] = ()
    if limits is not None:
        _check_limits(limits, kind)
        extra = (tuple(limits),) if kind in _LIMITS_OF_PICTURES else ()
    if kind == "map" and saves is not None:
        from meanfield.figures.data.tokens import tokens_of

        # Tokens follow the moments of all saved times, not of the few that are drawn.
        followed = tokens_of(whole)
        extra = (limits, [followed[i] for i in saves])
    if len(particles):
        if kind != "fluctuations":
            raise ValueError(f"particles are drawn over kind 'fluctuations', not over {kind!r}.")
        extra = (tuple(particles),)
    picture = chosen.picture(run, *extra)
    if title is not None:
        # The run itself stays the same, because its pictures share solutions.
        picture = replace(picture, frame=replace(picture.frame, title=title))
    if guest:
        picture = replace(picture, frame=replace(picture.frame, guest=True))
    with style():
        if ax is None:
            figure = new_figure(_size(chosen, picture), figsize, dpi)
            ax = figure.subplots() if single else figure
        chosen.draw(picture, ax)
        if limits is not None and kind not in _LIMITS_OF_PICTURES:
            ax.set_ylim(*limits)
        if guest:
            make_room(ax)
    return ax.figure if single else figure


def _size(kind: PlotKind, picture: Any) -> tuple[float, float]:
    """Width and height in inches."""
    width, height = kind.size
    if kind.name in ("similarity", "attention"):
        rows, columns = picture.matrices.shape[:2]
        return width, 0.9 + rows * (0.9 * width / max(columns, 3))
    if kind.name == "overview" and hasattr(picture, "spectrum"):
        from meanfield.figures.draw.overview import height_share

        return width, height * height_share(picture)
    if kind.name == "fluctuations":
        from meanfield.figures.draw.fluctuations import figure_height

        return width, figure_height(picture.limit.shape[1])
    maps = kind.name == "map" or (kind.name == "velocity" and not picture.frame.on_circle)
    if maps:
        height = _ROW_OF_MAPS.get(len(picture.panels), height)
    return width, height


def _check_axes(kind: str, *sizes: Any) -> None:
    if kind == DEFAULT_KIND:
        raise ValueError(
            f"kind {kind!r} has several axes and needs a figure of its own: leave out ax, or take "
            f"{', '.join(name for name in PLOTS if name != kind)}."
        )
    if any(size is not None for size in sizes):
        raise ValueError("figsize and dpi are of a figure of our own: leave them out with ax.")


def _check_limits(limits: tuple[float, float], kind: str) -> None:
    supported = [*_LIMITS_OF_PICTURES, *_LIMITS_OF_AXES]
    if kind in PLOTS and kind not in supported:
        raise ValueError(f"kind {kind!r} has no limits. Those that have: {', '.join(supported)}.")
    low, high = limits
    positive = kind in (*_LIMITS_OF_PICTURES, "resolution")
    if not (low < high and (low > 0 or not positive)):
        raise ValueError(
            f"limits must be increasing{' and positive' if positive else ''}, got {limits}."
        )


def _visible_saves(run: Run, kind: str, times: Sequence[float]) -> list[int]:
    """Indices of the saved times that `times` selects for a kind."""
    if kind in _PANELS:
        most = _PANELS[kind]
        if not 1 <= len(times) <= most:
            raise ValueError(f"times of kind {kind!r}: expected 1 to {most}, got {len(times)}.")
        return sorted({run.index_of(time) for time in times})
    if kind == "tree":
        raise ValueError("a tree is of the whole run: leave out times.")
    if len(times) != 2 or not times[0] < times[1]:
        raise ValueError(
            f"times of kind {kind!r} are the first and the last that are shown, in {run.unit} "
            f"time; got {list(times)}."
        )
    if times[0] < 0 or times[1] > run.time[-1] * (1 + 1e-9):
        raise ValueError(
            f"times reach beyond the run, whose last saved time is {run.time[-1]:g} ({run.unit} "
            f"time); got {list(times)}."
        )
    # As `Run.index_of`: equal but for rounding.
    slack = 1e-9 * max(abs(times[0]), abs(times[1]))
    saves = [i for i, time in enumerate(run.time) if times[0] - slack <= time <= times[1] + slack]
    if not saves:
        raise ValueError(f"no saved time lies between {times[0]:g} and {times[1]:g}.")
    return saves


def animate(
    run: Run, path: str | os.PathLike[str] | None = None, progress: Progress | None = None
) -> Path | InlineFilm:
    """Film of a run: its density, one frame for each saved time, with energy and order parameter.

    On the circle the density is a curve around it; on the sphere a slowly turning globe and a map;
    in other dimensions tokens on their leading principal axes, with the cosines of pairs.

    - run: has at least two saved times with their states. A film has at most 150 frames.
    - path: ends in .gif, or in .mp4 if ffmpeg is installed. Without it the film is returned, and a
      notebook shows it; else the path is returned.
    - progress: `progress(frames, count)` passes the frames through and shows progress, as tqdm.
    """
    from meanfield.figures.draw.axes import style
    from meanfield.figures.draw.film import check_film, draw_film, inline_film, write_film
    from meanfield.figures.draw.overview import film_picture

    if path is not None:
        check_film(path)
    _check_saved(run)
    picture = film_picture(run)
    with style():
        if path is None:
            return inline_film(draw_film(picture), progress)
        write_film(draw_film(picture), path, progress)
    return Path(path)


def save_plot(
    result: Result | ClusterPrediction | PhaseDiagram,
    path: str | os.PathLike[str],
    kind: str | None = None,
    progress: Progress | None = None,
    *,
    particles: Sequence[Run] = (),
) -> None:
    """Draw a run, a study, a prediction or a phase diagram into a file.

    - path: ends in .png, .pdf or .svg; for a run also in .mp4 or .gif, which make a film.
    - kind: for a run, a kind of `plot`; for a sweep, an observable.
    - progress: for a film, see `animate`.
    - particles: for kind "fluctuations", runs of tokens that are drawn over them.
    """
    from meanfield.figures.draw.figures import FILM_SUFFIXES, SUFFIXES, check_suffix, write_figure
    from meanfield.runs import Run
    from meanfield.studies.sweep_results import Sweep

    film = check_suffix(path, SUFFIXES + FILM_SUFFIXES) in FILM_SUFFIXES
    if len(particles) and (film or not isinstance(result, Run)):
        raise ValueError("particles are drawn over kind 'fluctuations' of a run.")
    if not isinstance(result, Run):
        if film:
            raise ValueError(f"{os.fspath(path)}: films are of runs. End in .png, .pdf or .svg.")
        if isinstance(result, Sweep):
            write_figure(result.plot(kind), path)
            return
        if kind is not None:
            raise ValueError(f"kinds are of runs, a study has one figure: leave out {kind!r}.")
        write_figure(result.plot(), path)
    elif film:
        if kind is not None:
            raise ValueError(
                f"{os.fspath(path)}: films show the density and have no kinds. Leave out "
                f"{kind!r}, or end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}."
            )
        animate(result, path, progress)
    else:
        write_figure(plot(result, kind or DEFAULT_KIND, particles=particles), path)


def _check_saved(run: Run) -> None:
    if len(run.time) == 0:
        raise ValueError(f"the run has no saved times ({run.status}): nothing to draw.")
