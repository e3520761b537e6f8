"""Answers of commands: draw a result, and print its report as text, JSON or CSV."""

from __future__ import annotations

import argparse
from typing import Any

from meanfield.results.report import Report


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
