"""What a figure of the gallery is: an entry of the table, its numbers, what was computed for it.

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
class Number:
    """A number found here, beside one that it is held against.

    Attributes
    ----------
    what : str
        Given. What it is, with its unit of time.
    beside : float, str or None
        Given. What it is held against; a text is compared by the reader.
    here : float
        Given.
    within : float or None
        Given. Largest allowed |here - beside|; None where they need not agree.
    why : str
        Given. Why they differ, or what `beside` is if no source has it.
    printed : bool
        Given. Whether `beside` is the source's own: printed, stored, read off its figure, or the
        value of a formula that it prints. Otherwise it is a reference that was computed by
        somebody else than the source, an exact value or a second method, and no page calls it
        published.

    Raises
    ------
    ValueError
        If there is nothing to compare with, but a distance.

    Examples
    --------
    >>> Number("last merge, t", 364.1, 364.03, within=0.1).holds
    True
    >>> Number("last merge, t", 364.1, 328.36, within=0.1).holds
    False
    """

    what: str
    beside: float | str | None
    here: float
    within: float | None = None
    why: str = ""
    printed: bool = False

    def __post_init__(self) -> None:
        """Check that what is to be compared is a number."""
        if self.within is not None and not isinstance(self.beside, int | float):
            raise ValueError(
                f"{self.what}: within = {self.within:g} compares with a number, got "
                f"{self.beside!r}."
            )

    @property
    def published(self) -> float | str | None:
        """What the source has; None if it has no such number."""
        return self.beside if self.printed else None

    @property
    def reference(self) -> float | str | None:
        """What no source has: exact, or by a second method."""
        return None if self.printed else self.beside

    @property
    def holds(self) -> bool:
        """Whether both agree as far as they are to."""
        if self.within is None or not isinstance(self.beside, int | float):
            return True
        return abs(self.here - self.beside) <= self.within


@dataclass(frozen=True)
class Reproduction:
    """What was computed for a figure.

    Attributes
    ----------
    numbers : tuple of Number
        Given. The first one stands on the card of the figure.
    data : mapping of name -> ndarray
        Given. Arrays that are drawn.
    """

    numbers: tuple[Number, ...]
    data: Mapping[str, npt.NDArray[Any]]

    @property
    def holds(self) -> bool:
        """Whether every number agrees with the one beside it as far as it is to."""
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
        Given. As on the command line, words joined by hyphens.
    source : str
        Given. The paper, and which figure of it.
    title, parameters, shows : str
        Given. Plain sentences in Markdown, formulas in dollars.
    differs : str
        Given. Why published numbers and ours differ, or that they do not.
    seconds : float
        Given. Typical time on one core.
    module : str
        Given. Module of `published`.
    published_seconds : float or None
        Given. The same of the source's own scheme; None: it has none of its own.
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
        """Whether the scheme of the source can be run."""
        return self.published_seconds is not None
