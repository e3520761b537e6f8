"""Random problems of every kind that `attack` leaves out, with a truth from the page `core`.

Heads with drifts and feed-forward layers, masks, frequencies, discrete layers, stages, axial
densities, symmetric starts, times to 1e6, few tokens, R^d.
"""

from typing import Any

import core
import numpy as np
from core import Points, Problem, attention, unit
from wide_case import (
    INF,
    Array,
    Case,
    attention_of,
    circle_law,
    circle_nodes,
    disturbed,
    flown,
    identity_head,
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

PROBLEMS = 300


def heads(rng: Any) -> Case:
    d, n = int(rng.choice([2, 3, 5, 9])), int(rng.integers(1, 40))
    how = str(rng.choice(["none", "softmax", "sinkhorn"], p=[0.4, 0.5, 0.1]))
    start, pairs = random_tokens(rng, d, n), random_heads(rng, d)
    terms, extra = [attention(pairs, how, log_scale(pairs))], {}
    if rng.random() < 0.5 and how != "sinkhorn":
        matrix = rng.normal(size=(d, d))
        terms.append(core.drift(matrix))
        extra["drift"] = mf.LinearDrift(matrix)
    if rng.random() < 0.5 and how != "sinkhorn":
        a, w, b = rng.normal(size=(4, d)), rng.normal(size=(d, 4)), rng.normal(size=4)
        terms.append(core.feed_forward(a, w, b))
        extra["feed_forward"] = mf.FeedForward(input=a, output=w, bias=b, activation="tanh")
    problem = mf.Problem(
        sphere_of(d), attention_of(pairs, how), initial=law_of(sphere_of(d), start), **extra
    )
    times = rng.uniform(0.5, 4.0) * np.array([0.4, 1.0])
    truth = flown([(INF, Problem(terms))], start, times)
    return Case(f"{how} heads, {n} tokens, d = {d}", problem, times, truth)


def head_density(rng: Any) -> Case:
    law, density = circle_law(rng)
    pairs, how = random_heads(rng, 2), str(rng.choice(["none", "softmax"]))
    carrier = str(rng.choice(["density", "characteristics", "auto"]))
    problem = mf.Problem(mf.Circle(), attention_of(pairs, how), initial=law)
    times = rng.uniform(0.3, 1.5) * np.array([0.4, 1.0])
    stages = [(INF, Problem([attention(pairs, how, log_scale(pairs))]))]
    truth = flown(stages, circle_nodes(density, 160), times, least=1e-12)
    return Case(f"{how} heads, {carrier} on the circle", problem, times, truth, {"name": carrier})


def masks(rng: Any) -> Case:
    d, n = int(rng.choice([2, 3, 6])), int(rng.integers(2, 40))
    start, pairs = random_tokens(rng, d, n, equal=True), random_heads(rng, d)
    rate = None if rng.random() < 0.5 else float(rng.uniform(0.5, 50.0))
    name = "causal" if rate is None else "alibi"
    kernel = attention_of(pairs, "softmax", mask=name, alibi_rate=rate)
    problem = mf.Problem(
        sphere_of(d), kernel, initial=mf.from_points(sphere_of(d).points_of(start.y))
    )
    mask = core.causal if rate is None else core.alibi(rate)
    times = rng.uniform(0.5, 5.0) * np.array([0.4, 1.0])
    truth = flown([(INF, Problem([attention(pairs, mask=mask)]))], start, times)
    return Case(f"{name} mask, {n} tokens, d = {d}", problem, times, truth)


def mask_density(rng: Any) -> Case:
    law, density = circle_law(rng)
    beta = random_beta(rng, most=4.0)
    rate = 0.0 if rng.random() < 0.5 else float(rng.uniform(0.5, 10.0))
    kernel = mf.Attention(beta=beta, mask="alibi" if rate else "causal", alibi_rate=rate or None)
    problem = mf.Problem(mf.Circle(), kernel, initial=mf.with_profile(law, 1.0))
    times = np.array([rng.uniform(0.3, 1.5)])
    start, weight, mask = position_points(density, rate)
    page = attention(identity_head(beta, 2), mask=mask)
    truth = flown([(INF, Problem([page]))], start, times, weight)
    words = f"densities over positions, beta = {beta}, rate = {rate:.3g}"
    return Case(words, problem, times, truth)


def turning(rng: Any) -> Case:
    """Tokens with frequencies; or densities over them with the linear kernel, for long."""
    if rng.random() < 0.5:
        n, beta = int(rng.integers(2, 40)), random_beta(rng)
        start = random_tokens(rng, 2, n, equal=True)._replace(label=rng.normal(size=n))
        circle, times = mf.Circle(), np.array([2.0, 6.0])
        problem = mf.Problem(
            circle, mf.exponential(beta), mf.SA, mf.from_points(circle.points_of(start.y)),
            frequencies=mf.GivenFrequencies(start.label),
        )  # fmt: skip
        page = Problem([attention(identity_head(beta, 2)), core.frequencies])
        return Case(f"{n} turning tokens", problem, times, flown([(INF, page)], start, times))
    law, density = circle_law(rng)
    width, end, count, n = float(rng.uniform(0.3, 1.5)), float(rng.uniform(2, 25)), 110, 96
    problem = mf.Problem(mf.Circle(), mf.linear(), mf.USA, law, frequencies=mf.UniformSpread(width))
    omega, w = np.polynomial.legendre.leggauss(count)
    nodes = circle_nodes(density, n)
    start = Points(
        np.tile(nodes.y, (count, 1)), np.kron(w / 2, nodes.mass), np.repeat(width * omega, n)
    )
    page = Problem([attention(identity_head(0.0, 2)), core.frequencies])
    # The linear kernel attends to the mean alone.
    truth = flown(
        [(INF, page)], start, np.array([end]), least=1e-11,
        seen=lambda p: Points((p.mass @ p.y)[None], np.ones(1)),
    )  # fmt: skip
    return Case(f"uniform frequencies, width {width:.2f}", problem, np.array([end]), truth)


def axial(rng: Any) -> Case:
    """Rings about an axis of R^d, their sums over the ring by Gauss and Gegenbauer."""
    from scipy.special import roots_gegenbauer

    d, beta, kappa = (
        int(rng.choice([4, 5, 8, 20])),
        random_beta(rng, most=6.0),
        float(rng.uniform(0.2, 3)),
    )
    flow = mf.Flow(bool(rng.random() < 0.5), 1.0 if rng.random() < 0.7 else -1.0)
    problem = mf.Problem(mf.Axial(d), mf.exponential(beta), flow, mf.von_mises_fisher(kappa))
    t, w = roots_gegenbauer(60, 0.5 * d - 1)
    u, v = roots_gegenbauer(24, 0.5 * d - 1.5) if d > 3 else (None, None)
    mass = w * np.exp(kappa * t)
    start = Points(np.column_stack([np.sqrt(1 - t**2), t]), mass / mass.sum())

    def rings(p: Points) -> Points:
        sines = p.y[:, :1] * u
        heights = np.repeat(p.y[:, 1], len(u))
        return Points(np.column_stack([sines.ravel(), heights]), np.kron(p.mass, v / v.sum()))

    times = rng.uniform(0.3, 2.0) * np.array([0.5, 1.0])
    stages = [(INF, kernel_of(beta, 2, flow, beta))]
    truth = flown(stages, start, times, axial=True, seen=rings, least=1e-12)
    return Case(f"axial density, d = {d}, beta = {beta}", problem, times, truth, axial=True)


def layers(rng: Any) -> Case:
    """Tokens through discrete layers, with a drift as a layer of its own."""
    d, n = int(rng.choice([2, 3, 4, 9])), int(rng.integers(1, 30))
    placement, h = str(rng.choice(list(core.PLACEMENTS))), float(rng.uniform(0.05, 1.0))
    count, start, pairs = int(rng.integers(1, 12)), random_tokens(rng, d, n), random_heads(rng, d)
    terms, extra = [attention(pairs)], {}
    if rng.random() < 0.5:
        matrix = rng.normal(size=(d, d))
        terms.append(core.drift(matrix))
        extra["drift"] = mf.LinearDrift(matrix)
    problem = mf.Problem(
        sphere_of(d), attention_of(pairs, "softmax"), initial=law_of(sphere_of(d), start),
        layers=mf.Layers(h, count=count, placement=placement), **extra,
    )  # fmt: skip

    def truth(tolerance: float, shift: float) -> list[Array]:
        tokens = disturbed(start, shift)
        tokens = tokens._replace(y=unit(tokens.y))
        for number in range(count):
            tokens = core.layer(terms, placement, tokens, number, h)
        return [summary(unit(tokens.y), tokens.mass)]

    return Case(f"{count} {placement} layers, d = {d}", problem, np.array([float(count)]), truth)


def stages(rng: Any) -> Case:
    """Two or three kernels one after another; tokens of any sphere, densities on the circle."""
    d = int(rng.choice([2, 3, 7]))
    betas, flow = [random_beta(rng) for _ in range(int(rng.integers(2, 4)))], mf.SA
    if rng.random() < 0.5:
        flow = mf.USA
    ends = [*np.cumsum(rng.uniform(0.2, 1.0, len(betas) - 1)).tolist(), INF]
    pages = [
        (end, kernel_of(beta, d, flow, max(betas))) for end, beta in zip(ends, betas, strict=True)
    ]
    kernels = [
        mf.Stage(end=None if end == INF else end, kernel=mf.exponential(beta))
        for end, beta in zip(ends, betas, strict=True)
    ]
    dense = d == 2 and rng.random() < 0.5
    if dense:
        law, density = circle_law(rng)
        start = circle_nodes(density, 160)
    else:
        start = random_tokens(rng, d, int(rng.integers(2, 30)))
        law = law_of(sphere_of(d), start)
    problem = mf.Problem(sphere_of(d), kernels[0].kernel, flow, law, stages=kernels)
    times = ends[-2] * np.array([0.7, 1.6])
    how = {"least": 1e-12} if dense else {}
    words = f"{len(betas)} stages, d = {d}, {'density' if dense else 'tokens'}"
    return Case(words, problem, times, flown(pages, start, times, **how))


def symmetric_heads(rng: Any) -> Case:
    """Uniform or antipodal starts under heads, to 1e4: no mean ever appears."""
    space = [mf.Circle(), mf.Sphere()][int(rng.random() < 0.25)]
    pairs, how = random_heads(rng, space.ambient), str(rng.choice(["softmax", "none", "sinkhorn"]))
    carrier = str(rng.choice(["auto", "characteristics"]))
    antipodal = mf.perturbed_uniform([[2, float(rng.uniform(0.05, 0.5)), 0.0]])
    law = antipodal if rng.random() < 0.5 else mf.perturbed_uniform([])
    # Scores of twice the size: clusters on both sides are unstable to what breaks the symmetry.
    pairs = [(2.0 * b, v) for b, v in pairs]
    problem = mf.Problem(space, attention_of(pairs, how), initial=law)
    times = np.geomspace(1.0, 1e4, 7)
    words = f"{how} heads, antipodal, {carrier}, d = {space.ambient}"
    truth = [np.zeros(space.ambient)] * len(times)
    return Case(words, problem, times, lambda tolerance, shift: truth, {"name": carrier})


def symmetric_axial(rng: Any) -> Case:
    """Axial densities that are the same at both poles, to 1e4: no mean ever appears."""
    d, beta = int(rng.choice([3, 5, 12])), random_beta(rng, 1.0, 9.0)
    law = mf.mixture([[0.5, 0.0, 5.0], [0.5, np.pi, 5.0]])
    problem = mf.Problem(mf.Axial(d), mf.exponential(beta), mf.SA, law)
    times, truth = np.geomspace(1.0, 1e4, 7), [np.zeros(1)] * 7
    words = f"axial density, antipodal, d = {d}, beta = {beta}"
    return Case(words, problem, times, lambda tolerance, shift: truth, axial=True)


def symmetric(rng: Any) -> Case:
    """Regular polygons, or densities with k-fold symmetry, to 1e6: no mean ever appears."""
    kind = rng.random()
    if kind < 0.5:
        return symmetric_heads(rng)
    if kind < 0.6:
        return symmetric_axial(rng)
    k, flow = int(rng.integers(2, 7)), mf.SA if rng.random() < 0.5 else mf.USA
    beta, circle = random_beta(rng, 1.0, 9.0), mf.Circle()
    if rng.random() < 0.4:
        law = mf.from_points(2 * np.pi * np.arange(k) / k + float(rng.uniform(0, 6)))
    else:
        law = mf.perturbed_uniform([[k, float(rng.uniform(0.05, 0.5)), 0.0]])
    problem = mf.Problem(circle, mf.exponential(beta), flow, law)
    times = np.geomspace(1.0, 1e6, 7)
    # The mean alone is compared: it is 0.
    words = f"{k}-fold {'tokens' if not law.name.startswith('pert') else 'density'}, beta = {beta}"
    return Case(words, problem, times, lambda tolerance, shift: [np.zeros(2)] * len(times))


def clusters(x: Array, mass: Array, beta: float) -> int | None:
    """Number of groups of few points; None where gaps or masses are near what the rule asks."""
    radius, apart = 0.25 / np.sqrt(beta), np.arccos(np.clip(x @ x.T, -1.0, 1.0))
    near = apart < 0.5 * radius
    if np.any(~near & (apart < 2.0 * radius)):
        return None
    groups = {tuple(row) for row in np.linalg.matrix_power(near.astype(int), len(x)) > 0}
    return len(groups) if all(mass @ np.array(each) > 0.02 for each in groups) else None


def late(rng: Any) -> Case:
    """Two to six tokens until 10 to 1e6, by an implicit method."""
    d, n = int(rng.choice([2, 3])), int(rng.integers(2, 7))
    flow = mf.Flow(bool(rng.random() < 0.5), 1.0 if rng.random() < 0.8 else -1.0)
    beta, start = (
        random_beta(rng, 1.0, 9.0),
        random_tokens(rng, d, n, equal=bool(rng.random() < 0.5)),
    )
    carrier = str(rng.choice(["particles", "atoms", "auto"]))
    problem = mf.Problem(sphere_of(d), mf.exponential(beta), flow, law_of(sphere_of(d), start))
    times = np.geomspace(1.0, 10 ** rng.uniform(1, 6), 4)
    stages = [(INF, kernel_of(beta, d, flow, beta))]
    truth = flown(stages, start, times, method="LSODA")

    def count() -> int | None:
        *_, end = core.evolve(stages, start, times, method="LSODA")
        return clusters(end, start.mass, beta)

    words = f"{n} tokens until {times[-1]:.2g}, d = {d}, beta = {beta}, {carrier}"
    return Case(words, problem, times, truth, {"name": carrier}, count=count)


def euclidean(rng: Any) -> Case:
    """Tokens of R^d with softmax."""
    d, n = int(rng.integers(1, 6)), int(rng.integers(1, 20))
    pairs, start = (
        random_heads(rng, d),
        random_tokens(rng, d, n)._replace(y=rng.normal(size=(n, d))),
    )
    problem = mf.Problem(
        mf.Euclidean(d), attention_of(pairs, "softmax"), initial=mf.from_points(start.y, start.mass)
    )
    times = np.array([0.3, 0.8])
    stages = [(INF, Problem([attention(pairs)], sphere=False))]
    return Case(f"{n} tokens of R^{d}", problem, times, flown(stages, start, times))


KINDS = (
    heads, head_density, masks, mask_density, turning, axial, layers, stages, symmetric, late, late,
    euclidean,
)  # fmt: skip


def wide(seed: int) -> Case:
    """Problem number `seed`."""
    rng = np.random.default_rng([32, seed])
    case = KINDS[seed % len(KINDS)](rng)
    case.options.update(tolerance=random_tolerance(rng))
    return case
