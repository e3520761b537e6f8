"""Full disks: one line, the right status, whole files, and all the bits once there is room.

Three ways: a limit to the size of files (RLIMIT_FSIZE), a small file system, and single calls to
the system that fail at the k-th time, which is also what a broken disk does.
"""

import errno
import os
import re
import shutil
import signal
import subprocess
from collections import Counter
from dataclasses import replace

import pytest
from children import CIRCLE, chain, command, traced, warm

CONFIG = CIRCLE.replace("end = 2.0", "end = 5.0").replace("runs = 3", "runs = 6")
FULL = (os.strerror(errno.ENOSPC), os.strerror(errno.EFBIG), os.strerror(errno.EIO))
PARTS = 4

pytestmark = traced


def starved(run, **fault):
    """Let a run that has just begun find no room; then give it room."""
    run.begin_again()
    end = run.go(**fault)
    end.check(0, 1, 2)
    assert end.status == 0 or any(reason in end.err for reason in FULL), end.err
    left = run.look()
    # Nothing is there before the first version of the file is whole: the input was at fault.
    assert (end.status == 2) == (left is None)
    if end.status != 0:
        # Else it may be the lock that could not be removed.
        allowed = {"run.toml", "reference", *([] if left is None else ["run.h5"])}
        assert {path.name for path in run.folder.iterdir()} == allowed
    if left is not None:
        assert left.status in ("running", "completed") or "cannot be written at t =" in left.status
    run.finish()
    return {0: "harmless", 1: "told, rows kept", 2: "told, nothing begun"}[end.status]


@pytest.mark.slow
def test_few_limits_of_a_run(tmp_path, survived):
    """A full disk would cost what was computed, or seal a file with a hole in it."""
    run = chain(tmp_path, CONFIG, [])
    size = (tmp_path / "reference").stat().st_size
    ends = Counter([starved(run, limit=2**22 + size // 2)])
    survived("full disk", "run: limits to the size of its file", 1, **underscored(ends))
    ends = Counter([starved(run, call=run.calls // 2, error=errno.ENOSPC)])
    survived("full disk", "run: one call of the system fails", 1, **underscored(ends))


def underscored(ends):
    return {name.replace(", ", "_").replace(" ", "_"): count for name, count in ends.items()}


@pytest.mark.slow
def test_every_limit_of_a_run(tmp_path, survived):
    """Some size of a disk would cost what was computed."""
    run = chain(tmp_path, CONFIG, [])
    # Room is reserved beyond the size of the file; up to there HDF5 never sees a limit.
    most = (tmp_path / "reference").stat().st_size + 2**22
    sizes = [0, 1, 8, 100, 2048, 2**22 - 1, 2**22, 2**22 + 1, most]
    sizes += [most * i // 50 for i in range(1, 50)]
    ends = Counter(starved(run, limit=limit) for limit in sizes)
    survived("full disk", "run: limits to the size of its file", len(sizes), **underscored(ends))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_every_call_may_fail(tmp_path, part, survived):
    """A disk that fails once would crash HDF5, or leave a silent hole."""
    run = chain(tmp_path, CONFIG, ["--set", "time.save=3"])
    calls, errors = range(part, run.calls, PARTS), (errno.ENOSPC, errno.EIO)
    ends = Counter(starved(run, call=k, error=errors[k // PARTS % 2]) for k in calls)
    what = "run: every call that changes the disk fails, one at a time"
    survived("full disk", what, len(calls), **underscored(ends))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["compare", "ensemble"])
def test_studies_without_room(tmp_path, name, survived):
    """A full disk would cost the results of a study, or the ones that were there."""
    (tmp_path / "run.toml").write_text(CONFIG)
    output = tmp_path / "study.h5"
    go = [name, "run.toml", "-o", "study.h5", "--workers", "1", "--threads", "1", "--quiet"]
    warm(tmp_path, *go)
    whole, size = output.read_bytes(), output.stat().st_size
    smaller = ["--set", "compare.tokens=[10]", "--set", "ensemble.runs=3"]
    cases = 0
    for limit in [0, 1, size // 2, size, 2**22 - 1, 2**22, 2**22 + size // 2]:
        # Nothing there before; something that is to be replaced; something that is to grow.
        output.unlink(missing_ok=True)
        starved_study(tmp_path, go, None, limit)
        output.write_bytes(whole)
        starved_study(tmp_path, [*go, "--overwrite"], whole, limit)
        output.unlink()
        command(tmp_path, *go, *smaller).check(0)
        starved_study(tmp_path, [*go, "--resume"], output.read_bytes(), limit)
        command(tmp_path, *go, "--resume").check(0)
        assert result_hash(output) == result_hash(whole_copy(tmp_path, whole))
        cases += 3
    survived("full disk", f"{name}: limits to the size of its file", cases)


def starved_study(folder, arguments, before, limit):
    """Run a study without room: it is as it was, or done."""
    output = folder / "study.h5"
    end = command(folder, *arguments, limit=limit)
    end.check(0, 1, 2)
    if end.status != 0:
        assert any(reason in end.err for reason in FULL), end.err
        assert (output.read_bytes() if output.exists() else None) == before
    assert {path.name for path in folder.iterdir()} <= {"run.toml", "study.h5", "whole.h5"}


def whole_copy(folder, content):
    path = folder / "whole.h5"
    path.write_bytes(content)
    return path


def result_hash(path):
    import h5py

    with h5py.File(path) as file:
        return str(file.attrs["result_hash"])


PREDICT = ["predict", "--manifold", "circle", "--beta", "3", "--tokens", "100", "--samples", "50"]
PHASE = ["phase", "--manifold", "circle", "--beta", "2"]
# Command -> the file it writes.
WRITERS = {
    "plot -o figure.png": ["plot", "run.h5", "-o", "figure.png"],
    "plot -o figure.svg": ["plot", "run.h5", "-o", "figure.svg"],
    "plot -o figure.gif": ["plot", "run.h5", "-o", "figure.gif"],
    "phase --plot": [*PHASE, "--plot", "figure.png"],
    "predict --plot": [*PREDICT, "--runs", "0", "--plot", "figure.png"],
    "init": ["init", "figure.toml"],
}


@pytest.mark.slow
@pytest.mark.parametrize("what", WRITERS)
def test_figures_without_room(tmp_path, what, survived):
    """A full disk would leave half a figure in place of the one that was there."""
    arguments = WRITERS[what]
    output = tmp_path / next(name for name in arguments if name.startswith("figure"))
    (tmp_path / "run.toml").write_text(CONFIG)
    warm(tmp_path, "run", "run.toml", "--quiet", "--overwrite", "--threads", "1")
    warm(tmp_path, *arguments)
    before = output.read_bytes()
    sizes = range(0, len(before), 1 + len(before) // 8)
    for size in sizes:
        output.write_bytes(before)
        if what == "init":
            output.unlink()
        end = command(tmp_path, *arguments, limit=size)
        # A film takes longer than 5 s on a slow machine, and shows its progress.
        replace(end, err=re.sub(r"(?m)^frames: .*\n", "", end.err)).check(1, 2)
        assert not output.exists() if what == "init" else output.read_bytes() == before
        files = {path.name for path in tmp_path.iterdir()}
        assert files <= {"run.toml", "run.h5", output.name}, files
    command(tmp_path, *arguments).check(0)
    survived("full disk", f"{what}: limits to the size of its file", len(sizes))


@pytest.fixture
def small_disk(tmp_path):
    """Folder with a file system of its own that has room for a few files."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.slow
def test_small_file_system(small_disk, survived):
    """A limit to the size of files would be another matter than a disk without room."""
    run = chain(small_disk, CONFIG, [])
    filler, cases = small_disk / "filler", 24
    # The reference is in memory: its file gives room.
    (small_disk / "reference").unlink()
    ends = Counter()
    for i in range(cases):
        run.begin_again()
        fill(filler, small_disk, i * 2**18)
        end = run.go()
        end.check(0, 1, 2)
        assert end.status == 0 or FULL[0] in end.err
        left = run.look()
        ends[{0: "finished", 1: "told", 2: "told"}[end.status]] += 1
        assert (end.status == 2) == (left is None)
        filler.unlink()
        run.finish()
    assert ends["told"] > 3 and ends["finished"] > 3
    survived("full disk", "run: a file system of 6 MB", cases, **ends)


def fill(filler, folder, free):
    room = os.statvfs(folder)
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(room.f_bavail * room.f_frsize - free, 1))


@pytest.mark.slow
def test_disk_that_fills_meanwhile(small_disk, survived):
    """A disk that fills between two flushes would cost the rows before."""
    run = chain(small_disk, CONFIG, ["--set", "time.save=40"])
    (small_disk / "reference").unlink()
    filler, cases = small_disk / "filler", 5
    for i in range(cases):
        run.begin_again()
        # Killed on the way, it goes on where there is no room.
        run.go(signal=signal.SIGKILL, after=(0.3 + 0.1 * i) * run.seconds)
        before = run.look()
        fill(filler, small_disk, 2**16)
        end = run.go()
        end.check(0, 1, 2)
        after = run.look()
        assert (before is None) == (after is None)
        filler.unlink()
        run.finish()
    survived("full disk", "run: a file system that is full when it goes on", cases)
