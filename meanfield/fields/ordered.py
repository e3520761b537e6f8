"""Tokens in an order: each attends to itself and those before it, by a causal mask or ALiBi.

    v(x_k) = P_x sum_h V_h sum_{j <= k} e^{-r (k - j)} m_j e^{<z, x_j>} x_j / Z_k,    z = S_h^T x_k

r = 0 for a causal mask, lambda / n for ALiBi on positions k / n (arXiv:2411.04990, (CSA);
arXiv:2108.12409). Few tokens are summed over pairs. Many are cut into chunks of b tokens, which
attend to earlier tokens through running moments, and to each other over pairs: n b exponentials and
n evaluations of series.
"""

from __future__ import annotations

import numpy as np

from meanfield.arrays import FloatArray, ModalArray
from meanfield.fields.head_series import HeadTable
from meanfield.fields.heads import HeadsInteraction
from meanfield.spaces.manifold import Manifold
from meanfield.terms.attention import HeadMatrices
from meanfield.terms.masks import pair_weights

# Tokens from which running moments are faster than pairs, and tokens of a chunk (tests/benchmarks).
FEW = 3000
_CHUNK = 256


def ordered_velocity(
    interaction: HeadsInteraction, points: FloatArray, weights: FloatArray | None, *, far: bool
) -> FloatArray:
    """Velocity of tokens in their order.

    Summed over pairs where rounding of series may lose Z (`far`, or masses that differ), and for
    masks without running sums. Here the first token attends to itself, the second to both:

    >>> import meanfield as mf
    >>> from meanfield.fields.heads import heads_interaction
    >>> of = mf.Attention(beta=0.0, mask="causal")
    >>> felt = heads_interaction(mf.Problem(mf.Circle(), of))
    >>> ordered_velocity(felt, np.array([0.0, np.pi / 2]), None, far=False).round(12) + 0.0
    array([ 0. , -0.5])
    """
    space, n = interaction.manifold, len(points)
    pairs = pair_weights(interaction.mask, n)
    if n < FEW or not space.has_series or far or weights is not None or not pairs.has_running_sums:
        return space.project(points, interaction.output(space.vectors(points), weights))
    rate, parts = pairs.rate, []
    before = np.zeros_like(space.moments(points[:1], None, interaction.degree))
    for start in range(0, n, _CHUNK):
        here = points[start : start + _CHUNK]
        back = np.arange(len(here))
        # Weights of earlier tokens, and of the tokens of the chunk among each other.
        fade = np.exp(-rate * (back + 1.0))
        among = np.tril(np.exp(-rate * np.maximum(back[:, None] - back, 0)))
        each = zip(interaction.tables, interaction.heads, strict=True)
        parts.append(sum(_of_head(space, *one, before, here, fade, among) for one in each))
        last = np.exp(-rate * back[::-1])
        own = space.moments(here, last / last.sum(), interaction.degree)
        before = np.exp(-rate * len(here)) * before + last.sum() * own
    return np.concatenate(parts)


def _of_head(
    space: Manifold,
    table: HeadTable,
    head: HeadMatrices,
    before: ModalArray,
    here: FloatArray,
    fade: FloatArray,
    among: FloatArray,
) -> FloatArray:
    """Velocity of a chunk by one head: moments of earlier tokens, faded, and pairs within."""
    x = space.vectors(here)
    z = x @ head.score
    pairs = among * np.exp(z @ x.T - table.scale.at(z)[:, None])
    numerators, partition = table.fields(before)
    earlier = np.array([space.evaluate(each, here) for each in numerators])
    # Along the circle already, or along the axes of R^3.
    far = earlier[0] if len(earlier) == 1 else space.project(here, earlier.T)
    velocity = space.per_point(fade) * far + space.project(here, pairs @ (x @ head.value.T))
    if partition is None:
        below = fade * before[0].real + among.sum(axis=1)
    else:
        below = fade * space.evaluate(partition, here) + pairs.sum(axis=1)
        below += table.sink * among.sum(axis=1)
    return np.asarray(velocity / space.per_point(below))
