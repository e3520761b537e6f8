"""Runs that stay at their start, and options that cannot act."""

from __future__ import annotations

import numpy as np

from meanfield.carriers.automatic import carriers
from meanfield.carriers.options import Options
from meanfield.carriers.step_limits import check_movable, contraction_rate
from meanfield.fields.interactions import interaction_of, transport
from meanfield.measures import Density, LabelledDensity, Measure
from meanfield.problem import Problem

# Rounding of div v of uniform relative to v: degree of the tables times machine epsilon.
_STILL = 1e-12
# Least degree of a grid that resolves the divergence of fixed fields.
_LEAST_GRID_DEGREE = 16

_WORDS = {"density": "a density", "labelled": "labelled densities"}
# Option -> its users, and a representation among them.
_USERS = {
    "max_degree": ("a density", "density"),
    "max_nodes": ("characteristics", "characteristics"),
    "tokens": ("particles drawn from a density", "particles"),
    "seed": ("drawn particles and noise", "particles"),
    "step": ("noisy particles", "particles"),
    "labels": ("labelled densities", "labelled"),
}

STATIONARY = (
    "uniform is stationary: nothing will happen. Give another initial law, or take the "
    'representation "particles" with tokens = 1000.'
)
"""Message about a run that stays at its start."""


def is_stationary(problem: Problem, options: Options) -> bool:
    """True if a run stays at its start: a uniform density, without random draws.

    Uniform is stationary for every kernel, flow and diffusivity, for some heads, and where a drift
    rotates; particles drawn from it are not uniform.

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=9.0), mf.USA)
    >>> is_stationary(problem, Options())
    True
    >>> is_stationary(problem, Options(name="particles", tokens=1000))
    False
    """
    measure = problem.initial_measure()
    uniform = isinstance(measure, Density) and not np.any(measure.coefficients[1:])
    if isinstance(measure, LabelledDensity):
        uniform = not np.any(measure.parts[:, 1:])
    return (
        uniform
        and carriers(problem, options)[0] != "particles"
        and options.perturb is None
        and all(uniform_is_stationary(stage) for stage in problem.staged)
    )


def uniform_is_stationary(problem: Problem) -> bool:
    """True if uniform is stationary: div v vanishes to rounding, as for a rigid rotation.

    >>> import meanfield as mf
    >>> of = [mf.Attention([mf.Head(value=v)], beta=3.0) for v in ([[1, -1], [1, 1]], [2, 1])]
    >>> [uniform_is_stationary(mf.Problem(mf.Circle(), each)) for each in of]
    [True, False]
    """
    if problem.kernel_alone:
        return True
    if problem.is_time_dependent:
        return False
    # Refuse tables that would be too large before making them.
    check_movable(problem)
    space, degree = problem.manifold, problem.kernel_degree
    uniform = space.resize(space.from_modes([]), degree)
    if problem.terms:
        # Fixed fields may have higher degrees, so div v is evaluated at points.
        points = space.grid(max(degree, _LEAST_GRID_DEGREE)).points
        field = interaction_of(problem).of_density(uniform)
        change = field.velocity_and_divergence(points)[1]
    else:
        change = transport(interaction_of(problem), degree)(uniform, False)
    return bool(np.abs(change).max() <= _STILL * contraction_rate(problem))


def idle_options(problem: Problem, options: Options) -> list[str]:
    """Options that cannot act on a run, whatever their values.

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=9.0), mf.USA)
    >>> idle_options(problem, Options(name="density"))
    ['max_nodes', 'tokens', 'seed', 'step', 'labels']
    """
    names = carriers(problem, options)
    particles = "particles" in names
    drawn = particles and isinstance(problem.initial_measure(), Density)
    noisy = particles and any(stage.flow.diffusivity > 0 for stage in problem.staged)
    turning = particles and problem.frequencies is not None
    acting = {
        "max_degree": "density" in names or "labelled" in names,
        "max_nodes": "characteristics" in names,
        "tokens": drawn,
        "seed": drawn or noisy or turning or options.perturb is not None,
        "step": noisy,
        "labels": "labelled" in names,
    }
    return [name for name, acts in acting.items() if not acts]


def unused_message(name: str, value: object, problem: Problem, options: Options) -> str:
    """Message that says why an option cannot act, with a remedy."""
    names = carriers(problem, options)
    first = _WORDS.get(names[0], names[0])
    if first == "particles":
        first = f"particles {'with' if problem.flow.diffusivity else 'without'} noise"
        if isinstance(problem.initial_measure(), Measure):
            first += " from given points"
    run = f"{first}, then {' and '.join(names[1:])}" if len(names) > 1 else first
    users, other = _USERS[name]
    return (
        f"{name} = {value} cannot act: it is for {users}, and this "
        f'run is {run}. Leave it out, or take the representation "{other}".'
    )


def check_options(problem: Problem, options: Options) -> None:
    """Refuse options that cannot act on a run and differ from their defaults."""
    for name in idle_options(problem, options):
        value = getattr(options, name)
        if value != getattr(Options, name):
            raise ValueError(unused_message(name, value, problem, options))
