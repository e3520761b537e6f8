"""Checks of stored runs: honest ones pass, and what was changed is found in the right row."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import h5py
import numpy as np
import pytest
from head_oracle import B1, V1

import meanfield as mf
from meanfield.runs import Run
from meanfield.store.run_file import stored_observables
from meanfield.verification import CHECKS, Check, checked_run, motions, verify
from meanfield.verification.checked_run import motion
from meanfield.verification.verify import Checks

LAW = mf.perturbed_uniform([[3, 0.1, 0.0], [1, 0.0, 0.02]])
USA, SA = (mf.Problem(mf.Circle(), mf.exponential(5.0), flow, LAW) for flow in (mf.USA, mf.SA))
TOKENS: dict[str, Any] = {"representation": "particles", "tokens": 40}
HEAD = mf.Head(score=[1.0, 0.5], value=[1.0, 0.5])
NOISE = mf.Flow("none", diffusivity=0.1)
BETWEEN = mf.perturbed_uniform([[1, 0.1, 0.05], [3, 0.1, 0]])
FIVE = mf.from_points([0.0, 0.1, 1.0, 2.5, 4.0])


def of(kernel: Any, flow: mf.Flow | None = None, initial: mf.Law = LAW) -> mf.Problem:
    return mf.Problem(mf.Circle(), kernel, flow, initial)


def vectors(d: int) -> Any:
    """Some tokens of R^d."""
    return mf.from_points(np.random.default_rng(0).normal(size=(12, d)))


# Runs by what is special of them: a problem and the options of `simulate`.
HONEST: dict[str, tuple[mf.Problem, dict[str, Any]]] = {
    "density, handed over": (USA, dict(until=30.0, save=13)),
    "softmax": (SA, dict(until=4.0, save=5)),
    "handed over between saves": (replace(SA, initial=BETWEEN), dict(until=6.0, save=9)),
    "noise": (of(mf.linear(), NOISE), dict(until=5.0, save=6)),
    "noisy tokens": (of(mf.linear(), NOISE), dict(until=2.0, save=5, step=0.1, **TOKENS)),
    "repulsion": (replace(USA, flow=mf.Flow("none", strength=-1.0)), dict(until=8.0, save=9)),
    "tokens, softmax": (SA, dict(until=9.0, save=10, **TOKENS)),
    "atoms": (of(mf.exponential(9.0), initial=FIVE), dict(until=60.0, save=21)),
    "sphere": (
        mf.Problem(mf.Sphere(), mf.exponential(2.0), mf.USA, mf.perturbed_uniform([[2, 0, 0.1]])),
        dict(until=2.0, save=3, representation="density", max_degree=32),
    ),
    "R^5 tokens": (
        mf.Problem(mf.Sphere(5), mf.exponential(2.0), mf.SA, vectors(5)), dict(until=4.0, save=5)
    ),
    "R^3": (
        mf.Problem(mf.Euclidean(3), mf.Attention([mf.Head()], beta=1.0), initial=vectors(3)),
        dict(until=1.0, save=3),
    ),
    "heads": (of(mf.Attention([HEAD], "none", beta=4.0)), dict(until=4.0, save=5)),
    "doubly stochastic": (
        of(mf.Attention([mf.Head()], "sinkhorn", beta=4.0)), dict(until=3.0, save=4, **TOKENS)
    ),
    "mask": (
        of(mf.Attention([mf.Head()], beta=3.0, mask="causal")), dict(until=1.0, save=3, labels=4)
    ),
    "layers": (replace(SA, layers=mf.Layers(0.1, count=6)), TOKENS),
    "stages": (
        replace(USA, stages=[mf.Stage(end=3.0), mf.Stage(kernel=mf.exponential(2.0))]),
        dict(until=6.0, save=9),
    ),
    "characteristics": (SA, dict(until=9.0, save=7, representation="characteristics")),
    "until atoms": (SA, dict(until=300.0, save=31)),
    "frequencies": (replace(SA, frequencies=mf.Gaussian(0.3)), dict(until=1.0, save=3)),
    "lengths": (replace(SA, layers=mf.Layers(0.1, count=4, placement="pre")), TOKENS),
    "noise on the sphere": (
        mf.Problem(mf.Sphere(), mf.exponential(3.0), mf.Flow(True, 1.0, 0.1)),
        dict(until=2.0, save=5, step=0.05, **TOKENS),
    ),
    "drift": (replace(USA, drift=mf.LinearDrift(np.diag([0.1, -0.1]))), dict(until=3.0, save=4)),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", HONEST)
def test_honest_runs_pass(kind):
    """A user would distrust a sound run."""
    problem, options = HONEST[kind]
    checks = verify(mf.simulate(problem, **options))
    assert checks.passed, str(checks)
    assert sum(check.passed is True for check in checks.checks) >= 6
    # What does not apply says why.
    assert all(len(check.note) > 5 for check in checks.checks)


@pytest.fixture(scope="module")
def density() -> Run:
    return mf.simulate(USA, 12.0, save=13)


@pytest.fixture(scope="module")
def tokens() -> Run:
    return mf.simulate(USA, 20.0, save=21, **TOKENS)


def failed(run: Run) -> set[str]:
    return {check.name for check in verify(run).failed}


def with_rate(run: Run, k: int) -> Run:
    """Run whose dissipation at one save is larger by a thousandth."""
    rate = run.diagnostics["energy_dissipation"].copy()
    rate[k] *= 1.001
    return replace(run, diagnostics=run.diagnostics | {"energy_dissipation": rate})


@pytest.mark.slow
@pytest.mark.parametrize("name", ["density", "tokens"])
def test_what_was_altered_is_detected(name, request):
    """Numbers of another run would count as sound."""
    run: Run = request.getfixturevalue(name)
    assert failed(run) == set()
    k = len(run.scaled_time) // 2

    if name == "density":
        tail = np.full(len(run.scaled_time), 1e-6)
        assert failed(replace(run, diagnostics=run.diagnostics | {"tail": tail})) == {"tail"}

    moments = run.moments.copy()
    moments[k, 2] += 1e-9
    assert "moments" in failed(replace(run, moments=moments))

    energy = run.observables["energy"].copy()
    energy[k] += 1e-9
    wrong = replace(run, observables=run.observables | {"energy": energy})
    assert failed(wrong) == {"energy"}
    energy[k] = energy[0] - 1e-6
    wrong = replace(run, observables=run.observables | {"energy": energy})
    assert {"energy direction", "energy balance"} <= failed(wrong)

    times = run.scaled_time.copy()
    times[[k, k + 1]] = times[[k + 1, k]]
    assert "times" in failed(replace(run, scaled_time=times))

    assert failed(with_rate(run, k)) == {"dissipation"}

    other = replace(run, source_problem=replace(run.problem, kernel=mf.exponential(5.01)))
    assert {"problem", "growth rates", "energy", "dissipation"} <= failed(other)
    law = mf.perturbed_uniform([[3, 0.1001, 0.0], [1, 0.0, 0.02]])
    start = {"start"} if name == "density" else set()
    assert failed(replace(run, source_problem=replace(run.problem, initial=law))) == start
    # As if it had taken one hundredth less time: nothing else is wrong.
    hurried = failed(replace(run, scaled_time=0.99 * run.scaled_time))
    assert hurried == {"action bound", "integrated again"}
    interrupted = replace(run, attributes=run.attributes | {"status": "interrupted"})
    assert failed(interrupted) == {"complete"}


# Centres of clusters are mirrored, too, and no state leads to its mirror image.
_JUMP = ("observables", "integrated again")


def mirrored(run: Run, k: int) -> Run:
    """Run whose states are mirrored from one save on."""
    half: list[mf.Density | mf.Measure] = []
    for measure in run.measures[k:]:
        if isinstance(measure, mf.Density):
            half.append(mf.Density(measure.manifold, measure.coefficients.conj()))
        elif measure is not None:
            half.append(mf.Measure(measure.manifold, -measure.points, measure.weights))
    moments = np.concatenate([run.moments[:k], run.moments[k:].conj()])
    return replace(run, moments=moments, measures=(*run.measures[:k], *half))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["density", "tokens"])
def test_mirrored_half_way_is_detected(name, request):
    """States, moments and energies would agree, and the run jump."""
    run: Run = request.getfixturevalue(name)
    turned = mirrored(run, len(run.scaled_time) // 2)
    moving = {"speed", "mean angle", "order"} if name == "tokens" else set()
    assert failed(turned) == {"path of moments", "action bound", *_JUMP} | moving
    # Without a state it is found, too.
    bare = replace(turned, measures=(None,) * len(run.measures))
    assert failed(bare) == {"path of moments"}


@pytest.mark.slow
def test_tokens_that_pass_each_other_are_detected():
    """Heads with matrices have no energy: mirrored states of softmax would look sound."""
    drawn = {"representation": "particles", "tokens": 12}
    head = mf.Head(score=[[1.0, 0.4], [-0.3, 0.5]], value=[[1.0, 0.2], [0.4, -0.5]])
    run = mf.simulate(of(mf.Attention([head], beta=4.0)), 12.0, save=3, **drawn)
    assert verify(run)["order"].passed
    assert failed(mirrored(run, 1)) == {"order", *_JUMP}
    # Numbers of turns, and tokens in the same place, are no order.
    law = mf.from_points([0.0, 2.0 * np.pi, 1.0, -1.0, 7.0])
    problem = of(mf.exponential(2.0), initial=law)
    along = mf.simulate(problem, 9.0, save=4, representation="particles")
    assert verify(along)["order"].passed


@pytest.mark.slow
def test_symmetry_that_rounding_broke_is_detected():
    """A three-fold density that became another one would pass, early or late."""
    law = mf.perturbed_uniform([[3, 0.1, 0.0]])
    run = mf.simulate(replace(USA, initial=law), 400.0, save=[0.0, 5.0, 400.0])
    check = verify(run)["symmetry"]
    assert check.passed and "three-fold symmetric" in check.note
    assert run.representation[-1] == "atoms"
    for save in (1, 2):
        moments = run.moments.copy()
        moments[save, 1] += 1e-9j
        assert "symmetry" in failed(replace(run, moments=moments))


def test_disturbed_start_passes():
    """Intervals of a run that left its symmetry would be integrated again with it."""
    law = mf.perturbed_uniform([[3, 0.1, 0.0]])
    run = mf.simulate(replace(USA, initial=law), 4.0, save=3, perturb=1e-3)
    checks = verify(run)
    assert checks.passed and checks["integrated again"].result == "pass"


@pytest.mark.slow
def test_large_runs_are_checked_at_a_sample_of_their_saves(tokens, monkeypatch):
    """Sums over the pairs of many tokens at many saves would take minutes, unsaid."""
    # 40 tokens have 1,600 pairs: room for five of 21 saves.
    monkeypatch.setattr(checked_run, "_SAMPLE_WORK", 5 * 1600.0)
    assert checked_run.CheckedRun(tokens).sample == (0, 4, 8, 16, 20)
    checks = verify(tokens)
    assert checks.passed, str(checks)
    for name in ("observables", "torque", "dissipation", "action bound"):
        assert checks[name].note.endswith("5 of 21 states, as all would take long")
    assert "dissipation" in failed(with_rate(tokens, 8))


@pytest.mark.slow
def test_progress_has_every_check(tmp_path):
    """A bar would count 27 of 26 checks, as files and fluctuations have checks of their own."""
    path = tmp_path / "r.h5"
    mf.simulate(SA, until=1.0, save=3, fluctuations=2, output=path)
    lengths, records = [], []

    def watch(checks: Checks) -> Iterator[Check]:
        lengths.append(len(checks))
        for check in checks:
            records.append(check)
            yield check

    assert records == [*verify(path, progress=watch).checks]
    assert lengths == [len(records)] == [1 + len(CHECKS) + 3]


@pytest.mark.slow
def test_file_of_a_run_has_its_hash(tmp_path, density):
    """A run that was loaded would be checked less than one in memory, or not against its hash."""
    density.save(tmp_path / "run.h5")
    loaded = mf.load(tmp_path / "run.h5")
    checks = verify(loaded)
    assert "<table>" in checks._repr_html_()
    assert checks.passed and checks["problem"].passed and checks["energy"].measured == 0.0
    changed = replace(loaded, attributes=loaded.attributes | {"result_hash": 64 * "0"})
    assert failed(changed) == {"hash"}
    # The text of the run file says another problem than the attributes.
    config = loaded.attributes["config"].replace("beta = 5.0", "beta = 5.5")
    changed = replace(loaded, attributes=loaded.attributes | {"config": config})
    assert {"problem", "growth rates", "energy"} <= failed(changed)


@pytest.fixture(
    scope="module",
    params=[mf.exponential(5.0), mf.Attention([mf.Head(score=B1, value=V1)], beta=2.0)],
    ids=["kernel", "heads"],
)
def edited(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Callable[[Any], set[str]]:
    """Function: which checks fail of a file that was edited and has lost its hash."""
    path = tmp_path_factory.mktemp("edited") / "run.h5"
    mf.simulate(of(request.param), until=4.0, save=9, output=path)
    content = path.read_bytes()
    assert verify(path).passed

    def names(edit: Any) -> set[str]:
        path.write_bytes(content)
        with h5py.File(path, "r+") as file:
            del file.attrs["result_hash"]
            edit(file)
        return {check.name for check in verify(path).failed}

    return names


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "factor", "more"),
    [("clusters/count", 1.0, 1.0), ("order_parameter", 1.01, 0.0), ("entropy", 1.1, 0.0)],
)
def test_edited_observables_are_detected(edited, name, factor, more):
    """Numbers that no state has would pass once the hash is gone."""

    def edit(file: h5py.File) -> None:
        file[f"observables/{name}"][...] = factor * file[f"observables/{name}"][()] + more

    assert edited(edit) == {"seal", "hash", "observables"}
    assert edited(lambda file: None) == {"seal", "hash"}


@pytest.mark.slow
def test_states_that_do_not_follow_are_detected(edited):
    """States that agree with all that is stored of them would pass as an evolution."""

    def larger(file: h5py.File) -> None:
        for name in ("moments", "density/coefficients"):
            values = file[name][()]
            values[1:, 1] *= 1.01
            file[name][...] = values

    def repeated(file: h5py.File) -> None:
        stored = [f"observables/{name}" for name in stored_observables(file)]
        for name in ("moments", "density/coefficients", *stored):
            values = file[name][()]
            values[4] = values[5]
            file[name][...] = values

    assert "integrated again" in edited(larger)
    assert {"hash", "integrated again"} <= edited(repeated)


def test_rates_of_motion_are_those_of_sums_over_pairs():
    """Dissipation and torque would be checked against wrong numbers, by the same mistake."""
    rng = np.random.default_rng(1)
    theta, mass = rng.uniform(0.0, 6.0, 9), rng.dirichlet(np.ones(9))
    pair = theta[None, :] - theta[:, None]
    weights = mass * np.exp(5.0 * np.cos(pair) - 5.0)
    partition = weights.sum(axis=1)
    velocity = (weights * np.sin(pair)).sum(axis=1) / partition
    result = motion(SA, mf.Measure(mf.Circle(), theta, mass), 1e-10)
    # Sums of 9 numbers of order 1.
    close = {"rel": 1e-12, "abs": 1e-15}
    assert result.dissipation == pytest.approx(mass @ (partition * velocity**2), **close)
    assert result.power == pytest.approx(mass @ velocity**2, **close)
    assert result.torque == pytest.approx(abs(mass @ velocity), **close)


@pytest.mark.slow
@pytest.mark.parametrize("strength", [1.0, -1.0])
@pytest.mark.parametrize("space", [mf.Circle(), mf.Sphere(5)])
def test_power_grows_no_faster_than_its_rate(space, strength):
    """An honest run would leave the bracket of its energies."""
    rng = np.random.default_rng(2)
    problem = mf.Problem(space, mf.exponential(4.0), mf.Flow("none", strength=strength))
    falls, grows = motions.power_rates(problem) or (0.0, 0.0)
    step, largest = 1e-4, 0.0
    for _ in range(25):
        # Few tokens: those of many have rates in between.
        law = mf.from_points(space.random_points(int(rng.integers(2, 4)), rng))
        run = mf.simulate(replace(problem, initial=law), step, save=2, representation="particles")
        powers = [motion(problem, each, 1e-10).power for each in run.measures if each is not None]
        rate = (powers[1] - powers[0]) / (step * powers[0])
        # The rate changes by itself, squared, in a step.
        assert -falls - 0.01 <= rate <= grows + 0.01
        largest = max(largest, rate / grows, -rate / falls)
    # Bounds that are far off would detect nothing.
    assert largest > 0.25


def test_mean_inverse_partition_bounds_every_measure():
    """An honest softmax run would break the path of its moments."""
    rng = np.random.default_rng(3)
    for space in (mf.Circle(), mf.Sphere(), mf.Sphere(6)):
        problem = mf.Problem(space, mf.exponential(6.0), mf.SA)
        bound = motions.mean_inverse_partition(problem) or 0.0
        x = mf.Sphere(space.ambient).random_points(300, rng)
        inverse = float((1.0 / np.exp(6.0 * (x @ x.T) - 6.0).mean(axis=1)).mean())
        assert inverse <= bound <= np.exp(12.0)
    # On the circle the covering is the better of the two bounds by far.
    assert (motions.mean_inverse_partition(SA) or 0.0) < 30.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "check"),
    [
        ("real_covariance", "fluctuations: covariance"),
        ("real_shift", "fluctuations: start"),
        ("limit", "fluctuations: limit"),
    ],
)
def test_fluctuations_that_were_altered_are_detected(what, check):
    """Covariances, their start, and the limit that they are about."""
    run = mf.simulate(SA, until=1.0, save=3, fluctuations=2)
    assert run.fluctuations is not None
    assert verify(run).passed and verify(run)[check].passed
    values = getattr(run.fluctuations, what).copy()
    values[0] *= -1.0
    values[0] += 1e-3
    altered = replace(run, fluctuations=replace(run.fluctuations, **{what: values}))
    assert check in failed(altered)
