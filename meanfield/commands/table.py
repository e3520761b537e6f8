"""The table of commands: what each does and takes, two uses, and how long it works.

The parser, `--help`, and the tables of docs/commands.md are made of it. Nothing here loads what
computes: help, and a slip of the pen, are answered at once.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any, NamedTuple

_LAST_PORT = 65535


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


class Option(NamedTuple):
    """An argument of a command."""

    names: str  # "-o --output OUT.h5", with a placeholder unless it is a flag; "name PLACEHOLDER"
    text: str  # what it means
    kind: Callable[[str], Any] | None = None  # how its text becomes a value
    default: Any = None  # as the command line would say it
    many: str = ""  # "?" if it may be left out, "+" for one or more values, "*" for any number
    more: dict[str, Any] = {}  # of `add_argument`


Options = list["Option | list[Option]"]
"""Options of a command; those of a list inside exclude each other."""


class Command(NamedTuple):
    """A command; a module of this package executes it."""

    summary: str
    options: Options
    examples: tuple[str, str]  # two uses
    # Processor time on one core of a server, kernels compiled; `tests/benchmarks` has more of it.
    time: str = ""
    computes: bool = True  # whether it has --threads

    @property
    def all_options(self) -> Options:
        """Its options, with --threads where it computes."""
        return [*self.options, *([_THREADS] if self.computes else [])]


def _figure(text: str) -> Option:
    return Option("--plot FIGURE", f"{text}: .png, .pdf or .svg")


def _output(text: str, default: str | None = None, what: str = "OUT.h5") -> Option:
    return Option(f"-o --output {what}", text, default=default)


def _run_file(unasked: str = "inside", name: str = "config") -> Options:
    """Run file, and what may be said about it; whose Python is executed `unasked`."""
    code = {"dest": "code", "action": "store_const"}
    repeated = {"action": "append", "default": []}
    return [
        Option(f"{name} CONFIG.toml", "a run file, such as `meanfield init` writes"),
        Option(
            "--set SECTION.KEY=VALUE",
            "override a key of the run file; no VALUE takes it out; may be repeated",
            more=repeated,
        ),
        [
            Option(
                "--allow-code",
                "execute the Python that the run file names, wherever it lies",
                more={**code, "const": "anywhere", "default": unasked},
            ),
            Option(
                "--no-code",
                "refuse a run file that names Python",
                more={**code, "const": "never"},
            ),
        ],
    ]


def _results(more: str) -> Options:
    """Where many runs are made, and what becomes of their results; `more` may grow."""
    return [*POOL, _existing(f"run only what the output lacks{more}"), _QUIET, _JSON]


def _existing(resume: str) -> list[Option]:
    """--resume, which does what the text says, and --overwrite."""
    return [Option("--resume", resume), _OVERWRITE]


_JSON = Option("--json", "one JSON object on standard output")
_QUIET = Option("--quiet", "no progress")
_OVERWRITE = Option("--overwrite", "replace an existing output, if meanfield wrote it")
_SEED = Option("--seed SEED", "the same seed gives the same numbers", not_negative, "0")
_BETAS = Option(
    "--beta B",
    "inverse temperature. LO HI COUNT: equally spaced",
    finite,
    many="+",
    more={"required": True},
)
_POOL = [
    Option("--workers W", "processes that share the threads; default: one a thread", positive),
    Option(
        "--scheduler ADDRESS", "run on an existing Dask cluster, such as tcp://192.168.0.2:8786"
    ),
]
POOL: Options = [_POOL]
_KERNEL: Options = [
    Option("--kernel K", "exponential or linear", default="exponential"),
    Option(
        "--normalization Z",
        "softmax (SA, default), none (USA) or sinkhorn",
        more={"choices": ["softmax", "none", "sinkhorn"]},
    ),
    Option(
        "--normalized",
        "short for --normalization softmax",
        more={"action": "store_const", "const": True},
    ),
]
_THREADS = Option("--threads N", "number of threads; default: the cores available", positive)


def _problem(required: bool = True) -> Options:
    """Manifold, kernel and flow, for commands without a run file: see `problem_of`."""
    needed = {"required": required}
    return [
        Option("--manifold M", "circle, sphere or sphere:D (in R^D)", more=needed),
        Option("--beta B", "inverse temperature; 0 is Kuramoto", finite, more=needed),
        *_KERNEL,
        Option("--strength S", "-1 repels", finite, "1"),
        Option("--diffusivity D", "noise: D times the Laplacian, in scaled time", finite, "0"),
    ]


COMMANDS: dict[str, Command] = {
    "run": Command(
        "evolve a measure as a run file says, into an HDF5 file",
        [
            *_run_file(),
            _output("default: [output] path, else the run file's name with .h5"),
            _existing("go on with an existing output"),
            Option("--quiet", "no progress, no summary"),
        ],
        ("run mine.toml", "run mine.toml -o beta5.h5 --set problem.beta=5"),
    ),
    "check": Command(
        "dry run: what would be computed, estimated memory and time",
        # Somebody else's file is checked to see what is in it: nothing of it runs.
        _run_file("later"),
        ("check mine.toml", "check mine.toml --set problem.beta=5 --set time.end=10"),
    ),
    "init": Command(
        "a commented run file to start from",
        [Option("name NAME", "a new file", default="run.toml", many="?")],
        ("init", "init mine.toml"),
        computes=False,
    ),
    "schema": Command(
        "keys of run files: a JSON schema for editors, or a table of a section",
        [
            Option(
                "section SECTION", "such as time or initial.mixture: a table of its keys", many="?"
            )
        ],
        ("schema", "schema time"),
        computes=False,
    ),
    "stability": Command(
        "growth rates of the uniform state, dominant degree, thresholds",
        [
            *_problem(required=False),
            *_run_file(name="--config"),
            Option(
                "--max-degree L",
                "largest degree of perturbations; default: as far as the kernel goes",
                positive,
            ),
            Option("--tokens N", "gives the onset time of a kernel", positive),
            Option(
                "--modes N",
                "with --config: eigenvalues to print; default: 12 as text, all with --json",
                positive,
            ),
            _figure("dispersion relation, of heads the complex spectrum"),
            _JSON,
        ],
        (
            "stability --manifold circle --beta 9 --tokens 1000",
            "stability --config mine.toml --modes 20 --plot spectrum.png",
        ),
    ),
    "predict": Command(
        "how many clusters tokens will form, and where given tokens will",
        [
            *_problem(),
            Option("--tokens N", "how many, at least 2; not needed with --input", positive),
            Option("--samples S", "of the linear law; default: 10000 or fewer", positive),
            Option(
                "--runs R",
                "runs for the corrected law, 0 for none; default: 400 or fewer, 100 on the sphere",
                not_negative,
            ),
            _SEED,
            Option(
                "--input TOKENS.npy",
                "tokens: angles (n,) or vectors (n, 3) of any length, as np.save writes them",
            ),
            _figure("rates and laws; with --input also the potential and its maxima"),
            *POOL,
            _JSON,
        ],
        (
            "predict --manifold circle --beta 9 --tokens 1000",
            "predict --manifold sphere --beta 4 --input tokens.npy --plot laws.png",
        ),
        "seconds on the circle, ten on the sphere (beta = 9); --runs 0: one.",
    ),
    "phase": Command(
        "noise at which order sets in, with or without a jump",
        [
            Option("--manifold M", "circle, sphere or sphere:D (in R^D)", more={"required": True}),
            _BETAS._replace(text="inverse temperature; 0 is Kuramoto. LO HI COUNT: equally spaced"),
            *_KERNEL,
            _figure("bifurcation diagram with the free energy, or phase diagram of a range"),
            _JSON,
        ],
        (
            "phase --manifold circle --beta 3",
            "phase --manifold sphere --beta 1 6 21 --plot phase.png",
        ),
        "a second for beta up to 10, seconds at 1000, minutes at 10000.",
    ),
    "compare": Command(
        "particle systems against their mean-field limit, in Wasserstein distance",
        [
            *_run_file(),
            _output("default: CONFIG-compare.h5"),
            _figure("distances against time and against the number of tokens"),
            *_results("; [compare] tokens and runs may grow"),
        ],
        (
            "compare mine.toml --plot distances.png",
            "compare mine.toml --set 'compare.tokens=[100, 300]' --resume",
        ),
        "some ten seconds by default; in proportion to the tokens and runs.",
    ),
    "ensemble": Command(
        "many runs from sampled tokens, and how many clusters they make",
        [
            Option("--runs R", "runs of each size, instead of [ensemble] runs", positive),
            *_run_file(),
            _output("default: CONFIG-ensemble.h5"),
            _figure("mean counts against the number of tokens, and distributions"),
            *_results("; [ensemble] tokens and runs may grow"),
        ],
        (
            "ensemble mine.toml --runs 100 --plot clusters.png",
            "ensemble mine.toml --runs 400 --resume",
        ),
        "some ten seconds by default; in proportion to the tokens and runs.",
    ),
    "diagram": Command(
        "how many pairs of random tokens have merged, over beta and time",
        [
            Option("--tokens N", "how many", positive, "32"),
            Option("--dimension D", "of R^D", positive, "8"),
            _BETAS,
            Option("--until T", "last time, as papers have it", finite, "30"),
            Option("--save COUNT", "equally spaced times up to it", positive, "200"),
            Option("--runs R", "independent runs for each beta", positive, "256"),
            Option("--normalization Z", "softmax or none", default="softmax"),
            Option(
                "--score B",
                "identity, gaussian or goe; random matrices are drawn anew for each run",
                default="identity",
            ),
            Option("--value V", "identity, wishart, score or minus_score", default="identity"),
            Option("--threshold S", "cosine above which a pair has merged", finite, "0.999"),
            Option("--layers", "the published layers instead of the flow"),
            Option("--step H", "of layers", finite, "0.1"),
            Option("--tolerance TOL", "of a step of the flow", finite, "1e-5"),
            _SEED,
            _output("results", "diagram.h5"),
            _figure("the diagram with the curve (6.12) of arXiv:2312.10794"),
            *_results("; --runs may grow"),
        ],
        (
            "diagram --dimension 8 --beta 0.1 9 10 --runs 64 --plot merged.png",
            "diagram --dimension 8 --beta 0.1 9 10 --runs 256 --resume",
        ),
        "5 ms a run and beta (32 tokens in R^8, default time).",
    ),
    "sweep": Command(
        "a run file over a product of values, each run a file of one folder",
        [
            *_run_file(),
            Option(
                "--over SECTION.KEY=VALUES",
                "LO:HI:COUNT, LO:HI:COUNT:log or A,B,C; several make a product",
                more={"action": "append", "required": True},
            ),
            _output("a folder; default: CONFIG-sweep", what="FOLDER"),
            _figure("the number of clusters, or what else runs have, against the parameters"),
            *_results(""),
        ],
        (
            "sweep mine.toml --over problem.beta=1:20:39 --plot clusters.png",
            "sweep mine.toml --over problem.beta=1,2,4 --over problem.normalization=softmax,none",
        ),
        "that of all its runs, see `meanfield check`.",
    ),
    "replay": Command(
        "texts through a trained encoder, layer by layer, beside its theory",
        [
            Option("folder FOLDER", "config.json, model.safetensors, vocab.txt of an encoder"),
            Option("texts TEXT", "files in UTF-8, each a text; - reads standard input", many="+"),
            _output("results", "replay.h5"),
            _figure("cosines by layer, the ladder, betas with their R^2, spectra"),
            _OVERWRITE,
            _QUIET,
            _JSON,
        ],
        (
            "replay all-MiniLM-L6-v2 text.txt",
            "replay all-MiniLM-L6-v2 one.txt two.txt -o texts.h5 --plot texts.png",
        ),
        "some seconds for each text of 400 tokens (6 layers, d = 384).",
    ),
    "reproduce": Command(
        "published figures made again, their numbers beside the published",
        [
            Option("names NAME", "figures, see --list", many="*"),
            Option("--list", "figures, sources, typical times"),
            Option("--all", "every figure"),
            Option("--published", "by the source's own scheme, where it has one"),
            Option("--short", "coarser, a second or so each: to try it"),
            _output("made if missing; default: this one", ".", "FOLDER"),
            Option("--index", "also FOLDER/index.md, cards of what is in FOLDER"),
            Option("--overwrite", "replace existing outputs"),
            _QUIET,
        ],
        ("reproduce --list", "reproduce eigenvalues -o figures"),
        "seconds to minutes a figure, see --list.",
    ),
    "explore": Command(
        "sliders, growth rates and a live run, in the browser",
        [
            Option("--port N", "of this machine; default: a free one", _port, more={"default": 0}),
            Option("--no-open", "print the address, open nothing"),
        ],
        ("explore", "explore --port 8123 --no-open"),
    ),
    "plot": Command(
        "figures and films from what a command wrote",
        [
            Option("file OUT.h5", "a file of results, or a folder of a sweep", many="?"),
            _output(".png, .pdf or .svg; a film: .mp4 or .gif", what="FIGURE"),
            Option(
                "--kind KIND",
                "of a run, see --list; default: overview. Of a sweep, an observable",
            ),
            Option(
                "--beside PARTICLES.h5",
                "of kind fluctuations: runs of tokens, drawn over them",
                default=[],
                many="+",
            ),
            Option("--list", "kinds of figures"),
        ],
        ("plot mine.h5", "plot mine.h5 --kind energy -o energy.pdf"),
    ),
    "view": Command(
        "one page for a browser, offline: a run to turn, to play and to step through",
        [
            Option("file RUN.h5", "what `meanfield run` wrote"),
            _output("default: the file's name with .html", what="RUN.html"),
            Option(
                "--frames N",
                "saved times at most; default: 60 of a sphere, 120 of tokens, 400 of a circle",
                positive,
            ),
            Option("--open", "show it in a browser"),
        ],
        ("view mine.h5 --open", "view mine.h5 -o mine.html --frames 100"),
    ),
    "compile": Command(
        "compile all kernels now, for images of containers and for CI",
        [_QUIET],
        ("compile", "compile --quiet"),
        "a minute or so, once on a machine.",
    ),
    "verify": Command(
        "put a stored run to the laws that it must obey; status 1 if it breaks one",
        [Option("file RUN.h5", "what `meanfield run` wrote"), _JSON],
        ("verify mine.h5", "verify mine.h5 --json"),
        "seconds; 20 s for large runs, checked at a sample of their states.",
    ),
    "info": Command(
        "what a file holds and where it comes from, as text, JSON or CSV",
        [
            Option("file OUT.h5", "a file of results, or a folder of a sweep"),
            [
                _JSON,
                Option(
                    "--csv",
                    "a table: observables by time, of a study by tokens, of a sweep by run",
                ),
            ],
            Option(
                "--provenance",
                "only where it comes from: versions, machine, wall time, hash of the results",
            ),
        ],
        ("info mine.h5", "info mine.h5 --csv"),
        computes=False,
    ),
}
"""Every command by its name."""
