"""Report of a sweep, for `sweep`, `info` and `print`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from meanfield.results.report import Report, table
from meanfield.studies.sweep_results import Sweep, summary

_ROWS = 400


def sweep_report(sweep: Sweep) -> Report:
    """A row a run: parameters, last saved time, number of clusters, observables, status."""
    columns, summary_table = sweep.columns(), summary(sweep)
    rows = [
        [member.file, *map(_format_value, row)]
        for member, *row in zip(sweep.members[:_ROWS], *summary_table.values(), strict=False)
    ]
    words = ["run", *(name.replace("_", " ") for name in summary_table)]
    blocks = [table(words, rows)]
    if len(sweep.members) > _ROWS:
        blocks.append(f"... and {len(sweep.members) - _ROWS} more: --csv has all")
    blocks.append(f"{sweep.summary}; values are those of the last saved time of each run")
    data = {
        "kind": "sweep",
        "folder": str(sweep.folder),
        **sweep.attributes,
        "parameters": {parameter.key: parameter.values for parameter in sweep.parameters},
        "members": [asdict(member) for member in sweep.members],
        "values": {name: column for name, column in columns.items() if name not in sweep.names},
    }
    files = np.array([member.file for member in sweep.members])
    csv: dict[str, npt.NDArray[Any]] = {"run": files, **columns}
    return Report(blocks, data, csv, f"Sweep: {sweep.folder}")


def _format_value(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return "-" if np.isnan(value) else f"{value:.6g}"
    return str(value)
