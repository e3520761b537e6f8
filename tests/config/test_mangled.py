"""Thousands of mangled run files: each is a configuration, or one line that says why not."""

from __future__ import annotations

import random
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from meanfield.config import Config, ConfigError, load_config

SMALL = """\
title = "small"
[problem]
manifold = "circle"
kernel = "exponential"
beta = 4.0
normalized = false
strength = 1.0
diffusivity = 0.0
[initial]
name = "perturbed_uniform"
modes = [[1, 0.1, 0.0], [3, 0.0, 0.05]]
[representation]
name = "auto"
tolerance = 1e-8
max_degree = 256
seed = 1
[time]
end = 1.0
unit = "scaled"
save = 5
[output]
path = "small.h5"
observables = ["energy", "entropy"]
state = "all"
[compare]
tokens = [10, 20]
repetitions = 2
metric = "W2"
seed = 3
"""

VALID = {
    "small": SMALL,
    "least": '[problem]\nmanifold = "circle"\nbeta = 1\n[time]\nend = 1\n',
    "linear": (
        '[problem]\nmanifold = "circle"\nkernel = "linear"\n'
        '[initial]\nname = "von_mises_fisher"\nconcentration = 2.0\nmean = 0.5\n'
        '[time]\nend = 2.0\nsave = [0.5, 1.0]\nstop = "one_cluster"\n'
    ),
    "zonal": (
        '[problem]\nmanifold = "circle"\nkernel = "zonal"\nmultipliers = [1.0, 0.2, 0.05]\n'
        'beta = 2.0\nnormalized = true\n[time]\nend = 3.0\nunit = "growth"\nsave = 4\n'
        'spacing = "log"\nfirst = 0.1\n'
    ),
    "mixture": (
        '[problem]\nmanifold = "circle"\nbeta = -3.0\nstrength = -1.0\n'
        '[initial]\nname = "mixture"\ncomponents = [{weight = 0.25, concentration = 3.0}, '
        "{weight = 0.75, mean = 2.0, concentration = 0.0}]\n"
        '[representation]\nname = "particles"\ntokens = 30\nseed = 2\n[time]\nend = 0.5\n'
    ),
    "atoms": (
        '[problem]\nmanifold = "circle"\nbeta = 9.0\n[initial]\nname = "atoms"\n'
        "angles = [0.0, 1.0, -2.0]\nweights = [0.5, 0.25, 0.25]\n"
        '[time]\nend = 1.0\nunit = "paper"\n[output]\nstate = "last"\n'
    ),
    "sphere": (
        '[problem]\nmanifold = "sphere"\nbeta = 5.0\n[initial]\nname = "perturbed_uniform"\n'
        "modes = [[2, -1, 0.1], [3, 0, 0.05]]\n[representation]\nmax_degree = 64\n"
        '[time]\nend = 1.0\n[compare]\nmetric = "sobolev"\n'
    ),
    "points": (
        '[problem]\nmanifold = "sphere"\nbeta = 9.0\n[initial]\nname = "atoms"\n'
        "points = [[0, 0, 1], [1.0, 0, 2], [-3, 1, 0]]\nweights = [0.5, 0.25, 0.25]\n"
        "[time]\nend = 1.0\n"
    ),
    "sampled": (
        '[problem]\nmanifold = "circle"\nbeta = 5.0\n[initial]\nname = "sampled"\n'
        "tokens = 1000\nseed = 4\nmax_degree = 6\n[time]\nend = 1.0\n[output]\nobservables = []\n"
    ),
}
"""Name -> run file."""

# A zonal kernel costs 0.2 s of quadrature: it has its turn in the slow tests.
QUICK = sorted(set(VALID) - {"zonal"})

ODD_VALUES = [
    *["true", "false", "0", "1", "-1", "2", "3.0", "0.5", "-0.5", "-0.0", "1e5", "-40.0"],
    *["nan", "inf", "-inf", "1e400", "1e308", "-1e308", "1e-320", "5e-324", "9" * 19, "9" * 25],
    *[
        "0x" + "f" * 5000,
        "0b1",
        "1_000",
        '"text"',
        '""',
        "''",
        '"\\u0000"',
        '"a\\nb"',
        '"\\u001b[2J"',
    ],
    *['"\u00e4"', '"nine"', '"' + "long" * 500 + '"', '"../x.h5"', '"."', '"/"', '"nothing.npy"'],
    *["[]", "[[]]", "[1]", "[0, 1]", "[1, 0]", "[1e300]", "[[1, 2, 3]]", "[[1, 0.1, 0]]", '["a"]'],
    *["[true]", "[nan]", "[[1.5, 0, 0]]", "[[0, 1, 1]]", "[[-1, 1, 1]]", "[[1e9, 0.1, 0]]"],
    *["{}", "{a = 1}", "[{}]", "[{weight = 1}]", "[{weight = 1, concentration = -1}]"],
    *["1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "[" * 40 + "]" * 40],
    *['"density"', '"particles"', '"atoms"', '"characteristics"', '"zonal"', '"linear"', '"file"'],
    *['"tokens"', '"sampled"', '"uniform"', '"mixture"', '"growth"', '"log"', '"none"', '"sphere"'],
]
"""TOML values of every kind, some of which are right somewhere."""

everyday = settings(
    max_examples=600,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
thorough = settings(everyday, max_examples=10_000, derandomize=False)


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Callable[[bytes], Config | None]:
    """Load a run file of these bytes: a valid configuration, or None after one clean line."""
    path = tmp_path_factory.mktemp("mangled") / "run.toml"

    def checked(content: bytes) -> Config | None:
        path.write_bytes(content)
        try:
            config = load_config(path)
        except ConfigError as error:
            message = str(error)
            assert message.startswith("run.toml") or str(path) in message
            assert message.isprintable() and len(message) < 1000
            assert message.endswith(".")
            return None
        assert np.all(np.isfinite(config.times)) and np.all(np.diff(config.times) >= 0)
        assert tomllib.loads(config.text) == config.tables
        return config

    return checked


def flipped(content: bytes, rng: random.Random) -> bytes:
    """Up to eight bytes replaced by any."""
    mangled = bytearray(content)
    for _ in range(rng.randint(1, 8)):
        mangled[rng.randrange(len(mangled))] = rng.randrange(256)
    return bytes(mangled)


def reordered(content: bytes, rng: random.Random) -> bytes:
    """Lines deleted, doubled, swapped, cut."""
    lines = content.split(b"\n")
    for _ in range(rng.randint(1, 4)):
        i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
        how = rng.randrange(4)
        if how == 0 and len(lines) > 1:
            del lines[i]
        elif how == 1:
            lines.insert(j, lines[i])
        elif how == 2:
            lines[i], lines[j] = lines[j], lines[i]
        else:
            lines[i] = lines[i][: rng.randrange(len(lines[i]) + 1)]
    return b"\n".join(lines)


def revalued(content: bytes, rng: random.Random) -> bytes:
    """One to three keys with an odd value."""
    lines = content.decode().split("\n")
    keyed = [i for i, line in enumerate(lines) if " = " in line]
    for i in rng.sample(keyed, min(len(keyed), rng.randint(1, 3))):
        lines[i] = lines[i].split(" = ")[0] + " = " + rng.choice(ODD_VALUES)
    return "\n".join(lines).encode()


def moved(content: bytes, rng: random.Random) -> bytes:
    """A line of another run file somewhere."""
    lines, others = content.split(b"\n"), rng.choice(list(VALID.values())).encode().split(b"\n")
    lines.insert(rng.randrange(len(lines)), rng.choice(others))
    return b"\n".join(lines)


MANGLERS = {"flipped": flipped, "reordered": reordered, "revalued": revalued, "moved": moved}

toml_values = st.recursive(
    st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=8)
    | st.dates()
    | st.times(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


def mangled(
    load: Callable[[bytes], Config | None], mangler: str, name: str, seed: int
) -> Config | None:
    """Load a valid run file after a mangler has been at it."""
    return load(MANGLERS[mangler](VALID[name].encode(), random.Random(seed)))


@pytest.mark.parametrize("name", VALID)
def test_valid_files_are_configurations(load: Callable[[bytes], Config | None], name: str) -> None:
    """The mangled files would be wrong for another reason than their mangling."""
    assert load(VALID[name].encode()) is not None


@pytest.mark.parametrize("mangler", MANGLERS)
def test_mangled_files_end_in_one_line(
    load: Callable[[bytes], Config | None], mangler: str
) -> None:
    """A slip of the keyboard would show a traceback."""

    @everyday
    @given(st.sampled_from(QUICK), st.integers(0, 2**32))
    def check(name: str, seed: int) -> None:
        mangled(load, mangler, name, seed)

    check()


@everyday
@given(name=st.sampled_from(QUICK), data=st.data())
def test_any_value_of_any_key_ends_in_one_line(
    load: Callable[[bytes], Config | None], name: str, data: st.DataObject
) -> None:
    """A value of a type that nobody thought of would show a traceback."""
    tables = tomllib.loads(VALID[name])
    section = data.draw(st.sampled_from(sorted(tables)))
    value = data.draw(toml_values)
    if isinstance(tables[section], dict) and data.draw(st.booleans()):
        tables[section][data.draw(st.sampled_from(sorted(tables[section])))] = value
    else:
        tables[section] = value
    try:
        content = tomli_w.dumps(tables).encode()
    except (ValueError, TypeError):
        return  # not TOML: lone surrogates
    load(content)


@everyday
@given(
    content=st.binary(max_size=200)
    | st.text(max_size=200).map(lambda s: s.encode("utf-8", "replace"))
)
def test_any_bytes_end_in_one_line(load: Callable[[bytes], Config | None], content: bytes) -> None:
    """A file that is no run file at all would show a traceback."""
    load(content)


@pytest.mark.parametrize("mangler", MANGLERS)
def test_real_process_says_the_same_line(
    load: Callable[[bytes], Config | None], mangler: str, tmp_path: Path
) -> None:
    """The line would be lost, or joined by others, on its way to the user."""
    path = tmp_path / "run.toml"
    seeds = (seed for seed in range(100) if mangled(load, mangler, "small", seed) is None)
    path.write_bytes(MANGLERS[mangler](SMALL.encode(), random.Random(next(seeds))))
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    command = [sys.executable, "-m", "meanfield", "run", str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"meanfield: {caught.value}\n"
    assert [file.name for file in tmp_path.iterdir()] == ["run.toml"]


@pytest.mark.slow
@pytest.mark.parametrize("mangler", MANGLERS)
def test_more_mangled_files_end_in_one_line(
    load: Callable[[bytes], Config | None], mangler: str
) -> None:
    """A rarer slip would show a traceback."""

    @thorough
    @given(st.sampled_from(list(VALID)), st.integers(0, 2**32))
    def check(name: str, seed: int) -> None:
        mangled(load, mangler, name, seed)

    check()
