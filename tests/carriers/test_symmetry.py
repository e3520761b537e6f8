"""Symmetries of a start that its problem shares: found, kept exactly, broken on request."""

from dataclasses import replace

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.carriers import Options, represent
from meanfield.carriers.symmetry import Symmetry, symmetry_of
from meanfield.carriers.symmetry_groups import turned_coefficients
from meanfield.fields.interactions import interaction_of
from meanfield.fields.positive_sums import velocity_and_divergence

CIRCLE, SPHERE = mf.Circle(), mf.Sphere()
SHARP = mf.exponential(beta=4.0)
THREE = mf.perturbed_uniform([[3, 0.1, 0.0]])
PENTAGON = 0.3 + 2.0 * np.pi * np.arange(5) / 5
TRIANGLE = 2.0 * np.pi * np.arange(3) / 3
OCTAHEDRON = np.vstack([np.eye(3), -np.eye(3)])
CROSS = np.vstack([np.eye(4), -np.eye(4)])
TETRAHEDRON = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / np.sqrt(3.0)


def of(problem: mf.Problem, **options: object) -> Symmetry | None:
    return symmetry_of(problem, Options(**options))


def summary(problem: mf.Problem, **options: object) -> str:
    group = of(problem, **options)
    return "none" if group is None else group.summary.removesuffix(": stays so")


def head(**matrices: object) -> mf.Attention:
    return mf.Attention([mf.Head(**matrices)], beta=3.0)


SKEW = [[0.0, -1.0], [1.0, 0.0]]
POINTS, NOISY = mf.from_points(TRIANGLE), mf.Flow("none", diffusivity=0.1)
THREE_FOLD = mf.Problem(CIRCLE, SHARP, mf.SA, THREE)


@pytest.mark.parametrize(
    ("manifold", "law", "expected"),
    [
        (CIRCLE, THREE, "three-fold symmetric, with mirrors"),
        (CIRCLE, mf.perturbed_uniform([[3, 0.1, 0.2], [6, 0.1, 0.0]]), "three-fold symmetric"),
        (CIRCLE, mf.perturbed_uniform([[2, 0.1, 0.0], [3, 0.1, 0.05]]), "none"),
        (CIRCLE, mf.perturbed_uniform([[3, 0.1, 0.0], [1, 1e-12, 1e-12]]), "none"),
        (CIRCLE, mf.von_mises_fisher(3.0, mean=1.0), "mirror symmetric"),
        (CIRCLE, mf.uniform(), "uniform"),
        (CIRCLE, mf.from_points(PENTAGON), "five-fold symmetric, with mirrors"),
        (SPHERE, mf.perturbed_uniform([[3, 2, 0.1]]), "tetrahedrally symmetric, with mirrors"),
        (SPHERE, mf.perturbed_uniform([[2, 0, 0.1]]),
         "symmetric about the axis, antipodally symmetric, with mirrors"),
        (SPHERE, mf.from_points(OCTAHEDRON),
         "octahedrally symmetric, antipodally symmetric, with mirrors"),
        (mf.Axial(5), mf.perturbed_uniform([[2, 0.1]]), "antipodally symmetric"),
        (mf.Sphere(4), mf.from_points(CROSS), "antipodally symmetric, with mirrors"),
        (mf.Sphere(4), mf.from_points(np.random.default_rng(0).normal(size=(9, 4))), "none"),
    ],
)  # fmt: skip
def test_symmetry_of_a_start(manifold, law, expected):
    """A symmetry would be missed, or invented."""
    assert summary(mf.Problem(manifold, SHARP, mf.SA, law)) == expected


@pytest.mark.parametrize(
    ("problem", "options", "expected"),
    [
        (mf.Problem(CIRCLE, head(score=[[1, 2], [0, 3]]), initial=THREE), {}, "none"),
        (mf.Problem(CIRCLE, head(score=[[1, 2], [0, 3]])), {}, "two-fold symmetric"),
        (mf.Problem(CIRCLE, head(value=[[1, -1], [1, 1]]), initial=THREE), {},
         "three-fold symmetric"),
        (replace(THREE_FOLD, drift=mf.LinearDrift(SKEW)), {}, "three-fold symmetric"),
        (replace(THREE_FOLD, drift=mf.LinearDrift([1.0, 2.0])), {}, "mirror symmetric"),
        (replace(THREE_FOLD, frequencies=mf.Gaussian(width=0.1)), {}, "three-fold symmetric"),
        (mf.Problem(SPHERE, head(score=np.diag([1.0, 1.0, 2.0]))), {},
         "symmetric about the axis, antipodally symmetric, with mirrors"),
        (mf.Problem(SPHERE, head(score=np.arange(9.0).reshape(3, 3) ** 2)), {},
         "antipodally symmetric"),
        (mf.Problem(CIRCLE, SHARP, NOISY, POINTS), {"step": 0.1}, "none"),
        (THREE_FOLD, {"name": "particles", "tokens": 3}, "none"),
        (THREE_FOLD, {"perturb": 1e-12}, "none"),
        (mf.Problem(CIRCLE, mf.Attention(beta=4.0, mask="causal"), initial=POINTS), {}, "none"),
    ],
)  # fmt: skip
def test_symmetries_are_those_of_problem_and_options(problem, options, expected):
    """A symmetry that the flow, noise, a mask or a disturbance breaks would be forced on it."""
    assert summary(problem, **options) == expected


@pytest.mark.parametrize(("count", "d"), [(8, 8), (16, 64)])
def test_large_groups_are_cut_short(count, d):
    """All permutations of orthogonal tokens would be tried, for hours, before the first step."""
    group = of(mf.Problem(mf.Sphere(d), SHARP, mf.SA, mf.from_points(np.eye(count, d))))
    assert 1 < len(group.images) <= min(1200, 2**22 // d**2)


def test_maps_that_move_the_mean_need_no_search(monkeypatch):
    """A run of 200,000 random tokens would begin with seconds of neighbours of images."""
    points = np.random.default_rng(0).uniform(0.0, 6.0, 500)
    problem = mf.Problem(CIRCLE, SHARP, mf.SA, mf.from_points(np.r_[points, points + np.pi]))
    assert of(problem) is not None
    monkeypatch.setattr("scipy.spatial.cKDTree", None)
    assert of(replace(problem, initial=mf.from_points(points))) is None


@pytest.mark.parametrize("modes", [[[3, 2, 0.1]], [[2, 1, 0.1]], [[3, 3, 0.2]], [[4, 0, 0.3]]])
def test_projection_is_the_mean_over_the_group(modes):
    """Coefficients that the group forbids would stay, or allowed ones go."""
    group = of(mf.Problem(SPHERE, SHARP, mf.SA, mf.perturbed_uniform(modes)))
    rng = np.random.default_rng(1)
    x = SPHERE.random_points(3, rng)
    c = SPHERE.moments(x, rng.dirichlet(np.ones(3)), 8)
    projected = group.project(c)
    expected = SPHERE.moments(np.concatenate([x @ g.T for g in group.maps]), None, 8)
    equal = group.project(SPHERE.moments(x, None, 8))
    if not group.axial:
        assert np.abs(equal - expected).max() <= 1e-13
    for g in group.maps:
        assert np.abs(turned_coefficients(SPHERE, projected, g) - projected).max() <= 1e-13
    assert np.abs(group.project(projected) - projected).max() <= 1e-13


@pytest.mark.parametrize("law", [THREE, POINTS])
def test_three_clusters_stay_for_ever(law):
    """Rounding would merge them near t = 1000."""
    problem = mf.Problem(CIRCLE, SHARP, mf.SA, law)
    run = mf.simulate(problem, 1e6, save=[0.0, 3e3, 1e6], tolerance=1e-8)
    assert not [event for event in run.events if event.kind == "merge"]
    assert run.observables["clusters/count"][-1] == 3.0
    assert np.abs(run.moments[-1, [1, 2, 4, 5]]).max() == 0.0
    assert run.attributes["symmetry"].endswith(": stays so")


@pytest.mark.slow
def test_disturbed_clusters_merge_when_the_theory_says():
    """A disturbance would not break the symmetry, or be of another size."""
    problem = mf.Problem(CIRCLE, SHARP, mf.SA, POINTS)
    lifetime = mf.cluster_rates(problem, problem.initial_measure()).lifetime
    times = []
    for size in (1e-12, 1e-9):
        run = mf.simulate(problem, 1e6, save=[0.0, 1e6], perturb=size)
        assert "symmetry" not in run.attributes
        times.append(next(event.time for event in run.events if event.kind == "merge"))
    # Three powers of ten are ln 1000 lifetimes; what follows is the same.
    assert abs((times[0] - times[1]) / (np.log(1e3) * lifetime) - 1.0) < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("manifold", "points"), [(SPHERE, OCTAHEDRON), (SPHERE, TETRAHEDRON), (mf.Sphere(4), CROSS)]
)
def test_polytopes_stay(manifold, points):
    """Rounding would move tokens from where no direction is theirs."""
    turn = np.linalg.qr(np.random.default_rng(2).normal(size=(points.shape[1],) * 2))[0]
    problem = mf.Problem(manifold, mf.exponential(1.0), mf.SA, mf.from_points(points @ turn))
    run = mf.simulate(problem, 300.0, save=[0.0, 300.0])
    last = run.measures[-1]
    assert np.abs(last.points - points @ turn).max() < 1e-12
    moved = mf.simulate(problem, 300.0, save=[0.0, 300.0], perturb=1e-12).measures[-1]
    same = moved.points.shape == last.points.shape
    assert not same or np.abs(moved.points - last.points).max() > 0.1


def test_symmetric_merges_still_happen():
    """Four times three tokens that the limit brings together would be kept apart."""
    quarter = 0.5 * np.pi * np.arange(4)
    points = mf.from_points(np.concatenate([quarter + 0.2, quarter - 0.2, quarter + 0.1]))
    run = mf.simulate(mf.Problem(CIRCLE, SHARP, mf.SA, points), 1e5, save=[0.0, 1e5])
    measure = run.measures[-1]
    assert len(measure.points) == 4
    assert np.abs(np.diff(np.sort(measure.points)) - 0.5 * np.pi).max() < 1e-12


@pytest.mark.slow
def test_uniform_start_of_a_head_stays_antipodal():
    """Odd moments would grow from rounding."""
    problem = mf.Problem(CIRCLE, head(score=[[1.0, 2.0], [0.0, 3.0]]))
    run = mf.simulate(problem, 3.0, save=4, representation="density")
    assert np.abs(run.moments[-1, 2]) > 0.1 and np.abs(run.moments[:, 1::2]).max() == 0.0


@pytest.mark.slow
def test_tokens_under_layers_stay_symmetric():
    """Layers would break what their flow keeps."""
    layers = mf.Layers(step=0.5, count=400, placement="pre")
    problem = mf.Problem(mf.Sphere(4), SHARP, mf.SA, mf.from_points(CROSS), layers=layers)
    last = mf.simulate(problem).measures[-1]
    assert np.abs(last.points - CROSS).max() < 1e-12


@pytest.mark.slow
def test_resumed_run_is_the_same(tmp_path):
    """A run resumed from a file would have lost its symmetry."""
    path, saves = tmp_path / "run.h5", [1.0, 8.0, 60.0]
    whole = mf.simulate(THREE_FOLD, 60.0, save=saves, tolerance=1e-7)
    mf.simulate(THREE_FOLD, 8.0, save=saves[:2], tolerance=1e-7, output=path)
    resumed = mf.simulate(THREE_FOLD, 60.0, save=saves, tolerance=1e-7, output=path, resume=True)
    assert np.array_equal(resumed.moments, whole.moments)
    assert mf.verify(path)["symmetry"].passed


def test_perturb_has_a_range():
    """A disturbance as large as the law would be no disturbance."""
    refused("perturb must be positive, at most 0.001, got 0.5", Options, perturb=0.5)
    assert Options(perturb=1e-3).perturb == 1e-3


SCORE = 4.0 * np.random.default_rng(8).normal(size=(2, 2))
SCORE_3 = 4.0 * np.random.default_rng(8).normal(size=(3, 3))
VALUE = [[1.0, 0.2], [-0.3, 0.8]]


def attending(manifold: mf.Sphere, how: str, **options: object) -> mf.Problem:
    matrices = {"score": options.pop("score"), "value": options.pop("value", 1.0)}
    attention = mf.Attention([mf.Head(**matrices)], how, beta=1.0)
    return mf.Problem(manifold, attention, **options)


@pytest.mark.parametrize(
    "problem",
    [
        attending(CIRCLE, "softmax", score=SCORE, value=VALUE),
        attending(SPHERE, "softmax", score=SCORE_3),
        attending(CIRCLE, "sinkhorn", score=0.25 * SCORE, value=VALUE),
        attending(SPHERE, "sinkhorn", score=0.25 * SCORE_3),
        attending(CIRCLE, "softmax", score=SCORE, drift=mf.LinearDrift(np.diag([1.0, 2.0]))),
        mf.Problem(CIRCLE, mf.exponential(-20.0), mf.SA, THREE),
        mf.Problem(mf.Axial(5), mf.exponential(-20.0), mf.SA),
    ],
    ids=["pairs", "pairs, sphere", "sinkhorn", "sinkhorn, sphere", "drift", "kernel", "rings"],
)
def test_asymmetry_of_nodes_does_not_feed_itself(problem):
    """Rounding would grow to another answer, and the run would call it symmetric."""
    group, space = of(problem), problem.manifold
    rng = np.random.default_rng(1)
    points, _ = group.orbits(space.random_points(20, rng), np.ones(20))
    masses = rng.dirichlet(np.ones(len(points)))
    for each in velocity_and_divergence(problem, interaction_of(problem), points, masses, group):
        sizes = np.linalg.norm(each.reshape(len(points), -1), axis=1).reshape(len(group.maps), -1)
        # Rounding of sums whose terms are a hundred times as large.
        assert np.ptp(sizes, axis=0).max() <= 1e-12 * max(1.0, float(sizes.max()))


def test_broken_symmetry_ends_a_run():
    """Nodes that no longer are symmetric would go on under the name of a symmetry."""
    group, nodes = of(THREE_FOLD), represent(THREE_FOLD, Options(name="characteristics"))
    carrier = group.carried(nodes)
    assert carrier.failure(0.0, carrier.state) is None
    count = carrier.state.size // 2
    moved = carrier.state.copy()
    moved[:count] += 1e-6 * np.cos(2.0 * np.pi * np.arange(count) / count)
    assert "rounding breaks the symmetry of the start" in str(carrier.failure(0.0, moved))
    assert nodes.failure(0.0, moved) is None


@pytest.mark.slow
def test_antipodal_clusters_of_a_head_stay():
    """Sums over pairs let rounding of 1e-13 grow to a single cluster near t = 150."""
    problem = attending(CIRCLE, "softmax", score=SCORE, value=VALUE)
    run = mf.simulate(problem, 200.0, save=[0.0, 100.0, 200.0], tolerance=1e-7)
    assert run.attributes["symmetry"].endswith("stays so")
    assert run.observables["order_parameter"].max() <= 1e-6
