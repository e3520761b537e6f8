"""The file of `meanfield diagram` (HDF5): its layout, described here and nowhere else.

    /beta                    (n_betas,) inverse temperatures
    /time                    (n_times,) the papers' time
    /run                     (runs,) their numbers
    /done                    (n_betas, runs) 1 where a run is counted, else 0
    /sums, /squares          (n_betas, n_times) sum of merged pairs over them, and of its square
    /fraction                (n_betas, n_times) share of the pairs that have merged, mean
    /standard_error          (n_betas, n_times) of that mean
    attributes               diagram_format_version, meanfield_version, config, created, status,
                             result_hash, tokens, dimension, normalization, matrices, threshold,
                             motion, step, tolerance, seed, title, and the facts of origin

`config` is what was asked for as a JSON object, which `--resume` compares. Means and errors follow
from the sums and are there for other readers. Every axis has its dimension scale. The file is
written anew each time.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from meanfield.papers.merging_results import MergingDiagram, MergingTable
from meanfield.store.layout import arrays, check_counts, check_increasing
from meanfield.store.output_file import OutputFile
from meanfield.store.study_file import read_study, write_study

DIAGRAM_FORMAT_VERSION = 1

_AXES: dict[str, tuple[str, ...]] = {
    "done": ("beta", "run"),
    "sums": ("beta", "time"),
    "squares": ("beta", "time"),
    "fraction": ("beta", "time"),
    "standard_error": ("beta", "time"),
}
_INTEGERS = ("run", "done", "sums", "squares")


def write_merging(file: Path | OutputFile, diagram: MergingDiagram) -> None:
    """Write a diagram, with its attributes, into a file in place of what was there."""
    values = {
        "done": diagram.table.done.astype(np.int64),
        "sums": diagram.table.sums,
        "squares": diagram.table.squares,
        "fraction": diagram.fraction,
        "standard_error": diagram.standard_error,
    }
    runs = np.arange(diagram.table.done.shape[1])
    scales = {"beta": diagram.betas, "time": diagram.times, "run": runs}
    sizes = {"tokens": diagram.tokens, "dimension": diagram.dimension}
    write_study(
        file,
        "diagram",
        DIAGRAM_FORMAT_VERSION,
        sizes | diagram.attributes,
        scales,
        values,
        _AXES,
        {"time": "papers' time"},
    )


def load_merging(path: str | os.PathLike[str]) -> MergingDiagram:
    """Diagram in a file of `meanfield diagram`, finished or not.

    Raises
    ------
    ValueError
        If there is no such file, or it is not one of a format this version knows.

    Examples
    --------
    >>> load_merging("nothing.h5")
    Traceback (most recent call last):
    ...
    meanfield.store.reading.FormatError: nothing.h5: no such file.
    """
    required = ("tokens", "dimension", "normalization", "matrices", "threshold", "motion")
    with read_study(path, "diagram", DIAGRAM_FORMAT_VERSION, *required) as (file, attributes):
        data = arrays(file, _AXES, _INTEGERS)
        check_increasing("time", data["time"])
        check_counts("done", data["done"], 1)
        tokens, dimension = int(attributes.pop("tokens")), int(attributes.pop("dimension"))
        if not (np.all(np.isfinite(data["beta"])) and np.all(np.diff(data["beta"]) > 0)):
            raise ValueError("beta holds other numbers than finite ones, increasing")
        if tokens < 2 or not len(data["beta"]) or not len(data["time"]):
            raise ValueError("a diagram needs at least two tokens, one beta and one time")
        most = data["done"].sum(axis=1, dtype=np.int64)[:, None] * (tokens * (tokens - 1) // 2)
        if np.any(data["sums"] < 0) or np.any(data["sums"] > most):
            raise ValueError("sums holds other numbers than 0 to the pairs of the runs done")
        table = MergingTable(
            data["done"].astype(bool),
            data["sums"].astype(np.int64),
            data["squares"].astype(np.int64),
        )
        return MergingDiagram(data["beta"], data["time"], tokens, dimension, table, attributes)
