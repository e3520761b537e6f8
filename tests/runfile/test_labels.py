"""Run files with frequencies and profiles: what they say is what Python says."""

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.runfile import ConfigError, load_config
from meanfield.runfile.written import stored_problem

TEXT = """\
problem = { manifold = "circle", beta = 5.0, normalization = "softmax" }
initial = { modes = [[2, 0.1, 0.0]] }
representation = { labels = 6 }
time = { end = 0.5, save = 2 }
"""
SPREAD = '[frequencies]\nlaw = "lorentzian"\nwidth = 0.2\n'
CAUSAL = ("problem.mask=causal", "initial.profile=1")


@pytest.mark.slow
def test_run_file_with_frequencies_says_what_python_says(path):
    """Another law, or other frequencies, would be run, or be resumed."""
    path.write_text(TEXT.replace("labels", "tolerance = 1e-2, labels") + SPREAD)
    problem = load_config(path).problem
    law = mf.perturbed_uniform([[2.0, 0.1, 0.0]])
    spread = mf.Lorentzian(0.2)
    assert problem == mf.Problem(mf.Circle(), mf.exponential(5.0), mf.SA, law, frequencies=spread)
    run = mf.run(path, output=path.with_suffix(".h5"))
    assert stored_problem(run) == problem
    assert len(mf.load(path.with_suffix(".h5")).measures[-1].labels) == 6
    np.save("omega.npy", [0.1, -0.2])
    path.write_text(TEXT + '[frequencies]\nlaw = "given"\nvalues = "omega.npy"\n')
    assert load_config(path).problem.frequencies == mf.GivenFrequencies([0.1, -0.2])


def test_profile_of_a_run_file_is_that_of_python(path):
    """The profile would be lost, or a run go on with another."""
    problem = load_config(path, CAUSAL).problem
    law = mf.with_profile(mf.perturbed_uniform([[2.0, 0.1, 0.0]]), 1.0)
    causal = mf.Attention([mf.Head()], beta=5.0, mask="causal")
    assert problem == mf.Problem(mf.Circle(), causal, initial=law)
    assert stored_problem(mf.simulate(problem, 0.1, save=2, labels=3)) == problem


@pytest.mark.slow
def test_laws_of_labels_are_read_from_the_file_of_their_run(tmp_path):
    """Functions are in no file: the first state is."""
    causal = mf.Attention([mf.Head()], beta=0.0, mask="causal")
    law = mf.from_labels(lambda s: mf.from_density([1.0, 0.4 * s]))
    problem = mf.Problem(mf.Circle(), causal, initial=law)
    mf.simulate(problem, 0.1, save=2, labels=5, output=tmp_path / "run.h5")
    again = mf.load(tmp_path / "run.h5").problem
    parts = again.labelled_measure().parts
    np.testing.assert_allclose(parts[:, 1], 0.4 * problem.labels(5).values, rtol=1e-15)
    refused("densities of 5 labels, and the run has 6", mf.simulate, again, 0.1, labels=6)


@pytest.mark.parametrize(("text", "changes", "message"), [
    ('[frequencies]\nlaw = "normal"', (), r"\[frequencies\] law .*lorentzian"),
    ('[frequencies]\nlaw = "gaussian"', (), r'\[frequencies\] law = "gaussian" needs a width'),
    ('[frequencies]\nlaw = "given"', (), r"needs values = \[\.\.\.\]"),
    ("", ("initial.profile=1",), r"\[initial\] profile is over positions"),
    (SPREAD, CAUSAL[:1], r"this problem has two"),
    # The key is not `power`.
    ("", ("problem.mask=causal", "initial.profile=-1"),
     r"\[initial\] profile must be at least 0, got -1"),
    # Modes in flat space are refused as densities are, not for their degree.
    ("", ("problem.manifold=space:2", "initial.modes=[[2,0.1]]", "representation="),
     "Start from tokens"),
])  # fmt: skip
def test_mistake_has_its_line(path, text, changes, message):
    """A mistake would be run, or end in a traceback."""
    path.write_text(TEXT + text)
    refused(message, load_config, path, changes, error=ConfigError)


def test_stability_knows_the_onset(path, cli):
    """Rates without frequencies, or without a mask, would be printed unmarked."""
    path.write_text(TEXT + SPREAD)
    facts = cli.json("stability", "--config", path)
    assert facts["dominant_degree"] == 2
    assert facts["growth_rate_max"] == pytest.approx(0.5141173961458927 - 0.4, abs=1e-12)
    assert max(facts["critical_widths"]) == pytest.approx(0.25705870, abs=1e-8)
    path.write_text(TEXT)
    masked = cli("stability", "--config", path, "--set", "problem.mask=causal")
    assert "rates are those without it" in masked


@pytest.mark.slow
def test_listed_frequencies_are_counted_against_the_tokens(path):
    """Five would be refused, as too many for the two tokens of a trial."""
    text = TEXT.replace("labels = 6", 'name = "particles", tokens = 5')
    path.write_text(text + '[frequencies]\nlaw = "given"\nvalues = [0.1, 0.2, 0.3, 0.4, 0.5]\n')
    assert len(mf.run(path, output=path.with_suffix(".h5")).measures[0].points) == 5
    message = "5 frequencies are given to 7 tokens"
    refused(message, load_config, path, ["representation.tokens=7"], error=ConfigError)
