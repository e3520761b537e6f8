"""Attention matrices of a state, and entropies of their rows.

A density is represented by the nodes of a grid that resolves it and the kernel, with masses m_j.
Entropies of rows grow with the number of nodes; entropies relative to the masses have a limit:

    -sum_j A_ij log(A_ij / m_j)  ->  -KL(A(x, .) | mu),    A(x, dy) = e^{beta <x, y>} dmu(y) / Z(x).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from meanfield.arguments import check_returned, checked
from meanfield.arrays import FloatArray
from meanfield.fields import blocks
from meanfield.fields.interactions import attended
from meanfield.measures import Density, Measure
from meanfield.observables.cosines import MOST_TOKENS, are_tokens
from meanfield.problem import Problem
from meanfield.terms.masks import EVERYONE, pair_weights

# Doubly stochastic weights keep the whole matrix.
_MOST_BALANCED_TOKENS = 4_096


@checked
def attention_matrix(problem: Problem, measure: Density | Measure) -> FloatArray:
    """Attention matrices of tokens, one per head: row i has the weights of token i.

        v(x_i) = P_x sum_h V_h sum_j A_hij x_j,    A_hij = m_j e^{beta x_i^T B_h x_j} / z_hi

    Entries include the masses m_j, so rows sum to 1 under softmax and doubly stochastic attention;
    for the latter, masses also balance the columns. Without normalisation z = e^s as in the
    velocity. A mask removes tokens from a row, or gives them less weight.

    - problem: its heads, or its kernel a(<x, y>) as one head.
    - measure: at most 10,000 tokens in their order, 4,096 if doubly stochastic. A density on the
      circle or S^2 becomes the nodes of a grid, see `attention_nodes`.

    Returns (heads, n, n). ValueError if the measure has too many points, is on another manifold, or
    is a density under a mask.

    Geshkovski, Letrouit, Polyanskiy, Rigollet, A mathematical perspective on Transformers,
    arXiv:2312.10794, (2.3).

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Sphere(4), mf.exponential(np.log(3.0)), mf.SA)
    >>> attention_matrix(problem, mf.Measure(mf.Sphere(4), np.eye(4)[:2])).round(12)
    array([[[0.75, 0.25],
            [0.25, 0.75]]])
    """
    check_returned("attention_matrix", measure, Measure, Density)
    _check(problem, measure)
    if isinstance(measure, Density) and problem.mask != "none":
        raise ValueError(
            f"a {problem.mask} mask asks for an order, which a density has not: take tokens."
        )
    nodes, most = attention_nodes(problem, measure), _most(problem)
    if len(nodes.points) > most:
        what = "tokens" if nodes is measure else "nodes of a density"
        raise ValueError(
            f"attention matrices are of at most {most} {what}, got {len(nodes.points)}: take "
            "fewer tokens, mf.Measure(manifold, points[:1000])."
        )
    return blocks.attention_matrices(*_arguments(problem, nodes), **_options(problem, nodes))


def attention_nodes(problem: Problem, measure: Density | Measure) -> Measure:
    """Points of the rows and columns of an attention matrix: tokens, or nodes of a density.

    The grid has the larger degree of the density and the kernel. Weights are the masses of the
    nodes, with 0 for negative ones.

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(4.0), mf.SA)
    >>> density = mf.von_mises_fisher(2.0).build(mf.Circle())
    >>> nodes = attention_nodes(problem, density)
    >>> matrix = attention_matrix(problem, density)[0]
    >>> matrix.shape == 2 * nodes.points.shape, abs(nodes.order_parameter - 0.697774658) < 1e-9
    (True, True)
    """
    if isinstance(measure, Measure):
        return measure
    space = measure.manifold
    degree = max(measure.max_degree, attended(problem).degree)
    grid = space.grid(degree)
    values = grid.to_nodal(space.resize(measure.coefficients, degree))
    masses = grid.weights * np.maximum(values, 0.0)
    return Measure(space, grid.points, masses / masses.sum())


def attention_entropy(problem: Problem, measure: Density | Measure) -> FloatArray:
    """Mean entropy -sum_j A_ij log A_ij of the rows of each head, in nats; rows have sum 1.

    It is log n if each token attends to all equally, and 0 if to one alone. The mean weighs rows by
    mass.

    Returns (heads,): NaN for densities and their nodes, and for more tokens than `attention_matrix`
    accepts.

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.linear(), mf.SA)
    >>> tokens = mf.Measure(mf.Circle(), np.linspace(0.0, 1.0, 7))
    >>> attention_entropy(problem, tokens).round(12), np.log(7.0).round(12)
    (array([1.94591015]), np.float64(1.945910149055))
    """
    if isinstance(measure, Density) or measure.cell_order:
        return _unknown(problem)
    rows = _entropies(problem, measure)
    return _unknown(problem) if rows is None else rows[0] @ rows[1]


def attended_tokens(problem: Problem, measure: Density | Measure) -> FloatArray:
    """Effective number of tokens that a token attends to, per head: mean of e^{entropy}.

    It is n times `attended_share`: n if each token attends to all equally, 1 if to one alone.

    Returns (heads,): NaN where `attended_share` is NaN, and for weighted points, such as tokens
    that have met, because their number is not known.

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(9.0), mf.SA)
    >>> clusters = mf.Measure(mf.Circle(), np.repeat([0.0, np.pi], 8))
    >>> attended_tokens(problem, clusters).round(4)
    array([8.])
    """
    if isinstance(measure, Density) or not are_tokens(measure):
        return _unknown(problem)
    return len(measure.points) * attended_share(problem, measure)


def attended_share(problem: Problem, measure: Density | Measure) -> FloatArray:
    """Effective share of the mass that tokens attend to, per head: mean of e^{-KL(A(x, .) | mu)}.

    For n equal tokens it is `attended_tokens` / n; for a density it is the limit of this. Tokens
    that have met may be one point of their mass, with the same share.

    Returns (heads,): NaN for axial measures, for densities under a mask, and for more points or
    nodes than `attention_matrix` accepts.

    Uniform on the circle has KL = beta I_1 / I_0 - log I_0:

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(3.0), mf.SA)
    >>> attended_share(problem, mf.uniform().build(mf.Circle())).round(9)
    array([0.42970848])
    """
    if isinstance(measure, Density) and problem.mask != "none":
        return _unknown(problem)
    rows = _entropies(problem, measure, relative=True)
    return _unknown(problem) if rows is None else np.exp(rows[0]) @ rows[1]


def _entropies(
    problem: Problem, measure: Density | Measure, relative: bool = False
) -> tuple[FloatArray, FloatArray] | None:
    """Entropies of rows (heads, n) and masses (n,); None for rings and for too many points."""
    if problem.manifold.has_rings:
        return None
    nodes = attention_nodes(problem, measure)
    if len(nodes.points) > _most(problem):
        return None
    matrices, options = _arguments(problem, nodes), _options(problem, nodes)
    return blocks.attention_entropies(*matrices, relative=relative, **options), nodes.mass


def _unknown(problem: Problem) -> FloatArray:
    return np.full(len(problem.kernel.matrices(problem.manifold.ambient)) or 1, np.nan)


def _check(problem: Problem, measure: Density | Measure) -> None:
    if problem.manifold.has_rings:
        raise ValueError(
            "points of axial measures are rings, and attention matrices are of tokens: take "
            f"mf.Sphere({problem.manifold.ambient})."
        )
    if measure.manifold != problem.manifold:
        raise ValueError(
            f"the tokens are on the {measure.manifold.name}, the problem on the "
            f"{problem.manifold.name}."
        )


def _most(problem: Problem) -> int:
    return _MOST_BALANCED_TOKENS if problem.normalization == "sinkhorn" else MOST_TOKENS


def _arguments(problem: Problem, measure: Measure) -> tuple[FloatArray, Any, FloatArray]:
    """Vectors, heads or kernel, and masses."""
    weighs = problem.matrices or blocks.of_cosines(problem.own_kernel.attention)
    return problem.manifold.vectors(measure.points), weighs, measure.mass


def _options(problem: Problem, measure: Measure) -> dict[str, Any]:
    of = problem.attention
    mask = EVERYONE if of is None else of.masking
    scaled = problem.normalization == "none" and problem.matrices is not None
    return {
        "normalization": problem.normalization,
        "log_scale": problem.log_scale if scaled else 0.0,
        "mask": pair_weights(mask, len(measure.points)),
        "log_sink": problem.log_sink,
    }
