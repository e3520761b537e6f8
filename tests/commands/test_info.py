"""`meanfield info`: what files of runs and studies hold, for people, programs and spreadsheets."""

import csv
import io
import json
from dataclasses import replace

import h5py
import numpy as np
import pytest

from meanfield.commands.main import main
from meanfield.store.locks import replace_file
from meanfield.store.run_file import load
from meanfield.store.run_writer import create
from meanfield.store.study_file import read_result, write_result

TEXT = """\
title = "small"
problem = { normalization = "none", manifold = "circle", beta = 4.0 }
initial = { name = "perturbed_uniform", modes = [[1, 0.1, 0.0]] }
time = { end = 2.0, save = 30 }
output = { observables = ["order_parameter", "entropy"] }
"""


def test_text_holds_facts_and_a_table(output, cli):
    """A user could not see what a file is."""
    first, table, *more = cli.quiet("info", output).split("\n\n")
    facts = dict(line.split(maxsplit=1) for line in first.splitlines())
    assert facts["title"] == "small" and facts["status"] == "completed" and facts["beta"] == "4"
    assert facts["truncation"].endswith("of the largest")
    rows = [line.split() for line in table.splitlines()]
    assert rows[0] == ["time", "clusters", "energy", "entropy", "order_parameter"]
    # Header, twelve times, and two lines on what a cluster is.
    assert len(rows) == 15 and [float(x) for x in (rows[1][0], rows[12][0])] == [0.0, 2.0]
    # A nearly uniform density would be told as one cluster.
    assert rows[1][:2] == ["0", "-"]
    assert '"-" while nothing has separated' in table and "What counts as a cluster" in table
    # An empty table of events would make the user wonder.
    assert "what happened" not in "".join(more)


def test_csv_holds_every_row_with_all_digits(output, cli):
    """A spreadsheet would hold rounded, or fewer, numbers."""
    rows = list(csv.DictReader(io.StringIO(cli.quiet("info", output, "--csv"))))
    run = load(output)
    assert list(rows[0]) == ["time", "clusters/count", "energy", "entropy", "order_parameter"]
    assert [float(row["time"]) for row in rows] == run.time.tolist()
    for name in ("energy", "entropy", "order_parameter"):
        assert [float(row[name]) for row in rows] == run.observables[name].tolist()
    # Nearly uniform is no cluster, though the file has the rule's 1.
    assert rows[0]["clusters/count"] == "nan" and run.observables["clusters/count"][0] == 1.0


def test_json_is_one_object_with_everything(output, cli):
    """A program would have to look for the object, or miss a number."""
    answer, run = cli.json("info", output), load(output)
    assert answer["time"] == run.time.tolist()
    assert answer["observables"]["energy"] == run.observables["energy"].tolist()
    assert answer["observables"]["clusters/count"][0] is None
    assert (answer["status"], answer["beta"], answer["normalized"]) == ("completed", 4.0, False)
    assert 'title = "small"' in answer["config"]


def test_file_without_rows_is_described(output, tmp_path, cli):
    """A run that was killed before its first row would be a traceback."""
    run, path = load(output), tmp_path / "empty.h5"
    attributes = run.attributes | {"status": "running"}
    del attributes["result_hash"]
    replace_file(path, None, lambda file: create(file, attributes, run.growth_rates))
    assert cli.quiet("info", path).split()[-3:] == ["saved", "times", "0"]
    assert cli.quiet("info", path, "--csv") == "time\n"
    assert cli.json("info", path)["time"] == []


def test_what_is_no_run_file_is_one_line(tmp_path, cli):
    """Another file would be a traceback, or taken for a run."""
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["time"] = np.zeros(3)
    (tmp_path / "text.h5").write_text("hello")
    for name, message in (
        ("nothing.h5", "no such file"),
        ("", "is a folder or a device, expected a file"),
        ("text.h5", "is not a readable HDF5 file"),
        ("other.h5", "is not a run file of format 2 (format_version is None)"),
    ):
        line = cli.refused("info", tmp_path / name)
        assert message in line and str(tmp_path / name) in line


ATOMS = """\
problem = { normalization = "none", manifold = "circle", beta = 25.0 }
initial = { name = "atoms", angles = [0.0, 0.3, 2.0], weights = [0.5, 0.3, 0.2] }
representation = { name = "atoms" }
time = { end = 1e3, save = [0.0, 1e3] }
"""


@pytest.fixture(scope="module")
def atoms(tmp_path_factory):
    folder = tmp_path_factory.mktemp("atoms")
    (folder / "atoms.toml").write_text(ATOMS)
    assert main(["run", str(folder / "atoms.toml"), "--quiet"]) == 0
    return folder / "atoms.h5"


def test_text_tells_what_happened(atoms, cli):
    """A user would not see that clusters merged, or when; a spreadsheet would find words."""
    _, _, happened = cli.quiet("info", atoms).rstrip("\n").split("\n\n")
    rows = [line.split(maxsplit=1) for line in happened.splitlines()]
    assert rows[0] == ["time", "what happened"]
    assert rows[1] == ["0", "3 atoms begin, masses from 0.2 to 0.5"]
    merge = next(event for event in load(atoms).events if event.kind == "merge")
    assert rows[2] == [f"{merge.time:.6g}", merge.text] and len(rows) == 3
    lines = cli.quiet("info", atoms, "--csv").splitlines()
    assert len(lines) == 3 and len({line.count(",") for line in lines}) == 1


def test_json_holds_events_and_atoms(atoms, cli):
    """A program would have to open the file for them."""
    answer = cli.json("info", atoms)
    (merge,) = answer["events"]
    assert (merge["kind"], merge["mass"]) == ("merge", [0.5, 0.3])
    assert answer["clusters"]["masses"] == [0.5, 0.3, 0.2] and answer["clusters"]["count"] == 3


def test_run_tells_what_happens_as_it_passes(atoms, cli):
    """A hand-over or merge would only show when the run is over."""
    cli("run", atoms.with_suffix(".toml"), "--overwrite")
    lines = cli.err.splitlines()
    (merge,) = [event for event in load(atoms).events if event.kind == "merge"]
    assert lines[0] == f"atoms: t = {merge.time:.6g}: {merge.text}" and len(lines) == 2


CONFIG = """\
title = "Small"
problem = { manifold = "circle", beta = 5.0, diffusivity = 0.0, normalization = "none" }
initial = { name = "perturbed_uniform", modes = [[3, 0.0, 0.2]] }
time = { end = 4.0, save = 3 }
compare = { tokens = [5, 20], runs = 3 }
ensemble = { tokens = [20, 60], runs = 3 }
"""
KINDS = {"comparison": "compare", "ensemble": "ensemble"}
TASKS = {"comparison": "particle systems", "ensemble": "runs"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A comparison and an ensemble; of each also one that has only begun, and half of one."""
    path = tmp_path_factory.mktemp("studies")
    (path / "x.toml").write_text(CONFIG)
    for kind, command in KINDS.items():
        output = str(path / f"{kind}.h5")
        options = [str(path / "x.toml"), "-o", output, "--workers", "1", "--quiet"]
        assert main([command, *options]) == 0
    study, result = (
        read_result(path / "comparison.h5", "comparison"),
        read_result(path / "ensemble.h5", "ensemble"),
    )
    running = study.attributes | {"status": "running"}
    for name, runs in (("begun", 0), ("half", 2)):
        distances = study.distances.copy()
        distances[:, runs:] = np.nan
        write_result(
            path / f"comparison-{name}.h5", replace(study, distances=distances, attributes=running)
        )
        counts = result.counts.copy()
        counts[:, runs:] = -1
        facts = result.attributes | {"status": "running"}
        write_result(path / f"ensemble-{name}.h5", replace(result, counts=counts, attributes=facts))
    return path


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "done"), [("", 6), ("-half", 4), ("-begun", 0)])
def test_text_says_what_it_is_and_how_much_is_done(folder, kind, name, done, cli):
    """A study on its way could not be looked at."""
    first, *tables = cli.quiet("info", folder / f"{kind}{name}.h5").split("\n\n")
    facts = dict(line.split(maxsplit=1) for line in first.splitlines())
    sizes = "5, 20" if kind == "comparison" else "20, 60"
    assert (facts["kind"], facts["title"], facts["tokens"]) == (kind, "Small", sizes)
    assert facts["status"] == ("running" if name else "completed")
    assert facts["finished"] == f"{done} of 6 {TASKS[kind]}"
    assert (facts["beta"], facts["initial"], facts["seed"]) == ("5", "perturbed_uniform", "0")
    assert bool(tables) == (done > 0) and "nan" not in "".join(tables)


@pytest.mark.parametrize("kind", KINDS)
def test_tables_and_object_are_those_of_the_command(folder, kind, cli):
    """Two commands would tell one study in two ways; a program would have to know HDF5."""
    file = folder / f"{kind}.h5"
    words = [KINDS[kind], folder / "x.toml", "-o", file, "--quiet", "--resume"]
    said = cli(*words)
    assert said.startswith("Small\n\n")
    assert cli.quiet("info", file).endswith(said.removeprefix("Small\n"))
    facts = cli.json("info", file)
    assert (facts["kind"], facts["status"], facts["finished"]) == (kind, "completed", [3, 3])
    assert 'title = "Small"' in facts["config"]
    assert facts["provenance"] == cli.json("info", file, "--provenance")
    assert cli.json(*words).items() <= facts.items()


@pytest.mark.parametrize("kind", KINDS)
def test_csv_holds_the_means_with_all_digits(folder, kind, cli):
    """A spreadsheet would hold rounded, or fewer, numbers."""
    text = cli.quiet("info", folder / f"{kind}.h5", "--csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    with h5py.File(folder / f"{kind}.h5") as file:
        name = "mean_distance" if kind == "comparison" else "mean_count"
        assert [float(row[name]) for row in rows] == file[name][()].ravel().tolist()
        assert [float(row["time"]) for row in rows] == file["time"][()].tolist() * 2
        tokens = np.repeat(file["tokens"][()], len(file["time"]))
        assert [int(row["tokens"]) for row in rows] == tokens.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_changed_study_is_one_line(folder, kind, tmp_path, cli):
    """Edited numbers would pass for the study's."""
    path = tmp_path / "changed.h5"
    path.write_bytes((folder / f"{kind}.h5").read_bytes())
    with h5py.File(path, "r+") as file:
        file["standard_error"][0, 0] += 1.0
    out = cli("info", path, "--provenance", "--json", status=1)
    assert json.loads(out)["result_hash_fits"] is False
    assert "the numbers are not those that were written" in cli.err and cli.err.count("\n") == 1
