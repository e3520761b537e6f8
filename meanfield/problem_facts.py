"""Facts of a problem in files, figures and reports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.described import Facts
from meanfield.problem import STILL, TERMS, Problem
from meanfield.spectrum.stability import growth_rate_max, growth_rates
from meanfield.spectrum.time_units import paper_time_factor
from meanfield.stages import CHANGING, Stage

_MOST_STAGES = 6


def problem_attributes(problem: Problem) -> dict[str, Any]:
    """Attributes of a problem; `Facts` describes them."""
    of, alone = problem.attention, problem.unlabelled
    has_rates = alone.is_isotropic and not problem.has_rotary and problem.layering.keeps_time
    kernel = "exponential" if of else problem.own_kernel.name
    if problem.own_terms and of == STILL:
        kernel = "none"
    return {
        "manifold": problem.manifold.name,
        "kernel": kernel,
        "heads": len(of.heads) if of else 0,
        "normalization": problem.normalization,
        "beta": problem.beta,
        "normalized": problem.flow.normalized,
        "strength": problem.flow.strength,
        "diffusivity": problem.flow.diffusivity,
        "paper_time_factor": paper_time_factor(problem),
        "growth_rate_max": growth_rate_max(problem) if has_rates else math.nan,
        "initial": problem.initial.name,
        **format_parts(problem),
    }


def facts_of(problem: Problem) -> Facts:
    """Facts of a problem."""
    return Facts.of(problem_attributes(problem))


def format_parts(problem: Problem) -> dict[str, str]:
    """Words for the parts of the problem besides plain attention, by name."""
    parts = {
        "mask": "" if problem.mask == "none" else str(problem.mask),
        "terms": ", ".join(
            [name for name in TERMS if getattr(problem, name) is not None]
            + [each.name for each in problem.own_terms if each.is_users]
        ),
        "functions": ", ".join(name for name, _, _ in problem.time_functions),
        "layers": problem.layers.summary if problem.layers else "",
        "frequencies": repr(problem.frequencies) if problem.frequencies else "",
        "stages": problem.random.summary if problem.random else _format_stages(problem.stages),
    }
    return {name: words for name, words in parts.items() if words}


def _format_stages(stages: Sequence[Stage]) -> str:
    """Number of stages, and which parts the first six change."""
    if not stages:
        return ""
    texts = []
    for stage in stages[:_MOST_STAGES]:
        names = [name for name in CHANGING if getattr(stage, name) is not None]
        until = "" if stage.end is None else f" until {stage.end:g}"
        texts.append(f"{' and '.join(names) or 'nothing'} changed{until}")
    more = "; ..." if len(stages) > _MOST_STAGES else ""
    return f"{len(stages)} stages: {'; '.join(texts)}{more}"


def growth_rates_in_attributes(problem: Problem) -> FloatArray:
    """Growth rates that a run stores, by degree; 0 of degree 0 alone unless `is_isotropic`."""
    return growth_rates(problem) if problem.is_isotropic else np.zeros(1)
