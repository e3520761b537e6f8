"""The problem of a run file: its sections, its stages, its initial law.

Sections [[stages]] hold keys of [problem], and heads, feed_forward and drift as a whole. They win
over the rest of the file until the stage ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from meanfield.problem import TERMS, Problem
from meanfield.runfile.keys import (
    HEADS,
    ConfigError,
    Key,
    Kind,
    format_value,
    kind,
    list_of,
    located,
    number,
    read_table,
    table_schema,
)
from meanfield.runfile.matrices import HEAD_KEYS, MatrixFiles, Stack, read_heads
from meanfield.runfile.python_file import Folder
from meanfield.runfile.sections import PART_KEYS, PROBLEM_KEYS, bare_problem, initial_law
from meanfield.stages import Stage


def _table(keys: Mapping[str, Key]) -> Kind:
    """Kind of a table, whose keys are checked later."""

    @kind(**table_schema(keys))
    def table(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise TypeError("must be a table")
        return value

    return table


# Keys of a problem that no stage changes.
_OF_ALL_STAGES = ("manifold", "terms")
STAGE_KEYS = (
    {"end": Key(number, None)}
    | {n: Key(key.kind, None) for n, key in PROBLEM_KEYS.items() if n not in _OF_ALL_STAGES}
    | {"heads": Key(list_of(_table(HEAD_KEYS)), None)}
    | {name: Key(_table(PART_KEYS[name]), None) for name in TERMS}
)
"""Keys of a section [[stages]]."""

_REPLACED = {
    "kernel": ("beta", "multipliers", "attention", "heads"),
    "normalization": ("normalized",),
    "normalized": ("normalization",),
    "mask": ("alibi_rate", "window", "globals", "causal"),
}
"""Key of a stage -> keys that it then does not inherit, because they belong to the old value."""


def without_files(
    where: str, folder: Path | None, tables: Mapping[str, Any]
) -> tuple[dict[str, Any], list[Path]]:
    """Document with matrices in place of the files that hold them, and the list of these files.

    So a result needs no other files. Files with one matrix for each layer make each layer a stage.

    folder: place of the files of matrices; None reads none.
    """
    files = MatrixFiles(folder, _is_layered(where, tables))
    whole = _without_files(where, tables, files)
    stacks = [stack for _, part in _parts_of(whole) for stack in part.values() if _is_stack(stack)]
    random = whole.get("random_heads", [])
    stacks += [stack for head in random for stack in head.values() if _is_stack(stack)]
    if stacks and random:
        raise ConfigError(
            f"{stacks[0].label} holds weights of {len(stacks[0].layers)} layers, and random values "
            "have the same ones beside them in all layers: give one matrix."
        )
    if stacks:
        return _unstacked(where, whole, stacks), files.read
    if "stages" in tables:
        files.stacked = False
        whole["stages"] = [
            _without_files(f"{where}[[stages]] {index} ", stage, files)
            for index, stage in enumerate(_read_stages(where, tables["stages"]), 1)
        ]
    return whole, files.read


def _without_files(where: str, tables: Mapping[str, Any], files: MatrixFiles) -> dict[str, Any]:
    whole = dict(tables)
    for name in (name for name in HEADS if name in tables):
        whole[name] = read_heads(f"{where}[[{name}]]", tables[name], files)
    for name, keys in PART_KEYS.items():
        if name in tables:
            whole[name] = files.written_out(f"{where}[{name}]", tables[name], keys)
    return whole


def _is_layered(where: str, tables: Mapping[str, Any]) -> bool:
    """True if a document has discrete layers."""
    if "layers" not in tables:
        return False
    return bool(read_table(f"{where}[layers]", tables["layers"], PART_KEYS["layers"])["step"])


def _is_stack(value: Any) -> bool:
    return isinstance(value, Stack)


def _parts_of(tables: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Tables that may hold matrices, each with the name of its section."""
    for head in tables.get("heads", []):
        yield "heads", head
    for name in TERMS:
        if name in tables:
            yield name, tables[name]


def _unstacked(where: str, tables: Mapping[str, Any], stacks: list[Stack]) -> dict[str, Any]:
    """Document in which each layer is a stage, with weights of its own."""
    first, count = stacks[0], len(stacks[0].layers)
    for other in stacks:
        if len(other.layers) != count:
            raise ConfigError(
                f"{other.label} holds {len(other.layers)} layers and "
                f"{first.label.removeprefix(where)} {count}: stacks must be as long."
            )
    layers = tables["layers"].get("count", count)
    if layers != count:
        raise ConfigError(
            f"{where}[layers] count = {layers}, and {first.label.removeprefix(where)} "
                          f"holds {count} layers: leave count out.")  # fmt: skip
    if "stages" in tables:
        raise ConfigError(
            f"{first.label} holds weights of {count} layers, each of which is a stage: leave "
            "[[stages]] out, or give their matrices there."
        )
    stacked = {name for name, part in _parts_of(tables) if any(map(_is_stack, part.values()))}
    each = [
        {name: _layer_of(tables[name], index) for name in tables if name in stacked}
        for index in range(count)
    ]
    stages = [{"end": float(index)} | own for index, own in enumerate(each[:-1], 1)]
    several = {"stages": [{"end": 1.0}, *stages[1:], each[-1]]} if count > 1 else {}
    return {**tables, **each[0], "layers": tables["layers"] | {"count": count}, **several}


def _layer_of(part: Any, index: int) -> Any:
    """Section with the matrices of one layer."""
    if isinstance(part, list):
        return [_layer_of(one, index) for one in part]
    return {k: v.layers[index] if isinstance(v, Stack) else v for k, v in part.items()}


def _read_stages(where: str, stages: Any) -> list[dict[str, Any]]:
    """Sections [[stages]], checked key by key."""
    label = f"{where}[[stages]]"
    if isinstance(stages, dict):
        raise ConfigError(
            f"{label} is a list of tables: write [[stages]] above each, not [stages]."
        )
    if not isinstance(stages, list):
        raise ConfigError(f"{label} must be a list of tables, got {format_value(stages)}.")
    for index, stage in enumerate(stages, 1):
        read_table(f"{label} {index}", stage, STAGE_KEYS)
    return stages


def read_problem(where: str, folder: Folder, tables: Mapping[str, Any]) -> Problem:
    """Problem of a document without files of matrices, its initial measure built and checked."""
    bare = staged_problem(where, folder, tables)
    section = f"{where}[initial]"
    with located(section):
        law = initial_law(section, folder, tables.get("initial", {"name": "uniform"}), bare)
        problem = replace(bare, initial=law)
        problem.initial_measure()
    return problem


def staged_problem(where: str, folder: Folder, tables: Mapping[str, Any]) -> Problem:
    """Problem of a document without files of matrices, without its initial law."""
    bare = bare_problem(where, folder, tables)
    if bare.random is not None:
        if "stages" in tables:
            raise ConfigError(f"{where}[[stages]] beside random values: leave one of them out.")
        return bare
    stages = []
    for index, stage in enumerate(tables.get("stages", []), 1):
        of = bare_problem(f"{where}[[stages]] {index} ", folder, _in_stage(tables, stage))
        parts = {name: getattr(of, name) for name in ("kernel", "flow", *TERMS)}
        with located(f"{where}[[stages]] {index}"):
            stages.append(Stage(stage.get("end"), **parts))
    with located(f"{where}[[stages]]"):
        return replace(bare, stages=stages)


def _in_stage(tables: Mapping[str, Any], stage: Mapping[str, Any]) -> dict[str, Any]:
    """Document with the keys of a stage in place of the file's."""
    left = {key for name in stage for key in _REPLACED.get(name, ())}
    inherited = {key: value for key, value in tables["problem"].items() if key not in left}
    own = {key: value for key, value in stage.items() if key in PROBLEM_KEYS}
    parts = {key: value for key, value in stage.items() if key in ("heads", *TERMS)}
    whole = {key: value for key, value in tables.items() if key not in (*left, "stages")}
    return whole | {"problem": inherited | own} | parts
