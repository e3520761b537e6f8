"""Any file of results: its attributes decide how it is read.

`meanfield run` writes a `Run`, `compare` a `ConvergenceStudy`, `ensemble` an `Ensemble`,
`diagram` a `MergingDiagram`, `replay` a `Replay`, and studies in Python what they return. `sweep`
makes a folder of runs with an index, a `Sweep`.
"""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from meanfield.arguments import checked
from meanfield.described import StudyResult
from meanfield.names import VIEWS
from meanfield.runs import Run
from meanfield.status import COMPLETED
from meanfield.store.layout import opened
from meanfield.store.locks import replaced_at_once
from meanfield.store.provenance import provenance
from meanfield.store.run_file import read_run
from meanfield.store.study_file import read_result, study_kind, write_result
from meanfield.store.sweep_file import is_sweep, load_sweep
from meanfield.version import __version__

if TYPE_CHECKING:
    from meanfield.models.replay import Replay
    from meanfield.papers.merging import MergingDiagram
    from meanfield.studies.convergence_results import ConvergenceStudy
    from meanfield.studies.ensemble_results import Ensemble
    from meanfield.studies.sweep_results import Sweep

    Result = Run | ConvergenceStudy | Ensemble | MergingDiagram | Replay | StudyResult | Sweep


@checked
def load(path: str | os.PathLike[str], states: Literal["all", "last", "none"] = "all") -> Result:
    """Load what `meanfield run`, `compare`, `ensemble`, `diagram`, `replay` or `sweep` wrote.

    Parameters
    ----------
    path : path
        The file, whatever its name; of a sweep its folder.
    states : str
        States of a run to read: "all", "last" or "none". The others become None.

    Returns
    -------
    Run, ConvergenceStudy, Ensemble, MergingDiagram, Replay or Sweep
        Or what another study returned, such as CollapseTimes or PhaseDiagram.

    Raises
    ------
    ValueError
        If the file is missing, damaged or no file of results; or `states` is another word.

    Examples
    --------
    >>> load("nothing.h5")
    Traceback (most recent call last):
    ...
    meanfield.store.layout.FormatError: nothing.h5: no such file.
    """
    if is_sweep(path):
        return load_sweep(path)
    with opened(path) as file:
        kind = study_kind(file)
        if kind is None:
            # From the open file: opening it again would read all of it for its checksum.
            return read_run(path, file, states)
    return cast("Result", read_result(path, kind))


def save_result(
    result: StudyResult, path: str | os.PathLike[str], *, overwrite: bool = False
) -> None:
    """Write a result into a file at once; see `StudyResult.save`."""
    with replaced_at_once(Path(path), overwrite=overwrite) as output:
        write_result(output, with_origin(result))


def with_origin(result: Any) -> Any:
    """A result with attributes of its origin, unless it has them from a file."""
    own = "config" not in result.attributes and hasattr(result, "problem")
    facts = (VIEWS["StudyResult.origin"](result.problem) if own else {}) | provenance()
    if own and "config" in result.required:
        try:
            result.stored_problem(facts)
        except ValueError as error:
            raise ValueError(
                f"{type(result).__name__} would not be read back, for its problem has {error} Keep "
                "its table(), or what you called."
            ) from None
    facts |= {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "meanfield_version": __version__,
        "status": COMPLETED,
    }
    return replace(result, attributes=facts | result.attributes)
