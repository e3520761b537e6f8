"""Discrete layers, and where the normalisation stands in them.

With x = r theta, |theta| = 1, N(x) = theta, the output A of attention at the directions of all
tokens and the step h, one layer does (arXiv:2510.22026, table 1)

    post            theta <- N(theta + h A)
    pre             x <- x + h A
    peri, sandwich  x <- x + h N(A)
    mix             post up to a depth tau, then pre
    ngpt            theta <- N(theta + h alpha (N(A) - theta))
    depth_scaled    post with h / sqrt(1 + t), t the depth before the layer

Depth t is the number of layers times h. As h -> 0 all become flows theta' = P_theta A / s:

    s  = 1, r,          r |A|,            1 then r,          |A| / alpha, sqrt(1 + t)
    r' = 0, <theta, A>, <theta, A> / |A|, 0 then <theta, A>, 0,           0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from meanfield.checks import at_least, checked

Placement = Literal["post", "pre", "peri", "sandwich", "mix", "ngpt", "depth_scaled"]
Splitting = Literal["none", "lie", "strang"]

PLACEMENTS: tuple[Placement, ...] = get_args(Placement)
"""Where layers normalise."""

WITH_RADIUS: tuple[Placement, ...] = ("pre", "peri", "sandwich", "mix")
"""Placements whose tokens have lengths that matter."""


@checked
@dataclass(frozen=True)
class Layers:
    """Discrete layers in the place of the flow, or the flow that they tend to.

    Attributes
    ----------
    step : float
        Given. h, what a layer adds: x <- N(x + h (...)); 0 is the flow itself, h -> 0.
    count : int, optional
        Given. How many layers; a run ends there. None: as many as weights are stacked, or as the
        run is told.
    placement : str
        Given. Where the normalisation stands: "post", "pre", "peri" ("sandwich"), "mix", "ngpt" or
        "depth_scaled".
    splitting : str
        Given. Attention, then feed-forward, each with its normalisation ("lie"); half of the
        second before and after ("strang"); or their sum in one step ("none").
    alpha : float
        Given. Of "ngpt".
    tau : float
        Given. Depth at which "mix" turns from post to pre.
    radius : float
        Given. Length of all tokens at depth 0, where lengths matter.

    Raises
    ------
    ValueError
        If a number is out of its range.

    Examples
    --------
    >>> Layers(step=0.1, placement="pre", radius=2.0).has_radius
    True
    """

    step: float = 1.0
    count: int | None = None
    placement: Placement = "post"
    splitting: Splitting = "lie"
    alpha: float = 1.0
    tau: float = 1.0
    radius: float = 1.0

    def __post_init__(self) -> None:
        """Check ranges."""
        if not 0.0 <= self.step <= 1e3:
            raise ValueError(f"step of layers must lie between 0 and 1000, got {self.step:g}.")
        if self.count is not None:
            at_least(1, count=self.count)
        if self.count is not None and self.step == 0.0:
            raise ValueError("count needs layers of a step > 0: with step = 0 they are a flow.")
        for name in ("alpha", "radius"):
            if not 0.0 < getattr(self, name) <= 1e6:
                given = f"got {getattr(self, name):g}."
                raise ValueError(f"{name} of layers must be positive, at most 1e6, {given}")
        if not self.tau >= 0.0:
            raise ValueError(f"tau of layers must be a depth >= 0, got {self.tau:g}.")

    @property
    def has_radius(self) -> bool:
        """Whether the lengths of tokens matter."""
        return self.placement in WITH_RADIUS
