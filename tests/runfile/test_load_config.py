"""From run file to configuration: what it says is what is run, and every mistake has its line."""

import tomllib

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.runfile import ConfigError, load_config, with_defaults
from meanfield.runfile.config import times_of


def test_every_key_arrives(path):
    """A key would be read and forgotten."""
    config = load_config(path)
    options, compare = config.options, config.compare
    law = mf.perturbed_uniform([[1, 0.1, 0.0], [3, 0.0, 0.05]])
    flow = mf.Flow(normalized=True, strength=-1.5)
    assert config.problem == mf.Problem(mf.Circle(), mf.exponential(4.0), flow, law)
    assert (config.title, options.name) == ("All keys", "density")
    assert (options.tolerance, options.max_degree) == (1e-6, 128)
    assert (config.times.tolist(), config.stop) == ([0.0, 1.0, 2.0, 3.0], "one_cluster")
    assert (config.output.observables, config.output.state) == (("entropy",), "last")
    assert (compare.tokens, compare.runs, compare.metric, compare.seed) == ((10, 30), 3, "W2", 5)


def test_text_is_the_effective_run_file(path, tmp_path):
    """The file would not say what was run when --set changed it."""
    config = load_config(path, ["problem.beta=5.5", "title=Other"])
    again = tmp_path / "again.toml"
    again.write_text(config.text)
    assert load_config(again).tables == config.tables
    assert tomllib.loads(config.text)["problem"]["beta"] == 5.5


GROWTH_RATE = mf.growth_rate_max(mf.Problem(mf.Circle(), mf.exponential(4.0), mf.SA))


@pytest.mark.parametrize(("overrides", "expected"), [
    (["time.unit=paper"], np.linspace(0, 3, 4)),
    (["time.unit=paper", "problem.normalized=false"], np.linspace(0, 3, 4) * np.exp(4.0)),
    (["time.unit=growth", "problem.strength=1"], np.linspace(0, 3, 4) / GROWTH_RATE),
    (["time.save=[0.5, 2]"], [0.5, 2.0]),
    (["time.spacing=log", "time.first=0.003"], [0.003, 0.03, 0.3, 3.0]),
    (["time.spacing=log", "time.first=1e-300", "time.end=1e300"], [1e-300, 1e-100, 1e100, 1e300]),
])  # fmt: skip
def test_times_are_in_scaled_time(path, overrides, expected):
    """The run would save at other times than asked for."""
    times = load_config(path, overrides).times
    assert times == pytest.approx(np.asarray(expected), rel=1e-14, abs=0)


def test_keys_that_act_on_a_comparison_are_taken(path):
    """Its tokens have noise where the density of the run needs no step."""
    noisy = ["problem.diffusivity=0.1", "problem.normalized=false", "time.step=0.1"]
    assert load_config(path, noisy).options.step == 0.1
    path.write_text(path.read_text().partition("[compare]")[0])
    assert load_config(path, noisy, study="compare").options.step == 0.1


@pytest.mark.parametrize(
    ("overrides", "state"),
    [
        ([], "all"),
        (["representation.tokens=1000000"], "all"),
        (["representation.tokens=1000001"], "last"),
        (["representation.tokens=2000000", "output.state=all"], "all"),
    ],
)
def test_states_above_a_million_tokens_are_not_all_stored(path, overrides, state):
    """A large run would fill the disk with states."""
    base = path.read_text().replace('state = "last"\n', "").replace('"density"', '"particles"')
    path.write_text(base.replace("max_degree = 128", "tokens = 5"))
    assert load_config(path, overrides).output.state == state


@pytest.mark.parametrize(("overrides", "message"), [
    # Who sets a step believes that it acts.
    (["time.step=0.1"], r"\[time\] step = 0.1 cannot act: it is for noisy particles, and this"),
    (["representation.seed=0"], r"\[representation\] seed = 0 cannot .* this run is a density"),
    (["representation.tokens=9"], r"tokens = 9 .* Leave it out, or take the repr"),
    (["representation.name=particles", "representation.tokens=9"],
     r"max_degree = 128 cannot act: it is for a density, and this run is particles without"),
    # `check` would call them valid, and the run would fail, or never end.
    (["time.end=2e300"], r"\[time\] end = 2e\+300 must be at most 1e\+300 in scaled time"),
    (["problem.diffusivity=1e200"],
     r"\[problem\] diffusivity = 1e\+200 must be at most 1e\+90"),
    (["problem.strength=-1e308"], r"\[problem\] strength = -1e\+308 must be at most 1e\+90"),
    (["compare.runs=3000000"], r"\[compare\] runs must lie between 2 and 1000000"),
    (["compare.tokens=[1000000000000]"], r"\[compare\] tokens must all be at most 10000000000"),
    (["ensemble.tokens=[1000000000000]"],
     r"\[ensemble\] tokens must all be at most 1000000000"),
    # The run would save at infinity.
    (["time.unit=paper", "problem.normalized=false", "time.end=1e308"],
     r"\[time\] end = 1e\+308 must be at most 1e\+300 in scaled time, got inf"),
    # A run file of 4 MiB would be looked at for minutes.
    ([f"problem.multipliers={[1.0] * 2049}", "problem.kernel=zonal", "problem.manifold=sphere"],
     "multipliers holds 2049 numbers, expected 1 to 2048"),
    # The run would be silent for longer than anyone lives.
    (["representation={name='particles', tokens=5}", "problem.diffusivity=0.1", "time.end=1",
      "time.step=1e-17"], r"\[time\] step = 1e-17 makes 1e\+17 steps"),
])  # fmt: skip
def test_what_no_run_can_do_is_refused(path, overrides, message):
    """A mistake would be found after hours, or never."""
    if not overrides[0].startswith(("compare", "ensemble")):
        path.write_text(path.read_text().partition("[compare]")[0])
    refused(message, load_config, path, overrides, error=ConfigError)


def test_too_many_saves_are_refused(path):
    """A list would pass where the same number of equally spaced times does not."""
    message, problem = "save must be at most 1000000 times, got 1000001", load_config(path).problem
    refused(message, times_of, problem, end=1.0, save=[0.0] * 1_000_001)


def test_tiny_concentration_is_uniform(path):
    """A concentration below the range of the Bessel functions would be an error."""
    config = load_config(path, ["initial={name='von_mises_fisher', concentration=1e-310}"])
    assert config.problem.initial_measure().coefficients.tolist() == [1.0]


def test_defaults_are_those_of_the_configuration():
    """A resumed run would be refused because it writes out a default."""
    least = {"problem": {"manifold": "circle", "beta": 1.0}, "time": {"end": 1.0}}
    full = with_defaults(least)
    assert with_defaults(full) == full
    assert full["initial"] == {"name": "uniform"}
    assert full["representation"]["max_nodes"] == 2_000_000
    assert least == {"problem": {"manifold": "circle", "beta": 1.0}, "time": {"end": 1.0}}
