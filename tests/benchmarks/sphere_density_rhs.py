"""How fast is the density's right-hand side on the sphere, beside ducc0 and pyshtools?

Prints, for several degrees, medians of interleaved rounds of

    ours      DensityRepresentation.rhs, as a run calls it
    bare      the transforms alone that it needs: values, gradient, divergence (and Z for SA)
    pyshtools the same right-hand side with pyshtools' default backend, on its GLQ grid
    batch     ours for 16 densities in one call, per density

and the ratios ours / bare, pyshtools / ours. Run: python tests/benchmarks/sphere_density_rhs.py
On a machine that is busy: --cpu, which compares processor time on one thread.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import ducc0
import numpy as np

import meanfield as mf
from meanfield.compute.threads import set_threads, threads
from meanfield.manifolds.sphere import coefficients as packing
from meanfield.manifolds.sphere.rings import rings
from meanfield.manifolds.sphere.sphere import Sphere
from meanfield.representations.density import DensityRepresentation

_BATCH = 16
_clock = time.perf_counter


def representation(degree: int, normalized: bool) -> DensityRepresentation:
    """A density with a decaying spectrum, as runs have it."""
    problem = mf.Problem(Sphere(), mf.exponential(10.0), mf.SA if normalized else mf.USA)
    rng = np.random.default_rng(0)
    count = packing.count_of(degree)
    c = rng.normal(size=count) + 1j * rng.normal(size=count)
    c[: degree + 1] = c[: degree + 1].real
    decay = np.maximum(0.1 * np.exp(-0.1 * np.arange(degree + 1)), 1e-17)
    c = packing.convolve(decay, c)
    c[0] = 1.0
    return DensityRepresentation(problem, c, 1e-10, degree)


def bare_transforms(state: DensityRepresentation) -> Callable[[], object]:
    """ducc0's calls alone, on the same rings, with the degrees that each has."""
    degree, felt = state.grid.max_degree, state.interaction.degree
    normalized = state.interaction.attention_multipliers is not None
    nodes = rings(2 * degree + (max(felt, degree) if normalized else felt))
    grid = {
        "theta": nodes.colatitudes,
        "nphi": np.full(nodes.count, nodes.length, dtype=np.uint64),
        "phi0": np.zeros(nodes.count),
        "ringstart": nodes.length * np.arange(nodes.count, dtype=np.uint64),
        "nthreads": threads() if degree >= 64 else 1,
    }
    field, low = state.state[None], packing.resize(state.state, min(felt, degree))[None]
    low_degree = packing.degree_of(low[0])
    vectors = np.ones((2, nodes.count * nodes.length))

    def run() -> None:
        ducc0.sht.synthesis(alm=field, lmax=degree, spin=0, **grid)
        ducc0.sht.synthesis_deriv1(alm=low, lmax=low_degree, **grid)
        if normalized:
            ducc0.sht.synthesis(alm=low, lmax=low_degree, spin=0, **grid)
        ducc0.sht.adjoint_synthesis(map=vectors, lmax=degree, spin=1, mode="DERIV1", **grid)

    return run


def pyshtools_rhs(state: DensityRepresentation) -> Callable[[np.ndarray], np.ndarray]:
    """-div(f grad Phi) = (Phi lap f - f lap Phi - lap(f Phi)) / 2 with SHExpandGLQ, MakeGridGLQ.

    pyshtools analyses no vector fields, so the divergence is made of Laplacians.
    """
    import pyshtools
    from pyshtools.expand import MakeGridGLQ, SHExpandGLQ

    pyshtools.backends.select_preferred_backend("shtools")
    degree, felt = state.grid.max_degree, state.interaction.degree
    exact = (2 * degree + felt + 1) // 2
    zeros, weights = pyshtools.expand.SHGLQ(exact)
    eigenvalues = -np.arange(exact + 1.0) * np.arange(1.0, exact + 2.0)

    def grid(coefficients: np.ndarray) -> np.ndarray:
        return np.asarray(MakeGridGLQ(coefficients, zeros, lmax=exact, extend=False))

    def expand(values: np.ndarray) -> np.ndarray:
        return np.asarray(SHExpandGLQ(values, weights, zeros, lmax_calc=degree))

    def rhs(c: np.ndarray) -> np.ndarray:
        field = packing.spread(packing.resize(c, exact))
        mean_field = state.interaction.field(c)
        potential = packing.spread(packing.resize(mean_field.potential, exact))
        f, phi = grid(field), grid(potential)
        lap_f = grid(field * eigenvalues[:, None])
        lap_phi = grid(potential * eigenvalues[:, None])
        product = expand(f * phi) * eigenvalues[: degree + 1, None]
        total = expand(phi * lap_f - f * lap_phi) - product
        return packing.packed(0.5 * total)

    return rhs


def batch(state: DensityRepresentation) -> Callable[[], object]:
    """Right-hand sides of many densities of one degree together."""
    states = np.repeat(state.state[None], _BATCH, axis=0)
    multipliers = state.interaction.potential_multipliers

    def run() -> object:
        return np.negative(state.grid.advection(states, packing.convolve(multipliers, states)))

    return run


def bare_batch(state: DensityRepresentation) -> Callable[[], object]:
    """ducc0's calls alone for the batch."""
    degree, felt = state.grid.max_degree, min(state.interaction.degree, state.grid.max_degree)
    nodes = rings(2 * degree + felt)
    grid = {
        "theta": nodes.colatitudes,
        "nphi": np.full(nodes.count, nodes.length, dtype=np.uint64),
        "phi0": np.zeros(nodes.count),
        "ringstart": nodes.length * np.arange(nodes.count, dtype=np.uint64),
        "nthreads": threads() if degree >= 64 else 1,
    }
    fields = np.repeat(state.state[None, None], _BATCH, axis=0)
    low = packing.resize(fields, felt)
    vectors = np.ones((_BATCH, 2, nodes.count * nodes.length))

    def run() -> None:
        ducc0.sht.synthesis(alm=fields, lmax=degree, spin=0, **grid)
        ducc0.sht.synthesis_deriv1(alm=low, lmax=felt, **grid)
        ducc0.sht.adjoint_synthesis(map=vectors, lmax=degree, spin=1, mode="DERIV1", **grid)

    return run


def medians(calls: list[Callable[[], object]], rounds: int) -> list[float]:
    """Median seconds of each call, rounds interleaved."""
    repeats = []
    for call in calls:
        call()
        began = _clock()
        call()
        repeats.append(max(1, int(0.02 / (_clock() - began))))
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for i, call in enumerate(calls):
            began = _clock()
            for _ in range(repeats[i]):
                call()
            times[i].append((_clock() - began) / repeats[i])
    return [statistics.median(t) for t in times]


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="two degrees, few rounds")
    options.add_argument("--cpu", action="store_true", help="one thread, its processor time")
    given = options.parse_args()
    quick = given.quick
    if given.cpu:
        global _clock
        _clock = time.process_time
        set_threads(1)
    rounds = 3 if quick else 9
    print(f"ducc0 {ducc0.__version__}, {threads()} threads; milliseconds")
    print(f"{'degree':>6} {'flow':>4} {'ours':>9} {'bare':>9} {'pyshtools':>9}"
          f" {'ours/bare':>9} {'pyshtools/ours':>14}")  # fmt: skip
    for normalized in (False, True):
        for degree in (31, 255) if quick else (31, 63, 127, 255, 511, 1023):
            state = representation(degree, normalized)
            calls: list[Callable[[], object]] = [
                lambda state=state: state.rhs(0.0, state.state),
                bare_transforms(state),
            ]
            other = np.nan
            if not normalized and degree <= 255:
                theirs = pyshtools_rhs(state)
                found, expected = theirs(state.state), state.rhs(0.0, state.state)
                difference = np.abs(found - expected).max()
                assert difference < 1e-12 * degree**2, difference
                calls.append(lambda theirs=theirs, state=state: theirs(state.state))
            one, two, *rest = medians(calls, rounds if degree < 1000 else 3)
            other = rest[0] if rest else np.nan
            print(
                f"{degree:6d} {'SA' if normalized else 'USA':>4} {one * 1e3:9.3f} {two * 1e3:9.3f}"
                f" {other * 1e3:9.2f} {one / two:9.2f} {other / one:14.1f}"
            )
    print(f"{_BATCH} densities together, per density:")
    print(f"{'degree':>6} {'ours':>9} {'bare':>9} {'ours/bare':>9} {'alone':>9}")
    for degree in (31,) if quick else (15, 31, 63):
        state = representation(degree, False)
        one, two, alone = medians(
            [batch(state), bare_batch(state), lambda state=state: state.rhs(0.0, state.state)],
            rounds,
        )
        print(
            f"{degree:6d} {one / _BATCH * 1e3:9.4f} {two / _BATCH * 1e3:9.4f} {one / two:9.2f}"
            f" {alone * 1e3:9.4f}"
        )


if __name__ == "__main__":
    main()
