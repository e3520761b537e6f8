"""Tokens on pictures of a run: particles, or tokens that follow a density; atoms.

Tokens of a density, and of characteristics, start at equal masses and follow dx / dt = v(x, t). The
velocity comes from the stored moments; Sinkhorn's comes from moments of its weighted measures.
Cubic splines interpolate the moments in time. Paths end at the hand-over to atoms.

On the circle tokens start at quantiles. On the sphere z_i is the quantile (i + 1/2) / n of the
marginal in z. The longitude is the quantile frac(i / golden ratio) given z: a Fibonacci lattice
under the uniform law. Characteristics have nodes at the same quantiles of mass, in stored order.
All pictures of a run share one solution.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from meanfield.arrays import FloatArray, ModalArray, read_only
from meanfield.fields.heads import HeadsInteraction
from meanfield.fields.interactions import (
    AnyInteraction,
    AttentionInteraction,
    Field,
    interaction_of,
)
from meanfield.figures.data.circle import quantiles
from meanfield.figures.data.projections import directions
from meanfield.figures.data.saved_times import (
    is_smooth,
    saves_with_a_density,
    saves_with_the_same_tokens,
)
from meanfield.measures import Density, Measure
from meanfield.runs import Run

_PATH_TOLERANCE = 1e-8
MOST_DRAWN = 2000
_FOLLOWED = 300
# Most saved times at which Sinkhorn's weights are computed again.
_MOST_BALANCED_SAVES = 400
_ROWS = 400
# Far below a pixel.
_TOLERANCE = 1e-6
# Solutions of each run, by kind, number of tokens and points an interval.
_SOLVED: WeakKeyDictionary[Run, dict[tuple[str, int, int], FloatArray]] = WeakKeyDictionary()


def token_paths(run: Run, count: int, per_interval: int = 1) -> tuple[FloatArray, FloatArray]:
    """Scaled times (n,), and unwrapped angles (n, tokens) of `count` tokens on the circle.

    per_interval: points in each saved interval, for tokens that follow the moments. There are no
    tokens if the velocity is unknown, see `run_interaction`.
    """
    first, same = run.measures[0], saves_with_the_same_tokens(run)
    if same and isinstance(first, Measure):
        points = [m.points for m in run.measures[:same] if isinstance(m, Measure)]
        return run.scaled_time[:same], np.array(points)[:, evenly_chosen(first.points, count)]
    interaction, saves = run_interaction(run), saves_with_a_density(run)
    if interaction is None or saves < 2 or first is None:
        return run.scaled_time, np.zeros((len(run.scaled_time), 0))
    times = refined(run.scaled_time[:saves], per_interval)
    return times, _once(
        run,
        ("paths", count, per_interval),
        lambda: paths_from_moments(run, interaction, quantiles_at_start(first, count), times),
    )


def _once(run: Run, what: tuple[str, int, int], solve: Callable[[], FloatArray]) -> FloatArray:
    """Read-only result of `solve`, computed at the first call."""
    solved = _SOLVED.setdefault(run, {})
    if what not in solved:
        solved[what] = read_only(solve())
    return solved[what]


def paths_from_moments(
    run: Run, interaction: AnyInteraction, start: FloatArray, times: FloatArray
) -> FloatArray:
    """Angles (n, tokens) at `times` of tokens that begin at `start`, by DOP853 to 1e-8."""
    from scipy.integrate import solve_ivp

    field = _field_over_time(run, interaction, int(np.sum(run.scaled_time <= times[-1])))
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


def run_interaction(run: Run) -> AnyInteraction | None:
    """Mean field of a run's tokens; None if its file lacks it, as for a user's own kernel.

    Also None with diffusion, labels, stages, or what may change with time, and with Sinkhorn if
    states are missing or too many.
    """
    try:
        problem = run.problem
    except ValueError:
        return None
    changes = problem.stages or problem.is_time_dependent
    if problem.flow.diffusivity > 0 or problem.has_labels or changes:
        return None
    interaction = interaction_of(problem)
    if is_doubly_stochastic(interaction.attention):
        measures = run.measures[: saves_with_a_density(run)]
        if len(measures) > _MOST_BALANCED_SAVES or any(measure is None for measure in measures):
            return None
    return interaction


def is_doubly_stochastic(interaction: AttentionInteraction) -> TypeGuard[HeadsInteraction]:
    """True if weights follow from the measure by Sinkhorn's scaling."""
    return isinstance(interaction, HeadsInteraction) and interaction.normalization == "sinkhorn"


def _field_over_time(run: Run, interaction: AnyInteraction, count: int) -> Callable[[float], Field]:
    """Field at any time among the first `count` saved times, from interpolated moments."""
    from scipy.interpolate import CubicSpline

    space, times = run.manifold, run.scaled_time[:count]
    own = interaction.attention
    if is_doubly_stochastic(own):
        each = CubicSpline(times, [_balanced(own, measure) for measure in run.measures[:count]])
        several: Any = interaction  # its field takes a list, one measure for each head
        return lambda time: several.field(list(each(time)))
    packed = [space.resize(moments, interaction.degree) for moments in run.packed_moments()[:count]]
    moments = CubicSpline(times, np.array(packed))
    return lambda time: interaction.field(moments(time))


def _balanced(interaction: HeadsInteraction, measure: Density | Measure | None) -> ModalArray:
    """Moments (heads, n) of the measures w mu with Sinkhorn's weights w, each of mass 1."""
    assert measure is not None
    space = interaction.manifold
    if isinstance(measure, Density):
        balanced = interaction.balanced_moments(measure.coefficients)
    else:
        masses = interaction.masses(measure.points, measure.mass)
        balanced = [space.moments(measure.points, mass, interaction.degree) for mass in masses]
    # Mass 1 removes factors that vary from time to time and would spoil the interpolation.
    return np.array(
        [space.resize(each, interaction.degree) / each.flat[0].real for each in balanced]
    )


def quantiles_at_start(measure: Density | Measure, count: int) -> FloatArray:
    """Starting angles of the drawn tokens: quantiles of the initial measure."""
    few = min(count, len(measure.points)) if isinstance(measure, Measure) else count
    return quantiles(measure, few)


def evenly_chosen(angles: FloatArray, count: int) -> NDArray[np.int64]:
    """Indices of up to `count` tokens, evenly spread over their order on the circle."""
    order = np.argsort(angles % (2 * np.pi), kind="stable")
    return order[even_indices(len(order), count)]


def even_indices(count: int, most: int) -> NDArray[np.int64]:
    """At most `most` indices below `count`, evenly spread."""
    few = min(count, most)
    return ((np.arange(few) + 0.5) * count / few).astype(np.int64)


def refined(times: FloatArray, per_interval: int) -> FloatArray:
    """Times with per_interval - 1 additional ones between neighbours."""
    positions = np.arange((len(times) - 1) * per_interval + 1) / per_interval
    return np.asarray(np.interp(positions, np.arange(len(times)), times))


def tokens_of(run: Run) -> list[FloatArray]:
    """Tokens (n, 3) to draw at every saved time, at most 2000; n is 0 if they are unknown."""
    none = np.zeros((0, 3))
    first, interaction = run.measures[0], run_interaction(run)
    moved: list[FloatArray] = []
    count = saves_with_a_density(run)
    if first is not None and interaction is not None and count > 1:
        moved = list(
            _once(
                run,
                ("points", _FOLLOWED, 1),
                lambda: followed(run, interaction, _start(first), count),
            )
        )
    return moved + [
        some_tokens(measure) if isinstance(measure, Measure) and not is_smooth(run, i) else none
        for i, measure in enumerate(run.measures[len(moved) :], start=len(moved))
    ]


def _start(first: Density | Measure) -> FloatArray:
    """Starting points of tokens that follow a density or characteristics."""
    if isinstance(first, Density):
        return equal_masses(first, _FOLLOWED)
    return equal_nodes(first, _FOLLOWED)


def some_tokens(measure: Measure, most: int = MOST_DRAWN) -> FloatArray:
    """At most `most` tokens of a measure, evenly chosen."""
    return np.asarray(measure.points[even_indices(len(measure.points), most)])


def equal_nodes(measure: Measure, count: int) -> FloatArray:
    """Points (count, ...) of a measure at equal steps of mass, in stored order."""
    covered = np.cumsum(measure.mass)
    levels = covered[-1] * (np.arange(count) + 0.5) / count
    return np.asarray(measure.points[np.searchsorted(covered, levels)])


def followed(
    run: Run, interaction: AnyInteraction, start: FloatArray, count: int | None = None
) -> FloatArray:
    """Points (n_saves, n, 3) at the first saved times of tokens that begin at `start`."""
    from scipy.integrate import solve_ivp

    space = run.manifold
    times = run.scaled_time[:count]
    field = _field_over_time(run, interaction, len(times))

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
    """Points (count, 3) that each represent the same mass of a density."""
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
    """Quantiles in [0, 1] of the masses of equal cells, at `levels`."""
    covered = np.concatenate([[0.0], np.cumsum(mass)])
    return np.asarray(np.interp(levels, covered / covered[-1], np.linspace(0.0, 1.0, len(covered))))
