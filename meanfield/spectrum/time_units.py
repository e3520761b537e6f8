"""Conversions between scaled, paper and growth time, and of the papers' noise.

paper time  = scaled time * exp(-|beta|)    unnormalised exponential kernel
            = scaled time * exp(-s)         unnormalised heads, s the largest beta |B|_2; else equal
growth time = scaled time * max_l lambda_l
"""

from __future__ import annotations

import numpy as np

from meanfield.errors import list_names
from meanfield.problem import Problem
from meanfield.spectrum.stability import growth_rate_max

TIME_UNITS = ("scaled", "paper", "growth")


def time_name(unit: str) -> str:
    """Name of a time in the columns of tables."""
    return "time" if unit == "scaled" else f"{unit}_time"


def paper_time_factor(problem: Problem) -> float:
    """Paper time per scaled time; underflows to 0 for |beta| above 745."""
    return float(np.exp(-problem.log_scale))


def papers_kappa(problem: Problem, diffusivity: float) -> float | None:
    """Noise parameter of the papers, 1 / (diffusivity in their time); None beyond range.

    Papers have Laplacian / kappa and the kernel e^{beta s}, so kappa = e^{-|beta|} / D for USA with
    the exponential kernel, else 1 / D.

    >>> import meanfield as mf
    >>> papers_kappa(mf.Problem(mf.Circle(), mf.linear(), mf.USA), 0.5)
    2.0
    """
    kappa = paper_time_factor(problem) / diffusivity
    return kappa if np.finfo(float).tiny <= kappa < np.inf else None


def time_unit(problem: Problem, unit: str) -> float:
    """Length of one unit of time, in scaled time; raises as `unit_length`.

    >>> import meanfield as mf
    >>> float(time_unit(mf.Problem(mf.Circle(), mf.exponential(2.0), mf.USA), "paper").__round__(6))
    7.389056
    """
    if unit == "growth" and not problem.layering.keeps_time:
        raise ValueError(
            "growth time is that of the flow of post: under other layers modes grow by another "
            "clock, mf.linear_phase_clock. Leave the unit out."
        )
    rate = growth_rate_max(problem) if unit == "growth" else 0.0
    return unit_length(unit, paper_time_factor(problem), rate, problem.beta)


def unit_length(unit: str, paper_time_factor: float, growth_rate_max: float, beta: float) -> float:
    """Length of one of `TIME_UNITS` in scaled time; an unknown growth rate is NaN."""
    if unit == "scaled":
        return 1.0
    if unit == "paper":
        if paper_time_factor < np.finfo(float).tiny:
            raise ValueError(f"paper time overflows at beta = {beta:g}: use 'scaled' or 'growth'.")
        return 1.0 / paper_time_factor
    if unit == "growth":
        if not growth_rate_max > 0:
            raise ValueError("growth time needs a growing degree and none grows: use 'scaled'.")
        return 1.0 / growth_rate_max
    raise ValueError(f"unit {unit!r} is not known. {list_names(unit, TIME_UNITS)}")
