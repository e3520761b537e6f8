"""Picture of pair correlations: psi over angles, E|c_l|^2 over degrees, and closures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray, IntArray
from meanfield.described import Facts
from meanfield.papers.pair_correlation import CLOSURES, pair_basis, second_moments_of
from meanfield.papers.pair_correlation_study import PairCorrelation
from meanfield.problem_facts import facts_of

_ANGLES = 361
# Times that have room beside each other, and degrees above which nothing is to be seen.
_MOST_TIMES, _MOST_DEGREES = 4, 24


@dataclass(frozen=True, eq=False)
class Closed:
    """Predictions of a closure at the times in the figure."""

    name: str  # as in `CLOSURES`
    psi: FloatArray  # (n_times, n_angles)
    second_moments: FloatArray  # (n_times, n_degrees)


@dataclass(frozen=True, eq=False)
class PairPicture:
    """Pair correlations psi (n_times, n_angles) and moments (n_times, n_degrees) at a few times."""

    facts: Facts  # manifold, kernel and flow
    tokens: int
    runs: int
    times: FloatArray  # (n_times,): those shown, at most four
    angles: FloatArray  # (n_angles,): radians, 0 to pi
    psi: FloatArray
    psi_error: FloatArray
    degrees: IntArray  # (n_degrees,): from 1 on
    second_moments: FloatArray
    standard_errors: FloatArray
    closures: tuple[Closed, ...]  # those that are known for the problem


def pair_picture(correlations: PairCorrelation) -> PairPicture:
    """Picture of an ensemble's pair correlations, of the first, the last and times between."""
    count = min(len(correlations.times), _MOST_TIMES)
    saves = np.unique(np.linspace(0, len(correlations.times) - 1, count).round().astype(int))
    angles = np.linspace(0.0, np.pi, _ANGLES)
    degrees = np.arange(1, min(correlations.max_degree, _MOST_DEGREES) + 1)
    basis = pair_basis(correlations.problem.manifold.dimension, correlations.max_degree, angles)
    psi, error = correlations.psi(angles)
    closures = []
    for name in CLOSURES:
        try:
            psi_hat = correlations.closure(name)[saves]
        except ValueError:
            # Not known for this flow or initial law, or so late.
            continue
        moments = second_moments_of(psi_hat, correlations.tokens)[:, degrees]
        closures.append(Closed(name, psi_hat @ basis, moments))
    return PairPicture(
        facts_of(correlations.problem),
        correlations.tokens,
        correlations.runs,
        correlations.times[saves],
        angles,
        psi[saves],
        error[saves],
        degrees,
        correlations.second_moments[saves][:, degrees],
        correlations.standard_errors[saves][:, degrees],
        tuple(closures),
    )
