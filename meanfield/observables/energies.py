"""Energies and entropy, and the function that never falls along a run.

Attention with matrices has an energy where its flow is a gradient flow: S_h = beta B_h symmetric
and V_h = gamma_h S_h, which is V_h = c_h B_h for gamma = c / beta. Then

    E   = sum_h gamma_h / 2 iint e^{x^T S_h y} dmu dmu          "none"; "softmax" with one head
    E_S = -gamma int log u dmu,   u(x) int e^{x^T S y} u dmu = 1    "sinkhorn" with one head

and dE/dt = int |v|^2 dmu without normalisation and for E_S, int Z |v|^2 dmu for softmax, and
int (Z + c e^s) |v|^2 dmu with a sink c. Several normalised heads have no energy, because each has
its own Z. Without normalisation fixed fields grad U add int U dmu.

References: Geshkovski, Letrouit, Polyanskiy, Rigollet, arXiv:2312.10794 (E); Sander, Ablin,
Blondel, Peyre, arXiv:2110.11773 (E_S, half the entropic cost of moving mu to itself).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np

from meanfield.arrays import EPS, FloatArray, ModalArray
from meanfield.bases.coordinates import coordinates
from meanfield.engines.pairs import PAIRS_AT_ONCE
from meanfield.engines.sinkhorn import is_symmetric
from meanfield.fields.balanced import MOST_PAIRS, density_scaling, point_scaling
from meanfield.fields.head_pairs import tilted
from meanfield.fields.heads import head_table, side
from meanfield.fields.mean_field import interaction
from meanfield.measures import Density, Measure
from meanfield.problem import Problem
from meanfield.spaces.label_cells import label_cells
from meanfield.spaces.manifold import Manifold
from meanfield.terms.attention import Attention, HeadMatrices
from meanfield.terms.kernels import Kernel
from meanfield.terms.masks import EVERYONE
from meanfield.terms.own import OwnTerm, Seen


def interaction_energy(
    problem: Problem, moments: ModalArray, measure: Density | Measure | None = None
) -> float:
    """Interaction energy E[mu] / E[Dirac], E[mu] = 1/2 int int W(<x, y>) dmu dmu.

    By Funk-Hecke E[mu] = 1/2 sum_l w_l |m_l|^2. It is 1 for a single cluster, and the sum of
    squared masses for distant clusters at large beta. For beta < 0 the reference is the uniform
    measure, E[mu] / E[uniform]. Heads with matrices have `heads_energy`. Fixed fields grad U add
    int U dmu / strength in the same unit if the sum never falls. Without an energy the result is
    NaN, and `energy_note` has the reason.

    measure: the measure of these moments, for doubly stochastic attention and fixed fields.

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA)
    >>> uniform = interaction_energy(problem, mf.Density(mf.Circle(), [1.0]).moments(25))
    >>> import math
    >>> round(uniform * math.exp(5.0) / 10.0, 10)  # I_0(5) / 10
    2.7239871824
    """
    if problem.terms:
        if energy_note(problem) is not None:
            return float("nan")
        own = interaction_energy(problem.undriven, moments, measure)
        return own + _fixed_energy(problem, measure)
    if problem.attention is not None:
        return heads_energy(problem, moments, measure)
    space = problem.manifold
    if not space.has_series:
        return _pair_energy(problem, measure) if space.is_sphere else float("nan")
    multipliers = energy_multipliers(
        problem.own_kernel, problem.manifold.dimension, problem.kernel_degree
    )
    return space.inner(space.convolve(multipliers, moments), moments)


def energy_unit(problem: Problem) -> float:
    """Unit of `interaction_energy`: the rate of the energy is int Z |v|^2 dmu over this unit.

    For a kernel it is strength times 1/2 int int W dmu dmu of the measure of energy 1. Energies of
    heads contain the strength.
    """
    if problem.attention is not None:
        if problem.normalization == "sinkhorn":
            return 0.5
        # With scores 0 only the fixed fields have an energy, in its own unit.
        return 0.5 / problem.beta if problem.beta else 1.0
    kernel = problem.own_kernel
    whole = _reference(kernel, problem.manifold.dimension)
    # W = a / beta of the built-in kernels.
    return 0.5 * problem.flow.strength * whole / (kernel.beta if kernel.log_slope else 1.0)


def _fixed_energy(problem: Problem, measure: Density | Measure | None) -> float:
    """Integral of the potentials of fixed fields, in the unit of the energy of attention."""
    if measure is None:
        raise ValueError("fixed fields have the energy of a measure: give it.")
    if isinstance(measure, Measure):
        points, masses = measure.points, measure.mass
    else:
        grid = measure.manifold.grid(measure.max_degree)
        points, masses = grid.points, grid.weights * grid.to_nodal(measure.coefficients)
    x = problem.manifold.vectors(points)
    total = 0.0
    for term in problem.terms:
        if isinstance(term, OwnTerm):
            total += term.energy(Seen(x, masses))
        else:
            total += float(masses @ term.potential(x))
    return total / energy_unit(problem)


def _pair_energy(problem: Problem, measure: Density | Measure | None) -> float:
    """Interaction energy by a sum over pairs of tokens; NaN for densities."""
    if not isinstance(measure, Measure):
        return float("nan")
    kernel, x, mass = problem.own_kernel, measure.points, measure.mass
    function, _ = _potential(kernel)
    # Kernels make a few arrays of the size of a block.
    rows = max(1, PAIRS_AT_ONCE // (4 * len(x)))
    total = 0.0
    for i in range(0, len(x), rows):
        cosines = x[i : i + rows] @ x.T
        np.clip(cosines, -1.0, 1.0, out=cosines)
        total += float(mass[i : i + rows] @ (function(cosines) @ mass))
    return total / _reference(kernel, problem.manifold.dimension)


def _potential(
    kernel: Kernel,
) -> tuple[Callable[[FloatArray], FloatArray], Callable[[int, int], FloatArray]]:
    """W and its multipliers; of the built-in kernels a = beta W, as 1 / beta may overflow."""
    if kernel.log_slope:
        return kernel.attention, kernel.attention_multipliers
    return kernel.potential, kernel.potential_multipliers


def _reference(kernel: Kernel, dimension: int) -> float:
    """Value of `_potential` at a point, for beta < 0 its mean over uniform pairs."""
    function, multipliers = _potential(kernel)
    return float(multipliers(dimension, 0)[0] if kernel.beta < 0 else function(np.ones(1))[0])


@lru_cache(maxsize=64)
def energy_multipliers(kernel: Kernel, dimension: int, degree: int) -> FloatArray:
    """Multipliers of the potential, divided by twice the reference energy."""
    _, multipliers_of = _potential(kernel)
    multipliers, reference = multipliers_of(dimension, degree), _reference(kernel, dimension)
    return np.asarray(multipliers / reference)


# f log f is no polynomial, and its spectrum decays slowly where f touches zero. The degree of the
# grid doubles until two values agree this well, or the grid has enough nodes.
_AGREEMENT = 1e-13
_FIRST_DEGREE = 32
_MOST_NODES = 2**19
_GOLDEN_ANGLE = np.pi * (3.0 - np.sqrt(5.0))
# Axial densities: radians of the fastest wave on a panel of 16 nodes.
_PHASE = 8.0


def entropy(measure: Density | Measure) -> float:
    """Entropy -int f log f dsigma <= 0 of a density; NaN for points.

    Nodal values below zero (rounding) count as zero. The absolute error is about 1e-13, and 1e-12
    if f touches zero.

    >>> import meanfield as mf
    >>> entropy(mf.Density(mf.Circle(), [1.0])) == 0.0
    True
    """
    return float("nan") if isinstance(measure, Measure) else _density_entropy(measure)


@lru_cache(maxsize=1)
def _density_entropy(density: Density) -> float:
    # Cached, because the free energy needs the entropy of the same density.
    degree = max(density.max_degree // 2, _FIRST_DEGREE)
    coarse, _ = _quadrature(density, degree)
    while True:
        degree *= 2
        fine, nodes = _quadrature(density, degree)
        if abs(fine - coarse) <= _AGREEMENT * (1.0 + abs(fine)) or nodes >= _MOST_NODES:
            return fine
        coarse = fine


def _quadrature(density: Density, degree: int) -> tuple[float, int]:
    """Entropy on the grid of a degree, and its number of nodes."""
    from scipy.special import xlogy

    if density.manifold.has_rings:
        # Their grids would have tables of the size of the squared degree.
        panels = label_cells(density.manifold, _PHASE / degree)
        values = np.maximum(density.at(panels.points), 0.0)
        return -float(panels.weights @ xlogy(values, values)), 16 * len(values)
    grid = density.manifold.grid(degree)
    # On two grids aliases could agree by chance; a rotation by another angle each prevents this.
    orders = coordinates(density.manifold.dimension, density.max_degree).orders
    turned = density.coefficients * np.exp(1j * _GOLDEN_ANGLE / degree * orders)
    values = np.maximum(grid.to_nodal(turned), 0.0)
    return -float(grid.weights @ xlogy(values, values)), len(values)


def free_energy(problem: Problem, measure: Density | Measure, moments: ModalArray) -> float:
    """Free energy F = D int f log f dsigma - strength / 2 int int W(<x, y>) dmu dmu.

    Without normalisation the equation is its gradient flow, dF/dt = -int |D grad log f - v|^2 dmu,
    so F never increases. NaN for a normalised flow (except the linear kernel, where Z = 1), for
    which none is known, and with diffusion for points, which have no entropy.

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.linear(), mf.Flow("none", diffusivity=0.3))
    >>> density = mf.von_mises_fisher(2.0).build(mf.Circle())
    >>> m = density.moments(12)
    >>> round(free_energy(problem, density, m), 12), round(-float(m[1].real) ** 2 / 2, 12)
    (-0.071978004315, -0.243444736648)
    """
    if not problem.has_free_energy:
        return float("nan")
    flow, kernel, space = problem.flow, problem.own_kernel, problem.manifold
    multipliers = _potential_multipliers(kernel, space.dimension, problem.kernel_degree)
    interaction = 0.5 * space.inner(space.convolve(multipliers, moments), moments)
    disorder = flow.diffusivity * -entropy(measure) if flow.diffusivity else 0.0
    return disorder - flow.strength * interaction


@lru_cache(maxsize=64)
def _potential_multipliers(kernel: Kernel, dimension: int, degree: int) -> FloatArray:
    return kernel.potential_multipliers(dimension, degree)


def ascent(problem: Problem) -> Callable[[Density | Measure, ModalArray], float]:
    """Function of a measure and its moments that never falls along the flow, of size 1.

    Without diffusion it is 1/2 int Phi dmu, whose rate is int |grad Phi|^2 / Z dmu; with diffusion
    minus the free energy. The unit is that integral for a Dirac measure with |Phi_l|, plus the
    diffusivity. For heads with matrices it is their energy. NaN where none is known, for heads with
    diffusion, and for doubly stochastic ones.
    """
    space, flow = problem.manifold, problem.flow
    attention = problem.attention
    if not problem.layering.is_flow:
        # A step may be too long to climb.
        return lambda measure, moments: float("nan")
    if problem.terms or problem.has_labels or problem.time_functions or not space.has_series:
        # The energy of attention may fall, or would need a sum over all pairs at each time.
        return lambda measure, moments: float("nan")
    if attention is not None:
        is_gradient = energy_note(problem) is None and attention.normalization != "sinkhorn"
        if not is_gradient or flow.diffusivity:
            return lambda measure, moments: float("nan")
        strongest = sum(np.linalg.norm(h.value, 2) for h in attention.matrices(space.ambient))
        return lambda measure, moments: (
            interaction_energy(problem, moments, measure) / max(float(strongest), 1e-300)
        )
    multipliers = 0.5 * interaction(problem).potential_multipliers
    point = space.moments(np.array([space.origin]), None, len(multipliers) - 1)
    size = space.inner(space.convolve(np.abs(multipliers), point), point)

    def climbed(measure: Density | Measure, moments: ModalArray) -> float:
        if flow.diffusivity:
            return -free_energy(problem, measure, moments) / (size + flow.diffusivity)
        return space.inner(space.convolve(multipliers, moments), moments) / size

    return climbed


# Relative rounding of a value that is a multiple of a score.
_ROUNDING = 64 * EPS


def energy_note(problem: Problem) -> str | None:
    """Why a problem has no energy, one line; None if it has one."""
    d, of = problem.manifold.ambient, problem.attention
    if problem.terms:
        linear = of is None and problem.own_kernel.log_slope == 0.0
        if problem.normalization != "none" and not linear:
            return "no energy: Z divides attention, and not the fixed fields beside it."
        reasons = [term.no_potential(d) for term in problem.terms]
        for reason in reasons:
            if reason is not None:
                return f"no energy: {reason}."
    return None if of is None else _climbed(of, d)[1]


@lru_cache(maxsize=64)
def _climbed(
    attention: Attention, d: int
) -> tuple[tuple[tuple[HeadMatrices, float], ...], str | None]:
    """Heads with their numbers gamma, and None; without an energy no heads, and the reason."""
    heads, name = attention.matrices(d), attention.normalization
    if attention.masking != EVERYONE:
        return (), "no energy: positions attend to each other by a mask, and not all alike."
    if name != "none" and len(heads) > 1:
        return (), f"no energy: several heads with {name} are no gradient flow together."
    pairs = []
    for number, head in enumerate(heads, 1):
        score, value = head
        if not value.any():
            continue
        whose = f"no energy: of head {number} "
        if not is_symmetric(score):
            return (), f"{whose}the score Q^T K is not symmetric."
        if not score.any():
            return (), f"{whose}the score is 0, of which the value is no multiple."
        multiple = float((value * score).sum() / (score * score).sum())
        if np.abs(value - multiple * score).max() > _ROUNDING * np.abs(value).max():
            return (), f"{whose}the value is no multiple of the score Q^T K."
        pairs.append((head, multiple))
    return tuple(pairs), None


def heads_energy(problem: Problem, moments: ModalArray, measure: Density | Measure | None) -> float:
    """Energy of heads, in the unit of one cluster for B = V = 1; NaN without one.

        2 s e^{-s} E,    s = beta of the problem, the largest |S_h|_2;    2 E_S for "sinkhorn"

    For one head, a cluster along its largest direction has the energy |V|_2. Weights of E_S are
    accurate to 1e-13, see `sinkhorn.scaling`.

    measure: sums over pairs replace the series if it has few points. E_S needs it.
    """
    attention, space = problem.attention, problem.manifold
    if attention is None:
        raise ValueError("the problem has a kernel, no heads: its energy is interaction_energy.")
    heads, reason = _climbed(attention, space.ambient)
    if reason is not None:
        return float("nan")
    if attention.normalization == "sinkhorn":
        if measure is None:
            raise ValueError("doubly stochastic attention has the energy of a measure: give it.")
        return sum((-2.0 * gamma * _log_weight(space, head, measure) for head, gamma in heads), 0.0)
    s, points = problem.beta, measure if isinstance(measure, Measure) else None
    total = 0.0
    for head, gamma in heads:
        if points is not None and len(points.points) <= MOST_PAIRS:
            x = space.vectors(points.points)
            log_partition = tilted(x @ head.score, x, points.mass).log_partition
            total += gamma * s * float(points.mass @ np.exp(log_partition - s))
            continue
        series = head_table(space, head, False, s).partition(moments)
        total += gamma * s * space.inner(series, space.resize(moments, space.degree_of(series)))
    return total


def _log_weight(space: Manifold, head: HeadMatrices, measure: Density | Measure) -> float:
    """Integral of log u over a measure, u = w; the mean of both removes a constant between them."""
    rows, columns = (partial(side, space, each) for each in (head.score, head.score.T))
    if isinstance(measure, Measure):
        masses = measure.mass
        scaling = point_scaling(space, head.score, measure.points, masses, rows, columns)
    else:
        coefficients = measure.coefficients
        _, masses, scaling = density_scaling(space, head.score, coefficients, rows, columns)
    logs = 0.5 * (scaling.log_u + scaling.log_w)
    return float(masses @ np.where(masses > 0.0, logs, 0.0))
