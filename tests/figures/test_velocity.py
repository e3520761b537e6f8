"""Figures of the velocity: zeros, speeds and heads against exact fields."""

import numpy as np
import pytest
from head_oracle import B1, B2, MASSES, TOKENS, V1, V2, components, vectors, velocity

import meanfield as mf
from meanfield.figures.data.circle import cell_edges, cell_means
from meanfield.figures.data.projections import Mollweide
from meanfield.figures.draw.velocity import LONGEST, velocities, velocity_picture

CIRCLE, SPHERE = mf.Circle(), mf.Sphere()


def still(problem, **options):
    return mf.simulate(problem, until=1e-6, save=[0.0], **options)


def test_heads_add_up_to_the_velocity_of_tokens():
    """B^T in the place of B, or one Z for all heads, would show here."""
    x, listed = vectors(TOKENS), [(B1, V1), (B2, V2)]
    expected = [
        components(TOKENS, velocity(x, x, MASSES, [(2.0 * score, value)], "softmax"))
        for score, value in listed
    ]
    heads = [mf.Head(score=score, value=value) for score, value in listed]
    law = mf.from_points(TOKENS, MASSES)
    problem = mf.Problem(CIRCLE, mf.Attention(heads, beta=2.0), initial=law)
    measure = problem.initial_measure()
    result = velocities(problem, measure, measure.points)
    assert result == pytest.approx(np.array(expected), abs=1e-13)
    (panel,) = velocity_picture(still(problem, representation="particles")).panels
    assert panel.heads.sum(axis=0) == pytest.approx(panel.velocity, abs=1e-15)
    assert sorted(panel.tokens) == pytest.approx(sorted([*TOKENS[:4], TOKENS[4] - 2 * np.pi]))


def test_zeros_of_the_mean_direction_are_where_kuramoto_rests():
    """The velocity is -r sin(theta - phi): stable at phi, unstable opposite, as fast as r."""
    law = mf.perturbed_uniform([[1, 0.4 * np.cos(2.9), 0.4 * np.sin(2.9)]])
    (panel,) = velocity_picture(still(mf.Problem(CIRCLE, mf.linear(), mf.USA, law))).panels
    assert panel.zeros[panel.stable] == pytest.approx([2.9], abs=1e-9)
    assert panel.zeros[~panel.stable] == pytest.approx([2.9 - np.pi], abs=1e-9)
    # Modes of 1 + 2 |c| cos: r = |c| is half the amplitude; 720 angles see the crest to 1e-5.
    r = abs(law.build(CIRCLE).coefficients[1])
    assert panel.largest_speed == pytest.approx(r, rel=1e-5)
    assert len(panel.heads) == 0  # one alone is the velocity


def test_a_reflection_draws_to_both_of_its_poles():
    """B = V = diag(1, -1): tokens at 0 and pi are stable, none is where the axes reflect."""
    head = mf.Head(score=[1.0, -1.0], value=[1.0, -1.0])
    law = mf.perturbed_uniform([[2, 0.5, 0.0]])
    problem = mf.Problem(CIRCLE, mf.Attention([head], beta=4.0), initial=law)
    (panel,) = velocity_picture(still(problem)).panels
    stable, unstable = np.cos(panel.zeros[panel.stable]), np.cos(panel.zeros[~panel.stable])
    assert sorted(stable) == pytest.approx([-1.0, 1.0], abs=1e-12)
    assert unstable == pytest.approx([0.0, 0.0], abs=1e-9)


def test_uniform_is_at_rest_for_a_kernel_and_moves_in_a_matrix():
    """Rounding blown up to arrows, or a drift that is not drawn, would show here."""
    (rest,) = velocity_picture(still(mf.Problem(CIRCLE, mf.exponential(4.0), mf.USA))).panels
    assert rest.largest_speed == 0.0 and len(rest.zeros) == 0
    stretched = mf.Attention([mf.Head(value=[2.0, 1.0])], beta=4.0)
    (moved,) = velocity_picture(still(mf.Problem(CIRCLE, stretched))).panels
    # v = -A sin(2 theta) / 2 with A = I_1(4) / I_0(4), from P_x V x times the mean of <x, y>.
    assert moved.largest_speed == pytest.approx(0.5 * 0.8635, rel=1e-3)
    assert sorted(np.cos(moved.zeros[moved.stable])) == pytest.approx([-1.0, 1.0], abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
def test_series_and_sums_over_pairs_agree(flow):
    """A kernel known by its values alone has no sums over pairs: the other way to the same."""
    # 1e-9: its multipliers are found by quadrature.
    law = mf.perturbed_uniform([[1, 0, 0.2], [2, 1, 0.1]])
    own = mf.zonal(lambda s: np.exp(3.0 * (s - 1.0)))
    places = np.array([[0.6, 0.0, 0.8], [0.0, 1.0, 0.0], [-0.48, 0.6, -0.64]])
    pairs, series = (
        velocities(mf.Problem(SPHERE, kernel, flow, law), law.build(SPHERE), places)
        for kernel in (mf.exponential(3.0), own)
    )
    assert np.abs(pairs).max() > 0.01
    assert pairs == pytest.approx(series, abs=1e-9)


def test_arrows_on_a_map_go_north_to_a_token_at_the_pole():
    """Arrows P_x e_3: as long as cos(latitude), along the meridian."""
    pole = mf.from_points([[0.0, 0.0, 1.0]])
    run = still(mf.Problem(SPHERE, mf.linear(), mf.USA, pole), representation="particles")
    (panel,) = velocity_picture(run).panels
    assert panel.largest_speed == pytest.approx(1.0, abs=1e-3)
    latitude = np.arcsin(Mollweide().to_sphere(*panel.places.T)[:, 2])
    length = np.hypot(*panel.arrows.T)
    assert length == pytest.approx(LONGEST * np.cos(latitude) / panel.largest_speed, abs=1e-5)
    assert np.all(panel.arrows[:, 1] > 0.0)


def test_longest_arrow_has_the_speed_below_the_map():
    """Arrows at the seam are left out: the speed of one of them would belong to no arrow."""
    law = mf.from_points([[-0.995, 0.0, 0.1], [-0.995, 0.05, 0.0]])
    problem = mf.Problem(SPHERE, mf.exponential(100.0), mf.USA, law)
    run = still(problem, representation="particles")
    (panel,) = velocity_picture(run).panels
    tails = Mollweide().to_sphere(*panel.places.T)
    speeds = np.linalg.norm(velocities(problem, run.measures[0], tails).sum(axis=0), axis=1)
    # Places on the map are accurate to 1e-6, and v changes over beta^{-1/2} = 0.1.
    assert panel.largest_speed == pytest.approx(speeds.max(), rel=1e-3)


@pytest.mark.parametrize("space", [CIRCLE, SPHERE])
def test_speeds_are_per_unit_of_the_times_beside_them(space):
    """Speeds per scaled time beside times in paper time would differ by e^beta."""
    problem = mf.Problem(space, mf.exponential(2.0), mf.USA, mf.von_mises_fisher(1.0))
    scaled, paper = (
        velocity_picture(mf.simulate(problem, 1e-6, unit=unit, save=[0.0])).panels[0]
        for unit in ("scaled", "paper")
    )
    factor = np.exp(2.0)
    assert paper.largest_speed == pytest.approx(factor * scaled.largest_speed, rel=1e-13)
    if space is CIRCLE:
        assert paper.velocity == pytest.approx(factor * scaled.velocity, rel=1e-13)


def test_velocity_has_the_strength_of_its_time():
    """Functions of time at time 0 would draw a tenth of the strength ten times too fast."""
    law = mf.perturbed_uniform([[1, 0.2, 0.0]])
    weaker = mf.Flow("none", strength=lambda t: 1.0 - 0.9 * t)
    run = mf.simulate(mf.Problem(CIRCLE, mf.linear(), weaker, law), until=1.0, save=2)
    panels = velocity_picture(run).panels
    one = mf.Problem(CIRCLE, mf.linear(), mf.USA, law)
    for panel, strength, measure in zip(panels, (1.0, 0.1), run.measures, strict=True):
        expected = strength * velocities(one, measure, panel.angles).sum(axis=0)
        assert panel.velocity == pytest.approx(expected, abs=1e-14)


@pytest.mark.slow
def test_figure_names_heads_and_their_score():
    """SA and a beta of no matrix would say less than what was solved."""
    heads = [mf.Head(score=[2.1, 1.0]), mf.Head(beta=1.0)]
    run = still(mf.Problem(CIRCLE, mf.Attention(heads, beta=2.0)))
    (axes,) = run.plot("velocity").axes[:1]
    named = r"circle,  2 heads,  softmax,  $\beta |B| = 4.2$,  two-fold symmetric"
    assert axes.get_title(loc="left").startswith(named)
    texts = {text.get_text() for inset in axes.child_axes for text in inset.texts}
    assert {"head 1", "head 2", "sum"} <= texts


def test_very_many_points_move_as_few(monkeypatch):
    """Beyond what pairs can sum, series of moments say what each head does."""
    heads = [mf.Head(score=[1.0, -0.5], value=[[0.3, -1.0], [1.0, 0.3]]), mf.Head(beta=1.0)]
    law = mf.perturbed_uniform([[1, 0.2, 0.1], [2, 0.0, 0.1]])
    problem = mf.Problem(CIRCLE, mf.Attention(heads, beta=2.0), initial=law)
    places = np.linspace(-3.0, 3.0, 7)
    pairs = velocities(problem, law.build(CIRCLE), places)
    monkeypatch.setattr("meanfield.figures.draw.velocity._MOST_PAIRS", 0)
    assert velocities(problem, law.build(CIRCLE), places) == pytest.approx(pairs, abs=1e-13)


def test_nodes_that_fold_leave_clusters_where_they_are():
    """Nodes of no mass that overtook a cluster at 2 would take its image with them."""
    points = np.repeat([0.0, 0.0, 2.0, 2.0 * np.pi], 16)
    mass = np.where(np.repeat([True, False, True, False], 16), 1.0, 1e-14)
    points[16:32] = np.linspace(0.0, 2.3, 16)
    measure = mf.Measure(CIRCLE, points, mass / mass.sum(), cell_order=16)
    means = cell_means(measure, 720)
    shares = [means[np.abs(cell_edges(720)[:-1] - angle) < 0.05].sum() / 720 for angle in (0, 2)]
    assert shares == pytest.approx([0.5, 0.5], abs=1e-12)
