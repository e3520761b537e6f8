"""What pair correlations show: psi over angles and E|c_l|^2 over degrees, beside closures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from meanfield.arrays import FloatArray, IntArray
from meanfield.runs import problem_attributes
from meanfield.studies.pair_correlation import PairCorrelation
from meanfield.theory.pair_correlation import CLOSURES, pair_basis, second_moments_of

_ANGLES = 361
# Times that have room beside each other, and degrees above which nothing is to be seen.
_MOST_TIMES, _MOST_DEGREES = 4, 24


@dataclass(frozen=True, eq=False)
class Closed:
    """What a closure says at the times shown.

    Attributes
    ----------
    name : str
        Given. As in `CLOSURES`.
    psi : ndarray, shape (n_times, n_angles)
        Given.
    second_moments : ndarray, shape (n_times, n_degrees)
        Given.
    """

    name: str
    psi: FloatArray
    second_moments: FloatArray


@dataclass(frozen=True, eq=False)
class PairPicture:
    """Pair correlations at a few times.

    Attributes
    ----------
    facts : dict
        Given. Manifold, kernel and flow.
    tokens, runs : int
        Given.
    times : ndarray, shape (n_times,)
        Given. Those shown, at most four.
    angles : ndarray, shape (n_angles,)
        Given. Radians, 0 to pi.
    psi, psi_error : ndarray, shape (n_times, n_angles)
        Given. Series up to all degrees, and its standard error.
    degrees : ndarray of int, shape (n_degrees,)
        Given. From 1 on.
    second_moments, standard_errors : ndarray, shape (n_times, n_degrees)
        Given.
    closures : tuple of Closed
        Given. Those that are known for the problem.
    """

    facts: dict[str, Any]
    tokens: int
    runs: int
    times: FloatArray
    angles: FloatArray
    psi: FloatArray
    psi_error: FloatArray
    degrees: IntArray
    second_moments: FloatArray
    standard_errors: FloatArray
    closures: tuple[Closed, ...]


def pair_picture(made: PairCorrelation) -> PairPicture:
    """Picture of an ensemble's pair correlations, of the first, the last and times between."""
    count = min(len(made.times), _MOST_TIMES)
    shown = np.unique(np.linspace(0, len(made.times) - 1, count).round().astype(int))
    angles = np.linspace(0.0, np.pi, _ANGLES)
    degrees = np.arange(1, min(made.max_degree, _MOST_DEGREES) + 1)
    basis = pair_basis(made.problem.manifold.dimension, made.max_degree, angles)
    psi, error = made.psi(angles)
    closures = []
    for name in CLOSURES:
        try:
            found = made.closure(name)[shown]
        except ValueError:
            # Not known for this flow or initial law, or so late.
            continue
        moments = second_moments_of(found, made.tokens)[:, degrees]
        closures.append(Closed(name, found @ basis, moments))
    return PairPicture(
        problem_attributes(made.problem),
        made.tokens,
        made.runs,
        made.times[shown],
        angles,
        psi[shown],
        error[shown],
        degrees,
        made.second_moments[shown][:, degrees],
        made.standard_errors[shown][:, degrees],
        tuple(closures),
    )
