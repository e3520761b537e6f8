"""Run files of tokens on spheres of any dimension and in R^d."""

import numpy as np
import pytest

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
    names = ["mean_cosine", "similarity", "attention_entropy"]
    mf.simulate(problem, until=2.0, save=3, output=path, observables=names)
    mf.simulate(problem, until=4.0, save=5, output=path, observables=names, resume=True)
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


def test_run_files_know_spaces_of_any_dimension(tmp_path, cli):
    """Checked, run and told of as others are."""
    file = tmp_path / "run.toml"
    file.write_text(RUN)
    cli("check", file)
    cli("run", file)
    assert "space:2" in cli("info", tmp_path / "run.h5")
    file.write_text(RUN.replace("[2, 0.3]", "[2, 0.3, 1]"))
    assert "expected vectors of 2 numbers" in cli.refused("check", file)
