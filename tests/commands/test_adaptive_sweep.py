"""Adaptive sweeps: all boundaries of the product, of few runs, wherever they are made."""

import numpy as np
import pytest
from scipy.ndimage import binary_dilation, distance_transform_edt

import meanfield as mf
from meanfield.studies.sweep_plan import wanted
from meanfield.studies.sweep_results import last_value

CONFIG = """\
problem = { manifold = "circle", beta = 1.0 }
initial = { name = "perturbed_uniform", modes = [[1, 0.2, 0.0]] }
representation = { tolerance = 1e-4 }
time = { end = 8.0, save = 2 }
"""
OVER = ("--over", "problem.diffusivity=0.1:1:33", "--over", "problem.normalization=softmax,none")


def refined(values, spread, jump=0.5):
    done = np.zeros(values.shape, dtype=bool)
    while (chosen := wanted(np.where(done, values, np.nan), done, spread, jump)).size:
        assert not done.flat[chosen].any()
        done.flat[chosen] = True
    return done


def grid(count):
    """Two coordinates between 0 and 1."""
    return np.meshgrid(*[np.linspace(0.0, 1.0, count)] * 2, indexing="ij")


@pytest.mark.parametrize(
    "plateaus",
    [
        lambda x, y: np.floor(1.0 + 4.0 * x + 0.6 * np.sin(3.0 * y)),
        lambda x, y: np.where(x**2 + y**2 > 0.5, 1.0, np.nan),
        lambda x, y: 1.0 * (np.hypot(x - 0.4, y - 0.45) < 0.13),
    ],
)
def test_both_sides_of_every_boundary_are_run(plateaus):
    """The boundary of a diagram would be off by more than one step of the product."""
    values = np.nan_to_num(plateaus(*grid(129)), nan=-1.0)
    done = refined(plateaus(*grid(129)), [True, True])
    for axis in (0, 1):
        jumps = np.diff(values, axis=axis) != 0.0
        for side in (slice(None, -1), slice(1, None)):
            near = done[(slice(None),) * axis + (side,)]
            # Every jump lies between runs, or beside one that does.
            assert binary_dilation(near, np.ones((3, 3)))[jumps].all()
    assert done.sum() < done.size / 5


@pytest.mark.parametrize(("count", "runs"), [(65, 400), (257, 1490)])
def test_runs_of_an_arc_are_those_of_the_page(count, runs):
    """docs/sweeps.md would promise other savings; the filled diagram would be wrong somewhere."""
    x, y = grid(count)
    values = 1.0 * (x**2 + y**2 > 0.5)
    done = refined(values, [True, True])
    assert done.sum() == runs
    nearest = distance_transform_edt(~done, return_distances=False, return_indices=True)
    np.testing.assert_array_equal(values[tuple(nearest)], values)


def test_a_plain_costs_the_coarse_grid():
    """Runs would be spent where nothing happens."""
    x, y = grid(129)
    assert refined(0.3 * x * y, [True, True]).sum() == 9 * 9
    # Words have no order: each is a sweep of its own.
    rows = np.stack([np.zeros(129), (x[:, 0] > 0.3) * 1.0])
    assert refined(rows, [False, True]).sum(axis=1).tolist() == [9, 13]


@pytest.mark.slow
def test_few_runs_give_the_diagram_of_all(config, tmp_path, cli):
    """An adaptive sweep would show another diagram than the product, or depend on where it ran."""
    words = ("sweep", config, *OVER, "--quiet")
    cli(*words, "-o", tmp_path / "all", "--workers", 1)
    chosen = ("--adaptive", "order_parameter:0.1")
    cli(*words, "-o", tmp_path / "few", "--workers", 1, *chosen)
    cli(*words, "-o", tmp_path / "two", "--workers", 2, *chosen)
    every, few, two = (mf.load_sweep(tmp_path / name) for name in ("all", "few", "two"))
    values, result = (built.values("order_parameter") for built in (every, few))
    assert (np.ptp(values, axis=0) > 0.2).all()
    np.testing.assert_allclose(result, values, rtol=0, atol=0.1)
    assert few.members == two.members
    built = [member for member in few.members if member.status == "completed"]
    assert 2 * 9 < len(built) < 2 * 25
    assert f"{len(built)} completed, {66 - len(built)} left out" in repr(few)
    for one, other in zip(few.members, every.members, strict=True):
        assert one.result_hash in (None, other.result_hash)
    assert len(list(few)) == len(built)
    with pytest.raises(ValueError, match="was left out"):
        few.runs[[member.status for member in few.members].index("left out")]
    # Without the choice, --resume runs the rest.
    cli(*words, "-o", tmp_path / "few", "--workers", 1, "--resume")
    assert mf.load_sweep(tmp_path / "few").members == every.members


@pytest.mark.slow
def test_resumed_choice_is_that_of_one_sweep(config, tmp_path, cli, monkeypatch):
    """Members before an interrupt would run again, or lead to another choice."""
    words = ("sweep", config, *OVER, "--quiet", "--workers", 1, "--adaptive", "order_parameter@0.2")
    cli(*words, "-o", tmp_path / "one")
    records = []

    def interrupted(*arguments):
        records.append(arguments)
        if len(records) == 20:
            raise KeyboardInterrupt
        return last_value(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr("meanfield.studies.sweep_plan.last_value", interrupted)
        cli.refused(*words, "-o", tmp_path / "two", status=130)
    assert sum(m.status == "completed" for m in mf.load_sweep(tmp_path / "two").members) >= 19
    cli(*words, "-o", tmp_path / "two", "--resume")
    assert mf.load_sweep(tmp_path / "two").members == mf.load_sweep(tmp_path / "one").members
