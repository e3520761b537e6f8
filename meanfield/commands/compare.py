"""`meanfield compare`: particle systems against their mean-field limit, in Wasserstein distance."""

from __future__ import annotations

import argparse
from functools import partial

from meanfield.commands.memory import check_comparison_memory
from meanfield.commands.studies import execute_study, study_request
from meanfield.runfile import Config, load_config
from meanfield.runfile.keys import located
from meanfield.studies.convergence import Comparison, comparison, systems_left


def execute(options: argparse.Namespace) -> int:
    """Compare."""
    config = load_config(options.config, options.set, study="compare", code=options.code)
    check_comparison_memory(config, options)
    left = partial(systems_left, config.compare)
    request = study_request(config, "comparison", lambda: _plan(config), left)
    return execute_study(request, options, config=config, things="systems")


def _plan(config: Config) -> Comparison:
    """Plan of the study; this computes the density run."""
    with located(f"{config.source}:"):
        return comparison(
            config.problem,
            config.times,
            config.compare,
            tolerance=config.options.step_tolerance,
            max_degree=config.options.max_degree,
            step=config.options.step,
        )
