"""What `meanfield info` says of where a file comes from, as text and JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from meanfield.commands.tables import facts
from meanfield.outputs.provenance import parsed_versions
from meanfield.outputs.wall_time import seconds_by_phase


def problem_facts(attributes: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """What was asked for, in what state it is and who made it, as names and values."""
    names = ("title", "status", "manifold", "kernel", "beta", "normalized", "strength")
    pairs = [(name, attributes[name]) for name in names if attributes.get(name, "") != ""]
    if attributes.get("diffusivity"):
        pairs.append(("diffusivity", attributes["diffusivity"]))
    made = f"{attributes.get('created')} by meanfield {attributes.get('meanfield_version')}"
    return [*pairs, ("initial", attributes.get("initial")), ("created", made)]


def report(attributes: Mapping[str, Any], found: str) -> str:
    """Compact block; what an older file does not know is left out.

    Parameters
    ----------
    attributes : mapping
        Attributes of the file.
    found : str
        Hash of the results that it holds.
    """
    names = ("created", "versions", "platform", "processor", "threads", "seed")
    told: dict[str, Any] = {name: attributes.get(name) for name in names}
    if told["versions"] is None and "meanfield_version" in attributes:
        told["versions"] = f"meanfield {attributes['meanfield_version']}"
    phases = seconds_by_phase(attributes)
    if phases:
        parts = ", ".join(f"{phase} {seconds:.2f}" for phase, seconds in phases.items())
        count = attributes.get("sessions", 1)
        sessions = f" in {count} sessions" if count > 1 else ""
        told["wall time"] = f"{sum(phases.values()):.2f} s{sessions}: {parts}"
    changes = str(attributes.get("changes", "")).splitlines()
    pairs = [(name, value) for name, value in told.items() if value is not None]
    pairs += [("changed", line) for line in changes]
    stored = attributes.get("result_hash")
    pairs.append(("result hash", f"{found} (not in the file)" if stored is None else stored))
    return facts(pairs)


def report_json(attributes: Mapping[str, Any], found: str) -> dict[str, Any]:
    """Object with everything; what an older file does not know is null."""
    names = ("meanfield_version", "created", "seed", "platform", "processor", "threads", "sessions")
    versions = attributes.get("versions")
    stored = attributes.get("result_hash")
    return {name: attributes.get(name) for name in names} | {
        "versions": None if versions is None else parsed_versions(str(versions)),
        "changes": str(attributes.get("changes", "")).splitlines(),
        "seconds": seconds_by_phase(attributes),
        "result_hash": stored,
        "result_hash_found": found,
        "result_hash_fits": None if stored is None else stored == found,
    }


def mismatch(path: str, attributes: Mapping[str, Any], found: str) -> str | None:
    """Line about a hash that is not that of the numbers; None if all is well.

    Examples
    --------
    >>> mismatch("run.h5", {"result_hash": "0123456789abcdef"}, "fedcba9876543210")
    'run.h5: the numbers are not those that were written: result hash fedcba98, expected 01234567.'
    >>> mismatch("run.h5", {}, "fedcba9876543210")
    """
    stored = attributes.get("result_hash")
    if stored is None or stored == found:
        return None
    changed = "the numbers are not those that were written"
    return f"{path}: {changed}: result hash {found[:8]}, expected {stored[:8]}."
