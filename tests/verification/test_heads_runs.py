"""Runs of attention with heads against closed forms, printed trajectories and linear rates."""

from collections.abc import Callable

import numpy as np
import pytest
from head_oracle import B1, B2, B3, V1, V2, V3, turn, vectors
from oracles import gauss_nodes, harmonics
from scipy.linalg import expm

import meanfield as mf

CIRCLE, SPHERE = mf.Circle(), mf.Sphere()
ONE = np.eye(2)
ASYMMETRIC = mf.perturbed_uniform(
    [[1, 0.1, 0.0], [2, 0.0, 0.05], [3, -0.08 * np.cos(0.5), 0.08 * np.sin(0.5)]]
)
CARRIERS = ["density", "characteristics", "particles", "atoms"]


def attending(space, heads, beta, normalization, law, **options):
    """Problem of heads (B, V)."""
    listed = [mf.Head(score=score, value=value) for score, value in heads]
    return mf.Problem(space, mf.Attention(listed, normalization, beta=beta, **options), initial=law)


def run(problem, times, carrier, nodes, tolerance):
    """Run in papers' time; carriers of points start from the density at nodes of a quadrature."""
    if carrier in ("particles", "atoms"):
        points, masses = 2 * np.pi * np.arange(nodes) / nodes, np.full(nodes, 1 / nodes)
        if problem.manifold.dimension == 2:
            points, masses = gauss_nodes(nodes)
        masses = masses * problem.initial_measure().at(points)
        law = mf.from_points(points, masses / masses.sum())
        problem = mf.Problem(problem.manifold, problem.kernel, problem.flow, law)
    if problem.manifold.dimension == 2 and carrier == "characteristics":
        tolerance = 1e-4
    return mf.simulate(
        problem, times[-1], save=[0.0, *times], unit="paper", representation=carrier,
        tolerance=tolerance, observables=[],
    )  # fmt: skip


def means(measure: mf.Density | mf.Measure, functions: Callable) -> np.ndarray:
    if isinstance(measure, mf.Density):
        grid = measure.manifold.grid(measure.max_degree + 4)
        points, masses = grid.points, grid.weights * measure.at(grid.points)
    else:
        points, masses = measure.points, measure.weights
    return np.asarray(masses @ functions(vectors(points)))


TRAJECTORIES = {
    "general head, USA": (
        [(B1, V1)],
        (2.0, "none", 0.5),
        "0.046071826746+0.097550768381j 0.195993675839+0.391332679140j "
        "-0.030571421276+0.049133864689j",
    ),
    "general head, SA": (
        [(B1, V1)],
        (2.0, "softmax", 2.0),
        "0.014050794140+0.080735366665j -0.062166689783+0.324675320104j "
        "-0.003301831998+0.004055517059j",
    ),
    "two heads, SA": (
        [(B1, V1), (B2, V2)],
        (2.0, "softmax", 2.0),
        "0.093693551710+0.069687534501j -0.293199728697+0.641842193027j "
        "-0.077046512270+0.102229365894j",
    ),
    "rotated, USA": (
        [(turn(0.4), ONE)],
        (5.0, "none", 0.1),
        "0.000946441658+0.104633175993j 0.127576291094+0.047754626568j "
        "0.144721227010-0.138415434029j",
    ),
    "rotated, SA": (
        [(turn(0.4), ONE)],
        (5.0, "softmax", 3.0),
        "0.046063600779+0.058481121229j 0.061481468993-0.020464776885j "
        "0.043379117499-0.088967559193j",
    ),
    "repulsive, SA": (
        [(ONE, -ONE)],
        (5.0, "softmax", 3.0),
        "0.029283910585-0.000076940224j -0.000200941513-0.005411504377j "
        "-0.004510901211-0.002336709198j",
    ),
}


# Velocities of points are one code for all matrices.
@pytest.mark.parametrize(
    "name, carrier",
    [(name, "density") for name in TRAJECTORIES]
    + [(name, c) for name in ("rotated, USA", "two heads, SA") for c in CARRIERS[1:]],
)
def test_printed_trajectories(name, carrier, verified):
    """Moments of another code, 12 decimals: a wrong head moves them in the first digits."""
    heads, (beta, normalization, time), wanted = TRAJECTORIES[name]
    problem = attending(CIRCLE, heads, beta, normalization, ASYMMETRIC)
    last = run(problem, [time], carrier, 160, 1e-10).moments[-1]
    error = last[1:4] - np.array([complex(each) for each in wanted.split()])
    # Errors of steps grow with the perturbation; the density's are 1e-12.
    what = f"printed trajectories of heads, {carrier}"
    verified("independent methods", what, error, 2e-12 if carrier == "density" else 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("carrier", ["density", "characteristics", "particles"])
def test_printed_trajectory_on_the_sphere(carrier, verified):
    """Means of a general head after t = 1, ten decimals known to 3e-9."""

    def start(x: np.ndarray) -> np.ndarray:
        return 1 + 0.3 * x[:, 2] + 0.2 * x[:, 0] * x[:, 1] - 0.25 * (x[:, 1] ** 2 - 1 / 3)

    def products_of(x: np.ndarray) -> np.ndarray:
        products = [(0, 0), (1, 1), (0, 1), (0, 2), (1, 2)]
        return np.column_stack([x, *(x[:, i] * x[:, j] for i, j in products)])

    problem = attending(SPHERE, [(B3, V3)], 3.0, "softmax", mf.from_function(start))
    last = run(problem, [1.0], carrier, 24, 1e-9).measures[-1]
    error = means(last, products_of) - [
        0.0077482577, 0.0493768074, 0.0822534795, 0.47933117,
        0.34902821, -0.05076780, 0.07919995, -0.01403784,
    ]  # fmt: skip
    what = f"printed trajectory of a head on the sphere, {carrier}"
    verified("independent methods", what, error, 2e-8 if carrier != "characteristics" else 1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("carrier", CARRIERS)
def test_doubly_stochastic_trajectory(carrier, verified):
    """c_3, c_6 and -OT / 2 of another code; one head of numbers, the energy half of what is told.

    The mean angle is conserved: what every token gives is 1.
    """
    law = mf.perturbed_uniform([[3, 0.1, 0.0]])
    problem = attending(CIRCLE, [(ONE, ONE)], 5.0, "sinkhorn", law)
    result = run(problem, [1.0, 2.0], carrier, 96, 1e-9)
    wanted = [(0.082001607011, 0.003159039244), (0.134171475377, 0.012326071593)]
    verified(
        "independent methods",
        f"printed doubly stochastic trajectory, {carrier}",
        result.moments[1:, [3, 6]] - np.array(wanted),
        2e-9,
    )
    if "energy" in result.observables:
        energy = result.observables["energy"][1:] / 2 - [0.330838337101, 0.331460007053]
        verified("independent methods", "energy of doubly stochastic attention", energy, 1e-10)


@pytest.mark.parametrize(
    "value, normalization, carrier",
    [(value, "softmax", "density") for value in ("general", "rotation")]
    + [("general", each, "density") for each in ("none", "sinkhorn")]
    + [("general", "sinkhorn", each) for each in CARRIERS[1:]],
)
def test_no_inverse_temperature_keeps_poisson_densities(value, normalization, carrier, verified):
    """At beta = 0 all normalisations are one, and c_k = conj(zeta)^k goes on to hold."""
    matrix, zeta = {
        "general": (V1, 0.555112282247 - 0.062686749618j),
        "rotation": (1.3 * turn(0.6), 0.1074434139387 + 0.6682914180848j),
    }[value]
    law = mf.from_function(lambda theta: 0.91 / (1.09 - 0.6 * np.cos(theta - 0.5)))
    problem = attending(CIRCLE, [(B1, matrix)], 0.0, normalization, law)
    last = run(problem, [2.0], carrier, 200, 1e-10).moments[-1]
    error = last[1:7] - np.conj(zeta) ** np.arange(1, 7)
    verified("exact solutions", f"Poisson densities at beta = 0, {carrier}", error, 1e-10)


@pytest.mark.parametrize(
    "carrier", [pytest.param("density", marks=pytest.mark.slow), "characteristics", "particles"]
)
def test_no_inverse_temperature_on_the_sphere(carrier, verified):
    """The hyperbolic Poisson family at beta = 0 moves by an equation of three numbers."""
    w = np.array([0.2, -0.1, 0.25])

    def start(x: np.ndarray) -> np.ndarray:
        return np.asarray(((1 - w @ w) / (1 - 2 * x @ w + w @ w)) ** 2)

    problem = attending(SPHERE, [(B3, V3)], 0.0, "softmax", mf.from_function(start))
    last = run(problem, [2.0], carrier, 30, 1e-9).measures[-1]
    error = means(last, lambda x: x) - [0.31329056714908, -0.39208803702504, 0.69600904267549]
    tolerance = {"density": 1e-12, "characteristics": 1e-5, "particles": 1e-9}[carrier]
    verified("exact solutions", f"Poisson density of the sphere, {carrier}", error, tolerance)


@pytest.mark.parametrize("carrier", ["particles", "atoms"])
def test_single_token_and_tight_cluster(carrier, verified):
    """Alone with itself a token moves as e^{tV} x, whatever Q and K; a cluster shrinks by |.|."""
    centre, times = np.array([1.0, 2.0, 2.0]) / 3, [0.5, 1.0, 2.0]
    flown = np.array([expm(t * V3) @ centre for t in times])
    lengths = np.linalg.norm(flown, axis=1)
    one = attending(SPHERE, [(B3, V3)], 4.0, "softmax", mf.from_points(centre[None]))
    result = [m.points[0] for m in run_of(one, times, carrier).measures[1:]]
    verified("exact solutions", "a token alone", result - flown / lengths[:, None], 2e-11)
    tokens = centre + 1e-6 * np.random.default_rng(1).normal(size=(6, 3))
    tokens /= np.linalg.norm(tokens, axis=1, keepdims=True)
    few = attending(SPHERE, [(B3, V3)], 4.0, "softmax", mf.from_points(tokens))
    measures = run_of(few, times, carrier).measures
    spread = np.array([np.linalg.norm(m.points - m.points.mean(axis=0)) for m in measures])
    # Relative to the spread, 1e-6.
    verified("exact solutions", "a tight cluster", spread[1:] / spread[0] * lengths - 1, 2e-6)


def run_of(problem: mf.Problem, times: list[float], carrier: str) -> mf.Run:
    return mf.simulate(
        problem, times[-1], save=[0.0, *times], representation=carrier, tolerance=1e-12
    )


@pytest.mark.slow
def test_dirac_of_a_density_moves_as_a_token(verified):
    """A narrow density on characteristics: its centre is off by its variance, 1e-8."""
    angle, time = 0.4, 1.0
    law = mf.von_mises_fisher(1e8, mean=angle)
    problem = attending(CIRCLE, [(B1, V1)], 4.0, "softmax", law)
    run = mf.simulate(problem, time, save=2, representation="characteristics", tolerance=1e-9)
    flown = expm(time * V1) @ [np.cos(angle), np.sin(angle)]
    error = -np.angle(run.moments[-1][1]) - np.arctan2(flown[1], flown[0])
    verified("exact solutions", "centre of a narrow density", error, 1e-7)


def rate(problem: Callable[[float], mf.Problem], degree: int, order: int, wanted: complex) -> float:
    """Relative error of the complex rate of a degree, over half an e-fold, quadratics taken out."""
    time, coefficients = 0.5 / abs(wanted), []
    for sign in (1.0, -1.0):
        signed = problem(sign)
        run = mf.simulate(
            signed, time, save=[0.0, time], unit="paper", representation="density",
            tolerance=1e-12, observables=[],
        )  # fmt: skip
        if signed.manifold.dimension == 1:
            coefficients.append(run.moments[:, degree])
        else:
            x, weights = gauss_nodes(degree + 6)
            # Y_lm conjugate; of order m, rows are sorted by m first.
            row = [(l, m) for m in range(degree + 1) for l in range(m, degree + 1)]
            mode = np.conj(harmonics(x, degree)[:, row.index((degree, order))]) * weights
            coefficients.append(np.array([mode @ m.at(x) for m in run.measures]))
    first, last = 0.5 * (coefficients[0] - coefficients[1])
    return float(abs(np.log(last / first) / time - wanted) / abs(wanted))


SKEW = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
EYE, MIRROR, GROWTH = np.eye(3), np.diag([1.0, -1.0]), 18.596070304472
# Score, value, degree, rates without normalisation and under softmax, on the circle at beta = 5.
ON_CIRCLE = [
    (turn(0.4), ONE, 1,
     (7.52179621255459 + 15.75562518275449j, 0.15509759333082 + 0.29213012023007j)),
    (turn(1.0), ONE, 2,
     (23.37636471305994 + 21.93566875467870j, -0.02042058898658 + 1.20737031440512j)),
    (turn(0.4), 0.7 * turn(0.9), 3,
     (-6.47062033536885 - 39.27330103754096j, 0.08040564613327 - 1.31814627891850j)),
]  # fmt: skip
# Degree, order, rate, score and value, on the sphere at beta = 4.
ON_SPHERE = [
    ("none", 4, 3, 2.70348478475403 - 12.54840126222103j, EYE, EYE + 0.7 * SKEW),
    ("softmax", 2, 2, 0.65549495579811 - 1.33672449937089j, EYE, EYE + 0.7 * SKEW),
    ("none", 2, 1, 3.92463764788680 - 2.14403931877524j, turn(0.5, 3), turn(0.5, 3)),
]
# What, its tolerance, space, beta, normalisation, head, modes, order, rate.
RATES = [
    # 1e-8 of rounding in a mode of 1e-8.
    ("complex rates of heads, circle", 1e-7, CIRCLE, 5.0, normalization, (score, value),
     [[degree, 2e-8, 1e-8]], 0, pair[normalization == "softmax"])
    for score, value, degree, pair in ON_CIRCLE for normalization in ("none", "softmax")
] + [
    # A mirrored convolution would pass for the right one elsewhere.
    ("rates of a reflection", 1e-9, CIRCLE, 5.0, "none", (MIRROR, MIRROR), [mode], 0, wanted)
    for mode, wanted in (([3, 1e-8, 0.0], GROWTH), ([3, 0.0, 1e-8], -GROWTH))
] + [
    # Where uniform rests its rounding was taken for a full spectrum.
    ("complex rates of heads, sphere", 2e-9, SPHERE, 4.0, normalization, head,
     [[l, m, 1e-6], [l, -m, 5e-7]], m, wanted)
    for normalization, l, m, wanted, *head in ON_SPHERE
] + [
    # lambda_SA / (1 + alpha_l), also of an order that is not 0.
    ("doubly stochastic rates, sphere", 1e-8, SPHERE, 3.0, "sinkhorn", (EYE, EYE),
     [[3, -2, 1e-6]], 2, 0.4424331488)
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "what, allowed, space, beta, normalization, head, modes, order, wanted", RATES
)
def test_small_modes_grow_at_their_rates(
    what, allowed, space, beta, normalization, head, modes, order, wanted, verified
):
    """Growth and drift: the sign of the phase, the uniform's own drift, the order of the mode."""

    def problem(sign: float) -> mf.Problem:
        d = space.dimension
        law = mf.perturbed_uniform([[*row[:d], *(sign * x for x in row[d:])] for row in modes])
        return attending(space, [tuple(head)], beta, normalization, law)

    verified("exact solutions", what, rate(problem, modes[0][0], order, wanted), allowed)


@pytest.mark.parametrize("normalization", ["none", "softmax"])
def test_next_to_a_uniform_at_rest_no_degree_is_added(normalization):
    """Rounding of P_x V m beside a velocity of 1e-8: up to degree 512, and the run refused."""
    stretch = np.diag([1.4, 1.0, 0.6])
    law = mf.perturbed_uniform([[2, 1, 1e-8]])
    problem = attending(SPHERE, [(stretch, np.linalg.inv(stretch))], 2.0, normalization, law)
    run = mf.simulate(problem, 0.2, save=2, representation="density")
    assert run.diagnostics["degree"].tolist() == [64.0, 64.0]


def test_oscillating_pair_from_a_run(verified):
    """B and V diagonal, rates complex: growth and beat of degrees that are coupled."""
    # Rates are those of the linear recurrence that moments at equal times satisfy, started from
    # the pair's own mode.
    score = np.diag([1.5, 0.75])
    heads = [(score, np.linalg.inv(score))]
    at_rest = attending(CIRCLE, heads, 4.0, "softmax", mf.uniform())
    operator = mf.linear_operator(at_rest, 32)
    wanted = operator.eigenvalues[0]
    assert abs(wanted - (0.37390436240031 + 0.20794979620637j)) < 1e-9
    mode = operator.modes[0, 0]
    result = []
    for sign in (1.0, -1.0):
        f = np.concatenate([[1.0], sign * 1e-7 * mode[1:]])
        problem = attending(CIRCLE, heads, 4.0, "softmax", mf.from_density(f))
        run = mf.simulate(problem, 2.0, save=5, representation="density", tolerance=1e-12)
        result.append(run.moments[:, 1:7])
    c = 0.5 * (result[0] - result[1])
    c = np.concatenate([c.real, c.imag], axis=1)
    # c_{n+2} = 2 Re(q) c_{n+1} - |q|^2 c_n, q = e^{lambda / 2}.
    left = np.column_stack([c[1:-1].ravel(), c[:-2].ravel()])
    (trace, minus), *_ = np.linalg.lstsq(left, c[2:].ravel(), rcond=None)
    q = 0.5 * trace + 1j * np.sqrt(-minus - 0.25 * trace**2)
    error = abs(2 * np.log(q) - (wanted.real + 1j * abs(wanted.imag))) / abs(wanted)
    verified("exact solutions", "oscillating pair of a head", error, 1e-6)


def test_rigid_rotation_of_uniform_is_at_rest(verified):
    """B = 1, V = 1 + s J: uniform turns as a whole, and its density is constant."""
    value = np.array([[1.0, -0.7], [0.7, 1.0]])
    problem = attending(CIRCLE, [(ONE, value)], 4.0, "softmax", mf.uniform())
    result = run(problem, [5.0], "density", 0, 1e-10)
    verified("invariants", "density of uniform that turns", result.moments[-1][1:], 1e-13)


@pytest.mark.parametrize("space", [CIRCLE, SPHERE], ids=["circle", "sphere"])
def test_doubly_stochastic_heads_conserve_the_mean_rotation(space, verified):
    """The kernel pi is symmetric for V = 1: int x wedge v dmu = 0, which softmax does not have."""
    rng = np.random.default_rng(4)
    points, masses = rng.uniform(0, 2 * np.pi, 30), rng.dirichlet(np.ones(30))
    if space is SPHERE:
        points = rng.normal(size=(30, 3))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
    result = {}
    for normalization in ("sinkhorn", "softmax"):
        law = mf.from_points(points, masses)
        d = space.dimension + 1
        problem = attending(space, [(np.eye(d), np.eye(d))] * 2, 3.0, normalization, law)
        run = mf.simulate(problem, 1e-3, save=2, representation="particles", tolerance=1e-13)
        before, after = (m.points for m in run.measures)
        if space is CIRCLE:
            turned = masses @ ((after - before + np.pi) % (2 * np.pi) - np.pi)
        else:
            # Angles are 1e-3: the mean of x wedge dx is zero up to their cubes.
            turned = masses @ np.cross(before, after)
        result[normalization] = np.abs(turned).max()
    assert result["softmax"] > 1e-6
    tolerance = 1e-12 if space is CIRCLE else 1e-8
    verified("invariants", f"mean rotation, {space.name}", result["sinkhorn"], tolerance)


def test_two_clusters_of_doubly_stochastic_attention(verified):
    """The angle between them obeys one equation: its speed at beta = 5, p = 0.3, phi = 2."""
    law = mf.from_points([0.0, 2.0], [0.3, 0.7])
    problem = attending(CIRCLE, [(ONE, ONE)], 5.0, "sinkhorn", law)
    run = mf.simulate(problem, 1e-2, save=2, representation="atoms", tolerance=1e-13)
    angle = [m.points[1] - m.points[0] for m in run.measures]
    b = np.exp(5.0 * (np.cos(np.mean(angle)) - 1))
    wanted = -2 * np.sin(np.mean(angle)) / (1 + np.sqrt(1 + 0.84 * (b**-2 - 1)))
    assert abs(wanted + 0.0016675317) < 1e-7
    error = (angle[1] - angle[0]) / 1e-2 - wanted
    verified("exact solutions", "two doubly stochastic clusters", error, 1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(
    "beta, printed", [(5.0, (0.4182599226, 0.1394751728)), (20.0, (0.4503196582, 0.1862100432))]
)
def test_sharp_reflection_from_uniform(beta, printed, verified):
    """V = 1, B = diag(1, -1) near c_2k = tanh^k t: two clusters from uniform."""
    mirror = np.diag([1.0, -1.0])
    problem = attending(CIRCLE, [(mirror, ONE)], beta, "softmax", mf.uniform())
    for carrier in ("density", "characteristics"):
        last = run(problem, [0.5], carrier, 0, 1e-10).moments[-1]
        error = last[[2, 4]] - np.array(printed)
        verified("independent methods", "sharp reflection from uniform", error, 1e-9)
    assert abs(last[2] - np.tanh(0.5)) < 0.26 / beta
