"""`meanfield compare`, `ensemble`, `diagram` and `sweep`: many runs into one file or folder."""

from __future__ import annotations

import argparse
import json
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np

from meanfield.commands.compile import compile_for_workers
from meanfield.commands.interrupts import check_interrupt
from meanfield.commands.memory import (
    check_comparison_memory,
    check_ensemble_memory,
    check_memory,
    largest_need,
)
from meanfield.commands.options import answer, check_plot
from meanfield.commands.predict import inverse_temperatures
from meanfield.commands.progress import say
from meanfield.commands.studies import chosen_part, execute_study, pool, study_request, with_bar
from meanfield.papers.merging import DiagramOptions, MergingPlan, RandomHead
from meanfield.results.study_reports import sweep_report
from meanfield.runfile import Config, load_config
from meanfield.runfile.config import ALL_KEYS, ENSEMBLE_TIME
from meanfield.runfile.keys import located
from meanfield.runfile.products import parameters_of
from meanfield.store.sweep_file import load_sweep, read_index, write_sweep
from meanfield.store.wall_time import WallTime
from meanfield.studies.complete import run_missing
from meanfield.studies.convergence import Comparison, comparison, systems_left
from meanfield.studies.ensemble import ENSEMBLE_TOLERANCE, EnsemblePlan, ensemble_plan
from meanfield.studies.parts import MOST_PARTS, Part
from meanfield.studies.study import Request
from meanfield.studies.sweep_results import Sweep
from meanfield.studies.sweeps import collect_sweep, lock, planned
from meanfield.terms.attention import Head


def compare_command(options: argparse.Namespace) -> int:
    """Particle systems against their mean-field limit, by a distance of measures."""
    config = load_config(options.config, options.set, study="compare", code=options.code)
    check_comparison_memory(config, options)
    left = partial(systems_left, config.compare)
    request = study_request(config, "comparison", lambda: _comparison_plan(config), left)
    return execute_study(request, options, config=config, things="systems")


def _comparison_plan(config: Config) -> Comparison:
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


def diagram_command(options: argparse.Namespace) -> int:
    """How many pairs of random tokens have merged, over beta and time."""
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


# --collect checks the first member alone: parts have checked theirs.
_FIRST = Part(0, MOST_PARTS)


def sweep_command(options: argparse.Namespace) -> int:
    """A run file over a product of values, each run a file of one folder."""
    source = Path(options.config)
    folder = Path(options.output or source.with_name(f"{source.stem}-sweep"))
    parameters = parameters_of(options.over, ALL_KEYS, options.set)
    check_plot(options)
    part = _FIRST if options.collect else chosen_part(options)
    spent, largest = WallTime(), _Largest()
    with spent.during("setup"):
        plan, first = planned(
            source,
            parameters,
            options.set,
            folder,
            code=options.code,
            watch=check_interrupt,
            look=largest.see,
            part=part,
            adaptive=options.adaptive,
        )
    if options.collect:
        sweep, missing = collect_sweep(plan, first, overwrite=options.overwrite)
        if missing:
            say(f"meanfield: {folder}: {missing}.")
            return 1
        answer(options, sweep_report(sweep), sweep)
        return _status(sweep)
    if options.scheduler is None and largest.config is not None:
        check_memory(largest.config)
    with lock(plan, first, resume=options.resume, overwrite=options.overwrite) as (output, stored):
        table = plan.empty() if stored is None else plan.resumed(stored)
        left = len(plan.missing(table))
        if left or stored is None:
            origin, follow = (
                (first.text, first.title),
                with_bar(options, first.title or source.stem),
            )
            compile_first = partial(compile_for_workers, first.problem)
            with pool(options, left, compile_first) as executor:
                run_missing(plan, stored, write_sweep, output, origin, executor, follow, spent)
            if not options.quiet:
                say(f"{output.path} holds the results.")
        elif not options.quiet:
            say(f"{folder} holds all the runs asked for: nothing to do.")
    if part is not None:
        return _status(read_index(output.path, folder, folder))
    sweep = load_sweep(folder)
    answer(options, sweep_report(sweep), sweep)
    return _status(sweep)


class _Largest:
    """Member whose run may need the most memory."""

    def __init__(self) -> None:
        self.config: Config | None = None
        self._size = 0.0

    def see(self, config: Config) -> None:
        """Keep a member that needs more memory than those before."""
        with suppress(ValueError):
            size = largest_need(config).size
            if size > self._size:
                self.config, self._size = config, size


def _status(sweep: Sweep) -> int:
    """Exit status, after a line on runs that did not complete."""
    early = [member for member in sweep.members if not member.finished]
    if not early:
        return 0
    count, one = len(early), early[0]
    runs = f"{count} of {len(sweep.members)} runs did not complete"
    say(f"meanfield: {sweep.folder}: {runs}: {one.file} {one.status or 'not finished'}.")
    return 1


def ensemble_command(options: argparse.Namespace) -> int:
    """Many runs from sampled tokens, and how many clusters they make."""
    runs = [] if options.runs is None else [f"ensemble.runs={options.runs}"]
    config = load_config(options.config, [*options.set, *runs], study="ensemble", code=options.code)
    check_ensemble_memory(config, options)
    request = study_request(config, "ensemble", partial(_ensemble_plan, config, options.quiet))
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


def _ensemble_plan(config: Config, quiet: bool) -> EnsemblePlan:
    """Plan of the ensemble; prints a line on keys that it does not use."""
    # Counts need less accuracy than a run; a tolerance in the run file wins.
    tolerance = config.tables.get("representation", {}).get("tolerance", ENSEMBLE_TOLERANCE)
    with located(f"{config.source}:"):
        plan = ensemble_plan(config.problem, config.ensemble, tolerance=float(tolerance))
    unused = _unused(config)
    if unused and not quiet:
        say(unused)
    return plan
