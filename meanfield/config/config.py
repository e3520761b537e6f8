"""The run file as a whole: sections, overrides, and what becomes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.config.document import override, read_document
from meanfield.config.errors import ConfigError, located
from meanfield.config.output import OUTPUT_KEYS, Output, output_path
from meanfield.config.sections import INITIAL, PROBLEM_KEYS, read_problem
from meanfield.config.tables import (
    REQUIRED,
    Key,
    integer,
    line,
    list_of,
    number,
    one_of,
    read_table,
    shortened,
)
from meanfield.config.times import TIME_KEYS, step_of, times_of
from meanfield.measures import Measure
from meanfield.problem import Problem
from meanfield.representations import REPRESENTATIONS, Options, represent
from meanfield.representations.options import MOST_NODES
from meanfield.studies.convergence import METRICS, StudyOptions
from meanfield.studies.ensemble import CARRIERS, EnsembleOptions
from meanfield.studies.study import MOST_TOKENS

_MANY_TOKENS = 1_000_000

REPRESENTATION_KEYS = {
    "name": Key(one_of("auto", *REPRESENTATIONS), "auto"),
    "tolerance": Key(number, None),
    "max_degree": Key(integer, None),
    "max_nodes": Key(integer, MOST_NODES),
    "tokens": Key(integer, None),
    "seed": Key(integer, 0),
}
_STUDY = StudyOptions()
COMPARE_KEYS = {
    "tokens": Key(list_of(integer, least=1), list(_STUDY.tokens)),
    "repetitions": Key(integer, _STUDY.repetitions),
    "metric": Key(one_of(*METRICS), _STUDY.metric),
    "seed": Key(integer, _STUDY.seed),
}
_ENSEMBLE = EnsembleOptions()
ENSEMBLE_KEYS = {
    "tokens": Key(list_of(integer, least=1), list(_ENSEMBLE.tokens)),
    "runs": Key(integer, _ENSEMBLE.runs),
    "times": Key(list_of(number, least=1), list(_ENSEMBLE.times)),
    "carrier": Key(one_of(*CARRIERS), _ENSEMBLE.carrier),
    "seed": Key(integer, _ENSEMBLE.seed),
}
SECTION_KEYS = {
    "problem": PROBLEM_KEYS,
    "representation": REPRESENTATION_KEYS,
    "time": TIME_KEYS,
    "output": OUTPUT_KEYS,
    "compare": COMPARE_KEYS,
    "ensemble": ENSEMBLE_KEYS,
}
"""Sections with the same keys in every run file; those of [initial] depend on its name."""


@dataclass(frozen=True)
class Config:
    """A validated run file.

    Attributes
    ----------
    source : Path
        Given. The file.
    title : str
        Given.
    problem : Problem
        Derived.
    options : Options
        Derived. Representation.
    times : ndarray
        Derived. Times to save, in scaled time.
    stop : str or None
        Given. "one_cluster" ends the run early.
    output : Output
        Derived.
    inputs : tuple of Path
        Derived. Files that the run reads.
    compare : StudyOptions
        Derived.
    ensemble : EnsembleOptions
        Derived.
    tables : dict
        Given. The TOML document with all overrides applied.
    """

    source: Path
    title: str
    problem: Problem
    options: Options
    times: FloatArray
    stop: str | None
    output: Output
    inputs: tuple[Path, ...]
    compare: StudyOptions
    ensemble: EnsembleOptions
    tables: dict[str, Any]

    @property
    def text(self) -> str:
        """The effective run file as TOML."""
        import tomli_w

        return tomli_w.dumps(self.tables)


def with_defaults(tables: dict[str, Any]) -> dict[str, Any]:
    """Document of a run file with the defaults of all keys that it leaves out.

    Examples
    --------
    >>> with_defaults({"time": {"end": 1.0, "save": 3}})["time"]["unit"]
    'scaled'
    """
    initial = tables.get("initial", {"name": "uniform"})
    name = initial.get("name", "perturbed_uniform")
    sections = SECTION_KEYS | {"initial": {"name": Key(line, name), **INITIAL[name][0]}}
    complete = dict(tables)
    for section, keys in sections.items():
        defaults = {k: key.default for k, key in keys.items() if key.default is not REQUIRED}
        complete[section] = defaults | tables.get(section, {})
    return complete


def load_config(
    path: str | Path,
    overrides: Sequence[str] = (),
    output: str | Path | None = None,
    *,
    timed: bool = True,
    allow_code: bool = False,
) -> Config:
    """Read, override and validate a run file.

    Parameters
    ----------
    path : path
        TOML file.
    overrides : sequence of str
        "section.key=value" with TOML values; what does not parse is a string.
    output : path, optional
        Wins over [output] path; relative to the working directory, while paths inside a run
        file are relative to that file.
    timed : bool
        Whether it must have a section [time].
    allow_code : bool
        Whether [problem] attention may name Python outside the folder of the run file.

    Raises
    ------
    ConfigError
        With one line that names file, section, key, and what is allowed.
    """
    source = Path(path)
    tables = read_document(source)
    for argument in overrides:
        override(tables, argument)
    if not timed:
        tables.setdefault("time", {"end": 1.0})
    # Values at the edge of the range of doubles overflow on the way to their error.
    with np.errstate(all="ignore"):
        return _config(source, tables, None if output is None else Path(output), allow_code)


def _config(source: Path, tables: dict[str, Any], given: Path | None, allow_code: bool) -> Config:
    where = source.name
    for name in tables:
        if name not in (*SECTION_KEYS, "initial", "title"):
            known = ", ".join(sorted([*SECTION_KEYS, "initial"]))
            section = f"{where}: [{shortened(name)}]"
            raise ConfigError(f"{section} is not a known section. Known: {known}.")
    for name in ("problem", "time"):
        if name not in tables:
            raise ConfigError(f"{where}: [{name}] is missing.")
    top = {name: value for name, value in tables.items() if name == "title"}
    title = read_table(f"{where}:", top, {"title": Key(line, "")})["title"]
    # Every key of every section first, then what takes time.
    values = {
        name: read_table(f"{where}: [{name}]", tables.get(name, {}), keys)
        for name, keys in SECTION_KEYS.items()
    }
    initial = tables.get("initial", {"name": "uniform"})
    problem = read_problem(where, source.parent, tables["problem"], initial, anywhere=allow_code)
    with located(f"{where}: [time]"):
        times = times_of(values["time"], problem)
        step = step_of(values["time"], problem)
    with located(f"{where}: [representation]"):
        options = Options(**values["representation"], step=step)
        _check_representation(problem, options)
    output = values["output"]
    inputs = [source, *_input_files(source.parent, tables)]
    path = output_path(f"{where}: [output]", source, output["path"], given, inputs)
    state = output["state"] or _default_state(problem, options)
    with located(f"{where}: [compare]"):
        compare = StudyOptions(**_hashable(values["compare"]))
    with located(f"{where}: [ensemble]"):
        ensemble = EnsembleOptions(**_hashable(values["ensemble"]))
    return Config(
        source,
        title,
        problem,
        options,
        times,
        values["time"]["stop"],
        Output(path, tuple(output["observables"]), state),
        tuple(inputs),
        compare,
        ensemble,
        tables,
    )


def _hashable(values: dict[str, Any]) -> dict[str, Any]:
    """Values with tuples in place of lists."""
    return {k: tuple(value) if isinstance(value, list) else value for k, value in values.items()}


def _input_files(folder: Path, tables: dict[str, Any]) -> list[Path]:
    """Files that a valid run file reads."""
    initial = tables.get("initial", {})
    named = [folder / initial[key] for key in ("file", "path") if key in initial]
    attention = tables["problem"].get("attention")
    return named if attention is None else [*named, folder / attention.rpartition(":")[0]]


def _check_representation(problem: Problem, options: Options) -> None:
    """Build what the run starts from, small: errors then come before anything is computed."""
    if options.tokens is not None and options.tokens > MOST_TOKENS:
        raise ValueError(f"tokens = {options.tokens} must be at most {MOST_TOKENS}.")
    if options.tokens is not None and options.name == "particles":
        # Many tokens would take their time, and memory.
        options = replace(options, tokens=min(options.tokens, 2))
    represent(problem, options)


def _default_state(problem: Problem, options: Options) -> str:
    measure = problem.initial_measure()
    count = len(measure.points) if isinstance(measure, Measure) else (options.tokens or 0)
    return "last" if count > _MANY_TOKENS else "all"
