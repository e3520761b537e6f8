"""Axial densities against other manifolds, exact solutions and printed numbers."""

from dataclasses import replace

import numpy as np
import pytest
from exact_solutions import ring_height
from scipy.special import expit, logit

import meanfield as mf

LAW = mf.perturbed_uniform([[1, 0.3], [2, 0.2]])
FLOWS = {"USA": mf.USA, "SA": mf.SA}
# Moments m_1, m_2, m_3 at beta = 5 from 1 + 0.3 P_1 + 0.2 P_2, by quadrature in label space with 60
# and 90 Gauss-Jacobi nodes that agree to the digits shown: (d, flow, paper time, digits).
REFERENCE = {
    (4, "USA", 0.1, 12): (0.116556239453, 0.054003082944, 0.010647778731),
    (4, "USA", 0.3, 10): (0.3120341758, 0.3745509103, 0.3262287180),
    (4, "SA", 3.0, 12): (0.265095960615, 0.207589548429, 0.062333407701),
    (8, "USA", 0.3, 12): (0.087466011036, 0.021074654380, 0.003587693571),
    (8, "SA", 3.0, 12): (0.295073832588, 0.109692839895, 0.038254782729),
}


# The second one's spectrum is full at that time.
CASES = [(case, "characteristics") for case in REFERENCE]
CASES += [(case, "density") for case in [*REFERENCE][2:]]


@pytest.mark.parametrize("case, carrier", CASES)
def test_moments_are_those_of_label_quadrature(case, carrier, verified):
    """Both carriers, USA and SA; on Sphere(d) a density means its axial one."""
    d, flow, time, _ = case
    problem = mf.Problem(mf.Sphere(d), mf.exponential(5.0), FLOWS[flow], LAW)
    run = mf.simulate(problem, until=time, save=[time], unit="paper", representation=carrier)
    assert run.manifold == mf.Axial(d)
    what = "axial densities, d = 4 and 8, label quadrature"
    verified("independent methods", what, run.moments[-1][1:4] - REFERENCE[case], 1e-10)


@pytest.mark.parametrize(
    "space, modes, until",
    [
        # Through the collapse; times are those of auto's hand-overs.
        (mf.Circle(), [[1, 0.3, 0.0], [2, 0.2, 0.0]], [0.0, 2.5, 5.0]),
        (mf.Sphere(), [[1, 0, 0.3 / 3**0.5], [2, 0, 0.2 / 5**0.5]], [2.0]),
    ],
)
def test_low_dimensions_are_circle_and_sphere(space, modes, until, verified):
    """Even data on the circle and zonal ones on the sphere: moments, energy, entropy."""
    d = space.dimension + 1
    one, other = (
        mf.simulate(mf.Problem(on, mf.exponential(5.0), mf.SA, law), until=until[-1], save=until)
        for on, law in ((mf.Axial(d), LAW), (space, mf.perturbed_uniform(modes)))
    )
    moments = other.moments
    if d == 3:
        moments = moments[:, 0, :, 0] / np.sqrt(2.0 * np.arange(moments.shape[2]) + 1.0)
    count = min(one.moments.shape[1], moments.shape[1])
    error = one.moments[:, :count] - moments[:, :count]
    what = f"axial densities, d = {d} beside the {space.name}"
    verified("independent methods", what, error, 1e-10)
    for name in ("energy", "entropy", "order_parameter"):
        assert one.observables[name] == pytest.approx(other.observables[name], abs=1e-10)


def test_poisson_density_in_eight_dimensions(verified):
    """The linear kernel keeps ((1 - r^2) / |x - r e|^2)^{d-1}: printed means, r_0 = 0.1."""
    law = mf.from_function(lambda theta: (1.01 - 0.2 * np.cos(theta)) ** -7.0)
    problem = mf.Problem(mf.Axial(8), mf.linear(), mf.SA, law)
    run = mf.simulate(problem, until=2.0, save=[1.0, 2.0])
    error = run.moments[:, 1] - [0.392143900065, 0.724347746625]
    verified("exact solutions", "Poisson density, d = 8, printed mean", error, 1e-9)


@pytest.mark.parametrize(
    "d, flow, times, printed",
    [
        (3, "SA", [1.0, 2.0, 5.0], [0.3341167250766, 0.3722311931709, 0.5164308623546]),
        (8, "SA", [1.0, 2.0, 5.0], [0.4643239237928, 0.6870686278231, 0.9973623786988]),
        (3, "USA", [0.05, 0.1, 0.2], [0.35059063, 0.41161411, 0.58370313]),
    ],
)
def test_a_ring_moves_by_its_law(d, flow, times, printed, verified):
    """One ring as a particle, and the closed law, beside printed cosines at beta = 5."""
    law = mf.from_points([np.arccos(0.3)])
    problem = mf.Problem(mf.Axial(d), mf.exponential(5.0), FLOWS[flow], law)
    run = mf.simulate(problem, until=times[-1], save=times, unit="paper")
    values = np.array([np.cos(measure.points[0]) for measure in run.measures])
    scaled = np.array(times) * np.exp(problem.log_scale)
    law_ = ring_height(d, 5.0, list(scaled), 0.3, normalized=flow == "SA")
    verified("exact solutions", "one ring on S^(d-1) and its law", values - law_, 1e-10)
    assert law_ == pytest.approx(printed, abs=1e-11 if flow == "SA" else 1e-8)


def test_tokens_on_a_ring_move_with_it():
    """64 tokens evenly on a latitude of S^2 have the ring's cosine; it would show a wrong F_nu."""
    phi, sine = 2.0 * np.pi * np.arange(64) / 64, np.sqrt(1.0 - 0.09)
    tokens = np.stack([sine * np.cos(phi), sine * np.sin(phi), np.full(64, 0.3)], axis=1)
    problem = mf.Problem(mf.Sphere(), mf.exponential(5.0), mf.SA, mf.from_points(tokens))
    run = mf.simulate(problem, until=1.0, save=[1.0], representation="particles")
    expected = ring_height(3, 5.0, [1.0], 0.3)[0]
    assert run.measures[-1].points[:, 2] == pytest.approx(np.full(64, expected), abs=1e-8)


def test_the_ring_tends_to_its_limit_like_one_over_the_dimension():
    """D (u - limit) = -0.2905 at beta = 1, t = 1, d = 1024; and the law of many rings."""
    # As d grows, u^2 / (1 - u^2) grows like e^{2t}.
    limit = np.sqrt(expit(logit(0.09) + 2.0))
    error = ring_height(1024, 1.0, [1.0], 0.3)[0] - limit
    assert 1024 * error == pytest.approx(-0.2905, rel=1e-2)
    rings, weights = np.array([1.2, 1.4, 1.9]), np.array([0.2, 0.5, 0.3])
    from meanfield.fields.axial.pairs import velocity

    moved = -np.sin(rings) * velocity(1000, rings, weights, 1.0, True)
    heights = np.cos(rings)
    attends = weights * np.exp(heights[:, None] * heights)
    limit = np.sin(rings) ** 2 * (attends @ heights) / attends.sum(axis=1)
    assert moved == pytest.approx(limit, abs=2.0 / 1000)


def test_small_modes_grow_at_their_rates(verified):
    """Rates at d = 8, beta = 5, SA, fitted, beside the closed form and its printed values."""
    space = mf.Axial(8)
    law = mf.from_density([1.0, 3e-9, 3e-9, 3e-9])
    problem = mf.Problem(space, mf.exponential(5.0), mf.SA, law)
    run = mf.simulate(problem, until=1.0, save=2, representation="density", tolerance=1e-13)
    fitted = np.log(run.moments[1, 1:4] / run.moments[0, 1:4])
    printed = [0.6922296697, 0.6684172080, 0.4141206490]
    assert mf.growth_rates(problem, 3)[1:] == pytest.approx(printed, abs=1e-10)
    verified("exact solutions", "axial densities, d = 8, fitted rates", fitted - printed, 1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("d, beta", [(64, 20.0), (1000, 5.0)])
def test_many_dimensions_run_through_the_collapse(d, beta):
    """Mass, bounds and the growing energy, where weights at the poles are 1e-200."""
    problem = mf.Problem(mf.Axial(d), mf.exponential(beta), mf.SA, LAW)
    run = mf.simulate(problem, until=20.0, save=3, tolerance=1e-5)
    assert run.moments[:, 0] == pytest.approx(1.0, abs=1e-12)
    assert np.all(np.abs(run.moments) <= 1.0 + 1e-12)
    assert np.all(np.diff(run.observables["energy"]) > 0.0)
    assert run.moments[-1, 1] > 0.99


def test_the_error_falls_with_the_degree():
    """Coefficients beyond a geometric decay: twice the degree, the square of the error."""
    from meanfield.fields.interactions import interaction_of

    problem = mf.Problem(mf.Axial(8), mf.exponential(5.0), mf.SA, mf.von_mises_fisher(6.0))
    density = problem.initial_measure().coefficients
    field, space = interaction_of(problem), mf.Axial(8)
    rates = [field.transport(k)(space.resize(density, k), False) for k in (6, 12, 24, 96)]
    errors = [np.abs(each - rates[-1][: len(each)])[:4].max() for each in rates[:-1]]
    assert errors[0] > 1e-5 and errors[1] < 1e-2 * errors[0] and errors[2] < 1e-9


def test_noise_holds_the_density_stationary():
    """Without attention a degree falls by e^{-l(l+d-2) D t}; with it SA does not collapse."""
    flow = mf.Flow(normalized=True, strength=1e-12, diffusivity=0.05)
    problem = mf.Problem(mf.Axial(8), mf.exponential(5.0), flow, LAW)
    run = mf.simulate(problem, until=1.0, save=2)
    l = np.arange(1, 3)
    decay = run.moments[1, 1:3] / run.moments[0, 1:3]
    assert decay == pytest.approx(np.exp(-l * (l + 6) * 0.05), rel=1e-10)


@pytest.mark.slow
def test_noisy_tokens_follow_the_density():
    """Wrong noise of tokens above S^2 would show in the first two degrees about the axis."""
    d, flow = 5, mf.Flow(normalized=True, diffusivity=0.2)
    problem = mf.Problem(mf.Sphere(d), mf.exponential(3.0), flow, mf.von_mises_fisher(4.0))
    exact = mf.simulate(problem, until=0.5, save=[0.5]).moments[0, 1:3].real
    still = mf.simulate(replace(problem, kernel=mf.exponential(3.0), flow=mf.SA), 0.5, save=[0.5])
    assert (np.abs(still.moments[0, 1:3].real - exact) > 0.2).all()
    result = []
    for seed in range(4):
        run = mf.simulate(
            problem, 0.5, save=2, step=0.05, seed=seed, representation="particles", tokens=2000
        )
        first, last = (measure.points for measure in run.measures)
        axis = int(np.abs(first.mean(axis=0)).argmax())
        c = last[:, axis]
        result.append([c.mean(), (d * c**2 - 1.0).mean() / (d - 1)])
    # Four standard errors of 8,000 cosines.
    assert np.mean(result, axis=0) == pytest.approx(exact, abs=0.02)
