"""Registry of figures, films, data sets and problems that results make on request.

A result names a view ("Run.plot"). The top of the package registers its maker, and loads it at
first use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VIEWS: dict[str, Callable[..., Any]] = {}
"""Class and method of a result -> what makes it, a function of the result and of the arguments."""

_OPTIONS = "A title instead of its own, and matplotlib's size in inches and dots an inch."


class PlotMethod(Protocol):
    """Method `plot` of a result, as it is called."""

    def __call__(
        self,
        *,
        title: str | None = None,
        figsize: tuple[float, float] | None = None,
        dpi: float | None = None,
    ) -> Figure:
        """Figure of the result."""
        ...


def plot_method(wanted: str, shows: str) -> PlotMethod:
    """Method of a result that makes its figure, to be named `plot` in the body of its class.

    wanted: class and method, a key of `VIEWS`.
    shows: docstring: what the figure shows. What the arguments are follows.

    Examples
    --------
    >>> print(plot_method("Ensemble.plot", "Figure of counts.").__doc__)
    Figure of counts.
    <BLANKLINE>
    A title instead of its own, and matplotlib's size in inches and dots an inch.
    """
    from meanfield.checks import checked

    def plot(
        self: Any,
        *,
        title: str | None = None,
        figsize: tuple[float, float] | None = None,
        dpi: float | None = None,
    ) -> Figure:
        figure: Figure = VIEWS[wanted](self, title=title, figsize=figsize, dpi=dpi)
        return figure

    plot.__qualname__ = wanted
    plot.__doc__ = f"{shows}\n\n{_OPTIONS}"
    return cast(PlotMethod, checked(plot))


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
