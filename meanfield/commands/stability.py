"""`meanfield stability`: growth rates of the uniform state, dominant degree, thresholds.

For a run file also the eigenvalues of the linearised flow, and growth by mode of position under a
bias, a window or a rotary embedding.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.commands.options import answer, problem_of
from meanfield.problem import Problem
from meanfield.problem_facts import problem_attributes
from meanfield.results.report import Report, facts, flow_facts, table
from meanfield.spaces import MANIFOLDS
from meanfield.spectrum.incoherence import critical_widths, incoherence_growth_rates
from meanfield.spectrum.stability import (
    critical_diffusivity,
    dominant_degree,
    growth_rate_max,
    growth_rates,
    onset_time,
    switching_thresholds,
)
from meanfield.spectrum.time_units import paper_time_factor
from meanfield.terms.frequencies import UnimodalFrequencies

if TYPE_CHECKING:
    from meanfield.spectrum.linear_operator import LinearOperator

_MOST_DEGREES = 1_000_000
_SHOWN = 40
_MOST_THRESHOLDS = 12
_MOST_MODES = 12
_POSITION_MODES = 4
_OF_PROBLEM = (
    "manifold", "beta", "kernel", "normalization", "normalized", "strength", "diffusivity",
)  # fmt: skip
# Velocities below this are rounding.
_AT_REST = 1e-9


def stability_command(options: argparse.Namespace) -> int:
    """Growth rates of the uniform state, dominant degree, thresholds."""
    if options.max_degree is not None and options.max_degree > _MOST_DEGREES:
        raise ValueError(f"--max-degree must be at most {_MOST_DEGREES}.")
    _check_source(options)
    if options.config is None:
        problem, operator = problem_of(options), None
    else:
        from meanfield.runfile import load_config

        problem = load_config(options.config, options.set, code=options.code).problem
        if problem.frequencies is not None:
            return _incoherence(problem, options)
        if problem.has_rotary:
            return _rotary(problem, options)
        operator = _operator(problem, options.max_degree)
    of_heads = problem.attention is not None
    if of_heads and options.tokens is not None:
        raise ValueError("--tokens gives the onset time of a kernel, and this problem has heads.")
    data = heads_of(problem) if of_heads else analysis(problem, options.max_degree, options.tokens)
    if options.config is not None:
        data = spectrum(problem, operator, options.modes) | data
        if not isinstance(problem.mask, str):
            data |= modes_of_positions(problem, options.max_degree)
    if options.plot:
        _draw(problem, operator, options)
    blocks = [] if of_heads else _blocks(problem, data)
    if options.config is not None:
        blocks += _spectrum_blocks(problem, data, operator, options.modes or _MOST_MODES)
        blocks += _position_blocks(data)
    answer(options, Report(blocks, data))
    return 0


def _rotary(problem: Problem, options: argparse.Namespace) -> int:
    """Print growth by mode of position, the only rates with a rotary embedding."""
    if options.tokens is not None or options.plot:
        raise ValueError("--tokens and --plot need growth rates, and there is a rotary embedding.")
    data = heads_of(problem) | {"mask": str(problem.mask)}
    several = "s" * (data["heads"] > 1)
    pairs = [("mask", data["mask"])]
    pairs.append(("problem", f"{data['manifold']}, {data['heads']} head{several}"))
    pairs.append(("uniform", "each position drifts at a velocity of its own"))
    data |= modes_of_positions(problem, options.max_degree)
    answer(options, Report([facts(pairs), *_position_blocks(data)], data))
    return 0


def modes_of_positions(problem: Problem, max_degree: int | None = None) -> dict[str, Any]:
    """JSON data of growth by degree and mode of position, or the reason why there are no modes.

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.Attention(beta=5.0, mask=mf.Window(0.2)))
    >>> modes_of_positions(problem, 3)["position_modes"].shape  # degrees, modes, rate and frequency
    (3, 64, 2)
    """
    degrees = range(1, (max_degree or _MOST_MODES) + 1)
    try:
        # Imported here because it loads the fields of heads.
        from meanfield.spectrum.positions import position_modes

        values = [position_modes(problem, degree).eigenvalues for degree in degrees]
    except ValueError as error:
        return {"no_position_modes": str(error)}
    return {"position_modes": np.stack([np.real(values), np.imag(values)], axis=-1)}


def _position_blocks(data: dict[str, Any]) -> list[str]:
    """The fastest modes of position of each degree."""
    modes = data.get("position_modes")
    if modes is None:
        reason = data.get("no_position_modes")
        return [] if reason is None else [f"Growth by mode of position: {reason}"]
    shown = modes[:_SHOWN, :_POSITION_MODES]
    rows = [[l, *map(_complex, of_degree)] for l, of_degree in enumerate(shown, 1)]
    names = [f"mode {m} of position" for m in range(shown.shape[1])]
    lines = table(["degree", *names], rows)
    return [f"{lines}\ngrowth rates (scaled time), of {modes.shape[1]} labels"]


def _complex(value: FloatArray) -> str:
    rate, frequency = value
    return f"{rate:.10g}" if abs(frequency) < _AT_REST else f"{rate:.7g} {frequency:+.7g}i"


def _incoherence(problem: Problem, options: argparse.Namespace) -> int:
    """Print growth rates about incoherence, for tokens with natural frequencies."""
    if options.tokens is not None or options.plot:
        raise ValueError(
            "--tokens and --plot are of attention alone, and the run file has frequencies."
        )
    data = incoherence(problem, options.max_degree, options.modes)
    rates, widths = data["growth_rates"], data.get("critical_widths")
    pairs = [
        ("problem", f"{problem.manifold.name}, {problem.kernel!r}"),
        ("normalization", problem.normalization),
        ("frequencies", repr(problem.frequencies)),
        ("largest growth rate", data["growth_rate_max"]),
        ("dominant degree", data["dominant_degree"]),
        ("without frequencies", float(data["rates_without_frequencies"].max())),
    ]
    header = ["degree", "growth rate (scaled time)", "frequency (scaled time)"]
    rows = [[l, value.real, value.imag] for l, value in enumerate(rates[:_SHOWN])]
    if widths is not None:
        pairs.append(("critical width", float(widths.max())))
        header.append("grows below width")
        rows = [[*row, widths[l]] for l, row in enumerate(rows)]
    answer(options, Report([facts(pairs), table(header, rows)], data))
    return 0


def incoherence(
    problem: Problem, max_degree: int | None = None, count: int | None = None
) -> dict[str, Any]:
    """JSON data of a problem with natural frequencies: rates about incoherence.

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.linear(), mf.USA, frequencies=mf.Lorentzian(0.2))
    >>> found = incoherence(problem)
    >>> found["eigenvalues"].round(9).tolist(), found["critical_widths"].tolist()
    ([[0.3, 0.0]], [0.0, 0.5])
    """
    rates = incoherence_growth_rates(problem, max_degree=max_degree)
    finite = rates[1:][np.isfinite(rates[1:])]
    finite = finite[np.argsort(-finite.real, kind="stable")]
    alone = problem.unlabelled
    grows = len(finite) > 0 and finite[0].real > 0.0
    data: dict[str, Any] = {
        "manifold": problem.manifold.name,
        "frequencies": repr(problem.frequencies),
        "beta": problem.beta,
        "normalization": problem.normalization,
        "stationary": True,
        "drift": 0.0,
        "eigenvalues": np.column_stack([finite.real, finite.imag])[:count],
        "growth_rates": rates,
        "rates_without_frequencies": growth_rates(alone, len(rates) - 1),
        "growth_rate_max": float(finite[0].real) if len(finite) else None,
        "dominant_degree": int(np.nanargmax(rates.real)) if grows else None,
        "paper_time_factor": paper_time_factor(problem),
    }
    if isinstance(problem.frequencies, UnimodalFrequencies):
        data["critical_widths"] = critical_widths(problem, problem.frequencies, len(rates) - 1)
    return data


def _check_source(options: argparse.Namespace) -> None:
    """Require a run file or the options of a problem, not both."""
    given = [name for name in _OF_PROBLEM if getattr(options, name) is not None]
    if options.config is not None:
        if given:
            raise ValueError(
                f"--{given[0]} is in the run file: leave it out, or --set problem.{given[0]}=..."
            )
        return
    missing = [f"--{name}" for name in ("manifold", "beta") if name not in given]
    if missing:
        raise ValueError(
            f"the following arguments are required: {', '.join(missing)}; or a run file, "
            "--config CONFIG.toml."
        )
    if options.set:
        raise ValueError("--set changes keys of a run file: name one with --config CONFIG.toml.")
    if options.modes is not None:
        raise ValueError("--modes needs a run file: name one with --config CONFIG.toml.")


def _operator(problem: Problem, max_degree: int | None) -> LinearOperator | None:
    """Linearised flow; None for isotropic problems beyond circle and sphere."""
    if problem.manifold.name not in MANIFOLDS and problem.is_isotropic:
        return None
    from meanfield.spectrum.linear_operator import linear_operator

    return linear_operator(problem, max_degree)


def spectrum(
    problem: Problem, operator: LinearOperator | None, count: int | None = None
) -> dict[str, Any]:
    """JSON data of the linearised flow: all eigenvalues, or the first `count`."""
    largest: float | None
    if operator is None:
        # Each degree once: on spheres of high dimension it has very many harmonics.
        degrees = max(problem.isotropic.degree, 1)
        values = np.sort(problem.isotropic.growth_rates(degrees)[1:])[::-1].astype(complex)
        stationary, drift, largest = True, 0.0, float(values[0].real)
    else:
        values, stationary, drift = operator.eigenvalues, operator.stationary, operator.drift
        largest = operator.growth_rate_max
    return {
        "stationary": stationary,
        "eigenvalues": np.column_stack([values.real, values.imag])[:count],
        "growth_rate_max": largest,
        "drift": drift,
    }


def heads_of(problem: Problem) -> dict[str, Any]:
    """JSON data of a problem with heads."""
    names = "manifold kernel heads normalization beta diffusivity paper_time_factor"
    attributes = problem_attributes(problem)
    return {name: attributes[name] for name in names.split()}


def _draw(problem: Problem, operator: LinearOperator | None, options: argparse.Namespace) -> None:
    """Draw the dispersion relation of a kernel, or the complex spectrum of heads."""
    if problem.attention is None or operator is None:
        from meanfield.figures.draw.spectrum import save_dispersion

        save_dispersion(problem, options.plot, options.max_degree)
    else:
        from meanfield.figures.draw.spectrum import save_spectrum

        save_spectrum(operator, options.plot)


def _spectrum_blocks(
    problem: Problem, data: dict[str, Any], operator: LinearOperator | None, count: int
) -> list[str]:
    """Stationarity of uniform, and growth of small perturbations."""
    pairs: list[tuple[str, Any]] = []
    if problem.mask != "none":
        pairs = [
            ("mask", f"{problem.mask}: rates are those without it, of what is alike everywhere"),
        ]
    if "heads" in data:
        pairs += [
            ("problem", f"{data['manifold']}, {data['heads']} head{'s' * (data['heads'] > 1)}"),
            ("normalization", data["normalization"]),
            ("largest beta |B|", data["beta"]),
            ("diffusivity", data["diffusivity"]),
        ]
    if not data["stationary"]:
        pairs.append(("uniform", f"not stationary: |v| up to {data['drift']:.10g}"))
        return [
            facts(pairs),
            "The attention moves uniform itself: growth rates about it mean nothing.",
        ]
    moved = f", carried by a rotation with |v| up to {data['drift']:.10g}"
    pairs.append(("uniform", "stationary" + (moved if data["drift"] > _AT_REST else "")))
    if "heads" in data:
        pairs.append(("largest growth rate", data["growth_rate_max"]))
        if data["paper_time_factor"] != 1.0:
            pairs.append(("paper time", f"scaled time * {data['paper_time_factor']:.6g}"))
    if operator is None:
        return [facts(pairs)]
    rows = [
        [value.real, value.imag, operator.describe(i)]
        for i, value in enumerate(operator.eigenvalues[:count])
    ]
    lines = table(["growth rate (scaled time)", "frequency (scaled time)", "perturbation"], rows)
    left = len(operator.eigenvalues) - len(rows)
    if left:
        lines += f"\n... {left} more: --modes N prints N of them, --json all."
    lost = len(operator.matrix) - len(operator.eigenvalues)
    if lost:
        lines += (
            f"\n{lost} that have not converged at degree {operator.degree} are left out, also "
            "between these: --max-degree L has all of a degree."
        )
    return [facts(pairs), lines]


def analysis(
    problem: Problem, max_degree: int | None = None, tokens: int | None = None
) -> dict[str, Any]:
    """JSON data of a kernel: growth rates, thresholds and, with tokens, the onset time."""
    data: dict[str, Any] = {
        "manifold": problem.manifold.name,
        "kernel": problem.zonal.kernel.name,
        "beta": problem.zonal.kernel.beta,
        "normalized": problem.flow.normalized,
        "strength": problem.flow.strength,
        "diffusivity": problem.flow.diffusivity,
        "growth_rates": growth_rates(problem, max_degree),
        "dominant_degree": dominant_degree(problem),
        "growth_rate_max": growth_rate_max(problem),
        "thresholds": switching_thresholds(problem),
        "critical_diffusivity": critical_diffusivity(problem),
        "paper_time_factor": paper_time_factor(problem),
    }
    if tokens is not None:
        data["tokens"] = tokens
        data["onset_time"] = onset_time(problem, tokens)
    return data


def _blocks(problem: Problem, data: dict[str, Any]) -> list[str]:
    rates = data["growth_rates"]
    factor = data["paper_time_factor"]
    pairs = [
        ("problem", f"{problem.manifold.name}, {problem.zonal.kernel!r}"),
        *flow_facts(problem.flow),
        ("dominant degree", data["dominant_degree"]),
        ("largest growth rate", data["growth_rate_max"]),
        ("critical diffusivity", data["critical_diffusivity"]),
    ]
    if "onset_time" in data:
        pairs.append((f"onset time, N = {data['tokens']}", data["onset_time"]))
    last = data["thresholds"][-_MOST_THRESHOLDS:]
    thresholds = ", ".join(f"{beta:.10g}" for beta in last)
    if len(last) < len(data["thresholds"]):
        thresholds = f"... ({len(data['thresholds'])} in all), {thresholds}"
    pairs.append(("degree switches at beta", thresholds or "-"))
    header = ["degree", "growth rate (scaled time)", "growth rate (paper time)"]
    paper = rates / factor if factor > 0 else [None] * len(rates)
    rows = [[l, rates[l], paper[l]] for l in range(min(len(rates), _SHOWN))]
    rates_table = table(header, rows)
    if len(rates) > _SHOWN:
        rates_table += f"\n... {len(rates) - _SHOWN} more degrees: --json prints them all."
    return [facts(pairs), rates_table]
