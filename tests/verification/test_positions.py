"""Positions: biases, windows, global tokens and weights of pairs, of tokens and labelled densities.

Reference states: two codes each, of tokens arrays with DOP853 and loops with an extrapolation of
order 14, which agree to 3e-14; of densities Lagrangian nodes and Fourier coefficients, 4e-13.
"""

from dataclasses import replace

import numpy as np
import pytest
import tomli_w
from head_oracle import B3, V3, tokens
from parameters import refused
from run_folder import refused_in_one_line, whole_and_resumed
from scipy.interpolate import CubicSpline
from scipy.linalg import expm
from scipy.special import gammaln

import meanfield as mf
from meanfield.carriers import Options
from meanfield.fields.blocks import attention_entropies, attention_matrices
from meanfield.fields.heads import heads_interaction
from meanfield.observables import energy_note
from meanfield.runfile import load_config
from meanfield.runfile.written import written
from meanfield.terms.masks import pair_weights

TWO = [mf.Head(score=B3, value=V3), mf.Head(score=0.5, value=-0.5)]


def gaussian(width: float):
    """Bias -u^2 / (2 width^2)."""
    return lambda u: -(u**2) / (2.0 * width**2)


def alibi(rate: float):
    """Bias -rate |u|."""
    return lambda u: -rate * np.abs(u)


def general(d: int, p: int) -> mf.Head:
    """Head of sines: Q, K and V have no symmetry."""
    i, j = np.arange(1, d + 1)[:, None], np.arange(1, d + 1)
    query, key, value = (
        0.8 * np.eye(d) + 0.3 * np.cos(1.1 * i + 0.7 * (p + 1) * j + q) for q in range(3)
    )
    return mf.Head(query=query, key=key, value=value)


def final(attention: mf.Attention, x: np.ndarray, until: float = 1.0) -> np.ndarray:
    space = mf.Circle() if x.shape[1] == 2 else mf.Sphere(x.shape[1])
    points = np.arctan2(x[:, 1], x[:, 0]) if x.shape[1] == 2 else x
    problem = mf.Problem(space, attention, initial=mf.from_points(points))
    run = mf.simulate(problem, until=until, save=2, tolerance=1e-12)
    return space.vectors(run.measures[-1].points)


def by_hand(heads, x, w, masses, how, scale, sink):
    output = np.zeros_like(x)
    for i, at in enumerate(x):
        row = sum(w[i, j] * masses[j] for j in range(len(x)))
        for score, value in heads:
            above, below = np.zeros(x.shape[1]), 0.0
            for j, y in enumerate(x):
                kernel = w[i, j] / row * masses[j] * np.exp(at @ score @ y - scale)
                above, below = above + kernel * y, below + kernel
            output[i] += value @ above / (below + sink if how == "softmax" else 1.0)
    return output


TOKENS = {
    "gaussian": (
        mf.Attention(beta=3.0, mask=mf.Bias(gaussian(0.25))),
        tokens(8, 3),
        [0.436811308023, -0.870830225503, 0.225500775017],
        [0.721034267546, 0.505217027350, 0.474199683994],
    ),
    "gaussian, USA": (
        mf.Attention([mf.Head()], "none", beta=3.0, mask=mf.Bias(gaussian(0.25))),
        tokens(8, 3),
        [0.497135538784, -0.856246515190, 0.140350138240],
        [0.657235970008, 0.570155162698, 0.492913755313],
    ),
    "alibi of both sides, sink": (
        mf.Attention([general(4, 0)], beta=2.0, mask=mf.Bias(alibi(4.0)), sink=0.5),
        tokens(9, 4),
        [0.506675321005, -0.827022792028, 0.081879855251, 0.229366758392],
        [0.681384454477, 0.219326487375, -0.684811039372, 0.136546539639],
    ),
    "alibi as a bias": (
        mf.Attention(TWO[:1], beta=3.0, mask=mf.Bias(alibi(4.0), causal=True), sink=1.0),
        tokens(9, 3),
        [0.471462294544, -0.868313669427, 0.154125521280],
        [0.746884642977, 0.212974515601, -0.629924746132],
    ),
    "window": (
        mf.Attention(beta=3.0, mask=mf.Window(0.3)),
        tokens(10, 3),
        [0.428843100710, -0.868346483921, 0.249134459348],
        [0.589330304697, -0.800368795201, 0.109998107413],
    ),
    "causal window, globals": (
        mf.Attention(TWO[:1], beta=3.0, mask=mf.Window(0.3, causal=True, globals=0.1)),
        tokens(12, 3),
        [0.228331521023, -0.897673933231, 0.376890204310],
        [-0.789867584547, 0.164764158080, -0.590730032328],
    ),
    "window, globals, circle": (
        mf.Attention(beta=4.0, mask=mf.Window(0.3, globals=0.2)),
        tokens(10, 2),
        [0.372606661514, -0.927989372674],
        [0.427542504488, -0.903995247143],
    ),
    "rotary, circle": (
        mf.Attention(beta=2.0, rotary=mf.Rotary(3.0)),
        tokens(8, 2),
        [0.166449103773, -0.986050047337],
        [0.416378232170, 0.909191491257],
    ),
    "rotary, one head": (
        mf.Attention([general(4, 0)], beta=2.0, rotary=mf.Rotary(8.0, base=100.0)),
        tokens(8, 4),
        [0.509503953901, -0.807300719659, 0.217450923578, 0.203436390136],
        [0.532559837022, 0.579604762340, 0.600763769313, -0.139718405891],
    ),
    "rotary, causal": (
        mf.Attention(beta=3.0, mask="causal", rotary=mf.Rotary(12.0)),
        tokens(12, 6),
        [0.417583964110, -0.662264437051, 0.067625423700, 0.194191436808, 0.003420493471,
         -0.587140729723],
        [-0.258300944000, 0.323827570689, -0.572499689340, 0.503242427077, 0.480806649153,
         -0.127406664721],
    ),
    "rotary, two heads, gaussian, sink": (
        mf.Attention([general(6, 0), general(6, 1)], beta=2.0, mask=mf.Bias(gaussian(0.25)),
                     sink=0.5, rotary=mf.Rotary(10.0)),
        tokens(10, 6),
        [0.393521001526, -0.666706290016, 0.066746180988, 0.208075652700, 0.013335505875,
         -0.593898626511],
        [0.399115381913, -0.641685920112, 0.108860440146, 0.151954471780, 0.067337352682,
         -0.624076129860],
    ),
    "no symmetry": (
        mf.Attention(beta=3.0, mask=mf.Bias(lambda u: -2.0 * u**2 + 0.8 * np.sin(5.0 * u))),
        tokens(8, 3),
        [0.510124964338, -0.843271759677, 0.169308180815],
        [0.750366421096, 0.457066950952, 0.477535377161],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TOKENS)
def test_tokens_reach_reference_states(name):
    """Rows without normalisation, windows that compare doubles, or a transposed bias would show."""
    attention, x, first, last = TOKENS[name]
    np.testing.assert_allclose(final(attention, x)[[0, -1]], [first, last], rtol=0, atol=2e-10)


@pytest.mark.parametrize("how", ["softmax", "none"])
@pytest.mark.parametrize("space", [mf.Circle(), mf.Sphere(3), mf.Sphere(5), mf.Euclidean(3)])
def test_outputs_of_weighted_tokens_are_loops(space, how):
    """Masses, matrices, sinks or a space of tokens alone would drop the weights of positions."""
    d, n = space.ambient, 7
    heads = [
        mf.Head(score=np.diag(np.linspace(1.0, 0.4, d)), value=np.linspace(1, -1, d)),
        mf.Head(),
    ]
    w = np.random.default_rng(3).uniform(0.1, 2.0, (n, n)) * (np.arange(n) != 2)
    sink = 0.2 if how == "softmax" and space.is_sphere else 0.0
    of = mf.Attention(heads, how, beta=1.5, mask=w, sink=sink)
    x, masses = tokens(n, d), np.linspace(1.0, 2.0, n) / np.linspace(1.0, 2.0, n).sum()
    output = heads_interaction(mf.Problem(space, of)).output(x, masses)
    scale = 1.5 if space.is_sphere else 0.0
    expected = by_hand(of.matrices(d), x, w, masses, how, scale, sink)
    np.testing.assert_allclose(output, expected, rtol=0, atol=1e-13)


def test_no_bias_is_too_large():
    """Exponents of doubles would overflow: what counts are differences, also to hidden tokens."""
    x = tokens(9, 3)
    far = mf.Attention(beta=2.0, mask=mf.Bias(lambda u: 3000.0 * np.abs(u)))
    rows = rows_of(far, x)
    assert (rows[0].argmax(), rows[0, -1], rows[8, 0]) == (8, 1.0, 1.0)
    usa = mf.Attention([mf.Head()], "none", beta=2.0, mask=far.mask)
    # All the weight on token 9, of e^{2 <x, y> - 2}; a bias of 3000 rounds to 3000 eps.
    expected = np.exp(2.0 * x[0] @ x[8] - 2.0)
    np.testing.assert_allclose(rows_of(usa, x)[0], expected * np.eye(9)[8], rtol=1e-12, atol=1e-15)
    # Token 1 scores 2000 with itself, which the window of the others hides.
    x[0] *= 1000.0
    hidden = pair_weights(mf.Window(0.2), 9)
    one = [mf.Attention(beta=2.0).matrices(3)[0]]
    rows = attention_matrices(x, one, mask=hidden)[0]
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, rtol=1e-14)
    weights = np.exp(2.0 * x[4] @ x[3:6].T)
    np.testing.assert_allclose(rows[4, 3:6], weights / weights.sum(), rtol=1e-13)
    assert attention_entropies(x, one, mask=hidden).max() <= np.log(3.0)


def rows_of(attention: mf.Attention, x: np.ndarray) -> np.ndarray:
    problem = mf.Problem(mf.Sphere(x.shape[1]), attention, initial=mf.from_points(x))
    return mf.attention_matrix(problem, problem.initial_measure())[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mask", "usual", "error"),
    [
        (mf.Window(1.0), {}, 0.0),
        (mf.Window(2.0, causal=True, globals=0.5), {"mask": "causal"}, 0.0),
        (mf.Window(0.999), {}, 1e-15),
        (mf.Window(0.999, causal=True), {"mask": "causal"}, 1e-15),
        (mf.Window(0.1, globals=1.0), {}, 1e-15),
        (mf.Bias(lambda u: 0.7), {}, 1e-15),
        (mf.Bias(lambda u: 0.0, causal=True), {"mask": "causal"}, 1e-15),
        (mf.Bias(alibi(4.0), causal=True), {"mask": "alibi", "alibi_rate": 4.0}, 1e-13),
        (np.tri(8), {"mask": "causal"}, 1e-15),
    ],
    ids=str,
)
def test_limits_of_masks_are_other_masks(mask, usual, error):
    """A window of full width would not be no mask, or ALiBi as a bias another ALiBi."""
    for heads, how in ((TWO, "softmax"), ([mf.Head()], "none")):
        one, other = (
            mf.Attention(heads, how, beta=3.0, **options) for options in ({"mask": mask}, usual)
        )
        if not error:
            assert one == other
        x = tokens(8, 3)
        np.testing.assert_allclose(rows_of(one, x), rows_of(other, x), rtol=0, atol=error)
        moved = [final(each, x, 0.5) for each in (one, other)]
        np.testing.assert_allclose(*moved, rtol=0, atol=10 * error)


@pytest.mark.slow
def test_a_constant_in_a_bias_changes_nothing():
    """Rows would not be normalised: neither SA nor a sink would see their own positions alone."""
    for options in ({"sink": 0.3}, {"normalization": "none"}):
        one, other = (
            mf.Attention(TWO, beta=2.0, mask=mf.Bias(lambda u, c=c: c - 3.0 * u**2), **options)
            for c in (0.0, 500.0)
        )
        x = tokens(8, 3)
        moved = [final(each, x, 0.5) for each in (one, other)]
        np.testing.assert_allclose(*moved, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_causal_masks_keep_prefixes():
    """A later token would move earlier ones: causal windows, globals, biases."""
    x = tokens(9, 3)
    for w in (mf.Window(0.25, causal=True, globals=0.2), mf.Bias(gaussian(0.3), causal=True)):
        whole = pair_weights(w, 9).logarithms(slice(0, 9), 9)
        assert (whole[np.triu_indices(9, 1)] == -np.inf).all()
        moved = [final(mf.Attention(beta=2.0, mask=np.exp(whole[:n, :n])), x[:n]) for n in (9, 6)]
        np.testing.assert_allclose(moved[0][:6], moved[1], rtol=0, atol=1e-11)
        np.testing.assert_allclose(moved[0][0], x[0], rtol=0, atol=1e-15)


def test_windows_count_tokens_in_integers():
    """Rounding would let some pairs of one distance pass: w = 0.3 of n = 10 is two steps."""
    w = np.exp(pair_weights(mf.Window(0.3, globals=0.2), 10).logarithms(slice(0, 10), 10))
    i, j = np.indices((10, 10))
    np.testing.assert_array_equal(w, (np.abs(i - j) <= 2) | (j < 2))
    assert rows_of(mf.Attention(beta=1.0, mask=mf.Window(0.05)), tokens(8, 3)).trace() == 8.0


def cells(mask: mf.Bias | mf.Window, count: int) -> np.ndarray:
    """Weights of labels at middles: integrals of w(s_i, s') over cells, a rule of order two."""
    nodes, weights = np.polynomial.legendre.leggauss(16)
    edges, matrix = np.arange(count + 1.0) / count, np.zeros((count, count))
    for i, s in enumerate((edges[1:] + edges[:-1]) / 2.0):
        ends = [s]
        if isinstance(mask, mf.Window):
            ends += [s - mask.width, s + mask.width, mask.globals]
        ends = np.unique(np.concatenate([edges, np.clip(ends, 0.0, 1.0)]))
        for first, last in zip(ends[:-1], ends[1:], strict=True):
            u = s - 0.5 * (first + last) - 0.5 * (last - first) * nodes
            w = 1.0
            if isinstance(mask, mf.Bias):
                w = np.exp(mask.function(u))
            elif abs(s - 0.5 * (first + last)) > mask.width:
                w = float(last <= mask.globals)
            visible = last <= s or not mask.causal
            j = int(0.5 * (first + last) * count)
            matrix[i, j] += visible * 0.5 * (last - first) * (weights * w).sum()
    return matrix


@pytest.mark.parametrize(
    ("mask", "row", "expected"),
    [
        (mf.Bias(gaussian(0.25)), 0, [0.329780730908, 0.291782653826, 0.202094820440]),
        (mf.Bias(alibi(4.0)), 0, [0.369379041542, 0.255856200277, 0.155184629945]),
        (mf.Window(0.3), -1, [0, 0, 0, 0, 0, 0.3103448276, 0.3448275862, 0.3448275862]),
    ],
    ids=str,
)
def test_rows_of_cells_are_reference_rows(mask, row, expected):
    """The oracle first: reference states are of these weights."""
    rows = cells(mask, 8)[row] / cells(mask, 8)[row].sum()
    np.testing.assert_allclose(rows[: len(expected)], expected, rtol=0, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mask", "corners"),
    [
        (mf.Window(0.3, causal=True, globals=0.2), [-0.3]),
        (mf.Window(0.23), [-0.23, 0.23]),
        (mf.Window(0.3, globals=0.15), [-0.3, 0.3]),
        (mf.Bias(gaussian(0.25)), []),
        (mf.Bias(alibi(900.0)), [-0.03, 0.03]),
        (mf.Bias(gaussian(0.1), causal=True), []),
        (mf.Bias(lambda u: np.where(np.abs(u) < 0.21, 0.0, -np.inf)), [-0.21, 0.21]),
        (mf.Bias(lambda u: -np.floor(4.0 * np.abs(u))), [-0.75, -0.5, -0.25, 0.25, 0.5, 0.75]),
    ],
    ids=str,
)
def test_labels_see_integrals_to_rounding(mask, corners):
    """Jumps of a window, corners of a bias or the union with globals would be smoothed over."""
    labels = mf.Problem(mf.Circle(), mf.Attention(beta=1.0, mask=mask)).labels(120)
    values, mean = labels.matrix @ np.cos(7.0 * labels.values), labels.weights @ labels.values**6
    assert mean == pytest.approx(1.0 / 7.0, rel=1e-13)
    nodes, weights = np.polynomial.legendre.leggauss(100)
    for i in (0, 9, 30, 63, 119):
        s = labels.values[i]
        ends = [0.0, 1.0, s, getattr(mask, "globals", 0.0), *(s + np.array(corners))]
        ends = np.unique(np.clip(ends, 0.0, 1.0))
        half = 0.5 * np.diff(ends)[:, None]
        t = ends[:-1, None] + half * (nodes + 1.0)
        if isinstance(mask, mf.Bias):
            w = np.exp(mask.function(s - t))
        else:
            w = (np.abs(s - t) < mask.width) | (t < mask.globals)
        w = half * weights * w * ((t <= s) | (not mask.causal))
        assert values[i] == pytest.approx((w * np.cos(7.0 * t)).sum() / w.sum(), abs=1e-13)


def test_labels_of_causal_alibi_are_those_of_the_bias():
    """ALiBi as a bias would be another mask than "alibi"."""
    labels = [
        mf.Problem(mf.Circle(), mf.Attention(beta=1.0, **options)).labels(48)
        for options in (
            {"mask": "alibi", "alibi_rate": 4.0},
            {"mask": mf.Bias(alibi(4.0), causal=True)},
        )
    ]
    for name in ("values", "weights", "matrix"):
        one, other = (getattr(each, name) for each in labels)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-13)


@pytest.mark.slow
def test_influence_on_the_last_position_loses_its_middle_at_the_published_time():
    """arXiv:2605.09213, beta = 1: the slope at the last position vanishes at 2.45748898."""
    degrees = np.arange(1, 21)
    weights = np.exp(-0.5 * (np.pi * degrees / 8.0) ** 2)
    flow = mf.Problem(mf.Circle(), mf.exponential(1.0), mf.USA)
    rates = mf.growth_rates(flow, 20)[1:] * np.e  # e^{beta} without the scale of weights
    critical = 2.0 * (1.0 - np.exp(-1.0)) * (weights @ rates) / (weights @ rates**2)
    assert critical == pytest.approx(2.45748898, abs=5e-9)
    # The average of labels: int S(s) f(s) ds = sum w_n (e^{b_n t C} f - f) at s = 1, by S's series.
    mask = mf.Bias(lambda u: -u, causal=True)
    labels = mf.Problem(mf.Circle(), mf.Attention(beta=1.0, mask=mask)).labels(48)
    wave = np.cos(3.0 * labels.values)
    moved = sum(w * (expm(b * critical * labels.matrix) @ wave - wave)
                for w, b in zip(weights, rates, strict=True))  # fmt: skip
    at, mass = np.polynomial.legendre.leggauss(200)
    # s = e^{-z} clusters nodes at 0, where S has a logarithm.
    s = np.exp(-20.0 * (at + 1.0))
    y = np.log(np.expm1(1.0) / np.expm1(s))
    terms = np.arange(60)
    logs = gammaln(terms + 1.0) + gammaln(terms + 2.0)
    series = sum(
        w * (c ** (terms + 1.0) * y[:, None] ** terms / np.exp(logs)).sum(axis=1)
        for w, c in zip(weights, rates * critical, strict=True)
    )
    density = np.exp(s) / np.expm1(1.0) * series
    expected = 20.0 * mass @ (s * density * np.cos(3.0 * s))
    assert labels.panels.interpolation(np.ones(1))[0] @ moved == pytest.approx(expected, rel=1e-9)


def test_profiles_under_causal_biases_grow_at_their_rates():
    """Profiles (e^{rs} - 1)^p would not grow at lambda / (p + 1)."""
    attention = mf.Attention(beta=5.0, mask=mf.Bias(alibi(3.0), causal=True))
    problem = mf.Problem(mf.Circle(), attention)
    labels, rate = problem.labels(48), mf.growth_rates(problem, 3)[3]
    for p in range(3):
        profile = np.expm1(3.0 * labels.values) ** p
        grown = expm(2.0 * rate * labels.matrix) @ profile
        expected = np.exp(2.0 * rate / (p + 1)) * profile
        np.testing.assert_allclose(grown, expected, rtol=0, atol=1e-10)


def twist(s: float) -> mf.Law:
    c = [1.0, 0.15 * np.exp(-1.5j * s), -0.1j * s, 0.05 * np.exp(0.5j)]
    return mf.from_density(np.array(c))


def middles(count: int) -> np.ndarray:
    """Labels s_i, and differences s_i - s_j."""
    s = (np.arange(count) + 0.5) / count
    return s[:, None] - s


TURN = [[np.cos(0.4), -np.sin(0.4)], [np.sin(0.4), np.cos(0.4)]]
CIRCLE = {
    "rotary": (
        {"beta": 4.0, "rotary": mf.Rotary(3.0), "mask": np.ones((8, 8))},
        0.6,
        [0.112926789301 - 0.104279482885j, -0.020277172449 - 0.069658769973j,
         0.023744415820 + 0.013075831689j],
        [0.161991477569 + 0.017899957394j, -0.001772933510 - 0.011502130129j,
         0.000999863938 + 0.048492301945j],
        [-0.004506473805 - 0.160400603815j, -0.056072195356 - 0.093766518194j,
         0.033446570077 - 0.025996350934j],
    ),
    "rotary, gaussian at middles, sink": (
        {"heads": [mf.Head(value=TURN)], "beta": 4.0, "sink": 0.3, "rotary": mf.Rotary(6.0),
         "mask": np.exp(gaussian(0.25)(middles(8)))},
        0.8,
        [0.099165307312 - 0.115717837510j, -0.015296538088 - 0.060431555933j,
         0.041582610381 + 0.017416723936j],
        [0.163338755398 - 0.018666467419j, 0.001818813624 - 0.011454592426j,
         0.038891437911 + 0.030533686578j],
        [-0.006208245527 - 0.169327205000j, -0.036155563523 - 0.101786982372j,
         0.044651918756 + 0.004688373807j],
    ),
    "rotary, gaussian, sink": (
        {"heads": [mf.Head(value=TURN)], "beta": 4.0, "sink": 0.3, "rotary": mf.Rotary(6.0),
         "mask": cells(mf.Bias(gaussian(0.25)), 8)},
        0.8,
        [0.099225345324 - 0.115672027248j, -0.015192658927 - 0.060392516381j,
         0.041529994953 + 0.017499610789j],
        [0.163315304653 - 0.018603932235j, 0.001869940371 - 0.011426231822j,
         0.038798133202 + 0.030664916001j],
        [-0.006028143074 - 0.169377769151j, -0.035943288795 - 0.101774257444j,
         0.044599951273 + 0.004747094292j],
    ),
    "gaussian at middles": (
        {"beta": 4.0, "mask": np.exp(gaussian(0.25)(middles(8)))},
        0.6,
        [0.113598168632 - 0.105845880526j, -0.000519409085 - 0.072120856800j,
         0.062658876756 + 0.034238439983j],
        [0.168239866824 - 0.021128088159j, 0.001363233254 - 0.017069343190j,
         0.065134040427 + 0.035184242166j],
        [0.032016036427 - 0.165417090923j, -0.002766942560 - 0.125522193087j,
         0.059232080148 + 0.034939170492j],
    ),
    "gaussian": (
        {"beta": 4.0, "mask": cells(mf.Bias(gaussian(0.25)), 8)},
        0.6,
        [0.113599241084 - 0.105846086359j, -0.000519465329 - 0.072120367689j,
         0.062660658691 + 0.034237486637j],
        [0.168207490501 - 0.021188003354j, 0.001388508130 - 0.017158488973j,
         0.065143246389 + 0.035182346635j],
        [0.032067670951 - 0.165371934467j, -0.002793587212 - 0.125433943419j,
         0.059234239859 + 0.034936520863j],
    ),
    "alibi at middles": (
        {"beta": 4.0, "normalization": "none", "mask": np.exp(alibi(4.0)(middles(8)))},
        2.0,
        [0.109532128132 - 0.102051083218j, 0.000260895924 - 0.066882538822j,
         0.053061445860 + 0.027798838461j],
        [0.161944567198 - 0.019244975178j, 0.004399230398 - 0.015310406572j,
         0.057320426027 + 0.029032004180j],
        [0.030417681501 - 0.159853257423j, -0.004108277077 - 0.116357943179j,
         0.048150950269 + 0.028682320713j],
    ),
    "alibi": (
        {"beta": 4.0, "normalization": "none", "mask": cells(mf.Bias(alibi(4.0)), 8)},
        2.0,
        [0.109537038804 - 0.102057221299j, 0.000262002829 - 0.066900542898j,
         0.053079047821 + 0.027777237945j],
        [0.161873297674 - 0.019440169335j, 0.004373148820 - 0.015629010181j,
         0.057290877089 + 0.028957545535j],
        [0.030570896113 - 0.159742416926j, -0.004077294299 - 0.116167820971j,
         0.048258647690 + 0.028629900823j],
    ),
    "window": (
        {"beta": 4.0, "mask": cells(mf.Window(0.3), 8)},
        0.6,
        [0.113590477719 - 0.105862898024j, -0.000515913663 - 0.072158547730j,
         0.062652270647 + 0.034244484452j],
        [0.168997324787 - 0.019878358121j, 0.000795661887 - 0.015145726491j,
         0.064973083149 + 0.035213567358j],
        [0.030943141892 - 0.166453505349j, -0.002169523350 - 0.127492921738j,
         0.059238452552 + 0.034967955501j],
    ),
    "causal window, globals, sink": (
        {"beta": 4.0, "mask": cells(mf.Window(0.3, causal=True, globals=0.2), 8), "sink": 0.2},
        1.0,
        [0.114801496178 - 0.098578422733j, -0.000250886479 - 0.061263736657j,
         0.058735608095 + 0.031077311910j],
        [0.166565795349 - 0.015659916386j, 0.003019003062 - 0.009344647011j,
         0.060819737124 + 0.032803060061j],
        [0.035318409496 - 0.157154161674j, -0.004127501841 - 0.112553519966j,
         0.055538970638 + 0.030751482585j],
    ),
}  # fmt: skip


def labelled(space, law, labels: int, until: float, **options) -> mf.Run:
    attention = mf.Attention(options.pop("heads", [mf.Head()]), **options)
    problem = mf.Problem(space, attention, initial=mf.from_labels(law))
    run = mf.simulate(problem, until=until, save=2, labels=labels, tolerance=1e-12)
    assert set(run.representation) == {"labelled"}
    return run


@pytest.mark.slow
@pytest.mark.parametrize("name", CIRCLE)
def test_labelled_densities_of_the_circle_reach_reference_states(name):
    """Labels would stand elsewhere, or cells be cut: a window of 0/1 is off by 0.01."""
    options, until, *expected = CIRCLE[name]
    run = labelled(mf.Circle(), twist, 8, until, **options)
    parts = run.measures[-1].parts
    result = [parts.mean(axis=0), parts[0], parts[-1]]
    np.testing.assert_allclose([each[1:4] for each in result], expected, rtol=0, atol=1e-10)


def means(run: mf.Run, function) -> np.ndarray:
    """Means of a function of vectors, one a label, by a grid of S^2."""
    measure = run.measures[-1]
    grid = measure.manifold.grid(measure.max_degree)
    values = grid.to_nodal(measure.parts)
    return np.asarray(values @ (grid.weights * function(grid.points)))


def zonal(s: float) -> mf.Law:
    """Law of label s with an axis on S^2."""
    return mf.from_function(
        lambda x: 1 + 0.5 * (1 - s) * x[..., 2] + 0.3 * s * (1.5 * x[..., 2] ** 2 - 0.5)
    )


def spherical(s: float) -> mf.Law:
    """Law of label s on S^2, without symmetry."""
    return mf.from_function(
        lambda x: (
            1
            + 0.3 * (1 - s) * x[..., 2]
            + 0.2 * x[..., 0] * x[..., 1]
            - 0.25 * s * (x[..., 1] ** 2 - 1 / 3)
            + 0.2 * s * x[..., 0]
        )
    )


ZONAL = {
    "gaussian at middles": (
        4, 1.0, {"mask": np.exp(gaussian(0.25)(middles(4))), "sink": 0.5},
        [0.160619584383, 0.115987617875, 0.070522545217, 0.025788500832],
        [0.342636849949, 0.352661411965, 0.363247660533, 0.373916693639],
    ),
    "gaussian": (
        4, 1.0, {"mask": cells(mf.Bias(gaussian(0.25)), 4), "sink": 0.5},
        [0.160475936624, 0.115916715767, 0.070593967652, 0.025935606664],
        [0.342669092182, 0.352681272630, 0.363223966812, 0.373860125518],
    ),
    "window, USA": (
        5, 2.0, {"mask": cells(mf.Window(0.3), 5), "normalization": "none"},
        [0.171675009731, 0.135549099894, 0.096943022814, 0.058273046297, 0.022021226567],
        [0.343863006365, 0.351488291670, 0.359974720417, 0.368987538121, 0.377608745793],
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ZONAL)
def test_labelled_densities_with_an_axis_reach_reference_states(name):
    """The sphere would weigh labels otherwise than the circle."""
    count, until, options, first, second = ZONAL[name]
    run = labelled(mf.Sphere(), zonal, count, until, beta=3.0, **options)
    np.testing.assert_allclose(means(run, lambda x: x[:, 2]), first, rtol=0, atol=1e-8)
    np.testing.assert_allclose(means(run, lambda x: x[:, 2] ** 2), second, rtol=0, atol=1e-8)


SPHERICAL = {
    "alibi at middles, sink": (
        {"heads": TWO[:1], "mask": np.exp(alibi(4.0)(middles(3))), "sink": 0.5},
        [[0.012256063437, 0.001170998421, 0.083637525917],
         [0.035591808090, -0.001288995895, 0.051151367889],
         [0.058933379951, -0.003722292264, 0.018664358652]],
    ),
    "alibi, sink": (
        {"heads": TWO[:1], "mask": cells(mf.Bias(alibi(4.0)), 3), "sink": 0.5},
        [[0.012382110249, 0.001065088953, 0.083563871318],
         [0.035591816585, -0.001289007316, 0.051151371237],
         [0.058806684176, -0.003620550142, 0.018738228025]],
    ),
    "gaussian at middles": (
        {"mask": np.exp(gaussian(0.25)(middles(3)))},
        [[0.015806622924, -0.000088572931, 0.101268319929],
         [0.041648462826, -0.000040527011, 0.062477933125],
         [0.067474964116, 0.000007438007, 0.023650421405]],
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", SPHERICAL)
def test_labelled_densities_of_the_sphere_reach_reference_states(name):
    """Heads with matrices would see another measure than each label does."""
    options, expected = SPHERICAL[name]
    run = labelled(mf.Sphere(), spherical, 3, 0.5, beta=3.0, **options)
    result = [means(run, lambda x, a=a: x[:, a]) for a in range(3)]
    np.testing.assert_allclose(np.transpose(result), expected, rtol=0, atol=1e-8)


LIMITS = {
    "gaussian": (
        {"mask": mf.Bias(gaussian(0.25))},
        [0.113441318184 - 0.105699660968j, -0.000520869842 - 0.072112497003j,
         0.062653605126 + 0.034247769601j],
    ),
    "rotary": (
        {"rotary": mf.Rotary(3.0)},
        [0.112831490747 - 0.104189633547j, -0.020454463591 - 0.069557732475j,
         0.023786180395 + 0.013197780333j],
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", LIMITS)
def test_labels_reach_their_limit(name):
    """The limit is of 20 labels at Gauss nodes, by two other codes."""
    options, limit = LIMITS[name]
    run = labelled(mf.Circle(), twist, 16, 0.6, beta=4.0, **options)
    np.testing.assert_allclose(run.moments[-1, 1:4], limit, rtol=0, atol=5e-12)


def varied(s: float) -> mf.Law:
    c = [1.0, 0.2 * np.exp(-6j * s), -0.1j * s / (1 + 4 * (s - 0.4) ** 2), 0.05 * np.exp(9j * s)]
    return mf.from_density(np.array(c))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "count", "most"),
    [
        ({"mask": mf.Bias(gaussian(0.05))}, 16, 3.0),
        ({"mask": mf.Bias(gaussian(0.05))}, 24, 3.0),
        ({"mask": mf.Bias(alibi(8.0))}, 16, 3.0),
        ({"mask": mf.Bias(alibi(8.0))}, 24, 3.0),
        ({"mask": mf.Window(0.3)}, 48, 50.0),
        ({"mask": mf.Window(0.3)}, 64, 50.0),
        ({"mask": mf.Window(0.07)}, 64, 50.0),
        ({"mask": mf.Window(0.25, causal=True, globals=0.1)}, 24, 50.0),
        ({"mask": mf.Bias(lambda u: -np.floor(8.0 * np.abs(u)))}, 48, 50.0),
        ({"rotary": mf.Rotary(6.0)}, 24, 50.0),
    ],
    ids=str,
)
def test_estimated_errors_of_labels_bound_the_errors(options, count, most):
    """Errors of labels were 0 under windows and biases, whatever they were."""
    attention = mf.Attention(beta=4.0, **options)
    problem = mf.Problem(mf.Circle(), attention, initial=mf.from_labels(varied))
    few, many = (
        mf.simulate(problem, 1.0, save=2, labels=labels, tolerance=tolerance)
        for labels, tolerance in ((count, 1e-2), (4 * count, 1e-9))
    )
    panels = problem.labels(count).panels
    between = panels.interpolation(many.measures[-1].labels) @ few.measures[-1].parts[:, :8]
    error = np.abs(between - many.measures[-1].parts[:, :8]).max()
    estimate = few.diagnostics["label_error"].max()
    assert 0.5 * error < estimate < most * error
    assert np.abs(few.moments[-1, :8] - many.moments[-1, :8]).max() < estimate


@pytest.mark.slow
def test_runs_take_as_many_labels_as_their_tolerance_asks_for():
    """A run with too few labels would end well: it begins again with more, or says when to stop."""
    problem = masked(mf.Window(0.3), initial=mf.from_labels(varied))
    run = mf.simulate(problem, 1.0, save=2, labels=8)
    assert run.diagnostics["labels"].max() > 8 and len(run.measures[-1].labels) == 8
    assert run.diagnostics["label_error"].max() < 1e-10
    more = mf.simulate(problem, 1.0, save=2, labels=96)
    np.testing.assert_allclose(run.moments[-1, :8], more.moments[-1, :8], rtol=0, atol=1e-10)
    rows = np.array([varied(s).build(mf.Circle()).coefficients for s in np.linspace(0, 1, 8)])
    problem = masked(mf.Window(0.3), initial=mf.from_labels(rows))
    with pytest.raises(mf.SimulationError, match="8 positions resolve moments to 1e-10 until here"):
        mf.simulate(problem, 1.0, save=2)


@pytest.mark.slow
def test_laws_that_vary_between_positions_are_refused():
    """A law would be taken at labels that miss how it varies."""
    law = mf.from_labels(lambda s: mf.from_density([1.0, 0.2 * np.sin(4000.0 * s)]))
    with pytest.raises(ValueError, match="varies between 576 positions, which leave an error of"):
        mf.simulate(masked(mf.Window(0.3), initial=law), 1.0, save=2)


TURNED = {"heads": [mf.Head(query=[[0.0, -1.1], [1.1, 0.0]], value=[[1.0, 0.5], [0.2, -0.4]]),
                    mf.Head(value=0.3)], "rotary": mf.Rotary(3.0)}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({"mask": mf.Bias(gaussian(0.25))}, 10_000),
        ({"mask": mf.Window(0.3, causal=True)}, 1600),
        ({"mask": "causal", "sink": 0.2} | TURNED, 1600),
        ({"mask": mf.Window(0.5), "normalization": "none"} | TURNED, 1600),
    ],
    ids=str,
)
def test_many_tokens_tend_to_labelled_densities(options, count):
    """Tokens and labels would have different masks: without one the mean moves by 0.02."""
    s = (np.arange(count) + 0.5) / count
    angles, shares = np.linspace(0.0, 2.0 * np.pi, 1001), np.arange(count) * 0.618033988749895 % 1.0
    below = angles + 0.8 * s[:, None] * (
        np.sin(angles - 2.0 * s[:, None]) + np.sin(2.0 * s[:, None])
    )
    points = [
        np.interp(share, row, angles)
        for share, row in zip(2.0 * np.pi * shares, below, strict=True)
    ]
    attention = mf.Attention(**{"heads": [mf.Head()], "beta": 2.0} | options)
    problem = mf.Problem(mf.Circle(), attention, initial=mf.from_points(points))
    run = mf.simulate(problem, 1.0, save=2, representation="particles", tolerance=1e-6)

    def law(s):
        return mf.from_density([1.0, 0.4 * s * np.exp(-2j * s)])

    layers = labelled(mf.Circle(), law, 40, 1.0, beta=2.0, **options).measures[-1]
    later = np.exp(-1j * run.measures[-1].points[count // 2 :]).mean()
    mean = 2.0 * CubicSpline(layers.labels, layers.parts[:, 1]).integrate(0.5, 1.0)
    # Errors of a quasi-random draw fall like 1 / n.
    assert later == pytest.approx(mean, abs=3.2 / count)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mask", "expected", "error"),
    [
        (np.exp(gaussian(0.25)(middles(16))),
         [0.670299884230, 0.279534038315, 0.085459954682, 0.019992782249], 1e-11),
        (np.exp(alibi(4.0)(middles(400))), [0.620133092058, 0.327112115017], 1e-11),
        (cells(mf.Window(0.2), 40),
         [0.920803142086, 0.712638661510, 0.446758197935, 0.200452480211], 1e-11),
        # Integral equations.
        (mf.Bias(gaussian(0.25)), [0.670320095095, 0.280825275954, 0.087098992199], 1e-11),
        (mf.Bias(gaussian(0.1)), [0.943983163633, 0.799287897199, 0.615577676763], 1e-11),
        (mf.Bias(alibi(4.0)), [0.6201276123, 0.3271032654, 0.1861933467, 0.1164868656], 1e-9),
        # Extrapolated from 200 and 400 cells.
        (mf.Window(0.2), [0.92138141, 0.71439060, 0.44927845], 1e-8),
    ],
    ids=["gaussian", "alibi", "window", "limit of gaussian", "limit of narrow", "limit of alibi",
         "limit of window"],
)  # fmt: skip
def test_averages_over_positions_have_reference_eigenvalues(mask, expected, error):
    """Modes of positions would grow at other rates: lambda_l kappa_m / (z_0 + c)."""
    attention = mf.Attention(beta=5.0, mask=mask)
    labels = mf.Problem(mf.Circle(), attention).labels(None if np.ndim(mask) else 40)
    kappa = np.sort(np.linalg.eigvals(labels.matrix).real)[::-1]
    assert kappa[0] == pytest.approx(1.0, abs=1e-13)
    np.testing.assert_allclose(kappa[1 : 1 + len(expected)], expected, rtol=0, atol=error)


@pytest.mark.parametrize("mode", [1, 2])
def test_modes_of_positions_grow_at_their_rates(mode):
    """A run would not obey its matrix: degree 3 grows at lambda_3 kappa / z_0."""
    w = np.exp(gaussian(0.25)(middles(16)))
    kappa, vectors = np.linalg.eig(w / w.sum(axis=1, keepdims=True))
    order = np.argsort(kappa.real)[::-1]
    profile = vectors[:, order[mode]].real
    parts = np.zeros((16, 4))
    parts[:, 0], parts[:, 3] = 1.0, 1e-5 * profile
    problem = mf.Problem(mf.Circle(), mf.Attention(beta=5.0, mask=w), initial=mf.from_labels(parts))
    run = mf.simulate(problem, until=2.0, save=2, tolerance=1e-12)
    grown = run.measures[-1].parts[:, 3].real @ profile / (parts[:, 3] @ profile)
    expected = {1: 0.457599207990, 2: 0.190831831466}[mode]
    assert np.log(grown) / 2.0 == pytest.approx(expected, abs=1e-8)
    assert mf.growth_rates(problem, 3)[3] == pytest.approx(expected / kappa.real[order[mode]])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"mask": mf.Window(0.3)}, 0.195723742448),
        ({"mask": mf.Window(0.3), "sink": 0.5}, 0.130482494965),
        ({"mask": mf.Bias(gaussian(0.25))}, 0.329708043317),
        ({"mask": mf.Bias(gaussian(0.25)), "sink": 0.5}, 0.219805362211),
        ({"rotary": mf.Rotary(3.0)}, 0.365064185293),
        ({"rotary": mf.Rotary(3.0), "sink": 0.5}, 0.171575424632),
    ],
    ids=str,
)
def test_tokens_collapse_at_the_gap(options, expected):
    """The last of a cluster would decay otherwise than e^{-(1 - kappa_1) t / (1 + c)}."""
    problem = mf.Problem(mf.Circle(), mf.Attention(beta=2.0, **options))
    field, h = heads_interaction(problem), 1e-6

    def velocity(angles):
        x = mf.Circle().vectors(angles)
        return mf.Circle().project(angles, field.output(x, None))

    slopes = [(velocity(h * e) - velocity(-h * e)) / (2 * h) for e in np.eye(8)]
    rates = np.sort(-np.linalg.eigvals(np.transpose(slopes)).real)
    assert rates[1] == pytest.approx(expected, abs=1e-9)


def test_symmetric_weights_climb_and_conserve():
    """Rates of energy and of moments would lack K, by which rows are divided."""
    # E = 1 / (2 beta) int int w e^{beta <x, y> - beta}, dE/dt = int K (Z + c) |v|^2, USA K |v|^2.
    x = tokens(8, 3)
    w = np.exp(gaussian(0.25)(middles(8)))
    kernel = w * np.exp(3.0 * x @ x.T - 3.0)
    assert kernel.mean() / 6.0 == pytest.approx(0.028064552102, abs=1e-12)
    rows = w.mean(axis=1)
    below = kernel.mean(axis=1) / rows
    for options, factor, expected in (
        ({}, below, 0.002826096345),
        ({"sink": 0.5}, below + 0.5, 0.001203990387),
        ({"normalization": "none"}, 1.0, 0.001059750347),
    ):
        attention = mf.Attention(beta=3.0, mask=mf.Bias(gaussian(0.25)), **options)
        field = heads_interaction(mf.Problem(mf.Sphere(), attention))
        v = mf.Sphere().project(x, field.output(x, None))
        assert (rows * factor * (v**2).sum(axis=1)).mean() == pytest.approx(expected, abs=1e-12)
    turned = (rows[:, None] * np.cross(x, v)).mean(axis=0)
    np.testing.assert_allclose(turned, 0.0, rtol=0, atol=1e-16)


def ring(width: float | None, count: int) -> np.ndarray:
    """Weights of positions on a ring: a Gaussian, or e^{-8 u} of what came before."""
    u = middles(count) % 1.0
    return np.exp(-8.0 * u if width is None else gaussian(width)(np.minimum(u, 1.0 - u)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "width", "degree", "wave", "rate"),
    [
        ("softmax", 0.1, 1, -1, 0.362354804658),
        ("softmax", 0.1, 2, 1, 0.729451786310),
        ("none", 0.1, 1, 0, 0.076797369293),
        ("none", 0.1, 3, 2, 0.158773044417),
        ("softmax", None, 2, 1, 0.575893045852 - 0.575198670479j),
        ("none", None, 1, 0, 0.081715679096 - 0.099329846803j),
    ],
)
def test_helices_grow_at_their_rates(how, width, degree, wave, rate):
    """A phase of the wrong sign favours helices of the other sense, also in symmetric data."""
    s = (np.arange(32) + 0.5) / 32
    parts = np.zeros((32, degree + 1), dtype=complex)
    parts[:, 0], parts[:, degree] = 1.0, 1e-6 * np.exp(2j * np.pi * wave * s)
    attention = mf.Attention(
        [mf.Head()], how, beta=4.0, mask=ring(width, 32), rotary=mf.Rotary(2.0 * np.pi)
    )
    problem = mf.Problem(mf.Circle(), attention, initial=mf.from_labels(parts))
    run = mf.simulate(problem, until=1.0, save=2, tolerance=1e-13)
    grown = np.log(run.measures[-1].parts[:, degree] / parts[:, degree])
    # 1e-13 over the amplitude.
    np.testing.assert_allclose(grown, rate, rtol=0, atol=3e-7)


def wave_rate(options: dict, count: int, degree: int, wave: int, weights=None) -> complex:
    """Rate of e^{iqs} by the matrix of a ring of positions, of which it is an eigenvector."""
    mask = ring(options.pop("width", 0.1), count) if weights is None else weights
    attention = mf.Attention(options.pop("heads", [mf.Head()]), mask=mask, **options)
    space = mf.Sphere() if options.get("beta") == 4.0 and "rotary" not in options else mf.Circle()
    modes = mf.position_modes(mf.Problem(space, attention), degree)
    profile = np.exp(2j * np.pi * wave * modes.positions)
    moved = modes.matrix @ profile
    np.testing.assert_allclose(moved, moved[0] / profile[0] * profile, rtol=0, atol=1e-12)
    rate = moved[0] / profile[0]
    assert np.abs(modes.eigenvalues - rate).min() < 1e-12
    return complex(rate)


V06 = [[np.cos(0.6), -np.sin(0.6)], [np.sin(0.6), np.cos(0.6)]]


@pytest.mark.parametrize(
    ("options", "count", "degree", "rates"),
    [
        ({"beta": 5.0}, 24, 3,
         {0: 0.682678333617, 1: 0.560390247534, 2: 0.309963504210, 3: 0.115526508869}),
        ({"beta": 5.0, "normalization": "none"}, 24, 3, {0: 0.125299336103, 3: 0.021203829316}),
        ({"beta": 5.0, "width": None}, 24, 2,
         {1: 0.347330200903 - 0.209212182052j, 2: 0.203055584936 - 0.191711254967j}),
        ({"beta": 5.0, "heads": [mf.Head(value=V06)], "sink": 0.5}, 24, 2,
         {1: 0.093526683477 - 0.390916335060j}),
        ({"beta": 5.0, "heads": [mf.Head(value=V06)], "normalization": "none"}, 24, 2,
         {1: 0.063929305225 - 0.293436702236j}),
        ({"beta": 4.0, "width": 0.15}, 12, 2, {1: 0.421590415889}),
        ({"beta": 4.0, "width": 0.15, "sink": 0.5}, 12, 2, {1: 0.084295453207}),
        ({"beta": 4.0, "width": 0.15, "normalization": "none"}, 12, 2, {1: 0.052681123508}),
        ({"beta": 4.0, "rotary": mf.Rotary(2.0 * np.pi)}, 32, 2,
         {0: 0.658870270801, 1: 0.729451786310, 2: 0.466450078227, -1: 0.379525021397}),
        ({"beta": 4.0, "rotary": mf.Rotary(2.0 * np.pi), "normalization": "none"}, 32, 3,
         {2: 0.158773044417, 3: 0.112894049978}),
        ({"beta": 4.0, "rotary": mf.Rotary(2.0 * np.pi), "width": None}, 32, 2,
         {1: 0.575893045852 - 0.575198670479j, -1: 0.133229906286 - 0.362671660864j}),
        ({"beta": 4.0, "rotary": mf.Rotary(2.0 * np.pi), "width": None,
          "normalization": "none"}, 32, 1, {0: 0.081715679096 - 0.099329846803j}),
    ],
    ids=str,
)  # fmt: skip
def test_waves_of_positions_on_a_ring_grow_at_reference_rates(options, count, degree, rates):
    """Dispersion: a symbol of the wrong sign, scale or phase."""
    for wave, rate in rates.items():
        assert wave_rate(dict(options), count, degree, wave) == pytest.approx(rate, abs=1e-10)


@pytest.mark.parametrize(
    ("options", "count", "degree", "expected"),
    [
        ({"mask": np.exp(gaussian(0.25)(middles(16))), "beta": 5.0}, 16, 3,
         [0.682678333617, 0.457599207990, 0.190831831466]),
        ({"rotary": mf.Rotary(3.0), "mask": np.ones((16, 16))}, 16, 1, [0.116973941995]),
        ({"rotary": mf.Rotary(3.0), "mask": np.ones((16, 16))}, 16, 2,
         [0.080901345422 + 0.092465638606j]),
        ({"rotary": mf.Rotary(6.0), "mask": np.ones((16, 16))}, 16, 2, [0.859027523096]),
        # Limits, without the error of middles.
        ({"rotary": mf.Rotary(6.0)}, 64, 1, [0.497792112152]),
        ({"rotary": mf.Rotary(6.0)}, 64, 2, [0.859100304767]),
        ({"rotary": mf.Rotary(6.0), "mask": np.exp(gaussian(0.25)(middles(16)))}, 16, 2,
         [0.638519035429]),
        ({"rotary": mf.Rotary(3.0), "mask": np.exp(gaussian(0.25)(middles(16))),
          "normalization": "none"}, 16, 1, [0.037574337718 + 0.009469767227j]),
        ({"rotary": mf.Rotary(4.0), "mask": np.exp(gaussian(0.25)(middles(10))), "sink": 0.3,
          "heads": [mf.Head(value=0.8 * np.array([[np.cos(0.5), -np.sin(0.5)],
                                                  [np.sin(0.5), np.cos(0.5)]]))]}, 10, 2,
         [0.127929693315 - 0.265029449966j]),
        ({"rotary": mf.Rotary(4.0), "mask": np.exp(gaussian(0.25)(middles(10))),
          "normalization": "none",
          "heads": [mf.Head(value=0.8 * np.array([[np.cos(0.5), -np.sin(0.5)],
                                                  [np.sin(0.5), np.cos(0.5)]]))]}, 10, 2,
         [0.063904107509 - 0.219309818801j]),
    ],
    ids=str,
)  # fmt: skip
def test_modes_of_an_interval_are_reference_modes(options, count, degree, expected):
    """The drift of the ends, or the unit of the sink, would be left out."""
    attention = mf.Attention(**{"heads": [mf.Head()], "beta": 4.0} | options)
    modes = mf.position_modes(mf.Problem(mf.Circle(), attention), degree, count)
    np.testing.assert_allclose(modes.eigenvalues[: len(expected)], expected, rtol=0, atol=1e-10)
    wanted = modes.eigenvalues[:, None] * modes.profiles
    np.testing.assert_allclose(modes.profiles @ modes.matrix.T, wanted, rtol=0, atol=1e-13)


def test_repulsion_makes_patterns_of_positions():
    """The symbol of a window would not be negative where repulsive waves of positions grow."""
    u = middles(25)
    u = (u + 0.5) % 1.0 - 0.5
    overlap = np.clip(0.2 * 25 + 0.5 - np.abs(u) * 25, 0.0, 1.0)
    options = {"beta": 5.0, "heads": [mf.Head(value=-1.0)]}
    for wave, rate in ((3, 0.101348792620), (4, 0.118100988346)):
        result = wave_rate(dict(options), 25, 3, wave, overlap)
        assert result == pytest.approx(rate, abs=1e-10)


def test_noise_damps_modes_of_positions():
    """Diffusion would act on modes of positions: it takes D l^2 from each."""
    of = [
        mf.position_modes(
            mf.Problem(space, mf.Attention(beta=4.0, mask=mf.Window(0.3), diffusivity=d)), 2, 12
        ).eigenvalues
        for space in (mf.Circle(), mf.Sphere(5))
        for d in (0.0, 0.01)
    ]
    np.testing.assert_allclose(of[0] - of[1], 0.04, rtol=0, atol=1e-13)
    np.testing.assert_allclose(of[2] - of[3], 0.01 * 2 * 5, rtol=0, atol=1e-13)


@pytest.mark.parametrize(("problem", "message"), [
    (mf.Problem(mf.Circle(), mf.Attention(beta=2.0)), "with a mask or a rotary"),
    (mf.Problem(mf.Circle(), mf.Attention(beta=2.0, mask="causal")), "no modes of positions"),
    (mf.Problem(mf.Circle(), mf.Attention(beta=2.0, mask=mf.Window(0.3, causal=True))),
     "no modes of positions"),
    (mf.Problem(mf.Circle(), mf.Attention(TWO[1:], beta=2.0, mask=mf.Window(0.3)),
                drift=mf.LinearDrift(1.0)),
     "attention alone"),
    (mf.Problem(mf.Circle(),
                mf.Attention([mf.Head(value=[1.0, 2.0])], beta=2.0, mask=mf.Window(0.3))),
     "head 1 prefers a direction"),
    (mf.Problem(mf.Sphere(), mf.Attention(TWO, beta=2.0, mask=mf.Window(0.3))), "rests on"),
])  # fmt: skip
def test_modes_are_refused_where_there_are_none(problem, message):
    """Eigenvalues of a triangular matrix would pass for rates."""
    refused(message, mf.position_modes, problem, 1, 8)


@pytest.mark.slow
def test_profiles_about_a_stationary_measure_grow_as_the_operator_has_it():
    """Rates about clusters would be uniform's: L = T + kappa N, another one for each kappa.

    Runs of labels from f + 1e-7 p(s) g obey it.
    """
    flow = {"beta": 3.0, "diffusivity": 0.12}
    alone = mf.Problem(mf.Circle(), mf.Attention(**flow))
    about = mf.stationary_state(alone).density()
    assert abs(about.coefficients[1]) > 0.1
    mask = mf.Bias(gaussian(0.4))
    problem = mf.Problem(mf.Circle(), mf.Attention(mask=mask, **flow))
    labels = problem.labels(12)
    kappa, profiles = np.linalg.eig(labels.matrix)
    order = np.argsort(-kappa.real)
    rates = []
    for number in (0, 1):
        share, profile = kappa.real[order[number]], profiles[:, order[number]].real
        operator = mf.linear_operator(problem, about=about, position_average=share)
        rates.append(operator.growth_rate_max)
        mode = operator.modes[0, 0]
        space, degree = problem.manifold, operator.degree
        f = space.resize(about.coefficients, degree)
        parts = f + 1e-7 * profile[:, None] * space.resize(mode, degree) / np.abs(mode).max()
        run = mf.simulate(
            replace(problem, initial=mf.from_labels(parts)), 1.0, save=2, tolerance=1e-13
        )
        start, end = (
            np.array([space.resize(part, degree) for part in m.parts]) - f for m in run.measures
        )
        grown = np.vdot(start, end).real / np.vdot(start, start).real
        assert np.log(grown) == pytest.approx(operator.growth_rate_max, abs=1e-5)
    # A rotation of all positions together is neutral; one that differs between them decays.
    assert abs(rates[0]) < 1e-7 and rates[1] < -0.01


def test_slow_modes_of_positions_are_sorted_like_fast_ones():
    """Rates below 1e-12 would all count as equal, and stand in any order."""
    fast, slow = (
        mf.position_modes(
            mf.Problem(mf.Circle(), mf.Attention(beta=5.0, mask=mf.Window(0.2), strength=each)), 3
        )
        for each in (1.0, 1e-13)
    )
    assert 1e13 * slow.eigenvalues.real[:8] == pytest.approx(fast.eigenvalues.real[:8], rel=1e-9)


def test_operators_of_profiles_about_uniform_are_modes_of_positions():
    """Both would have their own eigenvalues of a mask."""
    problem = mf.Problem(mf.Circle(), mf.Attention(beta=5.0, mask=mf.Window(0.2)))
    modes = mf.position_modes(problem, 3, 40)
    kappa = np.sort(np.linalg.eigvals(problem.labels(40).matrix).real)[::-1]
    for number in range(3):
        operator = mf.linear_operator(problem, position_average=kappa[number])
        assert np.abs(operator.eigenvalues - modes.eigenvalues[number]).min() < 1e-10
    with pytest.raises(ValueError, match="position_average is of attention with a mask"):
        mf.linear_operator(mf.Problem(mf.Circle(), mf.Attention(beta=5.0)), position_average=0.5)
    refused("mf.position_modes has growth by mode of position", mf.linear_operator, rotary())


def test_rotary_embeddings_conserve_and_climb():
    """Without normalisation pairs have equal and opposite forces: sums of K v, and U, would err."""
    angles = np.array([0.3, 1.1, 2.0, 2.7, 3.5, 4.4, 5.1, 5.9])
    attention = mf.Attention(
        [mf.Head()], "none", beta=2.0, mask=mf.Bias(gaussian(0.25)), rotary=mf.Rotary(3.0)
    )
    field = heads_interaction(mf.Problem(mf.Circle(), attention))
    rows = np.exp(gaussian(0.25)(middles(8))).mean(axis=1)
    v = mf.Circle().project(angles, field.output(mf.Circle().vectors(angles), None))
    assert abs((rows * v).mean()) < 1e-16
    assert (rows * v**2).mean() == pytest.approx(0.000342035941, abs=1e-12)


@pytest.mark.parametrize("d", [3, 4, 5])
def test_rotary_velocities_are_loops_of_matrices(d):
    """Queries of fewer components than tokens would turn in other planes, or values turn too."""
    rng, n, k = np.random.default_rng(d), 6, 4 if d > 3 else 2
    heads = [
        mf.Head(*(rng.normal(size=(k, d)) for _ in range(2)), value=rng.normal(size=(d, d)))
        for _ in range(2)
    ]
    rotary = mf.Rotary(5.0, base=30.0)
    of = mf.Attention(heads, "softmax", beta=0.7, mask=mf.Window(0.6, causal=True), rotary=rotary)
    x, expected = tokens(n, d), np.zeros((n, d))
    for i in range(n):
        for head in heads:
            q, key, value = (np.array(each) for each in (head.query, head.key, head.value))
            above, below = np.zeros(d), 0.0
            for j in range(max(0, i - 3), i + 1):
                r = np.zeros((k, k))
                for p in range(k // 2):
                    a = 5.0 * 30.0 ** (-2 * p / k) * (j - i) / n
                    r[2 * p : 2 * p + 2, 2 * p : 2 * p + 2] = [
                        [np.cos(a), -np.sin(a)],
                        [np.sin(a), np.cos(a)],
                    ]
                weight = np.exp(0.7 * (q @ x[i]) @ r @ (key @ x[j]))
                above, below = above + weight * x[j], below + weight
            expected[i] += value @ above / below
    output = heads_interaction(mf.Problem(mf.Sphere(d), of)).output(x, None)
    np.testing.assert_allclose(output, expected, rtol=0, atol=1e-13)


@pytest.mark.slow
def test_no_frequency_is_no_rotary_embedding():
    """A frequency of 0 would take another path; a shift of positions would move tokens."""
    assert mf.Attention(TWO, beta=2.0, rotary=mf.Rotary(0.0)) == mf.Attention(TWO, beta=2.0)
    x = tokens(8, 2)
    none, slow = (final(mf.Attention(beta=2.0, rotary=mf.Rotary(r)), x) for r in (0.0, 1e-9))
    np.testing.assert_allclose(slow, none, rtol=0, atol=1e-8)
    moved = [final(mf.Attention(beta=2.0, rotary=mf.Rotary(3.0, base=b)), x) for b in (1.0, 50.0)]
    np.testing.assert_array_equal(*moved)


@pytest.mark.parametrize(
    "options", [{"mask": "causal"}, {"mask": mf.Window(0.3)}, {"rotary": mf.Rotary(3.0)}], ids=str
)
def test_masks_have_no_energy(options):
    """The energy of attention of all to all would be reported: no flow under a mask climbs it."""
    problem = mf.Problem(mf.Circle(), mf.Attention(beta=2.0, **options))
    assert energy_note(problem).startswith("no energy: positions attend")
    run = mf.simulate(problem, until=0.1, save=2, representation="particles", tokens=9)
    assert np.isnan(run.observables["energy"]).all()


def test_layers_have_masks_of_positions():
    """Discrete layers would attend to all: one layer is x + h v, normalised."""
    x, h = tokens(8, 3), 0.2
    attention = mf.Attention(TWO[:1], beta=2.0, mask=mf.Window(0.3, globals=0.2))
    problem = mf.Problem(
        mf.Sphere(), attention, initial=mf.from_points(x), layers=mf.Layers(step=h)
    )
    run = mf.simulate(problem, until=1, save=2)
    w = np.exp(pair_weights(attention.mask, 8).logarithms(slice(0, 8), 8))
    moved = x + h * by_hand(attention.matrices(3), x, w, np.ones(8), "softmax", 0.0, 0.0)
    moved /= np.linalg.norm(moved, axis=1)[:, None]
    np.testing.assert_allclose(run.measures[-1].points, moved, rtol=0, atol=1e-13)


BIAS = """import numpy as np


def near(u):
    return -u**2 / (2 * 0.25**2)


def nothing(u):
    return np.full(3, np.nan)
"""
RUN = """
problem = { manifold = "circle", beta = 4.0 }
initial = { modes = [[1, 0.1, 0.0], [2, 0.2, 0.4]] }
time = { end = 2.0, save = 5 }
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "overrides",
    [
        ["problem.mask=window", "problem.window=0.3", "representation.labels=8"],
        ["problem.mask=bias.py:near", "problem.sink=0.5", "representation.labels=6"],
        ["problem.rotary_length=3", "representation.labels=6"],
        [
            "problem.mask=window",
            "problem.window=0.3",
            "problem.causal=true",
            "problem.globals=0.1",
            "problem.diffusivity=0.05",
            "time.step=0.05",
            "representation.name=particles",
            "representation.tokens=30",
        ],
    ],
    ids=["window", "bias", "rotary", "noisy tokens"],
)
def test_runs_that_stop_half_way_resume_to_the_bit(tmp_path, overrides):
    """A resumed run would go on without its mask."""
    (tmp_path / "bias.py").write_text(BIAS)
    for run in whole_and_resumed(tmp_path, RUN, overrides):
        assert run.facts.mask.startswith(("Window(0.3", "Bias(bias.py:near)", "Rotary(3"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"mask": mf.Bias(lambda u: -8.0 * u**2)},
        {"mask": mf.Window(0.3)},
        {"rotary": mf.Rotary(3.0)},
    ],
    ids=str,
)
def test_runs_under_masks_have_a_page(tmp_path, options):
    """Pages of labels that are not equidistant would fail."""
    problem = mf.Problem(
        mf.Circle(),
        mf.Attention(beta=4.0, **options),
        initial=mf.perturbed_uniform([[1, 0.1, 0.0]]),
    )
    run = mf.simulate(problem, 0.5, save=3, labels=8)
    run.view().save(tmp_path / "run.html")
    assert "<html" in (tmp_path / "run.html").read_text("utf-8")
    assert len(run.plot("labels").axes) > 0


@pytest.mark.slow
def test_ensembles_have_masks():
    """Tokens of an ensemble would attend to all: windows that narrow keep more clusters."""
    law = mf.perturbed_uniform([[1, 0.1, 0.0]])
    counts = [
        mf.ensemble(masked(mask, initial=law), tokens=12, runs=4, times=[2.0], workers=1).counts
        for mask in (mf.Window(0.999), mf.Window(0.1))
    ]
    assert counts[1].mean() > counts[0].mean() + 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"mask": mf.Window(0.3)},
        {"mask": mf.Window(0.2, causal=True, globals=0.1)},
        {"mask": np.array([[1.0, 0.0], [0.25, 2.0]])},
        {"rotary": mf.Rotary(3.0, base=100.0)},
        {"mask": "alibi", "alibi_rate": 2.0, "rotary": mf.Rotary(-3.0)},
    ],
    ids=str,
)
def test_run_files_are_the_problems_of_python(tmp_path, options):
    """A run file that Python writes would build another mask."""
    law = mf.perturbed_uniform([[1, 0.1, 0.0]])
    stages = [mf.Stage(end=1.0), mf.Stage(kernel=mf.Attention(beta=3.0, mask="causal"))]
    attention = mf.Attention(beta=2.0, **options)
    problem = mf.Problem(mf.Circle(), attention, initial=law, stages=stages)
    path = tmp_path / "run.toml"
    tokens_alone = Options(name="particles", tokens=5)
    tables = written(problem, tokens_alone, {"end": 1.0, "save": 2})
    path.write_text(tomli_w.dumps(tables))
    assert load_config(path).problem == problem
    problem = replace(problem, stages=())
    run = mf.simulate(problem, until=0.1, save=2)
    run.save(tmp_path / "run.h5")
    assert mf.load(tmp_path / "run.h5").problem == problem


@pytest.mark.slow
def test_biases_of_python_have_a_name_alone(tmp_path):
    """A function whose name is that of a mask would be read as that."""

    def causal(u):
        return -u

    law = mf.perturbed_uniform([[1, 0.1, 0.0]])
    problem = mf.Problem(mf.Circle(), mf.Attention(beta=2.0, mask=mf.Bias(causal)), initial=law)
    mf.simulate(problem, until=0.1, save=2, labels=4).save(tmp_path / "run.h5")
    with pytest.raises(ValueError, match=r"mask Bias\(causal\), a function .* problem again"):
        _ = mf.load(tmp_path / "run.h5").problem


def test_checks_without_code_have_a_bias_too(tmp_path):
    """`check` would look at a problem without positions."""
    (tmp_path / "bias.py").write_text("raise RuntimeError")
    (tmp_path / "run.toml").write_text(RUN.replace("4.0 }", '4.0, mask = "bias.py:near" }'))
    config = load_config(tmp_path / "run.toml", code="later")
    assert config.unexecuted == ("bias.py:near",)
    assert isinstance(config.problem.mask, mf.Bias)


def test_stages_change_masks(tmp_path):
    """A stage with another mask would inherit the width of a window."""
    (tmp_path / "run.toml").write_text(
        RUN.replace("4.0 }", '4.0, mask = "window", window = 0.3, globals = 0.1 }')
        + 'representation = { name = "particles", tokens = 9 }\n[[stages]]\nend = 1.0\n'
        + '[[stages]]\nmask = "alibi"\nalibi_rate = 2.0\n'
    )
    stages = load_config(tmp_path / "run.toml").problem.staged
    assert [each.mask for each in stages] == [mf.Window(0.3, globals=0.1), "alibi"]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (["mask=widow"], 'mask = "widow" is not known. Did you mean window? Known: '),
        (["mask=window"], 'window belongs to mask = "window": give both or neither.'),
        (["window=0.3"], 'window belongs to mask = "window": give both or neither.'),
        (["mask=window", "window=-1"], "width of a window must be positive, got -1."),
        (["mask=window", "window=0.3", "globals=2"], "globals must lie between 0 and 1, got 2."),
        (["mask=causal", "globals=0.1"], 'globals belong to mask = "window", got "causal".'),
        (["mask=causal", "causal=true"], 'causal belongs to mask = "window" or a function'),
        (["mask=bias.py:nothing"], "a bias must give numbers or -inf, got nan at s - s' = 0."),
        (["mask=none.py:near"], 'must be "file.py:function" of an existing file.'),
        (["mask=[[1, 2]]"], "mask has shape (1, 2), expected (n, n)"),
        (["mask=[[1, 0], [0, 0]]"], "row 1 of the mask is 0: each token must see one."),
        (
            ["kernel=linear", "mask=window", "window=1"],
            'mask = "window" needs kernel = "exponential"',
        ),
        (["normalization=sinkhorn", "mask=window", "window=0.3"], "exclude each other"),
        (["rotary_length=3", "rotary_base=0.5"], "must be at least 1, got 0.5."),
        (["rotary_base=100"], "rotary_base needs rotary_length: give both, or drop it."),
        (["rotary_length=3", "kernel=linear"], 'rotary_length needs kernel = "exponential"'),
        (["rotary_length=3", "manifold=sphere"], "queries have 3 components: take an even number"),
    ],
    ids=str,
)
def test_run_files_refuse_masks_in_one_line(tmp_path, override, message):
    """A user would not know which key to change."""
    (tmp_path / "bias.py").write_text(BIAS)
    refused_in_one_line(message, tmp_path, RUN, [f"problem.{each}" for each in override])


def rotary(space=None, heads=None, length=3.0, **options) -> mf.Problem:
    of = mf.Attention(heads or [mf.Head()], beta=2.0, rotary=mf.Rotary(length))
    return mf.Problem(space or mf.Circle(), of, **options)


@pytest.mark.parametrize(("make", "message"), [
    (lambda: mf.Rotary(3.0, base=0.0), "at least 1"),
    (lambda: rotary(mf.Sphere()), "queries have 3 components: take an even number"),
    (lambda: rotary(mf.Sphere(4), [mf.Head(query=np.ones((3, 4)), key=np.ones((3, 4)))]), "3"),
    (lambda: rotary(heads=[mf.Head(score=2.0)]), "give a head query and key, and no score"),
    (lambda: mf.Attention([mf.Head()], "sinkhorn", beta=1.0, rotary=mf.Rotary(1.0)),
     "rotary and normalization"),
    (lambda: rotary(mf.Axial(4)), "Axial|axial"),
    (lambda: mf.simulate(rotary(heads=[mf.Head(query=[1.0, 2.0])]), 1.0), "head 1: densities"),
    (lambda: mf.simulate(rotary(length=100.0), 1.0, labels=9), "9 labels do not resolve"),
    (lambda: mf.simulate(rotary(mf.Sphere(), [mf.Head(query=np.eye(3)[:2], key=np.eye(3)[:2])]),
                         1.0),
     "on the circle alone"),
    (lambda: mf.growth_rates(rotary(), 3), "no growth rate"),
    (lambda: mf.growth_rate_max(rotary()), "no growth rate"),
    (lambda: mf.linear_operator(rotary()), "no growth rate"),
    (lambda: mf.predict_clusters(rotary(), 50), "no growth rate"),
    (lambda: mf.simulate(rotary(), 1.0, unit="growth"), "scaled or paper"),
    (lambda: mf.simulate(rotary(), 1.0, representation="density"), "positions"),
    (lambda: mf.ensemble(rotary(), tokens=9, runs=2, times=[1.0]), "no growth rate"),
])  # fmt: skip
def test_rotary_embeddings_are_refused_where_they_are_not_supported(make, message):
    """Phases would be ignored in silence."""
    refused(message, make)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"mask": "causal"}, "stage 2: labels stand elsewhere than before"),
        ({"mask": mf.Window(0.3)}, "stage 2: labels stand elsewhere than before"),
        ({"heads": [mf.Head(query=[1.0, 2.0])], "rotary": mf.Rotary(1.0)}, "stage 2: head 1"),
    ],
    ids=str,
)
def test_later_stages_have_the_same_labels(second, message):
    """Densities of some positions would go on as others'."""
    first, other, wrong = (
        mf.Attention(**{"heads": [mf.Head()], "beta": 2.0} | options)
        for options in ({"mask": mf.Bias(gaussian(0.3))}, {"rotary": mf.Rotary(2.0)}, second)
    )
    law = mf.perturbed_uniform([[1, 0.1, 0.0]])
    for later in (other, wrong):
        stages = [mf.Stage(end=0.1), mf.Stage(kernel=later)]
        problem = mf.Problem(mf.Circle(), first, initial=law, stages=stages)
        if later is wrong:
            refused(message, mf.simulate, problem, until=0.2, save=2, labels=6)
        else:
            assert mf.simulate(problem, until=0.2, save=2, labels=6).status == "completed"


def masked(mask, space=None, **options) -> mf.Problem:
    return mf.Problem(space or mf.Circle(), mf.Attention(beta=2.0, mask=mask), **options)


@pytest.mark.slow
@pytest.mark.parametrize(("make", "message"), [
    (lambda: mf.Window(0.0), "must be positive"),
    (lambda: mf.Window(0.5, globals=-0.1), "between 0 and 1"),
    (lambda: mf.Bias(lambda u: np.inf), "a bias must give numbers or -inf, got inf at"),
    (lambda: mf.Bias(lambda u: u[:2]), "returns as many numbers"),
    (lambda: mf.Bias(lambda u: u + 1j), "returns as many numbers"),
    (lambda: mf.Attention(beta=1.0, mask=-np.eye(2)), "not negative"),
    (lambda: mf.Attention(beta=1.0, mask=np.eye(5000)), "rows must be at most 4096"),
    (lambda: mf.Attention([mf.Head()], "sinkhorn", beta=1.0, mask=mf.Window(0.5)), "sinkhorn"),
    (lambda: mf.Attention([mf.Head(weight=mf.exponential(2.0))], mask=mf.Window(0.5)),
     "weight of its own"),
    (lambda: mf.simulate(masked(mf.Bias(lambda u: np.where(u > 0.02, 0.0, -np.inf))), 1.0),
     "label 0 of 64 sees none"),
    (lambda: mf.simulate(masked(np.eye(3), initial=mf.from_points([0.0, 1.0])), 1.0, save=2),
     "mask has 3 rows, expected 2, as many as tokens."),
    (lambda: mf.simulate(masked(np.eye(3)), 1.0, labels=4),
     "mask has 3 rows, expected 4, as many as labels"),
    (lambda: masked(mf.Window(0.5), mf.Axial(4)), "mask"),
    (lambda: mf.simulate(masked(mf.Window(0.5)), 1.0, representation="density"),
     "density cannot carry positions, which the mask asks for"),
    (lambda: mf.simulate(masked(mf.Window(0.5)), 1.0, representation="characteristics"), "mask"),
    (lambda: mf.ensemble_moments(masked(mf.Window(0.5)), tokens=9, runs=2, times=[1.0]),
     "positions"),
    (lambda: mf.fluctuations(masked(mf.Window(0.5)), until=1.0), "masks"),
    (lambda: mf.convergence_study(masked(mf.Window(0.5)), tokens=[9], until=1.0),
     "each position or frequency has its own"),
])  # fmt: skip
def test_masks_are_refused_where_they_are_not_supported(make, message):
    """A mask would be ignored in silence."""
    refused(message, make)


def test_sweeps_of_a_window_keep_its_unmasked_end():
    """`replace` of an attention would leave rates of another mask behind."""
    of = mf.Attention(beta=2.0, mask=mf.Window(0.5))
    assert replace(of, mask=mf.Window(1.0)) == mf.Attention(beta=2.0)
    assert replace(of, beta=3.0).mask == mf.Window(0.5)
