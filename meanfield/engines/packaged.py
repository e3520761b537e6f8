"""Compiled kernels inside a wheel, which need no compilation after installation where they fit.

    kernels/x86-64-v3.zip     a pickle per kernel and signature, named by its key
    kernels/x86-64-v3.json    versions that compiled it, and the SHA-256 of the archive

A key is a hash of the signature and of `content_key`: the source files of a kernel and of all
functions that it calls, and their global constants. It contains no paths and times, so the folder
can be moved. Archives of other versions, for another processor or with another hash are ignored.
Pickles run code, so they are read only from this folder, which pip writes like the code.
"""

from __future__ import annotations

import json
import os
import pickle
import zipfile
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from sysconfig import get_config_var
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite.binding import get_process_triple  # type: ignore[import-untyped]

# Numba's settings from the environment, which have no types.
_config: Any = numba.config
FOLDER = Path(__file__).parent / "kernels"
_AVX2 = "avx avx2 bmi bmi2 cx16 f16c fma lzcnt movbe popcnt sahf sse4.2 xsave"
_AVX512 = f"{_AVX2} avx512f avx512bw avx512cd avx512dq avx512vl"
LEVELS = {"x86-64-v4": _AVX512, "x86-64-v3": _AVX2}
"""Levels of processors, best first, with their features in LLVM's names."""
_OPTIONS = ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "USING_SVML", "SLP_VECTORIZE")
_CONSTANTS = (bool, int, float, complex, str, tuple, np.generic)


def called_functions(function: Any) -> set[Any]:
    """Python function of a kernel, and all functions of its package that it calls."""
    functions = {function}
    todo = [function]
    while todo:
        below = _Content.of(todo.pop()).below - functions
        functions |= below
        todo += below
    return functions


def content_key(function: Any) -> str:
    """Hash of the source of a kernel and of all functions it calls, without paths and times."""
    contents = [_Content.of(called) for called in called_functions(function)]
    parts = {content.text for content in contents}
    for path in {content.path for content in contents}:
        # Functions of interactive sessions and zip archives have no source file.
        with suppress(OSError):
            status = os.stat(path)
            parts.add(_file_hash(path, status.st_mtime_ns, status.st_size))
    return sha256("\n".join(sorted(parts)).encode()).hexdigest()


class _Content(NamedTuple):
    """File of a function; its name, code and constants as text; and functions that it calls."""

    path: str
    text: str
    below: frozenset[Any]

    @staticmethod
    @cache
    def of(function: Any) -> _Content:
        below = set[Any]()
        text = f"{function.__module__}.{function.__qualname__} {_code_text(function.__code__)}"
        for name, value in _globals(function).items():
            # Kernels have py_func, intrinsics have _defn.
            other = getattr(value, "py_func", None) or getattr(value, "_defn", None)
            if other is not None:
                below.add(other)
            elif isinstance(value, FunctionType) and _package(value) == _package(function):
                below.add(value)
            elif isinstance(value, np.ndarray):
                text += f" {name} {value.dtype} {value.shape} {value.tobytes().hex()}"
            elif isinstance(value, _CONSTANTS):
                text += f" {name} {value!r}"
        return _Content(function.__code__.co_filename, text, frozenset(below))


def load(function: Any, signature: Any, codegen: Any) -> Any:
    """Compiled kernel as numba pickled it; None if no archive for this machine has it.

    NUMBA_CPU_NAME turns archives off.
    """
    if _config.CPU_NAME is not None:
        return None
    triple, _, features = codegen.magic_tuple()
    archive = _archive(FOLDER, triple, features, _options())
    if archive is None:
        return None
    try:
        return pickle.loads(archive.read(entry(function, signature)))
    except KeyError:
        return None


def contents(kernels: Iterable[Any]) -> dict[str, bytes]:
    """Entries of an archive: the kernels that this process has compiled."""
    from numba.core.serialize import dumps

    # The type annotation is a listing with paths.
    return {
        entry(kernel.py_func, signature): dumps(compiled._replace(type_annotation="")._reduce())
        for kernel in kernels
        for signature, compiled in kernel.overloads.items()
    }


def write(folder: Path, level: str, entries: dict[str, bytes]) -> None:
    """Write an archive for a level of processors, and its manifest."""
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in entries.items():
            # Without a time: the same kernels make the same archive.
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{level}.zip").write_bytes(stream.getvalue())
    environment = _environment(get_process_triple(), _options())
    manifest = environment | {"sha256": sha256(stream.getvalue()).hexdigest()}
    (folder / f"{level}.json").write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    _archive.cache_clear()


def entry(function: Any, signature: Any) -> str:
    """Name of the entry of a kernel for a signature: name/key."""
    key = sha256(f"{content_key(function)} {tuple(signature)!r}".encode()).hexdigest()
    return f"{function.__module__}.{function.__qualname__}/{key}"


def _code_text(code: CodeType) -> str:
    """Bytecode and literals of a function and of functions defined inside it."""
    literals = [
        _code_text(each) if isinstance(each, CodeType) else repr(each)
        for each in code.co_consts
        if not isinstance(each, frozenset)  # their order changes from process to process
    ]
    return f"{code.co_code.hex()} {literals!r}"


def _package(function: Any) -> str:
    return str(function.__module__).partition(".")[0]


def _globals(function: Any) -> dict[str, Any]:
    """Values of global and enclosing names in a function and in those defined inside it."""
    codes, names = [function.__code__], set[str]()
    for code in codes:
        names |= {*code.co_names}
        codes += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    enclosed = {name: cell.cell_contents for name, cell in cells}
    known = function.__globals__
    return {name: known[name] for name in sorted(names & known.keys())} | enclosed


@cache
def _file_hash(path: str, modified: int, size: int) -> str:
    return sha256(Path(path).read_bytes()).hexdigest()


def _options() -> str:
    """Settings of numba that change compiled code."""
    return " ".join(f"{name}={getattr(_config, name)!s}" for name in _OPTIONS)


def _environment(triple: str, options: str) -> dict[str, str]:
    """Versions and settings that compiled kernels depend on, besides source and processor."""
    packages = {name: version(name) for name in ("numba", "llvmlite")}
    # Numba distinguishes versions of NumPy by their first two numbers.
    packages["numpy"] = ".".join(np.__version__.split(".")[:2])
    return {
        "python": str(get_config_var("SOABI")),
        "target": triple,
        "options": options,
        **packages,
    }


@cache
def _archive(folder: Path, triple: str, features: str, options: str) -> zipfile.ZipFile | None:
    """Archive for the best level of the processor that fits and is intact, or None."""
    there = set(features.split(","))
    for level, needed in LEVELS.items():
        path = folder / f"{level}.zip"
        if not {f"+{feature}" for feature in needed.split()} <= there or not path.exists():
            continue
        with suppress(OSError, ValueError, zipfile.BadZipFile):
            content = path.read_bytes()
            manifest = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
            expected = {"sha256": sha256(content).hexdigest()}
            if manifest == _environment(triple, options) | expected:
                return zipfile.ZipFile(BytesIO(content))
    return None
