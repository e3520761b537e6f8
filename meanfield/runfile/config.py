"""The run file as a whole: its sections, overrides, and the `Config` that they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.carriers import REPRESENTATIONS, Options, represent
from meanfield.carriers.automatic import carried
from meanfield.carriers.idle import idle_options, unused_message
from meanfield.carriers.options import FluctuationOptions
from meanfield.errors import list_names
from meanfield.measures import Density, Measure
from meanfield.observables import usual_observables
from meanfield.problem import Problem
from meanfield.renamed import renamed
from meanfield.runfile.document import (
    RIVALS,
    USUAL_LAW,
    homes,
    override,
    read_document,
    stored_document,
    with_normalization,
)
from meanfield.runfile.keys import (
    HEADS,
    REQUIRED,
    ConfigError,
    Key,
    either,
    format_value,
    integer,
    keys_of,
    kind,
    line,
    list_of,
    located,
    number,
    one_of,
    read_table,
    shortened,
)
from meanfield.runfile.matrices import first_difference, same_heads
from meanfield.runfile.output import Output, output_of
from meanfield.runfile.problems import read_problem, without_files
from meanfield.runfile.python_file import (
    Folder,
    Permission,
    file_stop,
    is_function,
)
from meanfield.runfile.sections import INITIAL, PART_KEYS, PROBLEM_KEYS, PROFILE_KEYS
from meanfield.simulation import Stop, timing
from meanfield.spectrum.time_units import TIME_UNITS
from meanfield.studies.convergence import METRICS, StudyOptions
from meanfield.studies.ensemble import CARRIERS, EnsembleOptions
from meanfield.terms.flows import USUAL_NORMALIZATION, normalization_of
from meanfield.terms.frequencies import GivenFrequencies

# Runs of more tokens keep only their last state by default.
_MANY_TOKENS = 1_000_000


_ONE_CLUSTER = one_of("one_cluster")


@kind(anyOf=[_ONE_CLUSTER.schema, {"type": "string", "pattern": r"\.py:"}])
def _stop(value: Any) -> Any:
    """Name of a stop rule, or of a function of time and measure."""
    return value if is_function(value) else _ONE_CLUSTER(value)


def times_of(
    problem: Problem,
    /,
    end: float | None = None,
    until: float | None = None,
    unit: Annotated[str, one_of(*TIME_UNITS)] = "scaled",
    save: Annotated[Any, either(integer, list_of(number, least=1))] = None,
    spacing: Annotated[str, one_of("linear", "log")] = "linear",
    first: float | None = None,
    stop: Annotated[str | None, _stop] = None,
    step: float | None = None,
) -> tuple[FloatArray, float | None]:
    """Section [time]: times to save, and the step of noisy particles, in scaled time."""
    if end is not None and until is not None:
        raise ValueError("end and until are one key of two names: give one of them.")
    last, called = (end, "end") if until is None else (until, "until")
    return timing(
        problem, last, save, unit=unit, spacing=spacing, first=first, step=step, called=called
    )


SECTION_KEYS = {
    "problem": PROBLEM_KEYS,
    "representation": keys_of(Options, name=one_of("auto", *REPRESENTATIONS)),
    "time": keys_of(times_of),
    "output": keys_of(output_of),
    "compare": keys_of(StudyOptions, metric=one_of(*METRICS)),
    "ensemble": keys_of(EnsembleOptions, representation=one_of(*CARRIERS)),
    "fluctuations": keys_of(FluctuationOptions),
}
"""Sections with the same keys in every run file; those of [initial] depend on its name."""
# The step of noisy particles is a time: it stands in [time], in its unit.
del SECTION_KEYS["representation"]["step"]
ALL_KEYS: dict[str, set[str]] = {
    section: set(keys) for section, keys in (SECTION_KEYS | PART_KEYS).items()
} | {
    "initial": {"name", *PROFILE_KEYS}.union(*(keys_of(law) for law in INITIAL.values())),
    **dict.fromkeys((*HEADS, "stages"), set()),
}
"""Sections -> keys; none for [[heads]] and [[stages]], which are set as a whole."""

ENSEMBLE_TIME = {"end": 1.0}
"""[time] of an ensemble that gives none: it is not used."""


@dataclass(frozen=True)
class Config:
    """A validated run file."""

    source: Path  # the file
    problem: Problem
    options: Options  # representation
    times: FloatArray  # times to save, in scaled time
    unit: str  # unit of time, see `spectrum.time_units`
    output: Output
    title: str = ""
    stop: Stop | None = None  # ends the run early
    inputs: tuple[Path, ...] = ()  # files that the run reads
    compare: StudyOptions = StudyOptions()
    ensemble: EnsembleOptions = EnsembleOptions()
    fluctuations: FluctuationOptions | None = None  # None where the file does not ask for them
    # The TOML document with all overrides applied, and matrices of files written out.
    tables: dict[str, Any] = field(default_factory=dict)
    # Section -> keys that cannot act on this run; the file has none of them.
    idle: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # References to Python that is not executed; plain functions replace it in the fields above.
    unexecuted: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The effective run file as TOML."""
        import tomli_w

        return tomli_w.dumps(self.tables)


def with_defaults(tables: dict[str, Any]) -> dict[str, Any]:
    """Document of a run file with the defaults of all keys that it leaves out.

    >>> with_defaults({"time": {"end": 1.0, "save": 3}})["time"]["unit"]
    'scaled'
    """
    initial = tables.get("initial", {"name": "uniform"})
    name = initial.get("name", USUAL_LAW)
    # Other laws, from Python, have no keys with defaults.
    keys = keys_of(INITIAL[name]) if name in INITIAL else {}
    sections = SECTION_KEYS | {"initial": {"name": Key(line, name), **keys}}
    sections |= {section: PART_KEYS[section] for section in PART_KEYS.keys() & tables.keys()}
    complete = dict(tables)
    for section, keys in sections.items():
        defaults = {k: key.default for k, key in keys.items() if key.default is not REQUIRED}
        complete[section] = defaults | tables.get(section, {})
    problem = complete["problem"]
    how = normalization_of(problem["normalization"], problem["normalized"])
    complete["problem"] = problem | {"normalization": how, "normalized": how != "none"}
    time = complete["time"]
    until = time.pop("until")
    complete["time"] = time if until is None else time | {"end": until}
    complete["heads"] = same_heads(tables.get("heads"), problem["beta"])
    return complete


def load_config(
    path: str | Path,
    overrides: Sequence[str] = (),
    output: str | Path | None = None,
    *,
    study: str | None = None,
    sections: Mapping[str, Mapping[str, Any]] | None = None,
    code: Permission = "inside",
) -> Config:
    """Read, override and validate a run file.

    - overrides: "section.key=value", see `meanfield.runfile.document`.
    - output: wins over [output] path; relative to the working directory, not to the run file.
    - study: "compare" or "ensemble" for a study; an ensemble needs no [time].
    - sections: section -> keys that win over the file's; a named law replaces the file's.
    - code: Python that may be executed, see `meanfield.runfile.python_file.Permission`. Under
      "later" plain functions replace it.
    """
    source = Path(path)
    tables = _current(read_document(source), f"{source}: ")
    file_beta = _beta_of(tables)
    override(tables, overrides, ALL_KEYS)
    # Again, for sections that --set gives as a whole.
    tables = _current(tables, "--set ")
    for name, keys in (sections or {}).items():
        whole = name == "initial" and "name" in keys
        section_keys = {} if whole else dict(tables.get(name, {}))
        for key in RIVALS.keys() & keys.keys():
            section_keys.pop(RIVALS[key], None)
        tables[name] = section_keys | _current({name: dict(keys)}, "")[name]
    beta = _beta_of(tables)
    # A file may hold a beta for other kernels: it loads.
    if beta not in (None, 0, file_beta) and tables["problem"].get("kernel") == "linear":
        raise ConfigError(
            f'{source}: [problem] kernel = "linear" has no beta, got an override with beta = '
            f'{format_value(beta)}: leave it out, or take kernel = "exponential".'
        )
    # Stored documents name the normalization, because its default may change.
    tables = with_normalization(tables, USUAL_NORMALIZATION)
    if study == "ensemble":
        tables.setdefault("time", dict(ENSEMBLE_TIME))
    # Values near the largest double overflow before they are refused.
    folder, output_path = Folder(source.parent, code), None if output is None else Path(output)
    with np.errstate(all="ignore"):
        return _config(source, tables, output_path, study, folder)


def _beta_of(tables: Mapping[str, Any]) -> Any:
    problem = tables.get("problem")
    return problem.get("beta") if isinstance(problem, dict) else None


def _current(tables: dict[str, Any], where: str | None) -> dict[str, Any]:
    """Document with the current names of keys; `where` as in `renamed`."""

    def section(name: str, table: Any) -> Any:
        if name not in SECTION_KEYS or not isinstance(table, dict):
            return table
        begins = None if where is None else f"{where}[{name}] "
        with located(""):
            return renamed(table, SECTION_KEYS[name], begins)

    return {name: section(name, table) for name, table in tables.items()}


def _config(
    source: Path,
    tables: dict[str, Any],
    output_path: Path | None,
    study: str | None,
    folder: Folder,
) -> Config:
    where = str(source)
    for name, value in tables.items():
        if name not in (*ALL_KEYS, "title"):
            many = isinstance(value, list) and bool(value) and isinstance(value[0], dict)
            if not (many or isinstance(value, dict)):
                meant = homes(name, ALL_KEYS) or "Expected title, or a section."
                raise ConfigError(f"{where}: {shortened(name)} belongs into a section. {meant}")
            section = f"[[{shortened(name)}]]" if many else f"[{shortened(name)}]"
            section = f"{where}: {section}"
            raise ConfigError(f"{section} is not a known section. {list_names(name, ALL_KEYS)}")
    for name in ("problem", "time"):
        # [layers] have an end.
        if name not in tables and (name == "problem" or "layers" not in tables):
            raise ConfigError(f"{where}: [{name}] is missing.")
    top = {name: value for name, value in tables.items() if name == "title"}
    title = read_table(f"{where}:", top, {"title": Key(line, "")})["title"]
    # Check every key of every section before anything that takes time.
    values = {
        name: read_table(f"{where}: [{name}]", tables.get(name, {}), keys)
        for name, keys in SECTION_KEYS.items()
    }
    tables, files = without_files(f"{where}: ", source.parent, tables)
    problem = read_problem(f"{where}: ", folder, tables)
    with located(f"{where}: [problem]"):
        problem = carried(problem, values["representation"]["name"])
    with located(f"{where}: [time]"):
        times, step = times_of(problem, **values["time"])
    stop = values["time"]["stop"]
    if is_function(stop):
        stop = file_stop(f"{where}: [time] stop = {format_value(stop)}", folder, stop)
    with located(f"{where}: [representation]"):
        options = Options(**values["representation"], step=step)
        _check_representation(problem, options)
    inputs = [source, *_input_files(source.parent, tables), *files]
    inputs += [source.parent / each.rpartition(":")[0] for each in folder.references]
    state = _default_state(problem, options)
    usual = usual_observables(problem.manifold, in_files=True)
    output = output_of(
        f"{where}: [output]", source, folder, output_path, inputs, state, usual, **values["output"]
    )
    with located(f"{where}: [compare]"):
        compare = StudyOptions(**_hashable(values["compare"]))
    with located(f"{where}: [ensemble]"):
        ensemble = EnsembleOptions(**_hashable(values["ensemble"]))
    fluctuations = None
    if "fluctuations" in tables:
        with located(f"{where}: [fluctuations]"):
            fluctuations = FluctuationOptions(**values["fluctuations"])
            from meanfield.finite.fluctuations import settings_of

            settings_of(problem, times, fluctuations, unit=values["time"]["unit"])
    idle = _idle_keys(problem, options, study == "compare" or "compare" in tables)
    for section, keys in idle.items():
        for key in (key for key in keys if key in tables.get(section, {})):
            message = unused_message(key, values[section][key], problem, options)
            raise ConfigError(f"{where}: [{section}] {message}")
    return Config(
        source=source,
        title=title,
        problem=problem,
        options=options,
        times=times,
        unit=values["time"]["unit"],
        stop=stop,
        output=output,
        inputs=tuple(inputs),
        compare=compare,
        ensemble=ensemble,
        fluctuations=fluctuations,
        tables=tables,
        idle=idle,
        unexecuted=tuple(dict.fromkeys(folder.references)) if folder.code == "later" else (),
    )


def _hashable(values: dict[str, Any]) -> dict[str, Any]:
    """Values with tuples in place of lists."""
    return {k: tuple(value) if isinstance(value, list) else value for k, value in values.items()}


def _input_files(folder: Path, tables: dict[str, Any]) -> list[Path]:
    """Files of numbers that a valid run file reads."""
    initial = tables.get("initial", {})
    return [folder / initial[key] for key in ("file", "path") if key in initial]


def _check_representation(problem: Problem, options: Options) -> None:
    """Build a small start of the run, so that its errors come before any computation."""
    if options.tokens is not None and options.name == "particles":
        # Two tokens are enough: many would take time and memory.
        if isinstance(problem.frequencies, GivenFrequencies):
            return _check_required(problem, problem.frequencies, options.tokens)
        options = replace(options, tokens=min(options.tokens, 2))
    represent(problem, options)


def _check_required(problem: Problem, law: GivenFrequencies, tokens: int) -> None:
    """Refuse given frequencies that are more or fewer than the tokens."""
    if isinstance(problem.initial_measure(), Density) and len(law.values) != tokens:
        raise ValueError(
            f"{len(law.values)} frequencies are given to {tokens} tokens: give one for each."
        )


def _idle_keys(problem: Problem, options: Options, compared: bool) -> dict[str, tuple[str, ...]]:
    """Section -> keys that act neither on the run nor on a comparison, if there is one."""
    idle = set(idle_options(problem, options))
    if compared:
        idle -= {"max_degree", "step"} if problem.flow.diffusivity else {"max_degree"}
    step = {"time": ("step",)} if "step" in idle else {}
    return {"representation": tuple(sorted(idle - {"step"})), **step}


def _default_state(problem: Problem, options: Options) -> str:
    measure = problem.initial_measure()
    count = len(measure.points) if isinstance(measure, Measure) else (options.tokens or 0)
    return "last" if count > _MANY_TOKENS else "all"


def check_continues(
    label: str,
    tables: dict[str, Any],
    idle: Mapping[str, tuple[str, ...]],
    stored: Mapping[str, Any],
    path: Path,
    free: Mapping[str, tuple[str, ...] | None],
) -> None:
    """Refuse to continue a result of another run file; omitted keys have their defaults.

    - tables, idle: document of the run file, and its keys that cannot act.
    - stored: attributes of the result, with the run file that it was made from.
    - free: section -> keys that may differ; None frees the whole section. The title is free, and so
      are keys that cannot act, which older run files may have.
    """
    try:
        before = with_defaults(_current(stored_document(stored), None))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ConfigError(
            f"{path} does not tell the run file it was made from: use --overwrite to start again."
        ) from None
    freed = {
        section: keys if keys is None else (*keys, *idle.get(section, ()))
        for section, keys in ({section: () for section in idle} | dict(free)).items()
    }
    different = _difference(before, with_defaults(tables), freed)
    if different is not None and different.endswith("] until"):
        raise ConfigError(f"{label}: until cannot change: {path} has another; use another output=.")
    if different is not None:
        go_on = ""
        if different == "[problem] normalization":
            go_on = f'Set it to "{before["problem"]["normalization"]}" to go on. '
        raise ConfigError(
            f"{label}: {different} differs from that of {path}, which --resume "
            f"continues. {go_on}Use --overwrite to start again."
        )


def _difference(
    before: dict[str, Any], after: dict[str, Any], free: Mapping[str, tuple[str, ...] | None]
) -> str | None:
    """First "[section] key" in which two documents differ and may not."""
    # Heads last: they inherit keys of [problem].
    for section in [*sorted({*before, *after} - {"title", "heads"}), "heads"]:
        keys = free.get(section, ())
        if keys is None:
            continue
        old, new = before.get(section, {}), after.get(section, {})
        if old == new:
            continue
        if section == "heads":
            difference = first_difference(old, new)
            if difference is not None:
                return difference
            continue
        if not isinstance(old, dict) or not isinstance(new, dict):
            return section
        for key in sorted({*old, *new} - set(keys)):
            if old.get(key) != new.get(key):
                return f"[{section}] {key}"
    return None
