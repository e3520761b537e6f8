"""The run file: what is written is read, its layout is the promised one, damage is noticed."""

import random
import tomllib
from dataclasses import MISSING, asdict, fields

import h5py
import numpy as np
import pytest
from contents import replaced
from parameters import refused, together
from run_folder import CIRCLE

import meanfield as mf
from meanfield.commands.main import main
from meanfield.events import Event
from meanfield.recording import execute
from meanfield.runfile import load_config
from meanfield.snapshot import Checkpoint
from meanfield.store.run_file import FORMAT_VERSION, file_results, load, read_checkpoint, texts
from meanfield.store.run_writer import append_events, create, write_checkpoint

TEXT = f"""title = "Gr\u00f6\u00dfe"
{CIRCLE}[time]
end = 25.0
save = 6
[output]
observables = ["order_parameter", "energy", "clusters", "peaks", "resolution", "entropy",
    "free_energy"]
"""
OVERRIDES = {
    "density": [],
    "particles": ["representation={name='particles', tokens=40, seed=3, tolerance=1e-8}"],
    "atoms": ["initial={name='atoms', angles=[0, 1, 2.5], weights=[0.5, 0.25, 0.25]}"],
}


@pytest.mark.slow
@pytest.mark.parametrize("count", [60, pytest.param(2000, marks=pytest.mark.slow)])
def test_no_damage_goes_unnoticed(file, tmp_path, count):
    """A bad disk, or a copy that broke off, would change numbers or show a traceback."""
    rng, good, before = random.Random(count), file.read_bytes(), content(load(file))
    path = tmp_path / "x.h5"
    for i in range(count):
        data = bytearray(good)
        place = rng.randrange(len(data))
        data[place] ^= 1 << rng.randrange(8)
        # The mark of the seal itself is at the end.
        assert damaged(path, before, bytes(data)) or place > len(data) - 30
        if i % 3:
            continue
        start, length = rng.randrange(len(good)), rng.randrange(1, 5000)
        block = bytes(length) if rng.random() < 0.5 else rng.randbytes(length)
        damaged(path, before, good[:start] + block[: len(good) - start] + good[start + length :])
        cut = rng.randrange(len(good))
        # What breaks off inside the seal has lost the seal and nothing else.
        assert damaged(path, before, good[:cut]) or cut > len(good) - 30


def run_path(folder, *overrides):
    """Run file in HDF5."""
    config = folder / "run.toml"
    config.write_text(TEXT, encoding="utf-8")
    loaded = load_config(config, overrides, folder / "run.h5")
    for _ in execute(loaded):
        pass
    return folder / "run.h5"


@pytest.fixture(scope="module", params=OVERRIDES)
def file(request, tmp_path_factory):
    return run_path(tmp_path_factory.mktemp("file"), *OVERRIDES[request.param])


@pytest.fixture(scope="module")
def density_file(tmp_path_factory):
    return run_path(tmp_path_factory.mktemp("density"))


def content(run):
    numbers = {
        "time": run.time,
        "moments": run.moments,
        "growth_rates": run.growth_rates,
        "representation": run.representation,
        **{f"attribute {k}": v for k, v in run.attributes.items()},
        **run.observables,
        **run.diagnostics,
    }
    for i, measure in enumerate(run.measures):
        if isinstance(measure, mf.Density):
            numbers[f"state {i}"] = measure.coefficients
        elif measure is not None:
            numbers[f"state {i}"], numbers[f"mass {i}"] = measure.points, measure.mass
    return numbers


def same(first, second):
    return first.keys() == second.keys() and all(
        np.asarray(first[key]).tobytes() == np.asarray(second[key]).tobytes() for key in first
    )


def test_file_holds_what_a_run_in_memory_holds(density_file):
    """A figure from the file would not be that of the run."""
    law = mf.perturbed_uniform([[1, 0.1, 0.0], [3, 0.0, 0.05]])
    problem = mf.Problem(mf.Circle(), mf.exponential(4.0), mf.USA, law)
    run, memory = load(density_file), mf.simulate(problem, until=25.0, save=6, tolerance=1e-8)
    assert np.array_equal(run.time, memory.time)
    assert np.array_equal(run.moments, memory.moments)
    assert run.observables.keys() == memory.observables.keys()
    for name, values in memory.observables.items():
        assert np.array_equal(run.observables[name], values, equal_nan=True), name
    for name, values in memory.diagnostics.items():
        assert np.array_equal(run.diagnostics[name], values, equal_nan=True), name
    assert run.representation == memory.representation
    assert np.array_equal(run.growth_rates, memory.growth_rates)
    for mine, theirs in zip(run.measures, memory.measures, strict=True):
        assert isinstance(mine, mf.Density) and isinstance(theirs, mf.Density)
        assert np.array_equal(mine.coefficients, theirs.coefficients)
    # A call and a run file are asked in different words, at different times.
    names = {"config", "title", "created"}
    attributes = {key: value for key, value in memory.attributes.items() if key not in names}
    assert attributes.items() <= run.attributes.items()


def test_datasets_are_the_promised_ones(file):
    """A program that reads the file without this package would find something else."""
    with h5py.File(file) as h5:
        n = len(h5["time"])
        assert n == 6
        assert h5["moments"].shape == (n, 13) or h5["moments"].shape[1] > 13
        assert h5["moments"].dtype == np.complex128
        for name in ("order_parameter", "energy", "resolution", "entropy", "clusters/count"):
            assert h5["observables"][name].shape == (n,), name
        assert h5["observables/clusters/mass"].shape == h5["observables/clusters/centre"].shape
        for name in ("steps", "rejected", "evaluations", "representation"):
            assert h5["diagnostics"][name].shape == (n,), name
        assert ("density" in h5) != ("measure" in h5)
        group = h5["density" if "density" in h5 else "measure"]
        assert group["save"][()].tolist() == list(range(n))


def test_attributes_are_the_promised_ones(file):
    """A file would not say what it is, or of what."""
    with h5py.File(file) as h5:
        attributes = dict(h5.attrs)
        time = dict(h5["time"].attrs)
    assert attributes["format_version"] == FORMAT_VERSION == 2
    assert attributes["meanfield_version"] == mf.__version__
    assert attributes["status"] == "completed"
    assert attributes["title"] == "Gr\u00f6\u00dfe"
    assert attributes["seed"] == (3 if "particles" in attributes["config"] else 0)
    assert attributes["created"].endswith("+00:00")
    problem = {"manifold": "circle", "beta": 4.0, "normalization": "none"}
    assert tomllib.loads(attributes["config"])["problem"] == problem
    problem = mf.Problem(mf.Circle(), mf.exponential(4.0), mf.USA)
    assert time["units"] == "scaled time"
    assert time["paper_time_factor"] == np.exp(-4.0)
    assert time["growth_rate_max"] == mf.growth_rate_max(problem)


def test_every_axis_has_its_scale(file):
    """An xarray user would see invented names of axes."""
    bare = []

    def visit(name, item):
        if isinstance(item, h5py.Dataset) and not item.is_scale:
            bare.extend(name for axis in item.dims if len(axis) != 1)

    with h5py.File(file) as h5:
        h5.visititems(visit)
    assert bare == []


@pytest.mark.parametrize("states", ["all", "last", "none"])
def test_only_the_requested_states_are_read(density_file, states):
    """`meanfield info` would read gigabytes that it does not show."""
    entries = [measure is not None for measure in load(density_file, states).measures]
    expected = {"all": [True] * 6, "last": [False] * 5 + [True], "none": [False] * 6}
    assert entries == expected[states]


def test_states_are_the_same_in_any_portions(file, monkeypatch):
    """States of a large file would belong to other times than in a small one."""
    whole = content(load(file))
    monkeypatch.setattr("meanfield.store.run_file._SLAB_BYTES", 1)
    assert same(content(load(file)), whole)


def test_checkpoint_comes_back(file):
    """A resumed run would go on from elsewhere."""
    checkpoint, name = read_checkpoint(file)
    run = load(file)
    assert name == run.representation[-1]
    assert checkpoint.time <= run.time[-1]
    assert checkpoint.step is not None and checkpoint.step > 0
    assert checkpoint.steps == run.diagnostics["steps"][-1]
    assert {field.name for field in fields(Checkpoint)} == {
        *("clock", "epoch", "unit", "state", "step", "steps", "rejected", "evaluations"),
        *("events", "fixed"),
    }


def damaged(path, content_before, data):
    """True if damage is reported; if not, everything must read as before."""
    path.write_bytes(data)
    try:
        now = content(load(path))
        read_checkpoint(path)
    except ValueError as error:
        assert str(error).startswith(str(path)) and str(error).isprintable()
        return True
    assert same(now, content_before)
    return False


@pytest.mark.slow
@together(
    ("change", "message"),
    [
        (lambda f: f.attrs.__setitem__("format_version", 1), "format_version is 1"),
        (lambda f: f.__delitem__("time"), "is not a run file of format 2"),
        (lambda f: f.__delitem__("moments"), r"is damaged: .*moments"),
        (lambda f: f["observables/energy"].resize((3,)), r"energy has shape \(3,\), expected"),
        (lambda f: f["diagnostics/steps"].resize((7,)), r"steps has shape \(7,\), expected"),
        (lambda f: replaced(lambda v: v[:, None])(f, "observables/clusters/count"),
         r"x.h5 is damaged: observables/clusters/count has shape \(6, 1\), expected \(6,\)"),
        (lambda f: f["diagnostics/representation"].__setitem__(0, "magic"),
         "representation 'magic' is not known"),
        (lambda f: f.__delitem__("density/degree"), "is damaged"),
        (lambda f: f["density/save"].__setitem__(0, 99), "is damaged"),
        (lambda f: f["density/coefficients"].__setitem__((0, 0), 7), "expected the mass 1"),
        (lambda f: f.attrs.__delitem__("manifold"), "attribute manifold is missing"),
        (lambda f: f.attrs.__setitem__("config", "[problem"),
         "x.h5 is damaged: attribute config is no TOML: Expected"),
        (lambda f: f.attrs.__setitem__("manifold", "torus"), "manifold torus is not known"),
        (lambda f: f.attrs.__setitem__("requested_time_unit", "other"),
         "x.h5 is damaged: unit 'other' is not known"),
        (lambda f: f["moments"].__setitem__((0, 1), np.nan), "moments holds what is no number"),
        (lambda f: f["diagnostics/steps"].__setitem__(0, np.nan), "steps holds what is no number"),
        *[(lambda f, v=value: f["moments"].__setitem__(..., v),
           r"moments holds numbers beyond \S+, which no measure has") for value in (1e300, 1e4)],
    ],
)  # fmt: skip
def test_inconsistent_file_is_refused(density_file, tmp_path, change, message):
    """A file that another program changed would be misread, or show a traceback."""
    path = tmp_path / "x.h5"
    path.write_bytes(density_file.read_bytes())
    with h5py.File(path, "a") as h5:
        change(h5)
    refused(message, load, path)


# No field has its default, and no two are alike.
CHECKPOINT = Checkpoint(
    clock=0.1,
    state=np.array([0.3, -0.0, np.nextafter(1.0, 2.0)]),
    step=1e-300,
    steps=2,
    rejected=3,
    evaluations=5,
    epoch=1e143 / 3.0,
    events=7,
    unit=2.0**301,
    fixed={
        "weights": np.array([0.25, 0.75]),
        "numbers": np.array([[4, -1, 2]]),
        "initial": np.array([1.0, 0.1 - 0.2j]),
    },
)
STATES = {"atoms": CHECKPOINT.state, "density": CHECKPOINT.state * (1.0 + 0.7j)}


@pytest.fixture(scope="module")
def small_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    (folder / "x.toml").write_text(
        "problem = {normalization = 'none', manifold = 'circle', beta = 2.0}\n"
        "time = {end = 1.0, save = 6}\n"
    )
    assert main(["run", str(folder / "x.toml"), "--quiet"]) == 0
    return (folder / "x.h5").read_bytes()


@pytest.fixture
def run_file(tmp_path, small_run):
    (tmp_path / "x.h5").write_bytes(small_run)
    return tmp_path / "x.h5"


def test_hash_is_not_taken_of_series_of_other_lengths(run_file):
    """`info` would read rows without end."""
    with h5py.File(run_file, "a") as h5:
        h5["observables/energy"].resize((10**12,))
    with (
        h5py.File(run_file) as h5,
        pytest.raises(ValueError, match="energy has shape .*, expected 6"),
    ):
        file_results(h5)


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, -1.0) for name in ("clock", "epoch", "unit", "step")]
    + [(name, np.inf) for name in ("clock", "epoch", "unit", "step")]
    # The last saved time is 1.
    + [("unit", 0.0), ("step", 0.0), ("clock", 1.1), ("epoch", 1.1)],
)
def test_checkpoint_out_of_range_is_refused(run_file, name, value):
    """A run would go on from a time that it never reached, or never end."""
    with h5py.File(run_file, "a") as h5:
        h5["checkpoint"].attrs[name] = value
    refused("the clock of the checkpoint is out of range", read_checkpoint, run_file)


@pytest.mark.parametrize("step", [1e-300, None])
@pytest.mark.parametrize("name", STATES)
def test_checkpoint_is_read_as_it_was_written(tmp_path, name, step):
    """A resumed run would go on from another time, in another unit or with another state."""
    defaulted = [field for field in fields(Checkpoint) if field.default is not MISSING]
    assert all(getattr(CHECKPOINT, field.name) != field.default for field in defaulted)
    text = asdict(CHECKPOINT) | {"state": STATES[name], "step": step}
    numbers = {"paper_time_factor": 1.0, "growth_rate_max": 1.0}
    with h5py.File(tmp_path / "x.h5", "w") as file:
        create(file, numbers, np.zeros(3))
        file["time"].resize((1,))
        file["time"][0] = 2.0 * CHECKPOINT.time
        # What is replaced leaves nothing behind.
        write_checkpoint(file, Checkpoint(1.0, np.zeros(9), fixed={"resting": np.ones(1)}), "auto")
        write_checkpoint(file, Checkpoint(**text), name)
    result, representation = read_checkpoint(tmp_path / "x.h5")
    read = asdict(result)
    assert representation == name and read.keys() == text.keys()
    assert read["fixed"].keys() == text["fixed"].keys()
    arrays = {"state": (read.pop("state"), text.pop("state"))}
    arrays |= {key: (item, text["fixed"][key]) for key, item in read.pop("fixed").items()}
    del text["fixed"]
    # Numbers are equal where their bits are: none of them is 0 or not a number.
    assert read == text
    for key, (mine, theirs) in arrays.items():
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape), key
        assert mine.tobytes() == theirs.tobytes(), key


def test_run_that_is_larger_than_the_memory_is_refused(run_file, monkeypatch):
    """The machine would come to a halt before anything is said."""
    monkeypatch.setattr("meanfield.store.run_file.available_memory", lambda: 2000.0)
    refused(r"x\.h5 holds \S+ GiB of numbers, more than the me", load, run_file)
    monkeypatch.setattr("meanfield.store.run_file.available_memory", lambda: 20_000.0)
    with h5py.File(run_file, "r+") as file:
        file["measure/points"] = np.zeros(10**4)
    load(run_file, states="none")


def test_events_are_printed_without_control_characters(run_file, cli):
    """An event of a file from somebody else would clear the screen, or forge lines."""
    with h5py.File(run_file, "r+") as file:
        append_events(file, [Event(0.5, "note", "\x1b[2J\nstatus  completed")], 0)
        file.attrs["title"] = "\x1b[31m"
    out = cli("info", run_file)
    assert "\x1b" not in out and r"\x1b[2J\nstatus  completed" in out and r"\x1b[31m" in out


def test_text_that_repeats_a_thousand_times_is_refused(tmp_path, monkeypatch):
    """All rows may point to one long text: a file of kilobytes would take all memory."""
    monkeypatch.setattr("meanfield.store.run_file.EXPANSION", 100)
    path, count = tmp_path / "x.h5", 4000
    with h5py.File(path, "w") as file:
        item = file.create_dataset("text", data=["a" * 50_000] + ["b"] * (count - 1))
        assert texts(item) == ["a" * 1000 + "..."] + ["b"] * (count - 1)
        place = item.id.get_offset()
    small_run = path.read_bytes()
    first = small_run[place : place + 16]
    path.write_bytes(small_run[:place] + count * first + small_run[place + 16 * count :])
    with h5py.File(path) as file, pytest.raises(ValueError, match="text claims more than the fil"):
        texts(file["text"])
