"""Sections [[heads]] of a run file: the matrices of an `Attention`, written out or in files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.attention import Attention, Head, Normalization
from meanfield.config.array_files import read_array
from meanfield.config.keys import ConfigError, keys_of, located, number, read_table, shown
from meanfield.kernels.exponential import LARGEST_BETA

MATRICES = ("query", "key", "value", "score")
"""Keys of a head that are matrices."""

# Files of results hold the matrices as text in their run file, which takes a second a MiB to read.
_MOST_NUMBERS = 2**17

_EXPECTED = 'a number, a list of numbers, a list of rows, or a string "file.npy" or "file.npz:name"'


def matrix(value: Any) -> Any:
    """Number, list of numbers (a diagonal), list of rows of equal length, or a file's name."""
    if isinstance(value, str):
        path, name = _file_and_name(value)
        if not path or (name is None) != path.endswith(".npy") or "\0" in value:
            raise TypeError(f"must be {_EXPECTED}")
        return value
    if isinstance(value, list) and value:
        rows = [row for row in value if isinstance(row, list)]
        if rows and (len(rows) < len(value) or not all(rows)):
            raise TypeError(f"must be {_EXPECTED}")
        if len({len(row) for row in rows}) > 1:
            lengths = " and ".join(str(n) for n in sorted({len(row) for row in rows})[:2])
            raise TypeError(f"has rows of {lengths} numbers, expected rows of equal length")
        return [[_entry(each) for each in row] for row in rows] or list(map(_entry, value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"must be {_EXPECTED}")
    return number(value)


def _entry(value: Any) -> float:
    try:
        return number(value)
    except TypeError as error:
        raise TypeError(f"holds {shown(value)}, which {error}") from None


def _file_and_name(reference: str) -> tuple[str, str | None]:
    """File and name of an array in "file.npy" or "file.npz:name"; no name of another string."""
    path, colon, name = reference.rpartition(":")
    if colon and path.endswith(".npz"):
        return path, name
    return reference, "" if reference.endswith(".npz") else None


HEAD_KEYS = keys_of(Head, **dict.fromkeys(MATRICES, matrix))
"""Keys of a section [[heads]]."""


@dataclass(frozen=True)
class HeadSections:
    """Sections [[heads]], their files read.

    Attributes
    ----------
    label : str
        Given. What errors begin with: "run.toml: [[heads]]".
    tables : list of dict
        Derived. Keys as the file gives them, what lay in .npy and .npz files as lists.
    files : tuple of Path
        Derived. Those files.
    """

    label: str
    tables: list[dict[str, Any]]
    files: tuple[Path, ...] = ()

    def attention(
        self, d: int, normalization: Normalization, beta: float | None, **flow: Any
    ) -> Attention:
        """Attention of tokens in R^d, its matrices checked; `flow` is strength and diffusivity.

        Raises
        ------
        ConfigError
            If a matrix does not fit, or a head has no beta.
        """
        heads = []
        for index, table in enumerate(self.tables, 1):
            label = f"{self.label} {index}"
            if beta is None and "beta" not in table:
                raise ConfigError(f"{label} beta is missing: give it here or in [problem].")
            with located(label):
                head = Head(**table)
                heads.append(head)
                _check_fits(Attention((head,), normalization, beta=beta), d)
        return Attention(tuple(heads), normalization, beta=beta, **flow)


def _check_fits(one: Attention, d: int) -> None:
    try:
        sharpness = one.sharpness(d)
    except ValueError as error:
        # It counts heads from 1, and knows of this one alone.
        raise ValueError(str(error).removeprefix("head 1: ")) from None
    if not sharpness <= LARGEST_BETA:
        raise ValueError(
            f"scores up to beta |B| = {sharpness:.3g} of two tokens, expected at most "
            f"{LARGEST_BETA:g}."
        )


def read_heads(where: str, folder: Path | None, heads: Any) -> HeadSections:
    """Sections [[heads]] of a document, checked key by key, what lies in files read.

    Parameters
    ----------
    where : str
        What errors begin with: "run.toml: ", or nothing.
    folder : Path or None
        Where files of matrices are; None reads none.
    heads : object
        What TOML gave.

    Raises
    ------
    ConfigError
        With one line that names the head and its key.

    Examples
    --------
    >>> read_heads("run.toml: ", None, [{"value": [1, -1]}]).attention(2, "softmax", 4.0)
    Attention([Head(value=(1.0, -1.0))], beta=4.0)
    """
    label = f"{where}[[heads]]"
    if isinstance(heads, dict):
        raise ConfigError(f"{label} is a list of tables: write [[heads]] above each, not [heads].")
    if not isinstance(heads, list):
        raise ConfigError(f"{label} must be a list of tables, got {shown(heads)}.")
    if not heads:
        raise ConfigError(f"{label} is empty: without it there is one head, Q = K = V = 1.")
    read: list[dict[str, Any]] = []
    files: list[Path] = []
    left = _MOST_NUMBERS
    for index, table in enumerate(heads, 1):
        one = f"{label} {index}"
        read_table(one, table, HEAD_KEYS)
        given = [name for name in ("query", "key") if name in table]
        if "score" in table and given:
            raise ConfigError(
                f"{one} has both score and {given[0]}: score is Q^T K itself, give one of them."
            )
        made = dict(table)
        for name in MATRICES:
            if isinstance(made.get(name), str):
                found, path = _from_file(f"{one} {name}", folder, made[name], left)
                left -= found.size
                made[name] = found.tolist()
                files.append(path)
        read.append(made)
    return HeadSections(label, read, tuple(dict.fromkeys(files)))


def _from_file(key: str, folder: Path | None, reference: str, most: int) -> tuple[FloatArray, Path]:
    label = f"{key} = {shown(reference)}"
    if folder is None:
        raise ConfigError(f"{label} is a file, which is not read here.")
    path, name = _file_and_name(reference)
    source = folder / path
    try:
        found = read_array(label, source, "numbers", name=name, most=most).astype(np.float64)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    if found.ndim > 2:
        raise ConfigError(f"{label} has shape {found.shape}, expected (), (d,) or (k, d).")
    wrong = found[~np.isfinite(found)]
    if wrong.size:
        raise ConfigError(f"{label} holds {wrong.flat[0]:g}, expected finite numbers.")
    return found, source


def same_heads(heads: Any, beta: Any) -> list[dict[str, Any]]:
    """Sections [[heads]] with the defaults of all keys, to be compared with others.

    Examples
    --------
    >>> same_heads(None, 4.0) == same_heads([{"query": 1}, ], 4.0)
    True
    """
    defaults = {name: key.default for name, key in HEAD_KEYS.items()} | {"beta": beta}
    return [defaults | head for head in ([{}] if heads is None else heads)]


def first_difference(old: Sequence[dict[str, Any]], new: Sequence[dict[str, Any]]) -> str | None:
    """First "[[heads]] 2 value" in which two of them differ."""
    if len(old) != len(new):
        return "the number of [[heads]]"
    for index, (before, after) in enumerate(zip(old, new, strict=True), 1):
        for key in sorted({*before, *after}):
            if before.get(key) != after.get(key):
                return f"[[heads]] {index} {key}"
    return None
