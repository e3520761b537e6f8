"""`meanfield sweep`: a run file over a product of values, each run a file of one folder."""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path

from meanfield.commands.answers import answer, check_plot
from meanfield.commands.interrupts import check_interrupt
from meanfield.commands.memory import check_memory, largest_need
from meanfield.commands.streams import say
from meanfield.commands.studies import chosen_part, pool, with_bar
from meanfield.results.sweep_report import sweep_report
from meanfield.runfile import Config
from meanfield.runfile.config import ALL_KEYS
from meanfield.runfile.products import parameters_of
from meanfield.store.sweep_file import load_sweep, read_index, write_sweep
from meanfield.store.wall_time import WallTime
from meanfield.studies.complete import run_missing
from meanfield.studies.parts import MOST_PARTS, Part
from meanfield.studies.sweep_results import Sweep
from meanfield.studies.sweeps.start import collect_sweep, held, planned

# The first member alone is checked: parts have checked theirs.
_FIRST = Part(0, MOST_PARTS)


def execute(options: argparse.Namespace) -> int:
    """Sweep; exit status 1 if a run did not complete."""
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
    with held(plan, first, resume=options.resume, overwrite=options.overwrite) as (output, stored):
        table = plan.empty() if stored is None else plan.resumed(stored)
        left = len(plan.missing(table))
        if left or stored is None:
            origin, follow = (
                (first.text, first.title),
                with_bar(options, first.title or source.stem),
            )
            with pool(options, left, first.problem) as executor:
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
        """Keep it, if it is larger than those before."""
        with suppress(ValueError):
            size = largest_need(config).size
            if size > self._size:
                self.config, self._size = config, size


def _status(sweep: Sweep) -> int:
    """Exit status, after a line on what did not complete."""
    early = [member for member in sweep.members if not member.finished]
    if not early:
        return 0
    count, one = len(early), early[0]
    runs = f"{count} of {len(sweep.members)} runs did not complete"
    say(f"meanfield: {sweep.folder}: {runs}: {one.file} {one.status or 'not finished'}.")
    return 1
