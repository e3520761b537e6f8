"""Replacing files: at once, on disks that are full, fail or lose their power, and locks."""

import os
import signal
import stat
import threading
from contextlib import nullcontext
from pathlib import Path

import h5py
import pytest
from parameters import refused

from meanfield.files import OutputError, replace_bytes, uninterrupted
from meanfield.store import locks
from meanfield.store.locks import is_broken, replace_file, writer_lock


def put(name, value):
    def write(file):
        file[name] = value

    return write


def numbers(path):
    with h5py.File(path) as file:
        return {name: int(item[()]) for name, item in file.items()}


def names(folder):
    return {file.name for file in folder.iterdir()}


SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
WRITES = {
    "figure": lambda path: replace_bytes(path, b"new"),
    "HDF5": lambda path: replace_file(path, None, put("b", 2)),
}


def test_old_version_is_there_until_the_new_one_is_whole(tmp_path):
    """Whoever reads during a flush would see half a file; a failure would cost what was there."""
    path = tmp_path / "x.h5"
    replace_file(path, None, put("a", 1))

    def look(file):
        file["b"] = 2
        file.flush()
        assert numbers(path) == {"a": 1}

    def fail(file):
        look(file)
        raise OSError(28, "No space left on device")

    text = r"x\.h5 cannot be written: No space left on device\."
    refused(text, replace_file, path, path, fail, error=OutputError)
    assert numbers(path) == {"a": 1} and names(tmp_path) == {"x.h5"}
    # The new one begins as a copy, or empty.
    replace_file(path, path, look)
    assert numbers(path) == {"a": 1, "b": 2}
    replace_file(path, None, put("c", 3))
    assert numbers(path) == {"c": 3} and names(tmp_path) == {"x.h5"}


def test_impossible_place_is_an_output_error(tmp_path):
    """A folder that does not exist would be a traceback."""
    text = r"x\.h5 cannot be written: No such file or directory\."
    refused(text, WRITES["HDF5"], tmp_path / "no" / "x.h5", error=OutputError)
    with pytest.raises(OutputError, match="No such file"), writer_lock(tmp_path / "no" / "x.h5"):
        pass


@pytest.mark.parametrize("name", ["itself.png", "other.png"])
def test_link_that_leads_nowhere_is_replaced(tmp_path, name):
    """A link to itself, or two to each other, would be a traceback."""
    link = tmp_path / "itself.png"
    link.symlink_to(name)
    (tmp_path / "other.png").symlink_to("itself.png")
    replace_bytes(link, b"new")
    assert link.read_bytes() == b"new" and not link.is_symlink()
    assert names(tmp_path) == {"itself.png", "other.png"}


@pytest.mark.parametrize("linked", [False, True])
def test_pipe_stays_a_pipe(tmp_path, linked):
    """A reader of a pipe, or a device, would wait for ever beside a file of its name."""
    pipe, link = tmp_path / "pipe.png", tmp_path / "link.png"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    path = link if linked else pipe
    refusal = rf"{path.name} cannot be written: it is not a regular file\.$"
    for write in WRITES.values():
        refused(refusal, write, path, error=OutputError)
    assert stat.S_ISFIFO(pipe.stat().st_mode) and link.is_symlink()
    assert names(tmp_path) == {"pipe.png", "link.png"}


def test_lock_clears_away_what_a_killed_writer_left(tmp_path):
    """A file half written would stay beside the run for ever."""
    (tmp_path / ".x.h5.meanfield-0123456789abcdef").touch()
    theirs = {"x.h5.partial", "x.h5.lock", ".x.h5.meanfield-notes", ".y.h5.meanfield-" + 16 * "0"}
    for name in theirs:
        (tmp_path / name).write_text("a user's own")
    with writer_lock(tmp_path / "x.h5"):
        assert names(tmp_path) == {*theirs, ".x.h5.meanfield-lock"}
    assert names(tmp_path) == theirs


def test_lock_is_exclusive_and_leaves_nothing(tmp_path):
    """Two runs would write one file; or the folder would fill with locks."""
    path = tmp_path / "x.h5"
    refusal = pytest.raises(OutputError, match=r"x\.h5 is being written by another process\.")
    with writer_lock(path), refusal, writer_lock(path):
        pass
    with pytest.raises(ZeroDivisionError), writer_lock(path):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_lock_that_was_taken_away_meanwhile_is_taken_anew(tmp_path, monkeypatch):
    """A process that opened the lock of one that is just leaving would hold a lock of nothing."""
    path, real, opened = tmp_path / "x.h5", os.open, []

    def slow_open(name, *options):
        descriptor = real(name, *options)
        if not opened:
            os.unlink(name)
        opened.append(name)
        return descriptor

    monkeypatch.setattr(os, "open", slow_open)
    with writer_lock(path):
        assert len(opened) == 2
        assert (tmp_path / ".x.h5.meanfield-lock").exists()


@pytest.fixture
def arrived():
    """Numbers of the signals that arrive."""
    result = []
    before = {n: signal.signal(n, lambda number, frame: result.append(number)) for n in SIGNALS}
    yield result
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", SIGNALS)
def test_interrupt_waits_for_the_end_of_the_block(number, arrived):
    """An interrupt would tear a flush in two, and rows be written twice."""
    with uninterrupted():
        with uninterrupted():
            os.kill(os.getpid(), number)
        assert arrived == []
    assert arrived == [number]
    os.kill(os.getpid(), number)
    assert arrived == [number, number]


def test_no_signal_of_several_is_lost(arrived):
    """Ctrl-C during a flush would be forgotten, or make the process forget another signal."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    done = []
    with pytest.raises(KeyboardInterrupt), uninterrupted():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
        done.append(1)
    assert (arrived, done) == ([signal.SIGTERM], [1])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_may_write(tmp_path):
    """Signals belong to the main thread: a run in another one would fail."""
    thread = threading.Thread(target=replace_file, args=(tmp_path / "x.h5", None, put("a", 1)))
    thread.start()
    thread.join()
    assert numbers(tmp_path / "x.h5") == {"a": 1}


@pytest.mark.parametrize("write", WRITES)
def test_planted_links_are_not_followed(tmp_path, write):
    """A link in a folder from somebody else would lead into any file of the user's."""
    (tmp_path / "victim").write_text("a user's own")
    for name in ("x.png.partial", ".x.png.partial", ".x.png.meanfield-" + 16 * "0"):
        (tmp_path / name).symlink_to("victim")
    WRITES[write](tmp_path / "x.png")
    assert (tmp_path / "victim").read_text() == "a user's own"
    assert not (tmp_path / "x.png").is_symlink() and (tmp_path / "x.png").stat().st_size > 0


@pytest.mark.parametrize(
    "make",
    [lambda lock: lock.symlink_to("victim"), Path.mkdir, os.mkfifo],
    ids=["link", "folder", "pipe"],
)
def test_what_is_no_lock_is_refused(tmp_path, make):
    """A lock would make an empty file wherever a link points to, or a pipe be locked for ever."""
    lock = tmp_path / ".x.h5.meanfield-lock"
    make(lock)
    refusal = (
        r"x\.h5 cannot be written: its lock \.x\.h5\.meanfield-lock is not a regular file\. Delete"
    )
    with pytest.raises(OutputError, match=refusal), writer_lock(tmp_path / "x.h5"):
        pass
    assert names(tmp_path) == {lock.name}


def test_name_that_is_taken_is_not_written_through(tmp_path, monkeypatch):
    """Even a name that was guessed would only end the write."""
    monkeypatch.setattr("os.urandom", bytes)
    planted = tmp_path / (".x.png.meanfield-" + 16 * "0")
    planted.symlink_to("victim")
    text = r"x\.png cannot be written: File exists"
    refused(text, replace_bytes, tmp_path / "x.png", b"new", error=OutputError)
    assert names(tmp_path) == {planted.name}


def test_full_disk_is_detected_before_hdf5_writes(tmp_path, monkeypatch):
    """HDF5 would be left with a file that it can neither write nor close, and crash at the end."""
    path = tmp_path / "x.h5"
    replace_file(path, None, put("a", 1))
    calls = []

    def full(descriptor, offset, size):
        calls.append(size)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    text = "cannot be written: No space left on device"
    refused(text, replace_file, path, path, put("b", 2), room=1000, error=OutputError)
    assert calls[0] >= path.stat().st_size + 1000
    assert numbers(path) == {"a": 1}
    assert names(tmp_path) == {"x.h5"}


def test_reserved_space_is_returned(tmp_path):
    """A file would keep the room that it might have needed."""
    path = tmp_path / "x.h5"
    replace_file(path, None, put("a", 1), room=10**7)
    replace_file(path, path, put("b", 1), room=10**7)
    assert path.stat().st_size < 10**5


def test_file_systems_that_cannot_reserve_are_written_all_the_same(tmp_path, monkeypatch):
    """Runs would be impossible on some network disks."""
    path = tmp_path / "x.h5"

    def unsupported(descriptor, offset, size):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "posix_fallocate", unsupported)
    replace_file(path, None, put("a", 1))
    monkeypatch.delattr(os, "posix_fallocate")
    replace_file(path, path, put("b", 2))
    assert numbers(path) == {"a": 1, "b": 2}


class Faulty:
    """File whose k-th write or cut fails, once; or that takes few bytes at a time."""

    def __init__(self, raw, chosen=None, most=None):
        self._raw, self._left, self._most = raw, chosen, most

    def __getattr__(self, name):
        method = getattr(self._raw, name)
        if name not in ("write", "truncate"):
            return method

        def maybe(argument):
            if self._left is not None:
                self._left -= 1
                if self._left == -1:
                    raise OSError(5, "Input/output error")
            return method(argument[: self._most] if name == "write" else argument)

        return maybe


def test_no_failure_of_the_disk_is_forgotten(tmp_path, monkeypatch):
    """HDF5 forgets what it could not write when it closes a dataset: a hole would be sealed."""
    path, real, failing = tmp_path / "x.h5", locks._Disk, 0
    replace_file(path, None, put("a", 1))

    def write(file):
        file.create_dataset("chunks", data=[1.0] * 1000, chunks=(50,))
        file["b"] = 2

    monkeypatch.setattr(locks, "_Disk", lambda raw: real(Faulty(raw, failing)))
    while True:
        try:
            replace_file(path, path, write)
        except OutputError as error:
            assert str(error) == f"{path} cannot be written: Input/output error."
            assert numbers(path) == {"a": 1}
            failing += 1
        else:
            break
    assert failing > 30


def test_disk_that_takes_few_bytes_at_a_time_gets_all(tmp_path, monkeypatch):
    """The end of a large write would be missing."""
    path, real = tmp_path / "x.h5", locks._Disk
    monkeypatch.setattr(locks, "_Disk", lambda raw: real(Faulty(raw, most=7)))
    replace_file(path, None, put("a", 1))
    replace_file(path, path, put("b", 2))
    assert numbers(path) == {"a": 1, "b": 2} and not is_broken(path)


@pytest.mark.skipif(os.name != "posix", reason="folders cannot be flushed")
@pytest.mark.parametrize("write", WRITES)
def test_file_and_then_its_name_are_flushed(tmp_path, monkeypatch, write):
    """A power cut would leave an empty file, or bring the older one back."""
    path, done, flush, rename = tmp_path / "x", [], os.fsync, os.replace
    path.write_bytes(b"old")

    def noted(what, result):
        done.append((what, result.st_ino, result.st_size, result.st_mtime_ns))

    def fsync(descriptor):
        noted("flushed", os.fstat(descriptor))
        flush(descriptor)

    def replace(source, target):
        noted("renamed", os.stat(source))
        rename(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    WRITES[write](path)
    noted("flushed", path.stat())
    assert done[0] == done[-1] and done[1] == ("renamed", *done[0][1:])
    assert [step[:2] for step in done[2:-1]] == [("flushed", tmp_path.stat().st_ino)]


@pytest.mark.skipif(os.name != "posix", reason="folders cannot be flushed")
@pytest.mark.parametrize(
    ("is_chosen", "left"), [(stat.S_ISREG, b"old"), (stat.S_ISDIR, b"new")], ids=["file", "folder"]
)
def test_what_cannot_be_flushed(tmp_path, monkeypatch, is_chosen, left):
    """A file that is not on the disk would be trusted; or one that is there be called lost."""
    path, flush = tmp_path / "x", os.fsync
    path.write_bytes(b"old")

    def fsync(descriptor):
        if is_chosen(os.fstat(descriptor).st_mode):
            raise OSError(5, "Input/output error")
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    refusal = pytest.raises(OutputError, match="x cannot be written: Input/output error")
    with refusal if left == b"old" else nullcontext():
        replace_bytes(path, b"new")
    assert path.read_bytes() == left and names(tmp_path) == {"x"}
