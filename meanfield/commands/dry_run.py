"""`mf.check`: what a run would do, before it is made."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Any

from meanfield.api import planned, simulate
from meanfield.arguments import checked_as
from meanfield.commands.check import run_facts
from meanfield.results.report import facts
from meanfield.runfile import Config
from meanfield.runfile.output import Output


class RunFacts(dict[str, Any]):
    """Facts by name, which print as `meanfield check` prints them."""

    def __repr__(self) -> str:
        return facts(list(self.items()))


@checked_as(simulate)
def check(*arguments: Any, **options: Any) -> RunFacts:
    """Facts of a run before it is made: sizes, truncation, memory, and how long it will take.

    The first steps are timed, for some seconds at most. Nothing is written.

    Parameters
    ----------
    *arguments, **options
        As for `simulate`.

    Returns
    -------
    dict of str to str or number
        Prints as `meanfield check` does.

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=4.0), mf.USA)
    >>> found = check(problem, until=10.0, representation="particles", tokens=100)
    >>> found["representation"], found["saves"]
    ('particles, 100 tokens', 61)
    """
    asked = signature(simulate).bind(*arguments, **options)
    asked.apply_defaults()
    evolution, record, linearised = planned(**asked.arguments)
    output = Output(record.path, evolution.observables, record.state)
    carrier, times, unit = evolution.options, evolution.times, evolution.unit
    name, problem = Path("check"), evolution.problem
    run = Config(name, problem, carrier, times, unit, output, fluctuations=linearised)
    return RunFacts(run_facts(run))
