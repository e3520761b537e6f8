"""Replaceable files: results of this package and figures, nothing else of the user's."""

import pytest
from parameters import refused

from meanfield.files import OutputError
from meanfield.store.locks import check_figure_place, check_results, replace_file


def test_results_may_be_replaced(tmp_path):
    """A damaged run, or one that another program has annotated, could not be made anew."""
    path = tmp_path / "x.h5"
    check_results(path)
    replace_file(path, None, lambda file: file.attrs.update(meanfield_version="0.1.0"))
    whole, half = path.read_bytes(), path.stat().st_size // 2
    for content in (b"", whole, whole[:half] + bytes(half), bytes(100) + whole[100:]):
        path.write_bytes(content)
        check_results(path)


@pytest.mark.parametrize("content", [b"text", b"\x89HDF\r\n\x1a\n" + bytes(100)])
def test_other_files_are_no_results(tmp_path, content):
    """`--overwrite` of somebody else's run file would replace any file of the user's."""
    path = tmp_path / "x.h5"
    path.write_bytes(content)
    text = r"x\.h5 was not written by meanfield and is not replaced"
    refused(text, check_results, path, error=OutputError)


def test_only_figures_are_replaced_by_figures(tmp_path):
    """A link run.png in an archive would lead a figure into a file of the user's."""
    (tmp_path / "notes").write_text("a user's own notes")
    for ending in (".png", ".pdf", ".svg", ".gif", ".mp4"):
        path = tmp_path / f"x{ending}"
        check_figure_place(path)
        path.symlink_to("notes")
        text = rf"x\{ending} holds something else than a figure"
        refused(text, check_figure_place, path, error=OutputError)
    (tmp_path / "y.SVG").write_text("<?xml version")
    (tmp_path / "y.mp4").write_bytes(b"\0\0\0\x20ftypisom")
    check_figure_place(tmp_path / "y.SVG")
    check_figure_place(tmp_path / "y.mp4")


def test_file_that_cannot_be_read_is_not_replaced(tmp_path, monkeypatch):
    """An unrecognised file would be replaced."""
    (tmp_path / "x.png").write_bytes(b"something")
    monkeypatch.setattr("os.access", lambda path, mode: False)
    text = "cannot be written: what is there cannot be read"
    refused(text, check_figure_place, tmp_path / "x.png", error=OutputError)
