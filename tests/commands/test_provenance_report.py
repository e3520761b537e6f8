"""`meanfield info --provenance`: where runs and studies come from, and whether they are whole."""

import json
import re
import shutil

import h5py
import numpy as np
import pytest
from run_folder import SMALL

import meanfield as mf
from meanfield.commands.info import provenance_report
from meanfield.engines.threads import threads
from meanfield.store import recorder
from meanfield.store.run_file import load

CONFIG = SMALL.replace("end = 1.0, save = 2", "end = 2.0, save = 6")
PHASES = {
    "run": {"setup", "stepping", "observing", "writing"},
    "compare": {"setup", "running", "writing"},
    "ensemble": {"setup", "running", "writing"},
}
BEGIN = ("--set", "time.end=0.8", "--set", "time.save=3")


@pytest.mark.parametrize("form", ["", "--json", "--csv", "--provenance", "--provenance --json"])
@pytest.mark.parametrize("kind", PHASES)
def test_changed_bit_is_one_line(results, kind, form, tmp_path, cli):
    """Edited numbers would pass for the command's."""
    path, name = tmp_path / "changed.h5", "moments" if kind == "run" else "standard_error"
    shutil.copy(results[kind], path)
    with h5py.File(path, "r+") as file:
        row = file[name][1]
        row.view(np.int64)[1] ^= 1
        file[name][1] = row
    out = cli("info", path, *form.split(), status=1)
    assert out and cli.err.count("\n") == 1
    assert cli.err.startswith(f"meanfield: {path}: the numbers are not those that were written")
    if form == "--provenance --json":
        assert json.loads(out)["result_hash_fits"] is False


@pytest.mark.usefixtures("same_threads")
def test_sessions_add_up(config, cli):
    """A resumed run would look like one of the last session alone."""
    before, command, output = threads(), ["run", config, "--quiet"], config.with_suffix(".h5")
    cli(*command, *BEGIN)
    first = cli.json("info", output, "--provenance")
    cli(*command, "--resume", "--threads", before + 1)
    second = cli.json("info", output, "--provenance")
    assert (second["sessions"], second["threads"]) == (2, before + 1)
    assert second["changes"] == [f"from t = 0.8 on: threads {before} -> {before + 1}"]
    assert second["created"] != "" and second["result_hash"] != first["result_hash"]
    assert all(second["seconds"][phase] > first["seconds"][phase] for phase in PHASES["run"])
    block = cli.quiet("info", output, "--provenance")
    assert " s in 2 sessions: " in block
    assert f"changed      from t = 0.8 on: threads {before} -> {before + 1}\n" in block


@pytest.mark.slow
def test_run_that_goes_on_has_no_hash(config, monkeypatch, cli):
    """A file that is being written would be called changed, or keep the hash of its last stop."""
    command, output = ["run", config, "--quiet"], config.with_suffix(".h5")
    cli(*command, *BEGIN)
    assert "result_hash" in load(output).attributes
    monkeypatch.setattr(recorder, "FLUSH_SECONDS", 0.0)
    monkeypatch.setattr(recorder, "_FLUSH_SHARE", 0.0)
    between, real = [], recorder.replace_file

    def looking(*arguments):
        real(*arguments)
        between.append(load(output).attributes)

    monkeypatch.setattr(recorder, "replace_file", looking)
    cli(*command, "--resume")
    assert [facts["status"] for facts in between] == ["running"] * 3 + ["completed"]
    assert ["result_hash" in facts for facts in between] == [False] * 3 + [True]


def test_file_of_an_earlier_version_is_described_as_far_as_it_goes():
    """A file without these attributes could not be looked at."""
    old = {"meanfield_version": "0.0.9", "created": "2026-01-01T00:00:00+00:00", "beta": 4.0}
    report = provenance_report(old, "ab" * 32)
    assert report.blocks[0].splitlines() == [
        "created      2026-01-01T00:00:00+00:00",
        "versions     meanfield 0.0.9",
        f"result hash  {'ab' * 32} (not in the file)",
    ]
    answer = report.data
    assert answer["versions"] is answer["result_hash"] is answer["result_hash_fits"] is None
    assert (answer["seconds"], answer["changes"]) == ({}, [])
    assert provenance_report({}, "cd").blocks == ["result hash  cd (not in the file)"]


def test_table_of_provenance_is_refused(results, cli):
    """A spreadsheet would get words."""
    said = cli.refused("info", results["run"], "--provenance", "--csv")
    assert said == "meanfield: --provenance is no table: use it with --json, or without --csv.\n"


@pytest.mark.parametrize("what", ["group", "dataset"])
@pytest.mark.parametrize("kind", PHASES)
def test_what_another_program_has_added_is_named(results, kind, what, tmp_path, cli):
    """A sound file would be called damaged, or another than was written, and be thrown away."""
    path = tmp_path / "x.h5"
    shutil.copy(results[kind], path)
    name = "notes" if what == "dataset" else "notes/mine"
    with h5py.File(path, "r+") as file:
        file[name] = [1.0, 2.0]
    # Runs are read as they are, and refused where rows are to be added.
    words, text, entries = ("info", path), "notes", what
    if kind == "run":
        words, text, entries = (*results.words("run", path), "--resume"), name, "dataset"
    said = cli.refused(*words)
    assert f"x.h5: another program has added the {entries} {text}, which is in the way" in said
    with h5py.File(path, "r+") as file:
        del file[text]
    cli("info", path)


@pytest.mark.parametrize("kind", PHASES)
def test_object_and_block_hold_all_facts(results, kind, cli):
    """A program could not tell what computed a file, or a reader would have to know JSON."""
    file = results[kind]
    answer = cli.json("info", file, "--provenance")
    assert answer["meanfield_version"] == answer["versions"]["meanfield"] == mf.__version__
    assert answer["versions"]["numpy"] == np.__version__
    assert (answer["threads"], answer["sessions"], answer["changes"]) == (threads(), 1, [])
    assert answer["seed"] == 0
    assert set(answer["seconds"]) == PHASES[kind]
    assert all(seconds > 0.0 for seconds in answer["seconds"].values())
    assert re.fullmatch("[0-9a-f]{64}", answer["result_hash"])
    assert answer["result_hash"] == answer["result_hash_found"]
    assert answer["result_hash_fits"] is True
    facts = cli.facts("info", file, "--provenance")
    for name in ("created", "platform", "processor"):
        assert facts[name] == answer[name]
    assert facts["threads"] == str(answer["threads"])
    assert facts["result hash"] == answer["result_hash"]
    assert f"numpy {np.__version__}, scipy" in facts["versions"]
    total = sum(answer["seconds"].values())
    assert facts["wall time"].startswith(f"{total:.2f} s: setup {answer['seconds']['setup']:.2f}, ")
    # A program that reads the whole file would have to ask twice.
    assert cli.json("info", file)["provenance"] == answer
