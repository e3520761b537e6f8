"""From Python as from the command: files, interrupts, stops, observables, messages."""

import logging
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pytest
from parameters import refused, together

import meanfield as mf
from meanfield.errors import SimulationError
from meanfield.files import OutputError

LAW = mf.perturbed_uniform([[2, 0.1, 0.0], [3, 0.0, 0.05]])
PROBLEM = mf.Problem(mf.Circle(), mf.exponential(4.0), mf.USA, LAW)
UNIFORM = mf.Problem(mf.Circle(), mf.exponential(4.0), mf.USA)


def same(first: mf.Run, second: mf.Run) -> bool:
    """Equal to the bit: times, moments and all that was observed."""
    one, other = (
        {"time": run.scaled_time, "moments": run.moments, **run.observables}
        for run in (first, second)
    )
    return one.keys() == other.keys() and all(
        np.array_equal(one[name], other[name], equal_nan=True) for name in one
    )


def test_file_of_a_call_is_the_run_in_memory(tmp_path):
    """A call with a file would give another run."""
    memory = mf.simulate(PROBLEM, 20.0, save=5)
    run = mf.simulate(PROBLEM, 20.0, save=5, output=tmp_path / "kept.h5")
    memory.save(tmp_path / "saved.h5")
    saved = mf.load(tmp_path / "saved.h5")
    assert same(memory, run) and same(memory, saved) and memory.status == saved.status
    with h5py.File(tmp_path / "kept.h5") as one, h5py.File(tmp_path / "saved.h5") as other:
        assert one.attrs["result_hash"] == other.attrs["result_hash"]
        assert {"versions", "platform", "threads", "config"} <= set(other.attrs)
    assert saved.problem == run.problem == PROBLEM
    assert saved.events == memory.events
    for before, after in zip(memory.measures, saved.measures, strict=True):
        assert type(before) is type(after)


def test_saved_file_is_gone_on_with_as_one_that_was_written(tmp_path):
    """Results in memory would have to be computed again."""
    path = tmp_path / "half.h5"
    mf.simulate(PROBLEM, 10.0, save=[0.0, 5.0, 10.0]).save(path)
    whole = mf.simulate(PROBLEM, 20.0, save=5, output=path, resume=True)
    assert same(whole, mf.simulate(PROBLEM, 20.0, save=5))
    again = mf.simulate(PROBLEM, 20.0, save=5, output=path, resume=True)
    assert same(whole, again)


def test_file_of_something_else_is_not_gone_on_with(tmp_path):
    """Two problems would stand in one file, or a result be lost."""
    path = tmp_path / "run.h5"
    mf.simulate(PROBLEM, 2.0, save=2, output=path)
    with pytest.raises(OutputError, match=r"run.h5 exists: use overwrite=True to"):
        mf.simulate(PROBLEM, 2.0, save=2, output=path)
    warmer = replace(PROBLEM, kernel=mf.exponential(5.0))
    moved = replace(PROBLEM, initial=mf.from_points([0.0, 1.0, 2.5]))
    for other, message in (
        (warmer, r"\[problem\] beta differs from that of .*run.h5"),
        (moved, "simulate: .*differs from that of .* overwrite=True"),
    ):
        refused(message, mf.simulate, other, 4.0, save=2, output=path, resume=True)
    refused("resume and overwrite need output=", mf.simulate, PROBLEM, 2.0, save=2, resume=True)
    refused(r"run.png", mf.simulate, PROBLEM, 2.0, save=2, output=tmp_path / "run.png")
    mf.simulate(warmer, 2.0, save=2, output=path, overwrite=True)
    assert mf.load(path).problem == warmer


@pytest.mark.slow
@pytest.mark.parametrize("keep", ["memory", "file"])
def test_what_ends_a_run_early_hands_over_the_run_so_far(keep, tmp_path):
    """Hours would be lost with an interrupt."""
    path = tmp_path / "run.h5"
    where: dict[str, Any] = {"output": path, "overwrite": True} if keep == "file" else {}

    def interrupt(time: float, measure: object) -> None:
        if time >= 4.0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        mf.simulate(PROBLEM, 10.0, save=11, callback=interrupt, **where)
    run = caught.value.run  # type: ignore[attr-defined]
    assert run.time.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0] and run.status.startswith("interrupted")
    with pytest.raises(SimulationError, match="raise max_degree, or take") as failed:
        mf.simulate(PROBLEM, 60.0, save=61, representation="density", max_degree=64, **where)
    run = failed.value.run  # type: ignore[attr-defined]
    assert 5 < len(run.time) < 61 and run.status.startswith("under-resolved at t =")
    if keep == "memory":
        run.save(path)
    assert mf.load(path).status == run.status
    # Densities of other largest degrees take other transforms.
    whole = mf.simulate(PROBLEM, 60.0, save=61).moments[: len(run.time)]
    assert np.abs(run.moments - whole).max() < 1e-12


@pytest.mark.slow
def test_stop_of_ones_own_ends_a_run_and_resume_keeps_to_it(tmp_path):
    """A run would go on for ever, or a resumed one step on."""

    def grown(time: float, measure: mf.Density | mf.Measure) -> bool:
        return bool(abs(measure.moments(3)[3]) > 0.1)

    options = {"unit": "paper", "save": 101, "output": tmp_path / "run.h5", "resume": True}
    run = mf.simulate(PROBLEM, 1.0, stop=grown, **options)
    above = np.abs(run.moments[:, 3]) > 0.1
    assert above[-1] and not above[:-1].any() and run.status == "stopped: grown"
    again = mf.simulate(PROBLEM, 1.0, stop=grown, **options)
    assert len(again.time) == len(run.time) and again.status == "stopped: grown"
    longer = mf.simulate(PROBLEM, 1.0, **options)
    assert len(longer.time) == 101 and longer.status == "completed"


def late(time: float, measure: mf.Density | mf.Measure) -> bool:
    return time >= 0.5


def test_run_that_was_interrupted_where_its_rule_holds_is_stopped(tmp_path):
    """Nothing but the last word is missing: it would be that of a run that reached its end."""

    def disturb(time: float, measure: mf.Density | mf.Measure) -> None:
        if time >= 0.5:
            raise KeyboardInterrupt

    path = tmp_path / "run.h5"
    with pytest.raises(KeyboardInterrupt):
        mf.simulate(PROBLEM, 1.0, save=11, stop=late, output=path, callback=disturb)
    assert mf.load(path).status == "interrupted at t = 0.5"
    run = mf.simulate(PROBLEM, 1.0, save=11, stop=late, output=path, resume=True)
    assert run.status == "stopped: late" and run.time[-1] == 0.5


def test_resumed_run_obeys_its_new_rule(tmp_path):
    """Another function of the same name would end the run where the first one did."""
    path = tmp_path / "run.h5"
    for end in (0.5, 0.8):
        run = mf.simulate(
            PROBLEM, 1.0, save=11, stop=lambda t, m, end=end: t >= end, output=path, resume=True
        )
        assert run.status == "stopped: lambda" and run.time[-1] == pytest.approx(end)


def test_stopped_run_without_states_is_done_at_once(tmp_path):
    """The rule cannot be asked again: the run would go on where it had ended."""
    options = {"output": tmp_path / "run.h5", "state": "none", "resume": True}
    for _ in range(2):
        run = mf.simulate(PROBLEM, 1.0, save=11, stop=late, **options)
        assert run.status == "stopped: late" and run.time[-1] == 0.5


@pytest.mark.parametrize("at", [0.0, 3.0], ids=["origin", "elsewhere"])
def test_one_cluster_in_r_d_is_small_wherever_it_lies(at, tmp_path):
    """Mean vectors would decide: never one cluster at the origin, at once far from it."""
    # Neighbours are nearer than the radius 0.25: there is one group from the start. The variance
    # 0.8 e^{-t} of the square falls below 0.25^2 at t = 2.55.
    square = np.stack(np.meshgrid(*[np.linspace(-1.0, 1.0, 11)] * 2), axis=-1).reshape(-1, 2)
    still = mf.Attention([mf.Head(value=0.0)], beta=1.0)
    law, shrink = mf.from_points(square + at), mf.LinearDrift(-0.5)
    problem = mf.Problem(mf.Euclidean(2), still, initial=law, drift=shrink)
    for _ in range(2):
        run = mf.simulate(
            problem, 8.0, save=17, stop="one_cluster", output=tmp_path / "run.h5", resume=True
        )
        assert (run.status, run.time[-1]) == ("stopped: one_cluster", 3.0)
        assert run.cluster_counts().tolist() == [1.0] * 7


@pytest.mark.slow
def test_logarithmic_times_until_one_cluster_are_those_of_a_run_file(tmp_path):
    """Python would lack what run files offer."""
    call = mf.simulate(
        PROBLEM, 1e6, save=13, spacing="log", first=1.0, stop="one_cluster", tolerance=1e-8,
        observables=["energy", "clusters"],
    )  # fmt: skip
    path = tmp_path / "run.toml"
    path.write_text("""
        problem = { manifold = "circle", beta = 3.0, normalization = "none" }
        initial = { name = "perturbed_uniform", modes = [[2, 0.1, 0.0], [3, 0.0, 0.05]] }
        representation = { tolerance = 1e-8 }
        time = { end = 1e6, save = 13, spacing = "log", first = 1.0, stop = "one_cluster" }
        output = { observables = ["energy", "clusters"] }
    """)
    assert same(call, mf.run(path, problem={"beta": 4.0}))
    assert call.observables["clusters/count"][-1] == 1 and len(call.time) < 13
    assert not path.with_suffix(".h5").exists()
    run = mf.run(path, output=tmp_path / "kept.h5", time={"end": 10.0, "save": 3, "first": 1.0})
    assert same(run, mf.load(tmp_path / "kept.h5")) and run.problem.kernel.beta == 3.0
    other = mf.run(path, initial={"name": "uniform"}, time={"end": 2.0})
    assert other.problem.initial == mf.uniform()


def test_call_can_be_run_as_a_file(tmp_path):
    """Files made in Python would not tell what they are."""
    laws = [
        LAW, mf.uniform(), mf.von_mises_fisher(2.0, mean=0.5),
        mf.mixture([(0.25, 0.0, 3.0), (0.75, 2.0, 5.0)]), mf.sampled(500, seed=2, max_degree=6),
    ]  # fmt: skip
    path = tmp_path / "again.toml"
    for law in laws:
        problem = mf.Problem(mf.Circle(), mf.exponential(2.0), mf.SA, law)
        run = mf.simulate(problem, 1.0, save=2)
        path.write_text(run.attributes["config"])
        again = mf.run(path)
        assert again.problem == problem
        assert np.array_equal(again.moments, run.moments)


def test_progress_appears_and_events_are_logged(capsys, caplog):
    """A notebook would be silent for minutes."""
    with caplog.at_level(logging.INFO, "meanfield"):
        mf.simulate(PROBLEM, 40.0, save=5, progress=True, tolerance=1e-8)
    assert "5/5" in capsys.readouterr().err
    assert any("density -> characteristics" in record.message for record in caplog.records)
    mf.simulate(PROBLEM, 1.0, save=2)
    assert capsys.readouterr().err == ""


def test_fluctuations_of_a_file_have_a_bar_too(capsys, tmp_path):
    """A run with output, fluctuations and a bar would end in an error after its last time."""
    options = {"save": 2, "fluctuations": 1, "progress": True}
    run = mf.simulate(PROBLEM, 0.5, output=tmp_path / "run.h5", **options)
    assert run.fluctuations is not None and "100%" in capsys.readouterr().err
    memory = mf.simulate(PROBLEM, 0.5, **options).fluctuations
    # A file has one half of the matrix, whose halves differ by rounding.
    assert np.abs(run.fluctuations.covariance - memory.covariance).max() < 1e-15


def test_notebooks_show_a_bar_by_default(capsys, monkeypatch):
    """A cell would be silent for minutes; a script or a terminal would be flooded."""
    for name in ("ZMQInteractiveShell", "TerminalShell"):
        ipython = SimpleNamespace(get_ipython=type(name, (), {}), version_info=(8, 0))
        monkeypatch.setitem(sys.modules, "IPython", ipython)
        mf.ensemble(UNIFORM, tokens=30, runs=2)
        mf.simulate(PROBLEM, 1.0, save=2)
        message = capsys.readouterr().err
        assert ("2/2" in message and "runs: 100%" in message) is (name == "ZMQInteractiveShell")
        mf.simulate(PROBLEM, 1.0, save=2, progress=False)
        assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_file_of_a_kernel_of_ones_own_cannot_run_again(tmp_path, caplog):
    """That the run file in it cannot be run would show months later."""
    own = replace(PROBLEM, kernel=mf.zonal(lambda s: np.exp(2 * s), beta=2.0))
    files = [tmp_path / "own.h5", tmp_path / "copy.h5"]
    run = mf.simulate(own, 0.5, save=2, output=files[0])
    run.save(files[1])
    mf.simulate(own, 0.5, save=2)
    mf.simulate(PROBLEM, 0.5, save=2, output=tmp_path / "plain.h5")
    messages = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert [text.split(": its run file cannot")[0] for text in messages] == [*map(str, files)]
    assert all("of the kernel 'zonal': put the function into a file" in text for text in messages)


def test_uniform_is_reported_stationary(caplog):
    """Nothing would happen without a word."""
    mf.simulate(UNIFORM, 1.0, save=2)
    assert "uniform is stationary: nothing will happen" in caplog.text


@together(
    "wrong, message",
    [
        ({"until": -1.0}, "until must be positive and finite, got -1"),
        ({"spacing": "log"}, 'spacing = "log" needs save = COUNT of at least 2 and first between'),
        ({"first": 0.5}, 'first needs spacing = "log"'),
        ({"step": 0.1}, "step = 0.1 cannot act: it is for noisy particles"),
        ({"step": 0.1, "unit": "growth"}, "step = 0.1 cannot act: it is for noisy particles"),
        ({"save": 2_000_000}, "save must be at most 1000000 times"),
        ({"observables": ["enrgy"]}, "'enrgy' is not known. Did you mean energy"),
        ({"representation": "densty"}, "did you mean 'density'"),
    ],
)
def test_wrong_call_is_refused(wrong, message):
    """Each in the words of the call."""
    refused(message, mf.simulate, PROBLEM, **{"until": 1.0, "save": 3, **wrong})


def test_studies_show_how_far_they_are(capsys):
    """A cell of a notebook would be silent for a minute."""
    mf.ensemble(UNIFORM, tokens=30, runs=2, progress=True)
    assert "100%" in capsys.readouterr().err
    mf.convergence_study(UNIFORM, 0.5, save=2, tokens=(10, 20), runs=2, progress=True)
    assert "100%" in capsys.readouterr().err
    mf.predict_clusters(UNIFORM, 100, samples=50, runs=2, progress=True)
    message = capsys.readouterr().err
    assert "linear law: 100%" in message and "corrected law: 100%" in message
