"""Rows of any length and kind, appended in any portions."""

import h5py
import numpy as np
import pytest

import meanfield as mf
from meanfield.store import run_writer
from meanfield.store.run_writer import Row, append, create, drop_states, nbytes, room

ATTRIBUTES = {"paper_time_factor": 1.0, "growth_rate_max": 0.5, "status": "running"}
CIRCLE = mf.Circle()


def row(time, degree=4, diagnostics=None, **observables):
    state = mf.Density(CIRCLE, np.r_[1.0, 0.01 * time * np.ones(degree)])
    values = {name: np.asarray(value, float) for name, value in observables.items()}
    diagnostics = diagnostics or {"steps": time}
    return Row(time, np.full(3, 1j * time), "density", diagnostics, values, state, CIRCLE)


@pytest.fixture
def h5(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        create(file, ATTRIBUTES, np.arange(4.0))
        yield file


def test_portions_make_no_difference(tmp_path):
    """A run that is flushed more often would have another file."""
    rows, result = [row(float(t), degree=2 + t, mass=np.arange(t % 3)) for t in range(7)], []
    names = ["time", "moments", "observables/mass", "density/coefficients", "density/degree"]
    for cuts in ([7], [1] * 7, [3, 4]):
        with h5py.File(tmp_path / f"{len(cuts)}.h5", "w") as file:
            create(file, ATTRIBUTES, np.arange(4.0))
            ends = np.cumsum([0, *cuts])
            for begin, end in zip(ends[:-1], ends[1:], strict=True):
                append(file, rows[begin:end])
            result.append([file[name][()] for name in names])
    for other in result[1:]:
        for mine, theirs in zip(result[0], other, strict=True):
            assert np.array_equal(mine, theirs, equal_nan=True)


def test_rows_of_different_length_are_padded(h5):
    """A shorter row would end in another one's numbers."""
    append(h5, [row(0.0, mass=[0.5, 0.25]), row(1.0, mass=[])])
    append(h5, [row(2.0, mass=[0.1, 0.2, 0.3])])
    nan = np.nan
    expected = [[0.5, 0.25, nan], [nan, nan, nan], [0.1, 0.2, 0.3]]
    assert np.array_equal(h5["observables/mass"], expected, equal_nan=True)
    assert h5["observables/mass_entry"][()].tolist() == [0, 1, 2]


def test_series_that_come_and_go_are_filled(h5):
    """After a change of observables on resuming, series would be of different lengths."""
    append(h5, [row(0.0, energy=1.0, diagnostics={"tail": 1.0})])
    append(h5, [row(1.0, entropy=2.0, diagnostics={"degree": 3.0})])
    for name, expected in {
        "observables/energy": [1.0, np.nan],
        "observables/entropy": [np.nan, 2.0],
        "diagnostics/tail": [1.0, np.nan],
        "diagnostics/degree": [np.nan, 3.0],
    }.items():
        assert np.array_equal(h5[name], expected, equal_nan=True)


def test_vectors_fill_a_third_axis(h5):
    """Rows that are tables, as points on the sphere, could not be written."""
    tables = [np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(4, 3)]
    for i, table in enumerate(tables):
        run_writer._put(h5, "points", i, [table], "time", "token", "component")
    assert h5["points"].shape == (2, 4, 3)
    assert np.array_equal(h5["points"][0, :2], tables[0])
    assert np.array_equal(h5["points"][1], tables[1])
    assert [list(axis)[0] for axis in h5["points"].dims] == ["time", "token", "component"]


def test_dropped_states_are_gone(h5):
    """`state = "last"` would keep the state of every interruption."""
    append(h5, [row(0.0), row(1.0)])
    drop_states(h5)
    assert "density" not in h5 and len(h5["time"]) == 2
    run_writer.append_states(h5, [(1, mf.Measure(CIRCLE, [0.0, 1.0], [0.5, 0.5]))])
    assert h5["measure/save"][()].tolist() == [1]
    assert h5["measure/weights"][()].tolist() == [[0.5, 0.5]]


def test_nothing_appended_changes_nothing(h5):
    """A flush without rows would make empty datasets."""
    append(h5, [])
    assert sorted(h5) == ["diagnostics", "observables", "stability", "time"]
    assert sorted(h5["observables"]) == ["clusters", "time"]


def test_room_is_enough_for_the_rows(tmp_path):
    """The disk would fill up under HDF5's hands."""
    rows = [row(float(t), degree=200, mass=np.zeros(5)) for t in range(3000)]
    with h5py.File(tmp_path / "x.h5", "w") as file:
        create(file, ATTRIBUTES, np.arange(4.0))
        append(file, rows)
    size = (tmp_path / "x.h5").stat().st_size
    assert size < room(rows) + 2**22 < 4 * size
    assert room([]) == 0
    assert nbytes(rows[0].state) == 201 * 16
