"""The file of `meanfield ensemble` (HDF5): its layout, described here and nowhere else.

    /time                    (n_times,) multiples of the onset time
    /tokens                  (n_sizes,) sizes N
    /run                     (runs,) their numbers
    /cluster                 (width,) their numbers, from the heaviest, 0
    /component               (3,) only on the sphere
    /onset_time              (n_sizes,) ln N / (2 lambda_max), scaled time
    /counts                  (n_sizes, runs, n_times) number of clusters, -1 where not yet run
    /mass                    (n_sizes, runs, n_times, width) NaN beyond the count
    /centre                  the same, mean angle in (-pi, pi]; on the sphere (..., width, 3)
    /mean_count, /standard_error         (n_sizes, n_times)
    /predicted_mean          (n_sizes,) linear law in closed form; NaN if tokens are not uniform
    /count                   (most + 1,) numbers of clusters, 0 first
    /distribution            (n_sizes, n_times, most + 1) share of the runs with each count
    attributes               ensemble_format_version, meanfield_version, config, created, status,
                             result_hash, carrier, seed, tolerance, title, and the facts of
                             origin and problem

Means, errors and distributions follow from the counts and are there for other readers. Every axis
has its dimension scale. The file is written anew each time.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.store.layout import arrays, check_counts, check_increasing, check_sizes
from meanfield.store.output_file import OutputFile
from meanfield.store.study_file import read_study, write_study
from meanfield.studies.ensemble_results import Ensemble

ENSEMBLE_FORMAT_VERSION = 1

_AXES: dict[str, tuple[str, ...]] = {
    "onset_time": ("tokens",),
    "counts": ("tokens", "run", "time"),
    "mass": ("tokens", "run", "time", "cluster"),
    "centre": ("tokens", "run", "time", "cluster"),
    "mean_count": ("tokens", "time"),
    "standard_error": ("tokens", "time"),
    "predicted_mean": ("tokens",),
    "distribution": ("tokens", "time", "count"),
}
_INTEGERS = ("tokens", "run", "cluster", "count", "component", "counts")


def write_ensemble(file: Path | OutputFile, ensemble: Ensemble) -> None:
    """Write an ensemble, with its attributes, into a file in place of what was there."""
    shares = _shares(ensemble)
    values = {
        "onset_time": ensemble.onset_times,
        "counts": ensemble.counts,
        "mass": ensemble.mass,
        "centre": ensemble.centre,
        "mean_count": ensemble.mean_count,
        "standard_error": ensemble.standard_error,
        "predicted_mean": ensemble.predicted,
        "distribution": shares,
    }
    scales = {
        "time": ensemble.times,
        "tokens": ensemble.tokens,
        "run": np.arange(ensemble.counts.shape[1]),
        "cluster": np.arange(ensemble.mass.shape[3]),
        "count": np.arange(shares.shape[2]),
    }
    axes = _axes(ensemble.centre.ndim == 5)
    if ensemble.centre.ndim == 5:
        scales["component"] = np.arange(ensemble.centre.shape[4])
    write_study(
        file,
        "ensemble",
        ENSEMBLE_FORMAT_VERSION,
        _renamed(ensemble.attributes, "representation", "carrier"),
        scales,
        values,
        axes,
        {"time": "onset time", "onset_time": "scaled time"},
    )


def load_ensemble(path: str | os.PathLike[str]) -> Ensemble:
    """Ensemble in a file of `meanfield ensemble`, finished or not.

    Raises
    ------
    ValueError
        If there is no such file, or it is not one of a format this version knows.

    Examples
    --------
    >>> load_ensemble("nothing-ensemble.h5")
    Traceback (most recent call last):
    ...
    meanfield.store.reading.FormatError: nothing-ensemble.h5: no such file.
    """
    with read_study(path, "ensemble", ENSEMBLE_FORMAT_VERSION) as (file, attributes):
        table = arrays(file, _axes("component" in file), _INTEGERS)
        check_increasing("time", table["time"])
        check_sizes("tokens", table["tokens"])
        # -1 where not yet run.
        check_counts("counts", table["counts"] + 1, len(table["cluster"]) + 1)
        return Ensemble(
            table["time"],
            table["tokens"],
            table["onset_time"],
            table["counts"],
            table["mass"],
            table["centre"],
            table["predicted_mean"],
            _renamed(attributes, "carrier", "representation"),
        )


def _renamed(attributes: Mapping[str, Any], old: str, new: str) -> dict[str, Any]:
    """Attributes, one under another name: files call the representation carrier."""
    return {new if name == old else name: value for name, value in attributes.items()}


def _axes(vectors: bool) -> dict[str, tuple[str, ...]]:
    """Axes of the datasets; centres are numbers, or vectors."""
    return _AXES | ({"centre": (*_AXES["centre"], "component")} if vectors else {})


def _shares(ensemble: Ensemble) -> FloatArray:
    """Distributions as an array over size, time and count."""
    sizes, times = ensemble.mean_count.shape
    shares = np.zeros((sizes, times, max(int(ensemble.counts.max()), 0) + 1))
    for i in range(sizes):
        for j in range(times):
            for count, share in ensemble.distribution(i, j).items():
                shares[i, j, count] = share
    return shares
