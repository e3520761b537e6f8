"""Samples of laws kept in a small file (JSON), so that they are made once.

    [{"of": {...}, "counts": {"2": 310, "3": 9690}}, ...]

"of" says all that the samples depend on, "counts" how many of them had each number of clusters.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from meanfield.arrays import IntArray
from meanfield.files.replacing import replace_bytes


def stored_counts(
    store: Path | None, of: Mapping[str, Any], make: Callable[[], Iterable[IntArray]]
) -> IntArray:
    """Counts that the file holds of this; else they are made and added to it.

    Parameters
    ----------
    store : Path or None
        The file, made if there is none; None keeps nothing.
    of : mapping
        All that the counts depend on, in terms that JSON knows.
    make : callable () -> iterable of arrays of counts
        Their order does not matter.

    Returns
    -------
    ndarray of int
        Increasing.

    Raises
    ------
    ValueError
        If the file holds something else.

    Examples
    --------
    >>> stored_counts(None, {}, lambda: [np.array([3, 2]), np.array([3])])
    array([2, 3, 3])
    """
    key = json.loads(json.dumps(of))
    entries = [] if store is None or not store.exists() else _read(store)
    for entry in entries:
        if entry["of"] == key:
            values = [int(value) for value in entry["counts"]]
            return np.repeat(values, list(entry["counts"].values()))
    counts = np.sort(np.concatenate(list(make())))
    if store is not None:
        found = dict(zip(*(a.tolist() for a in np.unique(counts, return_counts=True)), strict=True))
        lines = [json.dumps(entry) for entry in [*entries, {"of": key, "counts": found}]]
        replace_bytes(store, ("[\n" + ",\n".join(lines) + "\n]\n").encode())
    return counts


def _read(store: Path) -> list[dict[str, Any]]:
    try:
        entries = json.loads(store.read_text(encoding="utf-8"))
        if all("of" in entry and _are_counts(entry["counts"]) for entry in entries):
            return list(entries)
    except (ValueError, AttributeError, KeyError, TypeError):
        pass
    raise ValueError(f"{store} holds no samples of laws: delete it, and they are made again.")


def _are_counts(found: Mapping[str, Any]) -> bool:
    return all(
        number.isdecimal() and type(times) is int and 0 < times < 2**31
        for number, times in found.items()
    )
