"""Certified error of velocities at the degrees in use, for `check` and `info`."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from meanfield.carriers.characteristics import economical_degree
from meanfield.carriers.options import Options
from meanfield.fields.engines import direct_sum_limit
from meanfield.papers.truncation import Truncation, truncation
from meanfield.problem import Problem

# Share of the largest speed that is reported of a softmax whose Z may be too small to certify any.
_SMALL_SHARE = 1e-6


def truncation_summary(
    problem: Problem, options: Options, carriers: Iterable[str], tokens: int | None = None
) -> str | None:
    """Bounds of what velocities lose at the degrees of the carriers of a run; None if unknown.

    tokens: how many, of equal mass; None where that is not known, or is not so.
    """
    degrees: dict[int, str] = {}
    space = problem.manifold
    vectors = not problem.manifold.has_series
    for carrier in carriers:
        degree = problem.kernel_degree if not vectors else 0
        if carrier in ("particles", "atoms"):
            # Atoms are few. No series is known of tokens in other dimensions.
            if (
                vectors
                or carrier == "atoms"
                or (tokens or np.inf) < direct_sum_limit(space, degree)
            ):
                continue
        elif carrier == "characteristics":
            degree = economical_degree(problem, options.enough(problem))
        degrees.setdefault(degree, carrier)
    if not degrees:
        return "sums over pairs, nothing is cut off"
    try:
        lost = {degree: _lost(truncation(problem, degree), problem, tokens) for degree in degrees}
    except (ValueError, ZeroDivisionError):
        # Not known, or attention moves nothing.
        return None
    parts: list[str] = []
    for degree, carrier in degrees.items():
        share, *where = lost[degree]
        text = f"velocities within {share} of the largest" if not parts else share
        name = f"{carrier} " if parts else ""
        parts.append(" ".join([f"{name}degree {degree}: {text}", *where]))
    return "; ".join(parts)


def _lost(truncation_errors: Truncation, problem: Problem, tokens: int | None) -> tuple[str, ...]:
    """Share of the largest speed, and of softmax from which Z on."""
    if not truncation_errors.normalized:
        return (f"{truncation_errors.velocity_error / truncation_errors.largest_speed:.2g}",)
    # Tokens attend to themselves.
    own = tokens if problem.attention is None and problem.beta > 0 else None
    error = (
        float(truncation_errors.softmax_error(None if own is None else 1.0 / own))
        / truncation_errors.largest_speed
    )
    if error <= _SMALL_SHARE:
        return (f"{error:.2g}",)
    lost = sum(
        head.output_error + head.size * head.kernel_error for head in truncation_errors.heads
    )
    least = truncation_errors.kernel_error + lost / (_SMALL_SHARE * truncation_errors.largest_speed)
    return f"{_SMALL_SHARE:.2g}", f"where Z > {least:.2g}"
