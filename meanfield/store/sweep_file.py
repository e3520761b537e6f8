"""The index of a sweep, `sweep.json` in its folder: its layout, and how to read it.

    sweep_format_version   1
    parameters             list of {"key": "section.key", "values": [...]}, in the order given
    members                list of {"file", "overrides", "status", "result_hash"}, in the order of
                           the product, the last parameter changing first
      file                 name of the result file in the folder
      overrides            {"section.key": value, ...}
      status               as in the result file, "failed: ..." without one; null: not finished
      result_hash          as in the result file, or null
    attributes             meanfield_version, created, status, title, config, and attributes of
                           `provenance` and `wall_time`; config is the run file of the first member

Strict JSON. It is replaced at once, about every second while members finish, and at the end. The
result files have what it lacks until then; they are whole at every instant, too.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from itertools import islice, product
from math import isfinite, prod
from pathlib import Path
from typing import Any

from meanfield.arguments import checked
from meanfield.store.layout import FormatError, checked_attribute
from meanfield.store.locks import OutputFile, replace_text
from meanfield.studies.parts import part_of
from meanfield.studies.sweep_results import Member, Parameter, Sweep

INDEX = "sweep.json"
"""Name of the index in its folder."""
PARTS = "parts"
"""Folder in it for indices of parts, each with the members I, I + M, ... alone."""
INDEX_BEGINNING = b'{\n "sweep_format_version"'
SWEEP_FORMAT_VERSION = 1

_ADVICE = "Restore a copy, or sweep again with --overwrite."
# A hundred thousand members of many parameters are well below.
_LARGEST = 2**28


def write_sweep(target: Path | OutputFile, sweep: Sweep) -> None:
    """Write the index of a sweep in place of what was there."""
    output = target if isinstance(target, OutputFile) else OutputFile(target)
    document = {
        "sweep_format_version": SWEEP_FORMAT_VERSION,
        "attributes": sweep.attributes,
    }
    text = json.dumps(document, indent=1, allow_nan=False, default=_plain)[:-2]
    for name in ("parameters", "members"):
        # One line each, for people.
        rows = [json.dumps(asdict(each), allow_nan=False) for each in getattr(sweep, name)]
        text += f',\n "{name}": [\n  ' + ",\n  ".join(rows) + "\n ]"
    replace_text(output, text + "\n}\n")


@checked
def load_sweep(folder: str | os.PathLike[str]) -> Sweep:
    """Sweep in a folder of `meanfield sweep` or `mf.sweep`, finished or not.

    Parameters
    ----------
    folder : path
        The folder, or the index `sweep.json` in it.

    Returns
    -------
    Sweep
        Runs are read from their files when they are asked for.

    Raises
    ------
    ValueError
        If the index is missing, damaged, or of an unknown format.

    Examples
    --------
    >>> load_sweep("nothing")
    Traceback (most recent call last):
    ...
    meanfield.store.layout.FormatError: nothing holds no sweep: there is no nothing/sweep.json.
    """
    path = Path(folder)
    index = path if path.name == INDEX else path / INDEX
    return read_index(index, path, index.parent)


def read_index(index: Path, path: Path, folder: Path) -> Sweep:
    """Sweep of an index, that of the folder or of a part; path: as the user gave it."""
    try:
        if not index.is_file():
            raise FormatError(f"{path} holds no sweep: there is no {index}.")
        if index.stat().st_size > _LARGEST:
            raise FormatError(f"{index} is larger than any index of a sweep.")
        document = json.loads(index.read_text(encoding="utf-8"), parse_constant=_no_number)
        version = document.get("sweep_format_version")
        if version != SWEEP_FORMAT_VERSION:
            raise FormatError(
                f"{index} is not a sweep of format {SWEEP_FORMAT_VERSION} (sweep_format_version is "
                f"{version})."
            )
        return _sweep(folder, document)
    except FormatError:
        raise
    except OSError as error:
        raise FormatError(f"{index} cannot be read: {error.strerror or error}.") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = f": {error}".rstrip(".") if isinstance(error, ValueError) else ""
        raise FormatError(f"{index} is damaged{reason}. {_ADVICE}") from None


def is_sweep(path: str | os.PathLike[str]) -> bool:
    """True if a path is the folder of a sweep, or its index, by its name."""
    place = Path(path)
    return place.name == INDEX or (place / INDEX).is_file()


def _sweep(folder: Path, document: dict[str, Any]) -> Sweep:
    parameters = tuple(
        Parameter(_text(each["key"]), tuple(each["values"])) for each in document["parameters"]
    )
    keys = {parameter.key for parameter in parameters}
    members = tuple(
        Member(
            _text(each["file"]),
            {parameter.key: each["overrides"][parameter.key] for parameter in parameters},
            *(None if each[name] is None else _text(each[name]) for name in _REPORTED),
        )
        for each in document["members"]
    )
    if len(keys) != len(parameters) or not keys:
        raise ValueError("parameters are none, or the same twice")
    facts = {k: checked_attribute(k, value) for k, value in dict(document["attributes"]).items()}
    part = part_of(facts.get("part", "0/1"))
    numbers = part.members(prod(len(parameter.values) for parameter in parameters))
    bounds = numbers.start, max(numbers.start, numbers.stop), numbers.step
    wanted = islice(product(*(parameter.values for parameter in parameters)), *bounds)
    if len(members) != len(numbers) or not all(
        tuple(member.overrides.values()) == values
        for member, values in zip(members, wanted, strict=True)
    ):
        raise ValueError("members are not those of the product, in its order")
    names = {member.file for member in members}
    if len(names) != len(members) or any(Path(name).name != name or name == ".." for name in names):
        raise ValueError("files of members are the same, or lie elsewhere")
    return Sweep(folder, parameters, members, facts)


_REPORTED = ("status", "result_hash")


def _text(value: Any) -> str:
    if not (isinstance(value, str) and value.isprintable() and value):
        raise ValueError(f"{str(value)[:60]!a} is no text of an index")
    return value


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no number of JSON")


def _plain(value: Any) -> Any:
    """Python's number for a number of NumPy; infinities and NaN become text."""
    item = value.item() if hasattr(value, "item") else str(value)
    return str(item) if isinstance(item, float) and not isfinite(item) else item
