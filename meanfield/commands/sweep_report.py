"""What `sweep` and `info` say of sweeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meanfield.commands.report import Report, table
from meanfield.studies.sweep_results import Sweep

# Columns of the table on a terminal, beside parameters and status; JSON and CSV have all.
_SHOWN = ("time", "clusters", "energy", "order_parameter")
_ROWS = 400


def sweep_report(sweep: Sweep) -> Report:
    """A row a run: parameters, last saved time, number of clusters, observables, status."""
    columns = sweep.table()
    parameters = sweep.names
    kept = [name for name in columns if name in (*parameters, *_SHOWN, "status")]
    own = [name for name in columns if name not in kept and name not in _usual()]
    names = [*kept[:-1], *own, "status"]
    rows = [
        [member.file, *(_told(columns[name][i]) for name in names)]
        for i, member in enumerate(sweep.members[:_ROWS])
    ]
    words = ["run", *(name.replace("_", " ") for name in names)]
    blocks = [table(words, rows)]
    if len(sweep.members) > _ROWS:
        blocks.append(f"... and {len(sweep.members) - _ROWS} more: --csv has all")
    blocks.append(f"{sweep.told}; values are those of the last saved time of each run")
    data = {
        "kind": "sweep",
        "folder": str(sweep.folder),
        **sweep.attributes,
        "parameters": {parameter.key: parameter.values for parameter in sweep.parameters},
        "members": [
            {
                "file": member.file,
                "overrides": member.overrides,
                "status": member.status,
                "result_hash": member.result_hash,
            }
            for member in sweep.members
        ],
        "values": {name: column for name, column in columns.items() if name not in parameters},
    }
    files = np.array([member.file for member in sweep.members])
    csv: dict[str, npt.NDArray[Any]] = {"run": files, **columns}
    return Report(blocks, data, csv)


def _usual() -> set[str]:
    """Observables that the table leaves out."""
    from meanfield.observables import OBSERVABLES

    return set(OBSERVABLES)


def _told(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return "-" if np.isnan(value) else f"{value:.6g}"
    return str(value)
