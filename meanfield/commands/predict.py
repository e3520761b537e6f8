"""`meanfield predict` and `phase`: clusters of tokens, and noise at which order sets in."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np

from meanfield.arrays import FloatArray, IntArray
from meanfield.commands.compile import compile_for_workers
from meanfield.commands.options import answer, check_plot, flow_of, kernel_of, problem_of
from meanfield.commands.progress import say, with_progress
from meanfield.commands.studies import check_needs_output, execute_study, pool
from meanfield.errors import one_line
from meanfield.measures import Measure
from meanfield.problem import Problem
from meanfield.results.report import Report
from meanfield.results.theory_reports import phase_report, prediction_report
from meanfield.runfile.keys import located
from meanfield.runfile.python_file import Folder, tokens_from_file
from meanfield.spaces import manifold_of
from meanfield.spectrum.cluster_counts import potential_variances
from meanfield.stationary.branches import Branch, check_narrowness
from meanfield.stationary.continuation import ContinuationError
from meanfield.studies.corrected_law import (
    CorrectedRuns,
    corrected_request,
    default_corrected_samples,
)
from meanfield.studies.phase import PhaseDiagram, phase_diagram, phase_request
from meanfield.studies.prediction import ClusterPrediction, check_degree, predict_clusters

# Seconds until the first line of progress.
_FIRST_LINE = 1.0
# Runs for the corrected law that pay for another process, on the circle and, with a potential of
# this degree, on the sphere. There the time of a run grows like the fourth power of the degree.
_RUNS_ON_CIRCLE, _RUNS_ON_SPHERE, _DEGREE = 1000, 100, 13


def predict_command(options: argparse.Namespace) -> int:
    """How many clusters tokens will form, and where given tokens will."""
    problem = problem_of(options)
    check_plot(options)
    tokens = _tokens(problem, options)
    count = tokens if isinstance(tokens, int) else len(tokens)
    predict = partial(
        predict_clusters,
        problem,
        tokens,
        samples=options.samples,
        seed=options.seed,
        progress=_progress,
    )
    if options.output is not None:
        _, degree = _potential(problem, count)
        check_degree(problem.manifold.dimension, degree, problem.beta)
        runs = _runs(problem, count, options)
        if runs == 0:
            raise ValueError("-o keeps short runs, and there are none: give --runs N, or no -o.")
        request = corrected_request(problem, count, runs, options.seed)

        def answered(study: CorrectedRuns) -> tuple[Report, ClusterPrediction]:
            linear = predict(corrected=False)
            stored = replace(linear, corrected=study.law, merge_times=study.quartiles)
            return prediction_report(stored), stored

        return execute_study(request, options, answered=answered)
    check_needs_output(options)
    compile_first = partial(compile_for_workers, problem)
    with pool(options, _processes(problem, count, options), compile_first) as executor:
        prediction = predict(corrected=options.runs != 0, runs=options.runs, executor=executor)
    answer(options, prediction_report(prediction), prediction)
    return 0


def _runs(problem: Problem, tokens: int, options: argparse.Namespace) -> int:
    """Number of short runs: --runs, or the default."""
    if options.runs is not None:
        return int(options.runs)
    return default_corrected_samples(*_potential(problem, tokens))


def _potential(problem: Problem, tokens: int) -> tuple[int, int]:
    """Dimension, at most 2, and degree of the potential whose maxima are counted."""
    return min(problem.manifold.dimension, 2), len(potential_variances(problem, tokens)) - 1


def _processes(problem: Problem, tokens: int, options: argparse.Namespace) -> int:
    """Number of processes: --workers, or as many as pay for their start."""
    if options.workers is not None:
        return int(options.workers)
    dimension, degree = _potential(problem, tokens)
    worth = _RUNS_ON_CIRCLE
    if dimension == 2:
        worth = max(1, int(_RUNS_ON_SPHERE * (_DEGREE / max(degree, 1)) ** 4))
    return _runs(problem, tokens, options) // worth


def _progress(chunks: Iterable[IntArray], samples: int, name: str) -> Iterable[IntArray]:
    return with_progress(chunks, samples, name, weight=len, first_line=_FIRST_LINE)


def _tokens(problem: Problem, options: argparse.Namespace) -> int | FloatArray:
    """Number of tokens, or the tokens of a file."""
    if options.input is None:
        if options.tokens is None:
            raise ValueError("--tokens N or --input TOKENS.npy is required.")
        return int(options.tokens)
    law = tokens_from_file(Folder(Path()), problem, options.input)
    with located(f"{options.input}:"):
        points = cast(Measure, law.build(problem.manifold)).points
    if options.tokens not in (None, len(points)):
        raise ValueError(
            f"--tokens {options.tokens}, but {options.input} holds {len(points)} tokens: leave "
            "out --tokens."
        )
    return points


_MOST_BETAS = 10_000
# A grid through 0 contains it up to rounding only; beta = 0 is the linear kernel.
_ZERO = 1e-12
# From this degree on a branch takes so long that a line announces it.
_LONG_DEGREE = 350


def phase_command(options: argparse.Namespace) -> int:
    """Noise at which order sets in, with or without a jump."""
    try:
        return _phase(options)
    except ContinuationError as error:
        say(f"meanfield: {one_line(str(error))}")
        return 1


def _phase(options: argparse.Namespace) -> int:
    betas = inverse_temperatures(options.beta)
    if options.kernel == "linear" and len(betas) > 1:
        raise ValueError("--kernel linear does not depend on beta: give --beta 0, not a range.")
    problem_at = _family(options)
    # A beta that is too large is refused before any is computed.
    degrees = {beta: check_narrowness(problem_at(beta)) for beta in (betas[0], betas[-1])}
    longest = max(degrees, key=lambda beta: degrees[beta])
    check_plot(options)
    if degrees[longest] >= _LONG_DEGREE:
        say(f"phase: beta = {longest:g} needs {degrees[longest]} degrees: this may take minutes.")
    if options.output is not None:
        problems = [problem_at(beta) for beta in betas]
        request = phase_request(problem_at, problems, betas, "phase")
        request = replace(request, text=json.dumps(request.options.facts()))
        return execute_study(request, options, things="points")
    check_needs_output(options, "workers", "scheduler")
    last: list[Branch] = []

    def watch(branches: Iterable[Branch]) -> Iterator[Branch]:
        note = "beta = {0.problem.zonal.kernel.beta:g}".format
        quiet = len(betas) == 1
        for branch in with_progress(branches, len(betas), "phase", note=note, quiet=quiet):
            last[:] = [branch]
            yield branch

    diagram = phase_diagram(problem_at, betas, progress=watch)
    if options.plot:
        _draw(diagram, last[0], options.plot)
    answer(options, phase_report(diagram))
    return 0


def inverse_temperatures(numbers: Sequence[float]) -> list[float]:
    """Values of --beta: one, or the range LO HI COUNT.

    >>> inverse_temperatures([3.0]), inverse_temperatures([1.0, 2.0, 3.0])
    ([3.0], [1.0, 1.5, 2.0])
    """
    if len(numbers) == 1:
        return list(numbers)
    if len(numbers) != 3:
        raise ValueError(f"--beta takes B or LO HI COUNT, got {len(numbers)} numbers.")
    low, high, count = numbers
    if not low < high:
        raise ValueError(f"--beta LO HI COUNT needs LO < HI, got {low:g} and {high:g}.")
    if count != int(count) or not 2 <= count <= _MOST_BETAS:
        raise ValueError(
            f"--beta LO HI COUNT needs a whole COUNT from 2 to {_MOST_BETAS}, got {count:g}."
        )
    betas = np.linspace(low, high, int(count))
    betas[np.abs(betas) < _ZERO * (high - low)] = 0.0
    return [float(beta) for beta in betas]


def _family(options: argparse.Namespace) -> Callable[[float], Problem]:
    """The problem as a function of beta."""
    manifold, flow = manifold_of(options.manifold), flow_of(options)
    return lambda beta: Problem(manifold, kernel_of(options.kernel, beta), flow)


def _draw(diagram: PhaseDiagram, branch: Branch, path: str) -> None:
    if len(diagram.points) > 1:
        from meanfield.figures.draw import save_plot

        save_plot(diagram, path)
    else:
        from meanfield.figures.draw.bifurcation import save_bifurcation

        save_bifurcation(diagram.points[0], branch, path)
