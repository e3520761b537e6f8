"""Weights at the end of a causal context: U profiles, and when they end (arXiv:2605.09213).

Under USA with ALiBi's weights e^{-lambda (s - s')} on the circle, near uniform, the position s
influences the end with the weight

    S_t(s) = sum_n w_n a(s) psi_{b_n t}(Y(s)),    psi_c(y) = sum_k c^{k+1} y^k / (k! (k+1)!),
    a(s) = lambda e^{lambda s} / (e^lambda - 1),  Y(s) = ln[(e^lambda - 1) / (e^{lambda s} - 1)],

w_n = e^{-(pi n / M)^2 / 2} and b_n = n^2 I_n(beta). Up to t_crit the profile is a U: the first and
the last positions have large weights. At t_crit the slope at s = 1 vanishes, and afterwards only
the first positions have large weights. In this package b_n are growth rates, and psi is
`causal_response`.
"""

from __future__ import annotations

import math

import numpy as np
from claims import Claim
from matplotlib import colormaps
from matplotlib.figure import Figure
from numpy.polynomial import Chebyshev
from scipy.optimize import brentq

from meanfield.arrays import FloatArray
from meanfield.figures.draw.axes import ENERGY, INK, ORDER, TIME_COLOURS
from meanfield.papers.causal import causal_response
from meanfield.problem import Problem
from meanfield.spaces import Circle
from meanfield.spectrum.stability import growth_rates
from meanfield.terms.flows import USA
from meanfield.terms.kernels import exponential
from published.entry import Progress, Reproduction, unfollowed

RATE, WIDTH, DEGREES = 1.0, 8.0, 20  # lambda, M, largest n
TIMES = (0.25, 0.5, 1.0, 1.5, 2.0, 5.0)
# t_crit = 2 (1 - e^-lambda) sum w b / sum w b^2, the closed form of the source.
THRESHOLDS = {
    0.1: 27.092952059, 0.5: 5.911578639, 1.0: 2.45748898, 2.0: 0.600716224, 3.0: 0.174018394,
    4.8: 0.022308301,
}  # fmt: skip


def rates(beta: float) -> FloatArray:
    """b_n for n = 1 to 20: growth rates in paper time, times the source's factor beta."""
    problem = Problem(Circle(), exponential(beta), USA)
    return np.asarray(growth_rates(problem, DEGREES)[1:] * beta * math.exp(beta))


def profile(beta: float, time: float, positions: FloatArray) -> FloatArray:
    """S_t at positions s in (0, 1]."""
    reach = np.maximum(math.expm1(RATE) / np.expm1(RATE * positions), 1.0)  # e^Y
    degrees = np.arange(1, DEGREES + 1)
    weights = np.exp(-0.5 * (np.pi * degrees / WIDTH) ** 2)
    heard = sum(
        weight * reach * causal_response(float(rate * time), 1.0, reach)
        for weight, rate in zip(weights, rates(beta), strict=True)
    )
    return np.asarray(RATE * np.exp(RATE * positions) / math.expm1(RATE) * heard)


def end_slope(beta: float, time: float) -> float:
    """Slope of S_t at s = 1, by an interpolating polynomial."""
    domain = [0.95, 1.0]
    fitted = Chebyshev.interpolate(lambda s: profile(beta, time, s), 10, domain)
    return float(fitted.deriv()(1.0))


def threshold(beta: float) -> float:
    """Time t_crit at which the slope at the end vanishes."""
    b = rates(beta)
    # The slope is positive at first, and negative once every b_n t exceeds 2 a(1).
    late = 4.0 / b[np.argmax(b > 1e-3 * b.max())]
    return float(brentq(lambda t: end_slope(beta, t), 1e-3 * late, late, rtol=1e-12))


def _series(beta: float, time: float, position: float) -> float:
    """S_t by the power series of psi, as in the source."""
    from scipy.special import iv

    y = math.log(math.expm1(RATE) / math.expm1(RATE * position))
    total = 0.0
    for n in range(1, DEGREES + 1):
        c = n * n * float(iv(n, beta)) * time
        psi = sum(
            c ** (k + 1) * y**k / math.factorial(k) / math.factorial(k + 1) for k in range(60)
        )
        total += math.exp(-0.5 * (math.pi * n / WIDTH) ** 2) * psi
    return RATE * math.exp(RATE * position) / math.expm1(RATE) * total


def compute(
    short: bool = False, published: bool = False, progress: Progress = unfollowed
) -> Reproduction:
    """Profiles for beta = 1 at the times of the source, and the threshold over beta."""
    positions = np.linspace(0.02, 0.98, 81 if short else 800)
    betas = np.array([0.1, 1.0, 4.8]) if short else 0.1 * np.arange(1, 49)
    found = np.array([threshold(beta) for beta in progress(betas, len(betas), "thresholds")])
    numbers = [
        Claim(
            f"threshold $t_{{crit}}$, $\\beta = {beta:g}$", value,
            float(found[np.argmin(np.abs(betas - beta))]), 1e-9, "from the source's closed form",
            printed=True,
        )
        for beta, value in THRESHOLDS.items()
        if np.abs(betas - beta).min() < 1e-9
    ]  # fmt: skip
    numbers += [
        Claim(
            f"$S_{{{time:g}}}(0.3)$, $\\beta = 1$", _series(1.0, time, 0.3),
            float(profile(1.0, time, np.array([0.3]))[0]), 1e-11,
            "beside the power series, which the source sums", printed=True,
        )
        for time in (1.0, 5.0)
    ]  # fmt: skip
    profiles = np.array([profile(1.0, time, positions) for time in TIMES])
    data = {"time": np.array(TIMES), "position": positions, "profile": profiles}
    return Reproduction(tuple(numbers), {**data, "beta": betas, "threshold": found})


def draw(figure: Figure, reproduction: Reproduction) -> None:
    """Profiles minus their minimum, and the threshold over beta."""
    data = reproduction.data
    figure.set_size_inches(8.4, 3.6)
    left, right = figure.subplots(1, 2)
    colours = colormaps[TIME_COLOURS](np.linspace(0.08, 0.95, len(data["time"])))
    for time, values, colour in zip(data["time"], data["profile"], colours, strict=True):
        above = values - values.min()
        left.plot(data["position"], above / above.max(), color=colour, label=f"$t = {time:g}$")
    left.set_xlabel("position $s$")
    left.set_ylabel("$S_t - \\min S_t$ over its largest value")
    left.set_title("$\\beta = 1$", loc="left")
    left.legend(loc="upper center", ncols=2, fontsize=7.5)
    right.semilogy(data["beta"], data["threshold"], color=ORDER)
    right.plot(list(THRESHOLDS), list(THRESHOLDS.values()), "o", color=ENERGY, markersize=4)
    right.annotate(
        "only the first tokens are heard", (0.97, 0.9), xycoords="axes fraction", ha="right",
        color=INK,
    )  # fmt: skip
    right.annotate("a U: the first and the last", (0.05, 0.08), xycoords="axes fraction", color=INK)
    right.set_xlabel("$\\beta$")
    right.set_ylabel("$t_{crit}$, paper time")
    right.set_title("when the slope at the end vanishes", loc="left")
