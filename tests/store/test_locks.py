"""Replaceable files: results of this package and figures, nothing else of the user's."""

import pytest

from meanfield.files import OutputError
from meanfield.store.locks import check_figure_place, check_results, replace_file


def named(file):
    file.attrs["meanfield_version"] = "0.1.0"


def test_results_may_be_replaced(tmp_path):
    """A damaged run, or one that another program has annotated, could not be made anew."""
    path = tmp_path / "x.h5"
    check_results(path)
    path.touch()
    check_results(path)
    replace_file(path, None, named)
    check_results(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] + bytes(len(whole) // 2))
    check_results(path)
    path.write_bytes(bytes(100) + whole[100:])
    check_results(path)


@pytest.mark.parametrize("content", [b"text", b"\x89HDF\r\n\x1a\n" + bytes(100)])
def test_other_files_are_no_results(tmp_path, content):
    """`--overwrite` of somebody else's run file would replace any file of the user's."""
    path = tmp_path / "x.h5"
    path.write_bytes(content)
    with pytest.raises(OutputError, match=r"x\.h5 was not written by meanfield and is not repl"):
        check_results(path)


def test_only_figures_are_replaced_by_figures(tmp_path):
    """A link run.png in an archive would lead a figure into a file of the user's."""
    (tmp_path / "notes").write_text("a user's own notes")
    for ending in (".png", ".pdf", ".svg", ".gif", ".mp4"):
        path = tmp_path / f"x{ending}"
        check_figure_place(path)
        path.symlink_to("notes")
        with pytest.raises(OutputError, match=rf"x\{ending} holds something else than a figure"):
            check_figure_place(path)
    (tmp_path / "y.SVG").write_text("<?xml version")
    (tmp_path / "y.mp4").write_bytes(b"\0\0\0\x20ftypisom")
    check_figure_place(tmp_path / "y.SVG")
    check_figure_place(tmp_path / "y.mp4")


def test_file_that_cannot_be_read_is_not_replaced(tmp_path, monkeypatch):
    """An unrecognised file would be replaced."""
    (tmp_path / "x.png").write_bytes(b"something")
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(OutputError, match="cannot be written: what is there cannot be read"):
        check_figure_place(tmp_path / "x.png")
