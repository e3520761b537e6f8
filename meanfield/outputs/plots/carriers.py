"""Which representation carried a saved time, as far as pictures care.

A run may begin as a density, go on as characteristics and end as atoms.
"""

from __future__ import annotations

from meanfield.measures import Density, Measure
from meanfield.run import Run

CHARACTERISTICS, ATOMS = "characteristics", "atoms"

# Tokens follow stored moments so far (scaled time): clusters contract at rates of about 1, an
# explicit method goes on at their pace, and there is nothing to see any more.
_FOLLOWED_UNTIL = 5e3


def is_smooth(run: Run, index: int) -> bool:
    """Whether the state kept at a saved time stands for a density, or for its quadrature nodes."""
    measure = run.measures[index]
    return isinstance(measure, Density) or (
        measure is not None and run.representation[index] == CHARACTERISTICS
    )


def atoms_at(run: Run, index: int) -> Measure | None:
    """Atoms of a saved time, None if something else carried it or its state was not kept."""
    measure = run.measures[index]
    held = isinstance(measure, Measure) and run.representation[index] == ATOMS
    return measure if isinstance(measure, Measure) and held else None


def saves_with_a_density(run: Run) -> int:
    """How many saved times, from the first on, tokens can be followed through: not those of atoms.

    States between need not be kept.
    """
    count = 0
    for time, name in zip(run.time, run.representation, strict=True):
        if name not in ("density", CHARACTERISTICS) or time > _FOLLOWED_UNTIL:
            break
        count += 1
    return count


def saves_with_the_same_tokens(run: Run) -> int:
    """How many saved times, from the first on, hold the same tokens in the same order."""
    count = 0
    first = run.measures[0]
    for measure, name in zip(run.measures, run.representation, strict=True):
        if name in (CHARACTERISTICS, ATOMS) or not isinstance(measure, Measure):
            break
        if not isinstance(first, Measure) or len(measure.points) != len(first.points):
            break
        count += 1
    return count
