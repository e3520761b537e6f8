"""`meanfield predict`: how many clusters tokens will form, and where given tokens will."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

from meanfield.arrays import FloatArray, IntArray
from meanfield.commands.options import answer, check_plot, problem_of
from meanfield.commands.progress import with_progress
from meanfield.commands.studies import check_needs_output, execute_study, pool
from meanfield.measures import Measure
from meanfield.problem import Problem
from meanfield.results.report import Report
from meanfield.results.theory_reports import prediction_report
from meanfield.runfile.array_files import tokens_from_file
from meanfield.runfile.keys import located
from meanfield.runfile.python_file import Folder
from meanfield.spectrum.cluster_counts import potential_variances
from meanfield.studies.corrected_law import default_corrected_samples
from meanfield.studies.corrected_runs import CorrectedRuns, corrected_request
from meanfield.studies.prediction import ClusterPrediction, predict_clusters

# Seconds until a sign of life.
_FIRST_LINE = 1.0
# Fewer runs for the corrected law are not worth another process: on the circle, and on the sphere
# for this degree of the potential. There a run takes a time like the fourth power of the degree.
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
        request = corrected_request(problem, count, _runs(problem, count, options), options.seed)

        def answered(study: CorrectedRuns) -> tuple[Report, ClusterPrediction]:
            linear = predict(corrected=False)
            stored = replace(linear, corrected=study.law, merge_times=study.quartiles)
            return prediction_report(stored), stored

        return execute_study(request, options, answered=answered)
    check_needs_output(options)
    with pool(options, _processes(problem, count, options), problem) as executor:
        prediction = predict(corrected=options.runs != 0, runs=options.runs, executor=executor)
    answer(options, prediction_report(prediction), prediction)
    return 0


def _runs(problem: Problem, tokens: int, options: argparse.Namespace) -> int:
    """Number of short runs, also by default."""
    if options.runs is not None:
        return int(options.runs)
    degree = len(potential_variances(problem, tokens)) - 1
    return default_corrected_samples(min(problem.manifold.dimension, 2), degree)


def _processes(problem: Problem, tokens: int, options: argparse.Namespace) -> int:
    """Processes that are worth their start, or those asked for."""
    if options.workers is not None:
        return int(options.workers)
    dimension = min(problem.manifold.dimension, 2)
    degree = len(potential_variances(problem, tokens)) - 1
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
