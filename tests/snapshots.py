"""Snapshots of a run, which need no file and no observables."""

from collections.abc import Sequence

import numpy as np

import meanfield as mf
from meanfield.carriers import Options, represent
from meanfield.snapshot import Snapshot
from meanfield.trajectory import trajectory


def snapshots(
    problem: mf.Problem,
    times: Sequence[float] | np.ndarray,
    tolerance: float = 1e-12,
    name: str = "density",
) -> list[Snapshot]:
    carrier = represent(problem, Options(name, tolerance=tolerance))
    return list(trajectory(problem, carrier, times, tolerance=tolerance))
