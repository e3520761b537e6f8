"""Angle of two tokens before and after one attention layer, at beta = gamma ln n.

n tokens have pairwise cosine rho. Each attends to itself with the weight
w_1 = n^{gamma (1 - rho)} / (n^{gamma (1 - rho)} + n - 1), and to each other one with the weight
w = (1 - w_1) / (n - 1). lambda is the angle of two outputs over that of two tokens.
"""

from __future__ import annotations

import numpy as np
from claims import Claim
from matplotlib.figure import Figure

from meanfield.arrays import FloatArray
from meanfield.fields.blocks import attention_output
from meanfield.figures.draw.axes import DENSITY_COLOURS
from meanfield.terms.attention import HeadMatrices
from published.entry import Progress, Reproduction, unfollowed

LENGTHS = (512.0, 1e6, 1e24)
_TRIED = ((0.2, 0.8), (0.2, 1.25), (0.5, 3.0))


def compute(
    short: bool = False, published: bool = False, progress: Progress = unfollowed
) -> Reproduction:
    """Angle ratios over rho and gamma for three lengths of the context, and their limits."""
    points = 41 if short else 241
    rho, gamma = np.linspace(0.0, 0.9, points), np.linspace(0.02, 5.0, points)
    ratio = np.array([angle_ratio(length, rho, gamma[:, None]) for length in LENGTHS])
    numbers = [
        Claim("lambda below the line, rho = 0.5, gamma = 1, n = 1e100", 0.0,
               float(angle_ratio(1e100, 0.5, 1.0)), 1e-12, "all outputs have one direction"),
        Claim("lambda above it, rho = 0.5, gamma = 3, n = 1e100", 1.0,
               float(angle_ratio(1e100, 0.5, 3.0)), 1e-12, "outputs are the tokens"),
        Claim("weight of a token's own on the line, gamma = 1 / (1 - rho), n = 1e100", 0.5,
               float(own_weight(1e100, 0.5, 2.0)), 1e-12, printed=True),
        Claim("lambda on the line, rho = 0.5, n = 1e100",
               float(np.arccos(4 * 0.5 / (1 + 3 * 0.5)) / np.arccos(0.5)),
               float(angle_ratio(1e100, 0.5, 2.0)), 1e-12,
               "the limit, arccos[4 rho / (1 + 3 rho)] / arccos(rho)"),
    ]  # fmt: skip
    numbers += [
        Claim(f"lambda of {64 if short else 512} tokens, rho = {rho:g}, gamma = {gamma:g}",
               float(angle_ratio(64.0 if short else 512.0, rho, gamma)),
               _by_attention(64 if short else 512, rho, gamma), 1e-12,
               "the closed form; here a layer of the package")
        for rho, gamma in _TRIED
    ]  # fmt: skip
    data = {"rho": rho, "gamma": gamma, "n": np.array(LENGTHS), "ratio": ratio}
    return Reproduction(tuple(numbers), data)


def own_weight(n: float, rho: float | FloatArray, gamma: float | FloatArray) -> FloatArray:
    """Weight w_1 of a token itself at beta = gamma ln n.

    >>> print(own_weight(3.0, 0.0, 1.0).round(12))
    0.6
    """
    others = np.log(n - 1.0) - np.multiply(gamma, 1.0 - np.asarray(rho)) * np.log(n)
    return np.asarray(1.0 / (1.0 + np.exp(np.minimum(others, 700.0))))


def angle_ratio(n: float, rho: float | FloatArray, gamma: float | FloatArray) -> FloatArray:
    """Angle of two outputs over that of two tokens, n tokens with the cosine rho < 1.

    With p = w_1 - w and S = sum_j x_j outputs are p x_i + w S. They differ by p (x_i - x_j), so
    tan of half their angle is p sqrt((1 - rho) / 2) / |p (x_i + x_j) / 2 + w S|.

    At gamma = 0 all outputs are the mean:

    >>> print(angle_ratio(100.0, 0.5, 0.0).round(12) + 0.0)
    0.0
    """
    rho = np.asarray(rho, dtype=np.float64)
    own = own_weight(n, rho, gamma)
    other = (1.0 - own) / (n - 1.0)
    apart = own - other
    # S . (x_i + x_j) / 2 = 1 + (n - 1) rho, and |S|^2 = n (1 + (n - 1) rho).
    share = 1.0 + (n - 1.0) * rho
    middle = (
        apart**2 * (1.0 + rho) / 2.0 + 2.0 * apart * other * share + (other * n) * (other * share)
    )
    half = np.arctan2(apart * np.sqrt((1.0 - rho) / 2.0), np.sqrt(middle))
    return np.asarray(2.0 * half / np.arccos(rho))


def _by_attention(n: int, rho: float, gamma: float) -> float:
    """Angle ratio by attention of the package, for tokens sqrt(rho) e_0 + sqrt(1 - rho) e_i."""
    x = np.hstack([np.full((n, 1), np.sqrt(rho)), np.sqrt(1.0 - rho) * np.eye(n)])
    head = HeadMatrices(gamma * np.log(n) * np.eye(n + 1), np.eye(n + 1))
    outputs = attention_output(x, [head])[:2]
    outputs /= np.linalg.norm(outputs, axis=1, keepdims=True)
    away, mean = outputs[0] - outputs[1], outputs[0] + outputs[1]
    return float(2.0 * np.arctan2(np.linalg.norm(away), np.linalg.norm(mean)) / np.arccos(rho))


def draw(figure: Figure, reproduction: Reproduction) -> None:
    """A heat map for each length, with the line gamma = 1 / (1 - rho)."""
    data = reproduction.data
    figure.set_size_inches(10.5, 3.4)
    panels = figure.subplots(1, len(data["n"]), sharey=True)
    line = 1.0 / (1.0 - data["rho"])
    for axes, n, ratio in zip(panels, data["n"], data["ratio"], strict=True):
        mesh = axes.pcolormesh(
            data["rho"], data["gamma"], ratio, cmap=DENSITY_COLOURS, vmin=0.0, vmax=1.0,
            rasterized=True,
        )  # fmt: skip
        axes.plot(data["rho"], line, "--", color="white", linewidth=1.4)
        axes.set(xlabel=r"cosine $\rho$ of tokens", ylim=(data["gamma"][0], data["gamma"][-1]))
        axes.set_title(
            f"$n = {n:.0f}$" if n < 1e4 else f"$n = 10^{{{np.log10(n):.0f}}}$", loc="left"
        )
    panels[0].set_ylabel(r"$\gamma = \beta / \ln n$")
    figure.colorbar(mesh, ax=panels, label=r"angle of outputs over angle of tokens, $\lambda$")
