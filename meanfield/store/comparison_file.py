"""The file of `meanfield compare` (HDF5): its layout, described here and nowhere else.

    /time                    (n_times,) scaled time, 0 first
    /tokens                  (n_sizes,) sizes of the particle systems
    /repetition              (runs,) their numbers
    /distances               (n_sizes, runs, n_times) in radians, NaN where not yet run
    /widths                  the same: width of the interval in which each is known to lie
    /onset_time              (n_sizes,) ln n / (2 lambda_max)
    /mean_distance, /standard_error, /amplification     (n_sizes, n_times)
    /exponent, /prefactor, /linear_amplification        (n_times,)
    /exponent_interval       (n_times, 2) 95 % confidence
    /certified_exponent      (n_times,) of what distances are proved to grow by at most, or NaN
    /certified_distance      (n_sizes, n_times) bound of mean_distance from that at time 0
    attributes               comparison_format_version, meanfield_version, config, created, status,
                             result_hash, metric, seed, note, headline_time, and the facts of
                             origin and problem

Everything but distances, onset times and certified exponents follows from these and is there for
other readers. Files of earlier versions have nothing certified.
Every axis has its dimension scale. The file is small and written anew each time.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from meanfield.store.layout import arrays, check_increasing, check_sizes
from meanfield.store.output_file import OutputFile
from meanfield.store.study_file import read_study, write_study
from meanfield.studies.convergence_results import ConvergenceStudy

COMPARISON_FORMAT_VERSION = 2

_AXES: dict[str, tuple[str, ...]] = {
    "distances": ("tokens", "repetition", "time"),
    "widths": ("tokens", "repetition", "time"),
    "onset_time": ("tokens",),
    "mean_distance": ("tokens", "time"),
    "standard_error": ("tokens", "time"),
    "amplification": ("tokens", "time"),
    "exponent": ("time",),
    "prefactor": ("time",),
    "linear_amplification": ("time",),
    "exponent_interval": ("time", "bound"),
    "certified_exponent": ("time",),
    "certified_distance": ("tokens", "time"),
}
_LATER = ("certified_exponent", "certified_distance")


def write_comparison(file: Path | OutputFile, study: ConvergenceStudy) -> None:
    """Write a study, with its attributes, into a file in place of what was there."""
    facts = {
        "metric": study.metric,
        "note": study.note,
        "headline_time": study.exponent_time,
        "growth_rate_max": study.growth_rate_max,
    }
    scales = {
        "time": study.times,
        "tokens": study.tokens,
        "repetition": np.arange(study.distances.shape[1]),
        "bound": np.arange(2),
    }
    values = {
        "distances": study.distances,
        "widths": study.widths,
        "onset_time": study.onset_times,
        "mean_distance": study.mean_distance,
        "standard_error": study.standard_error,
        "amplification": study.amplification,
        "exponent": study.exponents,
        "prefactor": study.prefactors,
        "linear_amplification": study.linear_amplification,
        "exponent_interval": study.exponent_intervals,
        "certified_exponent": study.certified_exponents,
        "certified_distance": study.certified_distance,
    }
    write_study(
        file,
        "comparison",
        COMPARISON_FORMAT_VERSION,
        study.attributes | facts,
        scales,
        values,
        _AXES,
        {"time": "scaled time"},
    )


def load_comparison(path: str | os.PathLike[str]) -> ConvergenceStudy:
    """Study in a file of `meanfield compare`, finished or not.

    Raises
    ------
    ValueError
        If there is no such file, or it is not one of a format this version knows.

    Examples
    --------
    >>> load_comparison("nothing-compare.h5")
    Traceback (most recent call last):
    ...
    meanfield.store.reading.FormatError: nothing-compare.h5: no such file.
    """
    required = ("metric", "note", "growth_rate_max")
    study = read_study(path, "comparison", COMPARISON_FORMAT_VERSION, *required)
    with study as (file, attributes):
        axes = {name: of for name, of in _AXES.items() if name in file or name not in _LATER}
        table = arrays(file, axes, ("tokens", "repetition", "bound"))
        check_increasing("time", table["time"])
        check_sizes("tokens", table["tokens"])
        if np.any(table["distances"] < 0):
            raise ValueError("distances holds negative numbers")
        return ConvergenceStudy(
            table["time"],
            table["tokens"],
            table["distances"],
            attributes["metric"],
            float(attributes["growth_rate_max"]),
            table["onset_time"],
            attributes["note"],
            attributes,
            widths=table["widths"],
            certified_exponents=table.get("certified_exponent", np.full((), np.nan)),
        )
