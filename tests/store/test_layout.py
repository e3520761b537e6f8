"""Required contents of a file: each deviation is named."""

import h5py
import numpy as np
import pytest
from parameters import refused, together

from meanfield.store.layout import (
    ATTRIBUTES,
    ForeignError,
    arrays,
    check_counts,
    check_distinct,
    check_grows,
    check_increasing,
    check_indices,
    checked_attribute,
    dataset,
    increasing_times,
)


@pytest.fixture
def file(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as result:
        result.create_dataset("time", data=np.arange(3.0), maxshape=(None,))
        result["counts"], result["texts"] = np.arange(3), ["a", "b"]
        result["small"], result["table"] = np.ones(3, np.float32), np.zeros((3, 2))
        yield result


@together(
    ("name", "value"),
    [
        *[("beta", value) for value in ("4", True, float("nan"), 1j, [4.0], None, b"4")],
        *[("seed", value) for value in (-1, 1.0, "1", False, np.uint64(2**64 - 1))],
        *[("normalized", value) for value in (0, "true")],
        *[("heads", -1), ("normalization", 1), ("growth_rate_max", "nan")],
        *[("status", value) for value in (3, "\udcff", b"completed")],
        *[("result_hash", value) for value in ("abc", "g" * 64, 5)],
        *[("anything", value) for value in (1j, b"text", np.arange(2), h5py.Empty("f8"))],
    ],
)
def test_attribute_of_another_kind_is_named(name, value):
    """A command would stumble over it later, without a word about the file."""
    refused(rf"attribute {name} is .*, expected ", checked_attribute, name, value)


def test_attributes_become_plain_values():
    """JSON knows no numbers of NumPy's."""
    assert np.isnan(checked_attribute("growth_rate_max", np.float64("nan")))
    values = {"beta": np.float64(2.0), "seed": np.int64(3), "normalized": np.bool_(True)}
    for name, value in (values | {"config": "a\nb", "result_hash": "f" * 64}).items():
        plain = checked_attribute(name, value)
        assert plain == value and type(plain) in (float, int, bool, str)


def test_texts_are_one_short_line_each():
    """A title would clear the terminal, forge lines, or be laid out for minutes."""
    assert checked_attribute("title", "\x1b]0;pwned\x07 a\nb") == r"\x1b]0;pwned\x07 a\nb"
    assert checked_attribute("note", "\u202e abc") == r"\u202e abc"
    assert checked_attribute("changes", "t = 1\n\x1b[2J") == "t = 1\n" + r"\x1b[2J"


def test_numbers_stand_once():
    """The second kind of a name would win unseen; a fit over equal sizes would divide by zero."""
    names = [name for group in ATTRIBUTES.values() for name in group.split()]
    assert len(names) == len(set(names))
    check_distinct("tokens", np.array([1, 2]))
    refused("tokens holds the same number twice", check_distinct, "tokens", np.array([5, 5]))


@pytest.mark.parametrize(
    ("name", "kinds", "shape", "message"),
    [
        ("nothing", "f", (3,), "nothing is missing"),
        ("counts", "f", (3,), "counts holds int64, expected real numbers"),
        ("small", "f", (3,), "small holds float32, expected real numbers"),
        ("texts", "fi", (2,), "texts holds object, expected real numbers or integers"),
        ("time", "f", (4,), r"time has shape \(3,\), expected \(4,\)"),
        ("table", "f", (3, 3), r"table has shape \(3, 2\), expected \(3, 3\)"),
        ("table", "f", (None,), r"table has shape \(3, 2\), expected \(any,\)"),
    ],
)
def test_dataset_of_another_kind_is_named(file, name, kinds, shape, message):
    """Numbers of another kind or shape would be computed with."""
    refused(message, dataset, file, name, kinds, shape)


@pytest.mark.parametrize(
    "values", [[0.0, 2.0, 1.0], [-1.0, 0.0, 1.0], [0.0, np.nan, 1.0], [0.0, 1.0, np.inf]]
)
def test_times_that_do_not_increase_are_refused(file, values):
    """A run would be drawn, and continued, from a wrong time."""
    assert increasing_times(file).tolist() == [0.0, 1.0, 2.0]
    file["time"][...] = values
    refused("time holds other numbers than finite ones, increasing", increasing_times, file)


def test_times_that_are_nothing_but_gaps_are_refused(file):
    """A file of kilobytes would take all memory."""
    file["time"].resize((10**12,))
    refused("time has 1000000000000 rows, more than the file can", increasing_times, file)


@together(
    ("check", "values", "message"),
    [
        (check_indices, [0, 3], "x holds other indices than 0 to 2, increasing"),
        (check_indices, [-1, 1], "x holds other indices than 0 to 2, increasing"),
        (check_indices, [1, 1], "x holds other indices than 0 to 2, increasing"),
        (check_counts, [0, 4], "x holds other numbers than 0 to 3"),
        (check_counts, [-1, 3], "x holds other numbers than 0 to 3"),
        (check_increasing, [2, 3], "x holds other numbers than finite ones, increasing from 3"),
    ],
)
def test_numbers_out_of_range_are_named(check, values, message):
    """An index would point elsewhere, or a count take all memory."""
    check("x", np.arange(2), 3 if check is not check_increasing else 0)
    check("x", np.zeros(0, int), 3)
    refused(message, check, "x", np.array(values), 3)


def test_arrays_fit_their_axes(file):
    """A table would be read with the rows of another study."""
    result = arrays(file, {"counts": ("time",)}, {"counts": "i"})
    assert result["counts"].tolist() == [0, 1, 2] and result["time"].tolist() == [0.0, 1.0, 2.0]
    text, axes = r"table has shape \(3, 2\), expected \(3, 3\)", {"table": ("time", "counts")}
    refused(text, arrays, file, axes, {"counts": "i"})
    refused("pair is missing", arrays, file, {"table": ("time", "pair")}, {})


def test_file_that_cannot_grow_is_not_continued(tmp_path):
    """A resumed run would fail in the middle of its first write."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("series/energy", data=np.arange(3.0), maxshape=(None,))
        file["checkpoint/state"] = 1.0
        check_grows(file, "checkpoint")
        file["series/tail"] = np.arange(3.0)
        text = "another program has added the dataset series/tail"
        refused(text, check_grows, file, "checkpoint", error=ForeignError)
        file["series/tail"].make_scale("tail")
        refused("no rows can be added to series/tail", check_grows, file, "checkpoint")
