"""The command line: every command, what it does and what it takes.

Nothing here loads what computes: help, and a slip of the pen, are answered at once.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from meanfield.commands.streams import say
from meanfield.errors import nearest, one_line
from meanfield.renamed import current_name, notice
from meanfield.version import __version__


def _run(command: argparse.ArgumentParser) -> None:
    _add_config(command)
    command.add_argument(
        "-o",
        "--output",
        metavar="OUT.h5",
        help="default: [output] path, else the run file's name with .h5",
    )
    _add_existing(command, "go on with an existing output")
    command.add_argument("--quiet", action="store_true", help="no progress, no summary")


def _init(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "name", metavar="NAME", nargs="?", default="run.toml", help="default: run.toml"
    )


def _schema(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "section",
        metavar="SECTION",
        nargs="?",
        help="time, initial.mixture, ...: a table of its keys, as Markdown",
    )


def _compile(command: argparse.ArgumentParser) -> None:
    command.add_argument("--quiet", action="store_true", help="no progress")


def _stability(command: argparse.ArgumentParser) -> None:
    _add_problem(command, required=False)
    _add_config(command, option=True)
    command.add_argument(
        "--max-degree",
        type=positive,
        metavar="L",
        help="largest degree of perturbations; default: as far as the kernel goes",
    )
    command.add_argument("--tokens", type=positive, metavar="N", help="gives the onset time")
    command.add_argument(
        "--modes", type=positive, metavar="N", help="eigenvalues to print; with --config"
    )
    command.add_argument(
        "--plot",
        metavar="FIG",
        help="dispersion relation, of heads the complex spectrum, as .png, .pdf or .svg",
    )
    _add_json(command)


def _predict(command: argparse.ArgumentParser) -> None:
    _add_problem(command)
    command.add_argument("--tokens", type=positive, metavar="N", help="not needed with --input")
    command.add_argument(
        "--samples", type=positive, metavar="S", help="of the linear law; default: 10000 or fewer"
    )
    command.add_argument(
        "--runs",
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


def _diagram(command: argparse.ArgumentParser) -> None:
    command.add_argument("--tokens", type=positive, default=32, metavar="N", help="default: 32")
    command.add_argument(
        "--dimension", type=positive, default=8, metavar="D", help="of R^D; default: 8"
    )
    command.add_argument(
        "--beta",
        required=True,
        type=finite,
        nargs="+",
        metavar="B",
        help="inverse temperature. LO HI COUNT: equally spaced",
    )
    command.add_argument(
        "--until", type=finite, default=30.0, metavar="T", help="papers' time; default: 30"
    )
    command.add_argument(
        "--save", type=positive, default=200, metavar="COUNT", help="times; default: 200"
    )
    command.add_argument(
        "--runs", type=positive, default=256, metavar="R", help="for each beta; default: 256"
    )
    command.add_argument(
        "--normalization", default="softmax", metavar="Z", help="softmax (default) or none"
    )
    command.add_argument(
        "--score", default="identity", metavar="B", help="identity (default), gaussian or goe"
    )
    command.add_argument(
        "--value",
        default="identity",
        metavar="V",
        help="identity (default), wishart, score, minus_score",
    )
    command.add_argument(
        "--threshold", type=finite, default=0.999, metavar="S", help="of cosines; default: 0.999"
    )
    command.add_argument(
        "--layers", action="store_true", help="the published layers instead of the flow"
    )
    command.add_argument(
        "--step", type=finite, default=0.1, metavar="H", help="of layers; default: 0.1"
    )
    command.add_argument(
        "--tolerance", type=finite, default=1e-5, metavar="TOL", help="of the flow; default: 1e-5"
    )
    command.add_argument("--seed", type=not_negative, default=0, metavar="SEED", help="default: 0")
    command.add_argument(
        "-o", "--output", metavar="OUT.h5", default="diagram.h5", help="default: diagram.h5"
    )
    _add_results(command)


def _sweep(command: argparse.ArgumentParser) -> None:
    _add_config(command)
    command.add_argument(
        "--over",
        action="append",
        required=True,
        metavar="SECTION.KEY=VALUES",
        help="LO:HI:COUNT, LO:HI:COUNT:log or A,B,C; several make a product",
    )
    command.add_argument("-o", "--output", metavar="FOLDER", help="default: CONFIG-sweep")
    _add_results(command)


def _replay(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "folder", metavar="FOLDER", help="config.json, model.safetensors, vocab.txt of an encoder"
    )
    command.add_argument(
        "texts", metavar="TEXT", nargs="+", help="files, each a text; - reads standard input"
    )
    command.add_argument(
        "-o", "--output", metavar="OUT.h5", default="replay.h5", help="default: replay.h5"
    )
    command.add_argument(
        "--plot", metavar="FIGURE", help="a figure of the result: .png, .pdf or .svg"
    )
    command.add_argument("--overwrite", action="store_true", help="replace an existing output")
    command.add_argument("--quiet", action="store_true", help="no progress")
    _add_json(command)


def _reproduce(command: argparse.ArgumentParser) -> None:
    command.add_argument("names", metavar="NAME", nargs="*", help="figures, see --list")
    command.add_argument("--list", action="store_true", help="figures, sources, typical times")
    command.add_argument("--all", action="store_true", help="every figure")
    command.add_argument(
        "--published", action="store_true", help="by the source's own scheme, where it has one"
    )
    command.add_argument(
        "--short", action="store_true", help="coarser, a second or so each: to try it"
    )
    command.add_argument(
        "-o", "--output", metavar="FOLDER", default=".", help="made if missing; default: this one"
    )
    command.add_argument(
        "--index", action="store_true", help="also FOLDER/index.md, cards of what is in FOLDER"
    )
    command.add_argument("--overwrite", action="store_true", help="replace existing outputs")
    command.add_argument("--quiet", action="store_true", help="no progress")


def _explore(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--port", type=_port, default=0, metavar="N", help="of this machine; default: a free one"
    )
    command.add_argument("--no-open", action="store_true", help="print the address, open nothing")


def _plot(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "file", metavar="OUT.h5", nargs="?", help="a file of results, or a folder of a sweep"
    )
    command.add_argument(
        "-o", "--output", metavar="FIGURE", help=".png, .pdf or .svg; a film: .mp4 or .gif"
    )
    command.add_argument(
        "--kind",
        metavar="KIND",
        help="of a run, see --list; default: overview. Of a sweep, an observable",
    )
    command.add_argument(
        "--beside",
        metavar="PARTICLES.h5",
        nargs="+",
        default=[],
        help="of kind fluctuations: runs of tokens, drawn over them",
    )
    command.add_argument("--list", action="store_true", help="kinds of figures")


def _view(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="RUN.h5", help="what `meanfield run` wrote")
    command.add_argument(
        "-o", "--output", metavar="RUN.html", help="default: the file's name with .html"
    )
    command.add_argument(
        "--frames",
        type=positive,
        metavar="N",
        help="saved times at most; default: 60 of a sphere, 120 of tokens, 400 of a circle",
    )
    command.add_argument("--open", action="store_true", help="show it in a browser")


def _info(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="OUT.h5", help="a file of results, or a folder of a sweep")
    form = command.add_mutually_exclusive_group()
    _add_json(form)
    form.add_argument(
        "--csv", action="store_true", help="observables against time, of a sweep against parameters"
    )
    command.add_argument(
        "--provenance",
        action="store_true",
        help="only where it comes from: versions, machine, wall time, hash of the results",
    )


def _verify(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="RUN.h5", help="what `meanfield run` wrote")
    _add_json(command)


def _add_manifold(command: argparse.ArgumentParser, *, required: bool = True) -> None:
    command.add_argument(
        "--manifold", required=required, metavar="M", help="circle, sphere or sphere:D (in R^D)"
    )


def _add_kernel(command: argparse.ArgumentParser) -> None:
    """Kernel and normalisation; which kernels there are is known where they are computed."""
    command.add_argument(
        "--kernel", default="exponential", metavar="K", help="exponential (default) or linear"
    )
    command.add_argument(
        "--normalization",
        choices=["softmax", "none", "sinkhorn"],
        help="softmax (SA, default), none (USA) or sinkhorn",
    )
    command.add_argument(
        "--normalized",
        action="store_const",
        const=True,
        help="short for --normalization softmax",
    )


def _add_problem(command: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Manifold, kernel and flow, for commands without a run file: see `problem_of`."""
    _add_manifold(command, required=required)
    command.add_argument(
        "--beta",
        required=required,
        type=finite,
        metavar="B",
        help="inverse temperature; 0 is Kuramoto",
    )
    _add_kernel(command)
    command.add_argument(
        "--strength", type=finite, default=1.0, metavar="S", help="default: 1; -1 repels"
    )
    command.add_argument(
        "--diffusivity",
        type=finite,
        default=0.0,
        metavar="D",
        help="noise: D times the Laplacian, in scaled time; default: 0",
    )


def _check(command: argparse.ArgumentParser) -> None:
    # Somebody else's file is checked to see what is in it: nothing of it runs.
    _add_config(command, unasked="later")


def _add_config(
    command: argparse.ArgumentParser, unasked: str = "inside", *, option: bool = False
) -> None:
    """Run file, and what may be said about it; whose Python is executed `unasked`."""
    command.add_argument(
        "--config" if option else "config",
        metavar="CONFIG.toml",
        help="a run file, such as `meanfield init` writes",
    )
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="SECTION.KEY=VALUE",
        help="override a key of the run file; no VALUE takes it out; may be repeated",
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
    _add_results(command)


def _add_results(command: argparse.ArgumentParser) -> None:
    """Where many runs are made, and what becomes of their results."""
    command.add_argument(
        "--plot", metavar="FIGURE", help="a figure of the result: .png, .pdf or .svg"
    )
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
    """Positive integer from the command line, also as 1e6."""
    try:
        value = int(text)
    except ValueError:
        value = _whole(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return value


def _whole(text: str) -> int:
    """Integer, also written as 1e6 or 2.5e3; 0 for other text, or beyond doubles."""
    try:
        value = float(text)
    except ValueError:
        return 0
    return int(value) if "e" in text.lower() and value.is_integer() and value < 2**53 else 0


def _port(text: str) -> int:
    value = positive(text)
    if value > _LAST_PORT:
        raise argparse.ArgumentTypeError(f"{text} is above {_LAST_PORT}, the last port there is")
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
    "schema": ("keys of run files: a JSON schema for editors, or a table of a section", _schema),
    "stability": ("growth rates of the uniform state, dominant degree, thresholds", _stability),
    "predict": ("how many clusters tokens will form, and where given tokens will", _predict),
    "phase": ("noise at which order sets in, with or without a jump", _phase),
    "compare": (
        "particle systems against their mean-field limit, in Wasserstein distance",
        _compare,
    ),
    "ensemble": ("many runs from sampled tokens, and how many clusters they make", _ensemble),
    "diagram": ("how many pairs of random tokens have merged, over beta and time", _diagram),
    "sweep": ("a run file over a product of values, each run a file of one folder", _sweep),
    "replay": ("texts through a trained encoder, layer by layer, beside its theory", _replay),
    "reproduce": ("published figures made again, their numbers beside the published", _reproduce),
    "explore": ("sliders, growth rates and a live run, in the browser", _explore),
    "plot": ("figures and films from what a command wrote", _plot),
    "view": ("one page for a browser, offline: a run to turn, to play and to step through", _view),
    "compile": ("compile all kernels now, for images of containers and for CI", _compile),
    "verify": (
        "put a stored run to the laws that it must obey; status 1 if it breaks one",
        _verify,
    ),
    "info": ("what a file holds and where it comes from, as text, JSON or CSV", _info),
}
"""What each command does, and what it takes; a module of this package executes it."""

EXAMPLES = {
    "run": ("run mine.toml", "run mine.toml -o beta5.h5 --set problem.beta=5"),
    "check": ("check mine.toml", "check mine.toml --set problem.beta=5 --set time.end=10"),
    "init": ("init", "init mine.toml"),
    "schema": ("schema", "schema time"),
    "stability": (
        "stability --manifold circle --beta 9 --tokens 1000",
        "stability --config mine.toml --modes 20 --plot spectrum.png",
    ),
    "predict": (
        "predict --manifold circle --beta 9 --tokens 1000",
        "predict --manifold sphere --beta 4 --input tokens.npy --plot laws.png",
    ),
    "phase": (
        "phase --manifold circle --beta 3",
        "phase --manifold sphere --beta 1 6 21 --plot phase.png",
    ),
    "compare": (
        "compare mine.toml --plot distances.png",
        "compare mine.toml --set 'compare.tokens=[100, 300]' --resume",
    ),
    "ensemble": (
        "ensemble mine.toml --runs 100 --plot clusters.png",
        "ensemble mine.toml --runs 400 --resume",
    ),
    "diagram": (
        "diagram --dimension 8 --beta 0.1 9 10 --runs 64 --plot merged.png",
        "diagram --dimension 8 --beta 0.1 9 10 --runs 256 --resume",
    ),
    "sweep": (
        "sweep mine.toml --over problem.beta=1:20:39 --plot clusters.png",
        "sweep mine.toml --over problem.beta=1,2,4 --over problem.normalization=softmax,none",
    ),
    "replay": (
        "replay all-MiniLM-L6-v2 text.txt",
        "replay all-MiniLM-L6-v2 one.txt two.txt -o texts.h5 --plot texts.png",
    ),
    "reproduce": ("reproduce --list", "reproduce eigenvalues -o figures"),
    "explore": ("explore", "explore --port 8123 --no-open"),
    "plot": ("plot mine.h5", "plot mine.h5 --kind energy -o energy.pdf"),
    "view": ("view mine.h5 --open", "view mine.h5 -o mine.html --frames 100"),
    "compile": ("compile", "compile --quiet"),
    "verify": ("verify mine.h5", "verify mine.h5 --json"),
    "info": ("info mine.h5", "info mine.h5 --csv"),
}
"""Two uses of each command."""

_LAST_PORT = 65535
# Width of a default terminal.
_WIDTH = 79
# Processor time on one core of a server, kernels compiled; `tests/benchmarks` has more of it.
_TAKES_LONG = {
    "predict": "seconds on the circle, ten on the sphere (beta = 9); --runs 0: one.",
    "phase": "a second for beta up to 10, seconds at 1000, minutes at 10000.",
    "compare": "some ten seconds by default; in proportion to the tokens and runs.",
    "ensemble": "some ten seconds by default; in proportion to the tokens and runs.",
    "diagram": "5 ms a run and beta (32 tokens in R^8, default time).",
    "sweep": "that of all its runs, see `meanfield check`.",
    "replay": "some seconds for each text of 400 tokens (6 layers, d = 384).",
    "reproduce": "seconds to minutes a figure, see --list.",
    "compile": "a minute or so, once on a machine.",
    "verify": "seconds; 20 s for large runs, checked at a sample of their states.",
}

_DOCUMENTATION = "Documentation: docs/commands.md of the source; `make docs` makes pages of it."
_COMPUTE_NOTHING = ("init", "info", "schema")


def parser() -> argparse.ArgumentParser:
    """Parser of the command line."""
    top = _Parser(
        prog="meanfield",
        description="Mean-field limit of self-attention.",
        epilog=_ending("COMMAND --help", "init mine.toml", "run mine.toml", "plot mine.h5"),
    )
    top.add_argument("--version", action="version", version=f"meanfield {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    for name, (summary, add_arguments) in COMMANDS.items():
        long = f". It takes processor time: {_TAKES_LONG[name]}" if name in _TAKES_LONG else ""
        description = textwrap.fill(summary + long, _WIDTH)
        command = commands.add_parser(
            name, help=summary, description=description, epilog=_ending(*EXAMPLES[name])
        )
        add_arguments(command)
        if name not in _COMPUTE_NOTHING:
            command.add_argument(
                "--threads",
                type=positive,
                metavar="N",
                help="threads; default: the cores available",
            )
    return top


def _ending(*examples: str) -> str:
    lines = [f"  meanfield {example}" for example in examples]
    return "\n".join(["examples:", *lines, "", _DOCUMENTATION])


def as_help(arguments: Sequence[str]) -> Sequence[str]:
    """Arguments, where nothing at all and `help COMMAND` ask for help.

    Examples
    --------
    >>> as_help([]), as_help(["help", "run"]), as_help(["run", "help"])
    (['--help'], ['run', '--help'], ['run', 'help'])
    """
    if not arguments:
        return ["--help"]
    return [*arguments[1:2], "--help"] if arguments[0] == "help" else arguments


# As argparse says it.
_INVALID_COMMAND = re.compile(r"argument COMMAND: invalid choice: ('.*?'|\".*?\") \(choose from")


def _command_meant(word: str) -> str | None:
    """Command for a word, or for the file that it names."""
    for ending, command in ((".toml", "run"), (".h5", "info")):
        if word.endswith(ending):
            return f"meanfield {command} {word}"
    return nearest(word, COMMANDS)


# Options of commands without a run file that are keys of one.
_PROBLEM_KEYS = ("manifold", "beta", "strength", "diffusivity")


def _key_meant(command: str, left: Sequence[str]) -> str | None:
    """How a run file is told what other commands are told by an option.

    Examples
    --------
    >>> _key_meant("ensemble", ["--tokens", "100"]), _key_meant("run", ["--beta=5"])
    ('--set ensemble.tokens=[100]', '--set problem.beta=5')
    """
    name, _, value = left[0].removeprefix("--").partition("=")
    value = value or " ".join(left[1:2])
    if name in _PROBLEM_KEYS and value:
        return f"--set problem.{name}={value}"
    if name != "tokens" or not value:
        return None
    if command in ("compare", "ensemble"):
        return f"--set {command}.tokens=[{value}]"
    return f"--set representation.tokens={value}"


class _Parser(argparse.ArgumentParser):
    """Parser whose complaint is one line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            **options, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        # argparse takes -3 for a number but -1e-3 for an option.
        self._negative_number_matcher = re.compile(r"-\.?\d")

    def parse_known_args(  # type: ignore[override]
        self, args: Any = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse, and refuse what is left over: only the parser of a command knows its options."""
        words = sys.argv[1:] if args is None else args
        options, left = super().parse_known_args(list(map(self._current, words)), namespace)
        if left:
            self.error(f"unrecognized arguments: {' '.join(left)}", left)
        if getattr(options, "command", "") is None:
            self.error("a command is missing")
        return options, left

    def _current(self, word: str) -> str:
        """Word of a command line, an option by its name of today."""
        old, equals, value = word.partition("=")
        known = {name.removeprefix("--").replace("-", "_") for name in self._option_string_actions}
        new = "--" + current_name(old.removeprefix("--").replace("-", "_"), known).replace("_", "-")
        if not old.startswith("--") or new == old:
            return word
        say(f"{self.prog}: {notice(old, new)}")
        return new + equals + value

    def error(self, message: str, left: Sequence[str] = ()) -> NoReturn:
        """Print one line, with what may have been meant, and exit with status 2."""
        unknown = _INVALID_COMMAND.search(message)
        meant = None
        if unknown is not None:
            message = f"{unknown[1]} is not a command"
            meant = _command_meant(unknown[1][1:-1])
        elif left:
            # Without dashes, which would make all short options alike.
            options = {name.lstrip("-"): name for name in self._option_string_actions}
            near = nearest(left[0].partition("=")[0].lstrip("-"), options)
            meant = options.get(near or "")
            if "set" in options:
                meant = _key_meant(self.prog.rpartition(" ")[2], left) or meant
            if meant is None and "set" in options:
                message += ". Keys of a run file are changed by --set SECTION.KEY=VALUE"
        if meant is not None:
            message += f". Did you mean {meant}?"
        end = "" if message.endswith("?") else "."
        say(one_line(f"{self.prog}: {message}{end} See {self.prog} --help."))
        raise SystemExit(2)

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse swallows what goes wrong: help on a full disk would count as printed.
        (file or sys.stdout).write(message)
