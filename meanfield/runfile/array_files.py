"""Arrays from .npy and .npz files, and laws of tokens or values in them; nothing is unpickled."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile

import numpy as np
import numpy.typing as npt

from meanfield.engines.limits import available_memory
from meanfield.errors import list_names
from meanfield.laws.initial import InitialLaw, from_density, from_points, in_radians
from meanfield.laws.own import from_values
from meanfield.measures import Density
from meanfield.problem import Problem
from meanfield.runfile.keys import format_value, shortened
from meanfield.runfile.python_file import Folder

# An archive that names more is quoted this far.
_MOST_NAMES = 20


class _OtherFile(Exception):
    """A file that does not even begin as a .npy file."""


class _TooMany(Exception):
    """An array of more numbers than are wanted."""


def read_array(
    label: str, path: Path, what: str, *, name: str | None = None, most: float = math.inf
) -> npt.NDArray[Any]:
    """Real numbers of a file, at least one.

    name: of an array in a .npz file; without one the file is a .npy file.
    most: more numbers are not read.
    """
    # A pipe or a device would make us wait, or never end.
    if not path.is_file():
        raise ValueError(f"{label}: no such file.")
    if name is not None:
        check_name(label, path, name)
    kind = ".npy file" if name is None else "array"
    try:
        with warnings.catch_warnings(), _opened(path, name) as opened:
            warnings.simplefilter("ignore")
            need = _bytes_to_read(opened, most)
            if need <= available_memory():
                numbers = np.lib.format.read_array(opened, allow_pickle=False)
                need = 0.0
    except MemoryError:
        raise ValueError(f"{label} needs more memory than there is, or is damaged.") from None
    except _TooMany as error:
        raise ValueError(f"{label} has shape {error}, expected at most {most} numbers.") from None
    except _OtherFile:
        raise ValueError(
            f"{label} is no {kind}: expected what np.save(file, array) writes, of real numbers."
        ) from None
    except Exception as error:
        # NumPy parses what the file says of itself: nonsense raises all kinds of errors.
        # It may quote as much of the file as it likes.
        reason = shortened(str(error))
        raise ValueError(f"{label} is no readable {kind} of numbers: {reason}.") from None
    if need:
        raise ValueError(
            f"{label} says that it holds {need / 2**30:.3g} GiB of numbers; this process may use "
            f"{available_memory() / 2**30:.3g} GiB. Take fewer {what}, or a machine with more."
        )
    if numbers.size == 0:
        raise ValueError(f"{label} holds no {what}, expected at least one.")
    if numbers.dtype.kind not in "fiu":
        raise ValueError(
            f"{label} holds {numbers.dtype} of shape {numbers.shape}, expected real numbers."
        )
    return numbers


def check_name(label: str, path: Path, name: str) -> None:
    """Refuse a name that no array of a .npz file has."""
    try:
        with ZipFile(path) as archive:
            files = (file for file in archive.namelist() if file.endswith(".npy"))
            names = [shortened(file.removesuffix(".npy")) for file in islice(files, _MOST_NAMES)]
            there = f"{name}.npy" in archive.NameToInfo
    except Exception:
        # zipfile raises many kinds of errors for other files.
        raise ValueError(
            f"{label} is no .npz file: expected what np.savez(file, name=array) writes."
        ) from None
    if not there:
        raise ValueError(f"{label} names no array of the file. {list_names(name, names)}")


@contextmanager
def _opened(path: Path, name: str | None) -> Iterator[IO[bytes]]:
    if name is None:
        with path.open("rb") as file:
            yield file
        return
    with ZipFile(path) as archive, archive.open(f"{name}.npy") as member:
        yield member


def _bytes_to_read(file: IO[bytes], most: float) -> float:
    """Memory that an open .npy file takes, as it is and as doubles, by its header alone."""
    begin = file.read(len(np.lib.format.MAGIC_PREFIX))
    file.seek(0)
    if begin != np.lib.format.MAGIC_PREFIX:
        raise _OtherFile
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0
    if version > (1, 0):
        # The third version differs in the names of columns, which numbers have not.
        read = np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    file.seek(0)
    if any(length < 0 for length in shape):
        # Older NumPy reads what there is.
        raise ValueError(f"its header says shape {shape}")
    if math.prod(shape) > most:
        raise _TooMany(shape)
    return math.prod(shape) * float(dtype.itemsize + 8)


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
