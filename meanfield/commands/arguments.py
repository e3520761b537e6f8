"""What the command line takes: the arguments of every command, in `ARGUMENTS`.

Nothing here loads what computes: help, and a slip of the pen, are answered at once.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable


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
    command.add_argument("--kind", metavar="KIND", help="see --list; default: overview")
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


def _add_config(command: argparse.ArgumentParser) -> None:
    """Run file, and what may be said about it."""
    command.add_argument("config", metavar="CONFIG.toml")
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="SECTION.KEY=VALUE",
        help="override a key of the run file; may be repeated",
    )
    command.add_argument(
        "--allow-code",
        action="store_true",
        help="execute the Python that [problem] attention names, wherever it lies",
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


def add_threads(command: argparse.ArgumentParser) -> None:
    """Option --threads."""
    command.add_argument(
        "--threads", type=positive, metavar="N", help="default: the cores available"
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


ARGUMENTS: dict[str, Callable[[argparse.ArgumentParser], None]] = {
    "run": _run,
    "check": _add_config,
    "init": _init,
    "stability": _stability,
    "predict": _predict,
    "phase": _phase,
    "compare": _compare,
    "ensemble": _ensemble,
    "plot": _plot,
    "compile": _compile,
    "info": _info,
}
"""What each command takes."""
