"""Figures of runs: one file a kind, listed in `PLOTS`.

A figure is made from a `Run`, hence from a file as well as from memory. Nothing here touches
pyplot or any other global state, and matplotlib is imported when a figure is drawn.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from meanfield.run import Run

DEFAULT_KIND = "overview"


@dataclass(frozen=True)
class PlotKind:
    """One kind of figure.

    Attributes
    ----------
    name : str
        Given. What `--kind` takes.
    title : str
        Given. What it shows, one line.
    draw : callable (run, figure) -> None
        Given. Draws into an empty figure; ValueError if the run does not hold what it needs.
    size : (float, float)
        Given. Width and height in inches.
    """

    name: str
    title: str
    draw: Callable[[Run, Figure], None]
    size: tuple[float, float] = (9.0, 4.2)


def _from_file(name: str) -> Callable[[Run, Figure], None]:
    """Return the `draw` of the module of that name, imported when it is called."""

    def draw(run: Run, figure: Figure) -> None:
        import_module(f"{__name__}.{name}").draw(run, figure)

    return draw


PLOTS: dict[str, PlotKind] = {
    name: PlotKind(name, title, _from_file(name), (9.0, height))
    for name, title, height in [
        ("overview", "density with token paths, energy, order parameter and spectrum", 8.4),
        ("density", "density in space and time, with the paths of tokens", 4.6),
        ("energy", "interaction energy and number of clusters", 4.0),
        ("order_parameter", "length of the mean vector", 4.0),
        ("spectrum", "moments by degree, with the growth that linear theory predicts", 4.6),
        ("clusters", "centres of the clusters, by mass", 4.6),
        ("resolution", "spectral tail and degree of the density", 4.0),
    ]
}
"""Kinds of figures, by the name that `meanfield plot --kind` takes."""


def plot(run: Run, kind: str = DEFAULT_KIND, **options: Any) -> Figure:
    """Figure of a run; the last line of a notebook cell shows it.

    Parameters
    ----------
    run : Run
        With at least one saved time.
    kind : str
        A name in `PLOTS`.
    **options
        Passed on to matplotlib's Figure: figsize (inches), dpi.

    Returns
    -------
    matplotlib.figure.Figure
        Its own canvas, not known to pyplot.

    Raises
    ------
    ValueError
        If the kind is not known, nothing was saved, or the run lacks what the kind shows.

    Examples
    --------
    >>> import meanfield as mf
    >>> from meanfield.simulate import simulate
    >>> law = mf.perturbed_uniform([[1, 0.1, 0.0]])
    >>> run = simulate(mf.Problem(mf.Circle(), mf.linear(), mf.USA, law), until=1.0, save=5)
    >>> [axes.get_ylabel() for axes in plot(run, "order_parameter").axes]
    ['order parameter $R$']
    """
    if kind not in PLOTS:
        raise ValueError(f"kind of figure {kind!r} is not known. Known: {', '.join(PLOTS)}.")
    if len(run.time) == 0:
        raise ValueError(f"the run has no saved times ({run.status}): nothing to draw.")
    from meanfield.outputs.plots.figures import new_figure
    from meanfield.outputs.plots.style import style

    with style():
        figure = new_figure(PLOTS[kind].size, **options)
        PLOTS[kind].draw(run, figure)
    return figure


def save_plot(run: Run, path: str | os.PathLike[str], kind: str | None = None) -> None:
    """Draw a run into a file.

    Parameters
    ----------
    run : Run
        With at least one saved time.
    path : path
        Ends in .png, .pdf or .svg.
    kind : str, optional
        A name in `PLOTS`; "overview" by default.

    Raises
    ------
    ValueError
        As `plot`; or if the suffix is another one, or the file cannot be written.

    Examples
    --------
    >>> save_plot(None, "run.bmp")
    Traceback (most recent call last):
    ...
    ValueError: run.bmp: figures end in .png, .pdf or .svg, got '.bmp'.
    """
    from meanfield.outputs.plots.figures import check_suffix, write_figure

    check_suffix(path)
    write_figure(plot(run, kind or DEFAULT_KIND), path)
