"""The TOML document of a run file: read, parsed, and overridden from the command line."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from meanfield.config.keys import ConfigError, shown

# A run file is written by hand; whole clouds of tokens belong into .npy files. Parsing takes a
# second a MiB.
_LARGEST_FILE = 2**22
# The parser's time grows with the square of the parts of a dotted key; ours have two.
_MOST_PARTS = 32
_DOTTED = re.compile(rf"(?<![\w-])(?:[\w-]+[ \t]*\.[ \t]*){{{_MOST_PARTS}}}")
_STRING_OR_COMMENT = re.compile(
    r'''"""(?:\\.|[^\\])*?"""|\'{3}.*?\'{3}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|\#[^\n]*''', re.DOTALL
)


def read_document(source: Path) -> dict[str, Any]:
    """Parse a TOML file.

    Raises
    ------
    ConfigError
        If it cannot be read, is larger than 4 MiB, not UTF-8, or not TOML.
    """
    try:
        with source.open("rb") as file:
            # Devices have no end: never read more than a run file may hold.
            content = file.read(_LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"{source}: {reason}.") from None
    if len(content) > _LARGEST_FILE:
        raise ConfigError(f"{source} is larger than {_LARGEST_FILE >> 20} MiB: no run file.")
    try:
        return parsed(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ConfigError(f"{source.name} is not a text file in UTF-8.") from None
    except ValueError as error:
        raise ConfigError(f"{source.name} is not valid TOML: {error}.") from None


def override(tables: dict[str, Any], argument: str) -> None:
    """Apply one "section.key=value" to a document, in place.

    Parameters
    ----------
    tables : dict
        The document.
    argument : str
        The value is TOML; what does not parse is a string.

    Raises
    ------
    ConfigError
        If it is malformed or names a key inside something that is no section.

    Examples
    --------
    >>> tables = {"time": {"end": 1.0}}
    >>> override(tables, "time.end = 2.5")
    >>> override(tables, "output.path=other.h5")
    >>> tables
    {'time': {'end': 2.5}, 'output': {'path': 'other.h5'}}
    """
    name, equals, value = argument.partition("=")
    keys = [part.strip() for part in name.split(".")]
    if not equals or not all(keys) or len(keys) > 2:
        raise ConfigError(f"--set {shown(argument)} must be SECTION.KEY=VALUE.")
    if not _encodable(argument):
        raise ConfigError(f"--set {shown(argument)} is not text in UTF-8.")
    changed = _value(value)
    if len(keys) == 1:
        tables[keys[0]] = changed
        return
    section = tables.setdefault(keys[0], {})
    if not isinstance(section, dict):
        raise ConfigError(f"--set {shown(argument)}: {keys[0]} is not a section.")
    section[keys[1]] = changed


def _value(text: str) -> Any:
    try:
        document = parsed(f"value = {text}")
    except ValueError:
        return text
    # "1 <newline> other = 2" would be two keys: no value, a string.
    return document["value"] if len(document) == 1 else text


def parsed(text: str) -> dict[str, Any]:
    """Document of a text.

    Raises
    ------
    ValueError
        If it is no TOML, or nests deeply.
    """
    if _DOTTED.search(_STRING_OR_COMMENT.sub("s", text)) is not None:
        raise ValueError(f"it holds a key of more than {_MOST_PARTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it nests too deeply") from None


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
