"""Run files of spaces of any dimension: tokens on spheres and in R^d, axial densities."""

import numpy as np
import pytest
from parameters import refused

import meanfield as mf

RNG = np.random.default_rng(0)
HEAD = mf.Head(score=np.diag([1.0, 0.5]), value=[[0.3, 0.2], [-0.1, 0.4]])
PROBLEMS = {
    "sphere:7": mf.Problem(
        mf.Sphere(7), mf.exponential(3.0), mf.SA, mf.from_points(RNG.standard_normal((9, 7)))
    ),
    "space:2": mf.Problem(
        mf.Euclidean(2), mf.Attention([HEAD], beta=2.0),
        initial=mf.from_points(4.0 * RNG.standard_normal((6, 2))),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROBLEMS)
def test_runs_of_vectors_come_back_and_go_on(name, tmp_path):
    """Points, moments, the problem; and a run that is resumed equals one at a stroke."""
    problem, path = PROBLEMS[name], tmp_path / "run.h5"
    whole = mf.simulate(problem, until=4.0, save=5)
    # Arrays of observables have axes of their own.
    options = {"output": path, "observables": ["mean_cosine", "similarity", "attention_entropy"]}
    mf.simulate(problem, until=2.0, save=3, **options)
    mf.simulate(problem, until=4.0, save=5, resume=True, **options)
    run = mf.load(path)
    for one, other in zip(run.measures, whole.measures, strict=True):
        np.testing.assert_array_equal(one.points, other.points)
    np.testing.assert_array_equal(run.moments, whole.moments)
    assert run.manifold.name == name
    assert (run.problem.manifold, run.problem.kernel) == (problem.manifold, problem.kernel)
    assert run.observables["similarity"].sum(axis=1) == pytest.approx(np.ones(5))
    dataset = run.to_xarray()
    assert dataset.moments.sizes == {"time": 5, "component": problem.manifold.ambient + 1}


RUN = """\
problem = { manifold = "space:2", beta = 1.0, normalized = true }
heads = [{ value = [1.0, 0.4] }]
initial = { name = "atoms", points = [[2, 0.3], [-1.5, 1.2], [-0.4, -1.8]] }
time = { end = 2.0, save = 3 }
"""


def test_run_files_have_spaces_of_any_dimension(tmp_path, cli):
    """A space would be checked, run or described in another way than others."""
    file = tmp_path / "run.toml"
    file.write_text(RUN)
    cli("check", file)
    cli("run", file)
    assert "space:2" in cli("info", tmp_path / "run.h5")
    file.write_text(RUN.replace("[2, 0.3]", "[2, 0.3, 1]"))
    assert "expected vectors of 2 numbers" in cli.refused("check", file)


AXIAL = """
problem = {manifold = "sphere:8", beta = 5.0, normalization = "softmax"}
initial = {name = "perturbed_uniform", modes = [[1, 0.3], [2, 0.2]]}
"""


@pytest.mark.slow
def test_a_run_on_a_sphere_is_resumed_loaded_and_drawn(tmp_path):
    """The file would forget the axis, the cells of its nodes, or the names of its axes."""
    path, file = tmp_path / "run.toml", tmp_path / "run.h5"
    path.write_text(AXIAL)
    mf.run(path, time={"end": 3.0, "save": 4}, output=file)
    run = mf.run(path, time={"end": 6.0, "save": 7}, output=file, resume=True)
    whole = mf.run(path, time={"end": 6.0, "save": 7})
    assert run.moments[:, :8] == pytest.approx(whole.moments[:, :8], abs=1e-9)
    loaded = mf.load(file)
    assert loaded.manifold == mf.Axial(8) and loaded.problem.manifold == mf.Axial(8)
    assert loaded.representation[-1] == "characteristics"
    assert loaded.measures[-1]([0.1, 0.5]) == pytest.approx(whole.measures[-1]([0.1, 0.5]))
    data = loaded.to_xarray(grid=6)
    assert data["moments"].dims == ("time", "degree")
    assert data["density"].dims == ("time", "polar_angle")
    figure = loaded.plot()
    assert figure.axes[0].get_ylabel() == "polar angle $\\theta$ (rad)"
    refused("this run is on", loaded.plot, "velocity")
    assert loaded.measures[0].plot().axes[0].get_ylabel().startswith("density of the angle")


def test_tokens_of_a_sphere_are_drawn_from_its_axial_density():
    """Angles would be stored in the place of tokens, or moved as rings."""
    law = mf.von_mises_fisher(8.0)
    problem = mf.Problem(mf.Sphere(8), mf.exponential(5.0), mf.SA, law)
    run = mf.simulate(problem, 1.0, save=2, representation="particles", tokens=300)
    assert run.manifold == mf.Sphere(8) and run.measures[0].points.shape == (300, 8)
    density = mf.simulate(problem, 1.0, save=2)
    # Four errors of a mean of 300 tokens.
    error = 4.0 / 300**0.5
    assert run.moments[-1, -1] == pytest.approx(density.moments[-1, 1], abs=error)
