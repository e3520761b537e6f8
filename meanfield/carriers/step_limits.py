"""Limits of explicit steps, and refusals of problems that no carrier can step."""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from meanfield.fields.engines import direct_sum_limit
from meanfield.fields.positive_sums import MOST_PAIRED_NODES
from meanfield.measures import Density, Measure
from meanfield.problem import Problem
from meanfield.terms.flows import Flow

STABLE = 5.0
"""Longest step times rate of contraction.

DOP853 is stable on the negative axis down to -6.4, and damps at -5 (|R(-5)| = 0.057).
"""

LINEAR = 0.35
"""Longest step times rate of growth, near the uniform state.

A mode smaller than the tolerance is invisible to the error control, which would take steps of
several e-folds. With steps of a third of one DOP853 follows e^{lambda t} to 1e-10.
"""

GROWN = 100.0
"""Largest error of moments or energy, in tolerances: the flow amplifies errors of steps.

A run ends if moments, or an energy, are further from possible values.
"""

LARGEST_SUM_DEGREE = {"circle": 700, "sphere": 130}
"""Largest degrees of heads: their tables have as many entries as moments, squared."""

NOISY = 'Use representation "density" or "particles".'
NOISY_POINTS = 'Use representation "particles", with a step.'
"""Advice about diffusion: for any measure, and for points."""

BY_LAW = (
    'take "auto" from a law of von Mises-Fisher densities with a tolerance that '
    f"{MOST_PAIRED_NODES} nodes reach, or particles"
)
"""Advice: representations with relative accuracy."""

# Rates are this times the square of a degree, up to 131,072; steppers take their third powers,
# which must stay below 1.8e308.
_LARGEST_RATE = 1e90
# The midpoint rule is stable on the negative axis down to -2, and damps best at -1.
_MIDPOINT = 1.0


def contraction_rate(problem: Problem) -> float:
    """Contraction rate of a measure in one place: |strength| max |a|, for SA |strength|.

    For heads a bound: the sum of |V|_2, without normalisation each times its largest weight.

    >>> import meanfield as mf
    >>> contraction_rate(mf.Problem(mf.Circle(), mf.exponential(beta=9.0), mf.USA))
    1.0
    """
    return steepness(problem) + problem.isotropic_bound.contraction


def steepness(problem: Problem) -> float:
    """Bound of the rate at which fixed fields contract or separate neighbours."""
    return sum((term.steepness(problem.manifold.ambient) for term in problem.terms), 0.0)


def linear_rate(problem: Problem) -> float:
    """Largest modulus of the growth rates about uniform; for heads of their isotropic bound."""
    rates = problem.isotropic_bound.growth_rates(problem.kernel_degree)
    return float(np.abs(rates).max()) + steepness(problem)


def longest(share: float, rate: float) -> float:
    """Time share / rate; infinite if the rate is 0.

    >>> longest(5.0, 2.0), longest(5.0, 0.0)
    (2.5, inf)
    """
    return share / rate if rate > 0.0 else np.inf


def check_movable(problem: Problem, measure: Density | Measure | None = None) -> None:
    """Refuse kernels of too high degree, and rates out of range; few points need no tables."""
    check_range(problem.flow)
    if not problem.manifold.has_series:
        return
    largest = problem.manifold.largest_degree
    few = direct_sum_limit(problem.manifold, problem.kernel_degree)
    paired = isinstance(measure, Measure) and len(measure.points) < few
    if problem.attention is not None and not paired:
        largest = min(largest, LARGEST_SUM_DEGREE[problem.manifold.name])
    if problem.kernel_degree > largest:
        raise ValueError(
            f"the kernel needs degree {problem.kernel_degree}, at most {largest} on the "
            f"{problem.manifold.name}{' for heads' if problem.attention else ''}: reduce beta."
        )


def check_density_follows(problem: Problem) -> None:
    """Refuse layers that a density cannot follow."""
    layers = problem.layering
    if layers.moves_densities:
        return
    if not layers.is_flow:
        reason = "layers of a step > 0: nodes can be pushed forward, coefficients cannot"
    else:
        of = "tokens" if layers.has_radius else "outputs"
        reason = f'placement "{layers.placement}": its flow depends on the lengths of {of}'
    raise ValueError(
        f"a density cannot follow {reason}. "
        'Take the representation "characteristics" or "particles".'
    )


def check_no_layers(problem: Problem, what: str) -> None:
    """Refuse layers in studies, which assume the flow of attention."""
    if problem.layers is not None:
        raise ValueError(
            f"{what} rest on the flow of attention, and the problem has layers: use mf.simulate, "
            "or leave the layers out."
        )


def check_range(flow: Flow) -> None:
    """Refuse rates so large that steppers cannot compute with them."""
    for name, value in (("strength", flow.strength), ("diffusivity", flow.diffusivity)):
        if not callable(value) and abs(value) > _LARGEST_RATE:
            raise ValueError(
                f"{name} = {value:g} must be at most {_LARGEST_RATE:g} in modulus: rates of change "
                "would overflow. Measure time in a smaller unit."
            )


def lost_digits(lost: float, allowed: float, remedy: str = BY_LAW) -> str:
    """Reason to end where Z is lost in rounding (`positive_sums`)."""
    return (
        f"digits of Z are lost: it is so small where the mass is that rounding changes velocities "
        f"by {lost:.1e}, allowed is {allowed:.1e}; reduce |beta|, or {remedy}"
    )


def noisy_series(noise: float, allowed: float, diffusivity: float) -> str:
    """Reason to end where rounding of the largest coefficients spoils the others."""
    remedy = "raise the tolerance" if diffusivity else 'take "auto" or "characteristics"'
    return (
        f"the coefficients of the density are so large in this dimension that rounding changes "
        f"each by {noise:.1e}, allowed is {allowed:.1e}; {remedy}, or begin with a flatter law"
    )


def under_resolved(what: str, degree: int, problem: Problem) -> str:
    """Reason to end where this degree does not resolve the density."""
    # With diffusion no other carrier can take over.
    other = 'take "characteristics"'
    if not problem.time_functions:
        other += ', or "auto" with enough max_nodes'
    if problem.flow.diffusivity:
        other = "raise the diffusivity"
    return f"under-resolved: {what} at degree {degree}; raise max_degree, or {other}"


def check_step(problem: Problem, step: float | None) -> None:
    """Refuse noisy particles without a time step, and a time step without noise."""
    diffusivity = problem.flow.diffusivity
    if problem.noise_changes:
        raise ValueError(
            "particles cannot follow a diffusivity that is a function of time: use representation "
            '"density", or stages.'
        )
    if diffusivity and step is None:
        raise ValueError(
            f"particles with noise (diffusivity = {diffusivity:g}) need a time step: give step "
            "([time] step in a run file), for example 0.01."
        )
    if step is not None and not diffusivity:
        raise ValueError(
            f"step = {step:g} is for particles with noise; without, they choose their own steps."
        )
    if step is not None and step > (most := longest(_MIDPOINT, contraction_rate(problem))):
        raise ValueError(
            f"step = {step:g} in scaled time is too long for the drift: take at most {most:g}."
        )


FEATURES = frozenset({"layers", "labels", "diffusion", "time"})
"""Features of a problem beside attention; "time": parameters or terms that depend on it."""


def check_carries(
    problem: Problem, carrier: str, features: Container[str], noisy: str = NOISY
) -> None:
    """Refuse a problem that has more than these features; `noisy` is the advice on diffusion."""
    lacking = dict[str, str]()
    if problem.layers is not None:
        lacking["layers"] = "layers: take the representation 'particles' or 'characteristics'."
    if problem.has_labels:
        kind = "positions, which the mask asks for" if problem.mask != "none" else "frequencies"
        lacking["labels"] = f"{kind}: use representation 'labelled' or 'particles'."
    if problem.flow.diffusivity:
        lacking["diffusion"] = f"diffusion: got diffusivity = {problem.flow.diffusivity:g}. {noisy}"
    if problem.is_time_dependent:
        lacking["time"] = (
            "terms of your own or functions of time, which may part what has met: use "
            'representation "particles".'
        )
    for feature, reason in lacking.items():
        if feature not in features:
            raise ValueError(f"{carrier} cannot carry {reason}")
