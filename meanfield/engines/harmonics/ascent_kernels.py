"""Compiled gradient ascent x' = grad f(x) of many points at once, to the maxima of f.

Dormand and Prince's fifth-order pair with a step for each point, and a retraction after each stage.
A point has arrived when it is in a disc around a maximum that no ascent leaves.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.integrate import RK45

from meanfield.arrays import FloatArray
from meanfield.engines.compiled import njit
from meanfield.engines.elementary import copy_to
from meanfield.engines.harmonics.jets import jets
from meanfield.engines.harmonics.maxima_kernels import separation

# Error of a step, in radians; basin boundaries err by the sum of such errors.
_TOLERANCE = 1e-7
_MOST_STEPS = 400
_FIRST_STEP = 0.1
# Dormand and Prince, A family of embedded Runge-Kutta formulae, 1980.
_STAGES = np.vstack([np.pad(RK45.A[1:], ((0, 0), (0, 1))), RK45.B])
_ERROR = -RK45.E


@njit
def _gradients(field, points, count, jet, out):  # type: ignore[no-untyped-def]
    jets(field, points[:count], jet)
    for i in range(count):
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        s = math.hypot(x, y)
        c, d = (x / s, y / s) if s > 0.0 else (1.0, 0.0)
        out[i, 0] = jet[i, 1] * z * c - jet[i, 2] * d
        out[i, 1] = jet[i, 1] * z * d + jet[i, 2] * c
        out[i, 2] = -jet[i, 1] * s


def gradients(field: Any, points: FloatArray) -> FloatArray:
    """Gradients of a field (as `jets` takes it) at unit vectors (n, 3)."""
    out = np.empty(points.shape)
    _gradients(field, points, len(points), np.empty((len(points), 6)), out)
    return out


@njit
def _retract(point):  # type: ignore[no-untyped-def]
    norm = math.sqrt(point[0] ** 2 + point[1] ** 2 + point[2] ** 2)
    for axis in range(3):
        point[axis] /= norm


@njit
def _nearest(point, summits):  # type: ignore[no-untyped-def]
    best, least = 0, 8.0
    for k in range(len(summits)):
        distance = separation(point, summits[k])
        if distance < least:
            best, least = k, distance
    return best, least


@njit
def ascend(field, bound, noise, summits, reaches, points, basin):  # type: ignore[no-untyped-def]
    """Fill `basin` with the index of the summit that each point climbs to, or of the nearest.

    bound: bound on third derivatives; noise: rounding of the gradient, at which the ascent ends.
    reaches: distance from each summit at which a point has arrived.
    """
    n = len(points)
    here, trial = points.copy(), np.empty((n, 3))
    slopes = np.empty((7, n, 3))
    jet = np.empty((n, 6))
    owner = np.arange(n)
    steps = np.full(n, _FIRST_STEP / math.sqrt(bound))
    _gradients(field, here, n, jet, slopes[0])
    for turn in range(_MOST_STEPS):
        remaining = 0
        for i in range(n):
            best, least = _nearest(here[i], summits)
            g = slopes[0, i]
            still = g[0] * g[0] + g[1] * g[1] + g[2] * g[2] <= 16.0 * noise * noise
            basin[owner[i]] = best
            if least < reaches[best] or still or turn == _MOST_STEPS - 1:
                continue
            copy_to(here[remaining], here[i])
            owner[remaining], steps[remaining] = owner[i], steps[i]
            copy_to(slopes[0, remaining], slopes[0, i])
            remaining += 1
        n = remaining
        if n == 0:
            return
        for stage in range(6):
            for i in range(n):
                for axis in range(3):
                    change = 0.0
                    for k in range(stage + 1):
                        change += _STAGES[stage, k] * slopes[k, i, axis]
                    trial[i, axis] = here[i, axis] + steps[i] * change
                _retract(trial[i])
            _gradients(field, trial, n, jet, slopes[stage + 1])
        for i in range(n):
            square = 0.0
            for axis in range(3):
                change = 0.0
                for k in range(7):
                    change += _ERROR[k] * slopes[k, i, axis]
                square += (steps[i] * change) ** 2
            error = math.sqrt(square)
            if error <= _TOLERANCE:
                copy_to(here[i], trial[i])
                copy_to(slopes[0, i], slopes[6, i])
            steps[i] *= min(5.0, max(0.2, 0.9 * (_TOLERANCE / max(error, 1e-30)) ** 0.2))
