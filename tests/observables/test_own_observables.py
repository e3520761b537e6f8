"""Observables of the user's own: in Python, in run files and in files of results."""

import pickle
import re
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from parameters import refused, together

import meanfield as mf
from meanfield.observables import OBSERVABLES, Observable, chosen_observables, observe
from meanfield.runs import padded

PROBLEM = mf.Problem(mf.Circle(), mf.linear(), mf.USA)
DENSITY = mf.von_mises_fisher(2.0).build(mf.Circle())


def first(measure: mf.Density | mf.Measure) -> float:
    return float(abs(measure.moments(1)[1]))


def sizes(measure: mf.Density | mf.Measure) -> Any:
    return np.abs(measure.moments(2)[1:])


def observed(function: Any) -> Any:
    """Values of a function at t = 3, after 7 steps."""
    moments = DENSITY.moments(12)
    return observe(PROBLEM, DENSITY, moments, [("own", function)], time=3.0, step=7)["own"]


@pytest.mark.parametrize("options", [
    ["resolution", ("own", first)], {"own": first},
    [mf.observable("own", first), OBSERVABLES["entropy"]], [], "entropy",
])  # fmt: skip
def test_ours_come_first_and_two_of_them_always(options):
    """A file would miss what figures need, or its observables depend on the order asked for."""
    names = [each.name for each in chosen_observables(options)]
    assert {"energy", "clusters"} <= {*names}
    ours = [name for name in OBSERVABLES if name in names]
    assert names in (ours, [*ours, "own"])
    assert chosen_observables(chosen_observables(options)) == chosen_observables(options)


@pytest.mark.parametrize(("options", "beside"), [
    ({"first": first}, True), ([first], True), ([("first", first), sizes], True),
    ([mf.observable("first", first)], True), ({}, True), (None, True), ([], False),
    (["entropy", first], False), ([OBSERVABLES["entropy"]], False),
])  # fmt: skip
def test_own_observables_stand_beside_the_usual_ones(options, beside):
    """An added observable would replace the default ones; a list of names chooses."""
    problem = mf.Problem(mf.Circle(), mf.linear(), mf.USA, mf.von_mises_fisher(2.0))
    run = mf.simulate(problem, until=1.0, save=2, observables=options)
    assert ("order_parameter" in run.observables) is beside
    usual = mf.simulate(problem, until=1.0, save=2).observables
    own = {"first"} & run.observables.keys()
    assert (usual.keys() <= run.observables.keys()) is beside
    for name in own:
        np.testing.assert_array_equal(run.observables[name], np.abs(run.moments[:, 1]))


def test_own_observables_of_a_call_join_those_of_a_run_file(tmp_path):
    """`mf.run` and `mf.simulate` would read one argument in two ways."""
    path = tmp_path / "run.toml"
    path.write_text(
        "problem = {manifold = 'circle', beta = 2, normalization = 'none'}\ntime = {end = 1}\n"
        "initial = {name = 'von_mises_fisher', concentration = 1}\n"
        "output = {observables = ['entropy']}\n"
    )
    stored = mf.run(path, observables={"first": first}, time={"save": 2}).observables
    assert {"entropy", "energy", "first"} <= stored.keys() and "order_parameter" not in stored
    assert "entropy" not in mf.run(path, observables=["peaks"], time={"save": 2}).observables


def test_own_observable_is_plain_data():
    """Another process, or a resumed run, could not have it."""
    own = mf.observable("own", first, "first moment")
    assert pickle.loads(pickle.dumps(own)) == own


def test_own_values_are_copies():
    """A function that fills one array would make all rows the last."""
    values = np.zeros(2)
    result = observed(lambda measure: values)
    values[:] = 5.0
    assert result.tolist() == [0.0, 0.0]


@together(("entries", "error", "message"), [
    ("enrgy", ValueError, "'enrgy' is not known. Did you mean energy. Known: attended_share, "),
    (["qqq"], ValueError, "'qqq' is not known. Known: .* One of your own is given"),
    ([2.0], TypeError,
     r"holds 2.0 \(float\), expected a name of ours, a function, \(name, func"),
    ([lambda measure: 0.0], ValueError, "'<lambda>' cannot name an observable"),
    (3, TypeError, r"must be a list of names and .*, got 3 \(int\)"),
    ({"own": 3}, TypeError, r"observable: function must be a function, got 3 \(int\)"),
    ({3: first}, TypeError, r"observable: name must be a string, got 3 \(int\)"),
    ({"energy": first}, ValueError, "'energy': this name is taken"),
    ({"time": first}, ValueError, "'time': this name is taken"),
    ({"clusters_mass": first}, ValueError, "'clusters_mass': this name is taken"),
    ({"own_entry": first}, ValueError, "'own_entry': this name is taken"),
    ({"own/mine": first}, ValueError, "'own/mine' cannot name an observable: take letters"),
    ([("own", first), ("own", sizes)], ValueError, "'own' is given twice"),
    ([Observable("energy", "mine", sizes)], ValueError, "'energy': this name is taken"),  # type: ignore[arg-type]
])  # fmt: skip
def test_what_is_no_observable_is_refused(entries, error, message):
    """The mistake would show after the run, or as a traceback in it."""
    refused(message, chosen_observables, entries, error=error)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda measure: 1 / 0, "failed: ZeroDivisionError: division by zero"),
        (lambda: 1.0, "failed: TypeError: .*takes 0 positional arguments"),
        (lambda measure: None, r"TypeError: it gave None, expected a real number or"),
        (lambda measure: 1j, r"it gave 1j \(complex\)"),
        (lambda measure: np.zeros((2, 3)), r"it gave an array of shape \(2, 3\)"),
        (lambda measure: np.inf, r"it gave inf \(float\), expected finite numbers"),
        (lambda measure: "x" * 100, r"it gave 'x+\.\.\.x+' \(str\), expected"),
    ],
)
def test_failure_names_observable_and_time(function, message):
    """A user of five functions would not know which one failed, nor when."""
    with pytest.raises(mf.SimulationError, match=message) as caught:
        observed(function)
    assert str(caught.value).startswith("observable 'own' failed: ")
    assert (caught.value.time, caught.value.step) == (3.0, 7)
    assert str(caught.value).endswith("(stopped at t = 3, step 7).")


def test_observable_that_answers_under_another_name_is_refused():
    """It could overwrite the energy."""
    own = Observable("own", "own", lambda problem, measure, moments: {"energy": 1.0})
    with pytest.raises(mf.SimulationError, match=r"it gave .*expected \{'own': number or array\}"):
        observe(PROBLEM, DENSITY, DENSITY.moments(12), [own])


def test_numbers_truths_and_no_number_are_taken():
    """NaN is what entropy is of points: there is nothing to measure."""
    assert observed(lambda measure: True) == 1.0
    assert observed(lambda measure: 3).dtype == np.float64
    assert np.isnan(observed(lambda measure: np.nan))
    assert observed(lambda measure: []).shape == (0,)


def test_run_holds_own_observables_padded():
    """Arrays of other lengths, and numbers among them, would not stack."""
    lengths = iter([1, 2, 3])

    def growing(measure: mf.Density | mf.Measure) -> Any:
        length = next(lengths)
        return 7.0 if length == 1 else np.arange(length)

    run, nan = mf.simulate(PROBLEM, 1.0, save=3, observables=[growing]), np.nan
    expected = [[7.0, nan, nan], [0.0, 1.0, nan], [0.0, 1.0, 2.0]]
    np.testing.assert_array_equal(run.observables["growing"], expected)
    assert padded([np.array(1.0), np.zeros(0)]).shape == (2, 1)


CODE = """
import numpy as np

def first(measure):
    return abs(measure.moments(1)[1])

def sizes(measure):
    return np.abs(measure.moments(2 if LATER else 1)[1:])

def late(measure):
    return first(measure) if first(measure) < 0.2 else np.array([1.0, 2.0])

def failing(measure):
    return 1.0 if first(measure) < 0.2 else 1 / 0

LATER = False
"""

RUN = """
[problem]
normalization = "none"
manifold = "circle"
kernel = "linear"
[initial]
modes = [[1, 0.1, 0.0]]
[time]
end = 4.0
save = 5
[output]
observables = ["entropy", "own.py:first", "own.py:sizes", "own.py:late"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "own.py").write_text(CODE)
    (tmp_path / "run.toml").write_text(RUN)
    return tmp_path


@pytest.mark.slow
def test_run_file_stores_own_observables(folder, cli):
    """A user's observable would not come back from the file, or not be announced."""
    cli("run", folder / "run.toml", "--quiet")
    assert "executing the Python of" in cli.err
    run = mf.load(folder / "run.h5")
    expected = np.abs(run.moments[:, 1])
    assert run.observables["first"] == pytest.approx(expected, rel=1e-15)
    assert run.observables["sizes"] == pytest.approx(expected[:, None], rel=1e-15)
    late = run.observables["late"]
    assert late.shape == (5, 2)
    assert late[0, 0] == pytest.approx(expected[0], rel=1e-15) and np.isnan(late[0, 1])
    assert late[-1].tolist() == [1.0, 2.0]
    assert len(cli.json("info", folder / "run.h5")["observables"]["sizes"]) == 5
    assert run.to_xarray()["late"].dims == ("time", "late_entry")


@pytest.mark.slow
def test_resumed_run_goes_on_with_own_observables(folder, cli):
    """Rows of before and after would not fit: more numbers, and arrays where numbers were."""
    run = "run", folder / "run.toml", "--quiet"
    cli(*run, "--set", "time.end=1.0", "--set", "time.save=2")
    with h5py.File(folder / "run.h5") as file:
        assert file["observables/late"].shape == (2,)
    (folder / "own.py").write_text(CODE.replace("LATER = False", "LATER = True"))
    cli(*run, "--resume")
    values = mf.load(folder / "run.h5").observables
    assert values["late"].shape == values["sizes"].shape == (5, 2)
    assert np.isnan(values["sizes"][:2, 1]).all() and np.isfinite(values["sizes"][2:]).all()
    assert np.isfinite(values["first"]).all()
    with h5py.File(folder / "run.h5") as file:
        assert file["observables/late"].dims[0]["time"] == file["time"]


@pytest.mark.slow
def test_failing_observable_keeps_the_run_so_far(folder, cli):
    """A night's run would be lost to a division by zero, or end in a traceback."""
    chosen = 'output.observables=["own.py:failing"]'
    cli("run", folder / "run.toml", "--quiet", "--set", chosen, status=1)
    assert "Traceback" not in cli.err
    assert "own.py:failing" in cli.err and "ZeroDivisionError: division by zero" in cli.err
    run = mf.load(folder / "run.h5")
    assert 1 <= len(run.time) < 5
    assert run.status.startswith("observable 'failing' failed")


@pytest.mark.parametrize(
    ("observables", "message"),
    [
        ('["own.py:none"]', 'observables = "own.py:none" failed: AttributeError'),
        ('["none.py:first"]', 'must be "file.py:function" of an existing file'),
        ('["own.py:LATER"]', "is no function"),
        ('["own.py:first", "more.py:first"]', "observable 'first' is given twice"),
        ('["enrgy"]', '"enrgy".* is not known. Did you mean energy'),
    ],
)
def test_run_file_refuses_what_is_no_observable(folder, observables, message, cli):
    """The run would begin and fail."""
    (folder / "more.py").write_text(CODE)
    cli("run", folder / "run.toml", "--set", f"output.observables={observables}", status=2)
    last = cli.err.splitlines()[-1]
    assert last.startswith(f"meanfield: {folder}/run.toml: [output]")
    assert re.search(message, last)


def test_output_does_not_overwrite_the_python(folder, cli):
    """The user's own file would be replaced by numbers."""
    cli.refused("check", folder / "run.toml", "--set", "output.path=own.py")
    assert (folder / "own.py").read_text() == CODE
