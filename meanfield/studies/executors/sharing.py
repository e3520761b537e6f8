"""Tasks as bytes, without what many of them share: that travels to a worker once, not once a task.

A class whose objects are shared says so by an attribute `travels_once`.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Sequence
from typing import Any


def packed(value: Any) -> tuple[bytes, list[Any]]:
    """Bytes of a value, and the shared objects in it, which they leave out.

    Functions of the main script travel whole, others by their names.

    Examples
    --------
    >>> class Large:
    ...     travels_once = True
    >>> data, shared = packed([1, Large()])
    >>> len(shared)
    1
    >>> unpacked(data, ["another"])
    [1, 'another']
    """
    import cloudpickle

    shared: list[Any] = []
    numbers: dict[int, int] = {}

    class Packer(cloudpickle.Pickler):  # type: ignore[misc]
        def persistent_id(self, thing: Any) -> int | None:
            if not getattr(type(thing), "travels_once", False):
                return None
            if id(thing) not in numbers:
                numbers[id(thing)] = len(shared)
                shared.append(thing)
            return numbers[id(thing)]

    stream = io.BytesIO()
    Packer(stream).dump(value)
    return stream.getvalue(), shared


def unpacked(data: bytes, shared: Sequence[Any]) -> Any:
    """Value of `packed` bytes, with these shared objects."""
    return _Unpacker(io.BytesIO(data), shared).load()


class _Unpacker(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, shared: Sequence[Any]) -> None:
        super().__init__(stream)
        self._shared = shared

    def persistent_load(self, number: int) -> Any:
        return self._shared[number]
