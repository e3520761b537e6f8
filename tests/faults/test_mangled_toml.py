"""Thousands of mangled run files: each is a configuration, or one line that says why not."""

import random
import tomllib
from collections import Counter

import numpy as np
import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from manglers import MANGLERS, QUICK, SMALL, VALID

from meanfield.runfile import ConfigError, load_config

everyday = settings(
    max_examples=100,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
thorough = settings(everyday, max_examples=2_000, derandomize=False)
# A strength of 1e19 is a run of 1e16 steps: it does what it is told.
TINY = ["time.end=1e-3", "time.save=2", "representation.tokens=9", "problem.strength=1.0"]

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


class Loader:
    """Loads run files, and counts those that are valid and those that are refused."""

    def __init__(self, path):
        self.path = path
        self.ends = Counter[str]()

    def __call__(self, content):
        self.path.write_bytes(content)
        try:
            config = load_config(self.path)
        except ConfigError as error:
            message = str(error)
            assert message.startswith("run.toml") or str(self.path) in message
            assert message.isprintable() and len(message) < 1000
            assert message.endswith((".", "?"))
            self.ends["refused"] += 1
            return None
        assert np.all(np.isfinite(config.times)) and np.all(np.diff(config.times) >= 0)
        assert tomllib.loads(config.text) == config.tables
        self.ends["valid"] += 1
        return config

    def mangled(self, mangler, name, seed):
        """Load a valid run file after a mangler has been at it."""
        return self(MANGLERS[mangler](VALID[name].encode(), random.Random(seed)))


@pytest.fixture
def load(tmp_path):
    return Loader(tmp_path / "run.toml")


@pytest.mark.parametrize("name", VALID)
def test_valid_files_are_configurations(load, name):
    """The mangled files would be wrong for another reason than their mangling."""
    assert load(VALID[name].encode()) is not None


@pytest.mark.parametrize(
    "how, names",
    [(everyday, QUICK), pytest.param(thorough, list(VALID), marks=pytest.mark.slow)],
    ids=["few", "many"],
)
@pytest.mark.parametrize("mangler", MANGLERS)
def test_mangled_files_end_in_one_line(load, mangler, how, names, survived):
    """A slip of the keyboard would show a traceback."""

    @how
    @given(st.sampled_from(names), st.integers(0, 2**32))
    def check(name, seed):
        load.mangled(mangler, name, seed)

    check()
    survived("mangled input", f"run files: {mangler}", load.ends.total(), **load.ends)


@pytest.mark.slow
@pytest.mark.parametrize(
    "how", [everyday, pytest.param(thorough, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_any_value_of_any_key_ends_in_one_line(load, how, survived):
    """A value of an unexpected type would show a traceback."""

    @how
    @given(name=st.sampled_from(QUICK), data=st.data())
    def check(name, data):
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

    check()
    survived("mangled input", "run files: any value of a key", load.ends.total(), **load.ends)


@pytest.mark.parametrize(
    "how", [everyday, pytest.param(thorough, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_any_bytes_end_in_one_line(load, how, survived):
    """A file that is no run file at all would show a traceback."""

    @how
    @given(
        content=st.binary(max_size=200)
        | st.text(max_size=200).map(lambda s: s.encode("utf-8", "replace"))
    )
    def check(content):
        load(content)

    check()
    survived("mangled input", "run files: any bytes", load.ends.total(), **load.ends)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mangler", "seeds"), [("odd values", 4), ("bytes replaced", 4), *((m, 60) for m in MANGLERS)]
)
def test_commands_say_the_same_line(load, commands, mangler, seeds, survived):
    """The line would be lost, or joined by others, on its way to the user."""
    cases = 0
    for seed in range(seeds):
        load.mangled(mangler, "small", seed)
        for command in ("run", "check", "compare", "ensemble"):
            try:
                # An ensemble needs no [time].
                load_config(load.path, study=None if command == "run" else command)
                continue
            except ConfigError as error:
                said = str(error)
            answer = commands(command, load.path)
            answer.check(2)
            assert answer.err == f"meanfield: {said}\n"
            assert [file.name for file in load.path.parent.iterdir()] == ["run.toml"]
            cases += 1
    survived("mangled input", "run files, through their commands", cases, refused=cases)


# One of thousands whose bytes were replaced stays valid.
@pytest.mark.slow
@pytest.mark.parametrize("mangler", sorted(set(MANGLERS) - {"bytes replaced"}))
def test_mangled_files_that_are_valid_can_be_run(load, commands, mangler, survived):
    """A configuration that passes would end in a traceback when it is run."""
    ends, seed = Counter[str](), 0
    names = {0: "done", 1: "failed", 2: "refused"}
    while ends.total() < 25 and seed < 400:
        seed += 1
        if load.mangled(mangler, QUICK[seed % len(QUICK)], seed) is not None:
            sets = [word for setting in TINY for word in ("--set", setting)]
            answer = commands("run", load.path, "-o", "x.h5", "--overwrite", "--quiet", *sets)
            answer.check(0, 1, 2)
            ends[names[answer.status]] += 1
    survived("mangled input", "run files that stay valid, run", ends.total(), **ends)


PLACES = {
    "nothing": lambda path: None,
    "folder": lambda path: path.mkdir(),
    "endless device": lambda path: path.symlink_to("/dev/zero"),
    "empty device": lambda path: path.symlink_to("/dev/null"),
    "link to itself": lambda path: path.symlink_to(path.name),
    "empty": lambda path: path.write_bytes(b""),
    "blank": lambda path: path.write_bytes(b"\n" * 1000),
    "50 MB": lambda path: path.write_bytes(SMALL.encode() + b"#" * 50_000_000),
    "deep": lambda path: path.write_bytes(b"a = " + b"[" * 100_000),
    "wide": lambda path: path.write_bytes(b"".join(b"a%d = 1\n" % i for i in range(20_000))),
}


@pytest.mark.slow
@pytest.mark.parametrize("command", ["run", "check", "compare", "ensemble"])
def test_what_is_no_run_file_ends_in_one_line(commands, command, tmp_path, survived):
    """A wrong name would be a traceback, or wait for ever."""
    for what, make in PLACES.items():
        make(tmp_path / f"{what}.toml")
        answer = commands(command, tmp_path / f"{what}.toml")
        answer.check(2)
        assert f"{what}.toml" in answer.err
    survived("mangled input", "no run file", len(PLACES), refused=len(PLACES))
