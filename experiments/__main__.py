"""Experiments: `python experiments NAME [--short]`, and `python experiments --help`.

An experiment is a folder with `analyse.py`, which has

    SECONDS                  typical times of the whole and the short form
    main(short) -> claims    computes, draws, and returns a list of `claims.Claim`

`main` may take more keywords, which `OWN` lists.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from claims import report
from listing import duration, listing

from meanfield.commands.main import main as meanfield
from meanfield.errors import list_names

FOLDER = Path(__file__).parent
OWN = {
    "keep": ("trained_decoder", "trained_encoder"),
    "late": ("sphere_characteristics",),
    "only_stored": ("cluster_law_circle", "cluster_law_sphere"),
}
"""Options that only some experiments have -> names of these."""


def main(arguments: Sequence[str]) -> int:
    """Run experiments; status 1 if a claim fails, 2 if the command line is wrong."""
    if arguments[:1] == ["published"]:
        return meanfield(["reproduce", *arguments[1:]])
    options = parser().parse_args(arguments)
    if options.list:
        print(listing_of_all())
        return 0
    try:
        names = chosen(options)
    except ValueError as error:
        print(f"python experiments: {error}", file=sys.stderr)
        return 2
    return run(names[0], options) if len(names) == 1 else run_all(names, options.short)


def parser() -> argparse.ArgumentParser:
    """Parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="python experiments",
        description="Run experiments and compare their numbers with theory.",
        epilog="`python experiments published NAME` runs `meanfield reproduce NAME`: a figure of a "
        "paper, made again.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="experiments to run")
    parser.add_argument("--list", action="store_true", help="list all experiments, with times")
    parser.add_argument("--all", action="store_true", help="run all experiments")
    parser.add_argument("--short", action="store_true", help="coarser forms: seconds to minutes")
    for option, help_text in (
        ("--keep", "trained_*: write the tables instead of comparing with them"),
        ("--late", "sphere_characteristics: also from the start to time 8"),
        ("--only-stored", "cluster_law_*: use the ensembles that are complete, run none"),
    ):
        parser.add_argument(option, action="store_true", help=help_text)
    return parser


def experiments() -> list[str]:
    """Names of all experiments."""
    return sorted(path.parent.name for path in FOLDER.glob("*/analyse.py"))


def chosen(options: argparse.Namespace) -> list[str]:
    """Names of the experiments on the command line; ValueError for wrong names or options."""
    known = experiments()
    if options.all and options.names:
        raise ValueError(f"--all runs {options.names[0]}, too: give names, or --all.")
    for name in options.names:
        if name not in known:
            raise ValueError(f"NAME {name!r} is not known. {list_names(name, known)}")
    names = known if options.all else list(dict.fromkeys(options.names))
    if not names:
        raise ValueError("NAME is missing: give names, --all, or --list to see them.")
    for option in own_options(options):
        if len(names) > 1 or names[0] not in OWN[option]:
            flag = "--" + option.replace("_", "-")
            raise ValueError(f"{flag} is an option of {' and '.join(OWN[option])} alone.")
    return names


def own_options(options: argparse.Namespace) -> dict[str, bool]:
    """Options in `OWN` that are set."""
    return {option: True for option in OWN if getattr(options, option)}


def run(name: str, options: argparse.Namespace) -> int:
    """Run one experiment and print its claims."""
    claims = import_module(f"{name}.analyse").main(options.short, **own_options(options))
    print()
    return report(claims)


def run_all(names: Sequence[str], short: bool) -> int:
    """Run each experiment in its own process, and print those that failed."""
    failed = []
    for name in names:
        print(f"== {name}", flush=True)
        command = [sys.executable, str(FOLDER), name, *(["--short"] if short else [])]
        if subprocess.run(command).returncode:
            failed.append(name)
    print(f"== FAILED: {', '.join(failed)}" if failed else f"== {len(names)} experiments hold")
    return int(bool(failed))


def listing_of_all() -> str:
    """Table of all experiments: names, typical times, first lines of docstrings."""
    rows = []
    for name in experiments():
        about, (whole, short) = described(FOLDER / name / "analyse.py")
        rows.append([name, duration(whole), duration(short), about])
    return listing(["name", "time", "--short", "compares"], rows)


def described(path: Path) -> tuple[str, tuple[float, float]]:
    """First line of the docstring, and SECONDS, without running the script."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    (seconds,) = (
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "SECONDS"
    )
    return (ast.get_docstring(tree) or "").splitlines()[0], ast.literal_eval(seconds)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
