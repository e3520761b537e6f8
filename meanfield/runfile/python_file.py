"""Files that run files name: a user's own functions in Python, and arrays in .npy and .npz files.

A file of Python is announced, executed, and guarded: this is the only way to a user's own kernels,
laws and observables. A run file may come from somebody else, and its Python has all rights of its
reader. So a line names the file before it is executed. It must lie in the folder of the run file,
unless the user permits others. `check` executes nothing without permission. The result is a
function of the right kind or one line with the error. Of arrays nothing is unpickled.
"""

from __future__ import annotations

import builtins
import importlib.util
import io
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.machinery import SourceFileLoader
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
from meanfield.runfile.keys import HEADS, ConfigError, format_value, located, shortened
from meanfield.terms.own import takes_label

# What everything else computes with: code that replaces a function in them breaks the run.
_SHARED = (np, math, builtins)


Permission = Literal["never", "later", "inside", "anywhere"]
"""Whose Python may be executed: nobody's; nobody's now, and what needs it is not looked at; that in
the folder of the run file; anybody's."""


@dataclass(frozen=True)
class Folder:
    """The folder of a run file, and whose Python may be executed for it."""

    path: Path  # paths inside the run file are relative to it
    code: Permission = "inside"  # A `Permission`
    section: str = ""  # the section that is read, for errors


_Reference = TypeVar("_Reference", bound="FileFunction")


@cache
def _tell(path: Path, place: Path, content: bytes) -> None:
    """Say once what is executed: members of a sweep name the same file again and again."""
    print(one_line(f"meanfield: executing the Python of {path}"), file=sys.stderr, flush=True)


def file_function(label: str, folder: Folder, reference: str) -> FileFunction:
    """Function `name` of a Python file, given as "file.py:name", once the file was executed."""
    path, name = permitted_file(label, folder, reference)
    function = _announced(FileFunction, label, path, name)
    if not callable(_loaded(function)):
        raise ConfigError(f"{label} is no function.")
    return function


def is_function(value: Any) -> bool:
    """True if a value of a run file names a function of time, "file.py:name"."""
    return isinstance(value, str) and ".py:" in value


def functions_of(section: str, folder: Folder, table: Mapping[str, Any]) -> dict[str, Any]:
    """A table with the functions themselves in the place of their names."""
    return {
        key: file_function(f"{section} {key} = {value!r}", folder, value)
        if is_function(value)
        else value
        for key, value in table.items()
    }


def file_term(label: str, folder: Folder, reference: str) -> FileTerm:
    """Term `name` of a Python file, as `file_function`."""
    term = _announced(FileTerm, label, *permitted_file(label, folder, reference))
    if not callable(getattr(_term(term), "field", None)):
        raise ConfigError(f"{label} has no method field.")
    return term


def file_stop(label: str, folder: Folder, reference: str) -> FileStop:
    """Stop rule `name` of a Python file, as `file_function`."""
    rule = _announced(FileStop, label, *permitted_file(label, folder, reference))
    with located(label):
        check_arguments("stop", _loaded(rule))
    return rule


def _announced(kind: type[_Reference], label: str, path: Path, name: str) -> _Reference:
    with _guarded(label):
        content = path.read_bytes()
        _tell(path, path.absolute(), content)
        return kind(path.absolute(), name, content, label)


def permitted_file(label: str, folder: Folder, reference: str) -> tuple[Path, str]:
    """File and function that a reference names."""
    file, _, name = reference.rpartition(":")
    path = folder.path / file
    if not file or not name or not path.is_file():
        raise ConfigError(f'{label} must be "file.py:function" of an existing file.')
    if folder.code == "never":
        raise ConfigError(f"{label} is Python, which --no-code refuses to execute.")
    # Links count as what they lead to.
    if folder.code != "anywhere" and not path.resolve().is_relative_to(folder.path.resolve()):
        raise ConfigError(
            f"{label} is Python outside the folder of the run file. Read it; then copy it there, "
            "or take --allow-code."
        )
    return path, name


def without_code(tables: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """A run file with something plain in place of all that its Python says, and what that was.

    The kernel is the exponential one of the same beta, the law uniform. What is malformed stays.

    >>> tables = {"problem": {"kernel": "zonal", "attention": "k.py:f", "normalized": True}}
    >>> without_code(tables)
    ({'problem': {'kernel': 'exponential', 'normalized': True, 'beta': 1.0}}, ('k.py:f',))
    """
    plain, functions = dict(tables), []
    problem, initial, output = (tables.get(name) for name in ("problem", "initial", "output"))
    kernel = problem if isinstance(problem, dict) and problem.get("kernel") == "zonal" else {}
    if "heads" in tables or kernel.get("normalization") == "sinkhorn":
        # They need the exponential kernel: what is refused is no other problem without its code.
        kernel = {}
    if isinstance(kernel.get("attention"), str):
        plain_kernel = {key: value for key, value in kernel.items() if key != "attention"}
        plain["problem"] = plain_kernel | {"kernel": "exponential", "beta": kernel.get("beta", 1.0)}
        functions.append(kernel["attention"])
    terms = problem.get("terms") if isinstance(problem, dict) else None
    if isinstance(terms, list) and all(isinstance(each, str) for each in terms):
        plain["problem"] = {k: value for k, value in plain["problem"].items() if k != "terms"}
        if "heads" not in tables:
            # Terms alone need none.
            plain["problem"].setdefault("beta", 1.0)
        functions += terms
    for name in ("problem", "drift", "feed_forward"):
        plain |= {name: _without_functions(plain[name], functions)} if name in plain else {}
    for name in HEADS:
        if isinstance(plain.get(name), list):
            plain[name] = [_without_functions(head, functions) for head in plain[name]]
    if isinstance(initial, dict) and isinstance(initial.get("function"), str):
        plain["initial"] = {"name": "uniform"}
        functions.append(initial["function"])
    if isinstance(output, dict) and isinstance(output.get("observables"), list):
        observables = output["observables"]
        own = [name for name in observables if isinstance(name, str) and ":" in name]
        left = [name for name in observables if name not in own]
        plain["output"] = output | {"observables": left}
        functions += own
    time = tables.get("time")
    if isinstance(time, dict) and is_function(time.get("stop")):
        plain["time"] = {key: value for key, value in time.items() if key != "stop"}
        functions.append(time["stop"])
    return plain, tuple(functions)


def _without_functions(table: Any, functions: list[str]) -> Any:
    """A table with 1 in the place of functions of time, whose names go to a list.

    A bias becomes a window.
    """
    if not isinstance(table, dict):
        return table
    names = {k: value for k, value in table.items() if is_function(value) and k != "attention"}
    functions += names.values()
    window = {"mask": "window", "window": 0.5} if "mask" in names else {}
    return table | dict.fromkeys(names, 1.0) | window


@dataclass(frozen=True)
class FileFunction:
    """Function of a user's Python file: plain data that compares, hashes and pickles.

    The file is executed as it was when it was accepted, in other processes too: it may change
    meanwhile.
    """

    path: Path  # the file
    name: str  # the function in it
    text: bytes  # what the file held
    label: str = field(compare=False)  # what errors begin with

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
    """Term of a user's Python file: an object with a method `field`, or a class of such."""

    def field(self, seen: Any, x: Any, time: float, *label: Any) -> Any:
        """Field of the term."""
        term = _term(self)
        with _guarded(self.label):
            return term.field(seen, x, time, *(label if label and takes_label(term) else ()))

    @property
    def potential(self) -> Callable[[Any, Any], Any] | None:
        """Potential of the term, where it has one."""
        own: Any = getattr(_term(self), "potential", None)

        def guarded(seen: Any, x: Any) -> Any:
            with _guarded(self.label):
                return own(seen, x)

        return guarded if callable(own) else None

    def steepness(self, d: int) -> float:
        """Bound of the term's own, or 0."""
        bound = getattr(_term(self), "steepness", lambda d: 0.0)
        with _guarded(self.label):
            return float(bound(d))


@lru_cache(maxsize=8)
def _term(reference: FileTerm) -> Any:
    """The user's term, made where the file has its class."""
    term: Any = _loaded(reference)
    with _guarded(reference.label):
        return term() if isinstance(term, type) else term


@lru_cache(maxsize=8)
def _loaded(function: FileFunction) -> Callable[..., Any]:
    """The user's function: the text is executed once in a process."""
    path = function.path
    spec = importlib.util.spec_from_file_location(f"meanfield_user_{path.stem}", path)
    if spec is None or not isinstance(spec.loader, SourceFileLoader):
        raise ConfigError(f"{function.label} is no Python file.")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and pickles look their module up by name.
    sys.modules[spec.name] = module
    with _guarded(function.label):
        exec(spec.loader.source_to_code(function.text, str(path)), vars(module))
        return getattr(module, function.name)  # type: ignore[no-any-return]


class _StandardError(io.TextIOBase):
    """Standard error for what the user's code prints, which may close it: that closes nothing."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


@contextmanager
def _guarded(label: str) -> Iterator[None]:
    """Run the user's code: its failures in one line, its printing to standard error."""
    before = [(module, dict(vars(module))) for module in _SHARED]
    try:
        with redirect_stdout(_StandardError()), np.errstate(all="ignore"):
            yield
    except (ConfigError, KeyboardInterrupt):
        raise
    except BaseException as error:
        # Whatever the user's code raises is the user's to read.
        raise ConfigError(f"{label} failed: {type(error).__name__}: {error}.") from None
    finally:
        replaced = _restored(before)
    if replaced:
        raise ConfigError(f"{label} replaces {replaced[0]}, which all of the run computes with.")


def _restored(before: list[tuple[ModuleType, dict[str, Any]]]) -> list[str]:
    """Put back what was replaced in modules, and name it."""
    replaced = []
    for module, names in before:
        for name, value in names.items():
            if vars(module).get(name) is not value:
                setattr(module, name, value)
                replaced.append(f"{module.__name__}.{name}")
    return replaced


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
