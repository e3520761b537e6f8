"""Covariance and mean shift of N tokens: theory compared with thousands of runs.

The problems are a ripple on uniform tokens (circle, no softmax, beta = 5), the onset of one cluster
(circle, no softmax, beta = 2), and softmax on the sphere. N Var and N bias of moments are measured
for N = 200, 1,000, 4,000, with the influence functions as control variates. Their differences from
theory must fall like 1/N. Then noise, the energy, and numbers of another program follow. Draws
finite_n.png.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from claims import Claim, Errors, near_zero

import meanfield as mf
from meanfield.engines.threads import threads
from meanfield.figures.draw.axes import DEGREE_COLOURS, INK, MUTED, style
from meanfield.figures.draw.figures import new_figure, write_figure
from meanfield.finite.results import Fluctuations
from meanfield.studies.ensemble_moments import EnsembleMoments, Estimate
from meanfield.studies.executors import worker_pool

SECONDS = 1800, 120
FOLDER = Path(__file__).parent
# Number of tokens -> number of runs.
SIZES = {200: 10_000, 1000: 10_000, 4000: 4_000}
BAND = 1000
ASYMMETRIC = mf.from_density(np.array([1.0, 0.25, -0.1j]))
TWO = mf.exponential(beta=2.0)
# Quantile 0.95 of the normal law, in standard deviations.
NORMAL = 1.6448536269514722


@dataclass(frozen=True)
class Case:
    """A problem; indices of the printed moments, their names, and the drawn one."""

    name: str
    problem: mf.Problem
    until: float
    shown: tuple[int, ...]
    names: tuple[str, ...]
    drawn: int
    tolerance: float = 1e-10


WAVES = dict(shown=(1, 2, 3, 4), names=("c_1", "c_2", "c_3", "c_4"))
SPHERE = mf.perturbed_uniform([[2, 0, 0.1], [3, 2, 0.1]])
CASES = (
    Case(
        "Near uniform: circle, no softmax, beta = 5",
        mf.Problem(
            mf.Circle(), mf.exponential(beta=5.0), mf.USA, mf.from_density([1.0, 0.0, 0.0, 0.05])
        ),
        0.1 * np.exp(5.0),
        drawn=3,
        **WAVES,
    ),
    Case(
        "Through onset: circle, no softmax, beta = 2",
        mf.Problem(mf.Circle(), TWO, mf.USA, ASYMMETRIC),
        np.exp(2.0),
        drawn=1,
        **WAVES,
    ),
    # Indices of cosine coefficients in the flattened array (2, L + 1, L + 1), L = 2.
    Case(
        "Sphere, softmax, beta = 2",
        mf.Problem(mf.Sphere(), TWO, mf.SA, SPHERE),
        2.0,
        shown=(3, 6, 7, 8),
        names=("C_10", "C_20", "C_21", "C_22"),
        drawn=6,
        tolerance=1e-8,
    ),
)


def main(short: bool) -> list[Claim]:
    """Run, check, draw."""
    share = 20 if short else 1
    checks: Errors = {}
    with worker_pool(threads()) as executor:
        found = [compared(case, share, executor, checks) for case in CASES]
        noise(share, executor, checks)
        of_another_program(found[1], share, executor, checks)
    energy(*found[1], checks)
    draw(found)
    return near_zero(checks)


def compared(
    case: Case, share: int, executor: Executor | None, checks: Errors
) -> tuple[Fluctuations, dict[int, EnsembleMoments]]:
    """Theory and ensembles of a case; prints tables of N Var and N bias."""
    on_circle = isinstance(case.problem.manifold, mf.Circle)
    degree = case.problem.kernel_degree if on_circle else 2
    theory = mf.fluctuations(
        case.problem, until=case.until, save=61 if on_circle else 13, degree=degree,
        tolerance=case.tolerance,
    )  # fmt: skip
    times = np.linspace(0.0, case.until, 7)[1:]
    made = {
        tokens: mf.ensemble_moments(
            case.problem, tokens, times=times, runs=runs // share, degree=degree,
            executor=executor,
        )
        for tokens, runs in SIZES.items()
    }  # fmt: skip
    print(f"\n{case.name}, t = {case.until:.4f}")
    shown = list(case.shown)
    variances = {n: diagonal(each.covariance(), shown) for n, each in made.items()}
    shifts = {n: last(each.shift(), shown) for n, each in made.items()}
    parts = {
        "N Var": (variances, np.diag(theory.covariance[-1]).real[shown]),
        "N bias": (shifts, theory.shift[-1][shown]),
    }
    for what, (by_size, expected) in parts.items():
        print(f"{what:>12}   " + "".join(f"{name:>27}" for name in case.names))
        for tokens, each in by_size.items():
            print(f"{tokens:>12}   " + cells(each.value, each.error))
        (few, coarse), (many, fine) = list(by_size.items())[-2:]
        straight = extrapolated(few, coarse, many, fine)
        print(f"extrapolated   {cells(straight.value, straight.error)}")
        print(f"{'theory':>12}   {cells(expected)}")
        checks[f"{case.name}: extrapolated {what} beside theory, in standard errors"] = (
            distance(straight, expected), 4.0)  # fmt: skip
    by_size, expected = parts["N Var"]
    sizes = list(by_size)
    for few, many in zip(sizes[:-1], sizes[1:], strict=True):
        exponent, error = falling({n: by_size[n] for n in (few, many)}, expected)
        print(
            f"N Var beside theory falls like N^({exponent:.3f} +- {error:.3f}), N = {few}, {many}"
        )
    # The second correction in 1/N is a fifth of the first for 200 tokens, a twenty-fifth for 1,000.
    checks[f"{case.name}: exponent of N Var beside theory, + 1, beside 0.1 and its errors"] = (
        abs(exponent + 1.0) / (0.1 + 4.0 * error), 1.0)  # fmt: skip
    return theory, made


def noise(share: int, executor: Executor | None, checks: Errors) -> None:
    """Compare a problem with noise, which contributes to the covariance."""
    flow = mf.Flow(normalized=True, diffusivity=0.1)
    problem = mf.Problem(mf.Circle(), TWO, flow, ASYMMETRIC)
    theory = mf.fluctuations(problem, until=1.0, save=2)
    made = mf.ensemble_moments(
        problem, 2000, times=[1.0], runs=4000 // share, step=0.02, executor=executor
    )
    print("\nNoise: circle, softmax, beta = 2, diffusivity = 0.1, t = 1, N = 2,000")
    shown = [1, 2, 3, 4]
    expected = np.diag(theory.covariance[-1]).real[shown]
    found, shift = diagonal(made.covariance(), shown), last(made.shift(), shown)
    print(f"{'N Var':>12}   {cells(found.value, found.error)}\n{'theory':>12}   {cells(expected)}")
    print(f"{'N bias':>12}   {cells(shift.value, shift.error)}")
    print(f"{'theory':>12}   {cells(theory.shift[-1][shown])}")
    checks["noise: N Var beside theory, in standard errors"] = (distance(found, expected), 4.0)
    checks["noise: N bias beside theory, in standard errors"] = (
        distance(shift, theory.shift[-1][shown]), 4.0)  # fmt: skip


def of_another_program(
    found: tuple[Fluctuations, dict[int, EnsembleMoments]],
    share: int,
    executor: Executor | None,
    checks: Errors,
) -> None:
    """Compare N = 200 with plain means over 3,000 runs of another program, three digits."""
    onset = found[1][200]
    shown = [1, 2, 3, 4]
    shift = np.array([-2.39, -6.09 + 3.38j, -9.00 + 9.01j, -8.03 + 13.68j])
    known = np.array([3.40, 13.6, 16.5, 16.0])
    softmax = mf.ensemble_moments(
        mf.Problem(mf.Circle(), TWO, mf.SA, ASYMMETRIC), 200, times=[2.0], runs=10_000 // share,
        executor=executor,
    )  # fmt: skip
    plain = last(onset.shift(control=False), shown)
    factor = np.sqrt(len(onset.samples) / 3000)
    theirs = factor * plain.error
    ours = last(onset.shift(), shown)
    both = Estimate(ours.value, np.hypot(ours.error, theirs))
    # The other program has only the real part of the first moment.
    both.value[0], shift[0] = both.value[0].real, shift[0].real
    checks["N = 200 of another program: N bias, in standard errors"] = (distance(both, shift), 4.0)
    for name, made, expected in (
        ("no softmax", onset, known), ("softmax, t = 2", softmax, [3.03, 7.34, 5.93, 3.87]),
    ):  # fmt: skip
        error = factor * diagonal(made.covariance(control=False), shown).error
        mine = diagonal(made.covariance(), shown)
        print(f"\nN = 200, {name}: N Var\n{'':>15}{cells(mine.value, mine.error)}")
        print(f"another prog.  {cells(np.array(expected), error)}")
        both = Estimate(mine.value, np.hypot(mine.error, error))
        checks[f"N = 200 of another program, {name}: N Var, in standard errors"] = (
            distance(both, expected), 4.0)  # fmt: skip


def energy(theory: Fluctuations, made: dict[int, EnsembleMoments], checks: Errors) -> None:
    """Compare variance and bias of the energy through onset."""
    expected = theory.of("energy")
    found = {tokens: each.of("energy") for tokens, each in made.items()}
    print(f"\nEnergy, {CASES[1].name}")
    for index, what in enumerate(("N bias", "N Var")):
        known = (expected.shift, expected.variance)[index][-1]
        for tokens, pair in found.items():
            each = pair[index]
            print(f"{what:>8} {tokens:>6} {each.value[-1]:9.4f} +- {each.error[-1]:.4f}")
        (few, coarse), (many, fine) = list(found.items())[-2:]
        straight = extrapolated(few, coarse[index], many, fine[index])
        off = Estimate(straight.value[-1:], straight.error[-1:])
        print(f"extrapolated    {off.value[0]:9.4f} +- {off.error[0]:.4f}    theory {known:.6f}")
        checks[f"energy: extrapolated {what} beside theory, in standard errors"] = (
            distance(off, known), 4.0)  # fmt: skip


def diagonal(covariance: Estimate, shown: list[int]) -> Estimate:
    """Variances of the shown moments at the last time."""
    value, error = covariance.value[-1], covariance.error[-1]
    return Estimate(np.diag(value).real[shown], np.diag(error)[shown])


def last(estimate: Estimate, shown: list[int]) -> Estimate:
    """Shown moments at the last time."""
    return Estimate(estimate.value[-1][shown], estimate.error[-1][shown])


def extrapolated(few: int, coarse: Estimate, many: int, fine: Estimate) -> Estimate:
    """Extrapolation to 1/N = 0 from two numbers of tokens."""
    a, b = many / (many - few), few / (many - few)
    error = np.hypot(a * fine.error, b * coarse.error)
    return Estimate(a * fine.value - b * coarse.value, error)


def distance(found: Estimate, expected: np.ndarray | list[float] | float) -> float:
    """Largest distance in standard errors."""
    return float((np.abs(found.value - expected) / found.error).max())


def falling(by_size: dict[int, Estimate], expected: np.ndarray) -> tuple[float, float]:
    """Exponent p and its error of deviations a N^p, with an own a for each moment."""
    from scipy.optimize import least_squares

    sizes = np.array(list(by_size))
    off = np.array([each.value - expected for each in by_size.values()])
    error = np.array([each.error for each in by_size.values()])

    def residuals(parameters: np.ndarray) -> np.ndarray:
        power = (sizes / sizes[0])[:, None] ** parameters[0]
        # Least squares have an explicit best a, real or complex.
        a = (power * off / error**2).sum(axis=0) / (power**2 / error**2).sum(axis=0)
        rest = (off - power * a) / error
        return np.concatenate([rest.real.ravel(), rest.imag.ravel()])

    fit = least_squares(residuals, [-1.0])
    return float(fit.x[0]), float(1.0 / np.sqrt(float((fit.jac.T @ fit.jac)[0, 0])))


def cells(value: Iterable[complex], error: np.ndarray | None = None) -> str:
    """Text of the numbers of a row, with errors."""
    columns = []
    for index, each in enumerate(value):
        number = f"{each.real:.3f}" + (f"{each.imag:+.3f}i" if np.iscomplexobj(each) else "")
        columns.append(f"{number} +- {error[index]:.3f}" if error is not None else number)
    return "".join(f"{each:>27}" for each in columns)


def draw(found: list[tuple[Fluctuations, dict[int, EnsembleMoments]]]) -> None:
    """Draw bands and quantiles of runs above, N Var against N below."""
    with style():
        figure = new_figure((12.6, 6.6))
        grid = figure.subplots(2, 3, height_ratios=(1.45, 1.0))
        for column, (case, (theory, made)) in enumerate(zip(CASES, found, strict=True)):
            draw_band(grid[0, column], case, theory, made[BAND])
            draw_variances(grid[1, column], case, theory, made)
        grid[0, 0].legend(loc="upper left")
    write_figure(figure, FOLDER / "finite_n.png")


def tex(name: str) -> str:
    """Name of a moment for mathtext."""
    return f"{name[0]}_{{{name[2:]}}}"


def draw_band(axes, case: Case, theory: Fluctuations, made: EnsembleMoments) -> None:
    """Draw one moment: limit, band of N tokens, and quantiles of runs."""
    at = case.drawn
    limit = flat(theory.problem, theory.limit)[:, at].real
    mean = limit + theory.shift[:, at].real / BAND
    # The variance of the real part is half the sum of C and the relation.
    variance = 0.5 * (theory.covariance + theory.relation)[:, at, at].real
    spread = np.sqrt(variance / BAND)
    colour = DEGREE_COLOURS[1]
    name = tex(case.names[case.shown.index(at)])
    for width, alpha, label in (
        (2.0, 0.16, "theory: 2 standard deviations"), (NORMAL, 0.22, "theory: 5 to 95 %"),
    ):  # fmt: skip
        axes.fill_between(
            theory.times, mean - width * spread, mean + width * spread,
            color=colour, alpha=alpha, linewidth=0.0, label=label,
        )  # fmt: skip
    axes.plot(theory.times, mean, color=colour, label="theory: mean")
    axes.plot(theory.times, limit, color=MUTED, linestyle=(0, (4, 2)), linewidth=1.2,
              label="limit")  # fmt: skip
    runs = flat(theory.problem, made.samples)[..., at].real
    low, middle, high = np.quantile(runs, [0.05, 0.5, 0.95], axis=0)
    axes.errorbar(
        made.times, middle, [middle - low, high - middle], fmt="o", color=INK, markersize=4,
        linewidth=1.1, capsize=4, capthick=1.1,
        label=f"{len(made.samples):,} runs: 5, 50, 95 %",
    )  # fmt: skip
    kind, _, rest = case.name.partition(", ")
    axes.set_title(f"{kind}, {rest.replace('beta', 'β')}\nN = {BAND:,} tokens", loc="left")
    axes.set_xlabel("time t")
    real = "" if np.isrealobj(theory.covariance) else r"\mathrm{Re}\ "
    axes.set_ylabel(f"${real}{name}$")
    axes.set_xlim(0.0, 1.03 * case.until)


def draw_variances(axes, case: Case, theory: Fluctuations, made: dict) -> None:
    """Draw N Var relative to its limit for each number of tokens, and a line in 1/N."""
    shown = list(case.shown)
    limit = np.diag(theory.covariance[-1]).real[shown]
    found = {n: diagonal(each.covariance(), shown) for n, each in made.items()}
    sizes = np.array(list(found))
    values = np.array([each.value for each in found.values()]) / limit
    errors = np.array([each.error for each in found.values()]) / limit
    fine = np.geomspace(sizes[0] / 1.3, 1.6 * sizes[-1], 200)
    axes.axhline(1.0, color=MUTED, linewidth=1.0)
    for k, name in enumerate(case.names):
        colour = DEGREE_COLOURS[(1, 3, 5, 7)[k]]
        weights = 1.0 / (sizes * errors[:, k]) ** 2
        slope = (weights * sizes * (values[:, k] - 1.0)).sum() / weights.sum()
        axes.plot(fine, 1.0 + slope / fine, color=colour, linewidth=1.0, alpha=0.7)
        axes.errorbar(
            sizes * 1.03 ** (k - 1.5), values[:, k], errors[:, k], fmt="o", color=colour,
            markersize=4, linewidth=1.0, capsize=2.5, label=f"${tex(name)}$",
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
    axes.minorticks_off()
    axes.set_xlabel("number of tokens N")
    axes.set_ylabel("N Var / limit")
    axes.set_title(f"At t = {case.until:.3g}; lines 1 + a / N", loc="left")
    axes.legend(loc="lower right", ncols=2)


def flat(problem: mf.Problem, packed: np.ndarray) -> np.ndarray:
    """Moments in the layout of files, flattened."""
    array = problem.manifold.unpacked(packed)
    return np.asarray(array.reshape(*packed.shape[:-1], -1))
