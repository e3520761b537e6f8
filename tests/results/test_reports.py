"""`print` of a result: the report of the command that makes it."""

from dataclasses import replace

import numpy as np
import pytest

import meanfield as mf
from meanfield.runs import assembled

LAW = mf.perturbed_uniform([[2, 0.3, 0.0], [3, 0.0, 0.1]])
PROBLEM = mf.Problem(mf.Circle(), mf.exponential(4.0), mf.USA, LAW)


@pytest.mark.slow
def test_run_prints_what_info_prints(tmp_path, cli):
    """A notebook would show less of a run than a terminal."""
    run = mf.simulate(PROBLEM, until=1.0, save=3, output=tmp_path / "run.h5", fluctuations=2)
    assert f"{run}\n" == cli("info", tmp_path / "run.h5")
    assert str(run).endswith(str(run.fluctuations))
    assert str(run.fluctuations).startswith("fluctuations of N tokens at t = ")
    assert "created" not in str(assembled(PROBLEM, [], {}))


@pytest.mark.slow
def test_phases_print_what_phase_prints(cli):
    """Diffusivities in the papers' units would be known to the command alone."""
    family = lambda beta: mf.Problem(mf.Circle(), mf.exponential(beta), mf.USA)  # noqa: E731
    options = ("phase", "--manifold", "circle", "--normalization", "none", "--beta")
    point, diagram = mf.phase_point(family(3.0)), mf.phase_diagram(family, [2.0, 3.0])
    assert f"{point}\n" == cli(*options, 3)
    assert f"{diagram}\n" == cli(*options, 2, 3, 2)
    alone = replace(point, problem=None)
    assert str(alone) == repr(alone)
    assert str(replace(diagram, points=(alone,))).startswith("PhaseDiagram(circle")


def test_prediction_prints_what_predict_prints(cli):
    """The laws beside each other would be known to the command alone."""
    problem = mf.Problem(mf.Circle(), mf.exponential(4.0), mf.USA)
    prediction = mf.predict_clusters(problem, 100, samples=50, corrected=False)
    line = "--manifold circle --normalization none --samples 50 --runs 0 --beta 4 --tokens 100"
    assert cli("predict", *line.split()) == f"{prediction}\n"
    assert str(prediction).startswith(f"{prediction.answer}\n")


def test_study_without_all_rows_prints_one_line():
    """Means of no runs would be printed as NaN, with warnings."""
    study = mf.ensemble(mf.Problem(mf.Circle(), mf.exponential(4.0), mf.USA), tokens=10, runs=2)
    nothing = replace(study, counts=np.full_like(study.counts, -1))
    assert str(nothing) == repr(nothing)
