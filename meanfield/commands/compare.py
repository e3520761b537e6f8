"""`meanfield compare`: particle systems against their mean-field limit, in Wasserstein distance."""

from __future__ import annotations

import argparse
from pathlib import Path

from meanfield.commands.memory import check_comparison_memory
from meanfield.commands.pools import pool
from meanfield.commands.streams import say
from meanfield.commands.studies import (
    check_adds,
    run_through,
    study_attributes,
    study_lock,
    study_output,
)
from meanfield.commands.study_reports import comparison_report
from meanfield.config import Config, load_config
from meanfield.config.config import check_continues
from meanfield.config.keys import located
from meanfield.files.replacing import OutputError
from meanfield.outputs.comparison_file import load_comparison, write_comparison
from meanfield.outputs.output_file import OutputFile
from meanfield.outputs.study_file import record_study
from meanfield.outputs.wall_time import WallTime, seconds_by_phase
from meanfield.status import COMPLETED
from meanfield.studies.convergence import Comparison, comparison
from meanfield.studies.convergence_results import ConvergenceStudy
from meanfield.studies.executors import finished

# What a resumed comparison may differ in; it may only grow, `_stored` sees to that.
_FREE_KEYS = {"compare": ("tokens", "repetitions"), "ensemble": None, "output": None}


def execute(options: argparse.Namespace) -> int:
    """Compare."""
    config = load_config(options.config, options.set, allow_code=options.allow_code)
    check_comparison_memory(config, options)
    path = study_output(options, config, "compare")
    with study_lock(path, options) as output:
        stored = _stored(config, path) if options.resume and path.exists() else None
        if stored is not None and _is_complete(stored, config):
            if not options.quiet:
                say(f"{path} holds all the systems asked for: nothing to do.")
        else:
            _run(config, output, stored, options)
    study = load_comparison(path)
    if options.plot is not None:
        from meanfield.outputs.plots.comparison import save_comparison_plot

        save_comparison_plot(study, Path(options.plot))
    comparison_report(study, path).show(options)
    return 0


def _run(
    config: Config,
    output: OutputFile,
    stored: ConvergenceStudy | None,
    options: argparse.Namespace,
) -> None:
    """Run what is missing and record it."""
    path = output.path
    spent = WallTime()
    left = len(config.compare.tokens) * config.compare.repetitions
    if stored is not None:
        spent.add(seconds_by_phase(stored.attributes))
        left -= int(stored.finished.sum())
    # The pool first: a cluster that is not there must not be found missing after the density run.
    with pool(options, left, config.problem) as executor:
        with spent.during("setup"):
            plan = _plan(config)
        if stored is not None and len(stored.times) != len(plan.reference.times):
            raise OutputError(f"{path} ends at another time. Use --overwrite to start again.")
        found = plan.empty() if stored is None else plan.resumed(stored)
        missing = plan.missing(found)
        attributes = study_attributes(config, None if stored is None else stored.attributes)
        results = finished(plan.run, missing, executor)
        run_through(
            record_study(output, write_comparison, plan, found, results, attributes, spent),
            config,
            path,
            plan.missing(plan.empty()),
            missing,
            plan.work,
            lambda runs: f"n = {runs.tokens}",
            quiet=options.quiet,
        )


def _plan(config: Config) -> Comparison:
    """What to run; the density is run on the way."""
    with located(f"{config.source.name}:"):
        return comparison(
            config.problem,
            config.times,
            config.compare,
            tolerance=config.options.step_tolerance,
            max_degree=config.options.max_degree,
            step=config.options.step,
        )


def _stored(config: Config, path: Path) -> ConvergenceStudy:
    """What the output holds, if this run file may continue it."""
    study = load_comparison(path)
    check_continues(config, str(study.attributes.get("config", "")), path, _FREE_KEYS)
    check_adds(
        config,
        "compare",
        path,
        (study.tokens.tolist(), config.compare.tokens),
        ("repetitions", study.distances.shape[1], config.compare.repetitions),
    )
    return study


def _is_complete(stored: ConvergenceStudy, config: Config) -> bool:
    asked = config.compare
    return (
        stored.attributes.get("status") == COMPLETED
        and len(stored.tokens) == len(asked.tokens)
        and stored.distances.shape[1] == asked.repetitions
    )
