"""Run-file document of a call in Python, and the problem that the document in a file describes.

Result files contain the document. Kernels and laws without a run-file form, such as functions,
appear by name; laws also with a digest of the initial measure.

Restoring the problem reads no other file and executes no Python. Tokens from a file of their own
are replaced by the tokens at the first saved time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import tomli_w

from meanfield.carriers import Options
from meanfield.laws.initial import (
    InitialLaw,
    configuration,
    from_density,
    from_labels,
    from_points,
    mixture,
    normal_tokens,
    perturbed_uniform,
    sampled,
    uniform,
    von_mises_fisher,
    with_profile,
)
from meanfield.measures import Density, LabelledDensity, Measure
from meanfield.problem import TERMS, Problem
from meanfield.problem_facts import problem_attributes
from meanfield.runfile.document import stored_document
from meanfield.runfile.matrices import written_frequencies, written_mask
from meanfield.runfile.problems import staged_problem, without_files
from meanfield.runfile.python_file import Folder
from meanfield.runfile.sections import INITIAL_FROM_FILES, initial_law
from meanfield.runs import Run
from meanfield.spaces import Manifold
from meanfield.stages import Stage
from meanfield.terms.attention import Head
from meanfield.terms.flows import Flow
from meanfield.terms.kernels import KERNELS
from meanfield.terms.kernels.zonal import Zonal
from meanfield.terms.random_values import RandomValues


def written(problem: Problem, options: Options, time: Mapping[str, Any]) -> dict[str, Any]:
    """Document of a problem, its options and the section [time].

    >>> import meanfield as mf
    >>> law = mf.von_mises_fisher(2.0)
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=4.0), mf.SA, law)
    >>> tables = written(problem, Options(tolerance=1e-8), {"end": 1.0})
    >>> tables["problem"]["normalized"], tables["initial"], tables["representation"]
    (True, {'name': 'von_mises_fisher', 'concentration': 2.0}, {'name': 'auto', 'tolerance': 1e-08})
    """
    usual = Options()
    changed = {
        each.name: getattr(options, each.name)
        for each in fields(options)
        # The step is a time: it stands in [time], in its unit.
        if each.name not in ("name", "step")
        and getattr(options, each.name) != getattr(usual, each.name)
    }
    return {
        **_problem(problem),
        "initial": _initial(problem),
        "representation": {"name": options.name, **changed},
        "time": {key: value for key, value in time.items() if value is not None},
    }


def _problem(problem: Problem) -> dict[str, Any]:
    """Section [problem], and the sections of its parts."""
    parts = {name: _plain(getattr(problem, name)) for name in (*TERMS, "layers")}
    sections = {name: part for name, part in parts.items() if part is not None}
    if problem.frequencies is not None:
        sections["frequencies"] = written_frequencies(problem.frequencies)
    stages = [_stage(problem, stage) for stage in problem.stages if problem.random is None]
    attention = _attention(problem)
    if problem.time_functions:
        # No key of run files: the document has the values at time 0.
        attention["problem"]["functions"] = [name for name, _, _ in problem.time_functions]
    terms = [each.name for each in problem.own_terms if each.is_users]
    if terms:
        attention["problem"]["terms"] = terms
    return attention | sections | ({"stages": stages} if stages else {})


def _stage(problem: Problem, stage: Stage) -> dict[str, Any]:
    """Section [[stages]]: kernel and flow as a whole, if either changes."""
    stage_keys: dict[str, Any] = {} if stage.end is None else {"end": stage.end}
    if stage.kernel is not None or stage.flow is not None:
        kernel = problem.kernel if stage.kernel is None else stage.kernel
        flow = problem.flow if stage.flow is None else stage.flow
        own = _attention(replace(problem, kernel=kernel, flow=flow, stages=()))
        del own["problem"]["manifold"]
        stage_keys |= {"mask": "none"} if problem.mask != "none" else {}
        stage_keys |= {"rotary_length": 0.0} if problem.has_rotary else {}
        stage_keys |= own.pop("problem") | own
    for name in TERMS:
        if getattr(stage, name) is not None:
            stage_keys[name] = _plain(getattr(stage, name))
    return stage_keys


def _plain(part: Any) -> dict[str, Any] | None:
    """Keys of a part, matrices as lists."""
    if part is None:
        return None
    values = {each.name: getattr(part, each.name) for each in fields(part)}
    return {
        name: value if isinstance(value, str | int) else np.asarray(value).tolist()
        for name, value in values.items()
        if value is not None
    }


def _attention(problem: Problem) -> dict[str, Any]:
    """Sections [problem] and, of an attention with matrices, [[heads]]."""
    keys: dict[str, Any] = {"manifold": problem.manifold.name}
    flow = {"strength": problem.flow.strength, "diffusivity": problem.flow.diffusivity}
    of = problem.attention
    if of is not None:
        keys |= {"kernel": "exponential", "normalization": of.normalization}
        optional = {"beta": of.beta, "alibi_rate": of.alibi_rate, "sink": of.sink or None}
        optional_keys = {name: value for name, value in optional.items() if value is not None}
        optional_keys |= written_mask(of.mask)
        if of.rotary is not None:
            optional_keys |= {"rotary_length": of.rotary.length, "rotary_base": of.rotary.base}
        heads = [_head(head) for head in of.heads]
        if problem.random is None:
            return {"problem": keys | optional_keys | flow, "heads": heads}
        return {"problem": keys | optional_keys | flow} | _random(problem.random, heads)
    kernel = problem.own_kernel
    keys |= {
        "kernel": "zonal" if isinstance(kernel, Zonal) else kernel.name,
        "beta": kernel.beta,
        "normalized": problem.flow.normalized,
        **flow,
    }
    if isinstance(kernel, Zonal):
        own = kernel.circle_multipliers
        keys |= {"attention": kernel.name} if own is None else {"multipliers": list(own)}
    return {"problem": keys}


def _random(values: RandomValues, heads: list[dict[str, Any]]) -> dict[str, Any]:
    """Sections of random values, and of the heads beside them."""
    drawn = [_head(head) for head in values.own_heads]
    steady = heads[: -len(drawn)]
    keys = {name: key for name, key in vars(values).items() if name != "heads"}
    sections = {"random_heads": drawn, "random_values": _given(keys)}
    return ({"heads": steady} if steady else {}) | sections


def _head(head: Head) -> dict[str, Any]:
    """Keys of a head, matrices as lists."""
    names = ("value", "beta", *(("query", "key") if head.score is None else ("score",)))
    arguments = {name: getattr(head, name) for name in names}
    return {k: np.asarray(matrix).tolist() for k, matrix in arguments.items() if matrix is not None}


def _initial(problem: Problem) -> dict[str, Any]:
    law: InitialLaw = problem.initial
    if isinstance(law, with_profile):
        return _initial(replace(problem, initial=law.law)) | {"profile": float(law.power)}
    if isinstance(law, mixture):
        names = ("weight", "mean", "concentration")
        parts = [_given(dict(zip(names, part, strict=True))) for part in law.components]
        return {"name": law.name, "components": parts}
    if isinstance(law, _PLAIN):
        return {"name": law.name, **_given({n: getattr(law, n) for n in law.__dataclass_fields__})}
    return {"name": law.name, "digest": _digest(problem.initial_measure())}


_PLAIN = uniform, perturbed_uniform, von_mises_fisher, sampled, configuration, normal_tokens


def _given(values: dict[str, Any]) -> dict[str, Any]:
    """Values that are not None, as TOML."""
    return {name: _toml(value) for name, value in values.items() if value is not None}


def _toml(value: Any) -> Any:
    if isinstance(value, str | int):
        return value
    return [_toml(each) for each in value] if isinstance(value, tuple) else float(value)


def _digest(measure: Density | Measure) -> str:
    """SHA-256 of the arrays of an initial measure."""
    if isinstance(measure, LabelledDensity):
        arrays = [measure.parts]
    elif isinstance(measure, Density):
        arrays = [measure.coefficients]
    else:
        arrays = [measure.points, measure.mass]
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


@dataclass(frozen=True)
class NotStored:
    """A law that a file names but does not contain."""

    name: str

    def build(self, manifold: Manifold) -> NoReturn:
        raise ValueError(
            f"the run starts from {self.name!r}, which its file does not hold: give the problem "
            "an initial law."
        )


def stored_problem(run: Run) -> Problem:
    """Problem that a run evolved, as far as its attributes determine it.

    >>> import meanfield as mf
    >>> run = mf.simulate(mf.Problem(mf.Circle(), mf.linear(), mf.USA), 1.0, save=2)
    >>> text = "problem = {manifold = 'circle', beta = 4.0, normalized = true}"
    >>> stored_problem(replace(run, attributes={"config": text}))
    Problem(Circle(), exponential(beta=4.0), SA, uniform())
    """
    try:
        return _from_run_file(run)
    except (ValueError, KeyError, TypeError, AttributeError):
        # Files of other versions, or without a run file: attributes name kernel and flow.
        return _from_attributes(run)


def written_origin(problem: Problem) -> dict[str, Any]:
    """Attributes of a file with the problem of a result, see `document_problem`."""
    text = tomli_w.dumps(written(problem, Options(), {}))
    return problem_attributes(problem) | {"config": text}


def document_problem(attributes: Mapping[str, Any]) -> Problem:
    """Problem of the run file in the attributes of a result, without its initial law."""
    tables = stored_document(attributes)
    of_problem = tables["problem"]
    if {"attention", "terms"} & of_problem.keys() or ":" in of_problem.get("mask", ""):
        raise ValueError("Python of your own, which is not executed where a file is read.")
    tables, _ = without_files("", None, tables)
    return staged_problem("", Folder(Path(), "never"), tables)


def _from_run_file(run: Run) -> Problem:
    bare = document_problem(run.attributes)
    if run.facts.manifold.startswith("axial:"):
        # The run file may have named the sphere.
        bare = bare.axial
    elif run.facts.manifold == "sphere:2":
        # Run files read "sphere:2" as the circle; this run had vectors.
        bare = replace(bare, manifold=run.manifold)
    table = stored_document(run.attributes).get("initial", {"name": "uniform"})
    if table.get("name") in INITIAL_FROM_FILES or (bare.has_labels and "digest" in table):
        return replace(bare, initial=_first_state(run, table["name"]))
    return replace(bare, initial=initial_law("[initial]", Folder(Path()), table, bare))


def _from_attributes(run: Run) -> Problem:
    facts = run.facts
    parts = [
        name
        for name in ("terms", "functions", "layers", "stages", "frequencies")
        if getattr(facts, name)
    ]
    if parts:
        raise ValueError(
            f"the run has {' and '.join(parts)} ({getattr(facts, parts[0])}) that its file does "
            "not store: make the problem again."
        )
    if facts.mask.startswith("Bias("):
        raise ValueError(
            f"the run has the mask {facts.mask}, a function of the user's own, of which its file "
            "holds the name alone: make the problem again."
        )
    if facts.heads:
        raise ValueError(
            f"the attention of the run has {facts.heads} heads, of which its file does not hold "
            "the matrices: make the problem again."
        )
    name = facts.kernel
    if name not in KERNELS:
        raise ValueError(
            f"the kernel of the run is {name!r}, a function of the user's own, of which its file "
            "holds the name alone: make the problem again."
        )
    flow = Flow(facts.normalized, facts.strength, facts.diffusivity)
    first = _first_state(run, facts.initial)
    return Problem(run.manifold, KERNELS[name](facts.beta), flow, first)


def _first_state(run: Run, name: str) -> InitialLaw:
    """Initial law from the stored state at time 0."""
    first = run.measures[0] if len(run.scaled_time) and run.scaled_time[0] == 0 else None
    if isinstance(first, LabelledDensity):
        return from_labels(first.parts)
    if isinstance(first, Density):
        return from_density(first.coefficients)
    # Nodes of characteristics are no tokens: they stand for a density.
    if first is None or run.representation[0] == "characteristics":
        return NotStored(name)
    return from_points(first.points, first.weights, name)
