"""Masks and frequencies in run files: names, windows, functions of a file, rows of weights."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from meanfield.runfile.keys import ConfigError, format_value, kind, one_of
from meanfield.runfile.matrices import matrix
from meanfield.runfile.python_file import FileFunction, is_function
from meanfield.terms.frequencies import (
    Frequencies,
    Gaussian,
    GivenFrequencies,
    Lorentzian,
    UniformSpread,
    UnimodalFrequencies,
)
from meanfield.terms.masks import MASKS, Bias, Mask, Masking, MaskName, WeightMatrix, Window
from meanfield.terms.matrices import printed

_NAMES = one_of(*MASKS, "window")


@kind(type=["string", "array"])
def mask_name(value: Any) -> Any:
    """Name of a mask or of a function, or rows of weights."""
    if is_function(value):
        return value
    return matrix(value) if isinstance(value, list) else _NAMES(value)


def mask_of_keys(
    section: str, mask: Any, window: float | None, shared: float, causal: bool
) -> Masking:
    """Mask of an attention that the keys of a problem say."""
    if (mask == "window") != (window is not None):
        raise ConfigError(f'{section} window belongs to mask = "window": give both or neither.')
    if shared and mask != "window":
        raise ConfigError(f'{section} globals belong to mask = "window", got {format_value(mask)}.')
    if isinstance(mask, FileFunction):
        return Bias(mask, causal)
    if window is not None:
        return Window(window, causal, shared)
    if causal:
        raise ConfigError(
            f'{section} causal belongs to mask = "window" or a function: leave it out.'
        )
    return np.array(mask, dtype=np.float64) if isinstance(mask, list) else mask


def written_mask(mask: MaskName | Mask) -> dict[str, Any]:
    """Keys of a mask. Functions of Python's own have a name alone, which no run file reads."""
    if isinstance(mask, Window):
        keys = {"mask": "window", "window": mask.width, "globals": mask.globals}
        return {name: value for name, value in keys.items() if value} | _causal(mask.causal)
    if isinstance(mask, Bias):
        of_file = isinstance(mask.function, FileFunction)
        name = printed(mask.function)
        return {"mask": name if of_file else f"python:{name}"} | _causal(mask.causal)
    if isinstance(mask, WeightMatrix):
        return {"mask": mask.weights.tolist()}
    return {} if mask == "none" else {"mask": mask}


def _causal(causal: bool) -> dict[str, Any]:
    return {"causal": True} if causal else {}


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
