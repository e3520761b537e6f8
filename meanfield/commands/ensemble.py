"""`meanfield ensemble`: many runs from sampled tokens, and how many clusters they make."""

from __future__ import annotations

import argparse
from functools import partial

from meanfield.commands.memory import check_ensemble_memory
from meanfield.commands.streams import say
from meanfield.commands.studies import execute_study, study_request
from meanfield.runfile import Config, load_config
from meanfield.runfile.config import ENSEMBLE_TIME
from meanfield.runfile.keys import located
from meanfield.studies.ensemble import ENSEMBLE_TOLERANCE, EnsemblePlan, ensemble_plan


def execute(options: argparse.Namespace) -> int:
    """Run the ensemble."""
    runs = [] if options.runs is None else [f"ensemble.runs={options.runs}"]
    config = load_config(options.config, [*options.set, *runs], study="ensemble", code=options.code)
    check_ensemble_memory(config, options)
    request = study_request(config, "ensemble", partial(_plan, config, options.quiet))
    return execute_study(request, options, config=config)


def _unused(config: Config) -> str:
    """Line on keys of a run that an ensemble does not read, else empty."""
    unused = ["[representation] tokens"] * ("tokens" in config.tables.get("representation", {}))
    unused += ["[time]"] * (config.tables["time"] != ENSEMBLE_TIME)
    if not unused:
        return ""
    return (
        f"{config.source}: an ensemble does not use {' and '.join(unused)}: set ensemble.tokens, "
        "and ensemble.times in onset times."
    )


def _plan(config: Config, quiet: bool) -> EnsemblePlan:
    """Plan of the ensemble, and a line on keys that it does not use."""
    # Counts need less than the densities and tokens of a run, unless the run file says more.
    tolerance = config.tables.get("representation", {}).get("tolerance", ENSEMBLE_TOLERANCE)
    with located(f"{config.source}:"):
        plan = ensemble_plan(config.problem, config.ensemble, tolerance=float(tolerance))
    unused = _unused(config)
    if unused and not quiet:
        say(unused)
    return plan
