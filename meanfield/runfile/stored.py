"""The problem of a run that was read from a file, from the run file it was made from.

No other file is read and no Python is executed. Tokens from a file of their own are replaced by
the tokens at the first saved time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import tomli_w

from meanfield.carriers import Options
from meanfield.laws.initial import InitialLaw, from_density, from_labels, from_points
from meanfield.measures import Density, LabelledDensity
from meanfield.problem import Problem
from meanfield.problem_facts import problem_attributes
from meanfield.runfile.document import stored_document
from meanfield.runfile.problems import staged_problem, without_files
from meanfield.runfile.python_file import Folder
from meanfield.runfile.sections import (
    INITIAL_FROM_FILES,
    initial_law,
)
from meanfield.runfile.written import written
from meanfield.runs import Run
from meanfield.spaces import Manifold
from meanfield.terms.flows import Flow
from meanfield.terms.kernels import KERNELS


@dataclass(frozen=True)
class NotStored:
    """A law that a file names without holding it."""

    name: str

    def build(self, manifold: Manifold) -> NoReturn:
        """Say what is missing."""
        raise ValueError(
            f"the run starts from {self.name!r}, which its file does not hold: give the problem "
            "an initial law."
        )


def stored_problem(run: Run) -> Problem:
    """Problem that a run evolved, as far as its attributes tell.

    >>> import meanfield as mf
    >>> run = mf.simulate(mf.Problem(mf.Circle(), mf.linear(), mf.USA), 1.0, save=2)
    >>> text = "problem = {manifold = 'circle', beta = 4.0, normalized = true}"
    >>> stored_problem(replace(run, attributes={"config": text}))
    Problem(Circle(), exponential(beta=4.0), SA, uniform())
    """
    try:
        return _from_run_file(run)
    except (ValueError, KeyError, TypeError, AttributeError):
        # Files of other versions, or of none: kernel and flow stand beside the run file.
        return _from_attributes(run)


def written_origin(problem: Problem) -> dict[str, Any]:
    """Attributes of a file that say of which problem a result is, see `document_problem`."""
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
        # Run files read the circle; this run had vectors.
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
    """State that was kept of time 0."""
    first = run.measures[0] if len(run.scaled_time) and run.scaled_time[0] == 0 else None
    if isinstance(first, LabelledDensity):
        return from_labels(first.parts)
    if isinstance(first, Density):
        return from_density(first.coefficients)
    # Nodes of characteristics are no tokens: they stand for a density.
    if first is None or run.representation[0] == "characteristics":
        return NotStored(name)
    return from_points(first.points, first.weights, name)
