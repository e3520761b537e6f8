"""Keys of run files for readers and editors: tables of the docs, and a JSON schema."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from meanfield.runfile.config import SECTION_KEYS
from meanfield.runfile.document import USUAL_LAW
from meanfield.runfile.keys import HEADS, REQUIRED, Key, keys_of, line, string, table_schema
from meanfield.runfile.matrices import HEAD_KEYS
from meanfield.runfile.problems import STAGE_KEYS
from meanfield.runfile.sections import INITIAL, PART_KEYS, PROFILE_KEYS

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
# Link of Markdown: a text in brackets, whose code may hold brackets, and an address.
_LINK = re.compile(r"\[((?:`[^`]*`|[^][`])+)\]\([^()]+\)")
_PLURALS = {"number": "numbers", "integer": "integers", "string": "strings", "table": "tables"}


def run_file_keys() -> dict[str, dict[str, Key]]:
    """Sections -> keys, in the order of the docs; laws are initial.NAME.

    >>> [*run_file_keys()["initial.mixture"]], [*run_file_keys()["drift"]]
    (['components'], ['matrix'])
    """
    heads = dict.fromkeys(HEADS, HEAD_KEYS)
    first = {"problem": SECTION_KEYS["problem"], **heads, "stages": STAGE_KEYS}
    laws = {f"initial.{name}": keys_of(law) for name, law in INITIAL.items()}
    return first | PART_KEYS | {"initial": PROFILE_KEYS} | laws | SECTION_KEYS


def meanings() -> dict[str, dict[str, str]]:
    """Sections -> keys -> their meaning, as Markdown."""
    texts = tomllib.loads(files("meanfield.runfile").joinpath("keys.toml").read_text("utf-8"))
    laws = texts.pop("initial")
    texts["initial"] = {"profile": laws.pop("profile")}
    texts |= {f"initial.{name}": laws.get(name, {}) for name in INITIAL}
    usual = dict.fromkeys(STAGE_KEYS, "As in `[problem]`") | {
        name: f"As in [`[{name}]`](#{name.replace('_', '-')})" for name in PART_KEYS
    }
    return texts | {"stages": {name: usual[name] for name in STAGE_KEYS} | texts["stages"]}


def key_table(section: str) -> str:
    r"""Table of the keys of a section, as Markdown.

    >>> print(key_table("drift"))
    | Key | Type | Default | Meaning |
    |---|---|---|---|
    | `matrix` | number, list or string | required | $M$, $d \times d$ |
    """
    keys, texts = run_file_keys()[section], meanings()[section]
    rows = ["| Key | Type | Default | Meaning |", "|---|---|---|---|"]
    for name, key in keys.items():
        usual = "required" if key.default is REQUIRED else f"`{json.dumps(key.default)}`"
        usual = usual.replace("`null`", "")
        rows.append(f"| `{name}` | {_words(key.kind.schema)} | {usual} | {texts[name]} |")
    return "\n".join(rows)


def _words(schema: Mapping[str, Any]) -> str:
    """A type in words.

    >>> _words({"type": "array", "items": {"type": "array", "items": {"type": "number"}}})
    'list of lists of numbers'
    >>> _words({"enum": ["W1", "mmd"]}), _words({"type": ["number", "array", "string"]})
    ('`"W1"`, `"mmd"`', 'number, list or string')
    """
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(name)}`" for name in schema["enum"])
    kinds = schema.get("anyOf", [])
    if isinstance(schema.get("type"), list):
        kinds = [{"type": name} for name in schema["type"]]
    if kinds:
        *others, last = map(_words, kinds)
        return f"{', '.join(others)} or {last}"
    names = {"array": "list", "object": "table"}
    name = names.get(schema["type"], schema["type"])
    if "items" not in schema:
        return str(name)
    item = _words(schema["items"])
    if item.startswith("list"):
        return f"list of {item.replace('list', 'lists', 1)}"
    return f"list of {_PLURALS.get(item, item)}"


def run_file_schema() -> dict[str, Any]:
    """JSON schema of a run file, for editors.

    It checks keys, types and words; only the program checks values against each other.
    """
    texts = {
        section: {key: _LINK.sub(r"\1", text) for key, text in rows.items()}
        for section, rows in meanings().items()
    }
    sections = {
        name: table_schema(keys, texts[name])
        for name, keys in run_file_keys().items()
        if not name.startswith("initial")
    }
    laws = []
    for name, make in INITIAL.items():
        keys = {"name": Key(string, name if name == USUAL_LAW else REQUIRED)}
        law = table_schema(
            keys | keys_of(make) | PROFILE_KEYS,
            {"name": "Law of the start"} | texts[f"initial.{name}"] | texts["initial"],
        )
        law["properties"]["name"] |= {"const": name}
        laws.append(law)
    many = {name: {"type": "array", "items": sections[name]} for name in (*HEADS, "stages")}
    return {
        "$schema": _DIALECT,
        "title": "Run file of meanfield",
        "type": "object",
        "properties": {
            "title": {**line.schema, "description": "One line, shown by progress and figures"},
            **sections,
            **many,
            "initial": {"oneOf": laws},
        },
        "required": ["problem"],
        "additionalProperties": False,
    }
