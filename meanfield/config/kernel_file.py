"""A user's own kernel from a Python file: executed, tried, and guarded.

Whatever the user's code does, the answer is a function of the right kind or one line that says
what it did.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import ModuleType

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.config.errors import ConfigError


def kernel_function(where: str, folder: Path, reference: str) -> Callable[[FloatArray], FloatArray]:
    """Function `name` of a Python file, given as "file.py:name".

    Parameters
    ----------
    where : str
        What errors begin with.
    folder : Path
        Paths are relative to it.
    reference : str
        "file.py:name".

    Returns
    -------
    callable
        a(s), s in [-1, 1], with values of the shape of s.

    Raises
    ------
    ConfigError
        Now or when it is called: if the file or the function fails, or gives anything but
        finite real numbers, one for each s.
    """
    label = f'{where} attention = "{reference}"'
    file, _, name = reference.rpartition(":")
    path = folder / file
    if not file or not name or not path.is_file():
        raise ConfigError(f'{label} must be "file.py:function" of an existing file.')
    with _guarded(label):
        function = getattr(_module(label, path), name)

    def attention(s: FloatArray) -> FloatArray:
        with _guarded(label):
            values = np.asarray(function(s))
        if values.shape != np.shape(s) or values.dtype.kind not in "fiu":
            raise ConfigError(
                f"{label} gave {values.dtype} of shape {values.shape} for similarities of shape "
                f"{np.shape(s)}; expected as many real numbers."
            )
        if not np.all(np.isfinite(values)):
            raise ConfigError(f"{label} gave values that are not finite on [-1, 1].")
        return values.astype(np.float64)

    attention(np.linspace(-1.0, 1.0, 5))
    return attention


def _module(label: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"meanfield_kernel_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{label} is no Python file.")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and pickles look their module up by name.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@contextmanager
def _guarded(label: str) -> Iterator[None]:
    """Run the user's code: its failures in one line, its printing to standard error."""
    try:
        with redirect_stdout(sys.stderr), np.errstate(all="ignore"):
            yield
    except ConfigError:
        raise
    except (Exception, SystemExit) as error:
        # Whatever the user's code raises is the user's to read.
        raise ConfigError(f"{label} failed: {type(error).__name__}: {error}.") from None
