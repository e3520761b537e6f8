"""`meanfield compare`: particle systems against their mean-field limit, in Wasserstein distance."""

from __future__ import annotations

import argparse

from meanfield.commands.memory import check_comparison_memory
from meanfield.commands.streams import say
from meanfield.commands.studies import (
    check_resumes,
    is_complete,
    pool,
    run_missing,
    study_file,
    study_origin,
)
from meanfield.files.replacing import OutputError
from meanfield.results.study_reports import comparison_report
from meanfield.runfile import Config, load_config
from meanfield.runfile.keys import located
from meanfield.store.comparison_file import load_comparison, write_comparison
from meanfield.store.wall_time import WallTime
from meanfield.studies.convergence import Comparison, comparison

# What a resumed comparison may differ in; it may only grow, `check_resumes` sees to that.
_FREE_KEYS = {"compare": ("tokens", "runs"), "ensemble": None, "output": None}


def execute(options: argparse.Namespace) -> int:
    """Compare."""
    config = load_config(options.config, options.set, study="compare", code=options.code)
    check_comparison_memory(config, options)
    spent = WallTime()
    with study_file(options, config, "compare") as output:
        path = output.path
        left = len(config.compare.tokens) * config.compare.runs
        stored = load_comparison(path) if options.resume and path.exists() else None
        if stored is not None:
            check_resumes(config, "compare", stored, path, _FREE_KEYS)
            left -= int(stored.finished.sum())
        if stored is None or not is_complete(config, "compare", stored):
            # The pool first: that a cluster is not there must not be noticed after the density run.
            with pool(options, left, config.problem) as executor:
                with spent.during("setup"):
                    plan = _plan(config)
                if stored is not None and len(stored.times) != len(plan.reference.times):
                    raise OutputError(
                        f"{path} ends at another time. Use --overwrite to start again."
                    )
                origin = study_origin(config)
                run_missing(
                    plan, stored, write_comparison, output, origin, options, spent, executor
                )
        elif not options.quiet:
            say(f"{path} holds all the systems asked for: nothing to do.")
    study = load_comparison(path)
    if options.plot is not None:
        from meanfield.figures.draw import save_plot

        save_plot(study, options.plot)
    comparison_report(study, path).show(options)
    return 0


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
