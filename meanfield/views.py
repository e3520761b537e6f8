"""What results are asked for and the floors above them make: figures, films, data sets, problems.

A result names what it wants ("Run.plot"); the top of the package, which knows every floor, says who
makes it, and loads it when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

VIEWS: dict[str, Callable[..., Any]] = {}
"""Class and method of a result -> what makes it, a function of the result and of the arguments."""


class Axes(Protocol):
    """Axes of matplotlib, which is imported when something is drawn."""

    def inset_axes(self, bounds: Any) -> Any:
        """Axes within these."""
        ...

    def set_xlim(self, left: Any) -> Any:
        """Ends of the horizontal axis."""
        ...
