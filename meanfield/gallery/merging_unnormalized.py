"""Share of merged pairs of 32 random tokens over beta and time, without normalisation."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

import meanfield as mf
from meanfield.arrays import FloatArray
from meanfield.gallery import merging_panels
from meanfield.gallery.entry import Number, Progress, Reproduction, unfollowed
from meanfield.gallery.merging_panels import TOKENS, Panel, half_time

# Times at which (6.10) reaches the cosine 0.999, by adaptive quadrature of its reciprocal.
_PRINTED = {5.0: 0.9746065980, 9.0: 0.6859876689}


def compute(
    short: bool = False, published: bool = False, progress: Progress = unfollowed
) -> Reproduction:
    """Shares in three dimensions, and the curve of tokens that begin orthogonal."""
    made = {}
    panels = _panels(short, published)
    with merging_panels.workers(short) as executor:
        for panel in progress(panels, len(panels), "dimensions"):
            made[panel.name] = panel.made("none", published, executor)
    numbers = [
        Number(f"time at which orthogonal tokens reach the cosine 0.999, beta = {beta:g}", time,
               _merging_time(beta), 1e-9, "(6.10) by quadrature")
        for beta, time in _PRINTED.items()
    ]  # fmt: skip
    high = made["d128"]
    why = "tokens that begin orthogonal; random ones are nearly so and merge earlier"
    # At beta = 7 cosines of 128^-1/2 change weights by a factor of two.
    for beta, within in ((5.0, 0.2),) if short else ((5.0, 0.2), (7.0, None)):
        what = f"time at which half of the pairs in R^128 have merged, beta = {beta:g}"
        numbers.append(Number(what, _merging_time(beta), half_time(high, beta), within, why))
    circle = made["d2"]
    at = int(np.argmin(np.abs(circle.betas - 5.0)))
    share = float(circle.fraction[at, -1])
    what = "share of merged pairs, d = 2, beta = 5, t = 1"
    numbers.append(Number(what, None, share, why="no number is printed"))
    data = merging_panels.arrays(made)
    data["curve"] = _curve()
    data["replicas"] = np.array([len(each.table.done[0]) for each in made.values()])
    data["layers"] = np.array(published)
    return Reproduction(tuple(numbers), data)


def draw(figure: Figure, reproduction: Reproduction) -> None:
    """A panel for each dimension, with the curve."""
    data = reproduction.data
    names = [name[:-6] for name in data if name.endswith("_share")]
    moved = "layers" if data["layers"] else "USA"
    listed = [
        (name, f"Pairs merged, $d = {name[1:]}$", f"{TOKENS} tokens, {moved}, {count} replicas")
        for name, count in zip(names, data["replicas"], strict=True)
    ]
    merging_panels.draw(figure, data, listed, 3)


def _panels(short: bool, published: bool) -> list[Panel]:
    """Those of layers have fewer betas and replicas: at beta = 9 time 1 takes 147,000 layers."""
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


def _merging_time(beta: float) -> float:
    """In the paper's time, e^-beta of scaled time."""
    problem = mf.Problem(mf.Sphere(TOKENS), mf.exponential(beta), mf.USA)
    return float(mf.equiangular_time(problem, TOKENS, 0.999) * np.exp(-beta))


def _curve() -> FloatArray:
    """Times and betas at which orthogonal tokens reach the cosine 0.999, to time 1."""
    betas = np.linspace(0.05, 9.0, 180)
    times = np.array([_merging_time(float(beta)) for beta in betas])
    return np.column_stack([times, betas])[times <= 1.0]
