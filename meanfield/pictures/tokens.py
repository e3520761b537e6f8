"""Tokens on pictures of a run: those of a particle run, or some that follow a density; atoms.

Tokens of a density, and of characteristics, start at equal masses and follow the velocity that the
stored moments give, of Sinkhorn those of its weighted measures, dx / dt = v(x, t), the moments
interpolated by cubic splines in time. Paths end where atoms take over.

On the circle they start at quantiles. On the sphere z_i is the quantile (i + 1/2) / n of the
marginal in z, and the longitude the quantile frac(i / golden ratio) given z, a Fibonacci lattice
where it is uniform; nodes of characteristics are taken at the same quantiles of their masses as
they are stored.

The equation is solved once for all pictures of a run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeGuard
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from meanfield.arrays import FloatArray, ModalArray
from meanfield.fields.driven import DrivenInteraction
from meanfield.fields.felt import Attended, Felt, Field, attention_of, felt_by
from meanfield.fields.heads import HeadsField, HeadsInteraction
from meanfield.measures import Density, Measure
from meanfield.pictures.circle import quantiles
from meanfield.pictures.projections import directions
from meanfield.pictures.saved_times import (
    is_smooth,
    saves_with_a_density,
    saves_with_the_same_tokens,
)
from meanfield.runs import Run

_PATH_TOLERANCE = 1e-8
MOST_DRAWN = 2000
_FOLLOWED = 300
# Saved times at which weights of Sinkhorn are found again.
_MOST_BALANCED = 400
_ROWS = 400
# Far below what a picture shows.
_TOLERANCE = 1e-6
# What was solved of each run, by which tokens and which times, as long as the run lives.
_SOLVED: WeakKeyDictionary[Run, dict[tuple[str, int, int], FloatArray]] = WeakKeyDictionary()


def token_paths(run: Run, count: int, per_interval: int = 1) -> tuple[FloatArray, FloatArray]:
    """Times and unwrapped angles of `count` tokens, evenly chosen by their initial order.

    Parameters
    ----------
    run : Run
        On the circle, with its states kept.
    count : int
        Number of tokens; fewer if the run has fewer.
    per_interval : int
        Points a saved interval, for tokens that follow the moments.

    Returns
    -------
    times : ndarray, shape (n,)
        Scaled time, from the first saved time on, as far as the paths go.
    angles : ndarray, shape (n, number of tokens)
        Radians, not wrapped. No tokens if the velocity cannot be had from the file, see
        `run_interaction`.
    """
    first, same = run.measures[0], saves_with_the_same_tokens(run)
    if same and isinstance(first, Measure):
        points = [m.points for m in run.measures[:same] if isinstance(m, Measure)]
        return run.scaled_time[:same], np.array(points)[:, evenly_chosen(first.points, count)]
    felt, saves = run_interaction(run), saves_with_a_density(run)
    if felt is None or saves < 2 or first is None:
        return run.scaled_time, np.zeros((len(run.scaled_time), 0))
    times = refined(run.scaled_time[:saves], per_interval)
    return times, _once(
        run,
        ("paths", count, per_interval),
        lambda: paths_from_moments(run, felt, quantiles_at_start(first, count), times),
    )


def _once(run: Run, what: tuple[str, int, int], solve: Callable[[], FloatArray]) -> FloatArray:
    """What `solve` gives, solved when it is first asked for; not to be written to."""
    solved = _SOLVED.setdefault(run, {})
    if what not in solved:
        found = solve()
        found.setflags(write=False)
        solved[what] = found
    return solved[what]


def paths_from_moments(run: Run, felt: Felt, start: FloatArray, times: FloatArray) -> FloatArray:
    """Angles at `times`, shape (n, len(start)), of tokens that begin at `start`.

    DOP853 to 1e-8; what the interpolation of the moments in time costs comes on top.

    Raises
    ------
    ValueError
        If the velocity of these moments cannot be followed.
    """
    from scipy.integrate import solve_ivp

    field = _field_over_time(run, felt, int(np.sum(run.scaled_time <= times[-1])))
    solution = solve_ivp(
        lambda t, angles: field(t).velocity(angles),
        (times[0], times[-1]),
        start,
        method="DOP853",
        t_eval=times,
        rtol=_PATH_TOLERANCE,
        atol=_PATH_TOLERANCE,
    )
    if not solution.success:
        raise ValueError(f"tokens cannot follow the moments of this run: {solution.message}")
    return np.asarray(solution.y.T)


def run_interaction(run: Run) -> Felt | None:
    """What a run's tokens feel; None where its file does not tell, a kernel of the user's own.

    None also with diffusion: noisy tokens have no paths that a density knows; with labels, of which
    each sees another field; and with Sinkhorn if
    states were not kept or are very many: its weights follow from measures, not from the moments
    that are stored.
    """
    try:
        problem = run.problem
    except ValueError:
        return None
    if problem.flow.diffusivity > 0 or problem.has_labels or problem.stages:
        return None
    felt = felt_by(problem)
    if is_doubly_stochastic(attention_of(felt)):
        measures = run.measures[: saves_with_a_density(run)]
        if len(measures) > _MOST_BALANCED or any(measure is None for measure in measures):
            return None
    return felt


def is_doubly_stochastic(felt: Attended) -> TypeGuard[HeadsInteraction]:
    """Whether weights follow from the measure by Sinkhorn's scaling."""
    return isinstance(felt, HeadsInteraction) and felt.normalization == "sinkhorn"


def _field_over_time(run: Run, felt: Felt, count: int) -> Callable[[float], Field]:
    """Field at any time between the first saved times, whose moments are interpolated."""
    from scipy.interpolate import CubicSpline

    space, times = run.manifold, run.scaled_time[:count]
    own = attention_of(felt)
    if is_doubly_stochastic(own):
        each = CubicSpline(times, [_balanced(own, measure) for measure in run.measures[:count]])
        whole = felt.beside if isinstance(felt, DrivenInteraction) else _alone
        return lambda time: whole(own.field(list(each(time))))
    packed = [space.resize(moments, felt.degree) for moments in run.packed_moments()[:count]]
    moments = CubicSpline(times, np.array(packed))
    return lambda time: felt.field(moments(time))


def _alone(field: HeadsField) -> HeadsField:
    return field


def _balanced(felt: HeadsInteraction, measure: Density | Measure | None) -> ModalArray:
    """Moments (heads, n) of the measures w mu that Sinkhorn's weights leave, each of mass 1."""
    assert measure is not None
    space = felt.manifold
    if isinstance(measure, Density):
        found = felt.balanced_moments(measure.coefficients)
    else:
        masses = felt.masses(measure.points, measure.mass)
        found = [space.moments(measure.points, mass, felt.degree) for mass in masses]
    # Factors that differ from one time to the next would bend what lies between.
    return np.array([space.resize(each, felt.degree) / each.flat[0].real for each in found])


def quantiles_at_start(measure: Density | Measure, count: int) -> FloatArray:
    """Where the drawn tokens begin: quantiles of the initial measure."""
    few = min(count, len(measure.points)) if isinstance(measure, Measure) else count
    return quantiles(measure, few)


def evenly_chosen(angles: FloatArray, count: int) -> NDArray[np.int64]:
    """Indices of up to `count` tokens, evenly spread over their order on the circle.

    Examples
    --------
    >>> evenly_chosen(np.array([0.3, 0.1, 0.2, 0.4]), 2)
    array([2, 3])
    """
    order = np.argsort(angles % (2 * np.pi), kind="stable")
    few = min(count, len(order))
    return order[((np.arange(few) + 0.5) * len(order) / few).astype(np.int64)]


def refined(times: FloatArray, per_interval: int) -> FloatArray:
    """Times with per_interval - 1 more between neighbours.

    Examples
    --------
    >>> refined(np.array([0.0, 1.0, 3.0]), 2)
    array([0. , 0.5, 1. , 2. , 3. ])
    """
    positions = np.arange((len(times) - 1) * per_interval + 1) / per_interval
    return np.asarray(np.interp(positions, np.arange(len(times)), times))


def tokens_of(run: Run) -> list[FloatArray]:
    """Tokens that are drawn at every saved time, each (n, 3).

    Of particles, and atoms, at most 2000, evenly chosen. None where the state was not kept, or
    where the file does not tell how tokens of a density move: a kernel of the user's own, or
    diffusion.
    """
    none = np.zeros((0, 3))
    first, felt = run.measures[0], run_interaction(run)
    moved: list[FloatArray] = []
    count = saves_with_a_density(run)
    if first is not None and felt is not None and count > 1:
        moved = list(
            _once(run, ("points", _FOLLOWED, 1), lambda: followed(run, felt, _start(first), count))
        )
    return moved + [
        some_tokens(measure) if isinstance(measure, Measure) and not is_smooth(run, i) else none
        for i, measure in enumerate(run.measures[len(moved) :], start=len(moved))
    ]


def _start(first: Density | Measure) -> FloatArray:
    """Where tokens that follow a density, or nodes of characteristics, begin."""
    if isinstance(first, Density):
        return equal_masses(first, _FOLLOWED)
    return equal_nodes(first, _FOLLOWED)


def some_tokens(measure: Measure, most: int = MOST_DRAWN) -> FloatArray:
    """Tokens of a measure, at most so many, evenly chosen."""
    count = len(measure.points)
    few = min(count, most)
    return np.asarray(measure.points[((np.arange(few) + 0.5) * count / few).astype(np.int64)])


def equal_nodes(measure: Measure, count: int) -> FloatArray:
    """Points (count, 3) of a measure, each for the same mass, in the order in which they stand."""
    covered = np.cumsum(measure.mass)
    levels = covered[-1] * (np.arange(count) + 0.5) / count
    return np.asarray(measure.points[np.searchsorted(covered, levels)])


def followed(run: Run, felt: Felt, start: FloatArray, count: int | None = None) -> FloatArray:
    """Points (n_saves, n, 3) at the first saved times of tokens that begin at `start`, to 1e-5.

    What the interpolation of the moments in time costs comes on top.
    """
    from scipy.integrate import solve_ivp

    space = run.manifold
    times = run.scaled_time[:count]
    field = _field_over_time(run, felt, len(times))

    def velocity(time: float, flat: FloatArray) -> FloatArray:
        points = space.retract(space.unflattened(flat))[0]
        return field(time).velocity(points).ravel()

    solution = solve_ivp(
        velocity,
        (times[0], times[-1]),
        start.ravel(),
        t_eval=times,
        rtol=_TOLERANCE,
        atol=_TOLERANCE,
    )
    return np.asarray(space.retract(solution.y.T.reshape(len(times), -1, 3))[0])


def equal_masses(density: Density, count: int) -> FloatArray:
    """Points (count, 3), each for the same mass of a density."""
    z = (2 * np.arange(_ROWS) + 1) / _ROWS - 1
    longitude = np.pi * ((2 * np.arange(2 * _ROWS) + 1) / (2 * _ROWS) - 1)
    points = directions(*np.meshgrid(longitude, np.arcsin(z))).reshape(-1, 3)
    values = density.manifold.evaluate(density.coefficients, np.ascontiguousarray(points))
    # Rows of equal height in z have equal areas.
    mass = np.maximum(values, 0.0).reshape(_ROWS, -1)
    levels = (np.arange(count) + 0.5) / count
    heights = _quantiles(mass.sum(axis=1), levels)
    golden = 0.5 * (1.0 + np.sqrt(5.0))
    turns = [
        _quantiles(mass[min(int(_ROWS * height), _ROWS - 1)], np.array([(i / golden) % 1.0]))[0]
        for i, height in enumerate(heights)
    ]
    return directions(np.pi * (2.0 * np.array(turns) - 1.0), np.arcsin(2.0 * heights - 1.0))


def _quantiles(mass: FloatArray, levels: FloatArray) -> FloatArray:
    """Places in [0, 1] below which a share of the mass lies, of masses of equal cells."""
    covered = np.concatenate([[0.0], np.cumsum(mass)])
    return np.asarray(np.interp(levels, covered / covered[-1], np.linspace(0.0, 1.0, len(covered))))
