"""What layers add to tokens: outputs of attention and of fixed fields in R^d, not projected."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.fields.blocks import Weighing, attention_output
from meanfield.fields.heads import HeadsInteraction, heads_interaction
from meanfield.layers import PARTS, Layers, Part, unit
from meanfield.problem import Problem
from meanfield.terms import drifted


@dataclass(frozen=True, eq=False)
class LayerOutputs:
    """Outputs of the layers of a problem at weighted tokens, attention summed over pairs.

    Attributes
    ----------
    problem : Problem
        Given. It has layers.
    weights : ndarray, shape (n,), or None
        Given. Masses of the tokens; None means equal.

    Examples
    --------
    Two opposite tokens that see themselves first, and a layer after which they are as long as 1:

    >>> import meanfield as mf
    >>> layers = mf.Layers(step=1.0, placement="pre", radius=2.0)
    >>> problem = mf.Problem(mf.Sphere(4), mf.exponential(5.0), mf.SA, layers=layers)
    >>> x = 2.0 * np.array([[1.0, 0, 0, 0], [-1.0, 0, 0, 0]])
    >>> LayerOutputs(problem, None).layer(0.0, x)[:, 0].round(4)
    array([ 2.9999, -2.9999])
    """

    problem: Problem
    weights: FloatArray | None

    @property
    def layers(self) -> Layers:
        """Where they normalise, and their step."""
        layers = self.problem.layers
        if layers is None:
            raise ValueError("the problem has no layers.")
        return layers

    def layer(self, number: float, x: FloatArray) -> FloatArray:
        """Tokens (n, d) after the layer that has so many before it."""
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
        """Flow x' (n, d) that the layers tend to; "mix" has turned if `late`."""
        directions = self._directions(x)
        each = {part: self.output(part, directions) for part, _ in self.parts}
        if self.problem.manifold.is_sphere:
            return self.layers.rate(x, list(each.values()), depth, late)
        return np.asarray(sum(each.values(), np.zeros(x.shape)))

    @property
    def parts(self) -> tuple[tuple[Part, float], ...]:
        """What one layer adds in turn, and its share of the step."""
        return PARTS[self.layers.splitting if self.problem.terms else "none"]

    def _directions(self, x: FloatArray) -> FloatArray:
        return unit(x) if self.problem.manifold.is_sphere else x

    def output(self, part: Part, x: FloatArray) -> FloatArray:
        """Output (n, d) of a part at directions, or at tokens of R^d."""
        if part == "terms":
            return drifted(self.problem.terms, x)
        own = self._attention(x)
        return own + drifted(self.problem.terms, x) if part == "both" else own

    def _attention(self, x: FloatArray) -> FloatArray:
        felt, strength = self._felt, 1.0
        heads: Weighing
        if felt is None:
            heads, strength = self.problem.own_kernel.attention, self.problem.flow.strength
        else:
            heads = felt.heads
        return strength * attention_output(
            x,
            heads,
            self.weights,
            normalization=self.problem.normalization,
            log_scale=self.problem.log_scale,
            mask="none" if felt is None else felt.mask,
            rate=0.0 if felt is None else felt.rate(len(x)),
        )

    @cached_property
    def _felt(self) -> HeadsInteraction | None:
        return None if self.problem.heads is None else heads_interaction(self.problem)
