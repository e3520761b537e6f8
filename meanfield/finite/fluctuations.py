"""`mf.fluctuations`: how far N tokens are from a run, with which covariance and which shift.

N tokens are drawn from mu_0. In real coordinates x of the moments (`bases.coordinates`),

    lim N Cov(x)        = C,      C'   = A C + C A^T + Q,    C(0)_ij = int Y_i Y_j dmu_0 - x_i x_j
    lim N (E x - limit) = eta,    eta' = A eta + (1/2) F''[C],    eta(0) = 0

with A = F'(f_t), Q_ij = 2 diffusivity int <grad Y_i, grad Y_j> dmu_t, and F''[C] the second
derivative contracted with C. Without noise all randomness is in the start, and the empirical
measure solves the equation of the limit itself. Density, C and eta are one system, stepped by
DOP853.

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
from meanfield.finite.influence import Sweep, swept
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
    """Memory of stepping C and eta of so many real coordinates: DOP853 has 16 states."""
    return 8 * 16 * size * (size + 2)


def moments_along(path: Path, tolerance: float) -> Iterator[Moments]:
    """Moments at the saved times of a path; the tolerance may be what truncation leaves out."""
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
    """Times to meet, with the interval before and the longest step of the path on the way."""
    longest, steps = 0.0, path.steps
    for n, step in enumerate(steps):
        longest = max(longest, step.length)
        last = n + 1 == len(steps) or steps[n + 1].interval != step.interval
        if step.end in wanted or last:
            yield step.end, step.interval, longest
            longest = 0.0


class _System:
    """Density, covariance and shift as one state of real numbers."""

    def __init__(self, path: Path) -> None:
        self._path, self._of = path, path.coordinates
        self._units = self._of.to_coefficients(np.eye(self._of.size))

    @property
    def initial(self) -> FloatArray:
        """State at time 0: tokens are independent."""
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
        """Moments in a state."""
        density, covariance, shift = self._parts(state)
        return Moments(time, density, covariance.copy(), shift.copy())

    def of(self, interval: int):  # type: ignore[no-untyped-def]
        """Right-hand side of an interval."""
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
        """Half of F'' contracted with C; rows of the mean field's degrees are enough."""
        low_degrees = self._of.vector_degrees <= flow.interaction.degree
        return flow.second(rows[low_degrees], self._units[low_degrees])


# Largest degrees of a covariance, by the dimension, unless said otherwise: on one core a step of
# 192 takes half a second, one of 24 on the sphere six, and both grow like the fifth power or so.
_LARGEST = {1: 192, 2: 36}
# What a tail of influence functions may be beyond that of a density. It enters covariances squared,
# and shifts times what a covariance has at the last degrees: tails of 1e-5 at degree 72 were
# measured to cost 1e-9 of a shift and 3e-11 of a covariance, beside degree 192.
_TAIL = 1e3
# What two ways to the same covariance may differ by, as a share.
_AGREED = 1e-4

Follow = Callable[[Iterable[Moments], int], Iterable[Moments]]
"""Passes moments at saved times through, counts them, and shows how far it is."""


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
    """How far N tokens, drawn from the initial law, are from the limit: covariance and mean shift.

    To first order in 1/N, for every run of a density, through onset too as long as N is large
    beside the covariance. Any heads and fixed fields, diffusion and stages.

    Parameters
    ----------
    problem : Problem
        On the circle or the sphere, with a density as its initial law.
    until : float
        End time.
    tokens : int, optional
        N, for figures and tables.
    save : int or sequence of float
        How many times, or the times themselves.
    degree : int
        Largest degree of the moments.
    unit : str
        Of times, "scaled", "paper" or "growth".
    max_degree : int, optional
        Largest degree of the density and its perturbations, which rises as needed; default: 192 on
        the circle, 36 on the sphere, or the degree of the kernel. The covariance has as many rows
        as there are real moments up to there.
    tolerance : float
        Of steps, and of what truncation may leave out.
    unresolved : str
        "raise" an error if the last time is not resolved, as where clusters form; or let rows be
        "nan" from the first time on that is not, and say in `note` why.
    progress : bool, optional
        Show a bar of the saved times; by default in notebooks.

    Raises
    ------
    TypeError
        If the initial law gives points.
    ValueError
        If the flow has no linearisation here, see `mf.influence`, or the covariance would not fit
        in memory.
    SimulationError
        If the run, or its influence functions, are not resolved up to the end.

    Examples
    --------
    About uniform every mode grows, and fluctuates, at its own rate:

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
    """Moments as they pass, with a bar of the saved times."""
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

    def sweep(path: Path) -> Sweep:
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
    """How a run is linearised for the moments up to a degree."""
    settings = Settings(problem, times, None, tolerance, observed_degree=options.degree, unit=unit)
    dimension, limit = problem.manifold.dimension, options.max_degree
    usual = max(_LARGEST[dimension], settings.least)
    settings = replace(settings, largest=usual if limit is None else limit)
    check_memory(coordinate_count(dimension, settings.most))
    return settings


def check_memory(size: int) -> None:
    """Refuse a covariance of so many real coordinates that does not fit in memory."""
    needed, there = covariance_bytes(size), available_memory()
    if needed > there:
        raise ValueError(
            f"the covariance of {size} moments takes {needed / 2**30:.1f} GiB, more than the "
            f"memory of {there / 2**30:.1f} GiB: lower degree, max_degree or beta."
        )


def _rows(parts: Sequence[ModalArray], count: int, some: ModalArray) -> ModalArray:
    """So many rows such as `some`: those that are known, then NaN."""
    rows = np.full((count, *some.shape), np.nan, some.dtype)
    if parts:
        rows[: len(parts)] = parts
    return rows


def _indices(all_of: Coordinates, some: Coordinates) -> IntArray:
    """Where coordinates up to one degree are among those up to a larger one."""
    largest = int(some.degrees.max())
    return np.flatnonzero(all_of.vector_degrees <= largest)
