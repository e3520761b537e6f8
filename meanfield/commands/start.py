"""`meanfield init`, `schema` and `reproduce`: run files, their keys, and scripts of figures."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from importlib import import_module
from pathlib import Path

from meanfield.errors import list_names


def init_command(options: argparse.Namespace) -> int:
    """A commented run file to start from."""
    path = Path(options.name)
    if path.name in ("", "..") or not path.name.isprintable():
        raise ValueError(f"{options.name!r} is no name of a file.")
    if path.suffix != ".toml":
        path = path.with_name(path.name + ".toml")
    template = Path(__file__).with_name("init.toml").read_text("utf-8")
    # A string of JSON is one of TOML.
    output = json.dumps(f"{path.stem}.h5", ensure_ascii=False)
    text = template.replace("RUN_FILE", shlex.quote(path.name)).replace('"OUTPUT"', output)
    try:
        # Never over another file, not even one that appears now.
        path.open("x").close()
    except FileExistsError:
        raise ValueError(f"{path} exists: choose another name.") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {error.strerror}.") from None
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        # Half a file would be in the way of the next attempt.
        path.unlink(missing_ok=True)
        raise ValueError(f"{path} cannot be written: {error.strerror}.") from None
    print(f"{path}: now try `meanfield run {shlex.quote(str(path))}`.")
    return 0


def schema_command(options: argparse.Namespace) -> int:
    """Keys of run files: a JSON schema for editors, or a table of a section."""
    from meanfield.runfile.schema import key_table, run_file_keys, run_file_schema

    sections = run_file_keys()
    if options.section is None:
        print(json.dumps(run_file_schema(), indent=2))
    elif options.section in sections:
        alone = f"{options.section} has no keys beside those of initial."
        print(key_table(options.section) if sections[options.section] else alone)
    else:
        raise ValueError(
            f"schema: section {options.section} is not known. "
            f"{list_names(options.section, sections)}"
        )
    return 0


SCRIPTS = Path("experiments/published")
"""Folder of the scripts in a checkout; an installed package does not have them."""


def reproduce_command(options: argparse.Namespace) -> int:
    """Make published figures again, and compare their numbers."""
    # `python PATH/experiments` has that path as its first argument.
    for checkout in (Path(__file__).parents[2], Path(sys.argv[0]).parent, Path.cwd()):
        if (checkout / SCRIPTS / "reproduce.py").is_file():
            sys.path.insert(0, str(checkout / SCRIPTS.parent))
            return int(import_module("published.reproduce").execute(options))
    raise ValueError(
        f"published figures are scripts in {SCRIPTS} of the source repository, which is not here: "
        "run meanfield reproduce in a checkout."
    )
