"""`meanfield info` of comparisons and ensembles: what they hold, and how much of it is done."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from meanfield.commands.main import main
from meanfield.outputs.comparison_file import load_comparison, write_comparison
from meanfield.outputs.ensemble_file import load_ensemble, write_ensemble

CONFIG = """\
title = "Small"
problem = { manifold = "circle", beta = 5.0, diffusivity = 0.0 }
initial = { name = "perturbed_uniform", modes = [[3, 0.0, 0.2]] }
time = { end = 4.0, save = 3 }
compare = { tokens = [5, 20], repetitions = 3 }
ensemble = { tokens = [20, 60], runs = 3 }
"""
KINDS = {"comparison": "compare", "ensemble": "ensemble"}
TASKS = {"comparison": "particle systems", "ensemble": "runs"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison and an ensemble; of each also one that has only begun, and half of one."""
    path = tmp_path_factory.mktemp("studies")
    (path / "x.toml").write_text(CONFIG)
    for kind, command in KINDS.items():
        output = str(path / f"{kind}.h5")
        options = [str(path / "x.toml"), "-o", output, "--workers", "1", "--quiet"]
        assert main([command, *options]) == 0
    study, made = load_comparison(path / "comparison.h5"), load_ensemble(path / "ensemble.h5")
    running = study.attributes | {"status": "running"}
    for name, kept in (("begun", 0), ("half", 2)):
        distances = study.distances.copy()
        distances[:, kept:] = np.nan
        write_comparison(
            path / f"comparison-{name}.h5", replace(study, distances=distances, attributes=running)
        )
        counts = made.counts.copy()
        counts[:, kept:] = -1
        facts = made.attributes | {"status": "running"}
        write_ensemble(path / f"ensemble-{name}.h5", replace(made, counts=counts, attributes=facts))
    return path


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What the command prints on standard output."""
    capsys.readouterr()
    assert main(["info", *arguments]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "done"), [("", 6), ("-half", 4), ("-begun", 0)])
def test_text_says_what_it_is_and_how_much_is_done(
    folder: Path, kind: str, name: str, done: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """A study on its way could not be looked at."""
    first, *tables = printed(capsys, str(folder / f"{kind}{name}.h5")).split("\n\n")
    facts = dict(line.split(maxsplit=1) for line in first.splitlines())
    sizes = "5, 20" if kind == "comparison" else "20, 60"
    assert (facts["kind"], facts["title"], facts["tokens"]) == (kind, "Small", sizes)
    assert facts["status"] == ("running" if name else "completed")
    assert facts["finished"] == f"{done} of 6 {TASKS[kind]}"
    assert (facts["beta"], facts["initial"], facts["seed"]) == ("5", "perturbed_uniform", "0")
    assert bool(tables) == (done > 0) and "nan" not in "".join(tables)


@pytest.mark.parametrize("kind", KINDS)
def test_tables_are_those_of_the_command(
    folder: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two commands would tell one study in two ways."""
    words = [str(folder / "x.toml"), "-o", str(folder / f"{kind}.h5"), "--quiet", "--resume"]
    capsys.readouterr()
    assert main([KINDS[kind], *words]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Small\n\n")
    assert printed(capsys, str(folder / f"{kind}.h5")).endswith(said.removeprefix("Small\n"))


@pytest.mark.parametrize("kind", KINDS)
def test_object_holds_attributes_and_the_results(
    folder: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A program would have to know HDF5, or miss a number."""
    file = str(folder / f"{kind}.h5")
    told = json.loads(printed(capsys, file, "--json"))
    assert (told["kind"], told["status"], told["finished"]) == (kind, "completed", [3, 3])
    assert 'title = "Small"' in told["config"]
    assert told["provenance"] == json.loads(printed(capsys, file, "--provenance", "--json"))
    words = [str(folder / "x.toml"), "-o", file, "--quiet", "--resume", "--json"]
    assert main([KINDS[kind], *words]) == 0
    assert json.loads(capsys.readouterr().out).items() <= told.items()


@pytest.mark.parametrize("kind", KINDS)
def test_csv_holds_the_means_with_all_digits(
    folder: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A spreadsheet would hold rounded, or fewer, numbers."""
    text = printed(capsys, str(folder / f"{kind}.h5"), "--csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    with h5py.File(folder / f"{kind}.h5") as file:
        name = "mean_distance" if kind == "comparison" else "mean_count"
        assert [float(row[name]) for row in rows] == file[name][()].ravel().tolist()
        assert [float(row["time"]) for row in rows] == file["time"][()].tolist() * 2
        tokens = np.repeat(file["tokens"][()], len(file["time"]))
        assert [int(row["tokens"]) for row in rows] == tokens.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_changed_study_is_one_line(
    folder: Path, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Numbers that somebody changed would be taken for those of the study."""
    path = tmp_path / "changed.h5"
    path.write_bytes((folder / f"{kind}.h5").read_bytes())
    with h5py.File(path, "r+") as file:
        file["standard_error"][0, 0] += 1.0
    capsys.readouterr()
    assert main(["info", str(path), "--provenance", "--json"]) == 1
    out, line = capsys.readouterr()
    assert json.loads(out)["result_hash_fits"] is False
    assert "the numbers are not those that were written" in line and line.count("\n") == 1
