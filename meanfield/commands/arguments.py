"""The command line: every command, what it does and what it takes.

Nothing here loads what computes: help, and a slip of the pen, are answered at once.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from meanfield.commands.streams import say
from meanfield.errors import one_line
from meanfield.version import __version__


def _run(command: argparse.ArgumentParser) -> None:
    _add_config(command)
    command.add_argument("-o", "--output", metavar="OUT.h5")
    _add_existing(command, "go on with an existing output")
    command.add_argument("--quiet", action="store_true", help="no progress, no summary")


def _init(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", metavar="NAME", nargs="?", default="run.toml")


def _compile(command: argparse.ArgumentParser) -> None:
    command.add_argument("--quiet", action="store_true", help="no progress")


def _stability(command: argparse.ArgumentParser) -> None:
    _add_problem(command)
    command.add_argument("--max-degree", type=positive, metavar="L")
    command.add_argument("--tokens", type=positive, metavar="N", help="gives the onset time")
    command.add_argument("--plot", metavar="FIG", help="dispersion relation as .png, .pdf or .svg")
    _add_json(command)


def _predict(command: argparse.ArgumentParser) -> None:
    _add_problem(command)
    command.add_argument("--tokens", type=positive, metavar="N", help="not needed with --input")
    command.add_argument(
        "--samples", type=positive, metavar="S", help="of the linear law; default: 10000 or fewer"
    )
    command.add_argument(
        "--corrected-samples",
        type=not_negative,
        metavar="R",
        help="runs for the corrected law, 0 for none; default: 400 or fewer, 100 on the sphere",
    )
    command.add_argument("--seed", type=not_negative, default=0, metavar="SEED", help="default: 0")
    command.add_argument(
        "--input",
        metavar="TOKENS.npy",
        help="tokens: angles (n,) or vectors (n, 3) of any length, as np.save writes them",
    )
    command.add_argument("--plot", metavar="FIG", help="rates and laws as .png, .pdf or .svg")
    add_pool_arguments(command)
    _add_json(command)


def _phase(command: argparse.ArgumentParser) -> None:
    _add_manifold(command)
    command.add_argument(
        "--beta",
        required=True,
        type=finite,
        nargs="+",
        metavar="B",
        help="inverse temperature; 0 is Kuramoto. LO HI COUNT: equally spaced",
    )
    _add_kernel(command)
    command.add_argument(
        "--plot",
        metavar="FIG",
        help="bifurcation diagram, or phase diagram of a range, as .png, .pdf or .svg",
    )
    _add_json(command)


def _compare(command: argparse.ArgumentParser) -> None:
    _add_study(command, "compare")


def _ensemble(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--runs", type=positive, metavar="R", help="runs of each size, instead of [ensemble] runs"
    )
    _add_study(command, "ensemble")


def _plot(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="OUT.h5", nargs="?")
    command.add_argument(
        "-o", "--output", metavar="FIGURE", help=".png, .pdf or .svg; a film: .mp4 or .gif"
    )
    command.add_argument("--kind", metavar="KIND", help="of a run, see --list; default: overview")
    command.add_argument("--list", action="store_true", help="kinds of figures")


def _info(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="OUT.h5")
    form = command.add_mutually_exclusive_group()
    _add_json(form)
    form.add_argument("--csv", action="store_true", help="observables against time")
    command.add_argument(
        "--provenance",
        action="store_true",
        help="only where it comes from: versions, machine, wall time, hash of the results",
    )


def _add_manifold(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--manifold", required=True, metavar="M", help="circle, sphere or sphere:D (in R^D)"
    )


def _add_kernel(command: argparse.ArgumentParser) -> None:
    """Kernel and normalisation; which kernels there are is known where they are computed."""
    command.add_argument(
        "--kernel", default="exponential", metavar="K", help="exponential (default) or linear"
    )
    command.add_argument("--normalized", action="store_true", help="softmax (SA) instead of USA")


def _add_problem(command: argparse.ArgumentParser) -> None:
    """Manifold, kernel and flow, for commands without a run file: see `problem_of`."""
    _add_manifold(command)
    command.add_argument(
        "--beta", required=True, type=finite, metavar="B", help="inverse temperature; 0 is Kuramoto"
    )
    _add_kernel(command)
    command.add_argument("--strength", type=finite, default=1.0, metavar="S", help="-1 repels")
    command.add_argument("--diffusivity", type=finite, default=0.0, metavar="D")


def _check(command: argparse.ArgumentParser) -> None:
    # Somebody else's file is checked to see what is in it: nothing of it runs.
    _add_config(command, unasked="later")


def _add_config(command: argparse.ArgumentParser, unasked: str = "inside") -> None:
    """Run file, and what may be said about it; whose Python is executed `unasked`."""
    command.add_argument("config", metavar="CONFIG.toml")
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="SECTION.KEY=VALUE",
        help="override a key of the run file; may be repeated",
    )
    code = command.add_mutually_exclusive_group()
    code.add_argument(
        "--allow-code",
        dest="code",
        action="store_const",
        const="anywhere",
        default=unasked,
        help="execute the Python that the run file names, wherever it lies",
    )
    code.add_argument(
        "--no-code",
        dest="code",
        action="store_const",
        const="never",
        help="refuse a run file that names Python",
    )


def _add_existing(command: argparse.ArgumentParser, resume: str) -> None:
    """Options --resume, which does what the text says, and --overwrite."""
    existing = command.add_mutually_exclusive_group()
    existing.add_argument("--resume", action="store_true", help=resume)
    existing.add_argument("--overwrite", action="store_true", help="replace an existing output")


def _add_study(command: argparse.ArgumentParser, name: str) -> None:
    """Arguments of commands of many runs; `name` is the ending of their outputs."""
    _add_config(command)
    command.add_argument("-o", "--output", metavar="OUT.h5", help=f"default: CONFIG-{name}.h5")
    command.add_argument("--plot", metavar="FIGURE", help=".png, .pdf or .svg")
    add_pool_arguments(command)
    _add_existing(command, "run only what the output lacks")
    command.add_argument("--quiet", action="store_true", help="no progress")
    _add_json(command)


def add_pool_arguments(command: argparse.ArgumentParser) -> None:
    """Options --workers and --scheduler, of which only one can be given."""
    group = command.add_mutually_exclusive_group()
    group.add_argument(
        "--workers",
        type=positive,
        metavar="W",
        help="processes that share the threads; default: one a thread",
    )
    group.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="run on an existing Dask cluster, such as tcp://192.168.0.2:8786",
    )


def _add_json(command: argparse._ActionsContainer) -> None:
    command.add_argument("--json", action="store_true", help="one JSON object on standard output")


def finite(text: str) -> float:
    """Finite number from the command line."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number")
    return value


def positive(text: str) -> int:
    """Positive integer from the command line."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return value


def not_negative(text: str) -> int:
    """Integer >= 0 from the command line."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer >= 0")
    return int(text)


COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    "run": ("evolve a measure as a run file says, into an HDF5 file", _run),
    "check": ("dry run: what would be computed, estimated memory and time", _check),
    "init": ("a commented run file to start from", _init),
    "stability": ("growth rates of the uniform state, dominant degree, thresholds", _stability),
    "predict": ("how many clusters tokens will form, and where given tokens will", _predict),
    "phase": ("noise at which order sets in, with or without a jump", _phase),
    "compare": (
        "particle systems against their mean-field limit, in Wasserstein distance",
        _compare,
    ),
    "ensemble": ("many runs from sampled tokens, and how many clusters they make", _ensemble),
    "plot": ("figures and films from what run, compare or ensemble wrote", _plot),
    "compile": ("compile all kernels now, for images of containers and for CI", _compile),
    "info": ("what a file holds and where it comes from, as text, JSON or CSV", _info),
}
"""What each command does, and what it takes; a module of this package executes it."""

_COMPUTE_NOTHING = ("init", "info")


def parser() -> argparse.ArgumentParser:
    """Parser of the command line."""
    top = _Parser(prog="meanfield", description="Mean-field limit of self-attention.")
    top.add_argument("--version", action="version", version=f"meanfield {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (summary, add_arguments) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary)
        add_arguments(command)
        if name not in _COMPUTE_NOTHING:
            command.add_argument(
                "--threads", type=positive, metavar="N", help="default: the cores available"
            )
    return top


class _Parser(argparse.ArgumentParser):
    """Parser whose complaint is one line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False)
        # argparse takes -3 for a number but -1e-3 for an option.
        self._negative_number_matcher = re.compile(r"-\.?\d")

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with status 2."""
        say(one_line(f"{self.prog}: {message}. See {self.prog} --help."))
        raise SystemExit(2)

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse swallows what goes wrong: help on a full disk would count as printed.
        (file or sys.stdout).write(message)
