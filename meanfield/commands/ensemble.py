"""`meanfield ensemble`: many runs from sampled tokens, and how many clusters they make."""

from __future__ import annotations

import argparse
from pathlib import Path

from meanfield.commands.memory import check_ensemble_memory
from meanfield.commands.streams import say
from meanfield.commands.studies import (
    check_resumes,
    is_complete,
    pool,
    run_missing,
    study_file,
    study_origin,
)
from meanfield.results.study_reports import ensemble_report
from meanfield.runfile import Config, ConfigError, load_config
from meanfield.runfile.config import ENSEMBLE_TIME
from meanfield.runfile.keys import located
from meanfield.store.ensemble_file import load_ensemble, write_ensemble
from meanfield.store.wall_time import WallTime
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
                origin = study_origin(config)
                run_missing(plan, stored, write_ensemble, output, origin, options, spent, executor)
        elif not options.quiet:
            say(f"{path} holds all the runs asked for: nothing to do.")
    ensemble = load_ensemble(path)
    if options.plot is not None:
        from meanfield.figures.draw import save_plot

        save_plot(ensemble, options.plot)
    ensemble_report(ensemble, path).show(options)
    return 0


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


def _plan(config: Config) -> EnsemblePlan:
    """Plan of the ensemble."""
    # Counts need less than the densities and tokens of a run, unless the run file says more.
    tolerance = config.tables.get("representation", {}).get("tolerance", ENSEMBLE_TOLERANCE)
    with located(f"{config.source}:"):
        return ensemble_plan(config.problem, config.ensemble, tolerance=float(tolerance))


def _stored(config: Config, plan: EnsemblePlan, path: Path) -> Ensemble:
    """Stored ensemble, if this run file may continue it."""
    stored = load_ensemble(path)
    check_resumes(config, "ensemble", stored, path, _FREE_KEYS)
    if stored.attributes["tolerance"] != plan.tolerance:
        # The defaults of a run and of an ensemble differ: the texts may agree and mean other steps.
        raise ConfigError(
            f"{config.source}: [representation] tolerance differs from that of {path}, which "
            "--resume continues. Use --overwrite to start again."
        )
    return stored
