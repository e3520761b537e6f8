"""Registry of figures, films, data sets and problems that results make on request.

A result names a view ("Run.plot"). The top of the package registers its maker, and loads it at
first use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VIEWS: dict[str, Callable[..., Any]] = {}
"""Class and method of a result -> what makes it, a function of the result and of the arguments."""

_ON_AXES = "Empty axes to draw on, `ax`, instead of a figure of its own. "
_OPTIONS = "A title instead of its own, and matplotlib's size in inches and dots an inch."


def plot_method(wanted: str, shows: str, *, on_axes: bool = True) -> Callable[..., Figure]:
    """Method of a result that makes its figure, to be named `plot` in the body of its class.

    wanted: class and method, a key of `VIEWS`.
    shows: docstring: what the figure shows. What the arguments are follows.
    on_axes: False if its function has several equal panels, and takes no `ax`.

    >>> print(plot_method("Replay.plot", "Figure of layers.", on_axes=False).__doc__)
    Figure of layers.
    <BLANKLINE>
    A title instead of its own, and matplotlib's size in inches and dots an inch.
    """
    from meanfield.arguments import checked

    def plot(
        self: Any,
        *,
        ax: Any = None,
        title: str | None = None,
        figsize: tuple[float, float] | None = None,
        dpi: float | None = None,
    ) -> Figure:
        options: dict[str, Any] = {"title": title, "figsize": figsize, "dpi": dpi}
        if ax is not None:
            if not on_axes:
                raise ValueError(f"{wanted} has several axes: leave out ax, and take figsize.")
            if figsize is not None or dpi is not None:
                raise ValueError(
                    "figsize and dpi are of a figure of our own: leave out ax, or them."
                )
            options = {"ax": ax, "title": title}
        figure: Figure = VIEWS[wanted](self, **options)
        return figure

    plot.__qualname__ = wanted
    plot.__doc__ = f"{shows}\n\n{_ON_AXES * on_axes}{_OPTIONS}"
    return checked(plot)


def data_frame(columns: Mapping[str, Any]) -> Any:
    """DataFrame of equally long columns where pandas is installed, else a dict of them."""
    try:
        from pandas import DataFrame
    except ImportError:
        return dict(columns)
    return DataFrame(columns)


class Axes(Protocol):
    """Axes of matplotlib, which is imported when something is drawn."""

    def inset_axes(self, bounds: Any) -> Any:
        """Axes within these."""
        ...

    def set_xlim(self, left: Any) -> Any:
        """Ends of the horizontal axis."""
        ...
