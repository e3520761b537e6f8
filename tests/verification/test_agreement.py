"""Every representation carries the same measure: one problem a manifold and kernel.

The density knows coefficients; characteristics panels or cells of labels; particles are weighted
quadrature nodes, moved by moments; atoms the same nodes, moved pair by pair.
"""

import numpy as np
import pytest
from oracles import gauss_nodes
from parameters import each

import meanfield as mf
from meanfield.carriers import atoms, characteristics, density, particles
from meanfield.carriers.characteristics import resumed_characteristics
from meanfield.fields import engines
from meanfield.trajectory import trajectory

CIRCLE, SPHERE = mf.Circle(), mf.Sphere()
# No symmetry, no reflection of its own.
MODES = {
    "circle": [[1, 0.2, 0.1], [2, 0.0, -0.15], [3, 0.1, 0.05]],
    "sphere": [[1, 0, 0.1], [1, -1, 0.08], [2, 1, 0.1], [2, -2, 0.06], [3, 2, 0.05]],
}
KERNELS = {
    "exponential": mf.exponential(2.0), "exponential, beta < 0": mf.exponential(-3.0),
    "linear": mf.linear(), "zonal": mf.zonal(lambda s: 1.0 / (1.6 - s), beta=2.0, name="rational"),
}  # fmt: skip
FLOWS = {"USA": mf.USA, "SA": mf.SA, "repulsive SA": mf.Flow(True, -0.5)}
TOLERANCE = 1e-9


def quadrature(problem: mf.Problem) -> mf.Measure:
    """The initial density as weighted points: equispaced angles, Gauss nodes on the sphere."""
    start = problem.initial_measure()
    if problem.manifold.dimension == 1:
        points = 2 * np.pi * np.arange(160) / 160
        weights = np.full(160, 1 / 160)
    else:
        points, weights = gauss_nodes(20)
    mass = weights * problem.manifold.evaluate(start.coefficients, points)
    return mf.Measure(problem.manifold, points, mass / mass.sum())


@each("kernel", KERNELS, flow=FLOWS)
@pytest.mark.parametrize(
    "space", [CIRCLE, pytest.param(SPHERE, marks=pytest.mark.slow)], ids=["circle", "sphere"]
)
def test_representations_agree(space, kernel, flow, monkeypatch, verified):
    """A representation that solves another equation would part from the rest."""
    law = mf.perturbed_uniform(MODES[space.name])
    problem = mf.Problem(space, KERNELS[kernel], FLOWS[flow], law)
    points, start = quadrature(problem), problem.initial_measure()
    # Later the flow tears the nodes apart, and their rule is good for fewer digits.
    end = 0.6 / np.abs(mf.growth_rates(problem)).max()
    # Carrier, and up to how many points are summed pair by pair.
    carriers = {
        "density": (density(problem, start, tolerance=TOLERANCE), 0),
        "characteristics": (characteristics(problem, start, tolerance=TOLERANCE), 0),
        "particles": (particles(problem, points), 0),
        "atoms": (atoms(problem, points, tolerance=TOLERANCE), 10_000),
    }
    result = {}
    for name, (carrier, few) in carriers.items():
        monkeypatch.setattr(engines, "direct_sum_limit", lambda space, degree, few=few: few)
        (last,) = trajectory(problem, carrier, [end], tolerance=1e-11)
        result[name] = space.resize(last.moments, 8)
    moved = np.abs(result["density"] - space.resize(start.coefficients, 8)).max()
    assert moved > 0.02
    for name in ("characteristics", "particles", "atoms"):
        what = f"{name} against density, four kernels and three flows, {space.name}"
        verified("independent methods", what, result[name] - result["density"], 5e-11)


@pytest.mark.parametrize("kernel", ["exponential", "zonal"])
@pytest.mark.parametrize(
    "space", [CIRCLE, pytest.param(SPHERE, marks=pytest.mark.slow)], ids=["circle", "sphere"]
)
def test_densities_agree_at_the_nodes_of_characteristics(space, kernel, verified):
    """The density along a path comes from div v, which moves no node: only this would show it."""
    law = mf.perturbed_uniform(MODES[space.name])
    problem = mf.Problem(space, KERNELS[kernel], mf.SA, law)
    start, end = problem.initial_measure(), 0.6 / mf.growth_rates(problem).max()
    nodes = characteristics(problem, start, tolerance=TOLERANCE)
    (carried,) = trajectory(problem, nodes, [end], tolerance=1e-11)
    # What a checkpoint holds is the last whole step, not the saved time.
    here = carried.checkpoint
    assert here.time > 0.3 * end
    nodes = resumed_characteristics(problem, here.state, here.fixed, tolerance=TOLERANCE)
    grid = density(problem, start, tolerance=TOLERANCE)
    (last,) = trajectory(problem, grid, [here.time], tolerance=1e-11)
    points = nodes.measure(here.state).points
    expected = space.evaluate(last.measure.coefficients, points)
    assert np.ptp(expected) > 0.5
    what = f"densities of characteristics at their nodes and of the density, {space.name}"
    verified("independent methods", what, nodes.density(here.state) - expected, 1e-9)
