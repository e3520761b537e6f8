"""The TOML document of a run file: read and parsed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from meanfield.runfile.keys import ConfigError

# A run file is written by hand; whole clouds of tokens belong into .npy files. Parsing takes a
# second a MiB.
_LARGEST_FILE = 2**22
# The parser's time grows with the square of the parts of a dotted key; ours have two.
_MOST_PARTS = 32
_DOTTED = re.compile(rf"(?<![\w-])(?:[\w-]+[ \t]*\.[ \t]*){{{_MOST_PARTS}}}")
_STRING_OR_COMMENT = re.compile(
    r'''"""(?:\\.|[^\\])*?"""|\'{3}.*?\'{3}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|\#[^\n]*''', re.DOTALL
)

_HDF5 = b"\x89HDF\r\n\x1a\n"


def read_document(source: Path) -> dict[str, Any]:
    """Parse a TOML file."""
    try:
        with source.open("rb") as file:
            # Devices have no end: never read more than a run file may hold.
            content = file.read(_LARGEST_FILE + 1)
    except IsADirectoryError:
        raise ConfigError(f"{source} is a folder, expected a run file (.toml).") from None
    except FileNotFoundError as error:
        remedy = f"`meanfield init {source.with_suffix('.toml')}` writes one"
        raise ConfigError(f"{source}: {error.strerror}: {remedy}.") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"{source}: {reason}.") from None
    if len(content) > _LARGEST_FILE:
        raise ConfigError(f"{source} is larger than {_LARGEST_FILE >> 20} MiB: no run file.")
    if content.startswith(_HDF5):
        raise ConfigError(
            f"{source} holds results, expected a run file (.toml): `meanfield info` shows them."
        )
    try:
        return parsed(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ConfigError(f"{source} is not a text file in UTF-8.") from None
    except ValueError as error:
        raise ConfigError(f"{source} is not valid TOML: {error}.") from None


def stored_document(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Run file that a result was made from, with its normalization.

    Results made before softmax was the default hold no key where their flow was "none"; later ones
    always hold it.

    >>> stored_document({"config": "problem = {beta = 4.0}", "normalization": "none"})
    {'problem': {'beta': 4.0, 'normalization': 'none'}}
    """
    tables = parsed(str(attributes.get("config", "")))
    return with_normalization(tables, str(attributes.get("normalization", "none")))


def with_normalization(tables: dict[str, Any], usual: str) -> dict[str, Any]:
    """Document whose section [problem] holds a normalization: `usual` where it had none."""
    problem = tables.get("problem")
    if not isinstance(problem, dict) or {"normalization", "normalized"} & problem.keys():
        return tables
    return tables | {"problem": problem | {"normalization": usual}}


def parsed(text: str) -> dict[str, Any]:
    """Document of a text."""
    if _DOTTED.search(_STRING_OR_COMMENT.sub("s", text)) is not None:
        raise ValueError(f"it holds a key of more than {_MOST_PARTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it nests too deeply") from None
