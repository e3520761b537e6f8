"""Stationary states against exact solutions, known numbers and the equation itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from parameters import each
from scipy.special import ive

import meanfield as mf
from meanfield.fields.engines import advection
from meanfield.fields.mean_field import interaction
from meanfield.kernels import Kernel
from meanfield.kernels.exponential import bessel_ratio
from meanfield.manifolds.manifold import laplacian_eigenvalues
from meanfield.stationary.states import stationary_state


def noisy(manifold: object, kernel: Kernel, share: float, normalized: bool = False) -> mf.Problem:
    """A problem with this share of its critical diffusivity."""
    flow = mf.Flow(normalized=normalized)
    critical = mf.critical_diffusivity(mf.Problem(manifold, kernel, flow))
    return mf.Problem(manifold, kernel, replace(flow, diffusivity=share * critical))


@each("kappa", [2.05, 3.0, 10.0, 200.0], normalized=[False, True])
def test_kuramoto_with_noise(kappa: float, normalized: bool) -> None:
    """R = I_1(kappa r) / I_0(kappa r), the pitchfork at kappa = 2; kappa = 1 / D."""
    flow = mf.Flow(normalized=normalized, diffusivity=1.0 / kappa)
    r = stationary_state(mf.Problem(mf.Circle(), mf.linear(), flow)).order_parameter
    assert r > 0.1
    # At the bifurcation the root is as sensitive as 1 / r^2.
    assert r == pytest.approx(ive(1, kappa * r) / ive(0, kappa * r), rel=2e-14 / r**2)


@pytest.mark.parametrize("kappa", [3.1, 5.0, 50.0])
def test_linear_kernel_on_the_sphere(kappa: float) -> None:
    """Langevin's function: r = coth(kappa r) - 1 / (kappa r)."""
    flow = mf.Flow(diffusivity=1.0 / kappa)
    r = stationary_state(mf.Problem(mf.Sphere(), mf.linear(), flow)).order_parameter
    x = kappa * r
    assert r == pytest.approx(1 / np.tanh(x) - 1 / x, rel=1e-12)


@each("share", [0.9, 0.5, 0.1], d=[2, 3, 4, 5, 8, 33, 64, 1000])
def test_linear_kernel_in_any_dimension(d: int, share: float) -> None:
    """R = I_{d/2}(r / D) / I_{d/2-1}(r / D); here D = share / d."""
    flow = mf.Flow(diffusivity=share / d)
    r = stationary_state(mf.Problem(mf.Hypersphere(d - 1), mf.linear(), flow)).order_parameter
    assert r == pytest.approx(float(bessel_ratio(d / 2, r * d / share)), rel=2e-13)


# d, beta, kappa_c / kappa_#, |m_1| there: computed apart from this library, 8 or 9 digits.
TRANSITIONS = [
    (2, 2.5, 0.999895540, 0.16936649),
    (2, 3.0, 0.991225571, 0.48154381),
    (2, 4.0, 0.955146901, 0.66880552),
    (2, 5.0, 0.914902489, 0.74803098),
    (2, 7.0, 0.844022044, 0.82236956),
    (2, 10.0, 0.764124873, 0.87103596),
    (3, 2.0, 0.996882913, 0.39676810),
    (3, 3.0, 0.922343245, 0.76226421),
    (3, 5.0, 0.740563337, 0.90192846),
    (3, 10.0, 0.482586003, 0.96440627),
]


@pytest.mark.parametrize(("d", "beta", "kappa", "order"), TRANSITIONS)
def test_free_energy_vanishes_at_the_transition(
    d: int, beta: float, kappa: float, order: float
) -> None:
    """Ordered and uniform state have equal free energy at the transition, and the order known."""
    state = stationary_state(noisy(mf.Hypersphere(d - 1), mf.exponential(beta), 1.0 / kappa))
    # Nine digits of kappa, through the slope of r at beta = 2.5.
    assert state.order_parameter == pytest.approx(order, abs=1e-7)
    assert state.free_energy is not None
    assert abs(state.free_energy) < 5e-9 * state.diffusivity


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("manifold", [mf.Circle(), mf.Sphere()], ids=lambda m: m.name)
def test_state_is_stationary_for_the_equation(manifold: object, normalized: bool) -> None:
    """The right-hand side of the density's equation, on its own grid, must vanish."""
    problem = noisy(manifold, mf.exponential(4.0), 0.8, normalized)
    f = stationary_state(problem).density().coefficients
    degree = 3 * manifold.degree_of(f) // 2
    f = manifold.resize(f, degree)
    field = interaction(problem).field(f)
    flux = advection(manifold, degree, f, field.potential, field.partition)
    eigenvalues = laplacian_eigenvalues(manifold.dimension, degree)
    diffusion = manifold.convolve(-problem.flow.diffusivity * eigenvalues, f)
    assert manifold.order_parameter(f) > 0.3
    assert np.abs(diffusion).max() > 0.1
    # The rounding of f, on the sphere 1e-14 near the pole, and what is cut off as rounding are
    # multiplied by D l (l + d - 2) = 200; where it is cut is chance: 1e-12 to 4e-12 were measured.
    assert np.abs(diffusion - flux).max() < 8e-12


@each("d", [2, 3, 5, 20], normalized=[False, True])
def test_flux_vanishes_at_every_node(d: int, normalized: bool) -> None:
    """V f = D grad f in every dimension: the field by direct summation over the kernel."""
    problem = noisy(mf.Hypersphere(d - 1), mf.exponential(3.0), 0.9, normalized)
    state = stationary_state(problem)
    f, angles = state.nodal_density, state.symmetry.angles
    assert angles is not None
    # int a(<x, y>) f dsigma over latitudes needs the mean of a over a parallel: by multipliers.
    l = state.symmetry.degrees
    a = problem.kernel.attention_multipliers(d - 1, int(l[-1]))
    potential = state.symmetry.values @ (a[l] * state.moments) / 3.0
    log_f = np.log(f)
    if normalized:
        potential = np.log(a[0] + 3.0 * potential) / 3.0
    # D log f - Phi is a constant.
    balance = state.diffusivity * log_f - potential
    assert np.ptp(balance) < 1e-13 * np.ptp(potential) + 1e-14
    assert np.ptp(potential) > 0.01
