"""Parts of a problem whose parameters are functions of scaled time, and their values."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from meanfield.arguments import describe
from meanfield.terms.kernels import Kernel, kernel_of
from meanfield.terms.masks import Mask


def is_time_dependent(part: Any) -> bool:
    """True if a parameter of a part, or of its heads, is a function."""
    if isinstance(part, Mask):
        return False  # a bias is a function of positions
    if isinstance(part, Kernel):
        return callable(part.beta)  # a zonal kernel is made of functions of cosines
    if isinstance(part, tuple):
        return any(map(is_time_dependent, part))
    if callable(part):
        return True
    return is_dataclass(part) and any(
        is_time_dependent(getattr(part, each.name)) for each in fields(part)
    )


def _number(name: str, value: Any, time: float) -> float:
    """Value of a function of time, as a number."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{name}(t) must give a number, got {describe(value)} at t = {time:g}.")
    return float(value)


def at_time(part: Any, time: float) -> Any:
    """The part with the values of its functions at a time.

    >>> import meanfield as mf
    >>> at_time(mf.LinearDrift(lambda t: 2.0 * t), 0.5)
    LinearDrift(matrix=1.0)
    """
    if not is_time_dependent(part):
        return part
    if isinstance(part, Kernel):
        return kernel_of(_number("beta", part.beta(time), time))  # type: ignore[operator]
    if isinstance(part, tuple):
        return tuple(at_time(each, time) for each in part)
    if not callable(part):
        values = {each.name: at_time(getattr(part, each.name), time) for each in fields(part)}
        return replace(part, **values)
    return part(time)
