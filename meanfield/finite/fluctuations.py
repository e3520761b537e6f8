"""`mf.fluctuations`: covariance and mean shift of N tokens about a density run.

N tokens are drawn from mu_0. In real coordinates x of the moments (`bases.coordinates`),

    lim N Cov(x)        = C,      C'   = A C + C A^T + Q,    C(0)_ij = int Y_i Y_j dmu_0 - x_i x_j
    lim N (E x - limit) = eta,    eta' = A eta + (1/2) F''[C],    eta(0) = 0

with A = F'(f_t), Q_ij = 2 diffusivity int <grad Y_i, grad Y_j> dmu_t, and F''[C] the second
derivative contracted with C. Without noise only the start is random, and the empirical measure
solves the limit equation itself. DOP853 steps density, C and eta as one system.

Braun, Hepp, The Vlasov dynamics and its fluctuations in the 1/N limit of interacting classical
particles, Comm. Math. Phys. 56 (1977), 101-113.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from meanfield.arguments import checked
from meanfield.arrays import FloatArray, IntArray, ModalArray
from meanfield.bases.coordinates import Coordinates, coordinate_count, coordinates
from meanfield.carriers.options import MOMENTS_DEGREE, FluctuationOptions
from meanfield.engines.limits import available_memory
from meanfield.engines.threads import one_blas_thread
from meanfield.errors import SimulationError
from meanfield.fields.linearised import LinearisedFlow
from meanfield.finite.influence import BackwardSweep, swept
from meanfield.finite.path import LARGEST_TAIL, SAME_TIME, Path, Settings, resolved_part
from meanfield.finite.results import Fluctuations
from meanfield.problem import Problem
from meanfield.progress import followed, wants_bar
from meanfield.schemes import Start, dop853
from meanfield.simulation import timing


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of N tokens at one time, to first order in 1/N."""

    time: float  # scaled
    density: ModalArray  # coefficients of the limit
    covariance: FloatArray  # (size, size): C in real coordinates
    shift: FloatArray  # (size,): eta in real coordinates


def covariance_bytes(size: int) -> int:
    """Bytes that DOP853, with its 16 states, needs for C and eta of `size` real coordinates."""
    return 8 * 16 * size * (size + 2)


def moments_along(path: Path, tolerance: float) -> Iterator[Moments]:
    """Moments at the saved times of a path; a tolerance as large as the tail suffices."""
    system = _System(path)
    times = [0.0, *(step.end for step in path.steps)]
    state, now, step = system.initial, 0.0, None
    wanted = [times[save] for save in path.saves]
    ends = _ends(path, wanted)
    yield from (system.moments(0.0, state) for time in wanted if time == 0.0)
    for end, interval, longest in ends:
        stepper = dop853(system.of(interval), Start(now, state, step), tolerance)
        while now < end:
            if not stepper.step(min(longest, end - now)):
                raise SimulationError(now, 0, "the step became too small")
            now, state = stepper.time, stepper.state
            if end - now < SAME_TIME * end:
                break
        now, step = end, stepper.step_size
        yield from (system.moments(end, state) for time in wanted if time == end)


def _ends(path: Path, wanted: Sequence[float]) -> Iterator[tuple[float, int, float]]:
    """Times to meet, each with the interval before it and the path's longest step there."""
    longest, steps = 0.0, path.steps
    for n, step in enumerate(steps):
        longest = max(longest, step.length)
        last = n + 1 == len(steps) or steps[n + 1].interval != step.interval
        if step.end in wanted or last:
            yield step.end, step.interval, longest
            longest = 0.0


class _System:
    """System of density, covariance and shift as one real state vector."""

    def __init__(self, path: Path) -> None:
        self._path, self._of = path, path.coordinates
        self._units = self._of.to_coefficients(np.eye(self._of.size))

    @property
    def initial(self) -> FloatArray:
        """State at time 0, of independent tokens."""
        density = self._path.states[0]
        grid, of = self._path.grid, self._of
        products = grid.to_modal(grid.to_nodal(self._units) * grid.to_nodal(density))
        mean = of.to_vector(density)
        covariance = of.to_vector(products) - np.outer(mean, mean)
        return np.concatenate([mean, covariance.ravel(), np.zeros(of.size)])

    def _parts(self, state: FloatArray) -> tuple[ModalArray, FloatArray, FloatArray]:
        size = self._of.size
        density = self._of.to_coefficients(state[:size])
        density[0] = 1.0
        return density, state[size:-size].reshape(size, size), state[-size:]

    def moments(self, time: float, state: FloatArray) -> Moments:
        density, covariance, shift = self._parts(state)
        return Moments(time, density, covariance.copy(), shift.copy())

    def of(self, interval: int):  # type: ignore[no-untyped-def]
        """Right-hand side in an interval."""
        path, of = self._path, self._of

        def rhs(time: float, state: FloatArray) -> FloatArray:
            density, covariance, shift = self._parts(state)
            flow = path.flow(interval, density)
            rows = np.concatenate([of.to_coefficients(covariance), of.to_coefficients(shift)[None]])
            moved = flow.derivative(rows)
            change = of.to_vector(moved[:-1])
            change = change + change.T
            if flow.diffusivity:
                change += 2.0 * flow.diffusivity * of.to_vector(flow.spread(self._units))
            drift = moved[-1] + self._second(flow, rows[:-1])
            return np.concatenate(
                [of.to_vector(flow.transport), change.ravel(), of.to_vector(drift)]
            )

        return rhs

    def _second(self, flow: LinearisedFlow, rows: ModalArray) -> ModalArray:
        """(1/2) F''[C]; only rows of the mean field's degrees enter."""
        low_degrees = self._of.vector_degrees <= flow.interaction.degree
        return flow.second(rows[low_degrees], self._units[low_degrees])


# Default of the largest degree of a covariance, by the dimension: on one core a step of 192 takes
# half a second, one of 24 on the sphere six, and both grow like the fifth power or so.
_LARGEST = {1: 192, 2: 36}
# Largest tail of influence functions in units of the density's. It enters covariances squared, and
# shifts times the covariance at the last degrees: tails of 1e-5 at degree 72 were measured to cost
# 1e-9 of a shift and 3e-11 of a covariance, compared with degree 192.
_TAIL = 1e3
# Largest relative difference of the covariances by forward and backward sweeps.
_AGREED = 1e-4

Follow = Callable[[Iterable[Moments], int], Iterable[Moments]]
"""Passes the moments of (stream, number of saved times) through and shows progress."""


@checked
def fluctuations(
    problem: Problem,
    *,
    until: float,
    tokens: int | None = None,
    save: int | Sequence[float] = 61,
    degree: int = MOMENTS_DEGREE,
    unit: str = "scaled",
    max_degree: int | None = None,
    tolerance: float = 1e-10,
    unresolved: Literal["raise", "nan"] = "raise",
    progress: bool | None = None,
) -> Fluctuations:
    """Covariance and mean shift of N tokens, drawn from the initial law, about the limit.

    They are of first order in 1/N, along every density run, and through onset if N is large beside
    the covariance. Any heads, fixed fields, diffusion and stages may act.

    Parameters
    ----------
    problem : Problem
        On the circle or the sphere, with a density as its initial law.
    until : float
        End time.
    tokens : int, optional
        N, for figures and tables.
    save : int or sequence of float
        Number of saved times, or the times themselves.
    degree : int
        Largest degree of the moments.
    unit : str
        Unit of times: "scaled", "paper" or "growth".
    max_degree : int, optional
        Largest degree of the density and its perturbations, which rises as needed. Default: 192 on
        the circle, 36 on the sphere, at least `degree` and the degrees of kernel and law. The
        covariance has a row for each real moment up to there.
    tolerance : float
        Tolerance of steps and of truncation.
    unresolved : str
        If a time is not resolved, as where clusters form: "raise" an error, or set the rows from
        there on to "nan", with the reason in `note`.
    progress : bool, optional
        Show a bar of the saved times; by default in notebooks.

    Raises
    ------
    TypeError
        If the initial law gives points.
    ValueError
        If the flow has no linearisation here, see `mf.influence`, or the covariance does not fit
        in memory.
    SimulationError
        If the run or its influence functions are not resolved up to the end.

    Examples
    --------
    About uniform each mode and its fluctuations grow at the rate of the mode:

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.SA)
    >>> found = mf.fluctuations(problem, until=1.0, save=2, degree=2)
    >>> np.diag(found.covariance[-1]).real.round(6)
    array([0.      , 1.429541, 2.796126])
    >>> np.exp(2 * mf.growth_rates(problem, 2)).round(6)
    array([1.      , 1.429541, 2.796126])
    """
    times, _ = timing(problem, until, save, unit=unit)
    if times[-1] == 0.0:
        raise ValueError("save holds time 0 alone, where tokens are independent: add a later one.")

    return fluctuations_at(
        problem,
        times,
        FluctuationOptions(degree, tokens, max_degree),
        unit=unit,
        tolerance=tolerance,
        whole=unresolved == "raise",
        follow=with_bar if wants_bar(progress) else None,
    )


def with_bar(stream: Iterable[Moments], count: int) -> Iterator[Moments]:
    """Pass moments through, with a bar of the saved times."""
    return followed(stream, count, "fluctuations")


def fluctuations_at(
    problem: Problem,
    times: FloatArray,
    options: FluctuationOptions,
    *,
    unit: str = "scaled",
    tolerance: float = 1e-10,
    whole: bool = False,
    follow: Follow | None = None,
) -> Fluctuations:
    """Fluctuations at scaled times, up to the last one that is resolved; see `fluctuations`."""
    settings = settings_of(problem, times, options, unit=unit, tolerance=tolerance)
    degree = options.degree
    of = coordinates(problem.manifold.dimension, degree)

    allowed = min(_TAIL * settings.allowed, LARGEST_TAIL)

    def sweep(path: Path) -> BackwardSweep:
        return swept(path, of.to_coefficients(np.eye(of.size)), allowed)

    with one_blas_thread():
        part = resolved_part(settings, sweep, whole=whole)
        check_memory(part.path.coordinates.size)
        stream: Iterable[Moments] = (
            moments_along(part.path, settings.allowed) if part.path.saves else ()
        )
        along, note = [], part.note
        try:
            for each in follow(stream, len(part.path.saves)) if follow else stream:
                along.append(each)
        except SimulationError as error:
            if whole:
                raise
            note = f"the covariance ends: {error.reason}"
    moments_row = _indices(part.path.coordinates, of)
    count, size = len(times), np.zeros(of.size)
    covariance = _rows(
        [each.covariance[np.ix_(moments_row, moments_row)] for each in along],
        count,
        np.outer(size, size),
    )
    agreement, tail = np.nan, np.nan
    if part.value is not None and len(along) == len(part.path.saves):
        adjoint = part.value.covariance
        difference = np.abs(covariance[len(along) - 1] - adjoint).max()
        agreement, tail = float(difference / np.abs(adjoint).max()), part.value.tail
        if not agreement <= _AGREED:
            raise SimulationError(
                float(times[len(along) - 1]),
                len(part.path.steps),
                f"covariances by forward and backward sweeps differ by {agreement:.1e}: lower the "
                "tolerance",
            )
    if len(along) < count:
        note = f"{len(along)} of {count} times are resolved: {note}"
    limit = [part.path.space.resize(each.density, degree) for each in along]
    return Fluctuations(
        problem,
        problem.manifold,
        times,
        degree,
        options.tokens,
        limit=_rows(limit, count, of.to_coefficients(size)),
        real_covariance=covariance,
        real_shift=_rows([each.shift[moments_row] for each in along], count, size),
        resolved_degree=part.path.degree,
        agreement=agreement,
        tail=tail,
        note=note,
        max_degree=settings.most,
        unit=unit,
    )


def settings_of(
    problem: Problem,
    times: FloatArray,
    options: FluctuationOptions,
    *,
    unit: str = "scaled",
    tolerance: float = 1e-10,
) -> Settings:
    """Settings that linearise a run for moments up to a degree."""
    settings = Settings(problem, times, None, tolerance, observed_degree=options.degree, unit=unit)
    dimension, limit = problem.manifold.dimension, options.max_degree
    usual = max(_LARGEST[dimension], settings.least)
    settings = replace(settings, largest=usual if limit is None else limit)
    check_memory(coordinate_count(dimension, settings.most))
    return settings


def check_memory(size: int) -> None:
    """Refuse a covariance of `size` real coordinates that does not fit in memory."""
    needed, there = covariance_bytes(size), available_memory()
    if needed > there:
        raise ValueError(
            f"the covariance of {size} moments takes {needed / 2**30:.1f} GiB, more than the "
            f"memory of {there / 2**30:.1f} GiB: lower degree, max_degree or beta."
        )


def _rows(parts: Sequence[ModalArray], count: int, some: ModalArray) -> ModalArray:
    """`count` rows of the shape of `some`: `parts`, then NaN."""
    rows = np.full((count, *some.shape), np.nan, some.dtype)
    if parts:
        rows[: len(parts)] = parts
    return rows


def _indices(all_of: Coordinates, some: Coordinates) -> IntArray:
    """Indices of the coordinates up to one degree among those up to a larger one."""
    largest = int(some.degrees.max())
    return np.flatnonzero(all_of.vector_degrees <= largest)
