"""Increments of tokens in one layer: attention and fixed fields in R^d, not projected."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.fields.heads import HeadsInteraction, heads_interaction
from meanfield.fields.mean_field import kernel_output
from meanfield.problem import Problem
from meanfield.schemes.layers import PARTS, Layers, Part, unit
from meanfield.terms.fixed import total_field


@dataclass(frozen=True, eq=False)
class LayerOutputs:
    """Outputs of the layers of a problem at weighted tokens, attention summed over pairs.

    Opposite tokens attend almost only to themselves, so a layer of step 1 adds 1 to their length:

    >>> import meanfield as mf
    >>> layers = mf.Layers(step=1.0, placement="pre", radius=2.0)
    >>> problem = mf.Problem(mf.Sphere(4), mf.exponential(5.0), mf.SA, layers=layers)
    >>> x = 2.0 * np.array([[1.0, 0, 0, 0], [-1.0, 0, 0, 0]])
    >>> LayerOutputs(problem, None).layer(0.0, x)[:, 0].round(4)
    array([ 2.9999, -2.9999])
    """

    problem: Problem  # it has layers
    weights: FloatArray | None  # (n,): masses of the tokens; None means equal

    @property
    def layers(self) -> Layers:
        return self.problem.layering

    def layer(self, number: float, x: FloatArray) -> FloatArray:
        """Tokens (n, d) after layer `number`, counted from 0."""
        layers = self.layers
        depth = number * layers.step
        for part, share in self.parts:
            output = self.output(part, self._directions(x))
            if self.problem.manifold.is_sphere:
                x = layers.added(x, output, depth, share)
            else:
                x = x + share * layers.step * output
        return x

    def rate(self, depth: float, x: FloatArray, *, late: bool = False) -> FloatArray:
        """Limit x' (n, d) of layers of small steps; "mix" has turned if `late`."""
        directions = self._directions(x)
        each = {part: self.output(part, directions) for part, _ in self.parts}
        if self.problem.manifold.is_sphere:
            return self.layers.rate(x, list(each.values()), depth, late)
        return np.asarray(sum(each.values(), np.zeros(x.shape)))

    @property
    def parts(self) -> tuple[tuple[Part, float], ...]:
        """Parts of one layer in order, each with its share of the step."""
        return PARTS[self.layers.splitting if self.problem.terms else "none"]

    def _directions(self, x: FloatArray) -> FloatArray:
        return unit(x) if self.problem.manifold.is_sphere else x

    def output(self, part: Part, x: FloatArray) -> FloatArray:
        """Output (n, d) of a part at directions, or at tokens of R^d."""
        if part == "terms":
            return total_field(self.problem.terms, x)
        own = self._attention(x)
        return own + total_field(self.problem.terms, x) if part == "both" else own

    def _attention(self, x: FloatArray) -> FloatArray:
        if self._heads is None:
            return kernel_output(self.problem, x, self.weights)
        return self._heads.output(x, self.weights)

    @cached_property
    def _heads(self) -> HeadsInteraction | None:
        return None if self.problem.heads is None else heads_interaction(self.problem)
