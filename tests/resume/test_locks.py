"""One writer a file: the second is refused at once, whatever the way to the file."""

import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from meanfield.commands.main import main
from meanfield.store import locks
from meanfield.store.locks import writer_lock

CONFIG = """\
problem = { manifold = "circle", beta = 5.0, normalization = "none" }
initial = { name = "perturbed_uniform", modes = [[3, 0.0, 0.2]] }
representation = { name = "particles", tokens = 20, tolerance = 1e-6 }
time = { end = 4.0, save = 3 }
compare = { tokens = [5, 20], runs = 2 }
ensemble = { tokens = [20], runs = 3 }
"""
COMMANDS = ["run", "ensemble", "compare"]

# Waits after its first row or result until somebody kills it.
HOLDER = """\
import sys
from meanfield.commands import run, studies
from meanfield.commands.main import main
from meanfield.store import recorder, study_file
from meanfield.studies import ensemble
recorder.FLUSH_SECONDS = recorder._FLUSH_SHARE = study_file.FLUSH_SECONDS = 0.0
ensemble._MOST_BLOCKED = 1

def held(stream, *others, **options):
    for item in stream:
        print("held", flush=True)
        sys.stdin.read()
        yield item

run.with_progress = studies.with_progress = held
sys.exit(main())
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with a run file, and another way to it."""
    (tmp_path / "here").mkdir()
    (tmp_path / "there").symlink_to(tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    Path("x.toml").write_text(CONFIG)
    Path("link.h5").symlink_to("x.h5")
    return tmp_path


def refused(capsys, *arguments):
    """True if a command ends with status 2 and the one line."""
    capsys.readouterr()
    status = main([*arguments, "--quiet"])
    captured = capsys.readouterr()
    line = "x.h5 is being written by another process."
    return status == 2 and captured.out == "" and captured.err.endswith(line + "\n")


@contextmanager
def holder(*arguments):
    """A process that has begun to write, until the block ends: kill -9."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, *arguments, "--quiet"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "held\n"
            yield process
        finally:
            process.send_signal(signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_file_has_one_lock_whatever_the_way_to_it(folder, command, capsys):
    """Two processes would write one file through two names."""
    Path("x.h5").touch()
    with writer_lock(folder / "here" / "x.h5"):
        for way in ("x.h5", "link.h5", "../here/x.h5", "../there/x.h5", "../there/link.h5"):
            assert refused(capsys, command, "x.toml", "-o", way, "--overwrite")
            assert refused(capsys, command, "x.toml", "-o", way, "--resume")
    assert Path("x.h5").read_bytes() == b"" and Path("link.h5").is_symlink()


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS[1:])
def test_link_to_a_study_stays_a_link(folder, command):
    """The result would replace the link, and the place it points to stay empty."""
    options = [command, "x.toml", "-o", "link.h5", "--workers", "1", "--quiet"]
    assert main(options) == 0
    assert Path("link.h5").is_symlink() and Path("x.h5").is_file()
    assert main([*options, "--resume"]) == main(["info", "link.h5"]) == 0


@pytest.mark.parametrize("command", COMMANDS[1:])
def test_study_of_another_process_meanwhile_stays(folder, command, capsys, monkeypatch):
    """A command that starts a moment before the end of the other would replace its file."""
    result = b"\x89HDF\r\n\x1a\n meanfield_version made meanwhile"

    @contextmanager
    def late(path):
        path.write_bytes(result)
        with writer_lock(path):
            yield

    monkeypatch.setattr(locks, "writer_lock", late)
    assert main([command, "x.toml", "-o", "x.h5", "--quiet"]) == 2
    assert "x.h5 exists: use --overwrite" in capsys.readouterr().err
    assert Path("x.h5").read_bytes() == result


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_result_goes_into_no_file_that_was_put_in_its_place(folder, command):
    """A run whose output is restored, moved or re-pointed would spoil the other file."""
    assert main([command, "x.toml", "-o", "other.h5", "--quiet"]) == 0
    other = Path("other.h5").read_bytes()
    for happens, text in (
        (lambda: shutil.copyfile("other.h5", "x.h5"), "was changed or replaced by another program"),
        (lambda: Path("x.h5").unlink(), "is gone: it was moved or deleted meanwhile"),
    ):
        workers = [] if command == "run" else ["--workers", "1"]
        with holder(command, "x.toml", "-o", "link.h5", "--overwrite", *workers) as process:
            happens()
            left = Path("x.h5").read_bytes() if Path("x.h5").exists() else None
            _, error = process.communicate("")
            assert process.returncode == (1 if command == "run" else 2)
        assert error.startswith(f"meanfield: link.h5 {text}") and error.count("\n") == 1
        assert (Path("x.h5").read_bytes() if Path("x.h5").exists() else None) == left
    assert Path("other.h5").read_bytes() == other
    assert [path for path in Path.cwd().iterdir() if ".meanfield-" in path.name] == []


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_second_process_is_refused_until_the_first_is_killed(folder, command, capsys, assert_same):
    """Two runs would write one file in turns; or a killed one could never be resumed."""
    workers = [] if command == "run" else ["--workers", "2"]
    first = [command, "x.toml", "-o", "x.h5", *workers]
    for begin in ([], ["--resume"]):
        # The second time the first one is itself resumed, and there is a file.
        with holder(*first, *begin):
            for way in ("x.h5", "link.h5", "../there/x.h5"):
                for option in ("--overwrite", "--resume"):
                    assert refused(capsys, command, "x.toml", "-o", way, option)
            assert main([command, "x.toml", "-o", "x.h5"]) == 2
            assert capsys.readouterr().err.count("\n") == 1
            assert main(["info", "x.h5"]) == 0
        assert Path(".x.h5.meanfield-lock").exists()
    assert main([*first, "--resume", "--quiet"]) == 0
    assert main([command, "x.toml", "-o", "whole.h5", "--quiet"]) == 0
    assert_same(folder / "here" / "x.h5", folder / "here" / "whole.h5")
    assert sorted(path.name for path in Path.cwd().iterdir()) == [
        "link.h5",
        "whole.h5",
        "x.h5",
        "x.toml",
    ]
