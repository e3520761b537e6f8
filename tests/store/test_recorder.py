"""Recording: when rows reach the file, what ends a recording, and what it then says."""

import os
import shutil
import signal
import weakref

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.errors import SimulationError
from meanfield.files import OutputError
from meanfield.measures import Density
from meanfield.problem_facts import problem_attributes
from meanfield.snapshot import Checkpoint, Snapshot
from meanfield.store import recorder, run_writer
from meanfield.store.locks import LostOutputError, OutputFile
from meanfield.store.recorder import record
from meanfield.store.run_file import load

PROBLEM = mf.Problem(mf.Circle(), mf.linear(), mf.USA)
ATTRIBUTES = problem_attributes(PROBLEM) | {"status": "running", "config": "a = 1", "title": "t"}


def snapshots(count, first=0, degree=1):
    """Snapshots at times first, first + 1, ..."""
    for i in range(first, first + count):
        state = np.array([1.0, *[0.01 * i] * degree], complex)
        density = Density(mf.Circle(), state)
        checkpoint = Checkpoint(float(i), state, 0.1, i)
        yield Snapshot(float(i), density, density.moments(12), "density", {"steps": i}, checkpoint)


def recording(path, stream, **options):
    return record(
        OutputFile(path),
        stream,
        attributes=ATTRIBUTES,
        growth_rates=np.zeros(3),
        observe=lambda snapshot: {"energy": np.array(snapshot.time)},
        **options,
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.h5"


@pytest.fixture
def eager(monkeypatch):
    monkeypatch.setattr(recorder, "FLUSH_SECONDS", 0.0)
    monkeypatch.setattr(recorder, "_FLUSH_SHARE", 0.0)


def test_everything_is_passed_on_and_taken_down(path):
    """Progress or the file would miss a time, or double rows of a continued file."""
    passed = [snapshot.time for snapshot in recording(path, snapshots(3))]
    passed += [snapshot.time for snapshot in recording(path, snapshots(2, first=3), resume=True)]
    run = load(path)
    assert passed == run.time.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert run.observables["energy"].tolist() == run.time.tolist()
    assert (run.status, run.attributes["title"]) == ("completed", "t")


def test_file_is_there_before_the_first_row(path):
    """A run would compute for hours before it finds that it cannot write."""

    def stream():
        assert load(path).status == "running"
        yield from snapshots(1)

    list(recording(path, stream()))


@pytest.mark.slow
def test_writing_costs_a_share_of_the_time(path, monkeypatch):
    """A long run would spend its time copying its file."""
    now, written, real = [0.0], [], recorder.replace_file
    monkeypatch.setattr(recorder.clock, "perf_counter", lambda: now[0])

    def slow(*arguments):
        now[0] += 3.0
        written.append(now[0])
        real(*arguments)

    monkeypatch.setattr(recorder, "replace_file", slow)

    def stream():
        for snapshot in snapshots(400):
            now[0] += 1.0
            yield snapshot

    list(recording(path, stream()))
    assert 3.0 * len(written) < 0.12 * now[0]
    assert len(written) > 10


def test_states_do_not_fill_the_memory(path, monkeypatch):
    """Gigabytes of tokens would wait for their turn to be written."""
    monkeypatch.setattr(recorder, "FLUSH_SECONDS", 1e9)
    monkeypatch.setattr(recorder, "PENDING_BYTES", 100)
    monkeypatch.setattr(OutputFile, "size", 0)
    waiting = []
    monkeypatch.setattr(run_writer, "append", lambda file, rows: waiting.append(len(rows)))
    list(recording(path, snapshots(20)))
    # A state has 32 bytes: the fourth passes the limit.
    assert waiting == [4, 4, 4, 4, 4, 0]


def stored_rows(path):
    return [i for i, measure in enumerate(load(path).measures) if measure is not None]


@pytest.mark.parametrize(("keep", "expected"), [("all", [0, 1, 2]), ("last", [2]), ("none", [])])
def test_states_are_stored_as_requested(path, keep, expected, eager):
    """The disk would fill, or the last state be lost: a run that is killed would have none."""
    for snapshot in recording(path, snapshots(3), keep_state=keep):
        assert keep != "last" or stored_rows(path) == [snapshot.time]
    assert stored_rows(path) == expected


def test_file_does_not_grow_by_the_states_it_drops(path, eager):
    """Every flush of a run of many tokens would leave a hole of the size of its state."""
    stream = recording(path, snapshots(6, degree=20_000), keep_state="last")
    sizes = [path.stat().st_size for _ in stream]
    # A row takes some kilobytes, a state hundreds.
    assert sizes[-1] - sizes[0] < 5 * 0.1 * 16 * 20_000


def test_run_that_was_closed_is_continued(path):
    """It would claim to be running, or keep states that an uninterrupted one has not."""
    stream = recording(path, snapshots(3), keep_state="last")
    next(stream), next(stream)
    stream.close()
    assert (load(path).status, stored_rows(path)) == ("interrupted at t = 1", [1])
    list(recording(path, snapshots(2, first=2), keep_state="last", resume=True))
    assert stored_rows(path) == [3]


def ended(stream, error):
    yield from stream
    raise error


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (KeyboardInterrupt(), "interrupted at t = 2"),
        (MemoryError(), "failed at t = 2"),
        (SimulationError(2.5, 7, "boom"), "boom at t = 2.5"),
        (SimulationError(2.5, 7, "coarse: tail 1e-3."), "coarse at t = 2.5: tail 1e-3"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_whatever_ends_a_run_is_its_status(path, error, status):
    """The file would not say how far it can be trusted."""
    with pytest.raises(type(error)):
        list(recording(path, ended(snapshots(3), error)))
    run = load(path)
    assert (run.status, run.time.tolist()) == (status, [0.0, 1.0, 2.0])


def test_arrays_of_what_ran_out_of_memory_are_freed_before_the_file_is_written(path, monkeypatch):
    """The file could not say that its run failed: what filled the memory would still fill it."""
    arrays, freed, real = [], [], recorder.replace_file

    def replace(*arguments):
        freed.append([each() is None for each in arrays])
        real(*arguments)

    def stream():
        yield from snapshots(2)
        array = np.zeros(9)
        arrays.append(weakref.ref(array))
        raise MemoryError

    monkeypatch.setattr(recorder, "replace_file", replace)
    with pytest.raises(MemoryError):
        list(recording(path, stream()))
    assert (load(path).status, freed[-1]) == ("failed at t = 1", [True])


@pytest.mark.parametrize(
    ("write", "times", "status"),
    [(3, [0.0, 1.0], "interrupted at t = 1"), (5, [0.0, 1.0, 2.0], "completed")],
    ids=["of a row", "last"],
)
def test_interrupt_while_writing_doubles_nothing(path, eager, monkeypatch, write, times, status):
    """Ctrl-C after renaming would write rows twice, or call a run interrupted that is all there."""
    real, calls = os.replace, []

    def replace(*arguments):
        real(*arguments)
        calls.append(1)
        if len(calls) == write:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(KeyboardInterrupt):
        list(recording(path, snapshots(3)))
    assert (load(path).time.tolist(), load(path).status) == (times, status)


@pytest.mark.parametrize("after", ["renaming", "taking the new version"])
def test_no_memory_after_a_write_doubles_nothing(path, eager, monkeypatch, after):
    """The file would be taken for another program's, stay "running", or hold rows twice."""
    owner, name = (os, "replace") if after == "renaming" else (OutputFile, "settle")
    real, done = getattr(owner, name), []

    def then_none(*arguments):
        real(*arguments)
        if path.exists() and len(load(path).time) == 2 and not done:
            done.append(1)
            raise MemoryError

    monkeypatch.setattr(owner, name, then_none)
    with pytest.raises(MemoryError):
        list(recording(path, snapshots(9)))
    run = load(path)
    assert (run.time.tolist(), run.status) == ([0.0, 1.0], "failed at t = 1")


def test_disk_that_fills_up_ends_the_run_with_its_reason(path, eager, monkeypatch):
    """A full disk would look like a wrong input, or lose what was written."""
    real = recorder.replace_file

    def full(target, source, write, room=0):
        if source is not None and len(load(path).time) == 2:
            raise OutputError("x.h5 cannot be written: No space left on device.")
        real(target, source, write, room)

    monkeypatch.setattr(recorder, "replace_file", full)
    # The row at t = 2 is lost: the file is valid up to the one before.
    text = r"No space left on device \(stopped at t = 1, step"
    refused(text, list, recording(path, snapshots(9)), error=SimulationError)
    assert load(path).time.tolist() == [0.0, 1.0]


def change_links(path):
    path.rename(path.with_name("moved.h5"))
    path.symlink_to("other.h5")


FOREIGN = {
    "copied onto it": (lambda path: shutil.copyfile(path.with_name("other.h5"), path), "changed"),
    "renamed onto it": (lambda path: path.with_name("other.h5").rename(path), "changed"),
    "re-pointed": (change_links, "changed"),
    "an older version": (lambda path: path.with_name("older.h5").rename(path), "changed"),
    "deleted": (lambda path: path.unlink(), "is gone"),
    "folder deleted": (lambda path: shutil.rmtree(path.parent), "is gone"),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_rows_go_into_no_other_file(tmp_path, what, eager):
    """Rows of two runs would be mixed, and the mixture sealed as completed."""
    (tmp_path / "folder").mkdir()
    path, other = tmp_path / "folder" / "x.h5", tmp_path / "folder" / "other.h5"
    list(recording(other, snapshots(3)))
    there = other.read_bytes()
    happens, text = FOREIGN[what]
    stream = recording(path, snapshots(9))
    next(stream)
    shutil.copyfile(path, path.with_name("older.h5"))
    next(stream)
    happens(path)
    left = path.read_bytes() if path.exists() else None
    with pytest.raises(SimulationError, match=rf"x\.h5 (was )?{text}") as caught:
        list(stream)
    assert isinstance(caught.value.__cause__, LostOutputError)
    assert (path.read_bytes() if path.exists() else None) == left
    assert not other.exists() or other.read_bytes() == there
    assert list(tmp_path.rglob(".*")) == []


def test_copy_that_comes_back_is_the_file(path, eager):
    """A run would end because its file was moved to another disk and back, or touched."""
    stream = recording(path, snapshots(4))
    next(stream)
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)
    next(stream)
    os.utime(path)
    assert len(list(stream)) == 2
    assert load(path).time.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_file_that_appears_before_the_first_write_stays(path):
    """A file of another program, made while a run was prepared, would be replaced."""
    stream = recording(path, snapshots(2))
    path.write_text("made meanwhile")
    refused(r"x\.h5 appeared meanwhile", next, stream, error=OutputError)
    assert path.read_text() == "made meanwhile"
