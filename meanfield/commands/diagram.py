"""`meanfield diagram`: how many pairs of random tokens have merged, over beta and time."""

from __future__ import annotations

import argparse
import json

import numpy as np

from meanfield.commands.phase import inverse_temperatures
from meanfield.commands.studies import execute_study
from meanfield.papers.merging import DiagramOptions, MergingPlan, RandomHead
from meanfield.studies.study import Request
from meanfield.terms.attention import Head


def execute(options: argparse.Namespace) -> int:
    """Make the diagram."""
    asked = _asked(options)
    # The text has all options but the number of runs.
    text = json.dumps(asked.facts())
    request = Request("diagram", lambda: MergingPlan(asked), asked, "diagram", text=text)
    return execute_study(request, options)


def _asked(options: argparse.Namespace) -> DiagramOptions:
    """Options from the command line."""
    if not options.until > 0.0:
        raise ValueError(f"--until must be positive, got {options.until:g}.")
    plain = (options.score, options.value) == ("identity", "identity")
    return DiagramOptions(
        tokens=options.tokens,
        dimension=options.dimension,
        betas=tuple(inverse_temperatures(options.beta)),
        times=tuple(np.linspace(0.0, options.until, options.save + 1)[1:].tolist()),
        runs=options.runs,
        normalization=options.normalization,
        heads=(Head(),) if plain else RandomHead(options.score, options.value),
        threshold=options.threshold,
        motion="layers" if options.layers else "flow",
        step=options.step,
        tolerance=options.tolerance,
        seed=options.seed,
    )
