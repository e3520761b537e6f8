"""Where the output goes, and what is refused before anything is computed."""

import os
from pathlib import Path

import pytest
from parameters import refused

from meanfield.laws.initial import uniform
from meanfield.runfile import ConfigError, load_config, sections

TEXT = '[problem]\nnormalization = "none"\nmanifold = "circle"\nbeta = 4.0\n[time]\nend = 1.0\n'


@pytest.fixture
def config(tmp_path):
    """A run file without [output]."""
    path = tmp_path / "my.run.toml"
    path.write_text(TEXT)
    return path


def output(config, path):
    """Place of the output for this [output] path."""
    return load_config(config, [f"output.path={path}"]).output.path


def test_output_lies_beside_the_run_file(config, monkeypatch):
    """The output would lie in an unexpected folder, or -o be ignored."""
    assert load_config(config).output.path == config.with_name("my.run.h5")
    (config.parent / "sub").mkdir()
    assert output(config, "sub/x.h5") == config.parent / "sub" / "x.h5"
    absolute = config.parent / "sub" / "y.h5"
    assert output(config, absolute) == absolute
    monkeypatch.chdir(config.parent)
    assert load_config(config, ["output.path=x.h5"], "y.h5").output.path == Path("y.h5")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ('""', r'"" is a folder, expected a file\.'),
        (".", "is a folder, expected a file"),
        ("nodir/x.h5", "cannot be written: its folder does not exist"),
        ("my.run.toml/x.h5", "cannot be written: its folder does not exist"),
        ("pipe", "is not a regular file"),
        ("my.run.toml", "is read by this run: choose another file"),
        ("figure.png", r"must end in \.h5 or \.hdf5: results are HDF5 files, of which `meanf"),
        ("some", r"must end in \.h5 or \.hdf5"),
        ("newdir/", r"must end in \.h5 or \.hdf5"),
        ("x" * 300, "cannot be written: File name too long|cannot be written"),
        # Links: to the run file, and to itself, a traceback of another kind in each Python.
        ("link.h5", r'"link\.h5" is read by this run'),
        ("itself.h5", r'"itself\.h5" '),
    ],
)
def test_impossible_path_is_refused(config, path, message):
    """A run would fail at its end, or destroy a file that it needs."""
    os.mkfifo(config.parent / "pipe")
    (config.parent / "link.h5").symlink_to(config)
    (config.parent / "itself.h5").symlink_to("itself.h5")
    line = rf"my\.run\.toml: \[output\] path = .*{message}"
    refused(line, output, config, path, error=ConfigError)


def test_results_of_any_name_are_taken(config):
    """A run whose file older versions called otherwise could not go on."""
    (config.parent / "old.dat").write_bytes(b"\x89HDF\r\n\x1a\n ... meanfield_version ...")
    assert output(config, "old.dat").name == "old.dat"
    assert output(config, "new.HDF5").name == "new.HDF5"


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="no such device here")
def test_device_is_refused(config):
    """Renaming a file onto it would replace the device of the whole system."""
    message = r"-o /dev/null is not a regular file\."
    refused(message, load_config, config, output="/dev/null", error=ConfigError)


def test_read_only_folder_is_refused(config, monkeypatch):
    """The run would fail when it wants to write."""
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    refused("cannot be written: its folder is read-only", load_config, config, error=ConfigError)


@pytest.mark.parametrize("key", ['name = "tokens"\nfile', 'name = "file"\npath'])
def test_input_is_no_output(config, key, monkeypatch):
    """A run would overwrite what it starts from."""
    laws = {
        "tokens": lambda folder, bare, /, file: uniform(),
        "file": lambda folder, bare, /, path: uniform(),
    }
    for law, build in laws.items():
        build.__annotations__ = {"file": str, "path": str}
        monkeypatch.setitem(sections.INITIAL, law, build)
    (config.parent / "in.h5").write_text("")
    config.write_text(f'{TEXT}[initial]\n{key} = "in.h5"\n')
    refused(r"in\.h5.* is read by this run", output, config, "in.h5", error=ConfigError)


@pytest.mark.slow
def test_kernel_file_is_no_output(config):
    """A run would overwrite the user's kernel."""
    (config.parent / "k.py").write_text("import numpy as np\ndef f(s):\n    return np.exp(s)\n")
    overrides = ["problem.kernel=zonal", "problem.attention=k.py:f", "output.path=k.py"]
    message = r'path = "k\.py" is read by this run'
    refused(message, load_config, config, overrides, error=ConfigError)
