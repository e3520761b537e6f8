"""`meanfield compare`: particle systems against their mean-field limit, in Wasserstein distance."""

from __future__ import annotations

import argparse
from pathlib import Path

from meanfield.commands.memory import check_comparison_memory
from meanfield.commands.streams import say
from meanfield.commands.studies import (
    check_resumes,
    pool,
    run_through,
    runs_of_each,
    study_attributes,
    study_file,
)
from meanfield.commands.study_reports import comparison_report
from meanfield.config import Config, load_config
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

# What a resumed comparison may differ in; it may only grow, `check_resumes` sees to that.
_FREE_KEYS = {"compare": ("tokens", "repetitions"), "ensemble": None, "output": None}


def execute(options: argparse.Namespace) -> int:
    """Compare."""
    config = load_config(options.config, options.set, allow_code=options.allow_code)
    check_comparison_memory(config, options)
    with study_file(options, config, "compare") as output:
        path = output.path
        stored = load_comparison(path) if options.resume and path.exists() else None
        if stored is not None:
            check_resumes(config, "compare", stored, path, _FREE_KEYS)
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
        table = plan.empty() if stored is None else plan.resumed(stored)
        missing = plan.missing(table)
        attributes = study_attributes(config, None if stored is None else stored.attributes)
        results = finished(plan.run, missing, executor)
        run_through(
            record_study(output, write_comparison, plan, table, results, attributes, spent),
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


def _is_complete(stored: ConvergenceStudy, config: Config) -> bool:
    sizes = (len(stored.tokens), runs_of_each(stored))
    asked = (len(config.compare.tokens), config.compare.repetitions)
    return stored.attributes.get("status") == COMPLETED and sizes == asked
