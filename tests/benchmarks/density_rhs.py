"""Speed of the density's right-hand side on the circle, beside the same equations with FFTs.

For several degrees and beta, states in which a run from four modes has just filled that degree.
Interleaved rounds on one thread, processor time, ratios as median (quartiles):

    ours      DensityRepresentation.rhs, as a run calls it
    SciPy     scipy.fft and NumPy: all inverse transforms in one stacked call, one forward
    FFTW      the same with pyfftw's plans, measured and aligned

Run: python tests/benchmarks/density_rhs.py [--quick]
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.fft
from side_by_side import optional, options, side_by_side, use_threads

import meanfield as mf
from meanfield.bases.fourier import alias_free_size
from meanfield.carriers import Options, represent
from meanfield.carriers.density import DensityRepresentation
from meanfield.trajectory import trajectory

MODES = [[1, 0.03, 0.01], [3, 0.0, -0.02], [4, 0.02, 0.01], [5, -0.01, 0.0]]
TOLERANCE = 1e-10
pyfftw = optional("pyfftw")

Rhs = Callable[[np.ndarray], np.ndarray]


def full(beta: float, flow: mf.Flow, degree: int) -> DensityRepresentation:
    """Density of a run that has just filled all degrees up to this one."""
    law = mf.perturbed_uniform(MODES)
    problem = mf.Problem(mf.Circle(), mf.exponential(beta), flow, law)
    start = represent(problem, Options(name="density", max_degree=degree))
    times = np.linspace(0.0, 30.0 / mf.growth_rates(problem).max(), 600)
    state = start.state
    try:
        for snapshot in trajectory(problem, start, times, tolerance=TOLERANCE):
            assert isinstance(snapshot.measure, mf.Density)
            state = snapshot.measure.coefficients
    except mf.SimulationError:  # under-resolved: the next degree would be needed
        pass
    carrier = DensityRepresentation(problem, state, TOLERANCE, degree)
    assert carrier.grid.max_degree == degree
    return carrier


def nodes(state: DensityRepresentation) -> int:
    """Nodes that transforms need: 2 K + H, or 3 K where the velocity is a quotient."""
    field, degree = state.interaction, state.grid.max_degree
    return alias_free_size(degree, field.degree if field.attention_multipliers is None else degree)


def factors(state: DensityRepresentation) -> tuple[np.ndarray, np.ndarray]:
    """Multipliers of the coefficients for f, Phi' and Z; and i k for the divergence."""
    field, degree = state.interaction, state.grid.max_degree
    modes = 1j * np.arange(degree + 1)
    low = min(field.degree, degree) + 1
    rows = [np.ones(degree + 1), modes[:low] * field.potential_multipliers[:low]]
    if field.attention_multipliers is not None:
        rows.append(field.attention_multipliers[:low])
    stack = np.zeros((len(rows), degree + 1), complex)
    for row, entries in zip(stack, rows, strict=True):
        row[: len(entries)] = entries
    return stack, modes


def by_scipy(state: DensityRepresentation) -> Rhs:
    stack, modes = factors(state)
    size, rows = nodes(state), np.empty_like(stack)

    def rhs(c: np.ndarray) -> np.ndarray:
        np.multiply(stack, c, out=rows)
        nodal = scipy.fft.irfft(rows, size, norm="forward")
        nodal[0] *= nodal[1]
        if len(nodal) == 3:
            nodal[0] /= nodal[2]
        flux = scipy.fft.rfft(nodal[0], norm="forward", overwrite_x=True)
        return np.asarray(-modes * flux[: len(modes)])

    return rhs


def by_fftw(state: DensityRepresentation) -> Rhs:
    stack, modes = factors(state)
    size, modes = nodes(state), -modes / nodes(state)
    rows = pyfftw.zeros_aligned((len(stack), size // 2 + 1), complex)
    nodal = pyfftw.empty_aligned((len(stack), size))
    product, flux = nodal[0], pyfftw.empty_aligned(size // 2 + 1, complex)
    inverse = pyfftw.FFTW(rows, nodal, direction="FFTW_BACKWARD", threads=1)
    forward = pyfftw.FFTW(product, flux, threads=1)

    def rhs(c: np.ndarray) -> np.ndarray:
        # The inverse transform destroys what it is given.
        np.multiply(stack, c, out=rows[:, : len(c)])
        rows[:, len(c) :] = 0.0
        inverse.execute()
        np.multiply(nodal[0], nodal[1], out=product)
        if len(nodal) == 3:
            np.divide(product, nodal[2], out=product)
        forward.execute()
        return np.asarray(modes * flux[: len(modes)])

    return rhs


def main() -> None:
    arguments = options(__doc__).parse_args()
    use_threads(1)
    print("flow  beta degree  nodes  ours us            SciPy / ours             FFTW / ours")
    for flow in (mf.USA, mf.SA):
        for beta in (1.0, 9.0, 25.0, 100.0):
            for degree in (256, 1024) if arguments.quick else (256, 512, 1024, 2048, 4096):
                state = full(beta, flow, degree)
                c = state.state
                others = {"SciPy": by_scipy(state)}
                if pyfftw:
                    others["FFTW"] = by_fftw(state)
                expected = state.rhs(0.0, c)
                for other in others.values():
                    difference = np.abs(other(c) - expected).max()
                    assert difference < 1e-13 * degree * np.abs(expected).max(), difference
                calls = {"ours": lambda state=state, c=c: state.rhs(0.0, c)}
                for name, other in others.items():
                    calls[name] = lambda other=other, c=c: other(c)
                times = side_by_side(calls, 9 if arguments.quick else 25, least=0.01)
                ratios = " ".join(f"{times[name].over(times['ours']):>23}" for name in others)
                print(
                    f"{'SA' if flow.normalized else 'USA':>4} {beta:5g} {degree:6d} "
                    f"{nodes(state):6d} {times['ours'].seconds * 1e6:8.1f} {ratios}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
