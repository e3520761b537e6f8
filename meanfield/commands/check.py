"""`meanfield check`: a dry run that estimates memory and time."""

from __future__ import annotations

import argparse
import textwrap
import time as clock
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from meanfield.api import planned, simulate
from meanfield.arguments import checked_as
from meanfield.bases.coordinates import coordinate_count
from meanfield.carriers import Representation, represent
from meanfield.carriers.automatic import carriers, hands_over, largest_degree
from meanfield.carriers.idle import STATIONARY, is_stationary
from meanfield.carriers.options import FluctuationOptions, usual_degree
from meanfield.commands.interrupts import check_interrupt, patience
from meanfield.commands.memory import check_memory, largest_need, starting_need, tell_study_memory
from meanfield.commands.progress import say
from meanfield.errors import SimulationError
from meanfield.figures.data.saved_times import is_logarithmic
from meanfield.finite.fluctuations import covariance_bytes, settings_of
from meanfield.measures import Density, LabelledDensity
from meanfield.problem import Problem
from meanfield.problem_facts import format_parts
from meanfield.recording import evolution_of
from meanfield.results.report import facts
from meanfield.results.run_report import truncation_summary
from meanfield.runfile import Config, load_config
from meanfield.runfile.output import Output
from meanfield.runs import NO_RATES
from meanfield.simulation import evolve
from meanfield.spectrum.stability import dominant_degree, growth_rate_max
from meanfield.terms.frequencies import GivenFrequencies

_NO_HAND_OVER = "no hand-over with functions of time: if clusters form, take characteristics"
# Longest text of a problem: an initial law may have a thousand modes.
_LINE = 160
_TRIAL_SECONDS = 1.0
_LONG_TRIAL_SECONDS = 3.0
# Limit of the first step, which may have to compile kernels.
_WARM_UP_SECONDS = 20.0
# After a longer silence a user thinks that the command hangs.
_SILENT_SECONDS = 3.0
# Characteristics on the sphere after clusters form: nodes / sqrt(beta / tolerance), and seconds a
# node of a step of twelve right-hand sides. Measured with SA and tolerance 1e-3: 80,000 nodes at
# beta = 3, 147,000 at 6, 171,000 at 12; with tolerance 1e-4: 444,000 at beta = 6.
_EDGE_NODES = 1850.0
_NODE_SECONDS = 4e-6
# Shares of the end at which the trial reads the clock. The second and third lie in one step, so
# the time between them is that of saving alone.
_SHARES = (0.0, 0.5e-6, *(4.0**k for k in range(-10, 1)))


def check_command(options: argparse.Namespace) -> int:
    """Dry run: what would be computed, estimated memory and time."""
    config = load_config(options.config, options.set, code=options.code)
    if config.unexecuted:
        print(facts(_unexecuted(config)))
        return 0
    check_memory(config)
    tell_study_memory(config)
    output = f"{config.output.path} (state: {config.output.state})"
    print(facts([("run file", f"{config.source}: valid"), *run_facts(config, output)]))
    return 0


def run_facts(config: Config, output: str = "") -> list[tuple[str, Any]]:
    """Facts of a run that writes to `output`: sizes, memory, and time from its first steps."""
    problem = config.problem
    representation = represent(problem, config.options)
    end = config.times[-1]
    plain = problem.layering.keeps_time
    has_rates = problem.is_isotropic and plain
    turning = problem.frequencies is not None and plain and problem.unlabelled.is_isotropic
    rate = growth_rate_max(problem) if has_rates or turning else float("nan")
    pairs: list[tuple[str, Any]] = [
        ("problem", textwrap.shorten(repr(problem), _LINE, placeholder=" ...")),
        ("normalization", problem.normalization),
        ("attention", _attention(problem)),
        *format_parts(problem).items(),
        ("symmetry", _symmetry(config)),
        ("representation", f"{representation.name}, {_size(config, representation)}"),
        ("larger degrees", _next_doubling(config, representation)),
        ("characteristics", _lines(config, representation)),
        ("truncation", _truncation(config, representation)),
        ("dominant degree", _dominant(problem, has_rates)),
        ("end", _end(problem, end, rate)),
        ("saves", len(config.times)),
        ("output", output),
        ("memory", _memory(config, representation)),
    ]
    pairs = [(name, text) for name, text in pairs if text]
    if config.fluctuations is not None:
        pairs.append(("fluctuations", _fluctuations(config, config.fluctuations)))
    if is_stationary(problem, config.options):
        pairs.append(("note", STATIONARY))
    with patience():
        on_top = "" if config.fluctuations is None else "; finding fluctuations comes on top"
        pairs.append(("time", _estimated_time(config, representation) + on_top))
    return pairs


def _unexecuted(config: Config) -> list[tuple[str, Any]]:
    """Facts of a run file whose Python is not executed: no rates, no sizes, no times."""
    named = ", ".join(config.unexecuted)
    return [
        ("run file", f"{config.source}: valid, but for its Python"),
        ("not executed", f"{named}: read it, then --allow-code executes it and checks the rest"),
        ("saves", len(config.times)),
        ("output", f"{config.output.path} (state: {config.output.state})"),
    ]


def _symmetry(config: Config) -> str:
    """Symmetry of the run; empty for a run without one."""
    symmetry = evolution_of(config).symmetry
    return "" if symmetry is None else symmetry.summary


def _memory(config: Config, representation: Representation) -> str:
    """Memory at the start, and at the largest size."""
    start, largest = starting_need(config, representation), largest_need(config)
    text = f"about {start.size / 2**20:.0f} MiB"
    if largest.size <= start.size:
        return text
    return f"{text}; {largest.size / 2**20:.0f} MiB if it grows to {largest.what}"


def _fluctuations(config: Config, options: FluctuationOptions) -> str:
    """Degrees of the linearised run, largest size of its covariance, and its memory."""
    settings = settings_of(config.problem, config.times, options, unit=config.unit)
    size = coordinate_count(config.problem.manifold.dimension, settings.most)
    return (
        f"linearised, moments to degree {options.degree}; a covariance of up to {size} x {size}, "
        f"degree {settings.most}: about {max(covariance_bytes(size) / 2**20, 1.0):.0f} MiB"
    )


def _attention(problem: Problem) -> str:
    """Number of heads and largest beta, in words."""
    of = problem.attention
    if of is None:
        return "one head of numbers, a kernel"
    heads = "1 head" if len(of.heads) == 1 else f"{len(of.heads)} heads"
    numbers = " of numbers" if problem.is_isotropic else ""
    return f"{heads}{numbers}; beta {problem.beta:.6g}, the largest beta |B|_2"


def _dominant(problem: Problem, has_rates: bool) -> int | str | None:
    """Degree that grows fastest, or a text where it is not defined."""
    if problem.frequencies is not None:
        return "about incoherence: meanfield stability --config"
    return dominant_degree(problem) if has_rates else NO_RATES


def _end(problem: Problem, end: float, rate: float) -> str:
    if not problem.layering.is_flow:
        return f"{end:g} layers"
    return f"t = {end:.6g} scaled{_growth_times(end, rate)}"


def _growth_times(end: float, rate: float) -> str:
    if np.isnan(rate):
        return ""
    return f" ({end * rate:.3g} growth times)" if rate > 0 else " (nothing grows)"


def _size(config: Config, representation: Representation) -> str:
    problem, options = config.problem, config.options
    measure = representation.measure(representation.state)
    if isinstance(measure, Density):
        degree, largest = measure.max_degree, largest_degree(problem, options)
        grows = f" growing to {largest} as needed" if largest > degree else ""
        if isinstance(measure, LabelledDensity):
            exact = isinstance(problem.frequencies, GivenFrequencies)
            more = "" if exact else " stored, more taken as needed"
            return f"{len(measure.labels)} labels{more}, degree {degree}{grows}"
        _, *others = carriers(problem, options)
        if options.name == "auto" and problem.time_functions and not problem.flow.diffusivity:
            grows += f"; {_NO_HAND_OVER}"
        then = f", then {' and '.join(others)}" if others else ""
        return f"degree {degree}{grows}{then}"
    what = {"characteristics": "nodes", "atoms": "atoms"}.get(representation.name, "tokens")
    return f"{len(measure.points)} {what}"


def _truncation(config: Config, representation: Representation) -> str | None:
    """Truncation errors of this carrier and of its successors."""
    problem, options = config.problem, config.options
    measure = representation.measure(representation.state)
    if isinstance(measure, Density):
        plain = not isinstance(measure, LabelledDensity)
        names = carriers(problem, options) if plain else [representation.name]
        return truncation_summary(problem, options, names)
    tokens = len(measure.points) if measure.weights is None else None
    return truncation_summary(problem, options, [representation.name], tokens)


def _lines(config: Config, representation: Representation) -> str | None:
    """Number of characteristics on the sphere after clusters form, and the cost of a step."""
    problem, options = config.problem, config.options
    coming = representation.name == "density" and hands_over(problem, options)
    if not problem.manifold.point_shape or not (coming or representation.name == "characteristics"):
        return None
    tolerance = options.cell_tolerance(problem)
    nodes = _EDGE_NODES * np.sqrt(max(abs(problem.beta), 1.0) / tolerance)
    text = f"tolerance {tolerance:g}: some {nodes:.2g} nodes where clusters form"
    if nodes > options.max_nodes:
        return f"{text}, more than max_nodes = {options.max_nodes}: raise the tolerance"
    return f"{text}, about {_NODE_SECONDS * nodes:.2g} s of one processor a step"


def _next_doubling(config: Config, representation: Representation) -> str | None:
    """Cost of a density on the sphere beyond its default degree."""
    problem, options = config.problem, config.options
    ends = not hands_over(problem, options) and options.max_degree is None
    if representation.name != "density" or not problem.manifold.point_shape or not ends:
        return None
    degree = min(2 * usual_degree(problem), problem.manifold.largest_degree)
    # A transform takes eight times as long, a step is half as long, and caches are too small.
    return f"max_degree = {degree} is allowed; a unit of time there takes ten times as long"


def _estimated_time(config: Config, representation: Representation) -> str:
    """Time of a run, extrapolated from a trial of a second; measured if the run ends in it."""
    end = float(config.times[-1])
    clocks: list[float] = []
    logarithmic = is_logarithmic(config.times) or not config.problem.layering.is_flow
    # Logarithmic times: the pace of one decade does not predict that of the next. Layers: nothing
    # can be saved inside them.
    times = config.times if logarithmic else np.array(_SHARES) * end
    began, silent = clock.perf_counter(), True

    def watch() -> None:
        nonlocal silent
        check_interrupt()
        if silent and clock.perf_counter() > began + _SILENT_SECONDS:
            silent = False
            say(f"check: timing the first steps, up to {_WARM_UP_SECONDS:g} s")
        # The second snapshot ends the first step.
        warm = clocks[1] + _LONG_TRIAL_SECONDS if len(clocks) > 1 else began + _WARM_UP_SECONDS
        if clock.perf_counter() > warm:
            raise TimeoutError

    evolution = replace(evolution_of(config), stop=None)
    stream = evolve(evolution, representation=representation, times=times, watch=watch)
    reached = 0.0
    try:
        for snapshot in stream:
            evolution.observe(snapshot)
            clocks.append(clock.perf_counter())
            step = snapshot.checkpoint.step or 0.0
            reached = max(snapshot.time, snapshot.checkpoint.time + step)
            late = not logarithmic and len(clocks) > 3
            if late and clocks[-1] - clocks[1] > _TRIAL_SECONDS:
                break
    except TimeoutError:
        if logarithmic or len(clocks) < 3 or reached == 0.0:
            spent = clock.perf_counter() - began
            if reached == 0.0:
                first = float(times[:2][-1])
                least = f"more than {spent * end / first:.1g} s"
                return f"{least}: the first {spent:.2g} s do not reach t = {first:g}"
            return f"more than {spent:.2g} s, in which the run comes to t = {reached:.3g}"
        clocks.append(clock.perf_counter())
    except SimulationError as error:
        return f"the run would fail: {error}"
    if logarithmic:
        return f"about {clock.perf_counter() - began:.2g} s"
    # Compilers and cold caches slow down the first two.
    saving = clocks[2] - clocks[1]
    stepping = clocks[-1] - clocks[1] - (len(clocks) - 2) * saving
    share = min(reached / end, 1.0)
    total = max(stepping, 0.0) / share + len(config.times) * saving
    if share == 1.0:
        return f"about {total:.2g} s"
    if hands_over(config.problem, config.options):
        # Atoms take longer steps than a density, so its pace does not predict theirs.
        if stepping <= 0.0:
            return f"about {saving:.2g} s a saved time as it begins, beside which steps are cheap"
        pace = stepping / reached
        return f"about {pace:.2g} s a unit of time as it begins; what takes over has its own pace"
    return (
        f"about {total:.2g} s at the pace of the first {100 * share:.2g} %; more where the "
        "measure steepens"
    )


class RunFacts(dict[str, Any]):
    """Facts by name; they print as `meanfield check` prints them."""

    def __repr__(self) -> str:
        return facts(list(self.items()))


@checked_as(simulate)
def check(*arguments: Any, **options: Any) -> RunFacts:
    """Facts of a run before it starts: sizes, truncation, memory and estimated time.

    The first steps are timed, for about 20 seconds at most. Nothing is written.

    Parameters
    ----------
    *arguments, **options
        As for `simulate`.

    Returns
    -------
    RunFacts: a dict of str to str or number
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
