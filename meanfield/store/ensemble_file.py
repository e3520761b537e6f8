"""The file of `meanfield ensemble`: that of every study, with the arrays of `Ensemble`."""

from __future__ import annotations

import os

from meanfield.store.study_file import read_result
from meanfield.studies.ensemble_results import Ensemble


def load_ensemble(path: str | os.PathLike[str]) -> Ensemble:
    """Ensemble in a file of `meanfield ensemble`, finished or not."""
    ensemble: Ensemble = read_result(path, "ensemble")
    return ensemble
