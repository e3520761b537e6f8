"""Files of tokens that hold something else, or that were damaged: tokens, or one line."""

import io
import pickle
import random
import zipfile
from collections import Counter

import h5py
import numpy as np
import pytest
from damage import DAMAGE

import meanfield as mf
from meanfield.runfile import ConfigError, load_config

RUN = """\
[problem]
normalization = "none"
manifold = "{}"
beta = 3.0
[initial]
name = "tokens"
file = "tokens.npy"
[time]
end = 1.0
"""
ANGLES, VECTORS = np.linspace(-3.0, 9.0, 40), np.random.default_rng(1).normal(size=(30, 3))


def npy(values, **options):
    content = io.BytesIO()
    np.save(content, values, **options)
    return content.getvalue()


def headed(header, data=bytes(800), version=b"\x01\x00"):
    return b"\x93NUMPY" + version + len(header).to_bytes(2, "little") + header + data


def hdf5():
    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        file["tokens"] = ANGLES
    return content.getvalue()


def archive():
    content = io.BytesIO()
    np.savez(content, tokens=ANGLES)
    return content.getvalue()


def bomb():
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("tokens.npy", bytes(10**7))
    return content.getvalue()


class Tempting:
    def __reduce__(self):
        return (open, ("touched", "w"))


def with_value(value, place=3):
    values = ANGLES.copy()
    values[place] = value
    return values


HEAD = b"{'descr': '<f8', 'fortran_order': False, 'shape': "
REFUSED = {
    "empty": b"",
    "magic alone": b"\x93NUMPY",
    "text": b"0.1\n0.2\n",
    "CSV with a header": b"theta\n0.1\n",
    "HDF5": hdf5(),
    "archive": archive(),
    "large archive": bomb(),
    "pickle": pickle.dumps(Tempting()),
    "pickled objects": npy(np.array([Tempting()], object), allow_pickle=True),
    "no tokens": npy(np.zeros(0)),
    "no vectors": npy(np.zeros((0, 3))),
    "one number": npy(np.float64(3.0)),
    "complex": npy(ANGLES + 0j),
    "truth values": npy(ANGLES > 0),
    "texts": npy(np.array(["0.1", "0.2"])),
    "dates": npy(np.array(["2020-01-01"], "M8[D]")),
    "compound": npy(np.zeros(3, [("a", "f8")])),
    "NaN": npy(with_value(np.nan)),
    "infinite": npy(with_value(-np.inf)),
    "table": npy(np.zeros((5, 2))),
    "cube": npy(np.zeros((5, 3, 3))),
    "later version": headed(HEAD + b"(100,)}\n", version=b"\x09\x00"),
    "fewer than the header says": headed(HEAD + b"(101,)}\n"),
    "more than fits in memory": headed(HEAD + b"(9999999999999,)}\n"),
    "overflow of the size": headed(HEAD + b"(4611686018427387904, 4611686018427387904)}\n"),
    "negative length": headed(HEAD + b"(-1,)}\n"),
    "code in the header": headed(b"__import__('os').system('touch touched')\n"),
    "deep header": headed(b"(" * 5000),
    "header without a shape": headed(b"{'descr': '<f8', 'fortran_order': False}\n"),
    "unknown type": headed(HEAD.replace(b"<f8", b"<q9") + b"(3,)}\n"),
}
"""Files that hold no tokens of either manifold."""

TAKEN = {
    "angles": ("circle", npy(ANGLES)),
    "integers": ("circle", npy(np.arange(5))),
    "single precision": ("circle", npy(ANGLES.astype("f4"))),
    "big endian": ("circle", npy(ANGLES.astype(">f8"))),
    "every other": ("circle", npy(ANGLES[::-2])),
    "vectors": ("sphere", npy(VECTORS)),
    "columns first": ("sphere", npy(np.asfortranarray(VECTORS))),
    "short and long": ("sphere", npy(VECTORS * np.geomspace(1e-150, 1e150, 30)[:, None])),
    "more than the header says": ("circle", headed(HEAD + b"(100,)}\n", bytes(900))),
}
"""Manifold and file."""


def load(folder, manifold, content):
    """Load a run file with these tokens: "valid", or "refused" in one line."""
    (folder / "run.toml").write_text(RUN.format(manifold))
    (folder / "tokens.npy").write_bytes(content)
    try:
        measure = load_config(folder / "run.toml").problem.initial_measure()
    except ConfigError as error:
        said = str(error)
        assert "run.toml: [initial] " in said and said.isprintable() and len(said) < 1000
        return "refused"
    assert isinstance(measure, mf.Measure) and np.all(np.isfinite(measure.points))
    return "valid"


@pytest.mark.parametrize("manifold", ["circle", "sphere"])
def test_what_holds_no_tokens_is_refused(manifold, tmp_path, monkeypatch, survived):
    """Another file would be a traceback, run code, or start a run from nonsense."""
    monkeypatch.chdir(tmp_path)
    for what, content in REFUSED.items():
        assert load(tmp_path, manifold, content) == "refused", what
    assert not (tmp_path / "touched").exists()
    survived("mangled input", "tokens: what is none", len(REFUSED), refused=len(REFUSED))


@pytest.mark.parametrize("what", TAKEN)
def test_tokens_of_any_form_are_taken(what, tmp_path):
    """The refusals would be of what is right."""
    assert load(tmp_path, *TAKEN[what]) == "valid"


@pytest.mark.slow
def test_predict_says_the_same_of_what_holds_no_tokens(commands, tmp_path, survived):
    """The option would show a traceback where the run file does not."""
    file = tmp_path / "tokens.npy"
    words = ["predict", "--manifold", "circle", "--beta", "3", "--input", file]
    for content in REFUSED.values():
        file.write_bytes(content)
        commands(*words).check(2)
    cases = len(REFUSED)
    survived("mangled input", "tokens: what is none, for predict", cases, refused=cases)


@pytest.mark.parametrize("cases", [60, pytest.param(3000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("mangler", DAMAGE)
def test_damaged_tokens_are_tokens_or_one_line(mangler, cases, tmp_path, survived):
    """Damage in the header would show a traceback, or take all memory."""
    ends, rng = Counter[str](), random.Random(mangler)
    for i in range(cases):
        manifold, content = list(TAKEN.values())[i % len(TAKEN)]
        # The header above all: other numbers are other tokens.
        size = rng.choice([128, len(content)])
        ends[load(tmp_path, manifold, DAMAGE[mangler](content[:size], rng) + content[size:])] += 1
    survived("mangled input", "tokens: damaged files", ends.total(), **ends)
