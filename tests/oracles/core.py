"""The whole model on one page, in plain NumPy: every carrier of the package is compared with it.

A token x moves by a sum of vector fields on R^d, its *terms*, which depend on the measure nu that
the token attends to:

    x' = P_x sum_i u_i(x; nu),      P_x u = u - <x, u> x on S^{d-1},      P_x u = u on R^d.

With the Jacobian J of u = sum_i u_i there is one formula for all divergences:

    div P_x u = tr J - <x, J x> - (d - 1) <x, u> on S^{d-1},      tr J on R^d.

Attention is one term. A head with score matrix B (beta included) and value matrix V adds

    V m(x),     m(x) = int y e^{x^T B y} dnu(y) / int e^{x^T B y} dnu(y),     J = V C B^T,

with C the covariance of y under the weights of m. Masks and doubly stochastic weights only choose
nu. Points are vectors (n, d) on the circle and the sphere, too; a density is its quadrature nodes
with masses. Time is outside: problems follow each other, a layer takes the place of a step.

All sums run over pairs. Nothing is imported from the package.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

Array = np.ndarray


class Points(NamedTuple):
    """Measure sum_j mass_j delta_{y_j}; labels are the positions or frequencies of tokens."""

    y: Array
    mass: Array
    label: Array | None = None


class Field(NamedTuple):
    """Vector field at points x (n, d): u (n, d), tr J (n,) and <x, J x> (n,). Fields add up."""

    u: Array
    trace: Array
    along: Array


Term = Callable[[Points, Array, Array | None], Field]
"""Field of a measure at x, of tokens with these labels."""


def total(fields: Sequence[Field]) -> Field:
    return Field(*(sum(parts) for parts in zip(*fields, strict=True)))


def of_jacobian(u: Array, j: Array, x: Array) -> Field:
    """Field of values (n, d) and Jacobians (n, d, d)."""
    return Field(u, np.trace(j, axis1=1, axis2=2), np.einsum("ni,nij,nj->n", x, j, x))


# ------------------------------------------------------------------ terms beside attention
def drift(matrix: Array) -> Term:
    """u(x) = M x."""
    return lambda mu, x, label: of_jacobian(x @ matrix.T, matrix[None].repeat(len(x), 0), x)


def feed_forward(a: Array, w: Array, b: Array) -> Term:
    """u(x) = W tanh(A x + b), J = W diag(1 - tanh^2) A."""

    def field(mu: Points, x: Array, label: Array | None) -> Field:
        value = np.tanh(x @ a.T + b)
        return of_jacobian(value @ w.T, np.einsum("im,nm,mj->nij", w, 1 - value**2, a), x)

    return field


def frequencies(mu: Points, x: Array, label: Array | None) -> Field:
    """u(x) = label * (-x_2, x_1): tokens of the circle turn, each at its own frequency."""
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    return of_jacobian(label[:, None] * (x @ turn.T), label[:, None, None] * turn, x)


# ------------------------------------------------------------------ attention
def causal(mine: Array, others: Array) -> Array:
    """Mask of positions: a token attends to itself and to all before it."""
    return np.where(others <= mine, 1.0, 0.0)


def alibi(rate: float) -> Callable[[Array, Array], Array]:
    """Causal mask with weights e^{-rate (s - s')} of positions s' <= s."""
    return lambda s, other: causal(s, other) * np.exp(-rate * np.maximum(s - other, 0.0))


def attention(
    heads: Sequence[tuple[Array, Array]],
    normalization: str = "softmax",
    scale: float = 0.0,
    mask: Callable[[Array, Array], Array] | None = None,
) -> Term:
    """Sum of V m(x) over heads (B, V): "softmax", "sinkhorn", or "none" without a denominator.

    Without one weights are e^{x^T B y - scale}, and C is the second moment of y under them. A mask
    gives weights (n, m) of the labels (1, m) for tokens of labels (n, 1).
    """

    def one(score: Array, value: Array, mu: Points, x: Array, weights: Array | float) -> Field:
        exponents = x @ score @ mu.y.T - scale
        if normalization == "sinkhorn":
            exponents = exponents + balance(mu.y @ score @ mu.y.T, mu.mass)
        if normalization != "none":
            exponents = exponents - exponents.max(axis=1, keepdims=True)
        p = np.exp(exponents) * weights * mu.mass
        if normalization != "none":
            p /= p.sum(axis=1, keepdims=True)
        mean, spread = p @ mu.y, np.einsum("nm,mi,mj->nij", p, mu.y, mu.y, optimize=True)
        if normalization != "none":
            spread = spread - mean[:, :, None] * mean[:, None, :]
        return of_jacobian(mean @ value.T, value @ spread @ score.T, x)

    def field(mu: Points, x: Array, label: Array | None) -> Field:
        weights = 1.0 if mask is None else mask(label[:, None], mu.label[None, :])
        return total([one(score, value, mu, x, weights) for score, value in heads])

    return field


def balance(scores: Array, mass: Array) -> Array:
    """Logarithms of w with u_i sum_j K_ij w_j m_j = 1 = w_j sum_i K_ij u_i m_i, K = e^{scores}."""
    kernel, w = np.exp(scores - scores.max()), np.ones(len(mass))
    for _ in range(20_000):
        new = 1.0 / ((mass / (kernel @ (w * mass))) @ kernel)
        new /= new.max()  # w has a free factor
        change, w = np.abs(new / w - 1.0).max(), new
        if change < 1e-15:
            break
    return np.log(w)


# ------------------------------------------------------------------ problems in space and time
class Problem(NamedTuple):
    """Terms on the unit sphere of R^d, or on R^d itself."""

    terms: Sequence[Term]
    sphere: bool = True

    def field(self, mu: Points, x: Array, label: Array | None = None) -> Field:
        return total([term(mu, x, label) for term in self.terms])

    def velocity(self, mu: Points, x: Array, label: Array | None = None) -> Array:
        """P_x u, shape (n, d)."""
        u = self.field(mu, x, label).u
        return u - (x * u).sum(axis=1, keepdims=True) * x if self.sphere else u

    def divergence(self, mu: Points, x: Array, label: Array | None = None) -> Array:
        """Divergence of P_x u, shape (n,)."""
        u, trace, along = self.field(mu, x, label)
        return trace - along - (x.shape[1] - 1) * (x * u).sum(axis=1) if self.sphere else trace


def unit(x: Array) -> Array:
    """Directions x / |x|."""
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def evolve(
    stages: Sequence[tuple[float, Problem]],
    start: Points,
    times: Sequence[float],
    tolerance: float = 1e-13,
    seen: Callable[[Points], Points] = lambda tokens: tokens,
    method: str = "DOP853",
) -> Iterator[Array]:
    """Positions (n, d) at increasing times under stages (end, problem), one after another.

    Tokens attend to the measure `seen(tokens)`, by default to themselves.
    """
    x, now = start.y, 0.0
    for time in times:
        for end, problem in stages:
            if min(end, time) <= now:
                continue

            def rate(_: float, state: Array, problem: Problem = problem) -> Array:
                y = state.reshape(start.y.shape)
                tokens = start._replace(y=unit(y) if problem.sphere else y)
                return problem.velocity(seen(tokens), tokens.y, tokens.label).ravel()

            span = (now, min(end, time))
            solved = solve_ivp(rate, span, x.ravel(), method, rtol=tolerance, atol=tolerance)
            if not solved.success:
                raise ArithmeticError(solved.message)
            x, now = solved.y[:, -1].reshape(start.y.shape), span[1]
            x = unit(x) if problem.sphere else x
        yield x


PLACEMENTS: dict[str, Callable[[Array, Array, float, float], Array]] = {
    "post": lambda x, a, h, t: unit(unit(x) + h * a),
    "pre": lambda x, a, h, t: x + h * a,
    "peri": lambda x, a, h, t: x + h * unit(a),
    "depth_scaled": lambda x, a, h, t: unit(unit(x) + h / np.sqrt(1.0 + t) * a),
    "ngpt": lambda x, a, h, t: unit(unit(x) + h * (unit(a) - unit(x))),
}
"""Tokens after a layer of output a and step h, which begins at depth t."""


def layer(terms: Sequence[Term], placement: str, tokens: Points, number: int, h: float) -> Points:
    """Tokens after a layer with so many before it: each term in turn, with its normalisation."""
    for term in terms:
        at = tokens._replace(y=unit(tokens.y))
        output = term(at, at.y, at.label).u
        tokens = tokens._replace(y=PLACEMENTS[placement](tokens.y, output, h, number * h))
    return tokens
