"""Overrides of a run file by --set.

    section.key=value     a key
    section.key=          no such key: its default
    section={key = 1}     a section as a whole

    heads=[{key = 1}]     all sections [[heads]]

Values are TOML; other text is a string. Another law than the file's removes the keys of the file's
law. `normalization` replaces the file's `normalized`, `until` its `end`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from meanfield.errors import list_names, nearest
from meanfield.renamed import renamed
from meanfield.runfile.document import parsed
from meanfield.runfile.keys import ConfigError, format_value

# The law of a section [initial] without a name.
USUAL_LAW = "perturbed_uniform"

RIVALS = {
    "normalized": "normalization",
    "normalization": "normalized",
    "end": "until",
    "until": "end",
}
"""Keys of a section that say the same: the one that is given later leaves none of the other."""


def override(
    tables: dict[str, Any], arguments: Sequence[str], sections: Mapping[str, Collection[str]]
) -> None:
    """Apply some "section.key=value" to a document, in place.

    tables: the document.
    arguments: what --set was given, in this order.
    sections: sections of run files -> keys that they may have; none of lists of sections.

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
        _set(tables, section, key, value_of(argument.partition("=")[2]), argument)
        if section == "initial":
            keys.add(key)
        if key in RIVALS:
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
    """Question that names the sections that have a key, or the key that was meant.

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
    else:
        place = tables.setdefault(section, {})
    if not isinstance(place, dict):
        raise ConfigError(f"--set {format_value(argument)}: {section} is not a section.")
    if value is None:
        place.pop(key, None)
    else:
        place[key] = value


def value_of(text: str) -> Any:
    """Value of TOML, or the text itself; None of nothing."""
    if not text.strip():
        return None
    try:
        document = parsed(f"value = {text}")
    except ValueError:
        return text
    # "1 <newline> other = 2" would be two keys: no value, a string.
    return document["value"] if len(document) == 1 else text


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
