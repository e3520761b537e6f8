"""Changes of an HDF5 file that leave it sound: what another program may have written there."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from meanfield.store.locks import seal

Change = Callable[[h5py.File, str], None]

# Rows that no memory holds, in a file that has none of them.
MANY = 10**13
ATTRIBUTES: dict[str, Any] = {
    "missing": None,
    "nan": np.nan,
    "infinite": -np.inf,
    "zero": 0,
    "negative": -1,
    "huge": 2**63 - 1,
    "empty text": "",
    "text": "other",
    "two lines": "other\ntext \x1b[2J",
    "not UTF-8": np.bytes_(b"\xff\xfe"),
    "list": np.arange(3.0),
    "list of texts": np.array(["a", "b"], object),
    "nothing": h5py.Empty("f8"),
    "true": True,
    "complex": 1j,
}
"""What stands in place of an attribute."""


def replaced(make: Callable[[np.ndarray], Any]) -> Change:
    """Change that puts other values in place of a dataset, without its scales."""

    def change(file: h5py.File, name: str) -> None:
        values = file[name][()]
        del file[name]
        file[name] = make(np.asarray(values))

    return change


def filled(value: float) -> Change:
    def change(file: h5py.File, name: str) -> None:
        item = file[name]
        if item.dtype.kind == "O":
            item[...] = str(value)
        elif item.dtype.kind in "iu":
            item[...] = np.clip(np.nan_to_num(value), -(2.0**62), 2.0**62)
        else:
            item[...] = value

    return change


def lengthened(rows: Callable[[int], int]) -> Change:
    """Change of the number of rows; those that are new are not written."""

    def change(file: h5py.File, name: str) -> None:
        item = file[name]
        if item.ndim and item.chunks is not None:
            item.resize(rows(len(item)), axis=0)
        else:
            values = np.atleast_1d(item[()])
            del file[name]
            file[name] = np.resize(values, (min(rows(len(values)), 99), *values.shape[1:]))

    return change


def linked(link: Callable[[str], Any]) -> Change:
    def change(file: h5py.File, name: str) -> None:
        del file[name]
        file[name] = link(name)

    return change


def gaps(file: h5py.File, name: str) -> None:
    result = file[name]
    axes = (*result.shape[:-1], 10**9)
    del file[name]
    file.create_dataset(name, axes, result.dtype, chunks=(1,) * len(axes))


def missing(file: h5py.File, name: str) -> None:
    del file[name]


def group(file: h5py.File, name: str) -> None:
    del file[name]
    file.create_group(name)


def shuffled(file: h5py.File, name: str) -> None:
    if file[name].ndim:
        file[name][...] = file[name][()][::-1]


PAIR = np.dtype([("a", "f8"), ("b", "i4")])
DATASETS: dict[str, Change] = {
    "missing": missing,
    "group": group,
    "rows in reverse": shuffled,
    "fewer rows": lengthened(lambda n: n // 2),
    "no rows": lengthened(lambda n: 0),
    "more rows": lengthened(lambda n: n + 3),
    "endless rows": lengthened(lambda n: MANY),
    "nan": filled(np.nan),
    "infinite": filled(np.inf),
    "huge": filled(1e300),
    "negative": filled(-1.0),
    "zero": filled(0.0),
    "one number": replaced(lambda v: 1.0),
    "another axis": replaced(lambda v: np.zeros((*v.shape, 1))),
    "fewer axes": replaced(lambda v: np.zeros(v.shape[:-1])),
    "texts": replaced(lambda v: np.full(v.shape, "text", object) if v.ndim else "text"),
    "integers": replaced(lambda v: np.ones(v.shape, np.int16)),
    "single precision": replaced(lambda v: np.ones(v.shape, np.float32)),
    "complex": replaced(lambda v: np.ones(v.shape, complex)),
    "truth values": replaced(lambda v: np.ones(v.shape, bool)),
    "compound": replaced(lambda v: np.zeros(v.shape, PAIR)),
    "bytes": replaced(lambda v: np.full(v.shape, b"\xff", "S1")),
    "nothing": replaced(lambda v: h5py.Empty("f8")),
    "broken link": linked(lambda name: h5py.SoftLink("/nowhere")),
    "link to itself": linked(lambda name: h5py.SoftLink("/" + name)),
    "link to another dataset": linked(lambda name: h5py.SoftLink("/stability/growth_rates")),
    "link to the file's root": linked(lambda name: h5py.SoftLink("/")),
    "link to no file": linked(lambda name: h5py.ExternalLink("nothing.h5", "/time")),
    "link to a device": linked(lambda name: h5py.ExternalLink("/dev/zero", "/time")),
    "gaps": gaps,
    "link to itself as a file": linked(lambda name: h5py.ExternalLink("file.h5", "/" + name)),
}
"""What stands in place of a dataset."""


def places(content: bytes) -> tuple[list[str], list[tuple[str, str]], list[str]]:
    datasets: list[str] = []
    groups: list[str] = []

    def visit(name: str, item: Any) -> None:
        (datasets if isinstance(item, h5py.Dataset) else groups).append(name)

    own = {"CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST"}
    with h5py.File(io.BytesIO(content), "r") as file:
        file.visititems(visit)
        attributes = [(name, key) for name in ["/", *groups, *datasets] for key in file[name].attrs]
    return datasets, [pair for pair in attributes if pair[1] not in own], groups


def changes(content: bytes) -> Iterator[tuple[str, Callable[[h5py.File], None]]]:
    datasets, attributes, groups = places(content)
    for name in datasets:
        for what, change in DATASETS.items():
            yield f"{name}: {what}", lambda file, c=change, n=name: c(file, n)
    for name in groups:
        yield f"{name}: missing", lambda file, n=name: missing(file, n)
        yield f"{name}: dataset", lambda file, n=name: (missing(file, n), file.update({n: 1.0}))
    for name, key in attributes:
        for what, value in ATTRIBUTES.items():
            yield f"{name}@{key}: {what}", lambda file, n=name, k=key, v=value: put(file[n], k, v)


def put(item: Any, key: str, value: Any) -> None:
    del item.attrs[key]
    if value is not None:
        item.attrs[key] = value


def changed(content: bytes, change: Callable[[h5py.File], None], path: Path) -> bytes:
    path.write_bytes(content)
    with h5py.File(path, "r+") as file:
        change(file)
    seal(path)
    return path.read_bytes()
