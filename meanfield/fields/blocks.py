"""Attention of tokens in any dimension by blocked products of matrices, on plain arrays.

    A_i = sum_h V_h sum_j p_ij x_j,    p_ij = w_ij m_j e^{x_i^T S_h x_j} / Z_i

with Z_i = sum_j w_ij m_j e^{x_i^T S_h x_j} under softmax and Z_i = e^s sum_j w_ij m_j without
normalisation. Without a mask w_ij = 1. Nothing is projected, and points need no unit length.

Blocks of rows fit the cache: one product gives scores, exponentials are in place, another product
averages. Where exponents might leave the range of doubles, the largest of each row is subtracted:
any score is safe. Blocks depend on shapes only, so results do not depend on the number of threads,
nor on other replicas, to the bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.engines.pairs import PAIRS_AT_ONCE
from meanfield.engines.sinkhorn import pair_scaling, tilted_masses
from meanfield.engines.threads import map_chunks, one_blas_thread
from meanfield.terms.attention import HeadMatrices, multiple_of_identity
from meanfield.terms.flows import Normalization
from meanfield.terms.masks import MASKS, MaskName, PairWeights

Weighing: TypeAlias = Sequence[HeadMatrices] | Callable[[FloatArray], FloatArray]
"""Heads, or a function a(<x, y>) in the place of exponentials, with V = 1."""


# With fewer rows, products would pack their other factor again for too little work.
_LEAST_ROWS = 128
# e^{+-300}, times any sum of them and any mass, is far inside the range of doubles.
_SAFE = 300.0


def attention_output(
    x: FloatArray,
    heads: Weighing,
    masses: FloatArray | None = None,
    *,
    normalization: Normalization = "softmax",
    log_scale: float = 0.0,
    mask: MaskName | PairWeights = "none",
    rate: float = 0.0,
    log_sink: float = -math.inf,
) -> FloatArray:
    """Attention output A of tokens in R^d, of one system or of many replicas.

        A_k = sum_h V_h sum_{j <= k} e^{-rate (k - j)} m_j e^{x_k^T S_h x_j} x_j / Z_k

    The sum is over all j without a mask, and rate = 0 but for "alibi".

    - x (n, d) or (R, n, d): tokens; with a mask in their order.
    - heads (sequence of HeadMatrices, or callable): scores S (beta included) and values V (strength
      included), each (d, d), or (R, d, d) for replicas with matrices of their own; or a function
      a(<x, y>) of arrays that replaces e^{x^T S y}, with V = 1.
    - masses (n,) or (R, n): not negative; 1/n by default. Only their ratios enter, but for
      normalization "none" without a mask.
    - normalization: "softmax", "none": Z_k = e^{log_scale} sum_j w_kj m_j, where without a mask and
      with masses of sum 1 the second factor is 1; "sinkhorn": one system, no mask.
    - log_scale: s in weights e^{x^T S y - s}, without normalisation.
    - mask: "none", "causal": tokens j <= k, or "alibi": those with weights e^{-rate (k - j)}; or
      any `PairWeights`.
    - rate: positive, of "alibi" only.
    - log_sink: under softmax of heads, e^{log_sink} sum_j w_kj m_j is added to Z_k.

    Returns (ndarray, of the shape of x): not projected. A token that attends to no mass gets 0.
    ValueError if a shape, a name or a rate is wrong, or Sinkhorn's weights are combined with
    replicas, a mask or a function. NotBalanced if Sinkhorn's weights are not found.

    Geshkovski, Letrouit, Polyanskiy, Rigollet, A mathematical perspective on Transformers,
    arXiv:2312.10794, (2.3). Karagodin, Polyanskiy, Rigollet, Clustering in causal attention
    masking, arXiv:2411.04990, (CSA). Press, Smith, Lewis, Train short, test long,
    arXiv:2108.12409 (ALiBi).

    The first of two orthogonal tokens attends to itself only:

    >>> x = np.eye(2)
    >>> head = HeadMatrices(score=np.log(3.0) * np.eye(2), value=np.eye(2))
    >>> attention_output(x, [head], mask="causal").round(12)
    array([[1.  , 0.  ],
           [0.25, 0.75]])
    """
    plan = _planned(x, heads, masses, normalization, log_scale, mask, rate, log_sink)
    output = np.zeros(plan.x.shape)
    with one_blas_thread():
        for number, head in enumerate(plan.heads):

            def fill(i: int, head: _Head = head, first: bool = number == 0) -> None:
                part, rows, columns = plan.chunk(i)
                weights, sums = plan.weights(head, part, rows, columns)
                means = np.matmul(weights, plan.x[part, :columns])
                if isinstance(head.value, float):
                    means *= (head.value * sums)[..., None]
                else:
                    means *= sums[..., None]
                    means = np.matmul(means, _part(head.value, part).swapaxes(-1, -2))
                if first:
                    output[part, rows] = means
                else:
                    output[part, rows] += means

            map_chunks(fill, plan.chunks)
    return output.reshape(x.shape)


def attention_matrices(
    x: FloatArray,
    heads: Weighing,
    masses: FloatArray | None = None,
    *,
    normalization: Normalization = "softmax",
    log_scale: float = 0.0,
    mask: MaskName | PairWeights = "none",
    rate: float = 0.0,
    log_sink: float = -math.inf,
) -> FloatArray:
    """Attention matrices P of one system, masses included: A = sum_h P_h x V_h^T.

    Parameters and errors as for `attention_output`; returns (n_heads, n, n) for tokens x (n, d).
    Rows under softmax sum to 1 without a sink.

    >>> x = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> head = HeadMatrices(score=np.log(3.0) * np.eye(2), value=np.eye(2))
    >>> attention_matrices(x, [head]).round(12)
    array([[[0.75, 0.25],
            [0.25, 0.75]]])
    """
    if np.ndim(x) != 2:
        raise ValueError(f"x has shape {np.shape(x)}, expected (n, d): matrices are of one system.")
    plan = _planned(x, heads, masses, normalization, log_scale, mask, rate, log_sink)
    n = len(x)
    matrices = np.zeros((len(plan.heads), n, n))
    with one_blas_thread():
        for number, head in enumerate(plan.heads):

            def fill(i: int, head: _Head = head, matrix: FloatArray = matrices[number]) -> None:
                part, rows, columns = plan.chunk(i)
                weights, sums = plan.weights(head, part, rows, columns)
                matrix[rows, :columns] = weights[0] * sums[0, :, None]

            map_chunks(fill, plan.chunks)
    return matrices


def of_cosines(attention: Callable[[FloatArray], FloatArray]) -> Weighing:
    """Function a(s) with s clipped to [-1, 1], which rounding of scores may exceed."""
    return lambda s: attention(np.clip(s, -1.0, 1.0))


def tangential(x: FloatArray, output: FloatArray) -> FloatArray:
    """P_x A = A - <x, A> x of tokens (R, n, d) on the unit sphere, in place."""
    output -= np.einsum("rnd,rnd->rn", x, output)[..., None] * x
    return output


def unit_vectors(x: FloatArray) -> FloatArray:
    """Vectors (..., d) divided by their lengths."""
    return np.asarray(x / np.sqrt(np.einsum("...d,...d->...", x, x))[..., None])


def replicas_at_once(n: int, d: int) -> int:
    """Number of replicas of n tokens in R^d that fit the cache together.

    >>> replicas_at_once(32, 8), replicas_at_once(4096, 128)
    (146, 1)
    """
    return max(1, PAIRS_AT_ONCE // (n * (n + 3 * d)))


def row_entropies(matrices: FloatArray) -> FloatArray:
    """Entropies -sum_j P_ij log P_ij, in nats, of rows that sum to 1: (...) from (..., n).

    >>> row_entropies(np.array([[0.5, 0.5], [1.0, 0.0]])).round(6)
    array([0.693147, 0.      ])
    """
    logs = np.log(matrices, where=matrices > 0.0, out=np.zeros_like(matrices))
    return np.asarray(0.0 - (matrices * logs).sum(axis=-1))


def attention_entropies(
    x: FloatArray,
    heads: Weighing,
    masses: FloatArray | None = None,
    *,
    normalization: Normalization = "softmax",
    log_scale: float = 0.0,
    mask: MaskName | PairWeights = "none",
    rate: float = 0.0,
    log_sink: float = -math.inf,
    relative: bool = False,
) -> FloatArray:
    """Entropies of the rows of `attention_matrices`, divided by their sums; no matrix is stored.

    Parameters and errors as for `attention_matrices`; returns (n_heads, n), independent of a sink.
    `relative` to the masses they are -sum_j P_ij log(P_ij / m_j), at most 0, and have a limit as
    points become a density.

    >>> head = HeadMatrices(score=np.zeros((2, 2)), value=np.eye(2))
    >>> attention_entropies(np.eye(2), [head]).round(6)
    array([[0.693147, 0.693147]])
    """
    # Rows are divided by their sums, so weights without normalisation may be those of softmax.
    how: Normalization = "softmax" if normalization == "none" else normalization
    plan = _planned(x, heads, masses, how, 0.0, mask, rate)
    rows_of_heads = np.zeros((len(plan.heads), len(x)))
    m = np.full(len(x), 1.0 / len(x)) if masses is None else masses
    logs = np.log(m, where=m > 0.0, out=np.zeros(len(x)))
    with one_blas_thread():
        for number, head in enumerate(plan.heads):

            def fill(
                i: int, head: _Head = head, entropies: FloatArray = rows_of_heads[number]
            ) -> None:
                part, rows, columns = plan.chunk(i)
                weights, sums = plan.weights(head, part, rows, columns)
                matrix = weights[0] * sums[0, :, None]
                entropies[rows] = row_entropies(matrix)
                if relative:
                    entropies[rows] += matrix @ logs[:columns]

            map_chunks(fill, plan.chunks)
    return rows_of_heads


@dataclass(frozen=True, eq=False)
class _Head:
    """Score and value, numbers where they are multiples of the identity; masses of its own."""

    score: FloatArray | float
    value: FloatArray | float
    masses: FloatArray
    function: Callable[[FloatArray], FloatArray] | None = None
    turned: tuple[FloatArray, FloatArray] | None = None  # queries and keys (R, n, k) of all tokens


@dataclass(frozen=True, eq=False)
class _Plan:
    """Checked computation, cut into chunks of replicas or of rows of one replica."""

    x: FloatArray  # (R, n, d)
    heads: tuple[_Head, ...]
    normalized: bool
    log_scale: float
    pairs: PairWeights
    log_sink: float = -math.inf

    @property
    def shape(self) -> tuple[int, int, int]:
        """Replicas, tokens of each, dimension."""
        count, n, d = self.x.shape
        return count, n, d

    @property
    def replicas(self) -> int:
        """Replicas in a chunk; more than one where whole systems are small."""
        return replicas_at_once(*self.shape[1:])

    @property
    def rows(self) -> int:
        n = self.shape[1]
        return min(n, max(_LEAST_ROWS, PAIRS_AT_ONCE // n))

    @property
    def chunks(self) -> int:
        count, n, _ = self.shape
        return -(-count // self.replicas) * -(-n // self.rows)

    def chunk(self, number: int) -> tuple[slice, slice, int]:
        """Replicas and rows of a chunk, and the number of tokens that these attend to."""
        n = self.shape[1]
        batch, block = divmod(number, -(-n // self.rows))
        rows = slice(block * self.rows, min(n, (block + 1) * self.rows))
        part = slice(batch * self.replicas, (batch + 1) * self.replicas)
        return part, rows, rows.stop if self.pairs.causal else n

    def weights(
        self, head: _Head, part: slice, rows: slice, columns: int
    ) -> tuple[FloatArray, FloatArray]:
        """Weights (r, rows, columns) of a chunk, and factors (r, rows) that their sums need."""
        x = self.x[part]
        asking, sources = x[:, rows], x[:, :columns]
        masses = head.masses[part if len(head.masses) > 1 else slice(None), :columns]
        # A new array also for numbers: for x x^T itself NumPy calls a slower routine of BLAS.
        if head.turned is not None:
            z, sources = head.turned[0][part, rows], head.turned[1][part, :columns]
        elif isinstance(head.score, float):
            z = asking * head.score
        else:
            z = np.matmul(asking, _part(head.score, part))
        block = np.matmul(z, sources.swapaxes(1, 2))
        if head.function is None:
            shifts = self._exponentials(z, sources, masses, block, rows)
        else:
            block = np.ascontiguousarray(head.function(block), dtype=np.float64)
            block *= np.exp(self.pairs.logarithms(rows, columns))
            block *= masses[:, None]
            shifts = np.zeros((1, 1))
        if self.normalized:
            below = np.matmul(block, np.ones(columns))
            if self.log_sink > -math.inf:
                sums, taken = self._row_sums(rows, columns, masses)
                # e^{700} is as good as infinite, and finite.
                below += sums * np.exp(np.minimum(self.log_sink + taken - shifts, 700.0))
            return block, np.divide(1.0, below, where=below != 0.0, out=np.zeros_like(below))
        if self.pairs.equal:
            return block, np.broadcast_to(np.exp(shifts - self.log_scale), block.shape[:2])
        sums, taken = self._row_sums(rows, columns, masses)
        unit = np.exp(shifts - self.log_scale - taken)
        return block, np.divide(unit, sums, where=sums != 0.0, out=np.zeros_like(block[..., 0]))

    def _exponentials(
        self,
        z: FloatArray,
        sources: FloatArray,
        masses: FloatArray,
        block: FloatArray,
        rows: slice,
    ) -> FloatArray:
        """Turn scores into weights, and return the exponents taken out of their rows, (r, rows)."""
        from meanfield.engines.pairs import block_kernels

        rate, causal, first = self.pairs.rate, self.pairs.causal, rows.start
        if self.pairs.logs is not None:
            return self._biased(masses, block, rows)
        norms = [np.sqrt(np.einsum("rnd,rnd->rn", e, e).max(axis=1)) for e in (z, sources)]
        reach = norms[0] * norms[1] + rate * sources.shape[1]
        shifts = np.zeros(block.shape[:2])
        # True also for NaN.
        unsafe = ~(reach < _SAFE)
        if unsafe.any():
            shifts[unsafe] = np.nan
            block_kernels.largest(block, masses, first, rate, causal, shifts)
        block_kernels.exponentials(block, shifts, masses, first, rate, causal)
        if unsafe.any() and not masses.all():
            # Exponentials of tokens without mass may be infinite, and infinity times 0 is NaN.
            np.copyto(block, 0.0, where=masses[:, None] == 0.0)
        return shifts

    def _biased(self, masses: FloatArray, block: FloatArray, rows: slice) -> FloatArray:
        """`_exponentials` with a bias of pairs, which may hide the largest scores."""
        block += self.pairs.logarithms(rows, block.shape[-1])
        if not masses.all():
            np.copyto(block, -np.inf, where=masses[:, None] == 0.0)
        shifts = block.max(axis=-1)
        shifts[shifts == -np.inf] = 0.0
        block -= shifts[..., None]
        np.exp(block, out=block)
        block *= masses[:, None]
        return np.asarray(shifts)

    def _row_sums(
        self, rows: slice, columns: int, masses: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Sums over each row of mass times pair weights, and the exponents taken out of them."""
        logs = self.pairs.logarithms(rows, columns)
        taken = logs.max(axis=1)
        return (np.exp(logs - taken[:, None]) * masses[:, None]).sum(axis=-1), taken


def _planned(
    x: FloatArray,
    heads: Weighing,
    masses: FloatArray | None,
    normalization: Normalization,
    log_scale: float,
    mask: MaskName | PairWeights,
    rate: float,
    log_sink: float = -math.inf,
) -> _Plan:
    x = np.asarray(x, dtype=np.float64)
    if x.ndim not in (2, 3) or 0 in x.shape[1:]:
        raise ValueError(f"x has shape {x.shape}, expected (n, d) or (replicas, n, d).")
    n, d = x.shape[-2:]
    if not isinstance(mask, PairWeights):
        mask = _named(mask, rate)
    if masses is None:
        masses = np.full(n, 1.0 / n)
    elif np.shape(masses) not in ((n,), x.shape[:-1]):
        raise ValueError(
            f"masses have shape {np.shape(masses)}, expected ({n},) or {x.shape[:-1]}."
        )
    own = np.ascontiguousarray(np.atleast_2d(masses), dtype=np.float64)
    function = heads if callable(heads) else None
    if normalization == "sinkhorn" and (x.ndim == 3 or not mask.equal or function is not None):
        raise ValueError(
            "sinkhorn needs heads, one system of shape (n, d) and no mask: "
            f"got shape {x.shape}, mask {mask!r}."
        )
    # C order, as compiled loops and products expect it.
    batch = np.ascontiguousarray(x if x.ndim == 3 else x[None])
    planned = []
    for head in (None,) if callable(heads) else heads:
        if head is None:
            planned.append(_Head(1.0, 1.0, own, function))
            continue
        shapes = ((d, d), (*x.shape[:-2], d, d))
        if head.score.shape not in shapes or head.value.shape not in shapes:
            raise ValueError(
                f"a head has matrices of shapes {head.score.shape} and {head.value.shape}, "
                f"expected {' or '.join(map(str, dict.fromkeys(shapes)))} for tokens in R^{d}."
            )
        masses = own
        if normalization == "sinkhorn":
            log_w = pair_scaling(head.score, x, own[0]).log_w
            masses = tilted_masses(own[0], log_w)[None]
        score, value = (_shortened(each) for each in head)
        turned = mask.turn(len(planned), batch) if mask.turn is not None else None
        planned.append(_Head(score, value, masses, turned=turned))
    normalized = normalization != "none"
    return _Plan(batch, tuple(planned), normalized, log_scale, mask, log_sink)


def _named(mask: MaskName, rate: float) -> PairWeights:
    if mask not in MASKS:
        raise ValueError(f"mask {mask!r} is not known. Known: {', '.join(MASKS)}.")
    if (mask == "alibi") != (rate > 0.0) or not 0.0 <= rate < math.inf:
        raise ValueError(
            f"mask {mask!r} with rate = {rate:g}: alibi needs a positive rate, others none."
        )
    return PairWeights(mask != "none", rate)


def _part(matrices: FloatArray, part: slice) -> FloatArray:
    """Matrices of some replicas, or the one matrix of all."""
    return matrices if matrices.ndim == 2 else matrices[part]


def _shortened(matrix: FloatArray) -> FloatArray | float:
    """The number c for a matrix c 1, which needs no product; other matrices unchanged."""
    number = multiple_of_identity(matrix) if matrix.ndim == 2 else None
    return np.ascontiguousarray(matrix, dtype=np.float64) if number is None else number
