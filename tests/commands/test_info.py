"""`meanfield info`: what files of runs and studies hold, for people, programs and spreadsheets."""

import csv
import io
from dataclasses import replace

import h5py
import numpy as np
import pytest

from meanfield.commands.main import main
from meanfield.store.locks import replace_file
from meanfield.store.run_file import load
from meanfield.store.run_writer import create
from meanfield.store.study_file import read_result, write_result

RUN = """\
title = "small"
problem = { normalization = "none", manifold = "circle", beta = 4.0 }
initial = { name = "perturbed_uniform", modes = [[1, 0.1, 0.0]] }
time = { end = 2.0, save = 30 }
output = { observables = ["order_parameter", "entropy"] }
"""
ATOMS = """\
problem = { normalization = "none", manifold = "circle", beta = 25.0 }
initial = { name = "atoms", angles = [0.0, 0.3, 2.0], weights = [0.5, 0.3, 0.2] }
representation = { name = "atoms" }
time = { end = 1e3, save = [0.0, 1e3] }
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Files of the two runs."""
    folder = tmp_path_factory.mktemp("info")
    for name, text in (("small", RUN), ("atoms", ATOMS)):
        (folder / f"{name}.toml").write_text(text)
        assert main(["run", str(folder / f"{name}.toml"), "--quiet"]) == 0
    return folder


@pytest.fixture
def output(files):
    return files / "small.h5"


@pytest.fixture
def atoms(files):
    return files / "atoms.h5"


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
    # A nearly uniform density would count as one cluster.
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


KINDS = {"compare": "comparison", "ensemble": "ensemble"}


@pytest.mark.parametrize("runs", [0, 2, 3])
@pytest.mark.parametrize(
    ("command", "name", "nothing", "sizes", "tasks"),
    [
        ("compare", "distances", np.nan, "5, 20", "particle systems"),
        ("ensemble", "counts", -1, "20, 60", "runs"),
    ],
)
def test_text_says_what_it_is_and_how_much_is_done(
    results, tmp_path, command, name, nothing, sizes, tasks, runs, cli
):
    """A study on its way could not be looked at."""
    study = read_result(results[command], KINDS[command])
    status, values = "completed" if runs == 3 else "running", getattr(study, name).copy()
    values[:, runs:] = nothing
    part = {name: values, "attributes": study.attributes | {"status": status}}
    write_result(tmp_path / "study.h5", replace(study, **part))
    first, *tables = cli.quiet("info", tmp_path / "study.h5").split("\n\n")
    facts = dict(line.split(maxsplit=1) for line in first.splitlines())
    assert (facts["kind"], facts["title"], facts["tokens"]) == (KINDS[command], "Small", sizes)
    assert (facts["status"], facts["finished"]) == (status, f"{2 * runs} of 6 {tasks}")
    assert (facts["beta"], facts["initial"], facts["seed"]) == ("5", "perturbed_uniform", "0")
    assert bool(tables) == (runs > 0) and "nan" not in "".join(tables)


@pytest.mark.parametrize("command", KINDS)
def test_tables_and_object_are_those_of_the_command(results, command, cli):
    """Two commands would tell one study in two ways; a program would have to know HDF5."""
    words = [*results.words(command), "--resume"]
    said = cli(*words)
    assert said.startswith("Small\n\n")
    assert cli.quiet("info", results[command]).endswith(said.removeprefix("Small\n"))
    facts = cli.json("info", results[command])
    assert (facts["kind"], facts["status"]) == (KINDS[command], "completed")
    assert facts["finished"] == [3, 3] and 'title = "Small"' in facts["config"]
    assert facts["provenance"] == cli.json("info", results[command], "--provenance")
    assert cli.json(*words).items() <= facts.items()


@pytest.mark.parametrize(
    ("command", "name"), [("compare", "mean_distance"), ("ensemble", "mean_count")]
)
def test_csv_holds_the_means_with_all_digits(results, command, name, cli):
    """A spreadsheet would hold rounded, or fewer, numbers."""
    rows = list(csv.DictReader(io.StringIO(cli.quiet("info", results[command], "--csv"))))
    with h5py.File(results[command]) as file:
        assert [float(row[name]) for row in rows] == file[name][()].ravel().tolist()
        assert [float(row["time"]) for row in rows] == file["time"][()].tolist() * 2
        tokens = np.repeat(file["tokens"][()], len(file["time"]))
        assert [int(row["tokens"]) for row in rows] == tokens.tolist()
