"""Any file of results: what it says it is decides what it is read as.

`meanfield run` writes a `Run`, `compare` a `ConvergenceStudy`, `ensemble` an `Ensemble`,
`diagram` a `MergingDiagram`, `replay` a `Replay`. `sweep` makes a folder of runs with an index, a
`Sweep`.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Literal, cast

from meanfield.checks import checked
from meanfield.runs import Run
from meanfield.store.reading import opened
from meanfield.store.run_file import read_run
from meanfield.store.study_file import Kind, study_kind
from meanfield.store.sweep_file import is_sweep, load_sweep

if TYPE_CHECKING:
    from meanfield.models.replay import Replay
    from meanfield.papers.merging_results import MergingDiagram
    from meanfield.studies.convergence_results import ConvergenceStudy
    from meanfield.studies.ensemble_results import Ensemble
    from meanfield.studies.sweep_results import Sweep

    Result = Run | ConvergenceStudy | Ensemble | MergingDiagram | Replay | Sweep

# Wings have studies of their own: each file is loaded when it is read.
_STUDIES: dict[Kind, tuple[str, str]] = {
    "comparison": ("comparison_file", "load_comparison"),
    "ensemble": ("ensemble_file", "load_ensemble"),
    "diagram": ("merging_file", "load_merging"),
    "replay": ("replay_file", "load_replay"),
}


@checked
def load(path: str | os.PathLike[str], states: Literal["all", "last", "none"] = "all") -> Result:
    """Load what `meanfield run`, `compare`, `ensemble`, `diagram`, `replay` or `sweep` wrote.

    Parameters
    ----------
    path : path
        The file; what it says it is counts, not its name. Of a sweep its folder.
    states : str
        "all", "last" or "none": which states of a run to read; the others become None.

    Returns
    -------
    Run, ConvergenceStudy, Ensemble, MergingDiagram, Replay or Sweep

    Raises
    ------
    ValueError
        If there is no such file, or it is another or damaged; or `states` is another word.

    Examples
    --------
    >>> load("nothing.h5")
    Traceback (most recent call last):
    ...
    meanfield.store.reading.FormatError: nothing.h5: no such file.
    """
    if is_sweep(path):
        return load_sweep(path)
    with opened(path) as file:
        kind = study_kind(file)
        if kind is None:
            # At once: its checksum is over the whole file, which may be large.
            return read_run(path, file, states)
    module, function = _STUDIES[kind]
    return cast("Result", getattr(import_module(f"meanfield.store.{module}"), function)(path))
