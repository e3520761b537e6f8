"""Options that commands share: of a problem, --plot, --json and --csv."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from meanfield.errors import list_names
from meanfield.problem import Problem
from meanfield.results.report import Report
from meanfield.spaces import manifold_of
from meanfield.terms.flows import Flow
from meanfield.terms.kernels import KERNELS, Kernel


def check_plot(options: argparse.Namespace) -> None:
    """Refuse a --plot that cannot be written, before anything is computed."""
    if options.plot is not None:
        from meanfield.figures.draw.figures import check_figure

        check_figure(options.plot)


def answer(options: argparse.Namespace, report: Report, result: Any = None) -> None:
    """Draw a result where --plot asks for it, and print its report as --json or --csv ask."""
    if result is not None and options.plot is not None:
        from meanfield.figures.draw import save_plot

        save_plot(result, options.plot)
    if getattr(options, "json", False):
        print(report.json())
    elif getattr(options, "csv", False):
        print(report.csv(), end="")
    else:
        print(report)


def problem_of(options: argparse.Namespace) -> Problem:
    """Problem of --manifold, --beta, --kernel, --normalization, --strength and --diffusivity."""
    given = {name: getattr(options, name) for name in ("strength", "diffusivity")}
    flow = replace(flow_of(options), **{k: v for k, v in given.items() if v is not None})
    return Problem(manifold_of(options.manifold), kernel_of(options.kernel, options.beta), flow)


def flow_of(options: argparse.Namespace) -> Flow:
    """Flow of --normalization, or --normalized."""
    return Flow(options.normalization, normalized=options.normalized)


def kernel_of(name: str | None, beta: float) -> Kernel:
    """Kernel that --kernel names, by default the exponential one."""
    name = "exponential" if name is None else name
    if name not in KERNELS:
        raise ValueError(f"--kernel {name} is not known. {list_names(name, KERNELS)}")
    return KERNELS[name](beta)
