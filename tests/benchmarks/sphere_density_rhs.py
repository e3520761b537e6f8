"""How fast is the density's right-hand side on the sphere, beside ducc0 and pyshtools?

For several degrees and beta, interleaved rounds on the same number of threads, processor time
(several threads: wall time below it), ratios as median (quartiles):

    ours       DensityRepresentation.rhs, as a run calls it
    bare       ducc0's calls alone that it needs: values, gradient, divergence (and Z for SA)
    pyshtools  the same right-hand side with pyshtools, its ducc backend, on its GLQ grid
    default    with its default backend, on one thread: its Fortran code has no other

then ours for 16 densities in one call, per density, beside bare calls.
Run: python tests/benchmarks/sphere_density_rhs.py [--quick] [--threads 2]
"""

from __future__ import annotations

from collections.abc import Callable

import ducc0
import numpy as np
from side_by_side import Call, options, side_by_side, use_threads

import meanfield as mf
from meanfield.carriers.density import DensityRepresentation
from meanfield.engines.harmonics import coefficients as packing
from meanfield.engines.harmonics.density import advection
from meanfield.engines.harmonics.rings import rings
from meanfield.engines.harmonics.scratch import Scratch
from meanfield.engines.threads import threads
from meanfield.spaces.sphere.sphere import Sphere

_BATCH = 16


def representation(degree: int, normalized: bool, beta: float = 10.0) -> DensityRepresentation:
    problem = mf.Problem(Sphere(), mf.exponential(beta), mf.SA if normalized else mf.USA)
    rng = np.random.default_rng(0)
    count = packing.count_of(degree)
    c = rng.normal(size=count) + 1j * rng.normal(size=count)
    c[: degree + 1] = c[: degree + 1].real
    decay = np.maximum(0.1 * np.exp(-0.1 * np.arange(degree + 1)), 1e-17)
    c = packing.convolve(decay, c)
    c[0] = 1.0
    return DensityRepresentation(problem, c, 1e-10, degree)


def bare_transforms(state: DensityRepresentation) -> Call:
    """ducc0's calls alone, on the same rings, with the degrees that each has."""
    degree, mean_field = state.grid.max_degree, state.interaction.degree
    normalized = state.interaction.attention_multipliers is not None
    nodes = rings(2 * degree + (max(mean_field, degree) if normalized else mean_field))
    grid = {
        "theta": nodes.colatitudes,
        "nphi": np.full(nodes.count, nodes.length, dtype=np.uint64),
        "phi0": np.zeros(nodes.count),
        "ringstart": nodes.length * np.arange(nodes.count, dtype=np.uint64),
        "nthreads": threads() if degree >= 64 else 1,
    }
    field, low = state.state[None], packing.resize(state.state, min(mean_field, degree))[None]
    low_degree = packing.degree_of(low[0])
    vectors = np.ones((2, nodes.count * nodes.length))

    def run() -> None:
        ducc0.sht.synthesis(alm=field, lmax=degree, spin=0, **grid)
        ducc0.sht.synthesis_deriv1(alm=low, lmax=low_degree, **grid)
        if normalized:
            ducc0.sht.synthesis(alm=low, lmax=low_degree, spin=0, **grid)
        ducc0.sht.adjoint_synthesis(map=vectors, lmax=degree, spin=1, mode="DERIV1", **grid)

    return run


def pyshtools_rhs(state: DensityRepresentation, backend: str) -> Callable[[np.ndarray], np.ndarray]:
    """-div(f grad Phi) = (Phi lap f - f lap Phi - lap(f Phi)) / 2 with SHExpandGLQ, MakeGridGLQ.

    pyshtools analyses no vector fields, so the divergence is made of Laplacians.
    """
    import pyshtools

    module = pyshtools.backends.backend_module(backend, threads())
    degree, forces = state.grid.max_degree, state.interaction.degree
    exact, low = (2 * degree + forces + 1) // 2, min(forces, degree)
    zeros, weights = pyshtools.expand.SHGLQ(exact)
    eigenvalues = -np.arange(degree + 1.0) * np.arange(1.0, degree + 2.0)

    def grid(coefficients: np.ndarray) -> np.ndarray:
        expected = coefficients.shape[1] - 1
        return np.asarray(
            module.MakeGridGLQ(coefficients, zeros, lmax=exact, lmax_calc=expected, extend=False)
        )

    def expand(values: np.ndarray) -> np.ndarray:
        return np.asarray(module.SHExpandGLQ(values, weights, zeros, lmax_calc=degree))

    def rhs(c: np.ndarray) -> np.ndarray:
        field = packing.unpacked(c)
        mean_field = state.interaction.field(c)
        potential = packing.unpacked(packing.resize(mean_field.potential, low))
        f, phi = grid(field), grid(potential)
        lap_f = grid(field * eigenvalues[:, None])
        lap_phi = grid(potential * eigenvalues[: low + 1, None])
        product = expand(f * phi) * eigenvalues[:, None]
        total = expand(phi * lap_f - f * lap_phi) - product
        return packing.packed(0.5 * total)

    return rhs


def batch(state: DensityRepresentation) -> Call:
    states = np.repeat(state.state[None], _BATCH, axis=0)
    multipliers, scratch = state.interaction.potential_multipliers, Scratch()

    def run() -> object:
        return np.negative(
            advection(
                states, packing.convolve(multipliers, states), None, state.grid.max_degree, scratch
            )
        )

    return run


def bare_batch(state: DensityRepresentation) -> Call:
    """ducc0's calls alone for the batch."""
    degree, field = state.grid.max_degree, min(state.interaction.degree, state.grid.max_degree)
    nodes = rings(2 * degree + field)
    grid = {
        "theta": nodes.colatitudes,
        "nphi": np.full(nodes.count, nodes.length, dtype=np.uint64),
        "phi0": np.zeros(nodes.count),
        "ringstart": nodes.length * np.arange(nodes.count, dtype=np.uint64),
        "nthreads": threads() if degree >= 64 else 1,
    }
    fields = np.repeat(state.state[None, None], _BATCH, axis=0)
    low = packing.resize(fields, field)
    vectors = np.ones((_BATCH, 2, nodes.count * nodes.length))

    def run() -> None:
        ducc0.sht.synthesis(alm=fields, lmax=degree, spin=0, **grid)
        ducc0.sht.synthesis_deriv1(alm=low, lmax=field, **grid)
        ducc0.sht.adjoint_synthesis(map=vectors, lmax=degree, spin=1, mode="DERIV1", **grid)

    return run


def compare(degree: int, normalized: bool, beta: float, rounds: int) -> None:
    state = representation(degree, normalized, beta)
    calls = {"ours": lambda: state.rhs(0.0, state.state), "bare": bare_transforms(state)}
    if not normalized and degree <= 255:
        expected = state.rhs(0.0, state.state)
        for name, backend in (("pyshtools", "ducc"), ("default", "shtools")):
            theirs = pyshtools_rhs(state, backend)
            difference = np.abs(theirs(state.state) - expected).max()
            assert difference < 1e-12 * degree**2, difference
            calls[name] = lambda theirs=theirs: theirs(state.state)
    times = side_by_side(calls, rounds)
    mine = times["ours"]
    cells = [f"{mine.over(times['bare']):>20}"]
    walls = [f"{mine.wall_over(times['bare']):>20}"]
    for name in ("pyshtools", "default"):
        if name in times:
            cells.append(f"{times[name].over(mine):>20}")
            walls.append(f"{times[name].wall_over(mine):>20}")
    print(
        f"{'SA' if normalized else 'USA':>4} {beta:5g} {degree:6d} {mine.seconds * 1e3:9.3f} "
        + " ".join(cells),
        flush=True,
    )
    if threads() > 1:
        print(f"{'wall':>17} {np.median(mine.wall) * 1e3:9.3f} " + " ".join(walls), flush=True)


def main() -> None:
    arguments = options(__doc__, threads=True).parse_args()
    use_threads(arguments.threads)
    rounds = 5 if arguments.quick else 9
    print(f"ducc0 {ducc0.__version__}, {threads()} thread(s)")
    print("flow  beta degree   ours ms          ours / bare     pyshtools / ours"
          "       default / ours")  # fmt: skip
    for normalized in (False, True):
        for beta in (10.0,) if arguments.quick else (2.0, 10.0, 50.0):
            for degree in (63, 255) if arguments.quick else (31, 63, 127, 255, 511):
                compare(degree, normalized, beta, rounds)
    print(f"{_BATCH} densities together, per density:")
    print(f"{'degree':>6} {'ours ms':>9} {'ours / bare':>20} {'alone / ours':>20}")
    for degree in (31,) if arguments.quick else (15, 31, 63):
        state = representation(degree, False)
        times = side_by_side(
            {
                "ours": batch(state),
                "bare": bare_batch(state),
                "alone": lambda state=state: state.rhs(0.0, state.state),
            },
            rounds,
        )
        mine, alone = times["ours"], times["alone"].scaled(_BATCH)
        print(
            f"{degree:6d} {mine.seconds / _BATCH * 1e3:9.4f} {mine.over(times['bare']):>20} "
            f"{alone.over(mine):>20}"
        )


if __name__ == "__main__":
    main()
