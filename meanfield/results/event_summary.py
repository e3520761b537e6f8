"""Events of a run in words: hand-overs, notes, clusters that met."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from meanfield.events import Event

MOST_LINES = 20


def event_summary(events: Sequence[Event]) -> tuple[list[tuple[float, str]], str]:
    """Times and words of the weightiest events, at most 20, in order; and a line on the others.

    Hand-overs and notes come first, atoms that begin at one time are one line, and of the merges
    those whose lighter cluster is heaviest.
    """
    shortened = _with_beginnings(events)
    weightiest = sorted(range(len(shortened)), key=lambda i: -_weight(shortened[i]))[:MOST_LINES]
    rows = [(shortened[i].time, shortened[i].text) for i in sorted(weightiest)]
    left = len(shortened) - len(rows)
    return rows, f"... and {left} more" if left else ""


def event_lines(events: Sequence[Event], unit: float = 1.0) -> list[str]:
    """Lines of progress on what happened; atoms that begin are not worth one.

    Times are in units of so much scaled time.
    """
    rows, others = event_summary([event for event in events if event.kind != "cluster"])
    return [f"t = {time / unit:.6g}: {text}" for time, text in rows] + ([others] if others else [])


def event_summary_json(events: Sequence[Event]) -> dict[str, Any]:
    """Events for programs; atoms at the start are arrays of their properties."""
    atoms = [event for event in events if event.kind == "cluster"]
    return {
        "events": [
            {
                "time": event.time,
                "kind": event.kind,
                "text": event.text,
                "clusters": [number for number in event.clusters if number >= 0],
                "mass": [mass for mass in event.mass if math.isfinite(mass)],
            }
            for event in events
            if event.kind != "cluster"
        ],
        "clusters": {
            "count": len(atoms),
            "numbers": [event.clusters[0] for event in atoms],
            "masses": [event.mass[0] for event in atoms],
            "times": [event.time for event in atoms],
        },
    }


def _with_beginnings(events: Sequence[Event]) -> list[Event]:
    """Events with one for all atoms that begin at one time, where the first of them does."""
    starts: dict[float, list[float]] = {}
    for event in events:
        if event.kind == "cluster":
            starts.setdefault(event.time, []).append(event.mass[0])
    shortened = []
    for event in events:
        if event.kind != "cluster":
            shortened.append(event)
        elif event.time in starts:
            shortened.append(Event(event.time, "cluster", _beginning(starts.pop(event.time))))
    return shortened


def _beginning(masses: list[float]) -> str:
    least, most = f"{min(masses):.4g}", f"{max(masses):.4g}"
    if len(masses) == 1:
        return f"an atom of mass {most} begins"
    size = f"mass {most} each" if least == most else f"masses from {least} to {most}"
    return f"{len(masses)} atoms begin, {size}"


def _weight(event: Event) -> float:
    """Hand-overs, notes and beginnings first, then merges by the lighter cluster."""
    return min(event.mass) if event.kind == "merge" else math.inf
