"""The driver of studies, from Python: files, resuming, executors, and what it refuses."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.names import VIEWS
from meanfield.papers.merging import MergingPlan
from meanfield.studies import complete
from meanfield.studies.convergence import Comparison
from meanfield.studies.ensemble import EnsemblePlan

LAW = mf.perturbed_uniform([[3, 0.1, 0.0]])
PROBLEM = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA)


def ensemble(problem=PROBLEM, runs=6, **options):
    return mf.ensemble(problem, **{"tokens": (20, 60), "runs": runs} | options)


def comparison(beta=5.0, runs=4, **options):
    problem = mf.Problem(mf.Circle(), mf.exponential(beta), mf.USA, LAW)
    options = {"until": 2.0, "save": 2, "tokens": (5, 20), "tolerance": 1e-6} | options
    return mf.convergence_study(problem, runs=runs, **options)


def diagram(beta=5.0, runs=6, **options):
    return mf.merging_diagram(6, 3, betas=[1.0, beta], times=[1.0, 2.0], runs=runs, **options)


def assert_same(first, second):
    for name, values in first.stored_values().items():
        np.testing.assert_array_equal(second.stored_values()[name], values, err_msg=name)


STUDIES = pytest.mark.parametrize(
    ("study", "plan"), [(ensemble, EnsemblePlan), (comparison, Comparison), (diagram, MergingPlan)]
)


@STUDIES
def test_interrupted_study_resumes_to_the_same_numbers(study, plan, tmp_path, monkeypatch):
    """An interrupt would lose runs, or a resumed study draw other numbers."""
    path, honest = tmp_path / "study.h5", plan.run
    monkeypatch.setattr(plan, "block_length", lambda self, size: 1)
    ran = []

    def interrupted(self, runs):
        if len(ran) == 3:
            raise KeyboardInterrupt
        ran.append(runs)
        return honest(self, runs)

    monkeypatch.setattr(plan, "run", interrupted)
    message = "study.h5 keeps what was finished, resume=True goes on"
    refused(message, study, error=KeyboardInterrupt, output=path)
    assert mf.load(path).attributes["status"].startswith("interrupted with 3 of ")
    first, ran[:] = list(ran), []
    monkeypatch.setattr(plan, "run", lambda self, runs: ran.append(runs) or honest(self, runs))
    resumed = study(output=path, resume=True)
    assert ran and not any(runs in first for runs in ran)
    assert_same(resumed, study())
    assert_same(resumed, mf.load(path))
    assert resumed.attributes["status"] == "completed" and resumed.attributes["sessions"] == 2


@STUDIES
def test_a_study_grows_and_a_whole_one_runs_nothing(study, plan, tmp_path, monkeypatch):
    """More runs would differ from a study that has them at once."""
    path = tmp_path / "study.h5"
    fewer = {} if study is diagram else {"tokens": (20,)}
    study(output=path, runs=2, **fewer)
    grown = study(output=path, resume=True)
    assert_same(grown, study())
    before = path.read_bytes()
    monkeypatch.setattr(plan, "run", None)
    assert_same(study(output=path, resume=True), grown)
    assert path.read_bytes() == before


def test_a_whole_comparison_runs_no_density(tmp_path, monkeypatch):
    """Reading a finished study again would cost its density run."""
    path = tmp_path / "study.h5"
    study = comparison(output=path)
    monkeypatch.setattr("meanfield.studies.convergence.density_reference", None)
    assert_same(comparison(output=path, resume=True), study)


@STUDIES
def test_any_executor_writes_the_same(study, plan, tmp_path):
    """Where runs are made would show in the file."""
    with ThreadPoolExecutor(2) as executor:
        there = study(output=tmp_path / "a.h5", executor=executor, progress=True)
    here = study(output=tmp_path / "b.h5", workers=1)
    assert_same(there, here)
    assert there.attributes["result_hash"] == here.attributes["result_hash"]


@pytest.mark.slow
@STUDIES
def test_two_processes_give_the_same(study, plan, tmp_path):
    """The number of processes would show in the result, in memory or in a file."""
    here = study()
    assert_same(study(workers=2), here)
    assert_same(study(workers=2, output=tmp_path / "study.h5"), here)


@pytest.mark.slow
def test_the_command_goes_on_with_a_study_of_python(tmp_path, cli):
    """A study begun in a notebook could not be completed on a cluster, or give other numbers."""
    path, config = tmp_path / "study.h5", tmp_path / "run.toml"
    config.write_text(
        "problem = {manifold = 'circle', beta = 5, normalization = 'none'}\n"
        "ensemble = {tokens = [20, 60], runs = 6}\n"
    )
    ensemble(output=path, runs=2)
    cli("ensemble", config, "-o", path, "--workers", 1, "--quiet", "--resume")
    run = mf.load(path)
    assert_same(run, ensemble())
    assert_same(ensemble(output=path, resume=True), run)


@pytest.mark.slow
@pytest.mark.parametrize(("study", "message"), [
    (partial(ensemble, seed=1), r"ensemble: \[ensemble\] seed differs"),
    (partial(ensemble, runs=5), "runs = 5 is fewer than .* resume=True may only"),
    (partial(ensemble, tokens=60), r"\[ensemble\] tokens lacks 20, which"),
    (partial(ensemble, tolerance=1e-7),
     r"\[representation\] tolerance differs .* Use overwrite=True to start again\.$"),
    (partial(ensemble, replace(PROBLEM, kernel=mf.exponential(4.0))),
     r"ensemble: \[problem\] beta differs .*, which resume=True continues\."),
    (partial(ensemble, replace(PROBLEM, initial=mf.from_values(np.ones(8)))),
     r"\[initial\] .* differs"),
    (comparison, "is not a comparison of format"),
    (lambda **file: ensemble(**file | {"resume": False}), "exists: use overwrite=True"),
])  # fmt: skip
def test_another_study_is_not_resumed(study, message, tmp_path):
    """Runs of two problems would be mixed in one file, or some be dropped."""
    path = tmp_path / "study.h5"
    ensemble(output=path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=message) as error:
        study(output=path, resume=True)
    assert "\n" not in str(error.value) and path.read_bytes() == before
    assert_same(ensemble(output=path, overwrite=True), ensemble())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"beta": 4.0}, "has another betas: resume=True may only add runs"),
        ({"seed": 1}, "has another seed"),
        ({"runs": 5}, r"runs=5 is fewer than the 6 of .*: resume=True may only add\."),
    ],
)
def test_another_diagram_is_not_resumed(change, message, tmp_path):
    """Pairs of two diagrams would be added up."""
    diagram(output=tmp_path / "d.h5")
    refused(message, diagram, output=tmp_path / "d.h5", resume=True, **change)


@pytest.mark.slow
def test_a_kernel_that_changed_is_not_resumed(tmp_path):
    """Two functions of one name would be mixed: a file has only the name."""

    def study(slope, **options):
        def own(s):
            return np.exp(slope * s)

        return ensemble(mf.Problem(mf.Circle(), mf.zonal(own), mf.USA), 2, **options)

    path = tmp_path / "study.h5"
    study(3.0, output=path)
    study(3.0, output=path, resume=True)
    message = r"\[problem\] attention is another function than that of .*resume=True"
    refused(message, study, 4.0, output=path, resume=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "workers must be at least 1, got 0"),
        ({"workers": 2, "executor": ThreadPoolExecutor(1)}, "workers and executor both say"),
        ({"resume": True}, "resume and overwrite need output="),
        ({"overwrite": True}, "resume and overwrite need output="),
        ({"output": "x.h5", "resume": True, "overwrite": True}, "give one"),
        ({"output": "x.txt"}, "output=x.txt"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message):
    """One of two options would be ignored silently, before a study that takes hours."""
    refused(message, ensemble, **options)


@pytest.mark.slow
def test_kernels_are_compiled_before_workers_start(monkeypatch, tmp_path):
    """Each worker would compile them for itself, for a minute."""
    compiled, started = [], []

    def pool(workers, threads):
        started.append(len(compiled))
        return nullcontext()

    monkeypatch.setitem(VIEWS, "Request.compile", compiled.append)
    monkeypatch.setattr(complete, "worker_pool", pool)
    ensemble(runs=2, workers=2)
    diagram(runs=2, workers=2)
    ensemble(runs=2)
    assert compiled == [PROBLEM, None]
    mf.phase_diagram(lambda beta: replace(PROBLEM, kernel=mf.exponential(beta)), [1, 2], workers=2)
    over, time = {"problem.beta": [2.0, 5.0]}, {"end": 1.0, "save": 2}
    sweep = mf.sweep(PROBLEM, over, folder=tmp_path / "s", time=time, workers=2)
    assert sweep.summary == "2 runs, 2 completed"
    # Phase diagrams call none.
    assert [problem.beta for problem in compiled[2:] if problem] == [2.0]
    assert started == [1, 2, 2, 2, 3]
