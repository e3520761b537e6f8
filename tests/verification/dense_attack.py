"""Random problems with a truth from the page `core`, as in `wide_attack`: labels and densities.

Gaussian and Lorentzian frequencies, heads over positions, densities through layers, on the sphere
under heads, and stages of heads.
"""

from typing import Any

import core
import numpy as np
from core import Points, Problem, attention
from label_quadrature import at_modes, sphere_points
from scipy.integrate import solve_ivp
from wide_case import (
    INF,
    Array,
    Case,
    attention_of,
    circle_law,
    circle_nodes,
    flown,
    kernel_of,
    law_of,
    log_scale,
    position_points,
    random_beta,
    random_heads,
    random_tokens,
    random_tolerance,
    sphere_of,
    summary,
)

import meanfield as mf
from meanfield.carriers import Options, represent

PROBLEMS = 150

# Moments up to this degree, on so many nodes, are all that kernels of beta <= 2 attend to: the next
# one has the share I_25(2) = 1e-25.
_DEGREE, _NODES = 24, 64


def as_nodes(points: Points) -> Points:
    """Nodes, of masses of either sign, with the same moments up to `_DEGREE`."""
    z = points.y[:, 0] - 1j * points.y[:, 1]
    powers = np.cumprod(np.broadcast_to(z, (_DEGREE, len(z))), axis=0)
    return nodes_of(np.concatenate([[points.mass.sum()], powers @ points.mass]), _NODES)


def mean(points: Points) -> Points:
    return Points((points.mass @ points.y)[None], np.ones(1))


def nodes_of(moments: Array, count: int) -> Points:
    """Nodes of the trigonometric polynomial with moments c_k, the means of e^{-ik theta}."""
    angles = 2 * np.pi * np.arange(count) / count
    waves = np.exp(1j * np.outer(angles, np.arange(1, len(moments))))
    values = moments[0].real + 2 * (waves @ moments[1:]).real
    return Points(np.column_stack([np.cos(angles), np.sin(angles)]), values / count)


def gaussian(rng: Any) -> Case:
    """Densities over normal frequencies: equidistant ones, until long before they recur."""
    width, centre = float(rng.uniform(0.2, 1.2)), float(rng.normal())
    linear, wave = rng.random() < 0.4, float(rng.uniform(-2, 2)) * (rng.random() < 0.3)
    end = float(rng.uniform(1, 6) if linear else rng.uniform(0.5, 2))
    flow = mf.USA if linear or rng.random() < 0.4 else mf.SA
    beta, (law, density) = 0.0 if linear else random_beta(rng, most=2.0), circle_law(rng)
    size = float(rng.uniform(0.1, 0.8))
    # Moments of degree 6 at the end have waves e^{6 i omega t}.
    step = 2 * np.pi / (6 * end + abs(wave) + 9 / width)
    omega = step * np.arange(-int(7.6 * width / step) - 1, int(7.6 * width / step) + 2)
    share = np.exp(-0.5 * (omega / width) ** 2)
    share /= share.sum()
    omega += centre
    n = 48 if linear else 40
    if wave:
        law = mf.from_labels(
            lambda w: mf.perturbed_uniform([[1, size * np.cos(wave * w), size * np.sin(wave * w)]])
        )
        parts = [circle_nodes(lambda t, w=w: 1 + size * np.cos(t - wave * w), n) for w in omega]
    else:
        parts = [circle_nodes(density, n)] * len(omega)
    start = Points(
        np.concatenate([part.y for part in parts]),
        np.concatenate([s * part.mass for s, part in zip(share, parts, strict=True)]),
        np.repeat(omega, n),
    )
    problem = mf.Problem(
        mf.Circle(), mf.linear() if linear else mf.exponential(beta), flow, law,
        frequencies=mf.Gaussian(width, centre),
    )  # fmt: skip
    page = kernel_of(beta, 2, flow, beta)._replace(
        terms=[*kernel_of(beta, 2, flow, beta).terms, core.frequencies]
    )
    times = end * np.array([0.5, 1.0])
    truth = flown([(INF, page)], start, times, least=1e-11, seen=mean if linear else as_nodes)
    words = f"normal frequencies, width {width:.2f}, beta = {beta}, wave {wave:.2f}, to {end:.1f}"
    return Case(words, problem, times, truth)


def lorentzian(rng: Any) -> Case:
    """Densities over Cauchy's law under the linear kernel, whose mean has equations of its own.

    Moments c_k of frequency omega are bounded and analytic where Im omega < 0, and the mean is that
    at the pole centre - i width of the law:

        c_k' = -k (i centre + width) c_k + strength k/2 (c_1 c_{k-1} - conj(c_1) c_{k+1}).
    """
    width, centre = float(rng.uniform(0.05, 1.0)), float(rng.normal())
    flow = mf.Flow("none", 1.0 if rng.random() < 0.7 else -1.0)
    times, (law, density) = rng.uniform(0.3, 2.0) * np.array([0.4, 1.0]), circle_law(rng)
    k, nodes = np.arange(400), circle_nodes(density, 64)
    z = nodes.y[:, 0] - 1j * nodes.y[:, 1]
    first = np.array([nodes.mass @ z**degree for degree in range(4)])
    problem = mf.Problem(
        mf.Circle(), mf.linear(), flow, law, frequencies=mf.Lorentzian(width, centre)
    )

    def rate(_: float, c: Array) -> Array:
        above = np.append(c[1:], 0.0)
        pulled = c[1] * np.roll(c, 1) - np.conj(c[1]) * above
        return k * (-(1j * centre + width) * c + 0.5 * flow.strength * pulled)

    def truth(tolerance: float, shift: float) -> list[Array]:
        start = np.zeros(len(k), dtype=complex)
        start[:4] = first + shift * np.array([0.0, 1.0, 0.5, -0.3j])
        solved = solve_ivp(
            rate, (0.0, times[-1]), start, "DOP853", times, rtol=1e-13, atol=1e-14
        )  # fmt: skip
        assert np.abs(solved.y[-1]).max() < 1e-13
        return [summary(*nodes_of(c[:4], 16)[:2]) for c in solved.y.T]

    words = f"Cauchy frequencies, width {width:.2f}, strength {flow.strength}, to {times[-1]:.1f}"
    # No number of labels resolves their heavy tails better.
    tolerance = float(f"{10 ** rng.uniform(-3.2, -2.2):.1e}")
    return Case(words, problem, times, truth, {"tolerance": tolerance})


def drawn_frequencies(rng: Any) -> Case:
    """Tokens drawn from a density and a law of frequencies; the draw itself is the package's."""
    n, beta, (law, _) = int(rng.integers(2, 40)), random_beta(rng), circle_law(rng)
    laws = (mf.Gaussian, mf.Lorentzian, mf.UniformSpread)
    frequencies = laws[int(rng.integers(3))](float(rng.uniform(0.1, 1.0)), float(rng.normal()))
    flow = mf.Flow(bool(rng.random() < 0.6), 1.0 if rng.random() < 0.7 else -1.0)
    problem = mf.Problem(mf.Circle(), mf.exponential(beta), flow, law, frequencies=frequencies)
    options = {"name": "particles", "tokens": n, "seed": int(rng.integers(100))}
    drawn = represent(problem, Options(**options))
    angles = np.array(drawn.state)
    y = np.column_stack([np.cos(angles), np.sin(angles)])
    start = Points(y, np.full(n, 1 / n), np.array(drawn.frequencies))
    kernel = kernel_of(beta, 2, flow, beta)
    page = Problem([*kernel.terms, core.frequencies])
    times = rng.uniform(1.0, 5.0) * np.array([0.4, 1.0])
    words = f"{n} tokens drawn with {frequencies!r}"
    return Case(words, problem, times, flown([(INF, page)], start, times), options)


def head_positions(rng: Any) -> Case:
    """Densities over positions under heads, with profiles s and s^2."""
    law, density = circle_law(rng)
    pairs, power = [(0.6 * b, v) for b, v in random_heads(rng, 2)], int(rng.integers(1, 3))
    rate = 0.0 if rng.random() < 0.5 else float(rng.uniform(0.5, 5.0))
    name = "alibi" if rate else "causal"
    kernel = attention_of(pairs, "softmax", mask=name, alibi_rate=rate or None)
    problem = mf.Problem(mf.Circle(), kernel, initial=mf.with_profile(law, float(power)))
    times = np.array([rng.uniform(0.2, 0.6)])
    start, weight, mask = position_points(density, rate, power, count=8, n=48)
    truth = flown([(INF, Problem([attention(pairs, mask=mask)]))], start, times, weight)
    return Case(f"heads over positions, {name}, profile {power}", problem, times, truth)


def layered_density(rng: Any) -> Case:
    """Densities on the circle through discrete layers, with a drift as a layer of its own."""
    (law, density), pairs = circle_law(rng), random_heads(rng, 2)
    placement, h = str(rng.choice(list(core.PLACEMENTS))), float(rng.uniform(0.01, 0.1))
    count, terms, extra = int(rng.integers(1, 7)), [attention(pairs)], {}
    if rng.random() < 0.4:
        matrix = rng.normal(size=(2, 2))
        terms.append(core.drift(matrix))
        extra["drift"] = mf.LinearDrift(matrix)
    carrier = str(rng.choice(["auto", "characteristics"]))
    problem = mf.Problem(
        mf.Circle(), attention_of(pairs, "softmax"), initial=law,
        layers=mf.Layers(h, count=count, placement=placement), **extra,
    )  # fmt: skip

    def truth(tolerance: float, shift: float) -> list[Array]:
        tokens = circle_nodes(lambda t: density(t) + shift * np.cos(t - 1), 480)
        for number in range(count):
            tokens = core.layer(terms, placement, tokens, number, h)
        return [summary(core.unit(tokens.y), tokens.mass)]

    words = f"density through {count} {placement} layers of {h:.2f}, {carrier}"
    return Case(words, problem, np.array([float(count)]), truth, {"name": carrier})


def sphere_heads(rng: Any) -> Case:
    """Densities on the sphere under heads, for a short time: rings of Gauss times longitudes."""
    pairs, how = random_heads(rng, 3), str(rng.choice(["none", "softmax"]))
    pairs = [(0.6 * score, value) for score, value in pairs]
    degrees = [(1, 0), (1, 1), (2, -1), (3, 2)]
    sizes = rng.normal(size=4)
    sizes *= rng.uniform(0.05, 0.4) / np.abs(sizes).sum()
    modes = [[l, m, float(size)] for (l, m), size in zip(degrees, sizes, strict=True)]
    carrier = str(rng.choice(["density", "characteristics", "auto"]))
    problem = mf.Problem(mf.Sphere(), attention_of(pairs, how), initial=mf.perturbed_uniform(modes))
    u, weight = np.polynomial.legendre.leggauss(16)
    phi = 2 * np.pi * np.arange(32) / 32
    y = sphere_points(np.arccos(u)[:, None], phi).reshape(-1, 3)
    start = Points(y, np.repeat(weight / 2, 32) / 32 * at_modes(modes, y, "sphere"))
    times = np.array([rng.uniform(0.15, 0.5)])
    stages = [(INF, Problem([attention(pairs, how, log_scale(pairs))]))]
    truth = flown(stages, start, times, least=1e-11)
    # Cells of characteristics are many.
    size = -3.0 if carrier == "characteristics" else -6.0
    options = {"name": carrier, "tolerance": float(f"{10 ** rng.uniform(size - 2, size):.1e}")}
    return Case(f"{how} heads, {carrier} on the sphere", problem, times, truth, options)


def stages_of_heads(rng: Any) -> Case:
    """Two or three attentions one after another, each with a drift, or none has one."""
    d, how = int(rng.choice([2, 3, 5])), str(rng.choice(["none", "softmax"]))
    number, drifts = int(rng.integers(2, 4)), rng.random() < 0.5
    heads = [random_heads(rng, d) for _ in range(number)]
    matrices = [rng.normal(size=(d, d)) for _ in range(number)]
    ends = [*np.cumsum(rng.uniform(0.2, 0.8, number - 1)).tolist(), INF]
    scale = max(map(log_scale, heads))
    pages, parts = [], []
    for end, pairs, matrix in zip(ends, heads, matrices, strict=True):
        terms = [attention(pairs, how, scale), core.drift(matrix)]
        pages.append((end, Problem(terms if drifts else terms[:1])))
        extra = {"drift": mf.LinearDrift(matrix)} if drifts else {}
        kernel = attention_of(pairs, how)
        parts.append(mf.Stage(end=None if end == INF else end, kernel=kernel, **extra))
    dense = d == 2 and rng.random() < 0.6
    if dense:
        law, density = circle_law(rng)
        start = circle_nodes(density, 200)
    else:
        start = random_tokens(rng, d, int(rng.integers(2, 30)))
        law = law_of(sphere_of(d), start)
    problem = mf.Problem(sphere_of(d), parts[0].kernel, initial=law, stages=parts)
    times = ends[-2] * np.array([0.7, 1.6])
    least = {"least": 1e-12} if dense else {}
    words = f"{number} stages of {how} heads, d = {d}, {'density' if dense else 'tokens'}"
    return Case(words, problem, times, flown(pages, start, times, **least))


KINDS = (
    gaussian, lorentzian, drawn_frequencies, head_positions, layered_density, sphere_heads,
    stages_of_heads,
)  # fmt: skip


def dense(seed: int) -> Case:
    """Problem number `seed`."""
    rng = np.random.default_rng([33, seed])
    case = KINDS[seed % len(KINDS)](rng)
    case.options.setdefault("tolerance", random_tolerance(rng))
    return case
