"""The density of a run on the circle over time and angle, and as a film around the circle.

Each saved time is a column of cells, with marks for heavy atoms. Densities and characteristics are
interpolated between columns, tokens are not. The heat kernel smooths noisy tokens.

For heads that start near uniform, linear theory predicts rotating waves of one order k:

    f = 1 + 2 |m_k| cos(k theta + arg m_k),    m_k(t) = m_k(0) e^{rate t - i k velocity t}

The linear operator gives the angular velocity of their crests.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from meanfield.arrays import FloatArray, IntArray
from meanfield.figures.data.circle import cell_edges, cell_means, lowest_angle, wrapped
from meanfield.figures.data.saved_times import (
    ATOMS,
    Frame,
    Limits,
    atoms_at,
    colour_range,
    edges_between,
    film_times,
    frame,
    is_logarithmic,
    is_smooth,
    places_on_axis,
    shown,
    spread_evenly,
)
from meanfield.figures.data.series import OverTime, over_time
from meanfield.figures.data.tokens import token_paths
from meanfield.measures import Density, Measure
from meanfield.runs import KEEP_STATES, Run
from meanfield.spectrum.linear_operator import linear_operator

_CELLS = 720
# Cells of a histogram hold about this many tokens of a uniform measure.
_TOKENS_PER_CELL = 10
_FEWEST_CELLS = 240
# The heat kernel covers about this many noisy tokens of a uniform measure. Its width in radians is
# within these bounds, and its degrees end where it has decayed to e^{-14}, 1e-6.
_TOKENS_COVERED, _NARROWEST, _WIDEST, _DECAY = 20, 0.02, 0.2, 14.0
# Atoms lighter than this fill cells if there are more atoms than marks.
_LEAST_MASS = 0.005
_MOST_MARKS = 200
# Columns after interpolation, and the most saved times that a picture uses.
_COLUMNS, _MOST_COLUMNS = 900, 1500
_PATHS, _PATH_POINTS = 40, 4
# Share of mass that is spread evenly over the circle before mass moves between two columns.
_LITTLE = 1e-9
_LEVELS = 2000
_EMPTY, _NEAR = 1e-3, 5e-3  # density of a gap; two gaps closer than this mass are the same
_PLACES, _DIGITS = 2, 9  # decimals to which the angle and mass of an atom at rest agree
# Cells and tokens on the ring of a film.
_RING_CELLS, _FEW_RING_CELLS, _RING_TOKENS = 720, 180, 60


@dataclass(frozen=True, eq=False)
class DensityPicture:
    """Density over time and angle, with the paths of tokens and atoms."""

    frame: Frame
    # (cells, saved times): mean density in the cells, before interpolation; 0 if all mass is marks.
    table: FloatArray
    colours: tuple[float, float]  # lowest and highest density that have a colour of their own
    edges: FloatArray  # (columns + 1,): of the columns, in the unit of the run
    values: FloatArray  # (cells, columns): density within the colours
    paths: list[FloatArray]  # (n, 2): times and angles of tokens, a copy for each turn
    atoms: list[list[tuple[float, float]]]  # one dash for each atom that rests
    masses: FloatArray  # of each dash
    crest: list[FloatArray]  # (n, 2): times and angles of the crest of `wave`, a copy for each turn
    wave: Wave | None
    lowest: float = -np.pi  # lowest angle: -pi, and 0 for axial measures
    smoothed: bool = False  # whether the colours show smoothed noisy tokens


def missing(run: Run) -> str | None:
    """Reason why a run has no density picture, and the remedy; None if it has one."""
    if len(shown(run)) < 2:
        return f"a density figure needs at least 2 saved times, the run has {len(run.time)}."
    if any(run.measures[i] is None for i in shown(run)):
        return f"the states of the run were not kept or not loaded: {KEEP_STATES}."
    return None


def circle_picture(run: Run, limits: Limits = None) -> DensityPicture:
    """Picture of a run on the circle; `limits` are the densities at the ends of the colours."""
    reason = missing(run)
    if reason is not None:
        raise ValueError(reason)
    logarithmic = is_logarithmic(run.time)
    saves = shown(run)
    saves = saves[spread_evenly(run.time[saves], _MOST_COLUMNS, logarithmic)]
    count = cell_count(run, saves)
    edges = edges_between(run.time[saves], logarithmic)
    times, angles = token_paths(run, _PATHS, _PATH_POINTS)
    times = times / run.unit_length
    table = np.array([column(run, i, count, marked=False) for i in saves]).T
    atoms, masses = _dashes(run, saves, edges)
    colours, values = limits or (0.0, 1.0), np.clip(table, 0.0, 1.0)
    if table.any():  # not atoms alone
        colours = limits or colour_range(table)
        values = np.clip(table, *colours)
        smooth = np.array([is_smooth(run, i) or _is_smoothed(run, i) for i in saves])
        if smooth.any():
            carried = None
            if run.facts.heads and angles.size:
                carried = _carried(run.time[saves], times, angles, smooth)
            edges, values = _interpolated(
                run.time[saves], values, smooth, logarithmic, table, carried
            )
    paths = _paths(times, angles, run)
    wave = predicted_wave(run)
    crest = [] if wave is None else _copies(wave.times, wave.angles)
    return DensityPicture(
        frame(run), table, colours, edges, values, paths, atoms, masses, crest, wave,
        lowest_angle(run.manifold), any(_is_smoothed(run, i) for i in saves),
    )  # fmt: skip


def _interpolated(
    times: FloatArray,
    table: FloatArray,
    smooth: NDArray[np.bool_],
    logarithmic: bool,
    means: FloatArray,
    carried: FloatArray | None,
) -> tuple[FloatArray, FloatArray]:
    """Edges and values of narrow columns on the time axis.

    Between two densities log f is linear in time; elsewhere the nearer column is taken. With heads,
    `_moved` carries mass around the circle along the angles in `carried` (NaN if unknown).
    """
    places = places_on_axis(times, logarithmic)
    edges = np.linspace(places[0], places[-1], _COLUMNS + 1)
    centres = 0.5 * (edges[1:] + edges[:-1])
    right = np.clip(np.searchsorted(places, centres), 1, len(places) - 1)
    share = (centres - places[right - 1]) / (places[right] - places[right - 1])
    share = np.where(smooth[right] & smooth[right - 1], share, np.round(share))
    columns = np.log(table)
    values = np.exp((1 - share) * columns[:, right - 1] + share * columns[:, right])
    if carried is not None:
        for i in range(1, len(times)):
            chosen = np.flatnonzero(right == i)
            if np.isfinite(carried[i - 1 : i + 1]).all() and len(chosen):
                pair, ends = means[:, i - 1 : i + 1].T, carried[i - 1 : i + 1]
                values[:, chosen] = _moved(pair, ends, share[chosen])
        values = np.clip(values, table.min(), table.max())
    return np.exp(edges) if logarithmic else edges, values


def _carried(
    saved: FloatArray, times: FloatArray, angles: FloatArray, smooth: NDArray[np.bool_]
) -> FloatArray:
    """Unwrapped angle of one token at the saved times; NaN after the end of its path."""
    place = np.interp(saved, times, angles[:, 0])
    return np.where(smooth & (saved <= times[-1] * (1.0 + 1e-12)), place, np.nan)


def _moved(pair: FloatArray, ends: FloatArray, shares: FloatArray) -> FloatArray:
    """Mean densities (cells, n) between two times, where each bit of mass moves evenly.

    Q(m) is the angle up to which the mass is m, counted from one token: Q = (1 - s) Q_0 + s Q_1.
    pair (2, cells): densities; ends (2,): unwrapped angle of the token; shares (n,): s.
    """
    count = pair.shape[1]
    edges, turn = cell_edges(count), 2.0 * np.pi
    references = []
    for density, end in zip(pair, ends, strict=True):
        # The even share makes the mass strictly increasing, so that Q is defined in gaps.
        below = np.concatenate([[0.0], np.cumsum(np.maximum(density, 0.0) + _LITTLE)])
        below /= below[-1]
        first = np.floor((end + np.pi) / turn)
        around = np.concatenate([edges[:-1], edges[:-1] + turn, edges + 2.0 * turn])
        around += (first - 1.0) * turn
        mass = np.concatenate([below[:-1], below[:-1] + 1.0, below + 2.0])
        mass -= np.interp(end, around, mass)
        references.append((mass, around))
    references[1] = (references[1][0] - _slip(references, ends[1] - ends[0]), references[1][1])
    masses = np.unique(np.concatenate([mass for mass, _ in references]))
    masses = masses[(masses >= -1.0) & (masses <= 2.0)]
    quantiles = [np.interp(masses, mass, around) for mass, around in references]
    moved = []
    for share in shares:
        angles = (1.0 - share) * quantiles[0] + share * quantiles[1]
        # The masses from -1 to 2 cover the turn that begins half a turn before the token.
        middle = (1.0 - share) * ends[0] + share * ends[1]
        turns = np.floor((edges - middle) / turn + 0.5)
        moved.append(np.diff(np.interp(edges - turns * turn, angles, masses) + turns) * count)
    return np.array(moved).T


def _slip(references: list[tuple[FloatArray, FloatArray]], moved: float) -> float:
    """Shift of mass that brings the motion closest to a rotation, in mean square."""
    from scipy.optimize import minimize_scalar

    (first, before), (second, after) = references
    count = (len(first) - 1) // 3
    masses = (np.arange(_LEVELS) + 0.5) / _LEVELS
    start = np.interp(masses, first, before) + moved

    def cost(slip: float) -> float:
        return float(np.sum((np.interp(masses + slip, second, after) - start) ** 2))

    minimum = minimize_scalar(cost, bounds=(-0.5, 0.5), method="bounded", options={"xatol": 1e-7})
    # Gaps between clusters give the shift to all digits.
    gaps, others = (mass[1:][np.diff(mass) < _EMPTY / count] for mass in (first, second))
    if len(gaps) and len(others):
        near = others[np.abs(others - gaps[0] - minimum.x).argmin()] - gaps[0]
        if abs(near - minimum.x) < _NEAR:
            return float(near)
    return float(minimum.x)


def _paths(times: FloatArray, angles: FloatArray, run: Run) -> list[FloatArray]:
    """Paths of tokens, but not of noisy ones: between two saves these are unknown."""
    if is_noisy(run):
        return []
    return [copy for path in angles.T for copy in _copies(times, path)]


def _copies(times: FloatArray, path: FloatArray) -> list[FloatArray]:
    """Copies (n, 2) of a path, one for each turn; the axes cut each copy at the seam."""
    first = int(np.floor((path.min() + np.pi) / (2 * np.pi)))
    last = int(np.floor((path.max() + np.pi) / (2 * np.pi)))
    return [np.column_stack([times, path - 2 * np.pi * turn]) for turn in range(first, last + 1)]


def _dashes(
    run: Run, saves: IntArray, edges: FloatArray
) -> tuple[list[list[tuple[float, float]]], FloatArray]:
    """Atoms as horizontal dashes between edges, with their masses."""
    dashes: list[list[tuple[float, float]]] = []
    masses: list[float] = []
    going: dict[tuple[float, float], int] = {}  # dashes up to the last edge, by angle and mass
    for i, begin, end in zip(saves, edges[:-1], edges[1:], strict=True):
        angles, weights = marks(run, i)
        before, going = going, {}
        for angle, mass in zip(wrapped(angles), weights, strict=True):
            key = (round(angle, _PLACES), round(mass, _DIGITS))
            if key not in before:
                dashes.append([(begin, angle)])
                masses.append(mass)
            going[key] = before.get(key, len(dashes) - 1)
            dashes[going[key]][1:] = [(end, dashes[going[key]][0][1])]
    return dashes, np.array(masses)


def column(run: Run, index: int, count: int, *, marked: bool = True) -> FloatArray:
    """Mean density in `count` cells at a saved time; `marked` includes the marked atoms."""
    measure = run.measures[index]
    assert measure is not None
    if isinstance(measure, Measure) and not marked and run.representation[index] == ATOMS:
        return _light(measure, count)
    if isinstance(measure, Measure) and _is_smoothed(run, index):
        return cell_means(_smoothed(measure), count)
    return cell_means(measure, count)


def is_noisy(run: Run) -> bool:
    """True if the run has diffusion."""
    return run.facts.diffusivity > 0.0


def _is_smoothed(run: Run, index: int) -> bool:
    """True for noisy tokens on the circle."""
    measure = run.measures[index]
    points = isinstance(measure, Measure) and not measure.cell_order
    tokens = points and run.representation[index] != ATOMS
    return tokens and run.manifold.is_circle and is_noisy(run)


def _smoothed(measure: Measure) -> Density:
    share = _TOKENS_COVERED * float(np.sum(measure.mass**2))
    width = float(np.clip(np.sqrt(np.pi) * share, _NARROWEST, _WIDEST))
    degree = int(np.ceil(np.sqrt(2.0 * _DECAY) / width))
    decay = np.exp(-0.5 * (width * np.arange(degree + 1)) ** 2)
    return Density(measure.manifold, decay * measure.moments(degree))


def _light(measure: Measure, count: int) -> FloatArray:
    light = ~_marked(measure)
    if not light.any():
        return np.zeros(count)
    mass = measure.mass[light]
    rest = Measure(measure.manifold, measure.points[light], mass / mass.sum())
    return np.asarray(mass.sum() * cell_means(rest, count))


def marks(run: Run, index: int) -> tuple[FloatArray, FloatArray]:
    """Angles and masses of the atoms that are drawn as marks at a saved time."""
    measure = atoms_at(run, index)
    if measure is None:
        return np.zeros(0), np.zeros(0)
    heavy = _marked(measure)
    return measure.points[heavy], measure.mass[heavy]


def cell_count(run: Run, indices: IntArray) -> int:
    """Number of cells: 720 for smooth measures, fewer for tokens so that cells hold some."""
    tokens = [
        1.0 / float(np.sum(measure.mass**2))
        for i in indices
        if isinstance(measure := run.measures[i], Measure)
        and not is_smooth(run, i)
        and run.representation[i] != ATOMS
        and not _is_smoothed(run, i)
    ]
    if not tokens:
        return _CELLS
    return 2 * int(np.clip(min(tokens) / _TOKENS_PER_CELL, _FEWEST_CELLS, _CELLS) // 2)


def _marked(measure: Measure) -> NDArray[np.bool_]:
    if len(measure.points) <= _MOST_MARKS:
        return np.ones(len(measure.points), dtype=bool)
    return measure.mass >= _LEAST_MASS


@dataclass(frozen=True, eq=False)
class CircleFilm:
    """Frames of the density around the circle, and the pictures beside them."""

    frames: NDArray[np.int64]  # (frames,): indices of saved times
    times: FloatArray  # (frames,): in the unit of the run
    values: FloatArray  # (frames, cells): mean density in the cells between `cell_edges`
    tokens: FloatArray  # (frames, tokens): angles of a few tokens; NaN after the end of their paths
    atoms: list[tuple[FloatArray, FloatArray]]  # angles and masses, for each frame
    picture: DensityPicture
    curves: OverTime


def circle_film(run: Run) -> CircleFilm:
    """Film of a run on the circle."""
    frames = film_times(run)
    cells = _RING_CELLS if all(is_smooth(run, int(i)) for i in frames) else _FEW_RING_CELLS
    angles = token_paths(run, _RING_TOKENS)[1]
    ended = np.full((len(run.time) - len(angles), angles.shape[1]), np.nan)
    return CircleFilm(
        frames,
        run.time[frames],
        np.array([np.maximum(column(run, int(i), cells), 0.0) for i in frames]),
        np.concatenate([angles, ended])[frames],
        [marks(run, int(i)) for i in frames],
        circle_picture(run),
        over_time(run),
    )


# Degrees of scores up to which the operator takes 0.1 s.
_MOST_DEGREES = 100
# Largest |m_k| of a start near uniform, |m_k| that counts as 0, and |m_k| at which crests end: the
# density is 1 + 2 |m_k| cos(...) there.
_NEAR_STATE, _NOTHING, _END = 0.2, 1e-12, 0.25
_POINTS = 200


@dataclass(frozen=True, eq=False)
class Wave:
    """Crest of the rotating mode that linear theory expects to be largest."""

    order: int  # k of e^{ik theta}
    velocity: float  # angular velocity, per unit of time of the run
    times: FloatArray  # (n,): in the unit of the run
    angles: FloatArray  # (n,): unwrapped


def predicted_wave(run: Run) -> Wave | None:
    """Wave of a run on the circle; None for a kernel, far from uniform, or if no mode rotates."""
    if not run.facts.heads or run.manifold.dimension > 1:
        return None
    if run.facts.stages or run.facts.layers or run.facts.functions:
        return None
    try:
        problem = run.problem
    except ValueError:
        return None
    if problem.frequencies is not None or problem.has_rotary:
        return None
    start = run.manifold.packed(run.moments[0])
    sizes = np.abs(start[1:])
    if problem.kernel_degree > _MOST_DEGREES or not sizes.max(initial=0.0) <= _NEAR_STATE:
        return None
    try:
        operator = linear_operator(problem)
    except RuntimeError:  # no leading eigenvalue converges
        return None
    turning = np.isfinite(operator.angular_velocities) & (operator.orders < len(start))
    if not turning.any():
        return None
    orders, rates = operator.orders[turning], operator.eigenvalues.real[turning]
    sizes = np.abs(start[orders])
    first, last = run.scaled_time[0], run.scaled_time[-1]
    # Time at which each mode would reach |m_k| = _END.
    with np.errstate(divide="ignore", invalid="ignore"):
        reached = np.where(rates > 0, np.log(_END / sizes) / rates, np.inf)
    reached = np.where(sizes > _NOTHING, reached, np.inf)
    leading = int(np.argmin(reached))
    # A mode that does not rotate may grow faster.
    if not np.isfinite(reached[leading]) or operator.eigenvalues[0].real > 2.0 * rates[leading]:
        return None
    order = int(orders[leading])
    velocity = float(operator.angular_velocities[turning][leading])
    elapsed = np.linspace(0.0, min(float(reached[leading]), last - first), _POINTS)
    # Moments are int e^{-ik theta} dmu: the density has 2 |m_k| cos(k theta + arg m_k).
    crest, unit = -np.angle(start[order]) / order, run.unit_length
    return Wave(order, velocity * unit, (first + elapsed) / unit, crest + velocity * elapsed)
