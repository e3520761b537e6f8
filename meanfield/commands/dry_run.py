"""`mf.check`: what a run would do, before it is made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from meanfield.carriers import Options
from meanfield.carriers.axes import carried
from meanfield.carriers.effects import check_options
from meanfield.carriers.options import MOST_NODES, FluctuationOptions
from meanfield.checks import checked
from meanfield.commands.check import run_facts
from meanfield.observables import usual_observables
from meanfield.problem import Problem
from meanfield.results.report import facts
from meanfield.runfile import Config
from meanfield.runfile.output import Output
from meanfield.simulation import timing
from meanfield.studies.convergence import StudyOptions
from meanfield.studies.ensemble import EnsembleOptions


class RunFacts(dict[str, Any]):
    """Facts by name, which print as `meanfield check` prints them."""

    def __repr__(self) -> str:
        return facts(list(self.items()))


@checked
def check(
    problem: Problem,
    until: float | None = None,
    *,
    save: int | Sequence[float] | None = None,
    unit: Literal["scaled", "paper", "growth"] = "scaled",
    spacing: Literal["linear", "log"] = "linear",
    first: float | None = None,
    representation: Literal[
        "auto", "density", "characteristics", "atoms", "labelled", "particles"
    ] = "auto",
    tolerance: float | None = None,
    max_degree: int | None = None,
    max_nodes: int = MOST_NODES,
    tokens: int | None = None,
    seed: int = 0,
    step: float | None = None,
    labels: int | None = None,
    perturb: float | None = None,
    fluctuations: int | None = None,
) -> RunFacts:
    """Facts of a run before it is made: sizes, truncation, memory, and how long it will take.

    The first steps are timed, for some seconds at most.

    Parameters
    ----------
    problem, until, save, unit, spacing, first, representation, tolerance, max_degree, max_nodes, \
tokens, seed, step, labels, perturb, fluctuations
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
    problem = carried(problem, representation)
    times, scaled = timing(problem, until, save, unit=unit, spacing=spacing, first=first, step=step)
    options = Options(
        representation, tolerance, max_degree, max_nodes, tokens, seed, scaled, labels, perturb
    )
    check_options(problem, options)
    output = Output(Path(), usual_observables(problem.manifold), "all")
    asked = None if fluctuations is None else FluctuationOptions(fluctuations)
    run = Config(
        *(Path("check"), "", problem, options, times, unit, None, output, ()),
        *(StudyOptions(), EnsembleOptions(), asked, {}),
    )
    return RunFacts(run_facts(run))
