"""Events between saved times: hand-overs, atoms that meet, notes."""

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
        "hand-over" (to another representation), "cluster" (a cluster is followed as atoms from here
        on), "merge" (two clusters have met: their gap fell below 0.25 beta^{-1/2}), "note".
    text : str
        One line for the reader.
    clusters : (int, int)
        Numbers of the clusters concerned, else -1: the new cluster, or, in a merge, one original
        cluster within each of the two.
    mass : (float, float)
        Their masses; in a merge just before it.
    """

    time: float
    kind: str
    text: str = ""
    clusters: tuple[int, int] = (-1, -1)
    mass: tuple[float, float] = (math.nan, math.nan)


def hand_over(time: float, old: str, new: str, reason: str) -> Event:
    """Event of one representation taking over from another."""
    return Event(time, "hand-over", f"{old} -> {new}: {reason}")


def successor(event: Event) -> str:
    """Name of the representation that took over.

    >>> successor(hand_over(3.0, "density", "characteristics", "spectral tail 1e-10"))
    'characteristics'
    """
    return event.text.partition(":")[0].partition(" -> ")[2]
