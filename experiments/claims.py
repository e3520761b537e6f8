"""Claims of experiments and published figures: computed numbers beside expected values.

A claim holds if |here - beside| <= within.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

Errors = dict[str, tuple[float, float]]
"""Name of an error -> the error, and the largest allowed one."""


@dataclass(frozen=True)
class Claim:
    """A computed number beside a published or reference value.

    Attributes
    ----------
    what : str
        Quantity, with its unit of time.
    beside : float, str or None
        Expected value; a text is for the reader and is not compared.
    here : float
        Computed number.
    within : float or None
        Largest allowed |here - beside|; None if they need not agree. ValueError if `within` is a
        number and `beside` is not.
    why : str
        Reason for a difference, or the origin of a reference value.
    printed : bool
        Whether `beside` is in the source: printed, stored, drawn, or the value of a printed
        formula. Otherwise it is a reference: an exact value, or one of a second method.

    Examples
    --------
    >>> Claim("last merge, t", 364.1, 364.03, within=0.1).holds
    True
    >>> Claim("last merge, t", 364.1, 328.36, within=0.1).holds
    False
    """

    what: str
    beside: float | str | None
    here: float
    within: float | None = None
    why: str = ""
    printed: bool = False

    def __post_init__(self) -> None:
        if self.within is not None and not isinstance(self.beside, int | float):
            raise ValueError(
                f"{self.what}: within = {self.within:g} compares with a number, got "
                f"{self.beside!r}."
            )

    @property
    def published(self) -> float | str | None:
        """Value from the source; None if the source has none."""
        return self.beside if self.printed else None

    @property
    def reference(self) -> float | str | None:
        """Value that is exact or from a second method; None if it is from the source."""
        return None if self.printed else self.beside

    @property
    def holds(self) -> bool:
        """True if both numbers agree within `within`, or need not agree."""
        if self.within is None or not isinstance(self.beside, int | float):
            return True
        return abs(self.here - self.beside) <= self.within


def near_zero(errors: Errors) -> list[Claim]:
    """Claims that errors are at most as large as allowed.

    >>> [claim.holds for claim in near_zero({"mass drift": (1e-16, 1e-14)})]
    [True]
    """
    return [Claim(what, 0.0, float(error), allowed) for what, (error, allowed) in errors.items()]


def report(claims: Iterable[Claim]) -> int:
    """Print claims as a table, with FAILED beside false ones; return 0 if all hold, else 1.

    >>> report([Claim("clusters", 4, 5, 0), Claim("largest cosine", None, 0.5)])
                    reference  here  within
          clusters          4     5       0  FAILED
    largest cosine          -   0.5       -
    1
    """
    # Lists of published figures load this module, but must not load NumPy.
    from meanfield.results.report import table

    claims = list(claims)
    columns = {
        "": [claim.what.replace("$", "") for claim in claims],
        "published": [digits(claim.published) for claim in claims],
        "reference": [digits(claim.reference) for claim in claims],
        "here": [digits(claim.here) for claim in claims],
        "within": [digits(claim.within) for claim in claims],
        " ": ["" if claim.holds else "FAILED" for claim in claims],
    }
    # Leave out columns without values.
    columns = {name: cells for name, cells in columns.items() if {*cells} - {"-", ""}}
    if claims:
        print(table([*columns], list(zip(*columns.values(), strict=True))))
    return int(not all(claim.holds for claim in claims))


def digits(value: float | str | None) -> str:
    """Text of a number with nine digits, for tables.

    >>> digits(328.36404200), digits("four clusters"), digits(None)
    ('328.364042', 'four clusters', '-')
    """
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:.9g}"
