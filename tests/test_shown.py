"""What objects show of themselves where a notebook prints them: what they are, not their arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import meanfield as mf
from meanfield.stationary.symmetry import axisymmetric
from meanfield.transport.bracket import Bracket

THINGS = {
    "Measure(2 equal points on the circle)": mf.Measure(mf.Circle(), np.zeros(2)),
    "Measure(2 weighted points on the sphere)": mf.Measure(
        mf.Sphere(), np.eye(3)[:2], np.array([0.5, 0.5])
    ),
    "von_mises_fisher(concentration=2.0": mf.von_mises_fisher(2.0),
    "Symmetry(axisymmetric on S^2, 5 functions)": axisymmetric(2, 5),
    "Bracket(0.5 in [0.4, 0.6])": Bracket(0.4, 0.6),
}


@pytest.mark.parametrize("words", THINGS)
def test_things_say_what_they_are(words: str) -> None:
    """A notebook would print a thousand numbers, or an address in memory."""
    thing: Any = THINGS[words]
    assert repr(thing).startswith(words)


def test_bracket_is_a_number_where_one_is_wanted() -> None:
    """float(wasserstein(...)) would fail on the sphere only."""
    assert float(Bracket(0.25, 0.75)) == 0.5
