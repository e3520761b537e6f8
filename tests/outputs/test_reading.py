"""Opening HDF5 files: every kind of damage is one line that names the file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import h5py
import pytest

from meanfield.outputs.output_file import seal
from meanfield.outputs.reading import FormatError, opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A small sealed file."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["a"] = 1
    seal(tmp_path / "x.h5")
    return tmp_path / "x.h5"


def test_content_is_there(path: Path) -> None:
    """No file could be read."""
    with opened(path) as file:
        assert file["a"][()] == 1


def test_what_cannot_be_opened_is_named(path: Path, tmp_path: Path) -> None:
    """The user would see HDF5's own words."""
    other = tmp_path / "text.h5"
    other.write_text("text")
    changed = tmp_path / "changed.h5"
    changed.write_bytes(path.read_bytes().replace(b"HDF", b"HDG"))
    for file, message in (
        (tmp_path / "no.h5", "no such file"),
        (tmp_path, "no such file"),
        (other, "is not a readable HDF5 file"),
        (changed, "is damaged: its checksum does not fit"),
    ):
        with pytest.raises(FormatError, match=message) as caught, opened(file):
            pass
        assert str(caught.value).startswith(str(file))


@pytest.mark.parametrize("error", [KeyError("b"), OSError("x\ny"), ValueError("odd"), TypeError()])
def test_failure_inside_is_damage(path: Path, error: Exception) -> None:
    """A file that lacks something would be a traceback."""
    with pytest.raises(FormatError, match=r"x\.h5 is damaged") as caught, opened(path):
        raise error
    assert str(caught.value).isprintable()


def test_memory_that_is_missing_is_no_damage(path: Path) -> None:
    """The advice would be to delete a good file."""
    told = r"x\.h5 takes more memory to read than there is"
    with pytest.raises(FormatError, match=told), opened(path):
        raise MemoryError


def test_own_complaint_and_interrupt_pass(path: Path) -> None:
    """A clear message would be called damage, or Ctrl-C swallowed."""
    with pytest.raises(FormatError, match="^mine$"), opened(path):
        raise FormatError("mine")
    with pytest.raises(KeyboardInterrupt), opened(path):
        raise KeyboardInterrupt


def test_file_that_cannot_be_read_says_why(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No permission would be a failed run, or a traceback in a script."""

    def refuse(name: object) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("meanfield.outputs.reading.is_broken", refuse)
    with (
        pytest.raises(FormatError, match=r"x\.h5 cannot be read: Permission denied\."),
        opened(path),
    ):
        pass


def test_message_is_one_line_whatever_the_file_says() -> None:
    """A file could print what it likes."""
    assert str(FormatError("two\n  lines")) == "two lines"
    assert str(FormatError("red \x1b[31m")) == r"red \x1b[31m"


def test_file_that_another_program_writes_is_not_damaged(path: Path) -> None:
    """The advice would be to delete a good file."""
    told = r"x\.h5 is open for writing in another program\. Close it there\."
    holds = "import h5py, sys; f = h5py.File(sys.argv[1], 'r+'); print(1, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", holds, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None and other.stdout.readline()
        with pytest.raises(FormatError, match=told), opened(path):
            pass
        other.kill()
    with opened(path) as file:
        assert file["a"][()] == 1
