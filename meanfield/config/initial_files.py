"""Initial measures that come from files: tokens or values in .npy, the last state of a run."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from meanfield.compute.limits import available_memory
from meanfield.config.keys import shortened, shown
from meanfield.config.python_file import Folder
from meanfield.initial import GivenPoints, InitialLaw, from_density, from_points, in_radians
from meanfield.measures import Density
from meanfield.own_laws import from_values
from meanfield.problem import Problem


def tokens_from_file(folder: Folder, bare: Problem, /, file: str) -> InitialLaw:
    """Empirical measure of the points in a .npy file.

    Raises
    ------
    ValueError
        If the file is not there, no .npy file, or holds anything but real numbers.
    """
    label = f"file = {shown(file)}"
    points = _numbers(label, folder.path / file, "tokens").astype(np.float64)
    with _named(label):
        # Now, when the name of the file is known.
        return from_points(bare.space.check_points(in_radians(points)))


def values_from_file(folder: Folder, bare: Problem, /, file: str) -> InitialLaw:
    """Density of the values on a grid in a .npy file.

    Raises
    ------
    ValueError
        As `tokens_from_file`; or as `from_values`.
    """
    label = f"file = {shown(file)}"
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
    """Real numbers of a .npy file, at least one."""
    # A pipe or a device would make us wait, or never end.
    if not path.is_file():
        raise ValueError(f"{label}: no such file.")
    try:
        with warnings.catch_warnings(), path.open("rb") as opened:
            warnings.simplefilter("ignore")
            need = _bytes_to_read(opened)
            if need <= available_memory():
                numbers = np.lib.format.read_array(opened, allow_pickle=False)
                need = 0.0
    except MemoryError:
        raise ValueError(f"{label} needs more memory than there is, or is damaged.") from None
    except _OtherFile:
        raise ValueError(
            f"{label} is no .npy file: expected what np.save(file, points) writes, for points of "
            "real numbers."
        ) from None
    except Exception as error:
        # NumPy parses what the file says of itself: nonsense raises all kinds of errors.
        # It may quote as much of the file as it likes.
        reason = shortened(str(error))
        raise ValueError(f"{label} is no readable .npy file of numbers: {reason}.") from None
    if need:
        raise ValueError(
            f"{label} says that it holds {need / 2**30:.3g} GiB of numbers; this process may use "
            f"{available_memory() / 2**30:.3g} GiB. Take fewer {what}, or a machine with more."
        )
    if numbers.size == 0:
        raise ValueError(f"{label} holds no {what}, expected at least one.")
    if numbers.dtype.kind not in "fiu" or numbers.ndim == 0:
        raise ValueError(
            f"{label} holds {numbers.dtype} of shape {numbers.shape}, expected real numbers."
        )
    return numbers


class _OtherFile(Exception):
    """A file that does not even begin as a .npy file."""


def _bytes_to_read(file: BinaryIO) -> float:
    """Memory that an open .npy file takes, as it is and as doubles, by its header alone."""
    begin = file.read(len(np.lib.format.MAGIC_PREFIX))
    file.seek(0)
    if begin != np.lib.format.MAGIC_PREFIX:
        raise _OtherFile
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0
    if version > (1, 0):
        # The third version differs in the names of columns, which tokens have not.
        read = np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    file.seek(0)
    return math.prod(shape) * float(dtype.itemsize + 8)


def last_state_of_run(folder: Folder, bare: Problem, /, path: str) -> InitialLaw:
    """Last state of a run file.

    Raises
    ------
    ValueError
        If it is no run file, holds no last state, or belongs to another manifold.
    """
    from meanfield.outputs.run_file import load

    label = f"path = {shown(path)}"
    run = load(folder.path / path)
    manifold = run.attributes["manifold"]
    if manifold != bare.manifold.name:
        raise ValueError(f"{label} is a run on the {manifold}, expected {bare.manifold.name}.")
    measure = run.measures[-1] if run.measures else None
    if measure is None:
        raise ValueError(f"{label} holds no last state: it was run with [output] state = 'none'?")
    if isinstance(measure, Density):
        return from_density(measure.coefficients)
    return GivenPoints(measure.points, measure.weights, "file")
