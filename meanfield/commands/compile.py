"""`meanfield compile`: compile all kernels now, for images of containers and for CI.

Kernels are compiled for the types of their arguments, so this module solves small problems that
together call all kernels. Kernels in the cache are loaded and take no time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pkgutil import walk_packages
from typing import TYPE_CHECKING, Any

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.commands.progress import say, with_progress

if TYPE_CHECKING:
    from meanfield.problem import Problem
    from meanfield.spaces import Manifold
    from meanfield.terms.flows import Flow

Job = Callable[[], Any]
# Numbers of tokens with different methods for their velocities.
_TOKENS = {"circle": (20, 3000, 60_000), "sphere": (20, 3000)}
_WAVES: dict[int, list[list[float]]] = {1: [[2, 0.1, 0.0]], 2: [[2, 0, 0.1]]}
_BETA = 4.0
# Tables of weights this long have an index of their columns.
_MANY_DEGREES = 130


def compile_command(options: argparse.Namespace) -> int:
    """Compile all kernels now, for images of containers and for CI."""
    from meanfield.engines.compiled import compilations, not_compiled

    _import_all()
    began, before = time.monotonic(), len(compilations)
    todo = list(jobs())
    for _, job in with_progress(
        todo, len(todo), "compile", quiet=options.quiet, note=lambda done: done[0]
    ):
        job()
    compiled, seconds = len(compilations) - before, time.monotonic() - began
    if compiled:
        say(f"compiled {compiled} kernels in {seconds:.0f} s")
    else:
        say("all kernels were compiled already")
    if missing := not_compiled():
        say(f"compiled on first use only: {', '.join(missing)}")
    return 0


def _import_all() -> None:
    """Import all modules: the decorator of kernels lists them."""
    import meanfield

    for module in walk_packages(meanfield.__path__, "meanfield."):
        if not module.name.endswith("__main__"):
            import_module(module.name)


def compile_for_workers(problem: Problem | None) -> None:
    """Compile kernels for tokens of a problem, None for any dimension, before workers each do."""
    if problem is None:
        compile_blocks()
        return
    for count in _TOKENS.get(problem.manifold.name, ())[:2]:
        step = 0.05 if problem.flow.diffusivity else None
        _tokens(problem.manifold, problem.flow, count, step=step)


def compile_blocks() -> None:
    """Compile kernels for tokens in any dimension, with small and large exponents."""
    import meanfield as mf
    from meanfield.fields.blocks import attention_output
    from meanfield.terms.attention import HeadMatrices

    for beta in (_BETA, 1e4):
        one = np.eye(3)
        attention_output(one, [HeadMatrices(beta * one, one)])
    mf.merging_diagram(3, 2, betas=[1.0], times=[0.1], runs=2)


def jobs() -> Iterator[tuple[str, Job]]:
    """Small problems with their names; together they call all kernels."""
    from meanfield.spaces import Axial, Circle, Sphere
    from meanfield.terms.flows import SA, USA, Flow

    for manifold in (Circle(), Sphere()):
        name = manifold.name
        for flow in (USA, SA):
            noisy = Flow(normalized=flow.normalized, diffusivity=0.05)
            yield f"{name}, density", partial(_density, manifold, flow)
            yield f"{name}, density with noise", partial(_density, manifold, noisy)
            yield f"{name}, characteristics", partial(_characteristics, manifold, flow)
            yield f"{name}, atoms", partial(_tokens, manifold, flow, 5, representation="atoms")
            for count in _TOKENS[name]:
                yield f"{name}, tokens", partial(_tokens, manifold, flow, count)
            yield f"{name}, tokens with noise", partial(_tokens, manifold, noisy, 20, step=0.05)
        yield f"{name}, heads", partial(_heads, manifold)
        yield f"{name}, prediction", partial(_predictions, manifold)
        yield f"{name}, pairs of tokens", partial(_pairs, manifold)
        yield f"{name}, distances", partial(_distances, manifold)
    yield "sphere, many degrees", partial(_density, Sphere(), noisy, max_degree=_MANY_DEGREES)
    for flow in (USA, noisy):
        yield "axial, density", partial(_density, Axial(5), flow)
    yield "tokens in any dimension", compile_blocks
    yield "samples of densities", _samples
    yield "clusters of a density", _clusters
    yield "angles on the sphere", _angles


def _run(manifold: Manifold, flow: Flow, law: Any, **options: Any) -> None:
    import meanfield as mf

    problem = mf.Problem(manifold, mf.exponential(_BETA), flow, law)
    mf.simulate(problem, until=0.1, save=2, tolerance=1e-3, **options)


def _law(manifold: Manifold) -> Any:
    import meanfield as mf

    waves = _WAVES.get(manifold.dimension)
    return mf.perturbed_uniform(waves) if waves else mf.von_mises_fisher(0.1)


def _density(manifold: Manifold, flow: Flow, **options: Any) -> None:
    _run(manifold, flow, _law(manifold), representation="density", **options)


def _characteristics(manifold: Manifold, flow: Flow) -> None:
    _run(manifold, flow, _law(manifold), representation="characteristics")


def _heads(manifold: Manifold) -> None:
    import meanfield as mf

    score = np.diag(np.arange(1.0, manifold.dimension + 2.0))
    for normalization in ("none", "softmax"):
        heads = mf.Attention([mf.Head(score=score)], normalization, beta=_BETA)
        problem = mf.Problem(manifold, heads, initial=_law(manifold))
        mf.simulate(problem, until=0.1, save=2, tolerance=1e-3)


def _tokens(manifold: Manifold, flow: Flow, count: int, **options: Any) -> None:
    import meanfield as mf

    law = mf.from_points(_points(manifold, count))
    _run(manifold, flow, law, **{"representation": "particles"} | options)


def _points(manifold: Manifold, count: int) -> FloatArray:
    rng = np.random.default_rng(0)
    if manifold.dimension == 1:
        return rng.uniform(0.0, 2.0 * np.pi, count)
    vectors = rng.normal(size=(count, 3))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def _predictions(manifold: Manifold) -> None:
    import meanfield as mf

    problem = mf.Problem(manifold, mf.exponential(_BETA), mf.USA, mf.uniform())
    for tokens in (200, _points(manifold, 200)):
        mf.predict_clusters(problem, tokens, samples=20, runs=2)


def _pairs(manifold: Manifold) -> None:
    """Sum over pairs, also where exponentials underflow, and at points that are no tokens."""
    from meanfield.engines.pairs.circle import exponential_velocity_circle
    from meanfield.engines.pairs.sphere import exponential_velocity_sphere

    velocity = (exponential_velocity_circle, exponential_velocity_sphere)[manifold.dimension - 1]
    points, masses = _points(manifold, 20), np.full(20, 0.05)
    for beta in (_BETA, -2e4):
        for targets in (None, points[:3]):
            velocity(points, masses, beta, True, targets)


def _distances(manifold: Manifold) -> None:
    import meanfield as mf

    # On the sphere the second coefficient has order 0 and is real.
    spectra = [1.0, 0.3, 0.1j], [1.0, 0.1, 0.1 + 0.1j]
    densities = [mf.Density(manifold, np.array(spectrum)) for spectrum in spectra]
    weighted = mf.Measure(manifold, _points(manifold, 9), np.arange(1.0, 10.0) / 45.0)
    many = mf.Measure(manifold, _points(manifold, 5000 if manifold.dimension == 1 else 12))
    for p in (1, 2):
        for other in (weighted, many, densities[1]):
            mf.wasserstein(densities[0], other, p=p, tolerance=0.5)
        mf.wasserstein(many, weighted, p=p)


def _samples() -> None:
    """Samples by inversion, for densities where rejection would discard many."""
    from meanfield.laws.sampling.circle import circle_tokens
    from meanfield.laws.sampling.sphere import sphere_tokens

    for tokens in (circle_tokens, sphere_tokens):
        tokens(np.array([1.0, 0.1, 0.1j]), 10, np.random.default_rng(0))


def _clusters() -> None:
    import meanfield as mf
    from meanfield.observables import clusters

    clusters(mf.von_mises_fisher(30.0).build(mf.Sphere()), _BETA)


def _angles() -> None:
    """Angles for nonuniform transforms, which serve many tokens or many degrees."""
    from meanfield.engines.harmonics.angles import angles_of, tangent_vectors
    from meanfield.spaces import Sphere

    points = _points(Sphere(), 10)
    angles, _ = angles_of(points)
    tangent_vectors(points, angles.T.copy(), np.empty_like(points))
