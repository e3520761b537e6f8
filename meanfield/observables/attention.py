"""Whom tokens attend to: the attention matrices of a state, and how spread their rows are."""

from __future__ import annotations

from typing import Any

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.checks import checked, made
from meanfield.fields import blocks
from meanfield.measures import Density, Measure
from meanfield.observables.cosines import MOST_TOKENS
from meanfield.problem import Problem

# Doubly stochastic weights keep the whole matrix.
_MOST_BALANCED = 4_096


@checked
def attention_matrix(problem: Problem, measure: Measure) -> FloatArray:
    """Attention matrices of tokens, one a head: row i says whom token i attends to.

        v(x_i) = P_x sum_h V_h sum_j A_hij x_j,    A_hij = m_j e^{beta x_i^T B_h x_j} / z_hi

    masses m_j included, so that rows sum to 1 under softmax, and to 1 with masses that balance the
    columns for doubly stochastic attention. Without normalisation z = e^s as in the velocity. A
    mask leaves out tokens that come later, or weighs them less.

    Parameters
    ----------
    problem : Problem
        Its heads, or its kernel a(<x, y>), which is one head.
    measure : Measure
        Tokens, in their order; at most 10,000, doubly stochastic 4,096.

    Returns
    -------
    ndarray, shape (heads, n, n)

    Raises
    ------
    TypeError
        If the measure is a density.
    ValueError
        If it has too many points, or lives elsewhere.

    References
    ----------
    Geshkovski, Letrouit, Polyanskiy, Rigollet, A mathematical perspective on Transformers,
    arXiv:2312.10794, (2.3).

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Sphere(4), mf.exponential(np.log(3.0)), mf.SA)
    >>> attention_matrix(problem, mf.Measure(mf.Sphere(4), np.eye(4)[:2])).round(12)
    array([[[0.75, 0.25],
            [0.25, 0.75]]])
    """
    made("attention_matrix", measure, Measure)
    _check(problem, measure)
    most = _most(problem)
    if len(measure.points) > most:
        raise ValueError(
            f"attention matrices are of at most {most} tokens, got {len(measure.points)}: take "
            "some of them, mf.Measure(manifold, points[:1000])."
        )
    return blocks.attention_matrices(*_given(problem, measure), **_options(problem, measure))


def attention_entropy(problem: Problem, measure: Density | Measure) -> FloatArray:
    """Mean entropy -sum_j A_ij log A_ij of the rows of each head, in nats, rows of sum 1.

    It is log n where a token attends to all alike, 0 where to one alone; of weighted points rows
    are averaged by mass.

    Returns
    -------
    ndarray, shape (heads,)
        NaN of densities, and of more tokens than `attention_matrix` takes.

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.linear(), mf.SA)
    >>> tokens = mf.Measure(mf.Circle(), np.linspace(0.0, 1.0, 7))
    >>> attention_entropy(problem, tokens).round(12), np.log(7.0).round(12)
    (array([1.94591015]), np.float64(1.945910149055))
    """
    heads = 1 if problem.attention is None else len(problem.attention.heads)
    rings = problem.manifold.family == "axial"
    if rings or not isinstance(measure, Measure) or len(measure.points) > _most(problem):
        return np.full(heads, np.nan)
    rows = blocks.attention_entropies(*_given(problem, measure), **_options(problem, measure))
    return np.asarray(rows @ measure.mass)


def _check(problem: Problem, measure: Measure) -> None:
    if problem.manifold.family == "axial":
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
    return _MOST_BALANCED if problem.normalization == "sinkhorn" else MOST_TOKENS


def _given(problem: Problem, measure: Measure) -> tuple[FloatArray, Any, FloatArray]:
    """Vectors, what weighs them, and masses."""
    weighs = problem.heads or problem.own_kernel.attention
    return problem.manifold.vectors(measure.points), weighs, measure.mass


def _options(problem: Problem, measure: Measure) -> dict[str, Any]:
    of = problem.attention
    # Positions are k / n: a step of one is 1 / n.
    rate = 0.0 if of is None or of.alibi_rate is None else of.alibi_rate / len(measure.points)
    scaled = problem.normalization == "none" and problem.heads is not None
    return {
        "normalization": problem.normalization,
        "log_scale": problem.log_scale if scaled else 0.0,
        "mask": problem.mask,
        "rate": rate,
    }
