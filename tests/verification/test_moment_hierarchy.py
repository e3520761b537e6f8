"""The exact equation of moments, for any measure and without any time step.

    USA:  dc_k/dt = strength k sum_{m in Z} m w_m c_m c_{k-m},   w_m = e^{-|beta|} I_m(beta) / beta

It catches a wrong sign, factor 2, conjugation or normalisation of a transform. A normalised
flow has no closed hierarchy; there the velocity is summed plainly on a fine grid.
"""

import numpy as np
import pytest
from parameters import each
from scipy.special import ive

import meanfield as mf
from meanfield.carriers import density, particles
from meanfield.terms.kernels import KERNELS

DEGREE = 48
BETAS = [-4.0, 0.0, 1.0, 5.0, 25.0, 100.0]
# A few hundred products, each rounded, relative to the largest derivative: asked are 1e-12.
RELATIVE = 1e-13


def kernel_of(beta: float) -> mf.Kernel:
    """Kernel by the table's rule: beta = 0 is the linear one."""
    return KERNELS["exponential"](beta)


def weights(beta: float, reach: int) -> np.ndarray:
    """w_m for m = -reach ... reach, straight from SciPy's Bessel functions."""
    m = np.arange(-reach, reach + 1)
    return np.where(np.abs(m) == 1, 0.5, 0.0) if beta == 0 else ive(m, beta) / beta


def hierarchy(moments: np.ndarray, beta: float, degree: int, reach: int) -> np.ndarray:
    """dc_k/dt for k = 0 ... degree from moments of degrees 0 ... degree + reach."""
    both = np.concatenate([np.conj(moments[:0:-1]), moments])
    centre = len(moments) - 1
    m = np.arange(-reach, reach + 1)
    drive = m * weights(beta, reach) * both[centre + m]
    return np.array([k * np.sum(drive * both[centre + k - m]) for k in range(degree + 1)])


def random_density(seed: int) -> np.ndarray:
    """Coefficients without symmetry; the equation does not ask for positivity."""
    rng = np.random.default_rng(seed)
    k = np.arange(DEGREE + 1)
    c = np.exp(-0.1 * k) * (rng.normal(size=DEGREE + 1) + 1j * rng.normal(size=DEGREE + 1))
    c[0] = 1.0
    return c


def relative(result: np.ndarray, expected: np.ndarray) -> np.ndarray:
    return (result - expected) / np.abs(expected).max()


@each("beta", BETAS, strength=[1.0, -0.5])
def test_density_satisfies_the_hierarchy(beta, strength, verified):
    """Every coefficient of the right-hand side, the highest degree included."""
    c = random_density(3)
    problem = mf.Problem(mf.Circle(), kernel_of(beta), mf.Flow("none", strength=strength))
    carrier = density(problem, mf.Density(mf.Circle(), c), tolerance=1e-10)
    reach = problem.kernel_degree
    padded = np.zeros(carrier.grid.max_degree + 1 + 2 * reach + DEGREE, dtype=complex)
    padded[: DEGREE + 1] = c
    expected = strength * hierarchy(padded, beta, carrier.grid.max_degree, reach)
    error = relative(carrier.rhs(0.0, carrier.state), expected)
    verified("exact solutions", "moment hierarchy of a density, circle, relative", error, RELATIVE)


@each("beta", BETAS, weighted=[False, True], count=[1, 2, 37, 1000])
def test_particles_satisfy_the_hierarchy(beta, weighted, count, verified):
    """Few tokens are summed pair by pair, many through moments: both are exact."""
    rng = np.random.default_rng(count)
    angles = rng.uniform(-20.0, 20.0, count)
    mass = rng.dirichlet(np.ones(count)) if weighted else np.full(count, 1.0 / count)
    problem = mf.Problem(mf.Circle(), kernel_of(beta), mf.USA)
    measure = mf.Measure(mf.Circle(), angles, mass if weighted else None)
    velocity = particles(problem, measure).rhs(0.0, measure.points)
    degree, reach = 20, problem.kernel_degree
    waves = np.exp(-1j * np.outer(np.arange(degree + reach + 1), angles))
    result = -1j * np.arange(degree + 1) * (waves[: degree + 1] @ (mass * velocity))
    expected = hierarchy(waves @ mass, beta, degree, reach)
    # One token feels nothing; several feel something of the size of c_k |v| at least.
    size = max(np.abs(expected).max(), degree * 1e-2)
    what = "moment hierarchy of particles, circle, relative"
    verified("exact solutions", what, (result - expected) / size, RELATIVE)


@each("beta", BETAS, strength=[1.0, -1.0])
def test_normalized_density_follows_plain_sums(beta, strength, verified):
    """d_t c_k = -ik int e^{-ik theta} f v, v by trigonometric sums on 512 nodes."""
    k = np.arange(9)
    c = 0.3**k * np.exp(1j * k**2)
    problem = mf.Problem(mf.Circle(), kernel_of(beta), mf.Flow(True, strength))
    carrier = density(problem, mf.Density(mf.Circle(), c), tolerance=1e-10)
    theta = 2 * np.pi * np.arange(512) / 512
    f = 1.0 + 2.0 * (np.exp(1j * np.outer(theta, k[1:])) @ c[1:]).real
    d = theta[:, None] - theta
    a = np.exp(beta * np.cos(d) - abs(beta))
    v = -strength * np.sum(a * np.sin(d) * f, axis=1) / np.sum(a * f, axis=1)
    degree = carrier.grid.max_degree
    expected = -1j * np.arange(degree + 1) * np.fft.rfft(f * v, norm="forward")[: degree + 1]
    error = relative(carrier.rhs(0.0, carrier.state), expected)
    what = "softmax right-hand side of a density by plain sums, circle, relative"
    verified("independent methods", what, error, RELATIVE)


@pytest.mark.slow
def test_own_kernel_moves_like_the_exponential(verified):
    """A kernel given as a function must give the same right-hand side to its quadrature."""
    c, kernel = random_density(5), mf.zonal(lambda s: np.exp(6.0 * (s - 1.0)), beta=6.0)
    problem = mf.Problem(mf.Circle(), kernel, mf.USA)
    carrier = density(problem, mf.Density(mf.Circle(), c), tolerance=1e-10)
    padded = np.zeros(carrier.grid.max_degree + 200, dtype=complex)
    padded[: DEGREE + 1] = c
    expected = hierarchy(padded, 6.0, carrier.grid.max_degree, 40)
    error = relative(carrier.rhs(0.0, carrier.state), expected)
    what = "moment hierarchy of a density, kernel given as a function, circle, relative"
    verified("exact solutions", what, error, RELATIVE)


def test_hierarchy_itself_holds_for_kuramoto():
    """The oracle first: beta = 0 gives c_k' = (k/2)(c_1 c_{k-1} - conj(c_1) c_{k+1})."""
    c = random_density(1)
    result = hierarchy(c, 0.0, 5, 3)
    for k in range(1, 6):
        expected = 0.5 * k * (c[1] * c[k - 1] - np.conj(c[1]) * c[k + 1])
        assert result[k] == pytest.approx(expected, rel=1e-14)
