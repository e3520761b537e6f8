"""Eigenvalues of the linearised flow in the complex plane, and the leading modes as densities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meanfield.arrays import ComplexArray, FloatArray
from meanfield.figures.data.projections import Mollweide
from meanfield.figures.data.sphere import pixels
from meanfield.problem import Problem
from meanfield.spectrum.linear_operator import LinearOperator

# Eigenvalues further left are many and say nothing of what grows.
_SHOWN = {1: 60, 2: 150}
_MODES = 3
# Eigenvalues that agree to this share of the largest are one.
_SAME = 1e-8
# Largest value of a mode, uniform being 1.
_AMPLITUDE = 0.5
_ANGLES, _PIXELS = 721, 500
# Phases of a mode that rotates or oscillates: now, and an eighth and a quarter of a period later.
_PHASES = (0.0, np.pi / 4, np.pi / 2)


@dataclass(frozen=True, eq=False)
class ModePicture:
    """A mode, added to the density whose mode it is."""

    eigenvalue: complex
    copies: int  # how many modes have this rate and frequency, pairs counted once
    words: str  # what becomes of it
    # (phases, angles) or (height, width): on the circle density over the angles -pi to pi, at one
    # phase or three; on a map of the sphere what the mode adds, largest modulus 1.
    values: FloatArray


@dataclass(frozen=True, eq=False)
class SpectrumPicture:
    """Eigenvalues, the leading modes, and which rates grow or decay beyond rounding."""

    subtitle: str  # manifold, heads and normalisation
    eigenvalues: ComplexArray  # (n,): the rightmost ones
    growing: npt.NDArray[np.bool_]
    decaying: npt.NDArray[np.bool_]
    left_out: int  # how many lie further left
    angles: FloatArray  # (angles,): of modes on the circle
    background: FloatArray  # (angles,): the density itself on the circle
    modes: tuple[ModePicture, ...]  # the leading ones, each eigenvalue once


def spectrum_picture(operator: LinearOperator) -> SpectrumPicture:
    """Picture of a linearised flow."""
    if not operator.stationary:
        raise ValueError(
            f"there is no spectrum to draw: the density is not stationary, |v| is up to "
            f"{operator.drift:.4g}."
        )
    values = operator.eigenvalues
    leading = values[: _SHOWN[operator.problem.manifold.dimension]]
    angles = np.linspace(-np.pi, np.pi, _ANGLES)
    flat = operator.problem.manifold.dimension > 1
    return SpectrumPicture(
        subtitle(operator.problem),
        leading,
        operator.growing[: len(leading)],
        operator.decaying[: len(leading)],
        len(values) - len(leading),
        angles,
        np.zeros(0) if flat else operator.density(angles),
        tuple(_mode(operator, i, n, angles) for i, n in _leading(leading)),
    )


def _leading(values: ComplexArray) -> list[tuple[int, int]]:
    """Indices of the first eigenvalues that differ, of a pair one, and how often each occurs."""
    pairs: list[tuple[int, int]] = []
    upper = np.flatnonzero(values.imag >= 0)
    near = _SAME * float(np.abs(values).max(initial=0.0))
    while len(upper) and len(pairs) < _MODES:
        same = np.abs(values[upper] - values[upper[0]]) <= near
        pairs.append((int(upper[0]), int(same.sum())))
        upper = upper[~same]
    return pairs


def _mode(operator: LinearOperator, index: int, copies: int, angles: FloatArray) -> ModePicture:
    space, value = operator.problem.manifold, complex(operator.eigenvalues[index])
    if space.dimension > 1:
        points = pixels(Mollweide(), _PIXELS)
        wave = space.evaluate(operator.modes[index, 0], np.ascontiguousarray(points.reshape(-1, 3)))
        values = (wave / np.nanmax(np.abs(wave))).reshape(points.shape[:2])
    else:
        phases = _PHASES if operator.travelling[index] else (0.0,)
        amplitude = _AMPLITUDE * float(operator.density(angles).max())
        values = np.array([operator.perturbed(index, amplitude, p)(angles) for p in phases])
    return ModePicture(value, copies, operator.describe(index), values)


def subtitle(problem: Problem) -> str:
    """Manifold, heads and normalisation on one line."""
    attention = problem.attention
    if attention is None:
        zonal = problem.zonal
        flow = "SA" if zonal.normalized else "USA"
        parts = [f"{zonal.kernel.name} kernel", rf"$\beta = {problem.beta:g}$", flow]
        if zonal.strength != 1.0:
            parts.append(f"strength ${zonal.strength:g}$")
        diffusivity = zonal.diffusivity
    else:
        count, diffusivity = len(attention.heads), attention.diffusivity
        name = attention.normalization
        parts = [
            "1 head" if count == 1 else f"{count} heads",
            rf"{'largest ' if count > 1 else ''}$\beta |B| = {problem.beta:.4g}$",
            "not normalised" if name == "none" else name,
        ]
    if diffusivity:
        parts.append(f"diffusivity ${diffusivity:g}$")
    return ",  ".join([problem.manifold.name, *parts])
