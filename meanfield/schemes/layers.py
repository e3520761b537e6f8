"""Discrete layers, and where they normalise.

Let x = r theta, |theta| = 1, N(x) = theta, A the output of attention at the directions of all
tokens and h the step. One layer is (arXiv:2510.22026, table 1)

    post            theta <- N(theta + h A)
    projected       theta <- N(theta + h P_theta A)
    pre             x <- x + h A
    peri, sandwich  x <- x + h N(A)
    mix             post up to a depth tau, then pre
    ngpt            theta <- N(theta + h alpha (N(A) - theta))
    depth_scaled    post with h / sqrt(1 + t), t the depth before the layer

The depth t is the number of layers times h. "projected" is Euler's method for the flow of post; no
transformer uses it. Layers of "mix" that begin before tau - h/2 are post, and keep the length r.
As h -> 0 all become flows theta' = P_theta A / s:

    s  = 1, r,          r |A|,            1 then r,          |A| / alpha, sqrt(1 + t)
    r' = 0, <theta, A>, <theta, A> / |A|, 0 then <theta, A>, 0,           0

Fixed fields (`terms`) are layers of their own, each with its normalisation: after attention
("lie"), or half before and half after it ("strang"). With "none" they are added to A. Layers in R^d
do not normalise: x <- x + h A(x).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from meanfield.arguments import at_least, checked
from meanfield.arrays import FloatArray

Placement = Literal["post", "projected", "pre", "peri", "sandwich", "mix", "ngpt", "depth_scaled"]
Splitting = Literal["none", "lie", "strang"]


@dataclass(frozen=True)
class LayerNorm:
    """How a placement differs from post, theta <- N(theta + h A)."""

    adds: bool = False  # x <- x + h A: it does not normalise after the layer, and lengths change
    turns: bool = False  # it adds from the depth tau on
    of_output: bool = False  # N(A) replaces A
    relaxes: bool = False  # alpha (A - theta) replaces A
    projects: bool = False  # P_theta A replaces A
    slows: bool = False  # h / sqrt(1 + t) replaces h


LAYER_NORMS: dict[Placement, LayerNorm] = {
    "post": LayerNorm(),
    "projected": LayerNorm(projects=True),
    "pre": LayerNorm(adds=True),
    "peri": LayerNorm(adds=True, of_output=True),
    "sandwich": LayerNorm(adds=True, of_output=True),
    "mix": LayerNorm(turns=True),
    "ngpt": LayerNorm(of_output=True, relaxes=True),
    "depth_scaled": LayerNorm(slows=True),
}

WITH_RADIUS = tuple(name for name, each in LAYER_NORMS.items() if each.adds or each.turns)
"""Placements whose tokens have lengths that matter."""

Part = Literal["both", "attention", "terms"]
"""Output that a part of a layer adds: of attention, of fixed fields, or their sum."""

PARTS: dict[Splitting, tuple[tuple[Part, float], ...]] = {
    "none": (("both", 1.0),),
    "lie": (("attention", 1.0), ("terms", 1.0)),
    "strang": (("terms", 0.5), ("attention", 1.0), ("terms", 0.5)),
}
"""Parts of one layer in their order, with their shares of the step."""

FLOW_OF = "the flow of"
"""First words of the summary of layers without a step."""

# Relative difference of equal depths, by rounding.
_ROUNDING = 1e-12


@checked
@dataclass(frozen=True)
class Layers:
    """Discrete layers instead of a flow, or the flow that they tend to.

    Attributes
    ----------
    step : float
        h in x <- N(x + h A); 0 means the flow, the limit h -> 0.
    count : int, optional
        Number of layers, after which a run ends. By default all stacked weights, or as many
        layers as reach the end of the run.
    placement : str
        Where layers normalise: "post", "projected", "pre", "peri" or "sandwich" (the same),
        "mix", "ngpt", "depth_scaled".
    splitting : str
        "lie": attention, then feed-forward, each with its normalisation. "strang": half of the
        feed-forward before and half after attention. "none": their sum in one step.
    alpha : float
        Factor of the step of "ngpt".
    tau : float
        Depth at which "mix" turns from post to pre.
    radius : float
        Length of all tokens at depth 0, where lengths matter.

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
        if not 0.0 <= self.step <= 1e3:
            raise ValueError(f"step of layers must lie between 0 and 1000, got {self.step:g}.")
        if self.count is not None:
            at_least(1, count=self.count)
        if self.count is not None and self.step == 0.0:
            raise ValueError("count needs layers of a step > 0: with step = 0 they are a flow.")
        for name in ("alpha", "radius"):
            if not 0.0 < getattr(self, name) <= 1e6:
                received = f"got {getattr(self, name):g}."
                raise ValueError(f"{name} of layers must be positive, at most 1e6, {received}")
        if not self.tau >= 0.0:
            raise ValueError(f"tau of layers must be a depth >= 0, got {self.tau:g}.")

    def check_ends(self, ends: Sequence[float | None]) -> None:
        """Refuse ends of stages that are no whole number of layers, or not before the last."""
        for number, end in enumerate(ends, 1):
            if end is not None and end != round(end):
                raise ValueError(
                    f"stage {number} ends at {end:g}, expected a whole number of layers."
                )
            if end is not None and self.count is not None and end >= self.count:
                raise ValueError(
                    f"stage {number} ends at {end:g}, expected an end before the last of "
                    f"{self.count} layers."
                )

    @property
    def summary(self) -> str:
        """Description of the layers, in words.

        Examples
        --------
        >>> Layers(step=0.1, count=24, placement="pre", radius=2.0).summary
        '24 pre layers of step 0.1, radius 2'
        >>> Layers(step=0.0, placement="ngpt").summary
        'the flow of ngpt layers, alpha 1'
        """
        how = f"{self.placement} layers"
        words = f"{FLOW_OF} {how}"
        if self.step > 0.0:
            words = f"{'' if self.count is None else f'{self.count} '}{how} of step {self.step:g}"
        if self.norm.relaxes:
            words += f", alpha {self.alpha:g}"
        if self.norm.turns:
            words += f", tau {self.tau:g}"
        if self.has_radius and self.radius != 1.0:
            words += f", radius {self.radius:g}"
        if self.splitting != "lie":
            words += f", splitting {self.splitting}"
        return words

    @property
    def norm(self) -> LayerNorm:
        return LAYER_NORMS[self.placement]

    @property
    def has_radius(self) -> bool:
        """True if the lengths of tokens matter."""
        return self.placement in WITH_RADIUS

    @property
    def is_flow(self) -> bool:
        """True if step = 0: the flow that layers tend to."""
        return self.step == 0.0

    @property
    def keeps_time(self) -> bool:
        """True if modes about uniform grow as they do without layers: the flow of post."""
        return self.moves_densities and not self.norm.slows

    @property
    def moves_densities(self) -> bool:
        """True if the flow also moves densities: attention's flow, with another clock."""
        return self.is_flow and not (self.has_radius or self.norm.of_output)

    def is_late(self, depth: float) -> bool:
        """True if "mix" is pre at this depth; False for other placements."""
        turns = self.tau - 0.5 * self.step - _ROUNDING * max(1.0, self.tau)
        return self.norm.turns and depth >= turns

    def clock(self, depth: float) -> float:
        """Factor of the speed at a depth t: 1/sqrt(1 + t) for "depth_scaled", else 1."""
        return 1.0 / math.sqrt(1.0 + depth) if self.norm.slows else 1.0

    def added(
        self, x: FloatArray, output: FloatArray, depth: float, share: float = 1.0
    ) -> FloatArray:
        """Tokens r theta on a sphere, (n, d), after one layer, or a share of its step.

        `output`, (n, d), is A at their directions; `depth` is the depth before the layer.

        >>> x, output = np.array([[2.0, 0.0]]), np.array([[0.6, 0.8]])
        >>> Layers(step=0.5, placement="pre").added(x, output, 0.0)
        array([[2.3, 0.4]])
        >>> Layers(step=0.5).added(x, output, 0.0).round(6)
        array([[0.955779, 0.294086]])
        """
        h, norm = share * self.step * self.clock(depth), self.norm
        if norm.of_output:
            output = unit(output)
        if norm.adds or self.is_late(depth):
            return x + h * output
        theta = unit(x)
        if norm.relaxes:
            return unit(theta + h * self.alpha * (output - theta))
        if norm.projects:
            output = tangent(theta, output)
        moved = unit(theta + h * output)
        return moved * lengths(x) if self.has_radius else moved

    def rate(
        self, x: FloatArray, outputs: Sequence[FloatArray], depth: float, late: bool
    ) -> FloatArray:
        """Flow x' of tokens on a sphere, (n, d); it keeps lengths that do not matter.

        `outputs` are the outputs of a layer's parts at the directions of the tokens; `late` is
        true once "mix" has turned.
        """
        theta, r, total = unit(x), lengths(x), np.zeros(x.shape)
        norm = self.norm
        for output in outputs:
            if norm.of_output:
                output = unit(output)
            if norm.adds or late:
                total += output
            else:
                total += r * tangent(theta, output)
        if norm.relaxes:
            total *= self.alpha
        return total * self.clock(depth)


def lengths(x: FloatArray) -> FloatArray:
    """Lengths of vectors (n, d), shape (n, 1)."""
    return np.asarray(np.sqrt((x * x).sum(axis=1, keepdims=True)))


def tangent(theta: FloatArray, x: FloatArray) -> FloatArray:
    """Parts P_theta x of vectors (n, d) along the sphere."""
    return np.asarray(x - (theta * x).sum(axis=1, keepdims=True) * theta)


def unit(x: FloatArray) -> FloatArray:
    """Directions N(x) of vectors (n, d); 0 for the zero vector."""
    r = lengths(x)
    return np.asarray(x / np.where(r > 0.0, r, 1.0))
