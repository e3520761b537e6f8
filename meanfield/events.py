"""What happens between saved times: hand-overs, atoms that meet, notes."""

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
        "hand-over" (to another representation), "atom" (a cluster is followed as atoms from here
        on), "merge" (two clusters have met: their gap fell below 0.25 beta^{-1/2}), "note".
    text : str
        One line for the reader.
    atoms : (int, int)
        Numbers of the clusters concerned, -1 for none: the new one, or, of a merge, any one of
        those of which each of the two consists.
    mass : (float, float)
        Their masses; of a merge those of the two clusters just before it.
    """

    time: float
    kind: str
    text: str = ""
    atoms: tuple[int, int] = (-1, -1)
    mass: tuple[float, float] = (math.nan, math.nan)
