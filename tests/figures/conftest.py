"""Runs that begin as a density, go on as characteristics and end as atoms."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import meanfield as mf
from meanfield.events import Event
from meanfield.problem import Problem
from meanfield.spaces.label_cells import label_cells

LAWS = {
    "circle": mf.perturbed_uniform([[1, 0.06, 0.02], [3, 0.0, -0.05], [4, 0.1, 0.02]]),
    "sphere": mf.perturbed_uniform([[2, 0, 0.03], [3, 1, 0.1], [4, -2, 0.1]]),
}
BETA = 4.0
# Masses that have met by then and where, as far as pictures care.
MERGES = [(2e3, 0, 1), (5e7, 2, 3), (1e41, 0, 2)]
ANGLES = [np.array([3.0, -2.9, 0.2, 1.2]), np.array([-3.1, 0.2, 1.2]), np.array([-3.1, 0.8])]
MASSES = [np.array([0.4, 0.2, 0.3, 0.1]), np.array([0.6, 0.3, 0.1]), np.array([0.6, 0.4])]


@cache
def mixed_run(name):
    """Run of a density to 12, of nodes to 52, of atoms to 1e60, made by hand."""
    space = mf.Circle() if name == "circle" else mf.Sphere()
    problem = Problem(space, mf.exponential(BETA), mf.USA, LAWS[name])
    smooth = mf.simulate(problem, until=12.0, save=np.geomspace(0.01, 12.0, 12))
    last = smooth.measures[-1]
    cells = label_cells(space, 0.05 if name == "circle" else 0.8)
    weights = np.maximum(last(cells.points), 0.0) * cells.weights
    nodes = replace(problem, initial=mf.from_points(cells.points, weights / weights.sum()))
    carried = mf.simulate(
        nodes, until=40.0, save=np.geomspace(2.0, 40.0, 8), representation="particles",
        tolerance=1e-4,
    )  # fmt: skip
    carried = replace(
        carried,
        scaled_time=carried.time + 12.0,
        representation=("characteristics",) * len(carried.time),
        measures=tuple(replace(m, cell_order=cells.order) for m in carried.measures),
    )
    return replace(_joined([smooth, carried, *atom_runs(problem)]), events=tuple(events()))


def atom_runs(problem):
    """Atoms that rest, and fewer from merge to merge."""
    ends = [100.0, *(time for time, _, _ in MERGES), 1e60]
    runs = []
    for k, (begin, end) in enumerate(zip(ends[:-1], ends[1:], strict=True)):
        angles, masses = (ANGLES[k], MASSES[k]) if k < 3 else (np.zeros(1), np.ones(1))
        points = angles
        if problem.manifold.dimension > 1:
            points = np.stack([np.cos(angles), np.sin(angles), 0 * angles], -1)
        still = replace(problem, initial=mf.from_points(points, masses))
        run = mf.simulate(still, until=1.0, save=[0.0], representation="particles")
        times = np.geomspace(begin, end, 12)[1:]
        runs += [replace(run, scaled_time=np.array([t]), representation=("atoms",)) for t in times]
    return runs


def events():
    """Events of the run made by hand."""
    message = [
        Event(12.0, "hand-over", "density -> characteristics: spectral tail 1e-10 at degree 512"),
        Event(95.0, "hand-over", "characteristics -> atoms: every cluster has met"),
        Event(95.0, "note", "mass 1e-12 between clusters went to the nearest"),
    ]
    message += [Event(95.0, "cluster", "", (i, -1), (m, np.nan)) for i, m in enumerate(MASSES[0])]
    mass = dict(enumerate(MASSES[0]))
    for time, one, other in MERGES:
        text = f"clusters of mass {mass[one]:.4g} and {mass[other]:.4g} have met"
        message.append(Event(time, "merge", text, (one, other), (mass[one], mass[other])))
        mass[one] += mass[other]
    return message


def _joined(runs):
    """One run after the other, clusters padded with NaN."""
    width = max(run.observables["clusters/mass"].shape[1] for run in runs)

    def padded(values):
        if values.ndim == 1:
            return values
        room = [(0, 0), (0, width - values.shape[1]), *[(0, 0)] * (values.ndim - 2)]
        return np.pad(values, room, constant_values=np.nan)

    names = runs[0].observables
    diagnostics = {name for run in runs for name in run.diagnostics}
    return replace(
        runs[0],
        scaled_time=np.concatenate([run.time for run in runs]),
        moments=np.concatenate([run.moments for run in runs]),
        observables={
            name: np.concatenate([padded(run.observables[name]) for run in runs]) for name in names
        },
        diagnostics={
            name: np.concatenate(
                [run.diagnostics.get(name, np.full(len(run.time), np.nan)) for run in runs]
            )
            for name in diagnostics
        },
        representation=tuple(name for run in runs for name in run.representation),
        measures=tuple(measure for run in runs for measure in run.measures),
    )


@pytest.fixture(params=["circle", "sphere"])
def mixed(request):
    """A run of three representations, on either manifold."""
    return mixed_run(request.param)


@pytest.fixture
def mixed_circle():
    return mixed_run("circle")


@pytest.fixture
def mixed_sphere():
    return mixed_run("sphere")
