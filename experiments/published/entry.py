"""Interface of published figures: entries of the table, and their results.

Entries are text, so that a list of them loads nothing else. A module makes the figure:

    compute(short=False, published=False, progress=unfollowed) -> Reproduction
    draw(figure, reproduction) -> None

`short` selects a form of a second or less, whose numbers are also compared. `published` selects the
scheme of the source instead of this package's. `progress(items, total, label)` yields the items of
long work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from claims import Claim

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.figure import Figure

Progress = Callable[..., Iterator[Any]]
"""Yields items and shows progress, for example `meanfield.progress.followed`."""


def unfollowed(items: Iterable[Any], total: float, label: str, **how: Any) -> Iterator[Any]:
    """Yield items without showing progress.

    >>> list(unfollowed([1, 2], 2, "numbers"))
    [1, 2]
    """
    yield from items


@dataclass(frozen=True)
class Reproduction:
    """Results for a figure."""

    numbers: tuple[Claim, ...]  # the card of the figure shows the first one
    data: Mapping[str, npt.NDArray[Any]]  # arrays to draw, by name

    @property
    def holds(self) -> bool:
        """True if every claim holds."""
        return all(number.holds for number in self.numbers)


class Maker(Protocol):
    """Module that computes and draws a figure."""

    def compute(
        self, short: bool = False, published: bool = False, progress: Progress = unfollowed
    ) -> Reproduction:
        """Compute numbers and arrays."""

    def draw(self, figure: Figure, reproduction: Reproduction) -> None:
        """Draw the arrays; may set the size of the figure."""


@dataclass(frozen=True)
class Entry:
    """Entry of a published figure; texts are Markdown with formulas in dollars."""

    name: str  # as on the command line, words joined by hyphens
    source: str  # paper and figure
    title: str
    parameters: str
    shows: str
    differs: str  # why published numbers and ours differ, if they do
    seconds: float  # typical time on one core
    module: str  # in `published`
    published_seconds: float | None = None  # the same for the source's scheme, if it can be run

    @property
    def published(self) -> bool:
        return self.published_seconds is not None
