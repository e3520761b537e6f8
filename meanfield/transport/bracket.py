"""What a distance is worth that is not exact: two certified bounds and a number between them."""

from __future__ import annotations

from typing import NamedTuple


class Bracket(NamedTuple):
    """Certified bounds of a distance: lower <= W_p <= upper, and a best guess in between.

    Attributes
    ----------
    lower : float
        Value of a feasible dual: the distance is not smaller.
    value : float
        Best guess, lower <= value <= upper.
    upper : float
        Cost of a feasible plan: the distance is not larger.

    Examples
    --------
    >>> bracket = Bracket(0.28, 0.3, 0.31)
    >>> round(bracket.width, 12)
    0.03
    """

    lower: float
    value: float
    upper: float

    @property
    def width(self) -> float:
        """Distance between the two bounds."""
        return self.upper - self.lower
