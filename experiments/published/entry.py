"""Figure of the gallery: an entry of the table, its numbers, what was computed for it.

The table is text: to list it loads nothing else. A figure is made by two functions of a module:

    compute(short=False, published=False, progress=unfollowed) -> Reproduction
    draw(figure, reproduction) -> None

`short` asks for a form of a second or less, whose numbers are compared, too; `published` for the
scheme of the source instead of this package's; `progress` is called as `progress(items, total,
label)` and passes the items of long work on.
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
"""Passes items on, and shows how far they are: `meanfield.progress.followed`, for instance."""


def unfollowed(items: Iterable[Any], total: float, label: str, **how: Any) -> Iterator[Any]:
    """Pass items on and show nothing.

    Examples
    --------
    >>> list(unfollowed([1, 2], 2, "numbers"))
    [1, 2]
    """
    yield from items


@dataclass(frozen=True)
class Reproduction:
    """Results that were computed for a figure.

    Attributes
    ----------
    numbers : tuple of Claim
        The first one stands on the card of the figure.
    data : mapping of name -> ndarray
        Arrays that are drawn.
    """

    numbers: tuple[Claim, ...]
    data: Mapping[str, npt.NDArray[Any]]

    @property
    def holds(self) -> bool:
        """True if every number agrees with the one beside it as far as it must."""
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
    """A published figure: where it is from, what it shows, who makes it here.

    Attributes
    ----------
    name : str
        As on the command line, words joined by hyphens.
    source : str
        The paper, and which figure of it.
    title, parameters, shows : str
        Plain sentences in Markdown, formulas in dollars.
    differs : str
        Reason why published numbers and ours differ, or that they do not.
    seconds : float
        Typical time on one core.
    module : str
        Module of `published`.
    published_seconds : float or None
        The same of the source's own scheme; None: it has none of its own.
    """

    name: str
    source: str
    title: str
    parameters: str
    shows: str
    differs: str
    seconds: float
    module: str
    published_seconds: float | None = None

    @property
    def published(self) -> bool:
        """True if the scheme of the source can be run."""
        return self.published_seconds is not None
