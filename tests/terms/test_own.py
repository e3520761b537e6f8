"""Terms of the user's own, against terms of the package, in every carrier."""

import pickle
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import core
import numpy as np
import pytest
from parameters import refused, together
from run_folder import Folder, assert_resumes, whole_and_resumed

import meanfield as mf
from meanfield.arrays import FloatArray
from meanfield.carriers import Options, represent
from meanfield.carriers.step_limits import contraction_rate
from meanfield.fields.interactions import fixed_field
from meanfield.observables.energies import energy_unit
from meanfield.runfile import ConfigError, load_config
from meanfield.runfile.python_file import FileTerm
from meanfield.terms.own import OwnTerm

BETA = 2.0
LAW = mf.perturbed_uniform([[1, 0.3, 0.1], [2, 0.2, 0.5]])
FLAT = mf.von_mises_fisher(0.1)
RNG = np.random.default_rng(0)


@dataclass(frozen=True)
class Softmax:
    divergence: bool = True

    def field(self, seen: mf.Seen, x: FloatArray, time: float) -> mf.VectorField:
        d = x.shape[1]
        attention = core.attention([(BETA * np.eye(d), np.eye(d))])
        field = attention(core.Points(seen.points, seen.masses), x, None)
        return mf.VectorField(*field) if self.divergence else field.u


class Linear:
    """Linear attention sum_j m_j <x, y_j>^2 y_j = T(x, x, .)."""

    def field(self, seen: mf.Seen, x: FloatArray, time: float) -> mf.VectorField:
        t = seen.moment(3)
        u = np.einsum("abc,na,nb->nc", t, x, x)
        return mf.VectorField(u, 2.0 * np.einsum("abb,na->n", t, x), 2.0 * (x * u).sum(axis=1))


class Turning:
    def field(self, seen: mf.Seen, x: FloatArray, time: float) -> FloatArray:
        return np.cos(time) * np.stack([-x[:, 1], x[:, 0]], axis=-1)


class Returns:
    def __init__(self, value: Any) -> None:
        self.value = value

    def field(self, seen: mf.Seen, x: FloatArray, time: float) -> Any:
        return self.value


def end(problem: mf.Problem, **options: Any) -> FloatArray:
    """Moments of a run at its end."""
    return mf.simulate(problem, 1.0, save=[1.0], **options).moments[-1]


def apart(one: FloatArray, other: FloatArray) -> float:
    """Largest difference of the moments that both have."""
    count = min(len(one), len(other))
    return float(np.abs(one[:count] - other[:count]).max())


class Turn:
    def field(self, seen: mf.Seen, x: FloatArray, time: float) -> mf.VectorField:
        return mf.VectorField(TURN.vectors(x), np.zeros(len(x)), np.zeros(len(x)))


KERNEL, NARROW = mf.exponential(BETA), mf.exponential(-20.0)
TURN = mf.LinearDrift([[0.0, -0.5], [0.5, 0.0]])
PACKAGE = mf.Problem(mf.Circle(), KERNEL, mf.SA, LAW)
OWN = mf.Problem(mf.Circle(), [Softmax()], initial=LAW)
STILL = mf.Attention([mf.Head(value=0.0)], "none", beta=0.0, diffusivity=0.05)
NOISE = (
    mf.Problem(mf.Circle(), KERNEL, mf.Flow("softmax", 1.0, 0.05), LAW),
    mf.Problem(mf.Circle(), [STILL, Softmax()], initial=LAW),
)
# Twice softmax is once that of the package and once the user's, and a drift stays.
SUMS = (
    mf.Problem(mf.Circle(), KERNEL, mf.Flow("softmax", 2.0), LAW, drift=TURN),
    mf.Problem(mf.Circle(), [KERNEL, Softmax(), TURN], mf.SA, LAW),
)
# Repelling nodes sum pairs where Z is small: a term would be missing there.
PAIRS = (
    mf.Problem(mf.Circle(), NARROW, mf.SA, mf.von_mises_fisher(2.0), drift=TURN),
    mf.Problem(mf.Circle(), [NARROW, Turn()], mf.SA, mf.von_mises_fisher(2.0)),
)


# Sums over nodes against series: rounding, of characteristics the tolerance of their cells. The end
# lies inside a step, and is read from an interpolant only where nothing depends on time.
@pytest.mark.parametrize(
    ("package", "own", "carrier", "options", "allowed"),
    [
        (PACKAGE, OWN, "auto", {}, 3e-11),
        (PACKAGE, OWN, "density", {}, 3e-11),
        (PACKAGE, OWN, "characteristics", {}, 3e-11),
        (PACKAGE, OWN, "particles", {"tokens": 40}, 1e-11),
        # The exponential scheme leaves 1e-11.
        pytest.param(*NOISE, "density", {}, 1e-10, marks=pytest.mark.slow),
        pytest.param(
            *NOISE, "particles", {"tokens": 30, "step": 0.05}, 1e-10, marks=pytest.mark.slow
        ),
        pytest.param(*SUMS, "density", {}, 1e-12, marks=pytest.mark.slow),
        (*PAIRS, "characteristics", {}, 1e-11),
    ],
)
def test_terms_of_the_user_are_those_of_the_package(package, own, carrier, options, allowed):
    """A carrier would leave a term out, or ask it for another measure, place or divergence."""
    options = {"representation": carrier} | options
    assert apart(end(package, **options), end(own, **options)) < allowed


def test_softmax_of_the_user_moves_densities_on_the_sphere():
    """Vectors of the sphere's nodes and their weights would be others."""
    package = mf.Problem(mf.Sphere(), KERNEL, mf.SA, FLAT)
    own = mf.Problem(mf.Sphere(), [Softmax()], initial=FLAT)
    options = Options(name="density", max_degree=18)
    one, other = (represent(problem, options) for problem in (package, own))
    assert np.abs(one.rhs(0.0, one.state) - other.rhs(0.0, one.state)).max() < 1e-12


@pytest.mark.parametrize("space", [mf.Sphere(), mf.Sphere(6), mf.Euclidean(3)])
@pytest.mark.parametrize("masses", [None, [0.4, 0.1, 0.2, 0.1, 0.1, 0.1]])
def test_tokens_of_every_space_are_moved(space, masses):
    """Equal masses, others, unit vectors or vectors of R^d would take a wrong way."""
    law = mf.from_points(RNG.standard_normal((6, space.ambient)), masses)
    problems = [
        mf.Problem(space, KERNEL, mf.SA, law),
        mf.Problem(space, [Softmax()], initial=law),
    ]
    one, other = (mf.simulate(each, 1.0, save=[1.0]).measures[-1].points for each in problems)
    assert np.abs(one - other).max() < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize("space", [mf.Circle(), mf.Sphere()])
def test_linear_attention_is_the_kernel_of_squares(space):
    """sum_j <x, y_j>^2 y_j is USA with a(s) = s^2, in every carrier."""
    law = LAW if space == mf.Circle() else FLAT
    square = mf.zonal(lambda s: s**2, name="square")
    expected = end(mf.Problem(space, square, mf.USA, law), representation="density")
    problem = mf.Problem(space, [Linear()], initial=law)
    assert apart(end(problem, representation="density", tolerance=1e-10), expected) < 1e-11
    tolerance = 1e-10 if space == mf.Circle() else 1e-7
    nodes = end(problem, representation="characteristics", tolerance=tolerance)
    assert apart(nodes, expected) < 1e-7


class WithPotential(Linear):
    """Linear attention with U = sum_j m_j <x, y_j>^3 / 3, and what changes it."""

    def __init__(self, power: int = 1) -> None:
        self.power = power

    def potential(self, seen: mf.Seen, x: FloatArray) -> FloatArray:
        cubes = (x @ seen.points.T) ** 3 @ seen.masses / 3.0
        return np.asarray(cubes * seen.masses.sum() ** (self.power - 1))


@pytest.mark.parametrize(
    ("space", "carrier"),
    [(mf.Circle(), "density"), (mf.Circle(), "particles"), (mf.Sphere(), "particles")],
)
def test_a_potential_gives_the_energy_of_the_kernel(space, carrier):
    """The energy would be twice that of pairs, or have another unit than its rate."""
    kernel = mf.zonal(lambda s: s**2, name="squares")
    law, energies = mf.von_mises_fisher(1.0), []
    for problem in (
        mf.Problem(space, [WithPotential()], initial=law),
        mf.Problem(space, kernel, mf.USA, law),
    ):
        options = {"tokens": 50, "seed": 1} if carrier == "particles" else {}
        run = mf.simulate(problem, 1.0, save=2, representation=carrier, **options)
        energies.append(run.observables["energy"] * energy_unit(problem))
    # The constant of a kernel's potential W = s^3 / 3 moves nothing: W(-1) = 0 on both.
    change = [each[1] - each[0] for each in energies]
    assert change[0] > 1e-3
    assert change[0] == pytest.approx(change[1], rel=1e-8)


@pytest.mark.parametrize("power", [1, 2, 5])
def test_the_potential_is_the_first_variation_of_the_energy(power):
    """E would not be that of U where U is no linear function of the measure."""
    term = OwnTerm(WithPotential(power))
    x, masses, change = RNG.normal(size=(6, 3)), RNG.uniform(size=6), RNG.normal(size=6)
    h = 1e-3

    def energy(step: float) -> float:
        return term.energy(mf.Seen(x, masses + step * change))

    slope = (8 * (energy(h) - energy(-h)) - (energy(2 * h) - energy(-2 * h))) / (12 * h)
    pairs = masses @ (x @ x.T) ** 3 @ masses / 3.0
    whole, parts = masses.sum(), (masses @ (x @ x.T) ** 3 @ change / 3.0, change.sum())
    # E = pairs |mu|^(power - 1) / (power + 1); its variation, of order h^4.
    expected = 2.0 * parts[0] * whole ** (power - 1)
    expected += pairs * (power - 1) * whole ** (power - 2) * parts[1]
    assert energy(0.0) == pytest.approx(pairs * whole ** (power - 1) / (power + 1), rel=1e-13)
    assert slope == pytest.approx(expected / (power + 1), rel=1e-8)


def test_a_wrong_potential_is_refused():
    """One number would be the energy of every point."""

    class Wrong(Linear):
        def potential(self, seen: mf.Seen, x: FloatArray) -> float:
            return 1.0

    message = r"Wrong.potential must give U as an array .* \(2,\)"
    refused(message, OwnTerm(Wrong()).energy, mf.Seen(np.eye(2), np.ones(2)))


def test_a_drift_alone_has_an_energy():
    """The unit of attention that moves nothing is no number."""
    problem = mf.Problem(mf.Circle(), [mf.LinearDrift([1.0, -1.0])], initial=FLAT)
    run = mf.simulate(problem, 1.0, save=3)
    # d/dt int <x, M x> / 2 dmu = int |v|^2 dmu.
    assert np.all(np.diff(run.observables["energy"]) > 0.0)


def test_a_term_gets_the_time():
    """Carriers would ask for the field at time 0."""
    problem = mf.Problem(mf.Circle(), [Turning()], initial=mf.from_points([0.3]))
    run = mf.simulate(problem, 2.0, save=[1.0, 2.0])
    angles = np.array([measure.points[0] for measure in run.measures])
    assert np.abs(angles - 0.3 - np.sin(run.time)).max() < 1e-10
    problem = replace(problem, initial=mf.perturbed_uniform([[1, 0.3, 0.0]]))
    run = mf.simulate(problem, 2.0, save=[1.0, 2.0], representation="density")
    assert np.abs(np.angle(run.moments[:, 1]) + np.sin(run.time)).max() < 1e-8


def test_stages_change_attention_beside_a_term():
    """A stage would drop the term, or begin its clock again."""
    stages = [mf.Stage(end=0.5), mf.Stage(kernel=mf.exponential(3.0))]
    still = mf.Attention([mf.Head(value=0.0)], "none", beta=0.0)
    still_stages = [mf.Stage(end=0.5), mf.Stage(drift=mf.LinearDrift(0.0))]
    with_term = mf.Problem(mf.Circle(), [still, Turning()], initial=LAW, stages=still_stages)
    turned = LAW.build(mf.Circle()).moments(1)[1] * np.exp(-1j * np.sin(1.0))
    assert abs(end(with_term, representation="density")[1] - turned) < 1e-9
    two = mf.Problem(mf.Circle(), [mf.exponential(2.0), Softmax()], mf.SA, LAW, stages=stages)
    assert [len(stage.own_terms) for stage in two.staged] == [1, 1]


@pytest.mark.slow
@pytest.mark.parametrize("end", [0.5, 0.99, 1.0 - 1e-6])
def test_a_last_short_stage_is_not_left_out(end):
    """A step of an earlier stage could reach the end of the run, which is then saved from it."""
    slow, fast = (mf.LinearDrift([[0.0, -rate], [rate, 0.0]]) for rate in (0.1, 1e3))
    stages, law = [mf.Stage(end=end), mf.Stage(drift=fast)], mf.from_points([0.3, 2.0])
    problem = mf.Problem(mf.Circle(), [slow, Turning()], initial=law, stages=stages)
    run = mf.simulate(problem, 1.0, save=[1.0], tolerance=1e-10)
    expected = 0.3 + 0.1 * end + 1e3 * (1.0 - end) + np.sin(1.0)
    assert abs(np.exp(1j * run.measures[0].points[0]) - np.exp(1j * expected)) < 1e-7


def test_the_field_alone_is_enough_but_for_characteristics():
    """The remedy would be missing, or "auto" fail where it could stay a density."""
    alone = mf.Problem(mf.Circle(), [Softmax(divergence=False)], initial=LAW)
    assert apart(end(alone), end(OWN)) == 0.0
    message = "need a divergence, and Softmax.field gives u alone: gi"
    refused(message, mf.simulate, alone, 1.0, representation="characteristics")
    fixed = fixed_field(alone).seeing(np.zeros(2), None)
    refused("characteristics need a divergence", fixed.velocity_and_divergence, np.zeros(2))


class Labels:
    def field(self, seen: mf.Seen, x: FloatArray, time: float, label: FloatArray) -> FloatArray:
        return x * label[:, None]


@together("term, error, message", [
    # NumPy would broadcast wrong fields, or fail in the middle of a run.
    (Returns(np.zeros((2, 3))), ValueError,
     r"^Returns.field must give u as an array .* shape \(2, 2\), got an array of shape"),
    (Returns(None), ValueError,
     r"^Returns.field must give u as an array of real numbers of shape \(2, 2\), got None"),
    (Returns("x"), ValueError, r"^Returns.field must give u .*, got 'x' \(str\)"),
    (Returns(np.zeros((2, 2)) * 1j), ValueError, "^Returns.field .* u .*, got an array of complex"),
    (Returns((np.zeros((2, 2)), None)), ValueError, "^Returns.field must give u as an array .* go"),
    (Returns(mf.VectorField(np.zeros((2, 2)), 0.0)), ValueError,
     r"^Returns.field must give trace as .* shape \(2,\), got 0.0"),
    (Labels(), TypeError, "Labels.field: write label=None, for tokens without"),
    # A class without brackets would have no self.
    (Softmax, TypeError,
     r"^Problem: a term must be .* got the class Softmax; write Softmax\(\), with"),
    (3.0, TypeError,
     r"^Problem: a term must be an attention, .*field\(seen, x, time\), got 3.0"),
])  # fmt: skip
def test_wrong_terms_are_refused(term, error, message):
    """The mistake would surface in a run."""
    refused(message, mf.Problem, mf.Circle(), [term], error=error)


def test_second_attentions_and_drifts_are_refused():
    """One of the two would be left out."""
    message = "^Problem: got 2 attentions: give all heads to one"
    refused(message, mf.Problem, mf.Circle(), [mf.linear(), mf.linear()])
    drifts = [mf.LinearDrift(1.0), mf.LinearDrift(1.0)]
    message = "^Problem: a term must be .*, got LinearDrift"
    refused(message, mf.Problem, mf.Circle(), drifts, error=TypeError)


def test_layers_labels_and_atoms_are_refused():
    """Layers and densities of labels would leave a term out; it may part atoms that have met."""
    circle, layers = mf.Circle(), mf.Layers(0.1)
    message = "Softmax is a term of your own, and layers beside it"
    refused(message, mf.Problem, circle, [KERNEL, Softmax()], layers=layers)
    labelled = mf.Problem(circle, [Turning()], initial=FLAT, frequencies=mf.Gaussian(0.2))
    refused("densities of labels cannot carry Turning: use", mf.simulate, labelled, 1.0)
    atoms = mf.Problem(circle, [Linear()], initial=mf.from_points([0.0, 1.0]))
    message = "atoms cannot carry terms of your own"
    refused(message, mf.simulate, atoms, 1.0, representation="atoms")


class Labelled:
    """Rotation at the label of a token, less the mean of all labels."""

    def field(self, seen, x, time, label=None):
        if label is None or seen.labels is None:
            return np.zeros(x.shape)
        rate = label - seen.masses @ seen.labels
        return rate[:, None] * np.stack([-x[:, 1], x[:, 0]], axis=-1)


def test_a_term_gets_the_positions_of_a_mask(monkeypatch):
    """Tokens would have no label, or the label of another block."""
    monkeypatch.setattr("meanfield.terms.own._PAIRS", 12)
    law = mf.from_points([0.1, 0.7, 2.0, 4.0])
    masked = mf.Attention(beta=BETA, mask="causal")
    speeds = []
    for terms in ([masked, Labelled()], [masked]):
        carrier = represent(mf.Problem(mf.Circle(), terms, initial=law), Options())
        speeds.append(carrier.rhs(0.0, carrier.state))
    assert np.abs(speeds[0] - speeds[1] - (np.arange(1, 5) / 4 - 0.625)).max() < 1e-15


@pytest.mark.slow
def test_a_term_gets_natural_frequencies():
    """Frequencies would turn tokens and be no label of theirs."""
    law, turning = mf.from_points([0.1, 0.7]), mf.GivenFrequencies([0.3, -0.1])
    problem = mf.Problem(mf.Circle(), [Labelled()], initial=law, frequencies=turning)
    carrier = represent(problem, Options())
    rates = carrier.rhs(0.0, carrier.state)
    assert np.abs(rates - [0.3 + 0.2, -0.1 - 0.2]).max() < 1e-15
    # A term without a label runs beside frequencies, too.
    run = mf.simulate(mf.Problem(mf.Circle(), [Turning()], initial=law, frequencies=turning), 1.0)
    change = run.measures[-1].points - [0.1, 0.7]
    assert np.abs(change - np.sin(1.0) - [0.3, -0.1]).max() < 1e-9


def test_a_term_without_a_measure_is_refused():
    """A study that knows fixed fields alone would get a wrong one."""
    refused("Linear depends on the measure: mf.simulate and", OwnTerm(Linear()).vectors, np.eye(2))
    problem = mf.Problem(mf.Circle(), [Linear()], initial=LAW)
    refused("a drift or a term of your own moves tokens too", mf.growth_rates, problem, 3)
    refused("not for terms of your own", mf.fluctuations, problem, until=1.0)


def test_moments_are_sums_of_products():
    """Orders, and what is kept of them, would be mixed up."""
    y, m = RNG.standard_normal((5, 3)), RNG.random(5)
    seen = mf.Seen(y, m)
    for _ in range(2):
        assert seen.moment(0) == pytest.approx(m.sum())
        assert seen.moment(1) == pytest.approx(m @ y)
        third = np.einsum("j,ja,jb,jc->abc", m, y, y, y)
        assert np.abs(seen.moment(3) - third).max() < 1e-14


def test_many_points_are_evaluated_in_blocks(monkeypatch):
    """A table of all pairs of nodes on the sphere takes 3 GB."""
    x = RNG.standard_normal((7, 2))
    seen = mf.Seen(RNG.standard_normal((3, 2)), np.full(3, 1 / 3))
    whole = OwnTerm(Softmax()).at(seen, x)
    monkeypatch.setattr("meanfield.terms.own._PAIRS", 6)
    for one, other in zip(whole, OwnTerm(Softmax()).at(seen, x), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)  # rounding of sums
    assert OwnTerm(Softmax(divergence=False)).at(seen, x).trace is None


def test_steepness_bounds_steps():
    """A term could not give a bound of its slope."""

    class Steep(Linear):
        def steepness(self, d: int) -> float:
            return 100.0

    assert contraction_rate(mf.Problem(mf.Circle(), [Steep()])) == 100.0
    assert contraction_rate(mf.Problem(mf.Circle(), [Linear()])) == 0.0


# Central differences of order two leave 1e-8.
@pytest.mark.parametrize("space", [mf.Circle(), pytest.param(mf.Sphere(), marks=pytest.mark.slow)])
def test_the_linearised_flow_is_that_of_the_kernel(space):
    """Differences along perturbations would miss the measure of a term."""
    problem = mf.Problem(space, [KERNEL, Linear()], mf.SA)
    rates = mf.linear_operator(problem, degree=3).eigenvalues.real
    square = mf.zonal(lambda s: s**2, name="square")
    parts = mf.Problem(space, KERNEL, mf.SA), mf.Problem(space, square, mf.USA)
    expected = sum(mf.growth_rates(part, 3)[1:] for part in parts)
    assert np.abs(np.unique(rates.round(6)) - np.unique(expected.round(6))).max() < 1e-6
    assert mf.growth_rate_max(problem) == pytest.approx(expected.max(), abs=1e-7)


@pytest.mark.slow
def test_studies_run_terms_in_other_processes():
    """Terms would not reach the workers, or clusters be counted without them."""
    problem = mf.Problem(mf.Circle(), [KERNEL, Linear()], mf.SA)
    assert pickle.loads(pickle.dumps(problem)).own_terms[0].name == "Linear"
    here = mf.ensemble(problem, tokens=40, runs=3)
    with ProcessPoolExecutor(1) as pool:
        there = mf.ensemble(problem, tokens=40, runs=3, executor=pool)
    assert np.array_equal(here.counts, there.counts)
    alone = mf.Problem(mf.Circle(), [Linear()], initial=LAW)
    study = mf.convergence_study(alone, 1.0, save=2, tokens=(20, 500), runs=4)
    assert study.exponent == pytest.approx(-0.5, abs=0.25)


FILE = """\
import numpy as np
import meanfield as mf
class Linear:
    def field(self, seen, x, time):
        t = seen.moment(3)
        u = np.einsum("abc,na,nb->nc", t, x, x) * (1.0 + time)
        return mf.VectorField(u)
    def steepness(self, d):
        return 4.0
instance = Linear()
nothing = 3.0
"""
RUN = """\
[problem]
manifold = "circle"
terms = ["mine.py:Linear", "mine.py:instance"]
[initial]
name = "perturbed_uniform"
modes = [[1, 0.3, 0.1], [2, 0.2, 0.5]]
[time]
end = 1.0
save = 5
"""


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    (tmp_path / "mine.py").write_text(FILE)
    return Folder(tmp_path, RUN)


@pytest.mark.slow
@pytest.mark.parametrize(
    "overrides", [(), ("representation={name='particles', tokens=20}",), ("problem.beta=2.0",)]
)
def test_run_files_name_terms_and_resume_to_the_bit(folder, overrides):
    """A resumed run would start the clock of a term again."""
    _, again = whole_and_resumed(folder.config.parent, RUN, overrides)
    assert again.attributes["terms"] == "mine.py:Linear, mine.py:instance"
    with pytest.raises(ValueError, match=r"has terms \(mine.py:Linear, .*\) that its file"):
        _ = again.problem


@pytest.mark.slow
def test_python_runs_with_terms_resume_to_the_bit(tmp_path):
    """A file of `simulate` has the term's name alone."""
    problem = mf.Problem(mf.Circle(), [Turning()], initial=LAW)
    assert_resumes(tmp_path / "run.h5", problem, 1.0)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("mine.py:nothing", r"terms = \"mine.py:nothing\" has no method field"),
        ("mine.py:missing", r"\"mine.py:missing\" failed: AttributeError"),
        ("other.py:Linear", 'must be "file.py:function" of an existing file'),
    ],
)
def test_wrong_references_are_refused(folder, reference, message):
    """The mistake would surface where the run begins."""
    changes = [f"problem.terms=['{reference}']"]
    refused(message, load_config, folder.config, changes, error=ConfigError)


def test_a_check_executes_no_term(folder):
    """Without the term, which stands alone, a beta would be missing."""
    folder.config.with_name("mine.py").write_text(f"{FILE}raise RuntimeError\n")
    config = load_config(folder.config, code="later")
    assert config.unexecuted == ("mine.py:Linear", "mine.py:instance")
    message = "terms = .* is Python, which --no-code refuses"
    refused(message, load_config, folder.config, code="never", error=ConfigError)


def test_terms_of_files_pass_labels_and_potentials_on(tmp_path):
    """A term of a run file would get no label, or have an energy without a potential."""
    text = b"""
class Labels:
    def field(self, seen, x, time, label=None):
        return x * label[:, None]
    def potential(self, seen, x):
        return x[:, 0]
class Plain:
    def field(self, seen, x, time):
        return x
"""
    labels, plain = (FileTerm(tmp_path / "f.py", n, text, "f.py") for n in ("Labels", "Plain"))
    x, seen = np.eye(2), mf.Seen(np.eye(2), np.ones(2), np.array([2.0, 3.0]))
    assert np.array_equal(OwnTerm(labels).at(seen, x).u, np.diag([2.0, 3.0]))
    assert np.array_equal(OwnTerm(plain).at(seen, x).u, x)
    assert OwnTerm(labels).energy(seen) == pytest.approx(1.0, rel=1e-14)
    assert OwnTerm(labels).no_potential(2) is None
    assert OwnTerm(plain).no_potential(2) is not None
