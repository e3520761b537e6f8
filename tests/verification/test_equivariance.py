"""Rotating or reflecting the initial measure rotates or reflects the run."""

import numpy as np
import pytest
from parameters import each

import meanfield as mf
from meanfield.carriers import particles
from meanfield.terms.kernels import KERNELS

FLOWS = {"USA": mf.USA, "SA": mf.SA, "repulsive": mf.Flow(True, -1.0)}
BETAS = [-4.0, 0.0, 5.0, 60.0]
COEFFICIENTS = np.array([1.0, 0.2 + 0.1j, -0.1j, 0.08, 0.03 - 0.02j])
ANGLE = 0.7


def moments_of(beta: float, flow: str, law: mf.Law) -> np.ndarray:
    """Moments along a run of two e-folds.

    The tolerance is partly relative to the angles of tokens, so that steps differ: 1e-13.
    """
    bare = mf.Problem(mf.Circle(), KERNELS["exponential"](beta), FLOWS[flow])
    until = 2.0 / np.abs(mf.growth_rates(bare)).max()
    problem = mf.Problem(bare.manifold, bare.kernel, bare.flow, law)
    return mf.simulate(problem, until=until, save=4, tolerance=1e-13).moments


@each("flow", FLOWS, beta=BETAS)
def test_moved_density_stays_moved(flow, beta, verified):
    """Moments turn by e^{-ik angle} and are conjugated: no grid is preferred, nor mirrored."""
    plain = moments_of(beta, flow, mf.from_density(COEFFICIENTS))
    turned, turn = (np.exp(-1j * np.arange(n) * ANGLE) for n in (5, plain.shape[1]))
    moments = moments_of(beta, flow, mf.from_density(COEFFICIENTS * turned))
    verified("symmetry", "rotated density stays rotated, circle", moments - plain * turn, 1e-12)
    moments = moments_of(beta, flow, mf.from_density(np.conj(COEFFICIENTS)))
    verified(
        "symmetry", "reflected density stays reflected, circle", moments - np.conj(plain), 1e-12
    )
    assert np.abs(plain[-1] - plain[0]).max() > 0.01


@pytest.mark.slow
@each("flow", FLOWS, count=[40, 700])
def test_moved_tokens_stay_moved(flow, count, verified):
    """Rotation, reflection and windings of tokens, pair sums and moments alike."""
    points = np.random.default_rng(1).uniform(0, 2 * np.pi, count)
    windings = 2 * np.pi * np.random.default_rng(2).integers(-3, 4, count)
    plain = moments_of(5.0, flow, mf.from_points(points))
    k = np.arange(plain.shape[1])
    for moved, expected in (
        (points + ANGLE, plain * np.exp(-1j * k * ANGLE)),
        (-points, np.conj(plain)),
        (points + windings, plain),
        (points[::-1].copy(), plain),
    ):
        moments = moments_of(5.0, flow, mf.from_points(moved))
        # Ten times the tolerance of a run, for its growth by e^2.
        what = "moved, mirrored and wound tokens stay so, circle"
        verified("symmetry", what, moments - expected, 1e-11)


@each("flow", FLOWS, beta=BETAS, count=[40, 700])
def test_velocity_of_moved_tokens_is_the_moved_velocity(flow, beta, count):
    """The same without time steps, to rounding."""
    points = np.random.default_rng(1).uniform(0, 2 * np.pi, count)
    windings = 2 * np.pi * np.random.default_rng(2).integers(-3, 4, count)
    problem = mf.Problem(mf.Circle(), KERNELS["exponential"](beta), FLOWS[flow])
    carrier = particles(problem, mf.Measure(mf.Circle(), points))
    plain = carrier.rhs(0.0, points)
    # 20 rad are known to 4e-15, and e^{beta cos} is as steep as beta.
    slack = 1e-12 * np.abs(plain).max()
    for moved, expected in (
        (points + ANGLE, plain), (-points, -plain), (points + windings, plain),
    ):  # fmt: skip
        np.testing.assert_allclose(carrier.rhs(0.0, moved), expected, rtol=0, atol=slack)


def test_asymmetric_datum_has_no_reflection_of_its_own():
    """The tests above would pass for anything if the datum were symmetric."""
    turned = COEFFICIENTS * np.exp(-1j * np.arange(5) * np.linspace(0, 2 * np.pi, 721)[:, None])
    assert np.abs(turned.imag).max(axis=1).min() > 0.02
