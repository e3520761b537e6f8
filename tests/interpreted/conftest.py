"""A second copy of the package in which compiled kernels are plain Python.

Python checks what compiled code does not: every index, every conversion. And coverage counts its
lines. NUMBA_DISABLE_JIT makes numba return functions as they are written; functions that write
LLVM code name what stands for them (`compiled.intrinsic`). Both copies must give the same.
"""

import importlib
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from types import ModuleType
from typing import Any

import numba
import numpy as np
import pytest

_COPIES: dict[str, ModuleType] = {}


def _taken_out() -> dict[str, ModuleType]:
    names = [name for name in sys.modules if name.partition(".")[0] == "meanfield"]
    return {name: sys.modules.pop(name) for name in names}


@contextmanager
def interpreted() -> Iterator[None]:
    """Within, `import meanfield...` means the second copy."""
    compiled, disabled = _taken_out(), numba.config.DISABLE_JIT
    sys.modules.update(_COPIES)
    numba.config.DISABLE_JIT = True
    try:
        with warnings.catch_warnings():
            # Compiled code divides by zero and overflows in silence.
            warnings.simplefilter("ignore", RuntimeWarning)
            yield
    finally:
        numba.config.DISABLE_JIT = disabled
        _COPIES.update(_taken_out())
        sys.modules.update(compiled)


def _same(result: Any, expected: Any, **tolerance: float) -> None:
    if isinstance(expected, tuple):
        for one, other in zip(result, expected, strict=True):
            _same(one, other, **tolerance)
    else:
        np.testing.assert_allclose(result, expected, **tolerance)


def _call(function: str | Callable[..., Any], args: tuple[Any, ...]) -> Any:
    if isinstance(function, str):
        module, name = function.split(":")
        function = getattr(importlib.import_module(f"meanfield.{module}"), name)
    # A kernel may write into its arguments.
    return function(*deepcopy(args))


@pytest.fixture
def agree() -> Callable[..., None]:
    """Check that a function gives the same in both copies.

    The function is named, "module:name" without `meanfield.`, or imports what it calls.
    """

    def check(
        function: str | Callable[..., Any], *args: Any, rtol: float = 1e-12, atol: float = 0.0
    ) -> None:
        expected = _call(function, args)
        with interpreted():
            result = _call(function, args)
        _same(result, expected, rtol=rtol, atol=atol)

    return check
