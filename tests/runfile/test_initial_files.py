"""Initial measures from files: good ones are taken to the bit, bad ones are one line."""

import io
import os

import h5py
import numpy as np
import pytest
from parameters import together

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


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, np.asarray(array), allow_pickle=True)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    folder = tmp_path_factory.mktemp("before")
    law = '[initial]\nname = "perturbed_uniform"\nmodes = [[1, 0.2, 0.0]]\n'
    config = written(folder, HEADER + law, "before.toml")
    assert main(["run", str(config), "--quiet"]) == 0
    return folder / "before.h5"


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
    with pytest.raises(ConfigError, match=message) as caught:
        load_config(written(tmp_path, TOKENS))
    assert "run.toml: [initial] " in str(caught.value)


@pytest.mark.slow
def test_mangled_token_files_are_one_line(tmp_path):
    """Damage in the header would show a traceback."""
    rng = np.random.default_rng(1)
    good, config = npy(np.arange(3.0)), written(tmp_path, TOKENS)
    refused = 0
    for _ in range(400):
        content = bytearray(good)
        for i in rng.integers(0, 128, rng.integers(1, 4)):
            content[i] = rng.integers(0, 256)
        (tmp_path / "tokens.npy").write_bytes(content)
        try:
            load_config(config)
        except ConfigError as error:
            refused += 1
            assert "run.toml: [initial] " in str(error)
    assert refused > 200


def test_token_file_must_be_a_file(tmp_path):
    """A pipe would be waited for without end."""
    config = written(tmp_path, TOKENS)
    for make in (lambda path: None, os.mkfifo):
        make(tmp_path / "tokens.npy")
        with pytest.raises(ConfigError, match=r'file = "tokens\.npy": no such file'):
            load_config(config)


@pytest.mark.slow
def test_last_state_of_a_run_is_the_start_of_the_next(tmp_path, before):
    """A chain of runs would not be one evolution."""
    (tmp_path / "before.h5").write_bytes(before.read_bytes())
    measure = load_config(written(tmp_path, FILE)).problem.initial_measure()
    last = mf.load(before).measures[-1]
    assert isinstance(measure, mf.Density) and isinstance(last, mf.Density)
    assert np.array_equal(measure.coefficients, last.coefficients)


@pytest.mark.slow
def test_last_tokens_of_a_run_are_the_start_of_the_next(tmp_path):
    """Weights or points would be lost on the way."""
    atoms = '[initial]\nname = "atoms"\nangles = [0.0, 1.0]\nweights = [0.25, 0.75]\n'
    assert main(["run", str(written(tmp_path, HEADER + atoms, "before.toml")), "--quiet"]) == 0
    measure = load_config(written(tmp_path, FILE)).problem.initial_measure()
    last = mf.load(tmp_path / "before.h5").measures[-1]
    assert isinstance(measure, mf.Measure) and isinstance(last, mf.Measure)
    assert np.array_equal(measure.points, last.points)
    assert measure.mass.tolist() == [0.25, 0.75]


def test_bad_run_file_is_one_line(tmp_path, before):
    """A file that is no run, or a broken one, would show a traceback."""
    config, file, whole = written(tmp_path, FILE), tmp_path / "before.h5", before.read_bytes()
    foreign = io.BytesIO()
    with h5py.File(foreign, "w") as other:
        other["x"] = 1
    for content, message in (
        (None, r"run\.toml: \[initial\] .*before\.h5: no such file"),
        (b"nothing", "not a readable HDF5 file"),
        (whole[:-1000], "is damaged: its checksum does not fit"),
        (foreign.getvalue(), "not a run file of format 2"),
    ):
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(ConfigError, match=message):
            load_config(config)


def test_run_without_states_is_refused(tmp_path):
    """The next run would start from nothing."""
    config = written(tmp_path, HEADER + '[output]\nstate = "none"\n', "before.toml")
    assert main(["run", str(config), "--quiet"]) == 0
    with pytest.raises(ConfigError, match=r'path = "before\.h5" holds no last state'):
        load_config(written(tmp_path, FILE))


def test_run_on_another_manifold_is_refused(tmp_path, before):
    """Angles would be read as coefficients on the sphere."""
    (tmp_path / "before.h5").symlink_to(before)
    config = written(tmp_path, FILE.replace('"circle"', '"sphere"'))
    with pytest.raises(ConfigError, match="is a run on the circle, expected sphere"):
        load_config(config)


def test_tokens_too_many_for_memory_are_not_read(tmp_path, monkeypatch):
    """Memory would fill up before anyone asks how much there is."""
    with (tmp_path / "tokens.npy").open("wb") as file:
        header = {"descr": "<f2", "fortran_order": False, "shape": (10**9,)}
        np.lib.format.write_array_header_2_0(file, header)
        file.truncate(file.tell() + 2 * 10**9)
    monkeypatch.setattr("meanfield.runfile.python_file.available_memory", lambda: 1e10 - 1)
    message = r'"tokens.npy" says that it holds 9.31 GiB of numbers; this process may use 9.31 GiB'
    with pytest.raises(ConfigError, match=message):
        load_config(written(tmp_path, TOKENS))
