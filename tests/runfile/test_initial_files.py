"""Initial measures from files: good ones are taken to the bit, bad ones are one line."""

import io
import os

import h5py
import numpy as np
import pytest
from parameters import refused, together

import meanfield as mf
from meanfield.commands.main import main
from meanfield.runfile import ConfigError, load_config

HEADER = (
    '[problem]\nnormalization = "none"\n'
    'manifold = "circle"\nbeta = 4.0\n[time]\nend = 0.5\nsave = 3\n'
)
TOKENS = HEADER + '[initial]\nname = "tokens"\nfile = "tokens.npy"\n'
FILE = HEADER + '[initial]\nname = "file"\npath = "before.h5"\n'


def written(folder, text, name="run.toml"):
    (folder / name).write_text(text)
    return folder / name


def run_before(folder, text):
    """File of a run, from which the next one starts."""
    config = written(folder, HEADER + text, "before.toml")
    assert main(["run", str(config), "--quiet"]) == 0
    return folder / "before.h5"


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, np.asarray(array), allow_pickle=True)
    return buffer.getvalue()


@pytest.mark.parametrize("dtype", ["f8", ">f8", "f4", "i2", "u1"])
def test_tokens_are_taken_as_they_are(tmp_path, dtype):
    """The run would start from other tokens."""
    angles = np.array([0, 1, 3], dtype)
    (tmp_path / "tokens.npy").write_bytes(npy(angles))
    measure = load_config(written(tmp_path, TOKENS)).problem.initial_measure()
    assert isinstance(measure, mf.Measure)
    assert measure.points.tolist() == [0.0, 1.0, 3.0]


@together(
    ("content", "message"),
    [
        (b"", r"is no \.npy file: expected what np\.save\(file, a"),
        (b"garbage, not numpy", r"is no \.npy file: expected what np\.save\(file, a"),
        (b"\x93NUMPY\x01\x00\xff\xff{'descr'", r"is no readable \.npy file"),
        (npy([1.0, 2.0])[:-3], r"is no readable \.npy file"),
        (npy([1.0]).replace(b"(1,), ", b"(9999999999999,), ")[:128], r"\.npy|memory"),
        (npy(np.array([{}, 1])), r"is no readable \.npy file"),
        (npy([1 + 2j]), r"holds complex128 of shape \(1,\), expected real numbers"),
        (npy(["a"]), "holds <U1"),
        (npy([True]), "holds bool"),
        (npy(np.zeros(2, [("x", "f8")])), "holds .*expected real numbers"),
        (npy([]), "holds no tokens, expected at least one"),
        (npy([[1.0, 2.0, 3.0]]), r"file = .*: points have shape \(1, 3\), expected angles"),
        (npy(np.ones((50, 768))), r"tokens of R\^768 live on mf\.Sphere\(768\)"),
        (npy([10.0, 350.0]), "file = .*: points look like degrees, the largest is 350"),
        (npy(1.0), r"holds float64 of shape \(\), expected"),
        (npy([0.0, np.nan]), "point 1 is nan"),
        (npy([np.inf]), "point 0 is inf"),
        (b"PK\x03\x04" + b"\0" * 40, r"is no \.npy file: expected what np\.save\(file, a"),
    ],
)
def test_bad_token_file_is_one_line(tmp_path, content, message):
    """A file that holds something else would show a traceback, or start a wrong run."""
    (tmp_path / "tokens.npy").write_bytes(content)
    message = rf"run\.toml: \[initial\] .*({message})"
    refused(message, load_config, written(tmp_path, TOKENS), error=ConfigError)


@pytest.mark.slow
def test_mangled_token_files_are_one_line(tmp_path):
    """Damage in the header would show a traceback."""
    rng = np.random.default_rng(1)
    good, config = npy(np.arange(3.0)), written(tmp_path, TOKENS)
    count = 0
    for _ in range(400):
        content = bytearray(good)
        for i in rng.integers(0, 128, rng.integers(1, 4)):
            content[i] = rng.integers(0, 256)
        (tmp_path / "tokens.npy").write_bytes(content)
        try:
            load_config(config)
        except ConfigError as error:
            count += 1
            assert "run.toml: [initial] " in str(error)
    assert count > 200


def test_token_file_must_be_a_file(tmp_path):
    """A pipe would be waited for without end."""
    config = written(tmp_path, TOKENS)
    message = r'file = "tokens\.npy": no such file'
    refused(message, load_config, config, error=ConfigError)
    os.mkfifo(tmp_path / "tokens.npy")
    refused(message, load_config, config, error=ConfigError)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "values"),
    [
        ('name = "perturbed_uniform"\nmodes = [[1, 0.2, 0.0]]\n', ["coefficients"]),
        ('name = "atoms"\nangles = [0.0, 1.0]\nweights = [0.25, 0.75]\n', ["points", "mass"]),
    ],
)
def test_last_state_of_a_run_is_the_start_of_the_next(tmp_path, law, values):
    """A chain of runs would not be one evolution, or lose its weights."""
    last = mf.load(run_before(tmp_path, f"[initial]\n{law}")).measures[-1]
    measure = load_config(written(tmp_path, FILE)).problem.initial_measure()
    for name in values:
        np.testing.assert_array_equal(getattr(measure, name), getattr(last, name))
    if "mass" in values:
        assert measure.mass.tolist() == [0.25, 0.75]


def test_bad_run_file_is_one_line(tmp_path):
    """A file that is no run, a broken one, or one of another space would show a traceback."""
    config = written(tmp_path, FILE)
    missing = r"run\.toml: \[initial\] .*before\.h5: no such file"
    refused(missing, load_config, config, error=ConfigError)
    file = run_before(tmp_path, "")
    whole, foreign = file.read_bytes(), io.BytesIO()
    with h5py.File(foreign, "w") as other:
        other["x"] = 1
    message, sphere = "is a run on the circle, expected sphere", ["problem.manifold=sphere"]
    refused(message, load_config, config, sphere, error=ConfigError)
    for content, message in (
        (b"nothing", "not a readable HDF5 file"),
        (whole[:-1000], "is damaged: its checksum does not fit"),
        (foreign.getvalue(), "not a run file of format 2"),
    ):
        file.write_bytes(content)
        refused(message, load_config, config, error=ConfigError)


def test_run_without_states_is_refused(tmp_path):
    """The next run would start from nothing."""
    run_before(tmp_path, '[output]\nstate = "none"\n')
    message = r'path = "before\.h5" holds no last state'
    refused(message, load_config, written(tmp_path, FILE), error=ConfigError)


def test_tokens_too_many_for_memory_are_not_read(tmp_path, monkeypatch):
    """Memory would fill up before anyone asks how much there is."""
    with (tmp_path / "tokens.npy").open("wb") as file:
        header = {"descr": "<f2", "fortran_order": False, "shape": (10**9,)}
        np.lib.format.write_array_header_2_0(file, header)
        file.truncate(file.tell() + 2 * 10**9)
    monkeypatch.setattr("meanfield.runfile.python_file.available_memory", lambda: 1e10 - 1)
    message = r'"tokens.npy" says that it holds 9.31 GiB of numbers; this process may use 9.31 GiB'
    refused(message, load_config, written(tmp_path, TOKENS), error=ConfigError)
