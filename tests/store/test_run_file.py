"""The run file: what is written is read, its layout is the promised one, damage is noticed."""

import shutil
import tomllib
from dataclasses import MISSING, asdict, fields, replace

import h5py
import numpy as np
import pytest
from contents import replaced
from parameters import refused, together
from run_folder import CIRCLE, Folder

import meanfield as mf
from meanfield.events import Event
from meanfield.snapshot import Checkpoint
from meanfield.store.run_file import file_results, load, read_checkpoint, texts
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


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folders = {name: Folder(tmp_path_factory.mktemp(name), TEXT) for name in OVERRIDES}
    for name, folder in folders.items():
        folder.run(*OVERRIDES[name])
    return {name: folder.output for name, folder in folders.items()}


@pytest.fixture(params=OVERRIDES)
def file(request, files):
    return files[request.param]


@pytest.fixture
def run_file(files, tmp_path):
    """A copy of the file of a density, which a test may change."""
    return shutil.copy(files["density"], tmp_path / "x.h5")


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


def assert_holds(numbers, expected):
    for name, value in expected.items():
        np.testing.assert_array_equal(numbers[name], value, strict=True, err_msg=name)


def test_file_holds_what_a_run_in_memory_holds(run_file):
    """A figure from the file would not be that of the run."""
    law = mf.perturbed_uniform([[1, 0.1, 0.0], [3, 0.0, 0.05]])
    problem = mf.Problem(mf.Circle(), mf.exponential(4.0), mf.USA, law)
    run, memory = load(run_file), mf.simulate(problem, until=25.0, save=6, tolerance=1e-8)
    expected = content(memory)
    # A call and a run file are asked in different words, at different times.
    for name in ("config", "title", "created"):
        del expected[f"attribute {name}"]
    assert_holds(content(run), expected)
    assert run.observables.keys() == memory.observables.keys()


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
        (group,) = {"density", "measure"} & h5.keys()
        assert h5[group]["save"][()].tolist() == list(range(n))


def test_attributes_are_the_promised_ones(file):
    """A file would not say what it is, or of what."""
    with h5py.File(file) as h5:
        attributes, time = dict(h5.attrs), dict(h5["time"].attrs)
    config = tomllib.loads(attributes["config"])
    assert config["problem"] == {"manifold": "circle", "beta": 4.0, "normalization": "none"}
    seed = config["representation"].get("seed", 0)
    expected = {
        "format_version": 2,
        "title": "Gr\u00f6\u00dfe",
        "status": "completed",
        "seed": seed,
    }
    assert (expected | {"meanfield_version": mf.__version__}).items() <= attributes.items()
    assert attributes["created"].endswith("+00:00")
    rate = mf.growth_rate_max(mf.Problem(mf.Circle(), mf.exponential(4.0), mf.USA))
    expected = {"paper_time_factor": np.exp(-4.0), "growth_rate_max": rate, "units": "scaled time"}
    assert expected.items() <= time.items()


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
def test_only_the_requested_states_are_read(run_file, states):
    """`meanfield info` would read gigabytes that it does not show."""
    entries = [measure is not None for measure in load(run_file, states).measures]
    expected = {"all": [True] * 6, "last": [False] * 5 + [True], "none": [False] * 6}
    assert entries == expected[states]


def test_states_are_the_same_in_any_portions(file, monkeypatch):
    """States of a large file would belong to other times than in a small one."""
    whole = content(load(file))
    monkeypatch.setattr("meanfield.store.run_file._SLAB_BYTES", 1)
    assert_holds(content(load(file)), whole)


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
def test_inconsistent_file_is_refused(files, tmp_path, change, message):
    """A file that another program changed would be misread, or show a traceback."""
    path = shutil.copy(files["density"], tmp_path / "x.h5")
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


def test_hash_is_not_taken_of_series_of_other_lengths(run_file):
    """`info` would read rows without end."""
    with h5py.File(run_file, "a") as h5:
        h5["observables/energy"].resize((10**12,))
    with h5py.File(run_file) as h5:
        refused("energy has shape .*, expected 6", file_results, h5)


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name in ("clock", "epoch", "unit", "step") for value in (-1.0, np.inf)]
    # The last saved time is 25.
    + [("unit", 0.0), ("step", 0.0), ("clock", 25.1), ("epoch", 25.1)],
)
def test_checkpoint_out_of_range_is_refused(run_file, name, value):
    """A run would go on from a time that it never reached, or never end."""
    with h5py.File(run_file, "a") as h5:
        h5["checkpoint"].attrs[name] = value
    refused("the clock of the checkpoint is out of range", read_checkpoint, run_file)


def bits(checkpoint):
    values = asdict(checkpoint)
    fixed = values.pop("fixed")
    arrays = {key: np.asarray(value) for key, value in (values | fixed).items()}
    return {key: (array.dtype, array.shape, array.tobytes()) for key, array in arrays.items()}


@pytest.mark.parametrize("step", [1e-300, None])
@pytest.mark.parametrize("name", STATES)
def test_checkpoint_is_read_as_it_was_written(tmp_path, name, step):
    """A resumed run would go on from another time, in another unit or with another state."""
    defaulted = [field for field in fields(Checkpoint) if field.default is not MISSING]
    assert all(getattr(CHECKPOINT, field.name) != field.default for field in defaulted)
    checkpoint = replace(CHECKPOINT, state=STATES[name], step=step)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        create(file, {"paper_time_factor": 1.0, "growth_rate_max": 1.0}, np.zeros(3))
        file["time"].resize((1,))
        file["time"][0] = 2.0 * CHECKPOINT.time
        # What is replaced leaves nothing behind.
        write_checkpoint(file, Checkpoint(1.0, np.zeros(9), fixed={"resting": np.ones(1)}), "auto")
        write_checkpoint(file, checkpoint, name)
    result, representation = read_checkpoint(tmp_path / "x.h5")
    assert representation == name and bits(result) == bits(checkpoint)


def test_run_that_is_larger_than_the_memory_is_refused(run_file, monkeypatch):
    """The machine would come to a halt before a word of it."""
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
    content = path.read_bytes()
    end = place + 16 * count
    path.write_bytes(content[:place] + count * content[place : place + 16] + content[end:])
    with h5py.File(path) as file, pytest.raises(ValueError, match="text claims more than the fil"):
        texts(file["text"])
