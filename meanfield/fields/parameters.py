"""Numerical parameters of a flow, and the derivatives of int psi F with respect to them.

F(f) is -div(f v) + diffusivity Laplacian f with, of a kernel, v = grad Phi / Z, or of heads

    v(x) = P_x sum_h V_h m_h(x) / G_h(x),    m_h(x) = int e^{x^T S_h y} y df(y),    G_h without y,

without normalisation m_h e^{-s}. With the pull p = f grad psi / Z on the numerators,

    d/dS_ab int psi F = int x_a (<p, P_x V m_b'> - <v, p> m_b),    m_b' = int e^{x^T S y} y_b y df
    d/dV_ab int psi F = int (p)_a m_b

and m_b is G of the density y_b f: no derivative of a head's table is needed. A kernel's numbers
are its multipliers; a fixed field's numbers are its values at the nodes.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import cast

import numpy as np

from meanfield.arrays import FloatArray, ModalArray
from meanfield.bases.coordinates import coordinates
from meanfield.bases.grid import Grid
from meanfield.fields.driven import DrivenInteraction
from meanfield.fields.heads import HeadsInteraction, heads_interaction
from meanfield.fields.interactions import AnyInteraction, attended, fixed_field
from meanfield.fields.linearised import LinearisedFlow
from meanfield.fields.mean_field import Interaction
from meanfield.problem import Problem
from meanfield.spaces.manifold import Manifold, laplacian_eigenvalues

Numbers = tuple[FloatArray, ...]
"""Diffusivity, fixed field at the nodes, then multipliers; or scores, values and log_scale."""


def numbers_of(problem: Problem, grid: Grid, degree: int, heads: bool) -> Numbers:
    """Numbers of one stage of a problem: of a kernel up to a degree, or of its heads.

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.linear(), mf.Flow("none", 3.0, 0.1))
    >>> numbers_of(problem, problem.manifold.grid(1), 2, heads=False)[::2]
    (array(0.1), array([0. , 1.5, 0. ]))
    """
    fixed: FloatArray = np.zeros_like(grid.gradient(np.zeros(1)))
    if problem.terms:
        fixed = fixed_field(problem).on_nodes(grid)
    common = (np.asarray(problem.flow.diffusivity), fixed)
    if heads:
        own = heads_interaction(problem)
        scores, values = (np.array(each) for each in zip(*own.heads, strict=True))
        return (*common, scores, values, np.asarray(own.log_scale))
    kernel_interaction = cast(Interaction, attended(problem, degree))
    potential = kernel_interaction.potential_multipliers / kernel_interaction.scale
    if kernel_interaction.attention_multipliers is None:
        return (*common, potential)
    return (*common, potential, kernel_interaction.attention_multipliers / kernel_interaction.scale)


def by_heads(interaction: AnyInteraction, problem: Problem) -> AnyInteraction:
    """The same mean field by heads; the exponential kernel becomes one head."""
    if isinstance(interaction.attention, HeadsInteraction):
        return interaction
    own = heads_interaction(problem)
    return replace(interaction, own=own) if isinstance(interaction, DrivenInteraction) else own


def dependence(flow: LinearisedFlow, psi: ModalArray) -> Numbers:
    """Derivatives of int psi F with respect to the numbers of a flow, as `numbers_of` has them."""
    grid, space = flow.grid, flow.interaction.manifold
    eigenvalues = laplacian_eigenvalues(space.dimension, grid.max_degree)
    damping = -space.inner(psi, space.convolve(eigenvalues, flow.density))
    slope = grid.gradient(psi)
    moving = flow.times(grid.weights * flow.values, slope)
    common = (np.asarray(damping), moving)
    own = flow.interaction.attention
    if isinstance(own, Interaction):
        return (*common, *_of_kernel(own, flow, slope))
    return (*common, *_of_heads(own, flow, slope))


def _of_kernel(own: Interaction, flow: LinearisedFlow, slope: FloatArray) -> Numbers:
    """Degree by degree: int <p, grad f_l>, and -int <v, p> f_l."""
    grid, space = flow.grid, flow.interaction.manifold
    ((pull, back),) = flow.pulls(slope)
    derivatives = [_by_degree(space, -grid.divergence(pull), flow.density, own.degree)]
    if back is not None:
        derivatives.append(_by_degree(space, grid.to_modal(back), flow.density, own.degree))
    return tuple(own.scale * each for each in derivatives)


def _by_degree(space: Manifold, first: ModalArray, second: ModalArray, degree: int) -> FloatArray:
    """Inner product of each degree of two fields."""
    first, second = (space.resize(each, degree) for each in (first, second))
    of = coordinates(space.dimension, degree)
    products = of.to_vector(first) * of.to_vector(second)
    sums = np.zeros(degree + 1)
    np.add.at(sums, of.vector_degrees, products)
    sums[0] = (first[0] * second[0]).real
    return sums


def _of_heads(own: HeadsInteraction, flow: LinearisedFlow, slope: FloatArray) -> Numbers:
    grid, d = flow.grid, flow.interaction.manifold.ambient
    x, axes = _frame(flow.interaction.manifold, grid.max_degree)
    tilted = grid.to_modal(x * flow.values)  # y_b f
    scores, values = (np.zeros((len(own.heads), d, d)) for _ in range(2))
    scale = 0.0
    parts = zip(own.tables, flow.pulls(slope), flow.by_head, strict=True)
    for h, (table, (pull, back), (velocity, _)) in enumerate(parts):
        # y_b f has a mass, which `Response` would leave out.
        series = []
        for each in tilted:
            above, below = table.fields(each)
            series += [*above, table.partition(each) if below is None else below]
        nodal = grid.to_nodal(np.array(series)).reshape(d, -1, len(grid.weights))
        means = nodal[:, -1]
        pulled = np.array([flow.dot(pull, grid.project(each[:-1])) for each in nodal])
        if back is not None:
            pulled += back * means
        else:
            scale -= float(grid.weights @ flow.dot(pull, velocity))
        scores[h] = (grid.weights * x) @ pulled.T
        along = np.array([flow.dot(pull, axis) for axis in axes])
        values[h] = (grid.weights * along) @ means.T
    return scores, values, np.asarray(scale)


@lru_cache(maxsize=4)
def _frame(space: Manifold, max_degree: int) -> tuple[FloatArray, FloatArray]:
    """Coordinates of the nodes, (d, n), and tangential parts of the axes of R^d there."""
    grid, d = space.grid(max_degree), space.ambient
    units = np.eye(d)[:, :, None]
    axes = np.array([grid.project(np.tile(unit, len(grid.weights))) for unit in units])
    return np.ascontiguousarray(space.vectors(grid.points).T), axes
