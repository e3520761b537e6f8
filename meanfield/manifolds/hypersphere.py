"""Spheres of any dimension, for theory only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Hypersphere:
    """Sphere S^dimension in R^{dimension + 1}: growth rates, no evolution.

    Attributes
    ----------
    dimension : int
        Given, at least 1. Hypersphere(1) has the rates of the circle, Hypersphere(2) of the sphere.

    Raises
    ------
    ValueError
        If the dimension is below 1.

    Examples
    --------
    >>> Hypersphere(7).name
    'sphere:8'
    """

    dimension: int

    def __post_init__(self) -> None:
        """Check what was given."""
        if self.dimension < 1:
            raise ValueError(f"dimension must be at least 1, got {self.dimension}.")

    @property
    def name(self) -> str:
        """What the command line calls it: sphere:D lies in R^D."""
        return f"sphere:{self.dimension + 1}"
