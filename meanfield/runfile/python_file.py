"""Files that run files name: a user's own functions in Python, and arrays in .npy and .npz files.

A run file may come from somebody else, and its Python has all rights of the user. So a line names a
Python file before it is executed. The file must lie in the folder of the run file, unless the user
permits others. `check` executes nothing without permission. The result is a function of the right
kind, or an error in one line. Arrays are never unpickled.
"""

from __future__ import annotations

import builtins
import io
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import IO, Any, Literal, TypeVar
from zipfile import ZipFile

import numpy as np
import numpy.typing as npt

from meanfield.arguments import check_arguments, describe
from meanfield.engines.limits import available_memory
from meanfield.errors import list_names, one_line
from meanfield.laws.initial import InitialLaw, from_density, from_points, in_radians
from meanfield.laws.own import from_values
from meanfield.measures import Density
from meanfield.problem import Problem
from meanfield.runfile.keys import ConfigError, format_value, located, shortened
from meanfield.terms.own import takes_label

# Modules that all computations use: code that replaces a function in them breaks the run.
_SHARED = (np, math, builtins)


Permission = Literal["never", "later", "inside", "anywhere"]
"""Python that may be executed: none; none for now, plain functions replace it; that in the folder
of the run file; all."""


@dataclass(frozen=True)
class Folder:
    """The folder of a run file, and the Python that may be executed for it."""

    path: Path  # paths inside the run file are relative to it
    code: Permission = "inside"  # A `Permission`
    section: str = ""  # the section that is read, for errors
    # References to Python that the run file has made so far.
    references: list[str] = field(default_factory=list, compare=False)


_Reference = TypeVar("_Reference", bound="FileFunction")


@cache
def _tell(path: Path, place: Path, content: bytes) -> None:
    """Announce a file once: members of a sweep name the same file again and again."""
    print(one_line(f"meanfield: executing the Python of {path}"), file=sys.stderr, flush=True)


def file_function(label: str, folder: Folder, reference: str) -> FileFunction:
    """Execute a Python file and return its function; the reference is "file.py:name"."""
    function = _announced(FileFunction, label, folder, reference)
    if not callable(_loaded(function)):
        raise ConfigError(f"{label} is no function.")
    return function


def is_function(value: Any) -> bool:
    """True if a value of a run file names a function of time, "file.py:name"."""
    return isinstance(value, str) and ".py:" in value


def functions_of(section: str, folder: Folder, table: Mapping[str, Any]) -> dict[str, Any]:
    """A table with functions in place of their names."""
    return {
        key: file_function(f"{section} {key} = {value!r}", folder, value)
        if is_function(value)
        else value
        for key, value in table.items()
    }


def file_term(label: str, folder: Folder, reference: str) -> FileTerm:
    """Term of a Python file, as in `file_function`."""
    term = _announced(FileTerm, label, folder, reference)
    if not callable(getattr(_term(term), "field", None)):
        raise ConfigError(f"{label} has no method field.")
    return term


def file_stop(label: str, folder: Folder, reference: str) -> FileStop:
    """Stop rule of a Python file, as in `file_function`."""
    rule = _announced(FileStop, label, folder, reference)
    with located(label):
        check_arguments("stop", _loaded(rule))
    return rule


def _announced(kind: type[_Reference], label: str, folder: Folder, reference: str) -> _Reference:
    path, name = _permitted_file(label, folder, reference)
    folder.references.append(reference)
    if folder.code == "later":
        return kind(path.absolute(), name, None, label)
    with _guarded(label):
        content = path.read_bytes()
        _tell(path, path.absolute(), content)
        return kind(path.absolute(), name, content, label)


def _permitted_file(label: str, folder: Folder, reference: str) -> tuple[Path, str]:
    """File and function that a reference names, if the file is permitted."""
    file, _, name = reference.rpartition(":")
    path = folder.path / file
    if not file or not name or not path.is_file():
        raise ConfigError(f'{label} must be "file.py:function" of an existing file.')
    if path.suffix != ".py":
        raise ConfigError(f"{label} is no Python file.")
    if folder.code == "never":
        raise ConfigError(f"{label} is Python, which --no-code refuses to execute.")
    # A link counts as its target.
    if folder.code != "anywhere" and not path.resolve().is_relative_to(folder.path.resolve()):
        raise ConfigError(
            f"{label} is Python outside the folder of the run file. Read it; then copy it there, "
            "or take --allow-code."
        )
    return path, name


@dataclass(frozen=True)
class FileFunction:
    """Function of a user's Python file: plain data that compares, hashes and pickles.

    It holds the text of the accepted file, so all processes execute the same text.
    """

    path: Path  # the file
    name: str  # the function in it
    text: bytes | None  # content of the file; None if it is not executed
    label: str = field(compare=False)  # beginning of errors

    def __call__(self, *arguments: Any) -> Any:
        """Value of the function, which the caller checks."""
        function = _loaded(self)
        with _guarded(self.label):
            return function(*arguments)

    @property
    def __name__(self) -> str:
        return repr(self)

    def __repr__(self) -> str:
        return f"{self.path.name}:{self.name}"


@dataclass(frozen=True, repr=False)
class FileStop(FileFunction):
    """Stop rule of a user's Python file: a function of time and measure."""

    def __call__(self, *arguments: Any) -> bool:
        ends = super().__call__(*arguments)
        if not isinstance(ends, bool | np.bool_):
            raise ConfigError(f"{self.label} must give True or False, got {describe(ends)}.")
        return bool(ends)


@dataclass(frozen=True, repr=False)
class FileTerm(FileFunction):
    """Term of a user's Python file: an object with a method `field`, or its class."""

    def field(self, seen: Any, x: Any, time: float, *label: Any) -> Any:
        term = _term(self)
        with _guarded(self.label):
            return term.field(seen, x, time, *(label if label and takes_label(term) else ()))

    @property
    def potential(self) -> Callable[[Any, Any], Any] | None:
        """Potential of the term, if it has one."""
        own: Any = getattr(_term(self), "potential", None)

        def guarded(seen: Any, x: Any) -> Any:
            with _guarded(self.label):
                return own(seen, x)

        return guarded if callable(own) else None

    def steepness(self, d: int) -> float:
        """Bound that the term gives, or 0."""
        bound = getattr(_term(self), "steepness", lambda d: 0.0)
        with _guarded(self.label):
            return float(bound(d))


@cache
def _term(reference: FileTerm) -> Any:
    """The user's term; a class is instantiated."""
    term: Any = _loaded(reference)
    with _guarded(reference.label):
        return term() if isinstance(term, type) else term


@cache
def _loaded(function: FileFunction) -> Callable[..., Any]:
    """The user's function, or the one in place of what is not executed."""
    if function.text is None:
        return _NotExecuted()
    with _guarded(function.label):
        module = _executed(function.path, function.text)
        return getattr(module, function.name)  # type: ignore[no-any-return]


@cache
def _executed(path: Path, text: bytes) -> ModuleType:
    """The user's file, executed once for each content: its functions share their globals."""
    module = ModuleType(f"meanfield_user_{path.stem}")
    module.__file__ = str(path)
    # Dataclasses and pickles look their module up by name.
    sys.modules[module.__name__] = module
    exec(compile(text, path, "exec", dont_inherit=True), vars(module))
    return module


class _NotExecuted:
    """In place of Python that is not executed: a smooth positive function, or a term at rest."""

    def __call__(self, first: Any, *others: Any) -> Any:
        return 1.0 + 0.5 * first

    def field(self, seen: Any, x: Any, time: float) -> Any:
        return 0.0 * x


class _StandardError(io.TextIOBase):
    """Standard error for output of the user's code, which cannot close it."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


@contextmanager
def _guarded(label: str) -> Iterator[None]:
    """Run the user's code: an exception becomes one line, output goes to standard error."""
    before = [(module, dict(vars(module))) for module in _SHARED]
    try:
        with redirect_stdout(_StandardError()), np.errstate(all="ignore"):
            yield
    except (ConfigError, KeyboardInterrupt):
        raise
    except BaseException as error:
        # Also SystemExit: code of a user must not end the command without a line.
        raise ConfigError(f"{label} failed: {type(error).__name__}: {error}.") from None
    finally:
        replaced = _restored(before)
    if replaced:
        raise ConfigError(f"{label} replaces {replaced[0]}, which all of the run computes with.")


def _restored(before: list[tuple[ModuleType, dict[str, Any]]]) -> list[str]:
    """Restore attributes of modules that were replaced, and return their names."""
    replaced = []
    for module, names in before:
        for name, value in names.items():
            if vars(module).get(name) is not value:
                setattr(module, name, value)
                replaced.append(f"{module.__name__}.{name}")
    return replaced


# Errors list at most this many arrays of an archive.
_MOST_NAMES = 20


class _OtherFile(Exception):
    """A file that does not begin as a .npy file."""


class _TooMany(Exception):
    """An array of more numbers than allowed."""


def read_array(
    label: str, path: Path, what: str, *, name: str | None = None, most: float = math.inf
) -> npt.NDArray[Any]:
    """Real numbers of a file, at least one.

    name: array in a .npz file; None for a .npy file. most: largest allowed number of numbers.
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
        # NumPy raises many kinds of errors for a malformed header, and may quote much of it.
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
        # Version 3 differs only in the names of columns, which arrays of numbers lack.
        read = np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    file.seek(0)
    if any(length < 0 for length in shape):
        # Older NumPy would accept it and read the whole file.
        raise ValueError(f"its header says shape {shape}")
    if math.prod(shape) > most:
        raise _TooMany(shape)
    return math.prod(shape) * float(dtype.itemsize + 8)


def tokens_from_file(folder: Folder, bare: Problem, /, file: str) -> InitialLaw:
    """Empirical measure of the points in a .npy file."""
    label = f"file = {format_value(file)}"
    points = _numbers(label, folder.path / file, "tokens").astype(np.float64)
    with _named(label):
        # Checked here, where the name of the file is known.
        return from_points(bare.manifold.check_points(in_radians(points)))


def values_from_file(folder: Folder, bare: Problem, /, file: str) -> InitialLaw:
    """Density of the values on a grid in a .npy file."""
    label = f"file = {format_value(file)}"
    values = _numbers(label, folder.path / file, "values")
    with _named(label):
        return from_values(values)


@contextmanager
def _named(label: str) -> Iterator[None]:
    """Add the name of the file to errors in its contents."""
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
    """Last state in a result file."""
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
