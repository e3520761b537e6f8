"""A user's own kernel from a Python file: announced, executed, tried, and guarded.

A run file may come from somebody else, and its Python can do whatever its reader can. So the file
is named before it is executed, and it must lie in the folder of the run file, which is what was
looked at, unless the user says otherwise. Whatever the code does, the answer is a function of the
right kind or one line that says what it did.
"""

from __future__ import annotations

import builtins
import importlib.util
import io
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.config.keys import ConfigError
from meanfield.errors import one_line

# What everything else computes with: code that replaces a function in them breaks the run.
_SHARED = (np, math, builtins)


def kernel_function(
    where: str, folder: Path, reference: str, *, anywhere: bool = False
) -> FileFunction:
    """Function `name` of a Python file, given as "file.py:name".

    Parameters
    ----------
    where : str
        What errors begin with.
    folder : Path
        Paths are relative to it.
    reference : str
        "file.py:name".
    anywhere : bool
        Whether the file may lie outside the folder.

    Returns
    -------
    FileFunction

    Raises
    ------
    ConfigError
        If the file lies elsewhere, and now or when it is called: if the file or the function
        fails, or gives anything but finite real numbers, one for each s.
    """
    label = f'{where} attention = "{reference}"'
    file, _, name = reference.rpartition(":")
    path = folder / file
    if not file or not name or not path.is_file():
        raise ConfigError(f'{label} must be "file.py:function" of an existing file.')
    # Links count as what they lead to.
    if not anywhere and not path.resolve().is_relative_to(folder.resolve()):
        raise ConfigError(
            f"{label} is Python outside the folder of the run file. Read it; then copy it there, "
            "or take --allow-code."
        )
    print(one_line(f"meanfield: executing the Python of {path}"), file=sys.stderr, flush=True)
    with _guarded(label):
        attention = FileFunction(path.absolute(), name, path.read_bytes(), label)
    attention(np.linspace(-1.0, 1.0, 5))
    return attention


@dataclass(frozen=True)
class FileFunction:
    """Attention a(s) of a user's Python file: plain data that compares, hashes and pickles.

    The file is executed as it was when it was accepted, in other processes too: it may change
    meanwhile.

    Attributes
    ----------
    path : Path
        Given. The file.
    name : str
        Given. The function in it.
    text : bytes
        Given. What the file held.
    label : str
        Given. What errors begin with.
    """

    path: Path
    name: str
    text: bytes
    label: str = field(compare=False)

    def __call__(self, s: FloatArray) -> FloatArray:
        """Values a(s), s in [-1, 1], of the shape of s.

        Raises
        ------
        ConfigError
            If the code fails, or gives anything but finite real numbers, one for each s.
        """
        function = _loaded(self)
        with _guarded(self.label):
            values = np.asarray(function(s))
        if values.shape != np.shape(s) or values.dtype.kind not in "fiu":
            raise ConfigError(
                f"{self.label} gave {values.dtype} of shape {values.shape} for similarities of "
                f"shape {np.shape(s)}; expected as many real numbers."
            )
        if not np.all(np.isfinite(values)):
            raise ConfigError(f"{self.label} gave values that are not finite on [-1, 1].")
        return values.astype(np.float64)

    def __repr__(self) -> str:
        """File and function."""
        return f"{self.path.name}:{self.name}"


@lru_cache(maxsize=8)
def _loaded(function: FileFunction) -> Callable[[FloatArray], Any]:
    """The user's function: the text is executed once in a process."""
    path = function.path
    spec = importlib.util.spec_from_file_location(f"meanfield_kernel_{path.stem}", path)
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
