"""The hash of results: it changes with every bit of them, and with nothing else."""

import hashlib

import h5py
import numpy as np
import pytest
from parameters import refused

from meanfield.store import result_hash as module
from meanfield.store.result_hash import result_hash, run_results

RNG = np.random.default_rng(1)
MOMENTS = RNG.normal(size=(5, 4)) + 1j * RNG.normal(size=(5, 4))
RESULTS = {
    "time": np.linspace(0.0, 1.0, 5),
    "moments": MOMENTS,
    "counts": np.arange(6).reshape(2, 3),
}


def test_definition_can_be_followed_elsewhere():
    """The recipe of the documentation would give another hash."""
    text = b"meanfield results 1\n"
    text += b"counts i8 2x3\n" + RESULTS["counts"].astype("<i8").tobytes()
    text += b"moments c16 5x4\n" + MOMENTS.astype("<c16").tobytes()
    text += b"time f8 5\n" + RESULTS["time"].astype("<f8").tobytes()
    assert result_hash(RESULTS) == hashlib.sha256(text).hexdigest()


@pytest.mark.parametrize(
    ("name", "index"),
    [("time", (0,)), ("time", (4,)), ("moments", (2, 1)), ("moments", (4, 3)), ("counts", (1, 2))],
)
def test_every_bit_counts(name, index):
    """Two different results would be taken for the same."""
    array = RESULTS[name].copy()
    array.view(np.int64).reshape(*array.shape, -1)[(*index, -1)] ^= 1
    assert result_hash(RESULTS | {name: array}) != result_hash(RESULTS)


def test_names_and_shapes_count():
    """The same bytes would mean something else and keep their hash."""
    others = [MOMENTS.reshape(4, 5), MOMENTS.view(np.float64)]
    renamed = {name.replace("time", "Time"): array for name, array in RESULTS.items()}
    hashes = {result_hash(RESULTS | {"moments": other}) for other in [MOMENTS, *others]}
    assert len(hashes | {result_hash(renamed)}) == 4


def test_layout_and_pieces_do_not_count(monkeypatch):
    """The same numbers would have another hash on another machine, or read in other pieces."""
    reference = result_hash(RESULTS)
    turned = {name: RESULTS[name] for name in reversed(RESULTS)}
    big_endian = RESULTS | {"time": RESULTS["time"].astype(">f8")}
    fortran = RESULTS | {"moments": np.asfortranarray(MOMENTS)}
    short = RESULTS | {"counts": RESULTS["counts"].astype(np.int32)}
    for other in (turned, big_endian, fortran, short):
        assert result_hash(other) == reference
    monkeypatch.setattr(module, "_PIECE_BYTES", 100)
    assert result_hash(RESULTS) == reference


@pytest.mark.parametrize("chunks", [(1, 1), (3, 2), (5, 4)])
def test_chunks_of_a_file_do_not_count(tmp_path, chunks):
    """The hash would depend on how often the file was written."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for name, array in RESULTS.items():
            file.create_dataset(name, data=array, chunks=chunks if name == "moments" else None)
        assert result_hash(file) == result_hash(RESULTS)


def test_every_nan_is_the_same():
    """A missing number would have the sign that a processor gives it."""
    one, other = np.array([0.0, np.nan]), np.array([0.0, np.nan])
    other.view(np.uint64)[1] ^= 1 << 63 | 1
    assert np.isnan(other[1]) and one.tobytes() != other.tobytes()
    assert result_hash({"x": one}) == result_hash({"x": other})
    assert result_hash({"x": one}) != result_hash({"x": np.zeros(2)})
    pairs = (np.array([1.0, x[1]]).view(complex) for x in (one, other))
    assert len({result_hash({"x": pair}) for pair in pairs}) == 1


@pytest.mark.parametrize("padding", [0, 1, 4])
@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 3)])
def test_padding_does_not_count(shape, padding):
    """A resumed file that is padded to another width would have another hash."""
    narrow = np.arange(float(np.prod(shape))).reshape(shape)
    # A column that others follow stays, as does one with a single number.
    narrow[:, 1] = np.nan
    narrow[:, 2].flat[:-1] = np.nan
    wide = np.full((2, 3 + padding, *shape[2:]), np.nan)
    wide[:, :3] = narrow
    result = run_results(np.arange(2.0), np.ones((2, 3)), {"clusters/centre": wide})
    assert result.keys() == {"time", "moments", "observables/clusters/centre"}
    np.testing.assert_array_equal(result["observables/clusters/centre"], narrow, strict=True)


def test_run_without_clusters_has_a_hash():
    """A file of which every column is NaN would be an error."""
    empty = {"clusters/mass": np.full((2, 3), np.nan)}
    none = {"clusters/mass": np.zeros((2, 0))}
    time, moments = np.arange(2.0), np.ones((2, 3))
    hashes = {result_hash(run_results(time, moments, result)) for result in (empty, none)}
    assert len(hashes) == 1


def test_words_are_refused():
    """Text would be hashed by its place in memory."""
    text = "status is of <U4, expected an array of numbers"
    refused(text, result_hash, {"status": np.array(["done"])}, error=TypeError)
