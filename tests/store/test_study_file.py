"""Files of studies: what all kinds share, and results that are taken down as they come."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.described import Array, Rows, StudyResult, array, attribute
from meanfield.names import VIEWS
from meanfield.results.study_reports import described_report
from meanfield.store import study_file
from meanfield.store.run_file import load as load_run
from meanfield.store.study_file import (
    read_study,
    record_study,
    write_result,
    write_study,
)


def results(error=None):
    yield from [(0, 10), (1, 11)]
    if error is not None:
        raise error
    yield 2, 12


@dataclass(frozen=True)
class Numbers:
    taken: list[int]
    attributes: dict[str, Any] = field(default_factory=dict)


class Notes:
    def __init__(self):
        self.written = []

    def placed(self, table, task, part):
        return [*table, part]

    def results(self, table):
        return Numbers(table)

    def progress(self, table):
        return f"{len(table)} of 3 tasks"

    def write(self, file, results):
        self.written.append((results.attributes["status"], len(results.taken)))

    def stream(self, source):
        return record_study(Path(), self.write, self, [], source, {})


def test_a_complete_study_says_so(monkeypatch):
    """A finished file would look unfinished; a killed process would lose everything."""
    notes, eager = Notes(), Notes()
    assert list(notes.stream(results())) == [0, 1, 2]
    assert notes.written == [("running", 0), ("completed", 3)]
    monkeypatch.setattr(study_file, "FLUSH_SECONDS", -1.0)
    list(eager.stream(results()))
    assert eager.written[1:-1] == [("running", 1), ("running", 2), ("running", 3)]


def test_what_was_taken_is_written():
    """Whatever ends a study, or stops reading it, would lose the results since the last flush."""
    notes = Notes()
    refused("no", list, notes.stream(results(ValueError("no"))))
    assert notes.written[-1] == ("failed with 2 of 3 tasks finished", 2)
    stream = notes.stream(results())
    assert next(stream) == 0
    stream.close()
    assert notes.written[-1] == ("interrupted with 1 of 3 tasks finished", 1)


@dataclass(frozen=True, eq=False)
class Squares(StudyResult):
    kind = "squares"
    required = ("title",)
    derived = {"twice": Array(("number",))}

    numbers: Any = array("number", "number", kind="i", increasing=1)
    done: Any = array("number run", kind="b")
    places: Any = array("number component", points=True, unit="radian")
    seed: int = attribute()
    attributes: dict[str, Any] = field(default_factory=dict)
    squares: Any = array("number", init=False)
    later: Any = array("number", optional=True, default=None)

    def __post_init__(self):
        object.__setattr__(self, "squares", self.numbers**2.0)

    @property
    def twice(self):
        return 2.0 * self.numbers

    @property
    def columns(self):
        return {"number": self.numbers, "square": self.squares}

    def parts(self):
        rows = list(zip(self.numbers.tolist(), self.squares.tolist(), strict=True))
        return [Rows(("n", "n^2"), rows, above="squares"), Rows((), [("seed", self.seed)]), "end"]


def squares(places, **facts):
    done = np.array([[True, False], [True, True]])
    numbers = np.array([1, 3])
    return Squares(numbers, done, places, 7, {"title": "t"} | facts, later=numbers * 1.0)


def test_study_comes_back_without_its_version(tmp_path):
    """A study read and written again would claim the format of its old file, or lose its facts."""
    write_result(tmp_path / "s.h5", squares(np.zeros((2, 3)), beta=np.float64(5.0)))
    with read_study(tmp_path / "s.h5", "squares", 1) as (file, attributes):
        assert attributes == {"title": "t", "beta": 5.0, "seed": 7}
        assert type(attributes["beta"]) is float
        assert [list(axis)[0] for axis in file["places"].dims] == ["number", "component"]
        assert file["places"].attrs["units"] == "radian"


def test_every_axis_needs_a_scale(tmp_path):
    """A forgotten axis would stay without a name."""
    arrays = {"size": (("size",), np.arange(2), ""), "table": (("size",), np.zeros((2, 3)), "")}
    refused("zip", write_study, tmp_path / "s.h5", "squares", 1, {}, arrays)
    assert not (tmp_path / "s.h5").exists()


@pytest.mark.parametrize(
    ("kind", "version", "message"),
    [
        ("squares", 8, r"not a squares of format 8 \(squares_format_version is 1\)"),
        ("ensemble", 7, r"not an ensemble of format 7 \(ensemble_format_version is None\)"),
    ],
)
def test_other_kinds_and_versions_are_refused(tmp_path, kind, version, message):
    """Arrays would be read as something that they are not."""
    write_result(tmp_path / "s.h5", squares(np.zeros(2)))
    file = read_study(tmp_path / "s.h5", kind, version)
    refused(message, file.__enter__)


@pytest.fixture
def registered(monkeypatch):
    """Files of squares are known, as a row in the list of names would do."""
    monkeypatch.setitem(study_file.RESULT_KINDS, "squares", "Squares")
    monkeypatch.setattr(study_file, "public", lambda name: Squares)


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("places", [np.zeros(2), np.zeros((2, 3))])
def test_described_arrays_come_back(places, tmp_path):
    """A new study would need a reader and a writer of its own."""
    squares(places).save(tmp_path / "s.h5")
    back = mf.load(tmp_path / "s.h5")
    assert isinstance(back, Squares) and back.done.dtype == bool
    for name in ("numbers", "done", "places", "later", "squares"):
        np.testing.assert_array_equal(getattr(back, name), getattr(squares(places), name))
    assert (back.seed, back.attributes["title"], back.attributes["status"]) == (7, "t", "completed")
    refused(r"s\.h5 exists: use overwrite=True", back.save, tmp_path / "s.h5")
    refused(r"s\.h5 is a file of mf\.squares, no run", load_run, tmp_path / "s.h5")


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda file: file["number"].__setitem__(0, 0), "number holds other numbers than finite"),
        (lambda file: file["done"].__setitem__((0, 0), 2), "done holds other numbers than 0 to 1"),
        (lambda file: file.__delitem__("squares"), "squares is missing"),
        (lambda file: file.attrs.__delitem__("title"), "attribute title is missing"),
        (lambda file: file.attrs.__delitem__("seed"), "attribute seed is missing"),
        # A version that adds an array reads the files of the one before.
        (lambda file: file.__delitem__("later"), None),
    ],
)
def test_arrays_other_than_described_are_refused(change, message, tmp_path):
    """Damage would be read as results."""
    write_result(tmp_path / "s.h5", squares(np.zeros(2)))
    with h5py.File(tmp_path / "s.h5", "a") as file:
        change(file)
    if message is None:
        assert mf.load(tmp_path / "s.h5").later is None
        return
    refused(message, mf.load, tmp_path / "s.h5")


def test_report_of_a_study_needs_its_tables_alone(monkeypatch):
    """A new study would need a report, a page and a table of its own."""
    monkeypatch.setitem(VIEWS, "Squares.report", described_report)
    result = squares(np.zeros(2))
    assert str(result) == "t\n\nsquares\nn  n^2\n1    1\n3    9\n\nseed  7\n\nend"
    assert "<b>Squares</b>" in result._repr_html_() and result.runs == 2
    assert result.report().csv() == "number,square\n1,1.0\n3,9.0\n"
    assert json.loads(result.report().json())["done"] == [[True, False], [True, True]]
    assert list(dict(result.table())) == ["number", "square"]


def test_data_sets_have_the_axes_of_files():
    """Xarray would need another description of the same arrays."""
    pytest.importorskip("xarray")
    data = squares(np.zeros((2, 3))).to_xarray()
    assert data.done.dims == ("number", "run") and data.places.dims == ("number", "component")
    assert data.number.values.tolist() == [1, 3] and data.run.values.tolist() == [0, 1]
    assert data.places.attrs == {"units": "radian"}
    assert data.attrs == {"title": "t", "seed": 7}
    assert data.twice.sel(number=3) == 6.0
