"""Figures of eigenvalues with the leading modes, and of growth rates by degree."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from meanfield.arrays import ComplexArray, FloatArray
from meanfield.figures.data.projections import Mollweide
from meanfield.figures.data.sphere import pixels
from meanfield.figures.draw.axes import (
    ENERGY,
    FAINT,
    INK,
    MUTED,
    ORDER,
    facts_title,
    style,
    title_above,
)
from meanfield.figures.draw.figures import (
    check_suffix,
    draw_on,
    new_figure,
    panel_figure,
    write_figure,
)
from meanfield.figures.draw.prediction import RatesPicture, dispersion_picture
from meanfield.figures.draw.sphere import draw_field, draw_graticule
from meanfield.problem import Problem
from meanfield.spectrum.linear_operator import LinearOperator

# Most eigenvalues that are drawn, by dimension; those further left decay faster.
_SHOWN = {1: 60, 2: 150}
_MODES = 3
# Eigenvalues that agree to this share of the largest count as one.
_SAME = 1e-8
# Largest value of a mode, relative to the largest density.
_AMPLITUDE = 0.5
_ANGLES, _PIXELS = 721, 500
# Phases of a rotating or oscillating mode: 0, an eighth and a quarter of a period.
_PHASES = (0.0, np.pi / 4, np.pi / 2)


@dataclass(frozen=True, eq=False)
class ModePicture:
    """A mode of the linearised flow."""

    eigenvalue: complex
    copies: int  # number of modes with this eigenvalue, pairs counted once
    words: str  # describes its time evolution
    # (phases, angles): density plus mode on the circle, from -pi to pi, at one or three phases; or
    # (height, width): the mode on a map of the sphere, largest modulus 1.
    values: FloatArray


@dataclass(frozen=True, eq=False)
class OperatorPicture:
    """Eigenvalues and leading modes of a linearised flow."""

    subtitle: str  # manifold, heads and normalisation
    eigenvalues: ComplexArray  # (n,): the rightmost ones
    growing: npt.NDArray[np.bool_]  # (n,): growth beyond rounding
    decaying: npt.NDArray[np.bool_]  # (n,): decay beyond rounding
    left_out: int  # number of eigenvalues further left
    angles: FloatArray  # (angles,): of modes on the circle
    background: FloatArray  # (angles,): density on the circle without a mode
    modes: tuple[ModePicture, ...]  # leading modes, one for each eigenvalue


def operator_picture(operator: LinearOperator) -> OperatorPicture:
    """Picture of a linearised flow around a stationary density."""
    if not operator.stationary:
        raise ValueError(
            f"there is no spectrum to draw: the density is not stationary, |v| is up to "
            f"{operator.drift:.4g}."
        )
    values = operator.eigenvalues
    leading = values[: _SHOWN[operator.problem.manifold.dimension]]
    angles = np.linspace(-np.pi, np.pi, _ANGLES)
    flat = operator.problem.manifold.dimension > 1
    return OperatorPicture(
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
    """Indices of the first different eigenvalues, one of each pair, and their multiplicities."""
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


_SIZE = (9.6, 5.4)
_SIGNED_COLOURS = "RdBu_r"
# Later phases of a mode are fainter.
_FADING = (1.0, 0.55, 0.3)
# Margin around the eigenvalues, as a share of their spread.
_ROOM = 0.08


def spectrum_figure(
    operator: LinearOperator, *, ax: Axes | None = None, title: str | None = None, **options: Any
) -> Figure:
    """Figure of a linearised flow; on axes of the user only the eigenvalues."""
    picture = operator_picture(operator)
    if ax is not None:
        return draw_on(ax, partial(_plane, picture), title)
    return draw_operator(picture, title=title, **options)


def save_spectrum(operator: LinearOperator, path: str | os.PathLike[str]) -> None:
    """Write the figure of a linearised flow into a file."""
    check_suffix(path)
    write_figure(spectrum_figure(operator), path)


def draw_operator(picture: OperatorPicture, *, title: str | None = None, **options: Any) -> Figure:
    """Figure of the picture of a linearised flow."""
    names = [f"mode {i}" for i in range(len(picture.modes))]
    with style():
        figure = new_figure(_SIZE, **options)
        axes = figure.subplot_mosaic([["plane", name] for name in names], width_ratios=[1.35, 1.0])
        title = "Small perturbations: growth and frequency" if title is None else title
        title_above(axes["plane"], title, picture.subtitle)
        _plane(picture, axes["plane"])
        for i, (name, mode) in enumerate(zip(names, picture.modes, strict=True)):
            last = i == len(names) - 1
            if len(picture.angles) and picture.background.size:
                _on_circle(picture, mode, axes[name], last=last)
            else:
                _on_map(mode, axes[name], last=last)
            _label(i, mode, axes[name])
    return figure


def _plane(picture: OperatorPicture, axes: Axes) -> None:
    """Draw eigenvalues, growth to the right and frequency upwards, and number the modes."""
    values = picture.eigenvalues
    axes.axhline(0.0, color=FAINT, linewidth=0.8, zorder=1)
    axes.axvline(0.0, color=MUTED, linewidth=0.8, zorder=1)
    neither = ~(picture.growing | picture.decaying)
    kinds = [
        ("grows", ENERGY, picture.growing),
        ("decays", ORDER, picture.decaying),
        ("neither", MUTED, neither),
    ]
    for name, colour, chosen in kinds:
        if chosen.any():
            axes.scatter(
                values.real[chosen], values.imag[chosen], s=24, color=colour, label=name, zorder=3,
                edgecolor="white", linewidth=0.4,
            )  # fmt: skip
    for i, mode in enumerate(picture.modes):
        place = (mode.eigenvalue.real, mode.eigenvalue.imag)
        axes.scatter(*place, s=110, facecolor="none", edgecolor=INK, linewidth=1.1, zorder=4)
        # Different shifts keep numbers of close eigenvalues apart.
        shift = ((0, 12), (12, -8), (-11, 9))[i]
        axes.annotate(
            str(i + 1), place, xytext=shift, textcoords="offset points", ha="center", va="center",
            fontweight="bold", fontsize=9.5, zorder=5,
        )  # fmt: skip
    _set_limits(axes, values)
    axes.set_xlabel(r"growth rate Re $\lambda$ (per scaled time)")
    axes.set_ylabel(r"frequency Im $\lambda$ (per scaled time)")
    handle = axes.legend(loc="best")
    if picture.left_out:
        handle.set_title(f"{picture.left_out} more further left")
        handle.get_title().set_fontsize(8.5)


def _set_limits(axes: Axes, values: np.ndarray[Any, np.dtype[np.complex128]]) -> None:
    """Set limits that contain all eigenvalues and 0; real ones have room above and below."""
    low, high = min(0.0, values.real.min()), max(0.0, values.real.max())
    wide = (high - low) or 1.0
    axes.set_xlim(low - _ROOM * wide, high + _ROOM * wide)
    tall = float(np.abs(values.imag).max())
    if tall < 1e-3 * wide:
        tall = 0.5 * wide
    axes.set_ylim(-(1 + 2 * _ROOM) * tall, (1 + 2 * _ROOM) * tall)


def _on_circle(picture: OperatorPicture, mode: ModePicture, axes: Axes, *, last: bool) -> None:
    axes.plot(picture.angles, picture.background, color=MUTED, linewidth=0.8, dashes=(4, 3))
    for wave, share in zip(mode.values, _FADING, strict=False):
        axes.plot(picture.angles, wave, color=ORDER, alpha=share, linewidth=1.4)
    axes.set_xlim(-np.pi, np.pi)
    names = [r"$-\pi$", r"$-\pi/2$", "0", r"$\pi/2$", r"$\pi$"]
    axes.set_xticks(np.arange(-2, 3) * np.pi / 2, names if last else [])
    axes.set_ylabel("density")
    if last:
        later = any(len(each.values) > 1 for each in picture.modes)
        note = "; fainter: up to a quarter period later" if later else ""
        axes.set_xlabel(rf"angle $\theta${note}")


def _on_map(mode: ModePicture, axes: Axes, *, last: bool) -> None:
    """Draw the change of the density by a mode, red more, blue less."""
    projection = Mollweide()
    draw_field(axes, mode.values, projection, cmap=_SIGNED_COLOURS, vmin=-1.0, vmax=1.0)
    draw_graticule(axes, projection)
    if last:
        axes.annotate(
            "red: more than without it, blue: less", (0.5, 0.0), xycoords="axes fraction",
            xytext=(0, -5), textcoords="offset points", ha="center", va="top", color=MUTED,
        )  # fmt: skip


def _label(number: int, mode: ModePicture, axes: Axes) -> None:
    value = mode.eigenvalue
    number_of = f"{value.real:.4g}"
    if value.imag:
        number_of += rf" \pm {abs(value.imag):.4g}\,i"
    times = f" ({mode.copies} times)" if mode.copies > 1 else ""
    axes.set_title(
        rf"$\bf{{{number + 1}}}$  $\lambda = {number_of}${times}" + f"\n{mode.words}",
        loc="left", color=INK, fontsize=8.5, linespacing=1.3,
    )  # fmt: skip


_RATES_SIZE = (9.0, 4.6)
# More degrees are drawn as a line, because stems would merge.
_STEMS = 120


def save_dispersion(
    problem: Problem, path: str | os.PathLike[str], max_degree: int | None = None
) -> None:
    """Write a figure of the dispersion relation; default of max_degree as in `growth_rates`."""
    check_suffix(path)
    picture = dispersion_picture(problem, max_degree)
    draw, heading = partial(draw_rates, picture), "Growth of the uniform state"
    write_figure(panel_figure(draw, _RATES_SIZE, heading, facts_title(picture.facts)), path)


def draw_rates(picture: RatesPicture, axes: Axes) -> None:
    """Draw growth rates in colours by sign, and mark the fastest degree."""
    rates = picture.rates
    degrees = np.arange(len(rates))
    axes.axhline(0.0, color=MUTED, linewidth=0.8, zorder=1)
    if len(rates) > _STEMS:
        axes.plot(degrees, rates, color=MUTED, linewidth=1.2)
    else:
        axes.plot(degrees, rates, color=MUTED, linewidth=0.8, alpha=0.6, zorder=1)
        colours = [ENERGY if rate > 0 else ORDER for rate in rates]
        axes.vlines(degrees, 0.0, rates, color=colours, linewidth=1.4, zorder=2)
    for kind, colour, chosen in [
        ("grows", ENERGY, rates > 0),
        ("decays", ORDER, rates < 0),
    ]:
        if np.any(chosen):
            size = 28 if len(rates) <= _STEMS else 4
            axes.scatter(degrees[chosen], rates[chosen], s=size, color=colour, label=kind, zorder=3)
    fastest = picture.dominant
    if fastest is not None and fastest < len(rates):
        _mark(axes, fastest, float(rates[fastest]))
    axes.annotate(
        "\n".join(picture.lines), (1.0, 1.0), xycoords="axes fraction", xytext=(-4, 0),
        textcoords="offset points", ha="right", va="top", linespacing=1.6, fontsize=8.5,
    )  # fmt: skip
    axes.set_xlabel(r"degree $\ell$")
    axes.set_ylabel(r"growth rate $\lambda_\ell$ (per scaled time)")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=14))
    axes.margins(x=0.03, y=0.14)
    axes.legend(loc="lower right" if rates.min() >= -0.02 * rates.max() else "best")


def _mark(axes: Axes, degree: int, rate: float) -> None:
    axes.scatter([degree], [rate], s=110, facecolor="none", edgecolor=ENERGY, linewidth=1.4)
    axes.annotate(
        rf"$\lambda_{{{degree}}} = {rate:.4g}$", (degree, rate), xytext=(0, 9),
        textcoords="offset points", ha="center", color=INK, fontsize=9.5, fontweight="bold",
    )  # fmt: skip
