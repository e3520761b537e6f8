"""Sections of a run file that build a `Problem`: [problem] and [initial]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from meanfield.config.errors import ConfigError, located
from meanfield.config.initial_files import last_state_of_run, tokens_from_file
from meanfield.config.kernel_file import kernel_function
from meanfield.config.tables import (
    Key,
    boolean,
    either,
    integer,
    list_of,
    number,
    one_of,
    read_table,
    shown,
    string,
)
from meanfield.flows import Flow
from meanfield.initial import (
    InitialLaw,
    from_points,
    mixture,
    perturbed_uniform,
    sampled,
    uniform,
    von_mises_fisher,
)
from meanfield.kernels import KERNELS, Kernel, zonal
from meanfield.manifolds import MANIFOLDS
from meanfield.problem import Problem
from meanfield.representations.step_limits import check_range
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

# Laws that a hand wrote stay far below; memory and time of a law are proportional to this.
_MOST_TOKENS = 10**8
# The kernels' own range; below the smallest the law is uniform to the last bit.
_CONCENTRATIONS = (1e-300, 1e8)
# The zonal kernel's beta is a width only: a cluster of width 1/sqrt(beta) must fit a grid.
_WIDTH_BETAS = (1e-8, 1e8)


def read_problem(
    where: str,
    folder: Path,
    table: Any,
    initial: Any,
    *,
    anywhere: bool = False,
) -> Problem:
    """Problem of the sections [problem] and [initial], its initial measure built and checked.

    Parameters
    ----------
    where : str
        Name of the run file, for errors.
    folder : Path
        Paths inside the run file are relative to it.
    table, initial : object
        The two sections as TOML gave them.
    anywhere : bool
        Whether the kernel's Python may lie outside the folder.

    Raises
    ------
    ConfigError
        With one line that names file, section and key.
    """
    bare = bare_problem(f"{where}: [problem]", folder, table, anywhere=anywhere)
    section = f"{where}: [initial]"
    with located(section):
        problem = replace(bare, initial=initial_law(section, folder, initial, bare))
        problem.initial_measure()
    return problem


def bare_problem(section: str, folder: Path, table: Any, *, anywhere: bool = False) -> Problem:
    """Problem of the section [problem] without its initial law."""
    values = read_table(section, table, PROBLEM_KEYS)
    with located(section):
        flow = Flow(values["normalized"], values["strength"], values["diffusivity"])
        check_range(flow)
        kernel = _kernel(section, folder, values, anywhere)
        bare = Problem(MANIFOLDS[values["manifold"]](), kernel, flow)
        # A user's function may turn out not to be smooth: find out before anything starts.
        _ = bare.kernel_degree
    return bare


def _kernel(section: str, folder: Path, values: dict[str, Any], anywhere: bool) -> Kernel:
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
    low, high = _WIDTH_BETAS
    if not low <= beta <= high:
        raise ConfigError(
            f"{section} beta = {shown(beta)} must lie between {low:g} and {high:g}: for a zonal "
            "kernel it only sets the width of a cluster."
        )
    if "multipliers" in own:
        return zonal(multipliers=own["multipliers"], beta=beta)
    function = kernel_function(section, folder, own["attention"], anywhere=anywhere)
    return zonal(function, beta=beta, name=own["attention"])


def initial_law(section: str, folder: Path, table: Any, bare: Problem) -> InitialLaw:
    """Law of the section [initial], not yet built."""
    if not isinstance(table, dict):
        raise ConfigError(f"{section} must be a table, got {shown(table)}.")
    name = table.get("name", "perturbed_uniform")
    if not isinstance(name, str) or name not in INITIAL:
        known = ", ".join(sorted(INITIAL))
        raise ConfigError(f"{section} name = {shown(name)} is not known. Known: {known}.")
    keys, build = INITIAL[name]
    values = read_table(section, table, {"name": Key(string, name), **keys})
    del values["name"]
    return build(values, folder, bare)


def _perturbed_uniform(values: dict[str, Any], folder: Path, bare: Problem) -> InitialLaw:
    largest = bare.space.largest_degree
    for mode in values["modes"]:
        if mode and mode[0] > largest:
            raise ValueError(f"modes holds degree {mode[0]:g}, expected at most {largest}.")
    return perturbed_uniform(values["modes"])


def _sampled(values: dict[str, Any], folder: Path, bare: Problem) -> InitialLaw:
    tokens, seed, degree = values["tokens"], values["seed"], values["max_degree"]
    if degree is None:
        degree = 2 * (dominant_degree(bare) or 1)
    if not 1 <= tokens <= _MOST_TOKENS:
        raise ValueError(f"tokens = {tokens} must lie between 1 and {_MOST_TOKENS}.")
    largest = bare.space.largest_degree
    if not 1 <= degree <= largest:
        raise ValueError(f"max_degree = {degree} must lie between 1 and {largest}.")
    if seed < 0:
        raise ValueError(f"seed = {seed} must not be negative.")
    return sampled(tokens, seed, degree)


def _mixture(values: dict[str, Any], folder: Path, bare: Problem) -> InitialLaw:
    parts = values["components"]
    return mixture(
        [(part["weight"], _mean(part["mean"], bare), part["concentration"]) for part in parts]
    )


def _von_mises_fisher(values: dict[str, Any], folder: Path, bare: Problem) -> InitialLaw:
    return von_mises_fisher(values["concentration"], _mean(values["mean"], bare))


def _mean(value: Any, bare: Problem) -> Any:
    """Angle on the circle, vector of three numbers on the sphere."""
    wanted = "an angle" if bare.manifold.dimension == 1 else "a vector [x, y, z]"
    fits = isinstance(value, list) == (bare.manifold.dimension > 1)
    if value is not None and not fits:
        raise ValueError(f"mean = {shown(value)} must be {wanted} on the {bare.manifold.name}.")
    return value


def _atoms(values: dict[str, Any], folder: Path, bare: Problem) -> InitialLaw:
    weights = None if values["weights"] is None else np.array(values["weights"])
    wanted, other = ("angles", "points") if bare.manifold.dimension == 1 else ("points", "angles")
    if values[wanted] is None or values[other] is not None:
        raise ValueError(f"atoms on the {bare.manifold.name} are given by {wanted} = [...] alone.")
    return from_points(np.array(values[wanted]), weights, "atoms")


def _vector(value: Any) -> list[float]:
    components = list_of(number)(value)
    if len(components) != 3:
        raise TypeError("must be a vector of three numbers")
    return components


def _concentration(value: Any) -> float:
    low, high = _CONCENTRATIONS
    concentration = number(value)
    if not 0 <= concentration <= high:
        raise TypeError(f"must lie between 0 and {high:g}")
    return concentration if concentration >= low else 0.0


_COMPONENT_KEYS = {
    "weight": Key(number),
    "mean": Key(either(number, _vector), None),
    "concentration": Key(_concentration),
}


def _component(value: Any) -> dict[str, Any]:
    try:
        return read_table("component", value, _COMPONENT_KEYS)
    except ConfigError as error:
        raise TypeError(f"is wrong: {str(error).rstrip('.')}") from None


INITIAL: dict[str, tuple[dict[str, Key], Callable[[dict[str, Any], Path, Problem], InitialLaw]]] = {
    "uniform": ({}, lambda v, folder, bare: uniform()),
    "perturbed_uniform": (
        {"modes": Key(list_of(list_of(number)))},
        _perturbed_uniform,
    ),
    "von_mises_fisher": (
        {"concentration": Key(_concentration), "mean": Key(either(number, _vector), None)},
        _von_mises_fisher,
    ),
    "mixture": ({"components": Key(list_of(_component, least=1))}, _mixture),
    "sampled": (
        {"tokens": Key(integer), "seed": Key(integer, 0), "max_degree": Key(integer, None)},
        _sampled,
    ),
    "file": ({"path": Key(string)}, last_state_of_run),
    "tokens": ({"file": Key(string)}, tokens_from_file),
    "atoms": (
        {
            "angles": Key(list_of(number, least=1), None),
            "points": Key(list_of(_vector, least=1), None),
            "weights": Key(list_of(number), None),
        },
        _atoms,
    ),
}
"""Initial laws that a run file names: their keys, and how to build them."""

INITIAL_FROM_FILES = ("file", "tokens")
"""Those that other files hold."""
