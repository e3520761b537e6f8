"""Heads, masks and frequencies in run files: numbers, lists, rows, names, or files of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from meanfield.runfile.keys import (
    ConfigError,
    Key,
    Kind,
    format_value,
    keys_of,
    kind,
    located,
    number,
    one_of,
    read_table,
)
from meanfield.runfile.python_file import FileFunction, is_function, read_array
from meanfield.terms.attention import MOST_HEADS, Attention, Head
from meanfield.terms.flows import Normalization
from meanfield.terms.frequencies import (
    Frequencies,
    Gaussian,
    GivenFrequencies,
    Lorentzian,
    UniformSpread,
    UnimodalFrequencies,
)
from meanfield.terms.kernels.exponential import LARGEST_BETA
from meanfield.terms.masks import MASKS, Bias, Mask, Masking, MaskName, WeightMatrix, Window
from meanfield.terms.matrices import printed
from meanfield.terms.time_dependent import at_time

# Files of results hold the matrices as text in their run file, which takes a second a MiB to read.
_MOST_NUMBERS = 2**17

_EXPECTED = 'a number, a list of numbers, a list of rows, or a string "file.npy" or "file.npz:name"'


@kind(type=["number", "array", "string"])
def matrix(value: Any) -> Any:
    """Number, list of numbers (a diagonal), list of rows of equal length, or a file's name."""
    if is_function(value):
        return value
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


@kind(type=["number", "array", "string"])
def vector(value: Any) -> Any:
    """Number, list of numbers, or a file's name."""
    numbers = matrix(value)
    if isinstance(numbers, list) and isinstance(numbers[0], list):
        raise TypeError('must be a number, a list of numbers, or a string "file.npy"')
    return numbers


_AXES: dict[Kind, int] = {matrix: 2, vector: 1}
"""Kinds whose values may be in a file -> the largest number of axes."""


@dataclass(frozen=True)
class Stack:
    """Matrices of a file, one for each layer."""

    label: str  # key that names the file
    layers: list[Any]  # matrices as lists


def _entry(value: Any) -> Any:
    try:
        return number(value)
    except TypeError as error:
        raise TypeError(f"holds {format_value(value)}, which {error}") from None


def _file_and_name(reference: str) -> tuple[str, str | None]:
    """File and array in "file.npz:name"; for other strings "" (an .npz file) or None."""
    path, colon, name = reference.rpartition(":")
    if colon and path.endswith(".npz"):
        return path, name
    return reference, "" if reference.endswith(".npz") else None


@dataclass
class MatrixFiles:
    """Files of matrices beside a run file, and limits on their contents."""

    folder: Path | None  # where the files are; None reads none
    stacked: bool = False  # whether a file may hold one matrix for each layer
    read: list[Path] = field(default_factory=list)  # files that were read
    left: int = _MOST_NUMBERS  # numbers that further files may hold

    def written_out(self, label: str, table: Any, keys: Mapping[str, Key]) -> dict[str, Any]:
        """A table, checked by its keys, with matrices (or a `Stack`) in place of their files."""
        read_table(label, table, dict(keys))
        return {
            name: self._from_file(f"{label} {name}", value, _AXES[keys[name].kind])
            if keys[name].kind in _AXES and isinstance(value, str) and not is_function(value)
            else value
            for name, value in table.items()
        }

    def _from_file(self, key: str, reference: str, axes: int) -> Any:
        label = f"{key} = {format_value(reference)}"
        if self.folder is None:
            raise ConfigError(f"{label} is a file, which is not read here.")
        path, name = _file_and_name(reference)
        source = self.folder / path
        try:
            array = read_array(label, source, "numbers", name=name, most=self.left)
        except ValueError as error:
            raise ConfigError(str(error)) from None
        if array.ndim > axes + self.stacked:
            shapes = "(), (d,) or (k, d)" if axes > 1 else "() or (m,)"
            more = ", or one for each layer" if self.stacked else ""
            raise ConfigError(f"{label} has shape {array.shape}, expected {shapes}{more}.")
        array = array.astype(np.float64)
        wrong = array[~np.isfinite(array)]
        if wrong.size:
            raise ConfigError(f"{label} holds {wrong.flat[0]:g}, expected finite numbers.")
        self.left -= array.size
        if source not in self.read:
            self.read.append(source)
        return Stack(key, array.tolist()) if array.ndim > axes else array.tolist()


MATRICES = ("query", "key", "value", "score")
"""Keys of a head that are matrices."""

HEAD_KEYS = keys_of(Head, weight=matrix, **dict.fromkeys(MATRICES, matrix))
"""Keys of a section [[heads]]."""
# Kernels have their own keys in [problem].
del HEAD_KEYS["weight"]


def attention_of(
    label: str,
    heads: Sequence[dict[str, Any]],
    d: int,
    normalization: Normalization,
    beta: float | None,
    **options: Any,
) -> Attention:
    """Attention of tokens in R^d with heads from `read_heads`, its matrices checked.

    >>> attention_of("[[heads]]", [{"value": [1, -1]}], 2, "softmax", 4.0)
    Attention([Head(value=(1.0, -1.0))], beta=4.0)
    """
    built = []
    for index, table in enumerate(heads, 1):
        one = f"{label} {index}"
        if beta is None and "beta" not in table:
            raise ConfigError(f"{one} beta is missing: give it here or in [problem].")
        with located(one):
            built.append(Head(**table))
    try:
        norms = at_time(Attention(tuple(built), normalization, beta=beta), 0.0).norms(d)
    except ValueError as error:
        raise ConfigError(
            f"{label} {str(error).removeprefix('head ').replace(':', '', 1)}"
        ) from None
    for index, (sharpness, _) in enumerate(norms, 1):
        if not sharpness <= LARGEST_BETA:
            raise ConfigError(
                f"{label} {index} scores up to beta |B| = {sharpness:.3g} of two tokens, expected "
                f"at most {LARGEST_BETA:g}."
            )
    return Attention(tuple(built), normalization, beta=beta, **options)


def read_heads(label: str, heads: Any, files: MatrixFiles) -> list[dict[str, Any]]:
    """Sections [[heads]] of a document, checked key by key, with matrices in place of files."""
    if isinstance(heads, dict):
        name = label[label.index("[[") :]
        raise ConfigError(
            f"{label} is a list of tables: write {name} above each, not {name[1:-1]}."
        )
    if not isinstance(heads, list):
        raise ConfigError(f"{label} must be a list of tables, got {format_value(heads)}.")
    if not heads:
        raise ConfigError(f"{label} is empty: without it there is one head, Q = K = V = 1.")
    if len(heads) > MOST_HEADS:
        raise ConfigError(
            f"{label}: {len(heads)} heads, expected at most {MOST_HEADS}: take fewer."
        )
    read: list[dict[str, Any]] = []
    for index, table in enumerate(heads, 1):
        one = f"{label} {index}"
        plain = files.written_out(one, table, HEAD_KEYS)
        names = [name for name in ("query", "key") if name in plain]
        if "score" in plain and names:
            raise ConfigError(
                f"{one} has both score and {names[0]}: score is Q^T K itself, give one of them."
            )
        read.append(plain)
    return read


def same_heads(heads: Any, beta: Any) -> list[dict[str, Any]]:
    """Sections [[heads]] with the defaults of all keys, to be compared with others.

    >>> same_heads(None, 4.0) == same_heads([{"query": 1}, ], 4.0)
    True
    """
    defaults = {name: key.default for name, key in HEAD_KEYS.items()} | {"beta": beta}
    return [defaults | head for head in ([{}] if heads is None else heads)]


def first_difference(old: Sequence[dict[str, Any]], new: Sequence[dict[str, Any]]) -> str | None:
    """First key in which two lists of heads differ, as "[[heads]] 2 value"."""
    if len(old) != len(new):
        return "the number of [[heads]]"
    for index, (before, after) in enumerate(zip(old, new, strict=True), 1):
        for key in sorted({*before, *after}):
            if before.get(key) != after.get(key):
                return f"[[heads]] {index} {key}"
    return None


_NAMES = one_of(*MASKS, "window")


@kind(type=["string", "array"])
def mask_name(value: Any) -> Any:
    """Name of a mask or of a function, or rows of weights."""
    if is_function(value):
        return value
    return matrix(value) if isinstance(value, list) else _NAMES(value)


def mask_of_keys(
    section: str, mask: Any, window: float | None, shared: float, causal: bool
) -> Masking:
    """Mask of an attention, by the keys of [problem]."""
    if (mask == "window") != (window is not None):
        raise ConfigError(f'{section} window belongs to mask = "window": give both or neither.')
    if shared and mask != "window":
        raise ConfigError(f'{section} globals belong to mask = "window", got {format_value(mask)}.')
    if isinstance(mask, FileFunction):
        return Bias(mask, causal)
    if window is not None:
        return Window(window, causal, shared)
    if causal:
        raise ConfigError(
            f'{section} causal belongs to mask = "window" or a function: leave it out.'
        )
    return np.array(mask, dtype=np.float64) if isinstance(mask, list) else mask


def written_mask(mask: MaskName | Mask) -> dict[str, Any]:
    """Keys of a mask. A function in Python has a name only, which no run file can read."""
    if isinstance(mask, Window):
        keys = {"mask": "window", "window": mask.width, "globals": mask.globals}
        return {name: value for name, value in keys.items() if value} | _causal(mask.causal)
    if isinstance(mask, Bias):
        of_file = isinstance(mask.function, FileFunction)
        name = printed(mask.function)
        return {"mask": name if of_file else f"python:{name}"} | _causal(mask.causal)
    if isinstance(mask, WeightMatrix):
        return {"mask": mask.weights.tolist()}
    return {} if mask == "none" else {"mask": mask}


def _causal(causal: bool) -> dict[str, Any]:
    return {"causal": True} if causal else {}


FREQUENCIES: dict[str, type[UnimodalFrequencies]] = {
    "lorentzian": Lorentzian,
    "gaussian": Gaussian,
    "uniform": UniformSpread,
}
"""Laws of natural frequencies with a width, by name."""


def frequencies_of(
    law: Annotated[str, one_of(*FREQUENCIES, "given")],
    width: float | None = None,
    centre: float = 0.0,
    values: Any = None,
) -> Frequencies:
    """Section [frequencies]."""
    if law == "given":
        if width is not None or centre or np.ndim(values) != 1:
            raise ValueError('law = "given" needs values = [...] or "file.npy", and nothing else.')
        return GivenFrequencies(values)
    if width is None or values is not None:
        raise ValueError(f'law = "{law}" needs a width; values are of law = "given".')
    return FREQUENCIES[law](width, centre)


def written_frequencies(law: Frequencies) -> dict[str, Any]:
    """Keys of a law.

    >>> written_frequencies(Lorentzian(0.2))
    {'law': 'lorentzian', 'width': 0.2, 'centre': 0.0}
    """
    if isinstance(law, GivenFrequencies):
        return {"law": "given", "values": law.values.tolist()}
    if isinstance(law, UnimodalFrequencies):
        for name, kind in FREQUENCIES.items():
            if type(law) is kind:
                return {"law": name, "width": law.width, "centre": law.centre}
    # A user's own law has a text only, which no run file can read.
    return {"law": repr(law)}
