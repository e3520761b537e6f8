"""`meanfield compare`: particle systems against their mean-field limit, in Wasserstein distance."""

from __future__ import annotations

import argparse
import functools
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from meanfield.commands.arguments import add_json, add_threads, positive
from meanfield.commands.comparison_report import report, report_json
from meanfield.commands.memory import check_comparison_memory
from meanfield.commands.progress import shown
from meanfield.commands.run import add_set
from meanfield.commands.streams import say
from meanfield.compute.threads import threads
from meanfield.config import Config, ConfigError, load_config
from meanfield.config.difference import check_continues
from meanfield.config.errors import located
from meanfield.config.sections import read_problem
from meanfield.outputs.atomic import OutputError, writer_lock
from meanfield.outputs.comparison_file import load_comparison, record_comparison
from meanfield.studies.convergence import Comparison, comparison
from meanfield.studies.convergence_results import ConvergenceStudy
from meanfield.studies.particle_systems import System, finished_systems
from meanfield.studies.workers import worker_pool

# What a resumed comparison may differ in; it may only grow, `_stored` sees to that.
_FREE_KEYS = {"compare": ("tokens", "repetitions"), "output": None}
# A small system takes about as long as this many tokens do in a large one.
_TOKENS_WORTH_A_SYSTEM = 10_000


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    command.add_argument("config", metavar="CONFIG.toml")
    command.add_argument("-o", "--output", metavar="OUT.h5", help="default: CONFIG-compare.h5")
    command.add_argument("--plot", metavar="FIGURE", help=".png, .pdf or .svg")
    command.add_argument(
        "--workers",
        type=positive,
        metavar="W",
        help="processes that share the threads; default: one a thread",
    )
    command.add_argument("--resume", action="store_true", help="run only what the output lacks")
    command.add_argument("--overwrite", action="store_true", help="replace an existing output")
    add_set(command)
    add_threads(command)
    command.add_argument("--quiet", action="store_true", help="no progress")
    add_json(command)


def execute(options: argparse.Namespace) -> int:
    """Compare."""
    config = load_config(options.config, options.set)
    check_comparison_memory(config)
    path = Path(options.output or config.source.with_name(f"{config.source.stem}-compare.h5"))
    if path.exists() and not (options.resume or options.overwrite):
        raise OutputError(f"{path} exists: use --overwrite to replace it or --resume to go on.")
    if options.plot is not None:
        from meanfield.outputs.plots.figures import check_suffix

        check_suffix(options.plot)
    with writer_lock(path):
        stored = _stored(config, path) if options.resume and path.exists() else None
        if stored is not None and _is_complete(stored, config):
            if not options.quiet:
                say(f"{path} holds all the systems asked for: nothing to do.")
        else:
            _run(config, path, stored, options.workers, options.quiet)
    study = load_comparison(path)
    if options.plot is not None:
        from meanfield.outputs.plots.comparison import save_comparison_plot

        save_comparison_plot(study, Path(options.plot))
    print(report_json(study, path) if options.json else report(study))
    return 0


def _run(
    config: Config, path: Path, stored: ConvergenceStudy | None, workers: int | None, quiet: bool
) -> None:
    """Run what is missing and record it."""
    plan = _plan(config)
    found = plan.empty()
    if stored is not None:
        kept = np.stack([stored.distances, stored.widths], axis=-1)
        if kept.shape[2:] != found.shape[2:]:
            raise OutputError(f"{path} ends at another time. Use --overwrite to start again.")
        for i, n in enumerate(stored.tokens):
            found[plan.options.tokens.index(n), : kept.shape[1]] = kept[i]
    missing = plan.missing(found)
    cores = threads()
    workers = max(1, min(workers or cores, len(missing)))
    share = max(1, cores // workers)
    attributes = _attributes(config, stored)
    with worker_pool(workers, share) as executor:
        results = finished_systems(missing, executor)
        with closing(record_comparison(path, plan, found, results, attributes)) as stream:
            for _ in shown(
                stream,
                sum(_work(system) for system in missing),
                config.title or config.source.stem,
                quiet=quiet,
                note=lambda system: f"n = {system.tokens}",
                weight=_work,
            ):
                pass


def _plan(config: Config) -> Comparison:
    """What to run; the density is run on the way."""
    where, tables = config.source.name, config.tables
    # Plain data that make the problem anew: a Problem cannot travel to other processes.
    source = functools.partial(
        read_problem,
        where,
        config.source.parent,
        tables["problem"],
        tables.get("initial", {"name": "uniform"}),
    )
    with located(f"{where}:"):
        return comparison(
            config.problem,
            config.times,
            config.compare,
            source=source,
            tolerance=config.options.tolerance,
            max_degree=config.options.max_degree,
        )


def _work(system: System) -> float:
    return system.tokens + _TOKENS_WORTH_A_SYSTEM


def _attributes(config: Config, stored: ConvergenceStudy | None) -> dict[str, Any]:
    from meanfield import __version__

    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {
        "meanfield_version": __version__,
        "config": config.text,
        "title": config.title,
        "created": now if stored is None else stored.attributes["created"],
    }


def _stored(config: Config, path: Path) -> ConvergenceStudy:
    """What the output holds, if this run file may continue it."""
    study = load_comparison(path)
    check_continues(config, str(study.attributes.get("config", "")), path, _FREE_KEYS)
    lost = sorted(set(study.tokens.tolist()) - set(config.compare.tokens))
    if lost or study.distances.shape[1] > config.compare.repetitions:
        what = f"tokens lacks {lost[0]}" if lost else "repetitions is smaller"
        raise ConfigError(
            f"{config.source.name}: [compare] {what}, which {path} holds: --resume may only add. "
            "Use --overwrite to start again."
        )
    return study


def _is_complete(stored: ConvergenceStudy, config: Config) -> bool:
    asked = config.compare
    return (
        stored.attributes.get("status") == "completed"
        and len(stored.tokens) == len(asked.tokens)
        and stored.distances.shape[1] == asked.repetitions
    )
