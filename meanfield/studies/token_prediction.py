"""Where given tokens will cluster, as linear theory has it.

    Phi_l = strength w_l m_l e^{lambda_l T},    T = ln N / (2 lambda_max),

m_l the moments of the tokens as they are: clusters form at the maxima of this potential, and each
takes the tokens of its basin. If the dominant degree k were alone, on the circle they would form at
(2 pi j - arg m_k) / k.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meanfield.arrays import MOMENT_NOISE, FloatArray, ModalArray
from meanfield.problem import Problem
from meanfield.spectrum.cluster_counts import potential_growth
from meanfield.spectrum.stability import dominant_degree

# Clusters whose places a sentence tells.
_MOST_LISTED = 4


@dataclass(frozen=True, eq=False)
class TokenPrediction:
    """Where the clusters of given tokens will form, and how heavy they will be.

    - points (n,) or (n, 3): the tokens.
    - potential: modal coefficients of the potential at the onset time, largest of size 1.
    - positions (m,) or (m, 3): its maxima to which tokens climb, highest first: angles in (-pi,
      pi], or unit vectors.
    - masses (m,): share of the tokens in the basin of each.
    - labels (n,): index into `positions` for each token.
    - dominant_positions (k,): maxima of the dominant degree alone, on the circle; empty on the
      sphere, and where that moment is 0.
    """

    points: FloatArray
    potential: ModalArray
    positions: FloatArray
    masses: FloatArray
    labels: npt.NDArray[np.int64]
    dominant_positions: FloatArray

    def summary(self) -> str:
        """How many clusters, and where the heaviest will be: angles, or unit vectors."""
        count = len(self.positions)
        heaviest = self.positions[np.argsort(-self.masses, kind="stable")[:_MOST_LISTED]]
        # Rounded before it is printed, without -0.
        heaviest = np.round(heaviest, 3) + 0.0
        if heaviest.ndim == 1:
            places = "angle" + "s" * (count > 1) + " " + ", ".join(f"{x:g}" for x in heaviest)
        else:
            places = ", ".join(f"({x:g}, {y:g}, {z:g})" for x, y, z in heaviest)
        more = f" and {count - _MOST_LISTED} more" if count > _MOST_LISTED else ""
        plural = "s" * (count > 1)
        return f"{count} cluster{plural} of these tokens by linear theory, at {places}{more}"

    def __repr__(self) -> str:
        masses = ", ".join(f"{mass:.3g}" for mass in np.sort(self.masses)[::-1][:5])
        more = ", ..." if len(self.masses) > 5 else ""
        return (
            f"TokenPrediction({len(self.points)} tokens, {len(self.positions)} clusters of masses "
            f"{masses}{more})"
        )


def predict_positions(problem: Problem, points: FloatArray) -> TokenPrediction:
    """Where these tokens, at least two, will cluster under a problem with a degree that grows."""
    from meanfield.spaces.maxima import basins, maxima

    space, n = problem.manifold, len(points)
    potential = _potential(problem, points)
    positions = maxima(space, potential)
    labels = basins(space, potential, points)
    counts = np.bincount(labels, minlength=len(positions))
    # A maximum that no token climbs to makes no cluster.
    peopled = counts > 0
    labels = (np.cumsum(peopled) - 1)[labels]
    return TokenPrediction(
        points,
        potential,
        positions[peopled],
        counts[peopled] / n,
        labels,
        _dominant_positions(problem, points),
    )


def _potential(problem: Problem, points: FloatArray) -> ModalArray:
    space, n = problem.manifold, len(points)
    growth = potential_growth(problem, n)
    degree = len(growth) - 1
    moments = space.moments(points, None, degree)
    significant = space.sizes_by_degree(moments) > MOMENT_NOISE
    potential = space.convolve(growth / np.abs(growth).max() * significant, moments)
    largest = float(np.abs(potential).max())
    if largest == 0.0:
        raise ValueError(
            f"the {n} tokens are placed so evenly that their moments up to degree {degree} are 0: "
            "they make no potential, and no clusters can be predicted. Move some."
        )
    return potential / largest


def _dominant_positions(problem: Problem, points: FloatArray) -> FloatArray:
    """(2 pi j - arg c_k) / k, maxima of Re[c_k e^{ik theta}]; its multiplier is positive."""
    k = dominant_degree(problem)
    if k is None or problem.zonal.dimension != 1:
        return np.zeros(0)
    moment = problem.manifold.moments(points, None, k)[k]
    if abs(moment) <= MOMENT_NOISE:
        return np.zeros(0)
    angles = (2.0 * np.pi * np.arange(k) - np.angle(moment)) / k
    return np.sort(np.pi - np.mod(np.pi - angles, 2.0 * np.pi))
