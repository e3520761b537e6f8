"""The curve (6.12): the beta at which initially orthogonal tokens reach the cosine 1 - delta."""

from __future__ import annotations

import numpy as np
from claims import Claim
from matplotlib.figure import Figure

import meanfield as mf
from meanfield.arrays import FloatArray
from meanfield.figures.draw.axes import ENERGY, INK, ORDER
from published.entry import Progress, Reproduction, unfollowed

TOKENS, DELTA, UNTIL = 128, 1e-3, 30.0
# Times of (6.9) for n = 128 at beta = 0, 1, ..., 7, by a solver of differential equations.
_TIMES = (5.87939643, 5.90902040, 5.97867287, 6.14808730, 6.56954989, 7.63424572, 10.35301824,
          17.35042401)  # fmt: skip


def compute(
    short: bool = False, published: bool = False, progress: Progress = unfollowed
) -> Reproduction:
    """The curve in closed form, and that of the notebook, by a solver at default tolerances."""
    betas = np.linspace(0.1, 9.0, 10 if short else 50)
    times = np.linspace(0.0, UNTIL, 300)
    solved = [_solved(float(beta), times) for beta in progress(betas, len(betas), "betas")]
    exact = np.array([_time(float(beta)) for beta in betas])
    reached = np.array([_first(times, cosines) for cosines in solved])
    late = np.abs(reached / exact - 1.0)[np.isfinite(reached)]
    numbers = [
        Claim(f"time at which the cosine 0.999 is reached, beta = {beta}", time,
               _time(float(beta)), 5e-8 * time, "(6.9) by a solver of differential equations")
        for beta, time in enumerate(_TIMES)
    ]  # fmt: skip
    numbers.append(
        Claim(
            "largest relative error of such times in the notebook",
            0.0,
            float(late.max()),
            0.02,
            "SciPy's solve_ivp with its default tolerances, 1e-3 relative",
        )
    )
    back = float(mf.equiangular_beta(TOKENS, _TIMES[5], DELTA))
    numbers.append(Claim(f"beta of the time {_TIMES[5]}", 5.0, back, 1e-7))
    along = np.linspace(0.0, 9.0, 181)
    until = np.array([_time(float(beta)) for beta in along])
    curve = np.column_stack([until, along])[until <= UNTIL]
    data = {"curve": curve, "times": times, "notebook": _notebook(betas, np.array(solved)),
            "published": np.array(published)}  # fmt: skip
    return Reproduction(tuple(numbers), data)


def draw(figure: Figure, reproduction: Reproduction) -> None:
    """Both curves, or only that of the notebook."""
    data = reproduction.data
    figure.set_size_inches(6.4, 3.8)
    axes = figure.subplots()
    notebook = (data["times"], data["notebook"])
    if data["published"]:
        axes.plot(*notebook, color=INK, linewidth=1.4, drawstyle="steps-post")
    else:
        axes.plot(*data["curve"].T, color=ORDER, label="closed form")
        axes.plot(*notebook, color=ENERGY, linewidth=0.9, drawstyle="steps-post",
                  label=r"notebook, 50 values of $\beta$")  # fmt: skip
        axes.legend(loc="lower right")
    axes.set(xlabel="time $t$", ylabel=r"inverse temperature $\beta$", xlim=(0.0, UNTIL),
             ylim=(0.0, 8.5))  # fmt: skip
    axes.set_title(f"{TOKENS} orthogonal tokens reach the cosine {1 - DELTA:g}", loc="left")


def _time(beta: float) -> float:
    if not beta:
        return 0.5 * float(np.log(((TOKENS - 1) * (1.0 - DELTA) + 1.0) / DELTA))
    problem = mf.Problem(mf.Sphere(TOKENS), mf.exponential(beta), mf.SA)
    return float(mf.equiangular_time(problem, TOKENS, 1.0 - DELTA))


def _solved(beta: float, times: FloatArray) -> FloatArray:
    """Cosines by the notebook's solution of (6.9)."""
    from scipy.integrate import solve_ivp

    def velocity(_: float, cosine: FloatArray) -> FloatArray:
        growth = 2.0 * (1.0 - cosine) * ((TOKENS - 1) * cosine + 1.0)
        return np.asarray(growth / (np.exp(beta * (1.0 - cosine)) + TOKENS - 1))

    # Rejected steps may overflow.
    with np.errstate(over="ignore"):
        return np.asarray(solve_ivp(velocity, (0.0, UNTIL), [0.0], t_eval=times).y[0])


def _first(times: FloatArray, cosines: FloatArray) -> float:
    """Interpolated time at which the cosine is 1 - DELTA; NaN if never."""
    over = int(np.argmax(cosines >= 1.0 - DELTA))
    if cosines[over] < 1.0 - DELTA:
        return float("nan")
    gaps = np.log(np.maximum(1.0 - cosines[over - 1 : over + 1], 1e-16))
    return float(np.interp(-np.log(DELTA), -gaps, times[over - 1 : over + 1]))


def _notebook(betas: FloatArray, cosines: FloatArray) -> FloatArray:
    """Largest beta whose cosine has reached 1 - DELTA, at each time; NaN before the first."""
    largest = np.where(cosines >= 1.0 - DELTA, betas[:, None], -np.inf).max(axis=0)
    return np.where(np.isfinite(largest), largest, np.nan)
