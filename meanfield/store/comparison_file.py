"""The file of `meanfield compare`: that of every study, with the arrays of `ConvergenceStudy`."""

from __future__ import annotations

import os

from meanfield.store.study_file import read_result
from meanfield.studies.convergence_results import ConvergenceStudy


def load_comparison(path: str | os.PathLike[str]) -> ConvergenceStudy:
    """Study in a file of `meanfield compare`, finished or not."""
    study: ConvergenceStudy = read_result(path, "comparison")
    return study
