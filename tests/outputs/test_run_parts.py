"""Parts of run files that another program changed: refused before they do harm."""

from __future__ import annotations

from dataclasses import MISSING, asdict, fields
from pathlib import Path

import h5py
import numpy as np
import pytest

from meanfield.commands.main import main
from meanfield.events import Event
from meanfield.outputs.run_file import file_results, load, read_checkpoint, texts
from meanfield.outputs.run_writer import append_events, create, write_checkpoint
from meanfield.snapshot import Checkpoint

# No field has its default, and no two are alike.
CHECKPOINT = Checkpoint(
    clock=0.1,
    state=np.array([0.3, -0.0, np.nextafter(1.0, 2.0)]),
    step=1e-300,
    steps=2,
    rejected=3,
    evaluations=5,
    epoch=1e143 / 3.0,
    events=7,
    unit=2.0**301,
    fixed={
        "weights": np.array([0.25, 0.75]),
        "numbers": np.array([[4, -1, 2]]),
        "initial": np.array([1.0, 0.1 - 0.2j]),
    },
)
STATES = {"atoms": CHECKPOINT.state, "density": CHECKPOINT.state * (1.0 + 0.7j)}


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A small run file with six saved times."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "x.toml").write_text(
        '[problem]\nmanifold = "circle"\nbeta = 2.0\n[time]\nend = 1.0\nsave = 6\n'
    )
    assert main(["run", str(folder / "x.toml"), "--quiet"]) == 0
    return (folder / "x.h5").read_bytes()


@pytest.fixture
def run_file(tmp_path: Path, content: bytes) -> Path:
    """A copy that one may change."""
    (tmp_path / "x.h5").write_bytes(content)
    return tmp_path / "x.h5"


def test_hash_is_not_taken_of_series_of_other_lengths(run_file: Path) -> None:
    """`info` would read rows without end."""
    with h5py.File(run_file, "a") as h5:
        h5["observables/energy"].resize((10**12,))
    with (
        h5py.File(run_file) as h5,
        pytest.raises(ValueError, match="energy has shape .*, expected 6"),
    ):
        file_results(h5)


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, -1.0) for name in ("clock", "epoch", "unit", "step")]
    + [(name, np.inf) for name in ("clock", "epoch", "unit", "step")]
    # The last saved time is 1.
    + [("unit", 0.0), ("step", 0.0), ("clock", 1.1), ("epoch", 1.1)],
)
def test_checkpoint_out_of_range_is_refused(run_file: Path, name: str, value: float) -> None:
    """A run would go on from a time that it never reached, or never end."""
    with h5py.File(run_file, "a") as h5:
        h5["checkpoint"].attrs[name] = value
    with pytest.raises(ValueError, match="the clock of the checkpoint is out of range"):
        read_checkpoint(run_file)


@pytest.mark.parametrize("step", [1e-300, None])
@pytest.mark.parametrize("name", STATES)
def test_checkpoint_is_read_as_it_was_written(
    tmp_path: Path, name: str, step: float | None
) -> None:
    """A resumed run would go on from another time, in another unit or with another state."""
    defaulted = [field for field in fields(Checkpoint) if field.default is not MISSING]
    assert all(getattr(CHECKPOINT, field.name) != field.default for field in defaulted)
    told = asdict(CHECKPOINT) | {"state": STATES[name], "step": step}
    numbers = {"paper_time_factor": 1.0, "growth_rate_max": 1.0}
    with h5py.File(tmp_path / "x.h5", "w") as file:
        create(file, numbers, np.zeros(3))
        file["time"].resize((1,))
        file["time"][0] = 2.0 * CHECKPOINT.time
        # What is replaced leaves nothing behind.
        write_checkpoint(file, Checkpoint(1.0, np.zeros(9), fixed={"resting": np.ones(1)}), "auto")
        write_checkpoint(file, Checkpoint(**told), name)
    found, representation = read_checkpoint(tmp_path / "x.h5")
    read = asdict(found)
    assert representation == name and read.keys() == told.keys()
    assert read["fixed"].keys() == told["fixed"].keys()
    arrays = {"state": (read.pop("state"), told.pop("state"))}
    arrays |= {key: (item, told["fixed"][key]) for key, item in read.pop("fixed").items()}
    del told["fixed"]
    # Numbers are equal where their bits are: none of them is 0 or not a number.
    assert read == told
    for key, (mine, theirs) in arrays.items():
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape), key
        assert mine.tobytes() == theirs.tobytes(), key


@pytest.mark.parametrize("value", [1e300, 1e4])
def test_moments_that_no_measure_has_are_refused(run_file: Path, value: float) -> None:
    """A figure would end in a traceback, or follow tokens for ever."""
    with h5py.File(run_file, "r+") as file:
        file["moments"][...] = value
    with pytest.raises(ValueError, match=r"moments holds numbers beyond \S+, which no measure has"):
        load(run_file)


def test_run_that_is_larger_than_the_memory_is_refused(
    run_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine would come to a halt before anything is said."""
    monkeypatch.setattr("meanfield.outputs.run_file.available_memory", lambda: 2000.0)
    with pytest.raises(ValueError, match=r"x\.h5 holds \S+ GiB of numbers, more than the me"):
        load(run_file)
    monkeypatch.setattr("meanfield.outputs.run_file.available_memory", lambda: 20_000.0)
    with h5py.File(run_file, "r+") as file:
        file["measure/points"] = np.zeros(10**4)
    load(run_file, states="none")


def test_events_are_shown_without_what_a_terminal_obeys(
    run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An event of a file from somebody else would clear the screen, or forge lines."""
    with h5py.File(run_file, "r+") as file:
        append_events(file, [Event(0.5, "note", "\x1b[2J\nstatus  completed")], 0)
        file.attrs["title"] = "\x1b[31m"
    assert main(["info", str(run_file)]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out and r"\x1b[2J\nstatus  completed" in out and r"\x1b[31m" in out


def test_text_that_is_told_a_thousand_times_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All rows may point to one long text: a file of kilobytes would take all memory."""
    monkeypatch.setattr("meanfield.outputs.run_file.EXPANSION", 100)
    path, count = tmp_path / "x.h5", 4000
    with h5py.File(path, "w") as file:
        item = file.create_dataset("text", data=["a" * 50_000] + ["b"] * (count - 1))
        assert texts(item) == ["a" * 1000 + "..."] + ["b"] * (count - 1)
        place = item.id.get_offset()
    content = path.read_bytes()
    first = content[place : place + 16]
    path.write_bytes(content[:place] + count * first + content[place + 16 * count :])
    with h5py.File(path) as file, pytest.raises(ValueError, match="text claims more than the fil"):
        texts(file["text"])
