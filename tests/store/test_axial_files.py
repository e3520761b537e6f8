"""Runs of axial densities in files: a run file that names a sphere, resumed, loaded, shown."""

import pytest
from parameters import refused

import meanfield as mf

RUN = """
problem = {{manifold = "sphere:8", beta = 5.0, normalization = "softmax"}}
initial = {{name = "perturbed_uniform", modes = [[1, 0.3], [2, 0.2]]}}
time = {{end = {end}, save = {save}}}
"""


@pytest.mark.slow
def test_a_run_on_a_sphere_is_resumed_loaded_and_drawn(tmp_path):
    """The file would forget the axis, the cells of its nodes, or the names of its axes."""
    path, file = tmp_path / "run.toml", tmp_path / "run.h5"
    path.write_text(RUN.format(end=3.0, save=4))
    mf.run(path, output=file)
    path.write_text(RUN.format(end=6.0, save=7))
    run = mf.run(path, output=file, resume=True)
    whole = mf.run(path)
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
