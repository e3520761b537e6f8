"""Arguments that several commands share."""

from __future__ import annotations

import argparse
import math

from meanfield.compute.threads import MOST_THREADS
from meanfield.flows import Flow
from meanfield.kernels import KERNELS
from meanfield.manifolds import manifold_of
from meanfield.problem import Problem


def add_problem_arguments(command: argparse.ArgumentParser) -> None:
    """Manifold, kernel and flow, for commands without a run file."""
    command.add_argument(
        "--manifold", required=True, metavar="M", help="circle, sphere or sphere:D (in R^D)"
    )
    command.add_argument(
        "--beta", required=True, type=finite, metavar="B", help="inverse temperature; 0 is Kuramoto"
    )
    command.add_argument("--kernel", choices=sorted(KERNELS), default="exponential")
    command.add_argument("--normalized", action="store_true", help="softmax (SA) instead of USA")
    command.add_argument("--strength", type=finite, default=1.0, metavar="S", help="-1 repels")
    command.add_argument("--diffusivity", type=finite, default=0.0, metavar="D")


def add_threads(command: argparse.ArgumentParser) -> None:
    """Option --threads."""
    command.add_argument(
        "--threads", type=thread_count, metavar="N", help="default: the cores available"
    )


def add_json(command: argparse._ActionsContainer) -> None:
    """Option --json."""
    command.add_argument("--json", action="store_true", help="one JSON object on standard output")


def problem_of(options: argparse.Namespace) -> Problem:
    """Problem from the options of `add_problem_arguments`."""
    flow = Flow(options.normalized, options.strength, options.diffusivity)
    return Problem(manifold_of(options.manifold), KERNELS[options.kernel](options.beta), flow)


def finite(text: str) -> float:
    """Finite number from the command line."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number")
    return value


def thread_count(text: str) -> int:
    """Number of threads from the command line."""
    count = positive(text)
    if count > MOST_THREADS:
        raise argparse.ArgumentTypeError(f"{text!r} is more than {MOST_THREADS}")
    return count


def positive(text: str) -> int:
    """Positive integer from the command line."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return value
