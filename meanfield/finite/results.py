"""Moments of N tokens along a run to first order in 1/N, and their consequences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from meanfield.arguments import checked
from meanfield.arrays import FloatArray, ModalArray
from meanfield.bases.coordinates import Coordinates, coordinates
from meanfield.described import Array, StudyResult, grid_columns
from meanfield.finite.influence import Functional, bent, check_degrees, variation
from meanfield.names import VIEWS
from meanfield.problem import Problem
from meanfield.runs import Run
from meanfield.spaces import Manifold, named_space
from meanfield.spectrum.time_units import time_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LAYOUTS = {
    1: "moments int e^{-ik theta} dmu, k = 0 ... degree",
    2: "moments int Y_lm dmu as pyshtools lays them out, (2, degree + 1, degree + 1) flat; 4-pi "
    "normalised, no Condon-Shortley phase",
}
_NUMBERS = ("degree", "max_degree", "resolved_degree", "agreement", "tail", "resolved_until")
_PAIRS = Array(("time", "moment", "other_moment"), kind="c")


@dataclass(frozen=True, eq=False)
class Fluctuations(StudyResult):
    """Moments of N tokens along a run, to first order in 1/N.

        E m = limit + shift / N,    Cov m = covariance / N

    Rows of unresolved times are NaN, see `note`.

    Attributes
    ----------
    source : Problem or callable () -> Problem
        The problem, or a function that returns it.
    space : Manifold
    times : ndarray, shape (n_times,)
        Scaled.
    degree : int
        K, the largest degree of the moments.
    tokens : int, optional
        N, for figures and reports.
    limit : ndarray, shape (n_times, coefficients)
        Moments of the limit, packed.
    real_covariance : ndarray, shape (n_times, size, size)
        C = lim N Cov in the real coordinates of `bases.coordinates`, degrees 1 to K.
    real_shift : ndarray, shape (n_times, size)
        eta = lim N (E m - limit) there.
    resolved_degree : int
        Degree of the density and its perturbations.
    agreement : float
        Largest difference between the last C and the C of adjoint sweeps, as a share of the
        largest entry. Both methods share only F'.
    tail : float
        Largest coefficient of influence functions near the last degree, as a share of the largest.
    note : str
        Why the last rows are NaN; empty if no row is.
    max_degree : int
        Largest degree that was allowed.
    unit : str
        Unit of the ends of stages.
    attributes : dict
        Attributes of a file: status, created, ...
    """

    kind = "fluctuations"
    derived = {
        "times": Array(("time",), "time", "scaled time", increasing=0),
        "limit_moments": Array(("time", "moment"), "limit", kind="c"),
        "shift": Array(("time", "moment"), kind="c"),
        "covariance": _PAIRS,
        "relation": _PAIRS,
    }
    stored_as = {name: name for name in (*_NUMBERS, "note", "layout", "tokens")} | {
        "requested_time_unit": "unit"
    }
    required = ("manifold", *_NUMBERS, "note")

    source: Problem | Callable[[], Problem]
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
    attributes: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def check_values(cls, values: Mapping[str, Any], attributes: Mapping[str, Any]) -> None:
        space, degree = named_space(str(attributes["manifold"])), int(attributes["degree"])
        circle = space.dimension == 1
        count = degree + 1 if circle else 2 * (degree + 1) ** 2
        for name in ("limit", "shift", "covariance", "relation"):
            if {*values[name].shape[1:]} != {count} or np.iscomplexobj(values[name]) != circle:
                raise ValueError(f"{name} holds other moments than those of degree {degree}")

    @classmethod
    def restored(cls, values: Mapping[str, Any], attributes: dict[str, Any]) -> Self:
        space, degree = named_space(str(attributes["manifold"])), int(attributes["degree"])
        shape = (-1,) if space.dimension == 1 else (2, degree + 1, degree + 1)
        covariance, shift = real_fluctuations(
            space, degree, values["covariance"], values["relation"], values["shift"]
        )
        return cls(
            lambda: cls.stored_problem(attributes),
            space,
            values["time"],
            degree,
            attributes.get("tokens"),
            limit=np.array([space.packed(row.reshape(shape)) for row in values["limit"]]),
            real_covariance=covariance,
            real_shift=shift,
            **{name: attributes[name] for name in ("resolved_degree", "agreement", "tail", "note")},
            max_degree=attributes["max_degree"],
            unit=str(attributes.get("requested_time_unit", "scaled")),
            attributes=attributes,
        )

    @property
    def resolved(self) -> npt.NDArray[np.bool_]:
        """True for resolved times, shape (n_times,)."""
        return np.asarray(np.isfinite(self.real_shift).all(axis=1))

    @property
    def resolved_until(self) -> float:
        """Last resolved time, scaled; NaN without one."""
        resolved_times = self.times[self.resolved]
        return float(resolved_times[-1]) if len(resolved_times) else np.nan

    @cached_property
    def problem(self) -> Problem:
        """The problem; like `Run.problem` it may raise ValueError for a file."""
        return self.source if isinstance(self.source, Problem) else self.source()

    @property
    def layout(self) -> str:
        """Layout of moments in arrays, in words."""
        return _LAYOUTS[self.space.dimension]

    @property
    def limit_moments(self) -> ModalArray:
        """Moments of the limit in the layout of `shift`, shape (n_times, moments)."""
        return np.array([np.ravel(self.space.unpacked(row)) for row in self.limit])

    @property
    def columns(self) -> dict[str, Any]:
        """Columns of sizes, a row for each time and degree."""
        return grid_columns(
            {"time": self.times, "degree": np.arange(self.degree + 1)},
            limit=[self.space.sizes_by_degree(row) for row in self.limit],
            variance=self.variance_by_degree,
            shift=self.shift_by_degree,
        )

    @cached_property
    def _coordinates(self) -> Coordinates:
        return coordinates(self.space.dimension, self.degree)

    @cached_property
    def _basis(self) -> ModalArray:
        return moments_of_coordinates(self.space, self.degree)

    @cached_property
    def covariance(self) -> ModalArray:
        """Limit of N Cov(m_a, conj m_b), shape (n_times, moments, moments).

        On the circle m are c_k = int e^{-ik theta}, k = 0 ... K, complex; on the sphere pyshtools'
        array (2, K + 1, K + 1), flat, real.
        """
        return np.asarray(self._basis.T @ self.real_covariance @ self._basis.conj())

    @cached_property
    def relation(self) -> ModalArray:
        """Limit of N E[zeta_a zeta_b], zeta = m - E m; on the sphere equal to `covariance`."""
        return np.asarray(self._basis.T @ self.real_covariance @ self._basis)

    @cached_property
    def shift(self) -> ModalArray:
        """Eta = lim N (E m - limit), shape (n_times, moments), in the order of `covariance`."""
        return np.asarray(self.real_shift @ self._basis)

    @cached_property
    def size_factors(self) -> FloatArray:
        """Squared size by degree of each unit real coordinate, shape (size, K + 1)."""
        units = self._coordinates.to_coefficients(np.eye(self._coordinates.size))
        return np.array([self.space.sizes_by_degree(unit) ** 2 for unit in units])

    @cached_property
    def variance_by_degree(self) -> FloatArray:
        """Limit of N E |m - E m|^2 by degree, over its orders, shape (n_times, K + 1)."""
        diagonals = np.diagonal(self.real_covariance, axis1=1, axis2=2)
        return np.asarray(diagonals @ self.size_factors)

    @cached_property
    def shift_by_degree(self) -> FloatArray:
        """Size of eta by degree, |eta_k| on the circle, shape (n_times, K + 1)."""
        return np.asarray(np.sqrt(self.real_shift**2 @ self.size_factors))

    @checked
    def of(self, observable: Functional) -> ObservableFluctuations:
        """Mean shift and variance of an observable, a function of the moments up to K.

            N Var J = J' C J',    N (E J - J(limit)) = J' eta + tr(J'' C) / 2

        Raises
        ------
        ValueError
            If the observable is "energy" (of the stage at each time) and K is below the degree of
            the kernel. If a function has no derivatives at the limit, such as |c_k| at c_k = 0.

        Examples
        --------
        Independent tokens have N E |c_k|^2 = 1 + (N - 1) |c_k|^2:

        >>> import meanfield as mf
        >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA)
        >>> found = mf.fluctuations(problem, until=1.0, save=2)
        >>> found.of(lambda m: abs(m[1]) ** 2).shift[0].round(12)
        np.float64(1.0)
        """
        check_degrees(self.problem, observable, self.degree)
        rows = [
            self._observable(observable, n) if is_resolved else (np.nan,) * 3
            for n, is_resolved in enumerate(self.resolved)
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
        ax: Any = None,
        title: str | None = None,
        figsize: tuple[float, float] | None = None,
        dpi: float | None = None,
    ) -> Figure:
        """Figure of the sizes of moments, |c_k| on the circle, one panel for each degree.

        It shows the limit, the mean of N tokens, the band of 95 % of runs if moments are normal,
        and runs of particles.

        Parameters
        ----------
        particles : sequence of Run
            Runs of N tokens each, drawn from the same law.
        tokens : int, optional
            N; default: `self.tokens`, the number in `particles`, or 1000.
        ax : matplotlib Axes, optional
            Empty axes that the panels divide, instead of a new figure.
        title, figsize, dpi : str, (float, float), float, optional
            Title, size in inches and dots per inch.
        """
        options = {"particles": particles, "tokens": tokens, "ax": ax, "title": title}
        figure: Figure = VIEWS["Fluctuations.plot"](self, **options, figsize=figsize, dpi=dpi)
        return figure

    def __repr__(self) -> str:
        tokens = "" if self.tokens is None else f", {self.tokens} tokens"
        return (
            f"Fluctuations({len(self.times)} times up to t = {self.times[-1]:.6g}, degree "
            f"{self.degree}{tokens})"
        )


def moments_of_coordinates(space: Manifold, degree: int) -> ModalArray:
    """Moments of each real coordinate in the flat layout of files, shape (size, moments)."""
    of = coordinates(space.dimension, degree)
    units = of.to_coefficients(np.eye(of.size))
    return np.array([np.ravel(space.unpacked(unit)) for unit in units])


def real_fluctuations(
    space: Manifold, degree: int, covariance: ModalArray, relation: ModalArray, shift: ModalArray
) -> tuple[FloatArray, FloatArray]:
    """Covariance and shift in real coordinates, from covariance and shift of moments."""
    basis = moments_of_coordinates(space, degree)
    # For parts a + ib: E a a' = Re (C + P) / 2, E b b' = Re (C - P) / 2, E a b' = Im (P - C) / 2.
    both, mixed = (relation + covariance) / 2, (relation - covariance).imag / 2
    parts = np.block([[both.real, mixed], [mixed.mT, (covariance - relation).real / 2]])
    back = np.linalg.pinv(np.concatenate([basis.real, basis.imag], axis=1))
    shifts = np.concatenate([shift.real, shift.imag], axis=1)
    return np.asarray(back.T @ parts @ back), np.asarray(shifts @ back)


@dataclass(frozen=True, eq=False)
class ObservableFluctuations:
    """An observable of N tokens (n_times,): E J = limit + shift / N, Var J = variance / N."""

    times: FloatArray
    limit: FloatArray
    shift: FloatArray
    variance: FloatArray
