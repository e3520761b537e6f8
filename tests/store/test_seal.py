"""The checksum at the end of a file."""

import subprocess
import sys
import zlib

import h5py
import numpy as np
import pytest

from meanfield.store.locks import is_broken, seal


def sealed(path, content):
    path.write_bytes(content)
    seal(path)
    assert not is_broken(path)
    return path.read_bytes()


@pytest.mark.parametrize("size", [0, 1, 2**20, 2**20 + 1, 3 * 2**20])
def test_checksum_is_that_of_all_blocks(tmp_path, size):
    """Only a part of a large file would be checked, or other programs could not check it."""
    path, content = tmp_path / "x", np.random.default_rng(1).bytes(size)
    good = sealed(path, content)
    assert good == content + b"\nmeanfield crc32 %08x\n" % zlib.crc32(content)
    for place in {0, size // 2, size - 1} if size else ():
        with path.open("r+b") as file:
            file.seek(place)
            file.write(bytes([content[place] ^ 1 << place % 8]))
            file.flush()
            assert is_broken(path), place
            file.seek(place)
            file.write(content[place : place + 1])
    assert not is_broken(path)


def test_every_flipped_bit_breaks_it(tmp_path):
    """Damage would go unnoticed."""
    path = tmp_path / "x"
    good = sealed(path, b"some content")
    for place in range(8 * len(b"some content")):
        data = bytearray(good)
        data[place // 8] ^= 1 << place % 8
        path.write_bytes(data)
        assert is_broken(path)


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 100])
def test_file_without_seal_is_not_broken(tmp_path, content):
    """A file that another program wrote would be refused."""
    (tmp_path / "x").write_bytes(content)
    assert not is_broken(tmp_path / "x")


@pytest.fixture
def path(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["a"] = 1
    seal(tmp_path / "x.h5")
    return tmp_path / "x.h5"


def test_hdf5_reads_a_sealed_file_and_removes_the_seal_when_it_writes(path):
    """Other programs could not read a run, or a user's own note would look like damage."""
    with h5py.File(path, "r") as file:
        assert file["a"][()] == 1
    assert not is_broken(path)
    with h5py.File(path, "a") as file:
        file.attrs["note"] = "mine"
    assert not is_broken(path)
    assert b"meanfield crc32" not in path.read_bytes()


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("size", [1, 26, 100, 512, 4096])
def test_seal_that_is_lost_with_what_precedes_it_is_missed(tmp_path, size, libver):
    """A last block that never reached the disk would be read as zeros."""
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", libver=libver) as file:
        file["a"] = list(range(1000))
    whole = path.stat().st_size
    seal(path)
    good = path.read_bytes()
    path.write_bytes(good[:-size] + bytes(size))
    assert is_broken(path)
    path.write_bytes(good[:-size])
    assert is_broken(path) or len(good) - size == whole
    path.write_bytes(good + bytes(size))
    assert is_broken(path)
    path.write_bytes(good[:whole])
    assert not is_broken(path)


def test_file_that_was_left_open_for_writing_is_whole(path):
    """A good result would be called damaged for ever: a program that was killed leaves flags."""
    killed = "import h5py, os, sys; f = h5py.File(sys.argv[1], 'r+'); os._exit(9)"
    good = path.read_bytes()
    subprocess.run([sys.executable, "-c", killed, str(path)], check=False)
    left = path.read_bytes()
    assert left != good and not is_broken(path)
    with h5py.File(path, "r+") as file:
        assert file["a"][()] == 1
    # Anything else that has changed is damage, with those flags or without.
    for place in (9, 19, 24, len(good) // 2):
        path.write_bytes(left[:place] + bytes([left[place] ^ 1]) + left[place + 1 :])
        assert is_broken(path), place
