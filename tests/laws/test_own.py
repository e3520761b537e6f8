"""Densities given by functions and by values: exact where they can be, refused where not."""

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pyshtools
import pytest
from parameters import refused, together

import meanfield as mf
from meanfield.laws import own as own_laws
from meanfield.recording import execute
from meanfield.runfile import ConfigError, load_config

CIRCLE, SPHERE = mf.Circle(), mf.Sphere()
MEAN = np.array([1.0, 2.0, 2.0]) / 3.0


def distance(first: mf.Density, second: mf.Density) -> float:
    degree = max(first.max_degree, second.max_degree)
    return float(np.abs(first.moments(degree) - second.moments(degree)).max())


def bump(theta: np.ndarray) -> np.ndarray:
    return 7.0 * np.exp(2.0 * np.cos(theta - 1.0))


def ripple(theta: np.ndarray) -> np.ndarray:
    return 1.0 + 0.1 * np.cos(3.0 * theta)


@pytest.mark.parametrize(
    "space, kappa, cosine, mean",
    [(CIRCLE, kappa, lambda t: np.cos(t - 1.0), 1.0) for kappa in (0.0, 0.5, 50.0)]
    + [(SPHERE, kappa, lambda x: x @ MEAN, MEAN) for kappa in (0.0, 2.0, 20.0)],
)
def test_function_is_exact(space, kappa, cosine, mean):
    """Axis, normalisation or layout would be another density's, or degrees too many."""
    law = mf.from_function(lambda x: 3.0 * np.exp(kappa * (cosine(x) - 1.0)))
    result, exact = (each.build(space) for each in (law, mf.von_mises_fisher(kappa, mean=mean)))
    assert distance(result, exact) < 1e-14
    assert result.max_degree <= exact.max_degree


def test_narrow_peak_is_resolved_to_the_rounding_of_its_argument():
    """A peak between the nodes of the first grid would be lost; its plateau would never end."""
    kappa = 1e5
    result = mf.from_function(lambda t: np.exp(kappa * (np.cos(t - 1.2345) - 1.0))).build(CIRCLE)
    exact = mf.von_mises_fisher(kappa, mean=1.2345).build(CIRCLE)
    # cos has lost kappa times the rounding of 1.
    assert distance(result, exact) < 0.1 * kappa * np.finfo(float).eps
    assert result.max_degree < 2 * exact.max_degree


@pytest.mark.parametrize("power", [3, 5])
def test_degrees_are_as_many_as_the_spectrum_needs(power):
    """|sin|^p decays as k^-(p+1): the degree where it stops is where that meets rounding."""
    built = mf.from_function(lambda t: np.abs(np.sin(t)) ** power).build(CIRCLE)
    sizes = CIRCLE.sizes_by_degree(built.coefficients)[::2]
    k = 2.0 * np.arange(len(sizes))
    part = slice(len(k) // 16, len(k) // 4)
    slope = np.polyfit(np.log(k[part]), np.log(sizes[part]), 1)[0]
    assert slope == pytest.approx(-(power + 1), abs=0.02)
    assert sizes[-1] < 20 * np.finfo(float).eps
    # The largest degree kept is the last above rounding.
    assert built.max_degree == pytest.approx(2 * len(sizes), abs=2)


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda t: 1.0 * (np.cos(t) > 0.2), ValueError, "not smooth enough: at degree 131072 its"),
        (lambda t: 1.0 + np.abs(np.sin(t)), ValueError, "Smooth its jumps and kinks, as by tanh"),
        (np.cos, ValueError, r"the function is -1 at 3\.1416: a density is not negative"),
        (lambda t: 1.0 / (t > 1), ValueError, r"the function is inf at 0\.0: a density is finite"),
        (lambda t: 0.0 * t, ValueError, "the function is 0 everywhere: a density has a mass"),
        (lambda t: 1.0, ValueError, r"gave shape \(\), expected \(800,\): it gets all angles at"),
        (lambda t: 1j * t, TypeError, "gave complex128, expected real numbers"),
        (lambda t: 1.0 if t > 0 else 0.0, ValueError, r"failed \(The truth value .*use numpy, not"),
        (lambda t: float(t), TypeError, r"the function of the density failed \(only .*use numpy"),
    ],
)
def test_what_is_no_smooth_density_is_refused(function, error, message):
    """A run would start from something else than was asked for, or from a traceback of ours."""
    with np.errstate(all="ignore"):
        refused(message, mf.from_function(function).build, CIRCLE, error=error)


@pytest.mark.parametrize(
    "name, value, function, space, message",
    [
        # No value at a node is negative, but the density is; a kink would take all memory.
        ("_NEGATIVE", 1.0, lambda t: 1.0 + 1.2 * np.cos(t), CIRCLE,
         "density is negative: -0.2.*function must not be negati"),
        ("available_memory", lambda: 2**22, lambda x: np.abs(x[:, 2]), SPHERE,
         "not smooth enough: at degree 64"),
    ],
    ids=["negative", "memory"],
)  # fmt: skip
def test_what_no_grid_shows_is_refused(monkeypatch, name, value, function, space, message):
    """A run would start from no density, or end in the kernel's out-of-memory killer."""
    monkeypatch.setattr(own_laws, name, value)
    refused(message, mf.from_function(function).build, space)


def test_other_errors_of_the_function_are_its_own():
    """A user would look for the mistake in ours."""
    refused("zero", mf.from_function(lambda t: 1 / 0).build, CIRCLE, error=ZeroDivisionError)
    refused("function must be a function, got 3.0", mf.from_function, 3.0, error=TypeError)


@pytest.mark.parametrize("count", [1, 6, 7, 64])
def test_values_on_the_circle_are_met_and_no_degree_is_wasted(count):
    """The series would not go through the values, at even or odd numbers of them."""
    values = 2.0 + np.random.default_rng(count).random(count)
    built = mf.from_values(values).build(CIRCLE)
    angles = 2.0 * np.pi * np.arange(count) / count
    assert built.at(angles) == pytest.approx(values / values.mean(), rel=1e-14)
    assert built.max_degree == count // 2


def test_degrees_above_those_of_the_first_grid_are_detected():
    """They fold onto others at its nodes, or fall between its degrees: the law would be uniform."""
    for k in (257, 768, 1000):
        result = mf.from_function(lambda theta, k=k: 1.0 + 0.5 * np.cos(k * theta)).build(CIRCLE)
        assert result.max_degree == k and abs(result.coefficients[k] - 0.25) < 1e-13
    wave = mf.from_function(lambda x: 1.0 + 0.5 * ((x[:, 0] + 1j * x[:, 1]) ** 70).real)
    assert wave.build(mf.Sphere()).max_degree == 70


def test_size_of_a_function_does_not_matter():
    """Its mean would overflow, or vanish."""
    for size in (1e308, 1e-310):
        law = mf.from_function(lambda theta, size=size: size * (1.0 + 0.5 * np.cos(theta)))
        assert abs(law.build(CIRCLE).coefficients[1] - 0.25) < 1e-13


@pytest.mark.parametrize("kind", ["array", "DH2", "DH2 extended", "GLQ", "GLQ extended"])
def test_values_on_the_sphere_are_those_of_the_grid(kind):
    """Poles, longitudes or weights of another grid would move the density."""
    exact = mf.von_mises_fisher(2.0, mean=MEAN).build(SPHERE)
    if kind == "array":
        theta, phi = np.pi / 64 * np.mgrid[:64, :128]
        x = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], -1)
        values = 5.0 * np.exp(2.0 * x @ MEAN)
    else:
        series = SPHERE.to_shcoeffs(SPHERE.resize(exact.coefficients, 31))
        values = series.expand(grid=kind.split()[0], extend="extended" in kind)
        assert isinstance(values, pyshtools.SHGrid)
    result = mf.from_values(values).build(SPHERE)
    assert result.max_degree == 31
    assert distance(result, exact) < 1e-14


@together(
    ("values", "error", "message"),
    [
        (["a"], TypeError, "from_values: values must be an array of real numbers, got"),
        ([], ValueError, r"values have shape \(0,\), expected at least one"),
        ([1.0, np.nan], ValueError, r"the density is nan at index 1: a density is finite"),
        ([[1.0, -1.0]], ValueError, "the density is -1 at index 0, 1: a density is not negative"),
        ([0.0, 0.0], ValueError, "the density is 0 everywhere"),
    ],
)
def test_values_of_no_density_are_refused(values, error, message):
    """They would come back as another density."""
    refused(message, mf.from_values, values, error=error)


@together(
    ("manifold", "values", "message"),
    [
        (CIRCLE, np.ones((4, 8)), r"values have shape \(4, 8\), expected \(n,\) on the circle"),
        (SPHERE, np.ones(8), r"values have shape \(8,\), expected \(n, 2 n\) with n even"),
        (SPHERE, np.ones((5, 9)), r"shape \(5, 9\).*without the south pole"),
        (SPHERE, np.ones((5, 10)), r"shape \(5, 10\), expected \(n, 2 n\) with n even"),
        (CIRCLE, np.eye(8)[0], "density is negative: .*Smooth the values, or give more of them"),
    ],
)
def test_values_of_other_grids_are_refused(manifold, values, message):
    """They would be taken for the values at other points."""
    refused(message, mf.from_values(values).build, manifold)


@pytest.mark.parametrize("law", [mf.from_function(bump), mf.from_values(bump(np.arange(6.0)))])
def test_own_laws_are_plain_data(law):
    """Workers would have no law, and equal problems be different ones."""
    again = pickle.loads(pickle.dumps(law))
    assert again == law and hash(again) == hash(law)
    assert law != mf.from_function(ripple) and law != mf.from_values(np.ones(6))
    assert eval(repr(mf.from_function(bump)), {"from_function": mf.from_function, "bump": bump})


def test_runs_and_ensembles_start_from_a_function():
    """A law that workers, runs or token draws do not take would be a toy."""
    kernel = mf.exponential(5.0)
    own = mf.Problem(CIRCLE, kernel, mf.USA, mf.from_function(ripple))
    same = mf.Problem(CIRCLE, kernel, mf.USA, mf.perturbed_uniform([[3, 0.1, 0.0]]))
    run, reference = (mf.simulate(each, until=3.0, save=2) for each in (own, same))
    assert np.abs(run.moments - reference.moments).max() < 1e-13
    assert run.problem is own
    tokens = mf.simulate(own, until=1.0, save=2, tokens=50, representation="particles")
    assert tokens.measures[0].points.shape == (50,)


@pytest.mark.slow
def test_workers_of_an_ensemble_start_from_a_function():
    """A process of its own imports the function by name."""
    problem = mf.Problem(CIRCLE, mf.exponential(5.0), mf.USA, mf.from_function(ripple))
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        there = mf.ensemble(problem, tokens=50, runs=2, times=[1.0], executor=executor)
    here = mf.ensemble(problem, tokens=50, runs=2, times=[1.0])
    assert np.array_equal(there.counts, here.counts)


PROBLEM = """\
problem = { normalization = "none", manifold = "circle", kernel = "linear" }
time = { end = 1.0, save = 2 }
"""
LAW = "import numpy as np\ndef f(t):\n    return 2 + np.cos(t)\n"


def configured(folder: Path, initial: str, law: str | None = None) -> Path:
    """A run file, beside the Python of its law."""
    if law:
        (folder / "law.py").write_text(law)
    (folder / "run.toml").write_text(f"{PROBLEM}[initial]\n{initial}\n")
    return folder / "run.toml"


FUNCTION = 'name = "function"\nfunction = "law.py:f"'


def test_run_file_names_a_function(tmp_path, capsys):
    """A run file could do less than Python, or execute in silence."""
    config = load_config(configured(tmp_path, FUNCTION, LAW))
    assert f"executing the Python of {tmp_path / 'law.py'}" in capsys.readouterr().err
    assert config.problem.initial_measure().coefficients == pytest.approx([1.0, 0.25], abs=1e-15)
    assert tmp_path / "law.py" in config.inputs
    assert pickle.loads(pickle.dumps(config.problem)) == config.problem
    list(execute(config))
    # The file is read without the Python.
    (tmp_path / "law.py").unlink()
    loaded = mf.load(tmp_path / "run.h5").problem
    assert loaded.initial_measure().moments(1) == pytest.approx([1.0, 0.25], abs=1e-15)


def test_run_file_names_values(tmp_path):
    """A run file could do less than Python."""
    np.save(tmp_path / "values.npy", np.array([4, 2, 0, 2]))
    config = load_config(configured(tmp_path, 'name = "values"\nfile = "values.npy"'))
    assert config.problem.initial_measure().coefficients == pytest.approx([1, 0.5, 0], abs=1e-15)
    assert tmp_path / "values.npy" in config.inputs


@pytest.mark.parametrize(
    ("law", "message"),
    [
        ('function = "law.py:none"', 'function = "law.py:none" failed: AttributeError'),
        ('function = "law.py:low"', r"the function is -1 at 0\.0: a density is not negative"),
        ('function = "law.py:bad"', 'function = "law.py:bad" failed: ZeroDivisionError: division'),
        ('function = "../law.py:low"', "is Python outside the folder of the run file"),
        ("function = 3", "function = 3 must be a string"),
        ("", "function is missing"),
        (np.array([1.0, -1.0]), "the density is -1 at index"),
        (np.array([[1.0]]), r"values have shape \(1, 1\), expected \(n,\) on the circle"),
        (np.zeros(0), r"holds no values, expected at least one"),
    ],
)
def test_run_file_refuses_bad_laws_in_one_line(tmp_path, law, message):
    """The user would not know which section is meant, or see a traceback."""
    folder, name = tmp_path / "here", "function"
    folder.mkdir()
    code = "def low(t):\n    return t - 1\ndef bad(t):\n    return 1 / 0\n"
    (tmp_path / "law.py").write_text(code)
    if isinstance(law, np.ndarray):
        np.save(folder / "values.npy", law)
        name, law = "values", 'file = "values.npy"'
    source = configured(folder, f'name = "{name}"\n{law}', code)
    with pytest.raises(ConfigError, match=message) as caught:
        load_config(source)
    assert str(caught.value).startswith(f"{source}: [initial] ")


def test_permission_holds_for_laws(tmp_path, cli):
    """Checking somebody's run file would execute its law."""
    path = configured(tmp_path, FUNCTION, "raise RuntimeError('executed')\n")
    assert "law.py:f" in cli("check", path)
    for options, message in (
        (["--no-code"], 'function = "law.py:f" is Python, which --no-code refuses to execute'),
        ([], 'function = "law.py:f" failed: RuntimeError: executed'),
    ):
        cli("run", path, *options, status=2)
        assert message in cli.err


@pytest.mark.slow
def test_command_runs_from_a_function(tmp_path, cli):
    """The whole way, with a resume that executes the Python again."""
    path = configured(tmp_path, FUNCTION, LAW)
    cli("run", path, "--quiet", "--set", "time.end=0.5")
    cli("run", path, "--quiet", "--resume")
    assert len(mf.load(tmp_path / "run.h5").time) == 3
