"""Origin of results: versions, machine, threads and sessions, as attributes of a file.

    versions    "meanfield 0.2.0, python 3.11.7, numpy 2.4.1, ...": everything that computes
    platform    operating system, its release, the architecture, and the C library
    processor   its model
    threads     number that computations may use
    sessions    number of times that the run or study was begun or resumed
    changes     differences of the first four in later sessions, a line each; may be empty

The first four describe the last session. Wall time and the hash of the results have attributes of
their own, `wall_time` and `result_hash`.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from meanfield.engines.threads import threads
from meanfield.store.layout import check_ours, opened, plain_attributes
from meanfield.store.result_hash import result_hash
from meanfield.store.run_file import check_format, file_results
from meanfield.store.study_file import study_kind
from meanfield.version import __version__

LIBRARIES = ("numpy", "scipy", "numba", "ducc0", "pyshtools", "h5py")
"""Distributions that compute or write the contents of a file."""

FACTS = ("versions", "platform", "processor", "threads", "sessions", "changes")
"""Attributes that `provenance` makes."""


def provenance(stored: Mapping[str, Any] | None = None, where: str = "") -> dict[str, Any]:
    """Attributes of a file with the origin of its results.

    stored: attributes of the file that this session continues, which may lack any of them.
    where: where it continues, for `changes`, such as "from t = 3 on".
    """
    here: dict[str, Any] = {
        "versions": ", ".join(f"{name} {version}" for name, version in _versions().items()),
        "platform": _platform(),
        "processor": _processor(),
        "threads": threads(),
    }
    if stored is None:
        return here | {"sessions": 1, "changes": ""}
    session = int(stored.get("sessions", 1)) + 1
    changes = str(stored.get("changes", ""))
    differences = ", ".join(_differences(stored, here))
    if differences:
        changes += ("\n" if changes else "") + f"{where or f'session {session}'}: {differences}"
    return here | {"sessions": session, "changes": changes}


def origin_attributes(
    text: str, title: str, attributes: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Attributes of a study with its origin.

    text, title: the run file, or a text in its place, and its title.
    attributes: from the study that this session continues.
    """
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {
        "meanfield_version": __version__,
        "config": text,
        "title": title,
        "created": now if attributes is None else attributes["created"],
        **provenance(attributes),
    }


def parsed_versions(text: str) -> dict[str, str]:
    """Versions by name, from the attribute."""
    pairs = (one.rpartition(" ") for one in text.split(", ") if one)
    return {name: version for name, _, version in pairs}


def read_provenance(path: str | os.PathLike[str]) -> tuple[dict[str, Any], str]:
    """Attributes of a file of any kind, and the hash of the results that it holds now."""
    with opened(path) as file:
        if study_kind(file) is None:
            check_format(path, file)
            return plain_attributes(file), result_hash(file_results(file))
        for item in file.values():
            check_ours(item)
        return plain_attributes(file), result_hash(file)


def _differences(stored: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """Changes, as "numpy 2.3.1 -> 2.4.0"; facts absent from the file count as equal."""
    pairs: list[tuple[str, Any, Any]] = [
        (name, stored.get(name), here[name]) for name in ("platform", "processor", "threads")
    ]
    old, new = (parsed_versions(str(facts.get("versions", ""))) for facts in (stored, here))
    pairs += [(name, old.get(name), version) for name, version in new.items()]
    return [f"{name} {a} -> {b}" for name, a, b in pairs if a is not None and a != b]


def _versions() -> dict[str, str]:
    versions = {"meanfield": __version__, "python": platform.python_version()}
    for name in LIBRARIES:
        # A loaded module has its version; to read it from a distribution takes a millisecond.
        loaded = sys.modules.get(name.replace("-", "_"))
        version = getattr(loaded, "__version__", None) or _installed(name)
        if version is not None:
            versions[name] = version
    return versions


def _installed(name: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    with suppress(PackageNotFoundError):
        return version(name)
    return None


def _platform() -> str:
    # Not platform.platform(), which searches the interpreter's file for the C library.
    system = platform.uname()
    parts = [system.system, system.release, system.machine]
    with suppress(AttributeError, ValueError, OSError):
        # The C library's functions are part of the results; only glibc has this name for it.
        parts.append(os.confstr("CS_GNU_LIBC_VERSION") or "")
    return " ".join(part for part in parts if part)


def _processor() -> str:
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()
