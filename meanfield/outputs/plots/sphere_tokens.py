"""Tokens on pictures of the sphere: those of a particle run, or some that follow a density; atoms.

Tokens of a density start at equal masses: z_i is the quantile (i + 1/2) / n of its marginal in z,
and the longitude the quantile frac(i / golden ratio) given z, a Fibonacci lattice where it is
uniform; nodes of characteristics are taken at the same quantiles of their masses as they are
stored. They follow dx / dt = v(x, t) of the stored moments, cubic splines in time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.fields.mean_field import Interaction
from meanfield.measures import Density, Measure
from meanfield.outputs.plots.carriers import atoms_at, is_smooth, saves_with_a_density
from meanfield.outputs.plots.projections import directions
from meanfield.outputs.plots.sphere_picture import token_style
from meanfield.outputs.plots.token_paths import run_interaction
from meanfield.run import Run

MOST_TOKENS = 2000
_FOLLOWED = 300
# Of atoms: one that holds all the mass, and the lightest.
_AREA, _SMALLEST = 90.0, 2.5
_ROWS = 400
# Far below what a picture shows.
_TOLERANCE = 1e-6


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
        if isinstance(first, Density):
            start = equal_masses(first, _FOLLOWED)
        else:
            start = equal_nodes(first, _FOLLOWED)
        moved = list(followed(run, felt, start, count))
    return moved + [
        some_tokens(measure) if isinstance(measure, Measure) and not is_smooth(run, i) else none
        for i, measure in enumerate(run.measures[len(moved) :], start=len(moved))
    ]


def dot_style(run: Run, index: int, tokens: FloatArray, scale: float = 1.0) -> dict[str, Any]:
    """Areas and opacity of dots: of atoms by mass, of tokens small and faint where many."""
    atoms = atoms_at(run, index)
    if atoms is None or len(atoms.points) != len(tokens):
        style = token_style(int(len(tokens) * scale))
        return style | {"s": np.full(len(tokens), style["s"])}
    return {"s": np.maximum(_AREA * atoms.mass, _SMALLEST) / scale, "alpha": 0.9}


def some_tokens(measure: Measure, most: int = MOST_TOKENS) -> FloatArray:
    """Tokens of a measure, at most so many, evenly chosen."""
    count = len(measure.points)
    few = min(count, most)
    return np.asarray(measure.points[((np.arange(few) + 0.5) * count / few).astype(np.int64)])


def equal_nodes(measure: Measure, count: int) -> FloatArray:
    """Points (count, 3) of a measure, each for the same mass, in the order in which they stand."""
    covered = np.cumsum(measure.mass)
    levels = covered[-1] * (np.arange(count) + 0.5) / count
    return np.asarray(measure.points[np.searchsorted(covered, levels)])


def followed(
    run: Run, felt: Interaction, start: FloatArray, count: int | None = None
) -> FloatArray:
    """Points (n_saves, n, 3) at the first saved times of tokens that begin at `start`, to 1e-5.

    What the interpolation of the moments in time costs comes on top.
    """
    from scipy.integrate import solve_ivp
    from scipy.interpolate import CubicSpline

    space = run.manifold
    times = run.time[:count]
    packed = [space.resize(moments, felt.degree) for moments in run.packed_moments()[:count]]
    moments = CubicSpline(times, np.array(packed))

    def velocity(time: float, flat: FloatArray) -> FloatArray:
        points = space.retract(space.unflattened(flat))[0]
        return felt.field(moments(time)).velocity(points).ravel()

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
