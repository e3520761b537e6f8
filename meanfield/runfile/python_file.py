"""A user's own function from a Python file: announced, executed, and guarded.

This is the only way to a user's own kernels, laws and observables. A run file may come from
somebody else, and its Python has all rights of its reader. So a line names the file before it is
executed. It must lie in the folder of the run file, unless the user permits others. `check`
executes nothing without permission. The result is a function of the right kind or one line with
the error.
"""

from __future__ import annotations

import builtins
import importlib.util
import io
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, TypeVar

import numpy as np

from meanfield.arguments import check_arguments, describe
from meanfield.errors import one_line
from meanfield.runfile.keys import HEADS, ConfigError, located
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
