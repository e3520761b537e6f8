"""Runs that begin as a density, go on as characteristics and end as atoms."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import meanfield as mf
from meanfield.events import Event
from meanfield.figures.data.projections import directions
from meanfield.observables import DEFAULT_OBSERVABLES, observe
from meanfield.runs import assembled
from meanfield.snapshot import Snapshot
from meanfield.spaces.label_cells import label_cells

LAWS = {
    "circle": mf.perturbed_uniform([[1, 0.06, 0.02], [3, 0.0, -0.05], [4, 0.1, 0.02]]),
    "sphere": mf.perturbed_uniform([[2, 0, 0.03], [3, 1, 0.1], [4, -2, 0.1]]),
}
# Masses that have met by then and where, as far as pictures care.
MERGES = [(2e3, 0, 1), (5e7, 2, 3), (1e41, 0, 2)]
ANGLES = [[3.0, -2.9, 0.2, 1.2], [-3.1, 0.2, 1.2], [-3.1, 0.8], [0.0]]
MASSES = [[0.4, 0.2, 0.3, 0.1], [0.6, 0.3, 0.1], [0.6, 0.4], [1.0]]


@cache
def mixed_run(name):
    """Run of a density to 12, of nodes to 52, of atoms to 1e60, made by hand."""
    space = mf.Circle() if name == "circle" else mf.Sphere()
    problem = mf.Problem(space, mf.exponential(4.0), mf.USA, LAWS[name])
    smooth = mf.simulate(problem, until=12.0, save=np.geomspace(0.01, 12.0, 12))
    cells = label_cells(space, 0.05 if name == "circle" else 0.8)
    weights = np.maximum(smooth.measures[-1](cells.points), 0.0) * cells.weights
    nodes = replace(problem, initial=mf.from_points(cells.points, weights / weights.sum()))
    carried = mf.simulate(
        nodes, until=40.0, save=np.geomspace(2.0, 40.0, 8), representation="particles",
        tolerance=1e-4,
    )  # fmt: skip
    measures = [replace(measure, cell_order=cells.order) for measure in carried.measures]
    rows = list(zip(smooth.time, smooth.measures, ["density"] * 12, strict=True))
    rows += zip(carried.time + 12.0, measures, ["characteristics"] * 8, strict=True)
    ends = [100.0, *(time for time, _, _ in MERGES), 1e60]
    for begin, end, angles, masses in zip(ends[:-1], ends[1:], ANGLES, MASSES, strict=True):
        points = angles if name == "circle" else directions(angles, np.zeros(len(angles)))
        measure = mf.Measure(space, points, masses)
        rows += [(time, measure, "atoms") for time in np.geomspace(begin, end, 12)[1:]]
    result = []
    for i, (time, measure, carrier) in enumerate(rows):
        moments = measure.moments(problem.moment_degree)
        values = observe(problem, measure, moments, DEFAULT_OBSERVABLES)
        known = {n: v[i] for n, v in smooth.diagnostics.items()} if carrier == "density" else {}
        result.append((Snapshot(time, measure, moments, carrier, known), values))
    return replace(assembled(problem, result, smooth.attributes), events=tuple(events()))


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
