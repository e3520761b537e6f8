"""Sinks: Z + c in the place of Z, c in units of the largest weight of all heads."""

from dataclasses import replace

import numpy as np
import pytest
import tomli_w
from head_oracle import B3, TOKENS_3, V3, tokens
from parameters import refused
from run_folder import refused_in_one_line, whole_and_resumed
from scipy.special import iv, spherical_in

import meanfield as mf
from meanfield.carriers import Options
from meanfield.fields.blocks import attention_matrices
from meanfield.fields.heads import heads_interaction
from meanfield.fields.interactions import interaction_of, transport
from meanfield.fields.ordered import FEW, ordered_velocity
from meanfield.observables.attention import _arguments, _options
from meanfield.runfile import load_config
from meanfield.runfile.written import written
from meanfield.studies.token_runs import pair_velocity

TWO = [mf.Head(score=B3, value=V3), mf.Head(score=0.5, value=-0.5)]
TURNED = mf.Head(value=[[0.8, -0.3], [0.5, 1.0]], score=[[1.0, 0.2], [-0.4, 0.7]])


def by_hand(heads: list, x: np.ndarray, sink: float, back: float | None = None) -> np.ndarray:
    """Velocity by loops; back is the rate of ALiBi for one step, None without a mask."""
    scale = max(np.linalg.norm(score, 2) for score, _ in heads)
    velocity = np.zeros_like(x)
    for i, at in enumerate(x):
        for score, value in heads:
            above, below, rows = np.zeros(x.shape[1]), 0.0, 0.0
            for j, y in enumerate(x):
                if back is not None and j > i:
                    continue
                weight = 1.0 if back is None else np.exp(-back * (i - j))
                kernel = weight * np.exp(at @ score @ y - scale)
                above, below, rows = above + kernel * y, below + kernel, rows + weight
            velocity[i] += value @ above / (below + sink * rows)
        velocity[i] -= (velocity[i] @ at) * at
    return velocity


def points(x: np.ndarray) -> np.ndarray:
    return np.arctan2(x[:, 1], x[:, 0]) if x.shape[1] == 2 else x


def final(attention: mf.Attention, x: np.ndarray, until: float = 1.0) -> np.ndarray:
    space = mf.Circle() if x.shape[1] == 2 else mf.Sphere(x.shape[1])
    problem = mf.Problem(space, attention, initial=mf.from_points(points(x)))
    run = mf.simulate(problem, until=until, save=2, tolerance=1e-12)
    return space.vectors(run.measures[-1].points)


@pytest.mark.parametrize(
    "attention, x, first, last",
    [
        (
            mf.Attention(beta=2.0, sink=0.5),
            tokens(8, 2),
            [0.465808978167, -0.884885300962],
            [0.716302718384, 0.697789664323],
        ),
        (
            mf.Attention(TWO, beta=3.0, sink=0.25),
            tokens(8, 3),
            [0.453525990653, -0.878424493529, 0.150614026473],
            [0.643890975040, 0.583029575805, 0.495460317280],
        ),
        (
            mf.Attention(TWO[:1], beta=3.0, sink=1.0, mask="alibi", alibi_rate=4.0),
            tokens(9, 3),
            [0.471462294544, -0.868313669427, 0.154125521280],
            [0.746884642977, 0.212974515601, -0.629924746132],
        ),
    ],
    ids=["circle", "two heads", "alibi"],
)
def test_tokens_reach_reference_states(attention, x, first, last):
    """A sink in units of each head, or of counts under a mask, would move tokens elsewhere."""
    # Reference: two codes that agree to 3e-14, DOP853 and an extrapolation of order 14.
    reached = final(attention, x)
    np.testing.assert_allclose(reached[[0, -1]], [first, last], rtol=0, atol=2e-10)


@pytest.mark.parametrize("d", [2, 3, 5])
@pytest.mark.parametrize("rate", [None, 3.0])
def test_velocities_of_tokens_are_loops(d, rate):
    """A pair engine, or a space of tokens alone, would drop the sink."""
    heads = [
        mf.Head(score=np.diag(np.linspace(1.0, 0.4, d)), value=np.linspace(1, -1, d)),
        mf.Head(),
    ]
    mask = {} if rate is None else {"mask": "alibi", "alibi_rate": rate}
    of = mf.Attention(heads, beta=2.5, sink=0.3, **mask)
    x = tokens(7, d)
    expected = by_hand(of.matrices(d), x, 0.3, None if rate is None else rate / len(x))
    output = heads_interaction(mf.Problem(mf.Sphere(d), of)).output(x, None)
    output -= (output * x).sum(axis=1)[:, None] * x
    np.testing.assert_allclose(output, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("space, heads", [(mf.Circle(), [TURNED]), (mf.Sphere(), TWO)])
def test_series_and_pairs_agree(space, heads):
    """Moments would see another Z than pairs: in velocities, divergences or far rows."""
    field = heads_interaction(mf.Problem(space, mf.Attention(heads, beta=3.0, sink=0.2)))
    x = space.random_points(40, np.random.default_rng(2))
    masses = np.linspace(1.0, 2.0, 40) / np.linspace(1.0, 2.0, 40).sum()
    series = field.of_points(x, masses).velocity_and_divergence(x)
    pairs = field.pair_velocity_and_divergence(x, masses)
    np.testing.assert_allclose(series[0], pairs[0], rtol=0, atol=1e-13)
    np.testing.assert_allclose(series[1], pairs[1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("sink", [1e-13, 1e-3, 10.0])
def test_cells_of_the_circle_keep_the_sink(sink):
    """Many tokens whose Z is e^-50 took all pairs with a sink, as cells would have lost it."""
    field = heads_interaction(
        mf.Problem(mf.Circle(), mf.Attention([TURNED, mf.Head(score=-1.0)], beta=25.0, sink=sink))
    )
    angles = 0.2 * np.random.default_rng(3).normal(size=2000)
    masses = np.linspace(1.0, 2.0, 2000) / np.linspace(1.0, 2.0, 2000).sum()
    pairs = field.pair_velocity(angles, masses)
    error = field.far_velocity(angles, masses) - pairs
    assert np.abs(error).max() < 1e-13 * np.abs(pairs).max()


def test_lost_tokens_of_the_sphere_take_no_other_pairs():
    """A sink summed all pairs of 8,000 tokens, 5 s, for 130 whose Z is lost in rounding."""
    field = heads_interaction(mf.Problem(mf.Sphere(), mf.Attention(beta=-20.0, sink=1e-12)))
    assert field.far_velocity(tokens(10, 3), None) is None


@pytest.mark.parametrize("space, heads", [(mf.Circle(), [TURNED]), (mf.Sphere(), TWO)])
def test_partition_of_a_table_has_its_sink(space, heads):
    """The circle added the sink to a table's partition function, the sphere to its fields alone."""
    problem = mf.Problem(space, mf.Attention(heads, beta=3.0, sink=0.5))
    table = heads_interaction(problem).tables[0]
    moments = space.moments(space.random_points(9, np.random.default_rng(1)), None, table.degree)
    np.testing.assert_allclose(
        table.partition(moments), table.fields(moments)[1], rtol=0, atol=1e-15
    )


@pytest.mark.parametrize("space", [mf.Circle(), mf.Sphere()], ids=lambda space: space.name)
def test_running_moments_keep_the_sink(space):
    """More than 3,000 ordered tokens would lose the sink, or weigh it by their number."""
    of = mf.Attention([mf.Head()], beta=4.0, mask="alibi", alibi_rate=30.0, sink=0.4)
    field = heads_interaction(mf.Problem(space, of))
    x = space.random_points(FEW + 100, np.random.default_rng(5))
    pairs = space.project(x, field.output(space.vectors(x), None))
    running = ordered_velocity(field, x, None, far=False)
    np.testing.assert_allclose(running, pairs, rtol=0, atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("representation", ["density", "characteristics"])
@pytest.mark.parametrize("space, heads", [(mf.Circle(), [mf.Head()]), (mf.Sphere(), TWO)])
def test_carriers_of_densities_are_weighted_tokens(space, heads, representation):
    """Carriers would solve another equation than tokens: nodes of a grid, moved by loops' sums."""
    law = mf.von_mises_fisher(1.0)
    problem = mf.Problem(space, mf.Attention(heads, beta=2.0, sink=0.5), initial=law)
    run = mf.simulate(problem, 0.5, save=2, representation=representation, tolerance=1e-10)
    # Exact to degree 36: rounding, for the law and its motion.
    grid = space.grid(12)
    x = space.vectors(grid.points)
    law_coefficients = space.resize(problem.initial_measure().coefficients, 12)
    masses = grid.weights * grid.to_nodal(law_coefficients)
    step = 0.05  # Runge-Kutta of order four: errors of 1e-8
    for _ in range(10):
        slopes = [velocity_by_sums(problem, x, masses)]
        for share in (0.5, 0.5, 1.0):
            slopes.append(velocity_by_sums(problem, x + share * step * slopes[-1], masses))
        first, second, third, fourth = slopes
        x = x + step / 6 * (first + 2 * second + 2 * third + fourth)
        x /= np.linalg.norm(x, axis=1)[:, None]
    expected = space.moments(points(x), masses, 4)
    np.testing.assert_allclose(run.measures[-1].moments(4), expected, rtol=0, atol=1e-7)


def velocity_by_sums(problem: mf.Problem, x: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """Velocity of weighted tokens in their own field: Z + c in NumPy's words."""
    velocity = np.zeros_like(x)
    for score, value in problem.attention.matrices(x.shape[1]):
        kernel = masses * np.exp(x @ score @ x.T - problem.beta)
        below = kernel.sum(axis=1) + problem.sink
        velocity += (kernel @ x / below[:, None]) @ value.T
    return velocity - (velocity * x).sum(axis=1)[:, None] * x


def test_noise_damps_the_rates_of_a_sink():
    """Diffusion would run on another clock than Z + c: modes grow at lambda_l(c) - D l^2."""
    attention = mf.Attention(beta=5.0, sink=0.5, diffusivity=0.01)
    law = mf.perturbed_uniform([[l, 1e-6, 0.0] for l in (1, 2, 3)])
    problem = mf.Problem(mf.Circle(), attention, initial=law)
    run = mf.simulate(problem, until=2.0, save=2, representation="density", tolerance=1e-10)
    l, bessel = np.arange(1, 4), np.exp(-5.0) * iv(np.arange(4), 5.0)
    rates = l**2 * (bessel[1:] / 5.0 / (bessel[0] + 0.5) - 0.01)
    growth = np.log(np.abs(run.moments[1, 1:4] / run.moments[0, 1:4])) / 2.0
    # Second order in the amplitude, and the tolerance over it.
    np.testing.assert_allclose(growth, rates, rtol=0, atol=2e-5)


def test_energy_climbs_at_the_rate_of_z_and_sink():
    """The energy would not be that of the flow: dE/dt = 2 beta int (Z + c) |v|^2 dmu."""
    x, beta, sink, h = tokens(8, 3), 3.0, 0.5, 1e-4
    problem = mf.Problem(mf.Sphere(), mf.Attention(beta=beta, sink=sink), initial=mf.from_points(x))
    run = mf.simulate(problem, until=2 * h, save=3, tolerance=1e-12)
    energies = run.observables["energy"]
    kernel = np.exp(beta * (x @ x.T) - beta)
    assert energies[0] == pytest.approx(kernel.mean(), abs=1e-13)
    middle = run.measures[1].points
    speed = (by_hand(problem.attention.matrices(3), middle, sink) ** 2).sum(axis=1)
    below = np.exp(beta * (middle @ middle.T) - beta).mean(axis=1) + sink
    rate = 2 * beta * (below * speed).mean()
    # Central differences err by h^2, and by the rounding of E over h.
    assert (energies[2] - energies[0]) / (2 * h) == pytest.approx(rate, abs=1e-7)


def test_replicas_of_studies_keep_the_sink():
    """Compare and ensemble would run other tokens than simulate."""
    x = tokens(7, 3)
    problem = mf.Problem(mf.Sphere(), mf.Attention(TWO, beta=2.5, sink=0.3))
    expected = by_hand(problem.attention.matrices(3), x, 0.3)
    np.testing.assert_allclose(pair_velocity(problem)(x[None])[0], expected, rtol=0, atol=1e-14)


def test_density_reaches_the_reference_state():
    """A density would divide by another Z than tokens."""

    # Reference: 64 Lagrangian nodes and Fourier coefficients, which agree to 4e-13.
    def law(t):
        return 1 + 0.3 * np.cos(t - 0.75) + 0.1 * np.sin(2 * t) + 0.1 * np.cos(3 * t + 0.5)

    problem = mf.Problem(
        mf.Circle(), mf.Attention(beta=5.0, sink=0.5), initial=mf.from_function(law)
    )
    run = mf.simulate(problem, until=1.0, save=2, representation="density", tolerance=1e-12)
    expected = [
        0.115205756899 - 0.107348346626j,
        0.000146319658 - 0.059125442442j,
        0.050949955793 + 0.026970665616j,
    ]
    np.testing.assert_allclose(run.moments[-1, 1:4], expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("space, heads", [(mf.Circle(), [TURNED]), (mf.Sphere(), TWO)])
def test_transport_is_that_of_the_field(space, heads):
    """The compiled right-hand side of a density would leave the sink out."""
    law = mf.von_mises_fisher(1.0)
    problem = mf.Problem(space, mf.Attention(heads, beta=2.0, sink=0.3), initial=law)
    field, grid = interaction_of(problem), space.grid(40)
    density = space.resize(problem.initial_measure().coefficients, 40)
    flux = field.of_density(density).on_nodes(grid)[0] * grid.to_nodal(density)
    np.testing.assert_allclose(
        transport(field, 40)(density, False)[:9], -grid.divergence(flux)[:9], rtol=0, atol=1e-12
    )


@pytest.mark.slow
def test_labelled_densities_keep_the_sink():
    """Positions would see Z of their own measure without c: labels all equal show its rate."""
    law = mf.perturbed_uniform([[2, 0.2, 0.0], [1, 0.1, 0.3]])
    plain = mf.Problem(mf.Circle(), mf.Attention(beta=3.0, sink=0.5), initial=law)
    masked = replace(plain, kernel=mf.Attention(beta=3.0, sink=0.5, mask="causal"))
    one, labelled = (mf.simulate(p, until=1.0, save=2, tolerance=1e-10) for p in (plain, masked))
    assert set(labelled.representation) == {"labelled"}
    np.testing.assert_allclose(
        labelled.moments[-1, :5], one.moments[-1, :5], rtol=0, atol=1e-9
    )  # ten times the tolerance


def test_no_sink_is_today_to_the_bit():
    """A sink of 0 would take another path than attention without a sink."""
    assert mf.Problem(mf.Circle(), mf.Attention(beta=2.0, sink=0.0)) == mf.Problem(
        mf.Circle(), mf.exponential(2.0), mf.SA
    )
    of = mf.Attention(TWO, beta=2.0)
    np.testing.assert_array_equal(
        final(of, tokens(8, 3)), final(replace(of, sink=0.0), tokens(8, 3))
    )


def test_a_large_sink_is_usa():
    """A sink of each head's own unit would not tend to USA: c v -> v of USA, error Z / c."""
    sink, x = 1e6, TOKENS_3
    of = [mf.Attention(TWO, "none", beta=3.0), mf.Attention(TWO, beta=3.0, sink=sink)]
    usa, large = (heads_interaction(mf.Problem(mf.Sphere(), each)).output(x, None) for each in of)
    half = heads_interaction(mf.Problem(mf.Sphere(), replace(of[1], sink=sink / 2)))
    # v c = A / (1 + Z / c): the limit without the term 1 / c; what is left is 2 / c^2.
    limit = 2.0 * sink * large - sink / 2 * half.output(x, None)
    np.testing.assert_allclose(limit, usa, rtol=0, atol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("sink", [0.5, 2.0])
@pytest.mark.parametrize("space, beta", [(mf.Circle(), 5.0), (mf.Sphere(), 4.0)])
def test_growth_rates_are_usa_over_partition_and_sink(space, beta, sink):
    """lambda_l(c) = lambda_l(USA) / (z_0 + c): z_0 without its scale would be far off."""
    problem, l = mf.Problem(space, mf.Attention(beta=beta, sink=sink)), np.arange(4)
    bessel = iv(l, beta) if space.dimension == 1 else spherical_in(l, beta)
    bessel = np.exp(-beta) * bessel
    expected = (l * (l + space.dimension - 1) / beta * bessel / (bessel[0] + sink))[1:]
    np.testing.assert_allclose(mf.growth_rates(problem, 3)[1:], expected, rtol=1e-12)
    eigenvalues = mf.linear_operator(problem).eigenvalues.real
    for rate in expected:
        assert np.abs(eigenvalues - rate).min() < 1e-9


def test_rates_of_several_heads_have_one_unit():
    """Each head would count the sink in units of its own largest weight."""
    heads = [mf.Head(), mf.Head(score=0.3, value=-0.4)]
    problem = mf.Problem(mf.Circle(), mf.Attention(heads, beta=4.0, sink=0.6))
    rate = mf.growth_rates(problem, 3)[3]
    assert np.abs(mf.linear_operator(problem).eigenvalues - rate).min() < 1e-10


def test_rows_of_matrices_sum_to_what_the_sink_leaves():
    """Attention matrices would look normalised although the sink takes a share."""
    x = tokens(6, 3)
    problem = mf.Problem(mf.Sphere(), mf.Attention(beta=2.0, sink=0.5), initial=mf.from_points(x))
    below = np.exp(2.0 * (x @ x.T) - 2.0).mean(axis=1)
    measure = problem.initial_measure()
    pair = _arguments(problem, measure), _options(problem, measure)
    rows = attention_matrices(*pair[0], **pair[1])[0].sum(axis=1)
    np.testing.assert_allclose(rows, below / (below + 0.5), rtol=1e-13)


RUN = """
problem = { manifold = "circle", beta = 4.0, sink = 0.5 }
initial = { modes = [[1, 0.1, 0.0], [2, 0.2, 0.4]] }
time = { end = 2.0, save = 5 }
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "overrides",
    [
        [],
        ["problem.mask=causal", "representation.labels=8"],
        [
            "problem.diffusivity=0.05",
            "time.step=0.05",
            "representation.name=particles",
            "representation.tokens=30",
        ],
    ],
    ids=["density", "labels", "noisy tokens"],
)
def test_runs_that_stop_half_way_resume_to_the_bit(tmp_path, overrides):
    """A resumed run would go on without its sink."""
    for run in whole_and_resumed(tmp_path, RUN, overrides):
        assert run.problem.sink == 0.5


@pytest.mark.parametrize(
    "attention",
    [mf.Attention(beta=2.0, sink=0.25), mf.Attention([mf.Head()], beta=2.0, mask="causal", sink=3)],
)
def test_run_files_are_the_problems_of_python(tmp_path, attention):
    """A run file that Python writes would build another sink."""
    problem = mf.Problem(mf.Circle(), attention, initial=mf.perturbed_uniform([[1, 0.1, 0.0]]))
    path = tmp_path / "run.toml"
    path.write_text(tomli_w.dumps(written(problem, Options(), {"end": 1.0, "save": 2})))
    assert load_config(path).problem == problem


@pytest.mark.parametrize(
    "override, message",
    [
        ("sink=-1", "sink must be from 0 to 1e6, got -1."),
        ("sink=nan", "sink = nan must be a finite number"),
        ("sink=often", 'sink = "often" must be a number'),
        ("normalization=none", 'a sink adds to Z under normalization = "softmax", got "none"'),
        ("kernel=linear", 'sink needs kernel = "exponential", got "linear"'),
        ("manifold=space:3", "a sink counts in units of the largest weight"),
    ],
)
def test_run_files_refuse_sinks_in_one_line(tmp_path, override, message):
    """A user would not know which key to change."""
    refused_in_one_line(message, tmp_path, RUN, [f"problem.{override}"])


@pytest.mark.parametrize("make, message", [
    (lambda: mf.Attention(beta=1.0, sink=-1.0), "from 0 to 1e6"),
    (lambda: mf.Attention([mf.Head()], "none", beta=1.0, sink=1.0), "softmax"),
    (lambda: mf.Attention([mf.Head()], "sinkhorn", beta=1.0, sink=1.0), "softmax"),
    (lambda: mf.Attention([mf.Head(weight=mf.exponential(2.0))], sink=1.0), "weight"),
    (lambda: mf.Problem(mf.Euclidean(3), mf.Attention(beta=1.0, sink=1.0)), "sphere"),
    (lambda: mf.Problem(mf.Axial(4), mf.Attention(beta=1.0, sink=1.0)), "sink"),
    (lambda: mf.Problem(mf.Circle(), mf.Attention(beta=1.0, sink=1.0), layers=mf.Layers(step=0.1)),
     "layers"),
    (lambda: mf.Problem(mf.Circle(), mf.Attention(beta=1.0, sink=1.0)).heads, "sink"),
    (lambda: mf.Problem(mf.Circle(), mf.Attention(beta=1.0, sink=1.0)).zonal, "a sink"),
    (lambda: mf.predict_clusters(mf.Problem(mf.Circle(), mf.Attention(beta=1.0, sink=1.0)), 50),
     "a sink"),
])  # fmt: skip
def test_sinks_are_refused_where_they_are_not_supported(make, message):
    """A sink would be ignored in silence."""
    refused(message, make)
