"""Sections of a run file that build a `Problem`: [problem] and [initial]."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.config.errors import ConfigError, located
from meanfield.config.tables import (
    Key,
    boolean,
    integer,
    list_of,
    number,
    one_of,
    read_table,
    string,
)
from meanfield.flows import Flow
from meanfield.initial import (
    Law,
    from_density,
    from_points,
    mixture,
    perturbed_uniform,
    sampled,
    uniform,
    von_mises_fisher,
)
from meanfield.kernels import KERNELS, Kernel, zonal
from meanfield.manifolds import MANIFOLDS
from meanfield.measures import Density
from meanfield.problem import Problem
from meanfield.theory.stability import dominant_degree

PROBLEM_KEYS = {
    "manifold": Key(one_of(*MANIFOLDS)),
    "kernel": Key(one_of(*KERNELS, "zonal"), "exponential"),
    "beta": Key(number, None),
    "multipliers": Key(list_of(number, least=1), None),
    "attention": Key(string, None),
    "normalized": Key(boolean, False),
    "strength": Key(number, 1.0),
    "diffusivity": Key(number, 0.0),
}

_COMPONENT_KEYS = {"weight": Key(number), "mean": Key(number, 0.0), "concentration": Key(number)}


def read_problem(where: str, folder: Path, table: Any, initial: Any) -> Problem:
    """Problem of the sections [problem] and [initial]."""
    section = f"{where}: [problem]"
    values = read_table(section, table, PROBLEM_KEYS)
    with located(section):
        flow = Flow(values["normalized"], values["strength"], values["diffusivity"])
        kernel = _kernel(section, folder, values)
        bare = Problem(MANIFOLDS[values["manifold"]](), kernel, flow)
        if values["kernel"] == "zonal":
            # Its function is the user's: make sure that it is smooth before anything starts.
            _ = bare.kernel_degree
    section = f"{where}: [initial]"
    with located(section):
        law = _law(section, folder, initial, bare)
        problem = Problem(bare.manifold, bare.kernel, bare.flow, law)
        problem.initial_measure()
    return problem


def _kernel(section: str, folder: Path, values: dict[str, Any]) -> Kernel:
    own = {key: values[key] for key in ("multipliers", "attention") if values[key] is not None}
    if values["kernel"] != "zonal":
        if own:
            raise ConfigError(f'{section} {next(iter(own))} needs kernel = "zonal".')
        if values["beta"] is None and values["kernel"] == "exponential":
            raise ConfigError(f"{section} beta is missing.")
        return KERNELS[values["kernel"]](values["beta"] or 0.0)
    if len(own) != 1:
        raise ConfigError(
            f'{section} kernel = "zonal" needs either multipliers = [a_0, a_1, ...] or '
            'attention = "file.py:function".'
        )
    beta = 1.0 if values["beta"] is None else values["beta"]
    if "multipliers" in own:
        return zonal(multipliers=own["multipliers"], beta=beta)
    return zonal(_function(section, folder, own["attention"]), beta=beta, name=own["attention"])


def _function(section: str, folder: Path, reference: str) -> Callable[[FloatArray], FloatArray]:
    """Function `name` of a user's own Python file, given as "file.py:name"."""
    file, _, name = reference.rpartition(":")
    path = folder / file
    if not file or not path.is_file():
        raise ConfigError(
            f'{section} attention = "{reference}" must be "file.py:function" of an existing file.'
        )
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ConfigError(f'{section} attention = "{reference}" is no Python file.')
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        function = getattr(module, name)
        function(np.linspace(-1.0, 1.0, 5))
    except Exception as error:
        # Whatever the user's code raises is the user's to read, in one line.
        raise ConfigError(
            f'{section} attention = "{reference}" failed: {type(error).__name__}: {error}.'
        ) from None
    return function  # type: ignore[no-any-return]


def _law(section: str, folder: Path, table: Any, bare: Problem) -> Law:
    name = table.get("name", "perturbed_uniform") if isinstance(table, dict) else None
    if not isinstance(name, str) or name not in INITIAL:
        known = ", ".join(sorted(INITIAL))
        raise ConfigError(f"{section} name = {name!r} is not known. Known: {known}.")
    keys, build = INITIAL[name]
    values = read_table(section, table, {"name": Key(string, name), **keys})
    del values["name"]
    return build(values, folder, bare)


def _sampled(values: dict[str, Any], folder: Path, bare: Problem) -> Law:
    degree = values["max_degree"]
    if degree is None:
        degree = 2 * (dominant_degree(bare) or 1)
    if values["tokens"] < 1 or values["seed"] < 0 or degree < 1:
        raise ValueError("tokens and max_degree must be at least 1, seed at least 0.")
    return sampled(values["tokens"], values["seed"], degree)


def _mixture(values: dict[str, Any], folder: Path, bare: Problem) -> Law:
    where = "components"
    parts = [read_table(where, part, _COMPONENT_KEYS) for part in values["components"]]
    return mixture([(part["weight"], part["mean"], part["concentration"]) for part in parts])


def _run_file(values: dict[str, Any], folder: Path, bare: Problem) -> Law:
    from meanfield.outputs.run_file import load

    run = load(folder / values["path"])
    measure = run.measures[-1] if run.measures else None
    if measure is None:
        raise ValueError(f"{values['path']} holds no last state.")
    if run.attributes["manifold"] != bare.manifold.name:
        raise ValueError(f"{values['path']} is a run on the {run.attributes['manifold']}.")
    if isinstance(measure, Density):
        return from_density(measure.coefficients)
    return from_points(measure.points, measure.weights, "file")


def _tokens(values: dict[str, Any], folder: Path, bare: Problem) -> Law:
    path = folder / values["file"]
    try:
        points = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise ValueError(f"file = {values['file']!r} is no readable .npy file: {error}") from None
    if not isinstance(points, np.ndarray) or points.dtype.kind not in "fiu":
        raise ValueError(f"file = {values['file']!r} must hold an array of real numbers.")
    return from_points(points.astype(np.float64))


def _atoms(values: dict[str, Any], folder: Path, bare: Problem) -> Law:
    weights = None if values["weights"] is None else np.array(values["weights"])
    return from_points(np.array(values["angles"]), weights, "atoms")


def _table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("must be a table { weight, mean, concentration }")
    return value


INITIAL: dict[str, tuple[dict[str, Key], Callable[[dict[str, Any], Path, Problem], Law]]] = {
    "uniform": ({}, lambda v, folder, bare: uniform()),
    "perturbed_uniform": (
        {"modes": Key(list_of(list_of(number)))},
        lambda v, folder, bare: perturbed_uniform(v["modes"]),
    ),
    "von_mises_fisher": (
        {"concentration": Key(number), "mean": Key(number, 0.0)},
        lambda v, folder, bare: von_mises_fisher(v["concentration"], v["mean"]),
    ),
    "mixture": ({"components": Key(list_of(_table, least=1))}, _mixture),
    "sampled": (
        {"tokens": Key(integer), "seed": Key(integer, 0), "max_degree": Key(integer, None)},
        _sampled,
    ),
    "file": ({"path": Key(string)}, _run_file),
    "tokens": ({"file": Key(string)}, _tokens),
    "atoms": (
        {"angles": Key(list_of(number, least=1)), "weights": Key(list_of(number), None)},
        _atoms,
    ),
}
"""Initial laws that a run file names: their keys, and how to build them."""
