"""The section [frequencies] of a run file: a law of natural frequencies."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from meanfield.runfile.keys import one_of
from meanfield.terms.frequencies import (
    Frequencies,
    Gaussian,
    GivenFrequencies,
    Lorentzian,
    UniformSpread,
    UnimodalFrequencies,
)

FREQUENCIES: dict[str, type[UnimodalFrequencies]] = {
    "lorentzian": Lorentzian,
    "gaussian": Gaussian,
    "uniform": UniformSpread,
}
"""Laws of natural frequencies with a width, by name."""


def frequencies_of(
    law: Annotated[str, one_of(*FREQUENCIES, "given")],
    width: float | None = None,
    centre: float = 0.0,
    values: Any = None,
) -> Frequencies:
    """Section [frequencies]."""
    if law == "given":
        if width is not None or centre or np.ndim(values) != 1:
            raise ValueError('law = "given" needs values = [...] or "file.npy", and nothing else.')
        return GivenFrequencies(values)
    if width is None or values is not None:
        raise ValueError(f'law = "{law}" needs a width; values are of law = "given".')
    return FREQUENCIES[law](width, centre)


def written_frequencies(law: Frequencies) -> dict[str, Any]:
    """Keys of a law.

    >>> written_frequencies(Lorentzian(0.2))
    {'law': 'lorentzian', 'width': 0.2, 'centre': 0.0}
    """
    if isinstance(law, GivenFrequencies):
        return {"law": "given", "values": law.values.tolist()}
    if isinstance(law, UnimodalFrequencies):
        for name, kind in FREQUENCIES.items():
            if type(law) is kind:
                return {"law": name, "width": law.width, "centre": law.centre}
    # A user's own law is written, and not read again.
    return {"law": repr(law)}
