"""Share of merged pairs of 32 random tokens over beta and time, without normalisation."""

from __future__ import annotations

import numpy as np
from claims import Claim
from matplotlib.figure import Figure

import meanfield as mf
from published import merging_panels
from published.entry import Progress, Reproduction, unfollowed
from published.merging_panels import Panel, curve_numbers, half_time, merging_time

# Times at which (6.10) reaches the cosine 0.999, by adaptive quadrature of its reciprocal.
_TIMES_OF_CURVE = {5.0: (0.9746065980, 1e-9), 9.0: (0.6859876689, 1e-9)}


def compute(
    short: bool = False, published: bool = False, progress: Progress = unfollowed
) -> Reproduction:
    """Shares in three dimensions, and the curve of initially orthogonal tokens."""
    made = {}
    panels = _panels(short, published)
    with merging_panels.workers(short) as executor:
        for panel in progress(panels, len(panels), "dimensions"):
            made[panel.name] = panel.made("none", published, executor)
    numbers = curve_numbers(mf.USA, _TIMES_OF_CURVE, "(6.10) by quadrature")
    high = made["d128"]
    why = "tokens that begin orthogonal; random ones are nearly so and merge earlier"
    # At beta = 7, cosines of 128^-1/2 change weights by a factor of two.
    for beta, within in ((5.0, 0.2),) if short else ((5.0, 0.2), (7.0, None)):
        what = f"time at which half of the pairs in R^128 have merged, beta = {beta:g}"
        numbers.append(Claim(what, merging_time(beta, mf.USA), half_time(high, beta), within, why))
    circle = made["d2"]
    at = int(np.argmin(np.abs(circle.betas - 5.0)))
    share = float(circle.fraction[at, -1])
    what = "share of merged pairs, d = 2, beta = 5, t = 1"
    numbers.append(Claim(what, None, share, why="no number is printed"))
    data = merging_panels.arrays_by_dimension(made, mf.USA, 1.0, published)
    return Reproduction(tuple(numbers), data)


def draw(figure: Figure, reproduction: Reproduction) -> None:
    """A panel for each dimension, with the curve."""
    data = reproduction.data
    moved = "layers" if data["layers"] else "USA"
    merging_panels.draw_dimensions(figure, data, moved, 3)


def _panels(short: bool, published: bool) -> list[Panel]:
    """Panels; those of layers are smaller, because time 1 at beta = 9 takes 147,000 layers."""
    if short:
        times, betas = np.linspace(0.0, 1.0, 41)[1:], np.array([2.0, 5.0])
        sizes = [(2, 4), (8, 2), (128, 2)]
    elif published:
        times, betas = np.linspace(0.0, 1.0, 201)[1:], np.linspace(0.2, 9.0, 23)
        sizes = [(2, 8), (8, 4), (128, 2)]
    else:
        times, betas = np.linspace(0.0, 1.0, 201)[1:], np.linspace(0.2, 9.0, 45)
        sizes = [(2, 32), (8, 32), (128, 2)]
    return [Panel(f"d{d}", f"d = {d}", d, betas, times, count) for d, count in sizes]
