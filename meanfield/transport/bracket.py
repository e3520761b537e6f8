"""Brackets: two certified bounds of a distance."""

from __future__ import annotations

from dataclasses import dataclass

from meanfield.arguments import checked

TOLERANCE = 0.02
"""Relative width at which a bracket is narrow enough."""


def check_power(p: int) -> None:
    """Refuse powers p of W_p other than 1 and 2."""
    if p not in (1, 2):
        raise ValueError(f"p = {p!r} is not known, expected 1 or 2.")


@checked
@dataclass(frozen=True)
class Bracket:
    """Certified bounds of a distance: lower <= W_p <= upper.

    `float(bracket)` is the value, so float(mf.wasserstein(...)) is a number on every manifold.

    Attributes
    ----------
    lower : float
        Value of feasible potentials.
    upper : float
        Cost of a feasible plan.
    value : float
        (lower + upper) / 2.
    width : float
        upper - lower.

    Examples
    --------
    >>> bracket = Bracket(0.28, 0.32)
    >>> round(bracket.value, 12), round(bracket.width, 12)
    (0.3, 0.04)
    >>> bracket
    Bracket(0.3 in [0.28, 0.32])
    """

    lower: float
    upper: float

    @property
    def value(self) -> float:
        """Middle of the bounds."""
        return 0.5 * (self.lower + self.upper)

    @property
    def width(self) -> float:
        """Distance between the bounds."""
        return self.upper - self.lower

    def __repr__(self) -> str:
        return f"Bracket({self.value:.6g} in [{self.lower:.6g}, {self.upper:.6g}])"

    def __float__(self) -> float:
        return self.value
