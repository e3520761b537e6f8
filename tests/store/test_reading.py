"""Claims of a file that are refused before anything is opened."""

import os
import re
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from meanfield.store.layout import FormatError, check_bounded, opened
from meanfield.store.locks import seal


@pytest.fixture
def path(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["a"] = 1
    seal(tmp_path / "x.h5")
    return tmp_path / "x.h5"


def not_opened(path, message):
    with pytest.raises(FormatError, match=message), opened(path):
        pass


def test_what_cannot_be_opened_is_named(path, tmp_path):
    """The user would see HDF5's own words."""
    other, changed = tmp_path / "text.h5", tmp_path / "changed.h5"
    other.write_text("text")
    changed.write_bytes(path.read_bytes().replace(b"HDF", b"HDG"))
    for file, message in (
        (tmp_path / "no.h5", "no such file"),
        (tmp_path, "is a folder or a device, expected a file"),
        (other, "is not a readable HDF5 file"),
        (changed, "is damaged: its checksum does not fit"),
    ):
        not_opened(file, f"^{re.escape(str(file))}:? {message}")


def test_file_that_cannot_be_read_says_why(path, monkeypatch):
    """No permission would be a failed run, or a traceback in a script."""

    def refuse(name):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("meanfield.store.layout.is_broken", refuse)
    not_opened(path, r"x\.h5 cannot be read: Permission denied\.")


def test_message_is_one_line_whatever_the_file_says():
    """A file could print what it likes."""
    assert str(FormatError("two\n  lines")) == "two lines"
    assert str(FormatError("red \x1b[31m")) == r"red \x1b[31m"


def test_file_that_another_program_writes_is_not_damaged(path):
    """The advice would be to delete a good file."""
    holds = "import h5py, sys; f = h5py.File(sys.argv[1], 'r+'); print(1, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", holds, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None and other.stdout.readline()
        not_opened(path, r"x\.h5 is open for writing in another program\. Close it there\.")
        other.kill()
    with opened(path) as file:
        assert file["a"][()] == 1


def external(file):
    """Put a link to a pipe, which is waited for, into a group."""
    os.mkfifo(Path(file.filename).parent / "pipe")
    file["group/there"] = h5py.ExternalLink("pipe", "/x")


def virtual(file):
    layout = h5py.VirtualLayout((3,), "f8")
    layout[:] = h5py.VirtualSource("other.h5", "x", (3,))
    file.create_virtual_dataset("group/there", layout)


def many(file):
    for i in range(20):
        file.create_dataset(f"group/{i}", (2 * 10**6,), "f8", chunks=(100,))


TOO_MUCH = "group/.* claims more than the file can hold"


@pytest.mark.parametrize(("change", "message"), [
    (external, "group/there is a link, which is not followed"),
    (lambda file: file.update({"group/there": h5py.SoftLink("/time")}), "group/there is a link"),
    (virtual, "group/there lies in another file"),
    (lambda file: file.create_dataset("group/there", (3,), "f8", external=[("other", 0, 24)]),
     "group/there lies in another file"),
    (lambda file: file.create_dataset("group/gaps", (21, 10**7), "f8", chunks=(21, 100)), TOO_MUCH),
    # One number, in a chunk of gigabytes that takes kilobytes.
    (lambda file: file.create_dataset("group/1", (1,), "f8", maxshape=(None,), chunks=(10**8,)),
     TOO_MUCH),
    (many, TOO_MUCH),
    (lambda file: file.create_group("a\x1b[2J"), r"'a\\x1b\[2J' is no name"),
    (lambda file: [file.create_group(f"{i}") for i in range(6000)],
     "there are more than 5000 names in it"),
])  # fmt: skip
def test_what_leads_elsewhere_or_claims_too_much_is_named(tmp_path, change, message):
    """A file of kilobytes would make a command wait for ever, or take all memory."""
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["time"] = np.arange(3.0)
        file.create_group("group")
        change(file)
    not_opened(path, rf"x\.h5 is damaged: {message}")


def test_what_runs_and_others_write_passes(tmp_path):
    """Runs of many times, compressed copies and notes of other programs would be refused."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        # Never written, as a diagnostic of a carrier that a long run never took.
        file.create_dataset("late", (10**6,), "f8", maxshape=(None,), chunks=(1024,))
        # Cells of a table that widened at its end.
        table = file.create_dataset("m", (10**4, 1), "f8", maxshape=(None, None), chunks=(99, 1))
        table[...] = 1.0
        table.resize((10**4 + 10, 300))
        table[-10:] = 1.0
        file.create_dataset("zeros", data=np.zeros(10**6), compression="gzip")
        file["again"], file["empty"] = file["zeros"], h5py.Empty("f8")
        file["text"] = ["a", "b"]
        check_bounded(file)


@pytest.mark.parametrize("command", ["info", "info --provenance", "plot", "run --resume", "check"])
def test_no_command_follows_a_link(tmp_path, command, cli):
    """A link to a pipe, in a file from somebody else, would stop a command for ever."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.attrs["format_version"] = 2
        file["time"] = h5py.ExternalLink("nothing.h5", "/x")
    (tmp_path / "x.toml").write_text(
        'problem = { manifold = "circle", beta = 4.0, normalization = "none" }\n'
        "time = { end = 1.0 }\n"
        + ('initial = { name = "file", path = "x.h5" }\n' if command == "check" else "")
    )
    name, *options = command.split()
    file_name = "x.toml" if name in ("run", "check") else "x.h5"
    error = cli.refused(name, tmp_path / file_name, *options)
    assert "x.h5 is damaged: time is a link, which is not followed." in error


@pytest.mark.parametrize(
    ("error", "raised", "message"),
    [
        # A file that lacks something would be a traceback.
        *[(error, FormatError, r"x\.h5 is damaged") for error in (KeyError("b"), OSError("x\ny"),
          ValueError("odd"), TypeError())],
        # The advice would be to delete a good file.
        (MemoryError(), FormatError, r"x\.h5 takes more memory to read than there is"),
        # A clear message would be called damage, or Ctrl-C swallowed.
        (FormatError("mine"), FormatError, "^mine$"),
        (KeyboardInterrupt(), KeyboardInterrupt, "^$"),
    ],
)  # fmt: skip
def test_failure_inside_is_reported_as_itself(path, error, raised, message):
    """A file that is damaged, large, or good would be called something else."""
    with pytest.raises(raised, match=message) as caught, opened(path):
        raise error
    assert str(caught.value).isprintable()
