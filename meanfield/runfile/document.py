"""The TOML document of a run file: read, parsed, and overridden by --set.

    section.key=value     a key
    section.key=          no such key: its default
    section={key = 1}     a section as a whole
    heads=[{key = 1}]     all sections [[heads]]

Values are TOML; other text is a string. A new law removes the keys of the file's law.
`normalization` replaces the file's `normalized`, `until` its `end`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from meanfield.errors import list_names, nearest
from meanfield.renamed import renamed
from meanfield.runfile.keys import ConfigError, format_value
from meanfield.store.locks import SIGNATURE

# Parsing takes a second a MiB; larger arrays belong into .npy files.
_LARGEST_FILE = 2**22
# The parser's time grows with the square of the parts of a dotted key; ours have two.
_MOST_PARTS = 32
_DOTTED = re.compile(rf"(?<![\w-])(?:[\w-]+[ \t]*\.[ \t]*){{{_MOST_PARTS}}}")
_STRING_OR_COMMENT = re.compile(
    r'''"""(?:\\.|[^\\])*?"""|\'{3}.*?\'{3}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|\#[^\n]*''', re.DOTALL
)


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
    if content.startswith(SIGNATURE):
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
    """Run file of a result, with its normalization, which old results omit if it is "none".

    >>> stored_document({"config": "problem = {beta = 4.0}", "normalization": "none"})
    {'problem': {'beta': 4.0, 'normalization': 'none'}}
    """
    tables = parsed(str(attributes.get("config", "")))
    return with_normalization(tables, str(attributes.get("normalization", "none")))


def with_normalization(tables: dict[str, Any], usual: str) -> dict[str, Any]:
    """Document whose section [problem] has a normalization: `usual` if it had none."""
    problem = tables.get("problem")
    if not isinstance(problem, dict) or {"normalization", "normalized"} & problem.keys():
        return tables
    return tables | {"problem": problem | {"normalization": usual}}


def parsed(text: str) -> dict[str, Any]:
    """Document of a TOML text."""
    if _DOTTED.search(_STRING_OR_COMMENT.sub("s", text)) is not None:
        raise ValueError(f"it holds a key of more than {_MOST_PARTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it nests too deeply") from None


# The law of a section [initial] without a name.
USUAL_LAW = "perturbed_uniform"

RIVALS = {
    "normalized": "normalization",
    "normalization": "normalized",
    "end": "until",
    "until": "end",
}
"""Key -> a key of the same section with the same meaning, which it replaces."""


def override(
    tables: dict[str, Any], arguments: Sequence[str], sections: Mapping[str, Collection[str]]
) -> None:
    """Apply some "section.key=value" to a document, in place.

    sections: section -> keys that it may have; none for lists of sections.

    >>> tables = {"time": {"end": 1.0, "save": 3}}
    >>> sections = {"time": ["end", "save"], "output": ["path"]}
    >>> override(tables, ["time.end = 2.5", "output.path=other.h5", "time.save="], sections)
    >>> tables
    {'time': {'end': 2.5}, 'output': {'path': 'other.h5'}}
    """
    law = tables.get("initial")
    before = law.get("name", USUAL_LAW) if isinstance(law, dict) else None
    keys = set()
    for argument in arguments:
        section, key = named(argument, sections)
        value = value_of(argument.partition("=")[2])
        _set(tables, section, key, value, argument)
        if section == "initial":
            keys.add(key)
        if key in RIVALS and value is not None:
            tables[section].pop(RIVALS[key], None)
    if isinstance(law, dict) and law.get("name", USUAL_LAW) != before:
        for key in set(law) - keys:
            del law[key]


def named(
    argument: str, sections: Mapping[str, Collection[str]], option: str = "--set"
) -> tuple[str, str | None]:
    """Section and key that an argument of an option names; no key for a section as a whole."""
    name, equals, value = argument.partition("=")
    said = f"{option} {format_value(argument)}"
    keys = [part.strip() for part in name.split(".")]
    if not equals or not all(keys) or len(keys) > 2:
        raise ConfigError(f"{said} must be SECTION.KEY=VALUE.")
    if not _encodable(argument):
        raise ConfigError(f"{said} is not text in UTF-8.")
    if keys[0] == "title" and len(keys) == 2:
        raise ConfigError(f"{said}: title is not a section.")
    if keys[0] == "title" or (keys[0] in sections and len(keys) == 1):
        return keys[0], None
    if len(keys) == 1:
        meant = homes(keys[0], sections) or list_names(keys[0], sections)
        raise ConfigError(f"{said} needs SECTION.KEY=VALUE. {meant}")
    section, old = keys
    if section not in sections:
        meant = list_names(section, sections)
        raise ConfigError(f"{said}: [{section}] is not a known section. {meant}")
    if not sections[section]:
        raise ConfigError(
            f"{said}: [[{section}]] are set as a whole, as {option} '{section}=[{{{old} = 1}}]'."
        )
    (key,) = renamed({old: None}, sections[section], f"{said}: ")
    if key not in sections[section]:
        elsewhere = any(key in keys for keys in sections.values())
        near = None if elsewhere else nearest(key, sections[section])
        meant = f"Did you mean {section}.{near}?" if near else homes(key, sections)
        meant = meant or f"Known: {', '.join(sorted(sections[section]))}."
        raise ConfigError(f"{said}: {key} is not a key of [{section}]. {meant}")
    return section, key


def homes(key: str, sections: Mapping[str, Collection[str]]) -> str:
    """Question that names the sections with this key, or with the most similar one.

    >>> homes("ende", {"time": ["end", "save"], "output": ["path"]})
    'Did you mean time.end?'
    """
    every = {each for keys in sections.values() for each in keys}
    meant = key if key in every else nearest(key, every)
    places = [f"{section}.{meant}" for section, keys in sections.items() if meant in keys]
    return f"Did you mean {' or '.join(places)}?" if places else ""


def _set(tables: dict[str, Any], section: str, key: str | None, value: Any, argument: str) -> None:
    if key is None:
        place, key = tables, section
    elif value is None:
        place = tables.get(section, {})
    else:
        place = tables.setdefault(section, {})
    if not isinstance(place, dict):
        raise ConfigError(f"--set {format_value(argument)}: {section} is not a section.")
    if value is None:
        place.pop(key, None)
    else:
        place[key] = value


def value_of(text: str) -> Any:
    """Value of a TOML text, or the text itself; None for an empty text."""
    if not text.strip():
        return None
    try:
        document = parsed(f"value = {text}")
    except ValueError:
        return text
    # "1 <newline> other = 2" would be two keys, so it is a string.
    return document["value"] if len(document) == 1 else text


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
