"""Paths of a few tokens through a run, for the picture of its density.

Tokens of a particle run are known. Those of a density, and of characteristics, follow the velocity
that the stored moments give, d theta / dt = v(theta, t), the moments interpolated by cubic splines
in time. Paths end where atoms take over.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from meanfield.arrays import FloatArray
from meanfield.fields.mean_field import Interaction, interaction
from meanfield.measures import Density, Measure
from meanfield.outputs.plots.carriers import saves_with_a_density, saves_with_the_same_tokens
from meanfield.outputs.plots.cell_means import quantiles
from meanfield.run import Run

_TOLERANCE = 1e-8


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
        Radians, not wrapped. No tokens if the velocity cannot be had from the file: a kernel
        of the user's own, or diffusion.
    """
    first, same = run.measures[0], saves_with_the_same_tokens(run)
    if same and isinstance(first, Measure):
        points = [m.points for m in run.measures[:same] if isinstance(m, Measure)]
        return run.time[:same], np.array(points)[:, evenly_chosen(first.points, count)]
    felt, followed = run_interaction(run), saves_with_a_density(run)
    if felt is None or followed < 2 or first is None:
        return run.time, np.zeros((len(run.time), 0))
    times = refined(run.time[:followed], per_interval)
    return times, paths_from_moments(run, felt, quantiles_at_start(first, count), times)


def paths_from_moments(
    run: Run, felt: Interaction, start: FloatArray, times: FloatArray
) -> FloatArray:
    """Angles at `times`, shape (n, len(start)), of tokens that begin at `start`.

    DOP853 to 1e-8; what the interpolation of the moments in time costs comes on top.

    Raises
    ------
    ValueError
        If the velocity of these moments cannot be followed.
    """
    from scipy.integrate import solve_ivp
    from scipy.interpolate import CubicSpline

    covered = run.time <= times[-1]
    moments = CubicSpline(run.time[covered], run.moments[covered, : felt.degree + 1])
    solution = solve_ivp(
        lambda t, angles: felt.field(moments(t)).velocity(angles),
        (times[0], times[-1]),
        start,
        method="DOP853",
        t_eval=times,
        rtol=_TOLERANCE,
        atol=_TOLERANCE,
    )
    if not solution.success:
        raise ValueError(f"tokens cannot follow the moments of this run: {solution.message}")
    return np.asarray(solution.y.T)


def run_interaction(run: Run) -> Interaction | None:
    """Interaction of a run; None where its file does not tell, a kernel of the user's own.

    None also with diffusion: noisy tokens have no paths that a density knows.
    """
    try:
        problem = run.problem
    except ValueError:
        return None
    return None if problem.flow.diffusivity > 0 else interaction(problem)


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
