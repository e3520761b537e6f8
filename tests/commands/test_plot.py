"""`meanfield plot`: what it lists, writes and refuses."""

import shutil

import pytest

from meanfield.commands.pages import kind_lines
from meanfield.figures.draw import PLOTS, SPACES, STUDIES
from meanfield.store.study_file import STUDY_COMMANDS


def test_list_has_every_kind_and_its_manifold():
    """A kind would be unknown, or seem to be for every manifold, or a study to have none."""
    lines = kind_lines()
    for name, kind in PLOTS.items():
        (place,) = [i for i, line in enumerate(lines) if line.startswith(f"  {name} ")]
        heading = [line for line in lines[:place] if line.startswith("of a file of")][-1]
        words = [SPACES[each] for each in kind.manifolds]
        assert (heading.endswith(f", on {', '.join(words)}")) == (len(words) < len(SPACES))
    for name, command in STUDY_COMMANDS.items():
        place = lines.index(f"of a file of meanfield {command}: one kind")
        assert lines[place + 1] == f"  {STUDIES[name]}"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "begin"), [("f.png", b"\x89PNG"), ("f.gif", b"GIF89a")])
def test_output_is_written_and_named(name, begin, results, tmp_path, cli):
    """A script would not find the file, or find progress in the way."""
    path = tmp_path / name
    assert cli("plot", results["run"], "-o", path) == f"{path}\n"
    assert path.read_bytes().startswith(begin)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("--kind map", "kind 'map' is for the sphere, this run is on the circle"),
        ("-o x.gif --kind energy", "have no kinds"),
        ("-o x.bmp", "figures end in .png"),
    ],
)
def test_mistakes_are_one_line(words, line, results, cli):
    """A wrong option would end in a traceback, or be ignored."""
    assert line in cli.refused("plot", results["run"], *words.split())


@pytest.mark.slow
def test_study_is_drawn(results, tmp_path, cli):
    """Only the command that made an ensemble could draw it."""
    shutil.copy(results["ensemble"], tmp_path / "e.h5")
    assert cli("plot", tmp_path / "e.h5") == f"{tmp_path / 'e.png'}\n"
    assert (tmp_path / "e.png").read_bytes().startswith(b"\x89PNG")
