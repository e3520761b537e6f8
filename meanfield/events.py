"""Events between saved times: hand-overs, new and merging clusters, notes."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Event:
    """Something that happened between two saved times.

    Attributes
    ----------
    time : float
        Scaled time.
    kind : str
        "hand-over" (to another representation), "cluster" (atoms represent a cluster from here
        on), "merge" (two clusters have met: their gap fell below 0.25 beta^{-1/2}), "note".
    text : str
        One line for the reader.
    clusters : (int, int)
        Number of the new cluster, or in a merge of one original cluster within each of the two;
        else -1.
    mass : (float, float)
        Their masses; in a merge just before it.
    """

    time: float
    kind: str
    text: str = ""
    clusters: tuple[int, int] = (-1, -1)
    mass: tuple[float, float] = (math.nan, math.nan)


def hand_over(time: float, old: str, new: str, reason: str) -> Event:
    """Event of a change of representation."""
    return Event(time, "hand-over", f"{old} -> {new}: {reason}")


def successor(event: Event) -> str:
    """Name of the new representation in a hand-over.

    >>> successor(hand_over(3.0, "density", "characteristics", "spectral tail 1e-10"))
    'characteristics'
    """
    return event.text.partition(":")[0].partition(" -> ")[2]
