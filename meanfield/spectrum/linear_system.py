"""The matrix of the flow linearised about a density, for perturbations up to a degree.

A perturbation g of a stationary f obeys

    d_t g = L g = diffusivity Laplacian g - div(g v + f v'[g]),

with the velocity v of f, fixed fields included. With weights k_h(x, y) = e^{beta x^T B_h y}, a
softmax divides by its mean weight Z_h; m_h(x) is the weighted mean of y at x. Then

    v'[g](x) = P_x sum_h V_h int k_h(x, y) / Z_h(x) (y - m_h(x)) g(y) dsigma(y).

Without normalisation Z_h is a number and m_h is absent. Doubly stochastic weights are
u(x) k(x, y) w(y) with mean 1 over either argument. Their derivative is that of a softmax with
weights k w, applied to g + f delta log w, where delta log w solves:

    (1 - P^T f P f) delta log w = -P^T g + P^T f P g,    P = u k w as an integral operator.

All are sums of positive weights over the nodes of two grids, without the cancellation of a Bessel
series. `linear_operator` chooses the degree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.bases.coordinates import Coordinates, coordinates
from meanfield.bases.grid import Grid
from meanfield.engines.sinkhorn import scaling
from meanfield.measures import Density
from meanfield.problem import Problem
from meanfield.spaces.manifold import Manifold, laplacian_eigenvalues
from meanfield.terms import own as own_terms
from meanfield.terms.fixed import total_field
from meanfield.terms.kernels import kernel_of

UNIFORM = 1e-12
"""Uniform is stationary if its flux is below this share of the largest speed of the weights."""
LARGEST = 1800
"""Rows of the largest matrix; all its eigenvalues take 15 s."""

# Largest tables of basis functions, in bytes.
_MEMORY = 2e9
# Relative error of the weights on the sphere; grids for rounding would take twice as long.
_NEGLIGIBLE_WEIGHT = 1e-12
# Degree that grids resolve for a user's own terms, which have no series.
_OWN_DEGREE = 32
# Size of perturbations in central differences: truncation 1e-8, rounding 1e-12.
_DIFFERENCE = 1e-4
# Number of weights between two grids at a time.
_BLOCK = 4_000_000

Weights = Callable[[FloatArray, FloatArray], FloatArray]
"""(points (n, d), points (m, d)) -> weights (n, m)."""


@dataclass(frozen=True, eq=False)
class LinearSystem:
    """L up to a degree, and the motion of f itself, per scaled time."""

    degree: int  # largest degree of perturbations and test fields
    matrix: FloatArray  # (size, size): L in the real coordinates of `LinearOperator.matrix`
    residual: float  # size of d_t f = -div j, the root of int (d_t f)^2 dsigma
    flux: float  # size of the gradient part of the flux j
    drift: float  # largest |v|
    speed: float  # largest speed that the weights allow, plus the diffusivity
    scale: float  # largest entry of L without diffusion


def attended_degree(problem: Problem) -> int:
    """Degree of the weights as functions of either point, to rounding; on the sphere to 1e-12."""
    dimension, attention = problem.manifold.dimension, problem.attention
    if attention is None:
        kernel, more = problem.own_kernel, 0
    else:
        # The degree of the sharpest head, and one more for the factor y.
        kernel, more = kernel_of(problem.beta), 1
    least = _OWN_DEGREE if problem.own_terms else 8
    return max(
        least, kernel.degree(dimension, 1e-16 if dimension == 1 else _NEGLIGIBLE_WEIGHT) + more
    )


def linear_system(
    problem: Problem, density: Density, degree: int, kappa: float = 1.0
) -> LinearSystem:
    """L for perturbations and test fields up to a degree; the factor kappa multiplies v'[g]."""
    space, heads, normalization = problem.manifold, _heads(problem), problem.normalization
    diffusivity = problem.isotropic_bound.diffusivity
    of = coordinates(space.dimension, degree)
    own_degree, own = attended_degree(problem), density.max_degree
    quotient = normalization != "none"
    # Quotients and scalings have all degrees: take half as many more; `errors` shows if that is
    # enough.
    more = own_degree // 2 if own else own_degree // 4
    inner = max(degree, own) + own_degree + (more if normalization == "sinkhorn" else 0)
    outer = degree + max(degree, own) + own_degree + (more if own and quotient else 0)
    _check_memory(space, degree, of.size, (inner, outer), normalization == "sinkhorn")
    inside, outside = (_on_nodes(space, l, density, of) for l in (inner, outer))
    gradients, frames = _gradients(outside, of), _frames(outside.points)
    terms = own_terms.bound(problem.terms, own_terms.Seen(inside.points, inside.density))
    # For each head the masses of the density and of each perturbation.
    sources = [(inside.density, inside.grid.weights[:, None] * inside.basis)] * len(heads)
    if normalization == "sinkhorn":
        sources = [_rescaled(head, inside) for head in heads]
    dimension, size, count = space.dimension, of.size, len(outside.points)
    matrix, moved, speeds, allowed = np.zeros((size, size)), np.zeros(size), [], 0.0
    rows = max(1, _BLOCK // len(inside.points))
    for begin in range(0, count, rows):
        at = slice(begin, min(begin + rows, count))
        velocity = np.zeros((dimension, at.stop - begin))
        change = np.zeros((dimension, at.stop - begin, size))
        force = np.zeros((dimension, at.stop - begin, len(inside.points)))
        bound = np.zeros(at.stop - begin)
        for head, (mass, perturbation) in zip(heads, sources, strict=True):
            weights, mean, total = _softmax(head, outside.points[at], inside.points, mass, quotient)
            pull = frames[:, at] @ head.value  # <e_c, V .>
            velocity += np.einsum("cid,id->ci", pull, mean)
            bound += np.linalg.norm(head.value, 2) * total
            for c in range(dimension):
                to = pull[c] @ inside.points.T
                if quotient:
                    to -= np.einsum("id,id->i", pull[c], mean)[:, None]
                to *= weights
                if normalization == "sinkhorn":
                    change[c] += to @ perturbation
                else:
                    force[c] += to
        if normalization != "sinkhorn":
            change = force @ sources[0][1]
        fixed = total_field(terms, outside.points[at])
        velocity += np.einsum("cid,id->ci", frames[:, at], fixed)
        for term in problem.own_terms:
            bound += term.size(space.ambient)
            slopes = _own_change(term, inside, outside.points[at])
            change += np.einsum("cid,jid->cij", frames[:, at], slopes)
        bound += np.linalg.norm(fixed, axis=1)
        mass, sigma = outside.density[at], outside.grid.weights[at]
        for c in range(dimension):
            flux = mass[:, None] * (kappa * change[c])
            flux += (sigma * velocity[c])[:, None] * outside.basis[at]
            matrix += gradients[c, at].T @ flux
            moved += gradients[c, at].T @ (mass * velocity[c])
        speeds.append(np.linalg.norm(velocity, axis=0))
        allowed = max(allowed, float(bound.max()))
    squares = laplacian_eigenvalues(dimension, degree)[of.vector_degrees]
    damping = diffusivity * squares
    scale = float(np.abs(matrix).max())
    matrix -= np.diag(damping)
    moved -= damping * of.to_vector(density.moments(degree))

    def speed_at(x: FloatArray) -> float:
        velocity = total_field(terms, x[None])[0]
        for head, (mass, _) in zip(heads, sources, strict=True):
            velocity += head.value @ _softmax(head, x[None], inside.points, mass, quotient).mean[0]
        return float(np.linalg.norm(velocity - (velocity @ x) * x))

    speed = np.concatenate(speeds)
    fastest = float(speed.max())
    if fastest > UNIFORM * allowed:
        fastest = _highest(speed_at, outside.points[int(speed.argmax())])
    residual, flux = np.linalg.norm(moved), np.linalg.norm(moved / np.sqrt(squares))
    return LinearSystem(
        degree, matrix, float(residual), float(flux), fastest, allowed + diffusivity, scale
    )


def _own_change(term: own_terms.OwnTerm, inside: _Nodes, x: FloatArray) -> FloatArray:
    """Derivatives (size, n, d) of a user's field along perturbations, by central differences."""

    def field(change: FloatArray) -> FloatArray:
        return term.at(own_terms.Seen(inside.points, inside.density + change), x).u

    steps = [_DIFFERENCE * inside.grid.weights * column for column in inside.basis.T]
    return np.array([field(step) - field(-step) for step in steps]) / (2.0 * _DIFFERENCE)


class _Head(NamedTuple):
    weights: Weights
    value: FloatArray
    sink: float = 0.0


def _heads(problem: Problem) -> list[_Head]:
    """Heads of the problem; a kernel is one head."""
    heads = problem.matrices
    if heads is None:
        zonal, one = problem.undriven.zonal, np.eye(problem.manifold.ambient)

        def similar(x: FloatArray, y: FloatArray) -> FloatArray:
            return zonal.kernel.attention(np.clip(x @ y.T, -1.0, 1.0))

        return [_Head(similar, zonal.strength * one)]
    # Normalised weights may have any scale, so each row gets that of its largest possible score. A
    # sink needs a common scale.
    scale = problem.log_scale if problem.normalization == "none" else None
    scale = problem.beta if problem.sink else scale
    return [_Head(_exponential(head.score, scale), head.value, problem.sink) for head in heads]


def _exponential(score: FloatArray, scale: float | None) -> Weights:
    def weights(x: FloatArray, y: FloatArray) -> FloatArray:
        query = x @ score  # B^T x
        top = np.linalg.norm(query, axis=1)[:, None] if scale is None else scale
        return np.asarray(np.exp(query @ y.T - top))

    return weights


@dataclass(frozen=True, eq=False)
class _Nodes:
    grid: Grid
    points: FloatArray  # (n, d): unit vectors
    density: FloatArray  # (n,): quadrature weights times the density
    basis: FloatArray  # (n, size): basis functions of the coordinates


def _on_nodes(space: Manifold, degree: int, density: Density, of: Coordinates) -> _Nodes:
    """A grid that integrates fields up to a degree exactly."""
    # Grids are exact to three times their degree.
    grid = space.grid(max(-(-degree // 3), density.max_degree // 2 + 1))
    values = grid.to_nodal(density.coefficients)
    basis = np.empty((len(grid.weights), of.size), order="F")
    for j, unit in enumerate(of.units()):
        basis[:, j] = grid.to_nodal(unit)
    return _Nodes(grid, space.vectors(grid.points), grid.weights * values, basis)


def _gradients(nodes: _Nodes, of: Coordinates) -> FloatArray:
    """Gradients of the basis functions, shape (dimension, n, size)."""
    n, dimension = nodes.points.shape[0], nodes.points.shape[1] - 1
    gradients = np.empty((dimension, n, of.size), order="F")
    for j, unit in enumerate(of.units()):
        gradients[:, :, j] = nodes.grid.gradient(unit).reshape(dimension, n)
    return gradients


def _frames(points: FloatArray) -> FloatArray:
    """Tangent vectors of the components of gradients, shape (dimension, n, d)."""
    if points.shape[1] == 2:
        return np.stack([-points[:, 1], points[:, 0]], axis=-1)[None]
    sine = np.hypot(points[:, 0], points[:, 1])
    cos_phi, sin_phi = points[:, 0] / sine, points[:, 1] / sine
    south = np.stack([points[:, 2] * cos_phi, points[:, 2] * sin_phi, -sine], axis=-1)
    return np.stack([south, np.stack([-sin_phi, cos_phi, 0.0 * sine], axis=-1)])


class _Softmax(NamedTuple):
    """Mean field of a head at points: weights, the mean of y, the total weight."""

    weights: FloatArray
    mean: FloatArray
    total: FloatArray


def _softmax(
    head: _Head, points: FloatArray, sources: FloatArray, mass: FloatArray, quotient: bool
) -> _Softmax:
    """Weights of points (n, d) for sources; with `quotient` divided by their mean plus the sink."""
    weights = head.weights(points, sources)
    total = weights @ mass
    if quotient:
        weights /= total[:, None] + head.sink
        total = np.ones(len(points))
    return _Softmax(weights, weights @ (mass[:, None] * sources), total)


def _highest(function: Callable[[FloatArray], float], start: FloatArray) -> float:
    """Largest value of a function of unit vectors near one of them."""
    from scipy.optimize import minimize

    across = _frames(start[None])[:, 0]

    def lowered(shift: FloatArray) -> float:
        x = start + shift @ across
        return -function(x / np.linalg.norm(x))

    minimum = minimize(
        lowered, np.zeros(len(across)), method="Nelder-Mead", options={"xatol": 1e-7}
    )
    return -float(minimum.fun)


def _check_memory(
    space: Manifold, degree: int, size: int, exact: tuple[int, int], scaled: bool
) -> None:
    """Refuse matrices and tables that are too large, for grids exact to two degrees."""
    inside, outside = (l if space.dimension == 1 else l * l // 2 for l in exact)
    tables = 8.0 * size * (2 * inside + (1 + space.dimension) * outside)
    # Weights between all nodes, their product and its factors.
    tables += 8.0 * 4 * inside**2 if scaled else 0.0
    if size > 2 * LARGEST or tables > _MEMORY:
        raise ValueError(
            f"perturbations up to degree {degree} on the {space.name} make a matrix of {size} rows "
            f"and tables of {tables / 1e9:.1f} GB, at most {2 * LARGEST} and "
            f"{_MEMORY / 1e9:g} GB: give a smaller degree, or lower beta."
        )


def _rescaled(head: _Head, nodes: _Nodes) -> tuple[FloatArray, FloatArray]:
    """The density times w, and perturbations (g + f delta log w) times w, with quadrature weights.

    With these masses a softmax of k gives the doubly stochastic weights u k w.
    """
    kernel, f = head.weights(nodes.points, nodes.points), nodes.density
    scaled = scaling(
        lambda w: np.asarray(kernel @ (f * w)), f, lambda u: np.asarray((f * u) @ kernel)
    )
    w, u = np.exp(scaled.log_w), np.exp(scaled.log_u)
    both = u[:, None] * kernel * w  # mean 1 over either argument
    perturbations = nodes.grid.weights[:, None] * nodes.basis
    right_side = both.T @ (f[:, None] * (both @ perturbations)) - both.T @ perturbations
    # 1 - P^T f P f, plus the mean, which fixes the free constant factor of w.
    solved = np.eye(len(f)) - both.T @ (f[:, None] * both * f) + f
    change = np.linalg.solve(solved, right_side)
    return f * w, w[:, None] * (perturbations + f[:, None] * change)
