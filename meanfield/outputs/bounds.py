"""What an HDF5 file may claim, asked before anything in it is opened or read.

A link may lead to a device that is waited for, or to numbers that no checksum covers; chunks that
were never written take nothing on the disk and all memory when they are read. A file that passes
here leads nowhere else, and what it holds is at most some hundred times its own size.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import h5py

# A run has about a hundred names; the rest is for what other programs add.
_MOST_NAMES = 5000
_LONGEST_NAME = 255
EXPANSION = 1032
"""Bytes that Deflate makes of one, at most (zlib, technical details)."""

# Bytes of gaps: rows of a series of a million saved times that were never written, in one dataset
# and in all of them.
_GAPS, _ALL_GAPS = 2**24, 2**28


def check_bounded(file: h5py.File) -> None:
    """Refuse an open file that leads elsewhere, or claims more than it can hold.

    Raises
    ------
    ValueError
        Naming the link or dataset.
    """
    links: list[tuple[str, Any]] = []

    def visit(name: str, link: Any) -> bool | None:
        links.append((name, link))
        return True if len(links) > _MOST_NAMES else None

    # Links are not opened by it, and those of a ring are visited once.
    if file.visititems_links(visit):
        raise ValueError(f"there are more than {_MOST_NAMES} names in it")
    gaps = 0
    for name, link in links:
        if not name.isprintable() or len(name.rpartition("/")[2]) > _LONGEST_NAME:
            raise ValueError(f"{ascii(name[:60])} is no name")
        # Soft and external links have classes of other names.
        if type(link).__name__ != "HardLink":
            raise ValueError(f"{name} is a link, which is not followed")
        gap = _gap(file, name)
        gaps += gap
        if gap > _GAPS or gaps > _ALL_GAPS:
            raise ValueError(f"{name} claims more than the file can hold")


def _gap(file: h5py.File, name: str) -> int:
    """Bytes that a dataset claims beyond what its part of the file can hold."""
    from h5py import h5d, h5o

    item = h5o.open(file.id, name.encode("utf-8", "surrogateescape"))
    if not isinstance(item, h5d.DatasetID):
        return 0
    made = item.get_create_plist()
    if made.get_layout() == h5d.VIRTUAL or made.get_external_count():
        raise ValueError(f"{name} lies in another file")
    size = item.get_type().get_size()
    # Not HDF5's own product, which may overflow; nothing (h5py.Empty) has no shape.
    claimed: int = size * math.prod(item.shape or ())
    if made.get_layout() == h5d.CHUNKED:
        # One that is larger than the dataset is read as a whole.
        claimed = max(claimed, math.prod(made.get_chunk()) * size)
    return max(claimed - EXPANSION * int(item.get_storage_size()), 0)
