"""`meanfield diagram`: how many pairs of random tokens have merged, over beta and time."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from meanfield.commands.compile import compile_blocks
from meanfield.commands.phase import inverse_temperatures
from meanfield.commands.streams import say
from meanfield.commands.studies import StudyOrigin, output_file, pool, run_missing, worker_count
from meanfield.files.replacing import OutputError
from meanfield.papers.merging import DiagramOptions, MergingPlan, RandomHead
from meanfield.papers.merging_results import MergingDiagram
from meanfield.results.study_reports import merging_report
from meanfield.store.merging_file import load_merging, write_merging
from meanfield.store.wall_time import WallTime
from meanfield.terms.attention import Head


def execute(options: argparse.Namespace) -> int:
    """Make the diagram."""
    plan = MergingPlan(_asked(options))
    spent = WallTime()
    path = Path(options.output)
    with output_file(options, path) as output:
        stored = _stored(plan, path) if options.resume and path.exists() else None
        left = len(plan.missing(plan.empty() if stored is None else plan.resumed(stored)))
        if left or stored is None:
            origin = StudyOrigin(config_text(plan.options), "", "diagram")
            if worker_count(options, left) > 1:
                compile_blocks()
            with pool(options, left) as executor:
                run_missing(plan, stored, write_merging, output, origin, options, spent, executor)
        elif not options.quiet:
            say(f"{path} holds all the runs asked for: nothing to do.")
    diagram = load_merging(path)
    if options.plot is not None:
        from meanfield.figures.draw import save_plot

        save_plot(diagram, options.plot)
    merging_report(diagram, path).show(options)
    return 0


def config_text(options: DiagramOptions) -> str:
    """Options as one JSON object, without the number of runs."""
    return json.dumps(options.facts())


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


def _stored(plan: MergingPlan, path: Path) -> MergingDiagram:
    """Stored diagram, if it may be continued: only runs may grow."""
    stored = load_merging(path)
    before = json.loads(stored.attributes["config"])
    for name, wanted in json.loads(config_text(plan.options)).items():
        if before.get(name) != wanted:
            raise OutputError(
                f"{path} has another {name}: --resume may only add runs. Use --overwrite to "
                "start again."
            )
    done, runs = stored.table.done.shape[1], plan.options.runs
    if done > runs:
        raise OutputError(
            f"--runs {runs} is fewer than the {done} of {path}: --resume may only add. Use "
            "--overwrite to start again."
        )
    return stored
