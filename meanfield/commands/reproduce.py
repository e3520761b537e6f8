"""`meanfield reproduce`: published figures made again, their numbers beside the published."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path

import meanfield

SCRIPTS = Path("experiments/published")
"""Folder of the scripts in a checkout; an installed package does not have them."""


def execute(options: argparse.Namespace) -> int:
    """Run `published.reproduce` of the checkout around this package, its `experiments`, or here."""
    # `python PATH/experiments` has that path as its first argument.
    for checkout in (Path(meanfield.__file__).parents[1], Path(sys.argv[0]).parent, Path.cwd()):
        if (checkout / SCRIPTS / "reproduce.py").is_file():
            sys.path.insert(0, str(checkout / SCRIPTS.parent))
            return int(import_module("published.reproduce").execute(options))
    raise ValueError(
        f"published figures are scripts in {SCRIPTS} of the source repository, which is not here: "
        "run meanfield reproduce in a checkout."
    )
