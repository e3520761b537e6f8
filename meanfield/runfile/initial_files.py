"""Initial measures that come from files: tokens or values in .npy, the last state of a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from meanfield.laws.initial import InitialLaw, from_density, from_points, in_radians
from meanfield.laws.own import from_values
from meanfield.measures import Density
from meanfield.problem import Problem
from meanfield.runfile.array_files import read_array
from meanfield.runfile.keys import format_value
from meanfield.runfile.python_file import Folder


def tokens_from_file(folder: Folder, bare: Problem, /, file: str) -> InitialLaw:
    """Empirical measure of the points in a .npy file."""
    label = f"file = {format_value(file)}"
    points = _numbers(label, folder.path / file, "tokens").astype(np.float64)
    with _named(label):
        # Now, when the name of the file is known.
        return from_points(bare.manifold.check_points(in_radians(points)))


def values_from_file(folder: Folder, bare: Problem, /, file: str) -> InitialLaw:
    """Density of the values on a grid in a .npy file."""
    label = f"file = {format_value(file)}"
    values = _numbers(label, folder.path / file, "values")
    with _named(label):
        return from_values(values)


@contextmanager
def _named(label: str) -> Iterator[None]:
    """Errors of what a file holds, with the file."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{label}: {error}") from None


def _numbers(label: str, path: Path, what: str) -> npt.NDArray[Any]:
    """Real numbers of a .npy file, along at least one axis."""
    numbers = read_array(label, path, what)
    if numbers.ndim == 0:
        raise ValueError(f"{label} holds {numbers.dtype} of shape (), expected real numbers.")
    return numbers


def last_state_of_run(folder: Folder, bare: Problem, /, path: str) -> InitialLaw:
    """Last state of a run file."""
    from meanfield.store.run_file import load

    label = f"path = {format_value(path)}"
    run = load(folder.path / path)
    manifold = run.attributes["manifold"]
    if manifold != bare.manifold.name:
        raise ValueError(f"{label} is a run on the {manifold}, expected {bare.manifold.name}.")
    measure = run.measures[-1] if run.measures else None
    if measure is None:
        raise ValueError(f"{label} holds no last state: it was run with [output] state = 'none'?")
    if isinstance(measure, Density):
        return from_density(measure.coefficients)
    return from_points(measure.points, measure.weights, name="file")
