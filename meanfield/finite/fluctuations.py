"""`mf.fluctuations`: how far N tokens are from a run, with which covariance and which shift."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray, IntArray, ModalArray
from meanfield.checks import at_least, checked
from meanfield.compute.limits import available_memory
from meanfield.compute.threads import one_blas_thread
from meanfield.errors import SimulationError
from meanfield.finite.covariance import Moments, covariance_bytes, moments_along
from meanfield.finite.functionals import Functional, bent, check_known, variation
from meanfield.finite.influence import Sweep, swept
from meanfield.finite.path import Path
from meanfield.finite.resolved import LARGEST_TAIL, Settings, resolved_part
from meanfield.manifolds.coordinates import Coordinates, coordinate_count, coordinates
from meanfield.manifolds.manifold import Manifold
from meanfield.problem import Problem
from meanfield.progress import followed
from meanfield.runs import Run
from meanfield.simulation import timing
from meanfield.theory.time_units import time_unit
from meanfield.views import VIEWS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOMENTS_DEGREE = 4
"""Degree of the moments whose fluctuations are told, unless said otherwise."""
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
"""Passes moments at saved times through, as many as it is told, and shows how far it is."""


@dataclass(frozen=True, eq=False)
class Fluctuations:
    """Moments of N tokens along a run, to first order in 1/N.

        E m = limit + shift / N,    Cov m = covariance / N

    Rows of times that are not resolved, see `note`, are NaN.

    Attributes
    ----------
    made_from : Problem or callable () -> Problem
        Given. The problem, or what makes it when it is asked for.
    space : Manifold
        Given.
    times : ndarray, shape (n_times,)
        Given. Scaled.
    degree : int
        Given. K, the largest degree of the moments.
    tokens : int, optional
        Given. N, for what is drawn and printed.
    limit : ndarray, shape (n_times, coefficients)
        Derived. Moments of the limit, packed.
    real_covariance : ndarray, shape (n_times, size, size)
        Derived. C = lim N Cov in the real coordinates of `manifolds.coordinates`, degrees 1 to K.
    real_shift : ndarray, shape (n_times, size)
        Derived. eta = lim N (E m - limit) there.
    resolved_degree : int
        Derived. Of the density and its perturbations.
    agreement : float
        Derived. Largest difference of the last C from that by adjoint sweeps, a share of its
        largest entry: what both, which share nothing but F', leave in doubt.
    tail : float
        Derived. What truncation leaves out of influence functions, as a share.
    note : str
        Derived. Why the last rows are NaN; empty where none is.
    max_degree : int
        Given. Largest degree that it might have been resolved with.
    unit : str
        Given. Unit of the ends of stages.
    """

    made_from: Problem | Callable[[], Problem]
    space: Manifold
    times: FloatArray
    degree: int
    tokens: int | None
    limit: ModalArray
    real_covariance: FloatArray
    real_shift: FloatArray
    resolved_degree: int
    agreement: float
    tail: float
    note: str
    max_degree: int
    unit: str = "scaled"

    @property
    def resolved(self) -> npt.NDArray[np.bool_]:
        """Which of the times are resolved, shape (n_times,)."""
        return np.asarray(np.isfinite(self.real_shift).all(axis=1))

    @property
    def resolved_until(self) -> float:
        """Last of the times that is resolved, scaled; NaN if none is."""
        known = self.times[self.resolved]
        return float(known[-1]) if len(known) else np.nan

    @cached_property
    def problem(self) -> Problem:
        """The problem; of a run from a file as `Run.problem`, which may raise ValueError."""
        return self.made_from if isinstance(self.made_from, Problem) else self.made_from()

    @cached_property
    def _coordinates(self) -> Coordinates:
        return coordinates(self.space.dimension, self.degree)

    @cached_property
    def _basis(self) -> ModalArray:
        return moments_of_coordinates(self.space, self.degree)

    @cached_property
    def covariance(self) -> ModalArray:
        """Lim N Cov(m_a, conj m_b), shape (n_times, moments, moments).

        On the circle of c_k = int e^{-ik theta}, k = 0 ... K, complex; on the sphere of pyshtools'
        array (2, K + 1, K + 1), flat, real.
        """
        return np.asarray(self._basis.T @ self.real_covariance @ self._basis.conj())

    @cached_property
    def relation(self) -> ModalArray:
        """Lim N E[zeta_a zeta_b], zeta = m - E m; on the sphere the covariance itself."""
        return np.asarray(self._basis.T @ self.real_covariance @ self._basis)

    @cached_property
    def shift(self) -> ModalArray:
        """Eta = lim N (E m - limit), shape (n_times, moments), as `covariance` has them."""
        return np.asarray(self.real_shift @ self._basis)

    @cached_property
    def size_factors(self) -> FloatArray:
        """Squared size of a degree that one of each real coordinate makes, (size, K + 1)."""
        units = self._coordinates.to_coefficients(np.eye(self._coordinates.size))
        return np.array([self.space.sizes_by_degree(unit) ** 2 for unit in units])

    @cached_property
    def variance_by_degree(self) -> FloatArray:
        """Lim N E |m - E m|^2 of each degree, over its orders, shape (n_times, K + 1)."""
        diagonals = np.diagonal(self.real_covariance, axis1=1, axis2=2)
        return np.asarray(diagonals @ self.size_factors)

    @cached_property
    def shift_by_degree(self) -> FloatArray:
        """Size of eta of each degree, |eta_k| on the circle, shape (n_times, K + 1)."""
        return np.asarray(np.sqrt(self.real_shift**2 @ self.size_factors))

    @checked
    def of(self, observable: Functional) -> ObservableFluctuations:
        """Mean shift and variance of an observable, a function of the moments up to K.

            N Var J = J' C J',    N (E J - J(limit)) = J' eta + tr(J'' C) / 2

        Raises
        ------
        ValueError
            If "energy", that of the stage at each time, is asked for and K is below what is felt;
            if a function has no derivatives at the limit, as |c_k| where that is 0.

        Examples
        --------
        Squared moments of independent tokens: N E |c_k|^2 = 1 + (N - 1) |c_k|^2.

        >>> import meanfield as mf
        >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0))
        >>> found = mf.fluctuations(problem, until=1.0, save=2)
        >>> found.of(lambda m: abs(m[1]) ** 2).shift[0].round(12)
        np.float64(1.0)
        """
        check_known(self.problem, observable, self.degree)
        rows = [
            self._observable(observable, n) if known else (np.nan,) * 3
            for n, known in enumerate(self.resolved)
        ]
        return ObservableFluctuations(self.times, *np.array(rows).T)

    def _problem_at(self, time: float) -> Problem:
        problem = self.problem
        return problem.at(time, time_unit(problem, self.unit)) if problem.stages else problem

    def _observable(self, observable: Functional, n: int) -> tuple[float, float, float]:
        of, at = self._coordinates, self.limit[n]
        covariance = self.real_covariance[n]
        problem = self._problem_at(float(self.times[n]))
        here = variation(problem, observable, at)
        slope = of.to_vector(here.field)
        shift = float(slope @ self.real_shift[n]) + 0.5 * bent(problem, observable, at, covariance)
        return here.value, shift, float(slope @ covariance @ slope)

    @checked
    def plot(
        self,
        *,
        particles: Sequence[Run] = (),
        tokens: int | None = None,
        title: str | None = None,
        figsize: tuple[float, float] | None = None,
        dpi: float | None = None,
    ) -> Figure:
        """Figure of the sizes of moments, |c_k| on the circle, one panel a degree.

        The limit; the mean of N tokens and the band in which 95 % of them lie, where moments are
        normal; runs of particles on top.

        Parameters
        ----------
        particles : sequence of Run
            Runs of N tokens each, drawn from the same law.
        tokens : int, optional
            N; default: `self.tokens`, that of the particles, or 1000.
        title : str, optional
            Above it.
        figsize : (float, float), optional
            Width and height in inches.
        dpi : float, optional
            Dots an inch.
        """
        figure: Figure = VIEWS["Fluctuations.plot"](
            self, particles=particles, tokens=tokens, title=title, figsize=figsize, dpi=dpi
        )
        return figure

    def __repr__(self) -> str:
        """One line, without the arrays."""
        tokens = "" if self.tokens is None else f", {self.tokens} tokens"
        return (
            f"Fluctuations({len(self.times)} times up to t = {self.times[-1]:.6g}, degree "
            f"{self.degree}{tokens})"
        )


def moments_of_coordinates(space: Manifold, degree: int) -> ModalArray:
    """Moments as files have them, flat, of each real coordinate, shape (size, moments)."""
    of = coordinates(space.dimension, degree)
    units = of.to_coefficients(np.eye(of.size))
    return np.array([np.ravel(space.spread(unit)) for unit in units])


def real_fluctuations(
    space: Manifold, degree: int, covariance: ModalArray, relation: ModalArray, shift: ModalArray
) -> tuple[FloatArray, FloatArray]:
    """Covariance and shift in real coordinates from those of moments, as `Fluctuations` has both.

    Examples
    --------
    >>> import meanfield as mf
    >>> found = mf.fluctuations(mf.Problem(mf.Circle(), mf.linear()), until=1.0, save=2, degree=2)
    >>> covariance, _ = real_fluctuations(
    ...     found.space, 2, found.covariance, found.relation, found.shift)
    >>> bool(np.allclose(covariance, found.real_covariance, rtol=1e-14))
    True
    """
    basis = moments_of_coordinates(space, degree)
    # Of parts a + ib: E a a' = Re (C + P) / 2, E b b' = Re (C - P) / 2, E a b' = Im (P - C) / 2.
    both, mixed = (relation + covariance) / 2, (relation - covariance).imag / 2
    parts = np.block([[both.real, mixed], [mixed.mT, (covariance - relation).real / 2]])
    back = np.linalg.pinv(np.concatenate([basis.real, basis.imag], axis=1))
    shifts = np.concatenate([shift.real, shift.imag], axis=1)
    return np.asarray(back.T @ parts @ back), np.asarray(shifts @ back)


@dataclass(frozen=True)
class FluctuationOptions:
    """Section [fluctuations] of a run file; see `fluctuations`.

    Attributes
    ----------
    degree, tokens, max_degree : int
        Given.
    """

    degree: int = MOMENTS_DEGREE
    tokens: int | None = None
    max_degree: int | None = None

    def __post_init__(self) -> None:
        """Check what was given."""
        at_least(1, degree=self.degree, tokens=1 if self.tokens is None else self.tokens)


@dataclass(frozen=True, eq=False)
class ObservableFluctuations:
    """An observable of N tokens along a run: E J = limit + shift / N, Var J = variance / N.

    Attributes
    ----------
    times, limit, shift, variance : ndarray, shape (n_times,)
        Derived.
    """

    times: FloatArray
    limit: FloatArray
    shift: FloatArray
    variance: FloatArray


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
    progress: bool = False,
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
        Largest degree of the moments whose fluctuations are told.
    unit : str
        Of times, "scaled", "paper" or "growth".
    max_degree : int, optional
        Largest degree of the density and its perturbations, which rises as needed; default: 192 on
        the circle, 36 on the sphere, or what the tokens feel. The covariance has as many rows as
        there are real moments up to there.
    tolerance : float
        Of steps, and of what truncation may leave out.
    unresolved : str
        "raise" an error if the last time is not resolved, as where clusters form; or let rows be
        "nan" from the first time on that is not, and say in `note` why.
    progress : bool
        Show a bar of the saved times, in a notebook or on a terminal.

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
        follow=with_bar if progress else None,
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
    """Fluctuations at scaled times, up to the last one that is resolved; see `fluctuations`.

    Stages end in `unit`.

    Raises
    ------
    SimulationError
        If `whole` is asked for, and the last time is not resolved.
    """
    settings = settings_of(problem, times, options, unit=unit, tolerance=tolerance)
    degree = options.degree
    of = coordinates(problem.space.dimension, degree)

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
    told = _kept(part.path.coordinates, of)
    count, size = len(times), np.zeros(of.size)
    covariance = _rows(
        [each.covariance[np.ix_(told, told)] for each in along], count, np.outer(size, size)
    )
    agreement, tail = np.nan, np.nan
    if part.found is not None and len(along) == len(part.path.saves):
        adjoint = part.found.covariance
        difference = np.abs(covariance[len(along) - 1] - adjoint).max()
        agreement, tail = float(difference / np.abs(adjoint).max()), part.found.tail
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
        problem.space,
        times,
        degree,
        options.tokens,
        limit=_rows(limit, count, of.to_coefficients(size)),
        real_covariance=covariance,
        real_shift=_rows([each.shift[told] for each in along], count, size),
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
    """How a run is linearised for the moments up to a degree.

    Raises
    ------
    TypeError, ValueError
        If the initial law gives points, the flow has no linearisation here, or a degree is too low.
    """
    settings = Settings(problem, times, None, tolerance, looked_at=options.degree, unit=unit)
    dimension, given = problem.space.dimension, options.max_degree
    usual = max(_LARGEST[dimension], settings.least)
    settings = replace(settings, largest=usual if given is None else given)
    check_memory(coordinate_count(dimension, settings.most))
    return settings


def check_memory(size: int) -> None:
    """Refuse a covariance of so many real coordinates that does not fit in memory.

    Raises
    ------
    ValueError
        With both sizes.
    """
    needed, there = covariance_bytes(size), available_memory()
    if needed > there:
        raise ValueError(
            f"the covariance of {size} moments takes {needed / 2**30:.1f} GiB, more than the "
            f"memory of {there / 2**30:.1f} GiB: lower degree, max_degree or beta."
        )


def _rows(known: Sequence[ModalArray], count: int, some: ModalArray) -> ModalArray:
    """So many rows such as `some`: those that are known, then NaN."""
    rows = np.full((count, *some.shape), np.nan, some.dtype)
    if known:
        rows[: len(known)] = known
    return rows


def _kept(all_of: Coordinates, some: Coordinates) -> IntArray:
    """Where coordinates up to one degree are among those up to a larger one."""
    largest = int(some.degrees.max())
    return np.flatnonzero(all_of.vector_degrees <= largest)
