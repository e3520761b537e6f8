"""Sections [[heads]] of a run file: the matrices of an `Attention`, written out or in files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from meanfield.runfile.keys import ConfigError, format_value, keys_of, located
from meanfield.runfile.matrices import MatrixFiles, matrix
from meanfield.terms.attention import MOST_HEADS, Attention, Head
from meanfield.terms.flows import Normalization
from meanfield.terms.kernels.exponential import LARGEST_BETA
from meanfield.terms.time_dependent import at_time

MATRICES = ("query", "key", "value", "score")
"""Keys of a head that are matrices."""

HEAD_KEYS = keys_of(Head, weight=matrix, **dict.fromkeys(MATRICES, matrix))
"""Keys of a section [[heads]]."""
# Kernels have keys of their own in [problem].
del HEAD_KEYS["weight"]


def attention_of(
    label: str,
    heads: Sequence[dict[str, Any]],
    d: int,
    normalization: Normalization,
    beta: float | None,
    **options: Any,
) -> Attention:
    """Attention of tokens in R^d, of heads that `read_heads` gave, its matrices checked.

    label: what errors begin with: "run.toml: [[heads]]".
    heads: keys of each.
    d: dimension of the tokens' vectors.
    normalization, beta, **options: as `Attention` takes them.

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
    """Sections [[heads]] of a document, checked key by key, what lies in files written out."""
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
    """First "[[heads]] 2 value" in which two of them differ."""
    if len(old) != len(new):
        return "the number of [[heads]]"
    for index, (before, after) in enumerate(zip(old, new, strict=True), 1):
        for key in sorted({*before, *after}):
            if before.get(key) != after.get(key):
                return f"[[heads]] {index} {key}"
    return None
