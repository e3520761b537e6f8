"""`meanfield plot`: what it lists, writes and refuses."""

import pytest

import meanfield as mf
from meanfield.commands.pages import kind_lines
from meanfield.figures.draw import PLOTS, SPACES, STUDIES
from meanfield.store.study_file import STUDY_COMMANDS, write_result

TEXT = """\
problem = { normalization = "none", manifold = "circle", beta = 4.0 }
initial = { name = "perturbed_uniform", modes = [[1, 0.1, 0.0]] }
time = { end = 2.0, save = 3 }
"""


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
def test_output_is_written_and_named(name, begin, output, cli):
    """A script would not find the file, or find progress in the way."""
    path = output.with_name(name)
    assert cli("plot", output, "-o", path) == f"{path}\n"
    assert path.read_bytes().startswith(begin)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("--kind map", "kind 'map' is for the sphere, this run is on the circle"),
        ("-o x.gif --kind energy", "have no kinds"),
        ("-o x.bmp", "figures end in .png"),
    ],
)
def test_mistakes_are_one_line(words, line, output, cli):
    """A wrong option would end in a traceback, or be ignored."""
    assert line in cli.refused("plot", output, *words.split())


@pytest.mark.slow
def test_study_is_drawn(tmp_path, cli):
    """Only the command that made an ensemble could draw it."""
    ensemble = mf.ensemble(mf.Problem(mf.Circle(), mf.exponential(4.0), mf.USA), tokens=60, runs=2)
    write_result(tmp_path / "e.h5", ensemble)
    assert cli("plot", tmp_path / "e.h5") == f"{tmp_path / 'e.png'}\n"
    assert (tmp_path / "e.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("name", "content", "line"), [
    ("", b"", "plot needs a file of results"),
    ("a.toml", b"[problem]", "but a run file: make its results with meanfield run"),
    ("a.png", b"\x89PNG\r\n",
     "but a figure. Expected results that meanfield wrote, such as those of meanfield run."),
    ("a.npy", b"\x93NUMPY\x01", "but an array of NumPy"),
    ("a.h5", b"hello", "is not a readable HDF5 file. Restore a copy"),
])  # fmt: skip
def test_other_files_are_refused(name, content, line, tmp_path, cli):
    """A run file or a figure would be called a damaged file of results."""
    if name:
        (tmp_path / name).write_bytes(content)
    assert line in cli.refused("plot", *([tmp_path / name] if name else []))
