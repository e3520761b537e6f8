"""Heads with diffusion: exact cases, the moment hierarchy apart, and noisy particles."""

import numpy as np
import pytest
from head_oracle import B1, B2, V1, V2, V3, vectors
from scipy.integrate import solve_ivp
from scipy.special import ive

import meanfield as mf

CIRCLE, SPHERE = mf.Circle(), mf.Sphere()
LAWS = {
    "circle": mf.perturbed_uniform([[1, 0.2, 0.1], [2, 0.0, -0.15], [3, 0.1, 0.05]]),
    "sphere": mf.perturbed_uniform([[1, 0, 0.2], [2, 1, 0.1], [3, -2, 0.05]]),
}


@pytest.mark.parametrize(
    "space, normalization",
    [(CIRCLE, "none"), (CIRCLE, "sinkhorn"), (SPHERE, "softmax")],
    ids=["circle-none", "circle-sinkhorn", "sphere-softmax"],
)
def test_heads_without_value_leave_the_heat_equation(space, normalization, verified):
    """c_l(t) = c_l(0) e^{-l (l + d - 2) D t} exactly: diffusion twice, or not in scaled time."""
    of = mf.Attention([mf.Head(value=0.0)], normalization, beta=3.0, diffusivity=0.2)
    law = LAWS[space.name]
    run = mf.simulate(
        mf.Problem(space, of, initial=law), 0.7, save=2, representation="density", observables=[]
    )
    coefficients = space.resize(run.packed_moments()[-1], 8)
    start = space.resize(run.packed_moments()[0], 8)
    degrees = np.arange(9.0)
    heat = np.exp(-degrees * (degrees + space.dimension - 1) * 0.2 * 0.7)
    error = coefficients - space.convolve(heat, start)
    verified("exact solutions", f"heat equation of heads, {space.name}", error, 1e-13)


def hierarchy(heads, beta, diffusivity, start, time):
    """Moments c_0 ... c_K of USA heads by the quadratic hierarchy, in scaled time.

    c_k' = -ik sum_j c_j sum_l K_j^(l) c_{k-l} - D k^2 c_k, with K_j the response to mode j of the
    measure, known by modified Bessel functions:
    theta' = Im e^{-i theta} (a m + b conj m), m = sum_j I_j(rho) c_{j-1} e^{ij phi}.
    """
    degree = len(start) - 1
    theta = 2 * np.pi * np.arange(4 * degree + 4) / (4 * degree + 4)
    x = np.exp(1j * theta)
    sharpness = max(np.linalg.norm(beta * b, 2) for b, _ in heads)
    orders = np.arange(-degree, degree + 1)
    response = np.zeros((len(orders), len(theta)))
    response = response.astype(complex)
    for score, value in heads:
        z = vectors(theta) @ (beta * score)
        rho, phi = np.hypot(*z.T), np.arctan2(z[:, 1], z[:, 0])
        a = 0.5 * (np.trace(value) + 1j * (value[1, 0] - value[0, 1]))
        b = 0.5 * (value[0, 0] - value[1, 1] + 1j * (value[1, 0] + value[0, 1]))
        scale = np.exp(rho - sharpness)
        for row, j in enumerate(orders):
            # c_j enters m with I_{j+1}, and conj m with I_{j-1}.
            up = scale * ive(j + 1, rho) * np.exp(1j * (j + 1) * phi)
            down = scale * ive(j - 1, rho) * np.exp(1j * (j - 1) * phi)
            response[row] += ((a / x - np.conj(b) * x) * up + (b / x - np.conj(a) * x) * down) / 2j

    def rhs(_: float, c: np.ndarray) -> np.ndarray:
        both = np.concatenate([np.conj(c[:0:-1]), c])
        speed = (both @ response).real
        density = (both[:, None] * np.exp(1j * orders[:, None] * theta)).sum(axis=0).real
        flux = np.fft.fft(speed * density, norm="forward")[: degree + 1]
        k = np.arange(degree + 1)
        return np.asarray(-1j * k * flux - diffusivity * k**2 * c)

    solved = solve_ivp(rhs, (0, time), start, method="DOP853", rtol=1e-11, atol=1e-13)
    return np.asarray(solved.y[:, -1])


@pytest.mark.slow
def test_hierarchy_of_moments_with_diffusion(verified):
    """Two USA heads with diffusion by Bessel functions and SciPy, no table and no grid of ours."""
    of = mf.Attention(
        [mf.Head(score=B1, value=V1), mf.Head(score=B2, value=V2)],
        "none",
        beta=2.0,
        diffusivity=0.03,
    )
    problem = mf.Problem(CIRCLE, of, initial=LAWS["circle"])
    run = mf.simulate(problem, 2.0, save=2, representation="density", observables=[])
    start = CIRCLE.resize(problem.initial_measure().coefficients, 28)
    wanted = hierarchy([(B1, V1), (B2, V2)], 2.0, 0.03, start, 2.0)
    assert np.abs(wanted - start).max() > 0.05
    error = CIRCLE.resize(run.packed_moments()[-1], 10) - wanted[:11]
    verified("independent methods", "USA heads with diffusion, moment hierarchy", error, 1e-9)


@pytest.mark.parametrize("normalization", ["none", "softmax"])
def test_linear_drift_with_diffusion(normalization, verified):
    """At beta = 0 the force is V m: a hierarchy of nearest neighbours, all normalisations one."""
    of = mf.Attention([mf.Head(value=V1)], normalization, beta=0.0, diffusivity=0.1)
    problem = mf.Problem(CIRCLE, of, initial=LAWS["circle"])
    run = mf.simulate(problem, 2.0, save=2, representation="density", observables=[])
    a = 0.5 * (np.trace(V1) + 1j * (V1[1, 0] - V1[0, 1]))
    b = 0.5 * (V1[0, 0] - V1[1, 1] + 1j * (V1[1, 0] + V1[0, 1]))
    start, k = CIRCLE.resize(problem.initial_measure().coefficients, 40), np.arange(41)

    def rhs(_: float, c: np.ndarray) -> np.ndarray:
        # theta' = Im(H e^{-i theta}), H = a m + b conj m, m = conj c_1; c_k' = -ik <theta' e^-ik>.
        force = a * np.conj(c[1]) + b * c[1]
        above = np.append(c[1:], 0.0)
        below = np.append(np.conj(c[1]), c[:-1])
        return np.asarray(-0.5 * k * (force * above - np.conj(force) * below) - 0.1 * k**2 * c)

    solved = solve_ivp(rhs, (0, 2.0), start, method="DOP853", rtol=1e-12, atol=1e-14)
    error = CIRCLE.resize(run.packed_moments()[-1], 10) - solved.y[:11, -1]
    verified("independent methods", "linear drift of a head with diffusion", error, 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("normalization", ["none", "softmax", "sinkhorn"])
@pytest.mark.parametrize("space", [CIRCLE, SPHERE], ids=["circle", "sphere"])
def test_noisy_particles_follow_the_density(space, normalization, verified):
    """Means of 16 runs of 1,000 tokens within five standard errors of the density's."""
    heads = [mf.Head(score=B1, value=V1)]
    if space is SPHERE:
        heads = [mf.Head(score=[0.8, -0.6, 0.3], value=V3)]
    of = mf.Attention(heads, normalization, beta=1.0, diffusivity=0.05)
    problem = mf.Problem(space, of, initial=LAWS[space.name])
    wanted = mf.simulate(
        problem, 1.0, save=2, representation="density", tolerance=1e-7, observables=[]
    )
    runs = [
        mf.simulate(
            problem, 1.0, save=2, representation="particles", tokens=1000, seed=seed,
            step=0.2 if normalization == "sinkhorn" else 0.1, observables=[],
        )
        for seed in range(16)
    ]  # fmt: skip
    ends = np.array([space.resize(each.packed_moments()[-1], 3) for each in runs])
    values = np.concatenate([ends.real, ends.imag], axis=1)
    exact = space.resize(wanted.packed_moments()[-1], 3)
    exact = np.concatenate([exact.real, exact.imag])
    moving = values.std(axis=0) > 1e-12
    errors = (values.mean(axis=0) - exact)[moving] / (values.std(axis=0, ddof=1)[moving] / 4.0)
    verified("statistics", f"noisy particles of heads, {space.name}", errors, 5.0)
