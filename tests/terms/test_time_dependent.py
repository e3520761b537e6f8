"""Parameters that are functions of time, against an integration of the tokens' equation."""

from dataclasses import replace
from pathlib import Path

import core
import numpy as np
import pytest
from parameters import refused
from run_folder import Folder, assert_resumes, whole_and_resumed
from scipy.integrate import solve_ivp
from scipy.special import ive

import meanfield as mf
from meanfield.arrays import ComplexArray, FloatArray
from meanfield.carriers import Options, represent
from meanfield.carriers.automatic import carriers
from meanfield.commands.main import main
from meanfield.observables import interaction_energy
from meanfield.runfile import load_config
from meanfield.store.run_file import load

LAW = mf.perturbed_uniform([[1, 0.3, 0.1], [2, 0.2, 0.5]])
PULSED = mf.perturbed_uniform([[1, 0.2, 0.1], [2, 0.3, 0.0], [3, 0.0, 0.05]])
ANGLES = np.random.default_rng(0).uniform(0.0, 6.0, 9)


def beta(t: float) -> float:
    return 2.0 + 20.0 * t


SHARPENING = mf.Problem(mf.Circle(), mf.exponential(beta), mf.SA, LAW)


def turn(t: float) -> FloatArray:
    return np.array([[0.0, -np.cos(t)], [np.cos(t), 0.3 * t]])


def value(t: float) -> FloatArray:
    return np.array([[1.0, 0.5 * t], [0.0, 1.0]])


@pytest.mark.parametrize(("normalization", "until"), [("softmax", 1.0), ("none", 0.1)])
@pytest.mark.parametrize(("drift", "values"), [(False, False), (True, False), (False, True)])
def test_tokens_follow_functions_of_time(normalization, until, drift, values):
    """Parameters would stay at their start, or the clock follow beta."""

    def rate(t: float, a: FloatArray) -> FloatArray:
        x = np.stack([np.cos(a), np.sin(a)], axis=1)
        head = beta(t) * np.eye(2), value(t) if values else np.eye(2)
        terms = [core.attention([head], normalization, beta(0.0))]
        terms += [core.drift(turn(t))] if drift else []
        u = core.Problem(terms).velocity(core.Points(x, np.full(9, 1 / 9)), x)
        return x[:, 0] * u[:, 1] - x[:, 1] * u[:, 0]

    steps = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-12}
    expected = solve_ivp(rate, (0.0, until), ANGLES, **steps).y[:, -1]
    head = mf.Head(value=value if values else 1.0)
    attention, law = mf.Attention([head], normalization, beta=beta), mf.from_points(ANGLES)
    given = {"drift": mf.LinearDrift(turn)} if drift else {}
    problem = mf.Problem(mf.Circle(), attention, initial=law, **given)
    run = mf.simulate(problem, until, save=[until], tolerance=1e-11)
    assert np.abs(run.measures[-1].points - expected).max() < 1e-9


@pytest.mark.slow
def test_densities_follow_a_kernel_that_sharpens():
    """A density that grows sharper than its first grid and kernel would be silently wrong."""
    one, other = (
        mf.simulate(SHARPENING, 1.0, save=3, representation=name)
        for name in ("density", "characteristics")
    )
    assert np.abs(one.moments - other.moments).max() < 1e-9
    # All degrees of the kernel at the time, more than are stored.
    end = SHARPENING.now(1.0)
    assert end.moment_degree > one.moments.shape[1] - 1
    energy = interaction_energy(end, one.measures[-1].moments(end.moment_degree))
    assert one.observables["energy"][-1] == pytest.approx(energy, rel=1e-12)


@pytest.mark.slow
def test_a_density_stops_where_a_kernel_is_too_sharp():
    """It would go on with a tail that no grid resolves."""
    problem = mf.Problem(mf.Circle(), mf.exponential(lambda t: 4.0 + t), mf.SA, LAW)
    with pytest.raises(mf.SimulationError, match="under-resolved: spectral tail .* at degree 48"):
        mf.simulate(problem, 20.0, save=3, representation="density", max_degree=48)


def test_characteristics_stop_where_z_falls():
    """Units of their state rest on the size of Z at the beginning."""
    problem = mf.Problem(mf.Circle(), mf.exponential(lambda t: -2.0 - 99 * t), mf.SA, LAW)
    carrier = represent(problem, Options(name="characteristics"))
    assert carrier.failure(0.01, carrier.state) is None
    assert "Z falls below 1e-3 of its bound" in str(carrier.failure(0.1, carrier.state))


def test_densities_diffuse_at_a_rate_of_time():
    """Moments fall by e^{-l^2 int D}; the scheme has the rate of time 0 exactly, and no other."""
    still = mf.Attention([mf.Head(value=0.0)], "none", beta=0.0, diffusivity=lambda t: 0.1 + t)
    run = mf.simulate(mf.Problem(mf.Circle(), still, initial=LAW), 0.2, save=[0.2])
    exact = LAW.build(mf.Circle()).moments(2) * np.exp(-(np.arange(3) ** 2) * 0.04)
    assert np.abs(run.moments[-1, :3] - exact).max() < 1e-9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layers": mf.Layers(0.1)}, "the kernel is a function of time, and layers beside it are"),
        ({"frequencies": mf.Gaussian(0.2)}, "and a mask or frequencies beside it are not"),
        ({"stages": [mf.Stage(end=1.0), mf.Stage()]}, "and stages beside it are not supported"),
    ],
)
def test_what_has_a_clock_of_its_own_is_refused(options, message):
    """Carriers of theirs would take the parameters of time 0."""
    refused(message, mf.Problem, mf.Circle(), mf.exponential(beta), mf.SA, **options)


def test_constant_functions_get_a_time():
    """A study would silently be that of time 0."""
    message = r"the kernel is a function of time: take problem.now\(ti"
    refused(message, mf.linear_operator, SHARPENING)
    refused(message, mf.stationary_state, SHARPENING, 2)
    message = "proofs of collapse rest on parameters that never chang"
    refused(message, mf.certified_collapse, SHARPENING, mf.Measure(mf.Circle(), [0.0, 0.1]))
    message = "not for terms of your own, or functions of time"
    refused(message, mf.fluctuations, SHARPENING, until=1.0)
    then = mf.Problem(mf.Circle(), mf.exponential(12.0), mf.SA)
    assert mf.growth_rate_max(SHARPENING.now(0.5)) == mf.growth_rate_max(then)
    late = mf.Problem(mf.Circle(), mf.exponential(lambda t: 1.0 if t < 0.5 else np.nan), mf.SA)
    refused("at the scaled time 1: exponential: beta must be", late.now, 1.0)


def test_noise_of_particles_does_not_change():
    """Their steps would have the noise of time 0."""
    flow = mf.Flow("softmax", diffusivity=lambda t: 0.1 + t)
    problem = mf.Problem(mf.Circle(), mf.exponential(2.0), flow, LAW)
    options = Options(name="particles", tokens=10, step=0.1)
    refused("particles cannot follow a diffusivity that is a functi", represent, problem, options)
    flow = mf.Flow("softmax", diffusivity=lambda t: t)
    message = "function of time must be positive at time 0"
    refused(message, mf.Problem, mf.Circle(), mf.exponential(2.0), flow)


def test_verify_compares_no_energy_of_other_parameters():
    """A right run would fail: its energy falls as the kernel changes."""
    report = str(mf.verify(mf.simulate(SHARPENING, 0.1, save=3)))
    assert "failed" not in report and "parameters are functions of time" in report


def test_atoms_do_not_stay_together():
    """Points that have met may part when the sign of beta changes."""
    problem = replace(SHARPENING, initial=mf.from_points([0.0, 0.5]))
    message = "atoms cannot carry terms of your own or functions of"
    refused(message, mf.simulate, problem, 1.0, representation="atoms")
    assert carriers(problem, Options()) == ("particles",)


def test_constants_take_the_place_of_functions():
    """A replaced part would come back at the next step."""
    problem = replace(SHARPENING, drift=mf.LinearDrift(turn))
    assert [name for name, _, _ in problem.time_functions] == ["kernel", "drift"]
    assert [name for name, _, _ in problem.undriven.time_functions] == ["kernel"]
    assert replace(problem, initial=mf.uniform()).time_functions == problem.time_functions
    fixed = replace(problem, kernel=mf.exponential(7.0), drift=None)
    assert not fixed.is_time_dependent and fixed.now(3.0).beta == 7.0
    assert "exponential(beta=beta)" in repr(problem) and "LinearDrift(matrix=turn)" in repr(problem)
    flow = mf.Flow("softmax", strength=beta)
    assert repr(flow) == "Flow('softmax', strength=beta, diffusivity=0.0)"


FILE = """\
import math
def beta(t):
    return 2.0 + t
def turn(t):
    return [[0.0, -math.cos(t)], [math.cos(t), 0.0]]
def diffusivity(t):
    return 0.1 + 0.1 * t
"""
RUN = """\
[problem]
manifold = "circle"
beta = "clock.py:beta"
normalization = "softmax"
[drift]
matrix = "clock.py:turn"
[initial]
name = "perturbed_uniform"
modes = [[1, 0.3, 0.1], [2, 0.2, 0.5]]
[time]
end = 0.1
save = 3
"""


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    (tmp_path / "clock.py").write_text(FILE)
    return Folder(tmp_path, RUN)


@pytest.mark.slow
@pytest.mark.parametrize(
    "overrides",
    [
        (),
        ("representation={name='particles', tokens=20}",),
        ("representation.name=characteristics",),
        ("problem.diffusivity=clock.py:diffusivity",),
        ("heads=[{value='clock.py:turn'}]",),
    ],
)
def test_run_files_name_functions_and_resume_to_the_bit(folder, overrides):
    """A resumed run would start its clock again."""
    _, again = whole_and_resumed(folder.config.parent, RUN, overrides)
    assert "drift" in again.attributes["functions"]
    assert "values above are those of time 0" in str(again)
    with pytest.raises(ValueError, match=r"has .*functions .*that its file does not store"):
        _ = again.problem


def test_run_files_of_functions_are_those_of_python(folder):
    """Names would be read, and their values not."""
    run = folder.record()
    problem = mf.Problem(
        mf.Circle(), mf.exponential(lambda t: 2.0 + t), mf.SA, LAW,
        drift=mf.LinearDrift(lambda t: [[0.0, -np.cos(t)], [np.cos(t), 0.0]]),
    )  # fmt: skip
    own = mf.simulate(problem, 0.1, save=3)
    assert np.abs(run.moments - own.moments).max() < 1e-12


def test_a_check_executes_no_function(folder, monkeypatch, capsys):
    """A run file from somebody else would run its Python when it is checked."""
    monkeypatch.chdir(folder.config.parent)
    Path("clock.py").write_text(f"{FILE}raise RuntimeError\n")
    assert main(["check", "run.toml"]) == 0
    assert "clock.py:beta" in capsys.readouterr().out
    heads = ['heads=[{value = "clock.py:turn"}]', "drift=", "problem.strength=", "problem.beta=2"]
    assert load_config("run.toml", heads, code="later").unexecuted == ("clock.py:turn",)
    assert main(["check", "run.toml", "--no-code"]) == 2
    assert "--no-code refuses" in capsys.readouterr().err


def test_files_of_python_runs_do_not_claim_constants(tmp_path):
    """The run file in it has the numbers of time 0."""
    mf.simulate(SHARPENING, 0.5, save=3).save(tmp_path / "run.h5")
    with pytest.raises(ValueError, match=r"has functions \(kernel\) that its file does not store"):
        _ = load(tmp_path / "run.h5").problem


def test_python_runs_of_functions_resume_to_the_bit(tmp_path):
    """The run file in a result would be refused where it is compared, or the clock begin again."""
    assert_resumes(tmp_path / "run.h5", SHARPENING, 0.1)


@pytest.mark.slow
def test_a_function_of_a_kernel_keeps_the_symmetry_of_the_start():
    """Rounding would grow: 0.35 at t = 3000, where the same number stays at 1e-16."""
    points = 2.0 * np.pi * np.arange(3) / 3.0 + 0.3
    problem = mf.Problem(mf.Circle(), mf.exponential(lambda t: 4.0), mf.SA, mf.from_points(points))
    run = mf.simulate(problem, until=3e3, save=2, representation="particles")
    assert "three-fold" in run.attributes["symmetry"]
    # Three unit vectors: rounding of their mean.
    assert abs(run.measures[-1].moments(1)[1]) < 1e-14


@pytest.mark.parametrize(
    ("strength", "until", "save", "tolerance", "allowed"),
    [
        # Errors of the few large coefficients would vanish in the mean over all: 20 tolerances. One
        # tolerance in a step, of which some add up.
        (lambda t: 1.0 + 3.0 * np.sin(20.0 * t), 2.0, 2, 1e-8, 4e-8),
        # States inside a step would jump by 1e33 or end the run, and later ones miss the pulse,
        # which moves moments by 0.1.
        pytest.param(
            lambda t: 0.01 + 10.0 * np.exp(-(((t - 2.3) / 0.02) ** 2)), 4.0, 41, 1e-8, 1e-7,
            marks=pytest.mark.slow,
        ),
        # Steps would count as vanished beside the rate of time 0.
        (lambda t: 1e-30 + t, 2.0, 2, 1e-10, 1e-9),
    ],
    ids=["fast", "pulse", "from nothing"],
)  # fmt: skip
def test_densities_follow_a_strength_of_time(strength, until, save, tolerance, allowed):
    """Moments c_k' = -ik (f v)_k on 128 nodes: a step would miss how the strength changes."""
    k, n = np.arange(33), 128
    bessel = ive(k, 3.0)
    start = np.zeros(33, dtype=complex)
    start[:4] = PULSED.build(mf.Circle()).coefficients

    def rate(t: float, c: ComplexArray) -> ComplexArray:
        f, slope, z = np.fft.irfft(np.array([c, 1j * k * bessel / 3.0 * c, bessel * c]), n) * n
        return -1j * k * np.fft.rfft(f * strength(t) * slope / z)[:33] / n

    steps = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-13, "max_step": 0.02}
    exact = solve_ivp(rate, (0.0, until), start, **steps).y[:, -1]
    problem = mf.Problem(mf.Circle(), mf.exponential(3.0), mf.Flow("softmax", strength), PULSED)
    run = mf.simulate(problem, until, save=save, tolerance=tolerance)
    assert np.abs(run.moments[-1, :9] - exact[:9]).max() < allowed
    assert save != 41 or run.diagnostics["rejected"][-1] > 0


@pytest.mark.parametrize(
    "options",
    [
        {"representation": "density"},
        {"representation": "characteristics"},
        {"representation": "particles", "tokens": 20},
        {"representation": "density", "diffusivity": 0.1},
        {"representation": "particles", "tokens": 20, "diffusivity": 0.1, "step": 0.07},
    ],
)
def test_functions_are_not_evaluated_beyond_the_end(options):
    """Functions that end with the run would end it early, and tables would be extrapolated."""
    ends = {"strength": 1.0}

    def strength(t: float) -> float:
        assert t <= ends["strength"]
        return 1.0 + t

    flow = mf.Flow("softmax", strength, options.pop("diffusivity", 0.0))
    problem = mf.Problem(mf.Circle(), mf.exponential(3.0), flow, PULSED)
    short = mf.simulate(problem, 1.0, save=3, **options)
    ends["strength"] = 1.5
    long = mf.simulate(problem, 1.5, save=4, **options)
    # The end cuts a step and changes no state.
    assert np.array_equal(short.moments, long.moments[:3])


@pytest.mark.parametrize("value", ["4", None, (1.0,)])
def test_functions_that_give_no_number_are_named(value):
    """An error of Python would name neither the parameter nor the time."""
    kernel = mf.exponential(lambda t: value)
    message = r"beta\(t\) must give a number, got .* at t = 0"
    refused(message, mf.Problem, mf.Circle(), kernel, error=TypeError)
