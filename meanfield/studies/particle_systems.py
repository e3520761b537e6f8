"""Particle systems beside the density that they approximate: the work of a convergence study.

mu^n_t is the empirical measure of n tokens drawn independently from the initial density f_0,
f_t the solution of the mean-field equation from f_0. `system_distances` runs such a particle system
and measures its distance to f_t at the saved times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.compute.threads import one_blas_thread
from meanfield.errors import SimulationError
from meanfield.measures import Density, Measure
from meanfield.problem import Problem
from meanfield.representations import density, particles
from meanfield.sampling import sample_tokens
from meanfield.studies.metrics import METRICS
from meanfield.studies.study import initial_density
from meanfield.trajectory import trajectory


@dataclass(frozen=True, eq=False)
class Reference:
    """The density run, up to the last saved time at which it is resolved.

    Attributes
    ----------
    times : ndarray, shape (n_times,)
        Derived. Scaled times reached, 0 first.
    densities : tuple of Density, length n_times
        Derived.
    note : str
        Derived. Why it ended early; empty if it did not.
    """

    times: FloatArray
    densities: tuple[Density, ...]
    note: str = ""


def density_reference(
    problem: Problem, times: FloatArray, *, tolerance: float, max_degree: int | None
) -> Reference:
    """Density run from the problem's initial density.

    Parameters
    ----------
    problem : Problem
        Its initial law is a density.
    times : ndarray
        Scaled times, increasing; 0 is put in front if it is not there.
    tolerance, max_degree : float, int
        As in `Options`.

    Raises
    ------
    TypeError
        If the initial measure consists of points.
    ValueError
        If the density cannot carry the problem.
    SimulationError
        If the initial density is not resolved.

    Examples
    --------
    >>> import meanfield as mf
    >>> law = mf.perturbed_uniform([[3, 0.1, 0.0]])
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA, law)
    >>> density_reference(problem, [1.0], tolerance=1e-10, max_degree=64).times
    array([0., 1.])
    """
    measure = initial_density(problem)
    times = np.asarray(times, dtype=np.float64)
    if times[0] > 0:
        times = np.concatenate([[0.0], times])
    start = density(problem, measure, tolerance=tolerance, max_degree=max_degree)
    reached: list[Density] = []
    note = ""
    try:
        for snapshot in trajectory(problem, start, times, tolerance=tolerance):
            reached.append(cast(Density, snapshot.measure))
    except SimulationError as error:
        if not reached:
            raise
        note = (
            f"the density is resolved up to t = {times[len(reached) - 1]:.6g} only "
            f"({error.reason}); later times are left out"
        )
    return Reference(times[: len(reached)], tuple(reached), note)


def system_distances(
    problem: Problem,
    reference: Reference,
    tokens: int,
    rng: np.random.Generator,
    *,
    metric: str,
    tolerance: float,
    step: float | None = None,
) -> FloatArray:
    """Run one particle system and measure its distance to the density at every reference time.

    Parameters
    ----------
    problem : Problem
        The law of the tokens is that of the reference.
    reference : Reference
        What it is compared with.
    tokens, rng : int, Generator
        How many, and all random numbers of this system.
    metric : str
        Which distance: a name in `METRICS`.
    tolerance, step : float
        Of the time step; the step itself for noisy tokens, scaled time.

    Returns
    -------
    ndarray, shape (n_times, 2)
        Distance, and the width of the interval in which it is known to lie: 0 where it is exact.

    Raises
    ------
    SimulationError
        If the particles cannot go on.
    """
    points = sample_tokens(reference.densities[0], tokens, rng)
    noise = int(rng.integers(2**63))
    begin = Measure(problem.space, points)
    start = particles(problem, begin, seed=noise, step=step, tolerance=tolerance)
    stream = trajectory(problem, start, reference.times, tolerance=tolerance)
    # The last bits of a sum by BLAS depend on its threads, and results must not.
    with one_blas_thread():
        return np.array(
            [
                METRICS[metric](snapshot.measure, there)
                for snapshot, there in zip(stream, reference.densities, strict=True)
            ]
        )
