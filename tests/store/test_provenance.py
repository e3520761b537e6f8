"""Provenance: what a file says of where its results come from is so."""

import importlib.metadata
import os
import platform
import sys

import h5py
import numpy as np
import pytest
from fresh_process import run_python
from parameters import refused

import meanfield as mf
from meanfield.engines.threads import set_threads, threads
from meanfield.store import provenance as module
from meanfield.store.provenance import parsed_versions, provenance, read_provenance


def test_versions_are_those_installed():
    """Somebody would repeat the run with other libraries."""
    result = parsed_versions(provenance()["versions"])
    assert result.pop("meanfield") == mf.__version__
    assert result.pop("python") == ".".join(map(str, sys.version_info[:3]))
    assert result == {name: importlib.metadata.version(name) for name in module.LIBRARIES}


@pytest.mark.slow
def test_versions_do_not_depend_on_what_is_loaded():
    """The same installation would seem to differ from run to run."""
    for name in ("ducc0", "h5py", "numba", "pyshtools", "scipy"):
        importlib.import_module(name)
    fresh = "from meanfield.store.provenance import provenance; print(provenance()['versions'])"
    assert run_python(fresh).stdout.strip() == provenance()["versions"]


def test_missing_library_is_left_out(monkeypatch):
    """An installation without an optional library could not run at all."""
    monkeypatch.setattr(module, "LIBRARIES", ("numpy", "no-such-library"))
    assert set(parsed_versions(provenance()["versions"])) == {"meanfield", "python", "numpy"}


def test_machine_is_this_one():
    """A difference between machines could not be found."""
    facts = provenance()
    assert set(facts) == set(module.FACTS)
    words = facts["platform"].split()
    assert words[:3] == [platform.system(), platform.release(), platform.machine()]
    library, version = platform.libc_ver()
    assert words[3:] == ([library, version] if library == "glibc" else [])
    assert facts["processor"]
    # A file may be given away: it says what computed, not whose it is.
    assert platform.node() not in " ".join(map(str, facts.values())).split()
    assert facts["threads"] == threads()


def test_sessions_are_counted_and_their_changes_stored():
    """A run never resumed would seem made of parts, or every resumed one be suspected."""
    assert (provenance()["sessions"], provenance()["changes"]) == (1, "")
    again = provenance(provenance(provenance()))
    assert (again["sessions"], again["changes"]) == (3, "")
    facts = provenance({"status": "interrupted at t = 1", "beta": 4.0})
    assert (facts["sessions"], facts["changes"]) == (2, "")


@pytest.mark.usefixtures("same_threads")
def test_changes_on_the_way_are_stored():
    """Half of a run would come from other libraries without a trace."""
    before = threads()
    first = provenance()
    numpy = importlib.metadata.version("numpy")
    first["versions"] = first["versions"].replace(f"numpy {numpy}", "numpy 1.0")
    set_threads(before + 1)
    second = provenance(first, "from t = 3 on")
    set_threads(before)
    third = provenance(second)
    changes = f"from t = 3 on: threads {before} -> {before + 1}, numpy 1.0 -> {numpy}"
    assert second["changes"] == changes
    assert third["changes"] == f"{changes}\nsession 3: threads {before + 1} -> {before}"


def test_processor_without_a_name_is_its_architecture(monkeypatch):
    """A machine without /proc could not run."""

    def closed(*arguments, **options):
        raise FileNotFoundError

    monkeypatch.setattr(module, "open", closed, raising=False)
    assert provenance()["processor"] == platform.machine()
    monkeypatch.delattr(os, "confstr")
    assert "glibc" not in provenance()["platform"]


def test_file_of_another_kind_has_no_provenance(tmp_path):
    """Any HDF5 file would be taken for a result."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["time"] = np.zeros(3)
    refused("is not a run file of format 2", read_provenance, tmp_path / "x.h5")
