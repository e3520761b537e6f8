"""`meanfield ensemble`: many runs from sampled tokens, and how many clusters they make."""

from __future__ import annotations

import argparse
from pathlib import Path

from meanfield.commands.memory import check_ensemble_memory
from meanfield.commands.streams import say
from meanfield.commands.studies import (
    asked_of,
    check_resumes,
    is_complete,
    pool,
    run_missing,
    study_file,
)
from meanfield.commands.study_reports import ensemble_report
from meanfield.config import Config, ConfigError, load_config
from meanfield.config.config import ENSEMBLE_TIME
from meanfield.config.keys import located
from meanfield.outputs.ensemble_file import load_ensemble, write_ensemble
from meanfield.outputs.wall_time import WallTime
from meanfield.studies.ensemble import ENSEMBLE_TOLERANCE, EnsemblePlan, ensemble_plan
from meanfield.studies.ensemble_results import Ensemble

# What a resumed ensemble may differ in; it may only grow, `check_resumes` sees to that.
_FREE_KEYS = {"ensemble": ("tokens", "runs"), "time": None, "compare": None, "output": None}


def execute(options: argparse.Namespace) -> int:
    """Run the ensemble."""
    runs = [] if options.runs is None else [f"ensemble.runs={options.runs}"]
    config = load_config(options.config, [*options.set, *runs], study="ensemble", code=options.code)
    check_ensemble_memory(config, options)
    spent = WallTime()
    with study_file(options, config, "ensemble") as output:
        path = output.path
        with spent.during("setup"):
            plan = _plan(config)
        unused = _unused(config)
        if unused and not options.quiet:
            say(unused)
        stored = _stored(config, plan, path) if options.resume and path.exists() else None
        if stored is None or not is_complete(config, "ensemble", stored):
            left = len(plan.missing(plan.empty() if stored is None else plan.resumed(stored)))
            with pool(options, left, config.problem) as executor:
                asked = asked_of(config)
                run_missing(plan, stored, write_ensemble, output, asked, options, spent, executor)
        elif not options.quiet:
            say(f"{path} holds all the runs asked for: nothing to do.")
    made = load_ensemble(path)
    if options.plot is not None:
        from meanfield.outputs.plots import save_plot

        save_plot(made, options.plot)
    ensemble_report(made, path).show(options)
    return 0


def _unused(config: Config) -> str:
    """Line on keys of a run that an ensemble does not read, else empty."""
    given = ["[representation] tokens"] * ("tokens" in config.tables.get("representation", {}))
    given += ["[time]"] * (config.tables["time"] != ENSEMBLE_TIME)
    if not given:
        return ""
    return (
        f"{config.source}: an ensemble does not use {' and '.join(given)}: set ensemble.tokens, "
        "and ensemble.times in onset times."
    )


def _plan(config: Config) -> EnsemblePlan:
    """What to run."""
    # Counts need less than the densities and tokens of a run, unless the run file says more.
    given = config.tables.get("representation", {}).get("tolerance", ENSEMBLE_TOLERANCE)
    with located(f"{config.source}:"):
        return ensemble_plan(config.problem, config.ensemble, tolerance=float(given))


def _stored(config: Config, plan: EnsemblePlan, path: Path) -> Ensemble:
    """What the output holds, if this run file may continue it."""
    made = load_ensemble(path)
    check_resumes(config, "ensemble", made, path, _FREE_KEYS)
    if made.attributes["tolerance"] != plan.tolerance:
        # The defaults of a run and of an ensemble differ: the texts may agree and mean other steps.
        raise ConfigError(
            f"{config.source}: [representation] tolerance differs from that of {path}, which "
            "--resume continues. Use --overwrite to start again."
        )
    return made
