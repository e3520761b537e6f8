"""Points of the comparison of laws with ensembles: what they derive, and their figure."""

from dataclasses import replace

import numpy as np
import pytest
from law_figure import law_figure, save_law_plot
from law_points import LawPoint, degree_count, law_points, stored_counts
from parameters import refused

import meanfield as mf
from meanfield.studies import corrected_law
from meanfield.studies.ensemble import ensemble
from meanfield.studies.ensemble_results import CountLaw, law_of, total_variation

PROBLEM = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA)
FEW = {"samples": 50, "corrected_samples": 2}


def point(**changes):
    options = {
        "beta": 5.0,
        "tokens": 1000,
        "dimension": 1,
        "dominant_degree": 3,
        "closed_form": 3.0,
        "linear": CountLaw({3: 1.0}, 3.0, 0.0, 100),
        "corrected": CountLaw({2: 0.5, 3: 0.5}, 2.5, 0.05, 100),
        "measured": CountLaw({2: 1.0}, 2.0, 0.02, 400),
        "carrier": "particles",
    }
    return LawPoint(**(options | changes))


@pytest.fixture(scope="module")
def measured():
    return ensemble(PROBLEM, tokens=(50, 60), runs=4, seed=3)


def test_ratios_have_the_errors_of_both_means():
    """Error bars of a ratio would miss one of its parts."""
    assert point().closed_form_ratio == pytest.approx((1.5, 1.5 * 0.01), rel=1e-14)
    ratio, error = point().corrected_ratio
    assert ratio == pytest.approx(1.25, rel=1e-14)
    rng = np.random.default_rng(0)
    drawn = (2.5 + 0.05 * rng.standard_normal(40_000)) / (2.0 + 0.02 * rng.standard_normal(40_000))
    # Three standard errors of a spread of 40,000 are 1 %.
    assert error == pytest.approx(float(np.std(drawn)), rel=0.02)


def test_distances_are_those_from_the_runs():
    """A law would be compared with the other law."""
    assert point().linear_distance == 1.0
    assert point().corrected_distance == 0.5


def test_sampling_distance_is_that_of_two_samples_of_one_law():
    """Noise of finite samples would be taken for an error of the law, or the other way round."""
    rng = np.random.default_rng(1)
    values, shares = np.array([2, 3, 4]), np.array([0.2, 0.5, 0.3])
    result, expected = [], []
    for _ in range(400):
        one, other = (law_of(rng.choice(values, n, p=shares)) for n in (300, 500))
        result.append(total_variation(one.distribution, other.distribution))
        expected.append(point(corrected=one, measured=other).sampling_distance)
    # The standard error of 400 distances is 2.5 % of their mean.
    assert np.mean(expected) == pytest.approx(np.mean(result), rel=0.08)


def test_deviation_counts_standard_errors():
    """The check of the formula would be too strict or too lenient."""
    law = CountLaw({2: 0.5, 3: 0.5}, 2.5, 0.05, 100)
    assert point(linear=law, closed_form=2.4).linear_deviation == pytest.approx(2.0, rel=1e-12)
    # One maximum in every sample has no spread, and the exact mean is 1.0001.
    law = CountLaw({1: 1.0}, 1.0, 0.0, 10_000)
    assert point(linear=law, closed_form=1.0001).linear_deviation == pytest.approx(-1.0, rel=1e-3)
    assert point(linear=law, closed_form=1.0).linear_deviation == 0.0
    assert point(linear=law, closed_form=2.0).linear_deviation == -np.inf


@pytest.mark.parametrize(("dimension", "expected"), [(1, 3.0), (2, 3.711631)])
def test_degree_alone_makes_its_own_number(dimension, expected):
    """The staircase would be that of the other manifold."""
    assert degree_count(dimension, 3) == pytest.approx(expected, abs=1e-6)
    assert point(dimension=dimension).degree_count == degree_count(dimension, 3)


def test_points_hold_the_runs_at_the_multiple(measured):
    """Clusters of another time or size would be compared."""
    points = law_points(PROBLEM, measured, multiple=1.0, **FEW)
    assert [p.tokens for p in points] == [50, 60]
    for i, p in enumerate(points):
        assert p.measured.mean == pytest.approx(measured.mean_count[i, 0], rel=1e-14)
        assert p.measured.distribution == pytest.approx(measured.distribution(i, 0), rel=1e-14)
        assert (p.beta, p.dominant_degree, p.carrier) == (5.0, 3, "particles")
        assert p.closed_form == mf.mean_clusters(PROBLEM, p.tokens)
        assert (p.linear.samples, p.corrected.samples, p.measured.samples) == (50, 2, 4)


def test_missing_sizes_and_runs_are_left_out(measured):
    """A run that is not there would count as -1 clusters."""
    counts = measured.counts.copy()
    counts[0], counts[1, 1:] = -1, -1
    (only,) = law_points(PROBLEM, replace(measured, counts=counts), **FEW)
    assert (only.tokens, only.measured.samples) == (60, 1)


def test_corrected_law_shares_no_numbers_with_the_runs(measured, monkeypatch):
    """Systems of few tokens would be the runs themselves, and agree with them for no reason."""
    seeds = []

    def record(*options):
        seeds.append(options[3])
        yield range(2), np.array([3, 3])

    monkeypatch.setattr("law_points.corrected_counts", record)
    law_points(PROBLEM, measured, seed=3, **FEW)
    assert 3 not in seeds and len(set(seeds)) == 2


def test_second_analysis_samples_nothing(measured, tmp_path, monkeypatch):
    """An hour of samples would be made again, or others be read than were made."""
    store = tmp_path / "laws.json"
    first = law_points(PROBLEM, measured, store=store, **FEW)

    def refuse(*options):
        raise AssertionError("sampled again")

    monkeypatch.setattr("law_points.corrected_counts", refuse)
    monkeypatch.setattr("law_points.linear_counts", refuse)
    again = law_points(PROBLEM, measured, store=store, **FEW)
    assert [(p.linear, p.corrected) for p in again] == [(p.linear, p.corrected) for p in first]
    for other in ({"seed": 1}, {"samples": 51}, {"corrected_samples": 3}):
        with pytest.raises(AssertionError, match="sampled again"):
            law_points(PROBLEM, measured, store=store, **(FEW | other))
    # The corrected law has constants; with others it is another law.
    monkeypatch.setattr(corrected_law, "_AMPLITUDE", 0.2)
    with pytest.raises(AssertionError, match="sampled again"):
        law_points(PROBLEM, measured, store=store, **FEW)


def test_stored_counts_are_the_finished_runs(tmp_path):
    """Counts would change on the way through the file, or one entry replace another."""
    store = tmp_path / "laws.json"
    for key, counts in ((1, [3, 2, 3]), (2, [7])):
        result = stored_counts(
            store, {"n": key, "degrees": {1: 2.0}}, lambda c=counts: [np.array(c)]
        )
        assert result.tolist() == sorted(counts)
    for key, expected in ((1, [2, 3, 3]), (2, [7])):
        values = stored_counts(store, {"n": key, "degrees": {1: 2.0}}, lambda: [])
        assert values.tolist() == expected


MISCOUNTED = [
    f'[{{"of": 1, "counts": {{"{number}": {times}}}}}]'
    for number, times in [("2", "-1"), ("two", "1"), ("2", '"3"'), ("2", "1.5"), ("2", "true")]
]


@pytest.mark.parametrize("text", ["{", "3", '[{"of": 1}]', "[3]", *MISCOUNTED])
def test_store_of_something_else_is_refused(text, tmp_path):
    """A foreign file would be overwritten, or end in a message about keys."""
    store = tmp_path / "laws.json"
    store.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"holds no samples of laws: delete it"):
        stored_counts(store, {}, lambda: [np.array([1])])


@pytest.mark.parametrize(("problem", "changes", "options", "message"), [
    # Laws of one beta would be compared with runs of another.
    (replace(PROBLEM, kernel=mf.exponential(7.0)), {}, {}, "its beta is 5.0, expected 7.0"),
    # The laws say nothing of tokens that begin elsewhere.
    (PROBLEM, {"predicted": np.full(2, np.nan)}, {}, "the laws are those of uniform tokens"),
    # The nearest time would be taken silently.
    (PROBLEM, {}, {"multiple": 3.0}, r"counted at \[1.0, 2.0\] onset times, got multiple = 3"),
    # There would be a dominant degree where none grows.
    (replace(PROBLEM, flow=mf.Flow("none", strength=-1.0)), {"attributes": {}}, {},
     "nothing grows: uniform is stable"),
])  # fmt: skip
def test_laws_of_something_else_are_refused(measured, problem, changes, options, message):
    """Numbers of two problems would be compared."""
    refused(message, law_points, problem, replace(measured, **changes), **options, **FEW)


def points(dimension=1):
    """Four betas and two sizes; the runs have one cluster less in a hundred."""
    return [
        point(
            beta=beta,
            tokens=n,
            dimension=dimension,
            dominant_degree=degree,
            closed_form=1.05 * degree,
            linear=CountLaw({degree: 0.9, degree + 1: 0.1}, degree + 0.1, 0.01, 100),
            corrected=CountLaw({degree: 1.0}, degree, 0.01, 100),
            measured=CountLaw({degree: 0.99, degree - 1: 0.01}, degree - 0.01, 0.01, 100),
        )
        for beta, degree in ((2.0, 2), (5.0, 3), (7.0, 4), (12.0, 5))
        for n in (100, 20_000)
    ]


def labelled(figure, label):
    (panel,) = (axes for axes in figure.axes if axes.get_ylabel() == label)
    return panel


@pytest.mark.parametrize("dimension", [1, 2])
def test_every_panel_shows_all_points(dimension):
    """A size or a law would be missing from a panel."""
    figure = law_figure(points(dimension), "title", "subtitle")
    legend = labelled(figure, "mean number of clusters").get_legend()
    assert [text.get_text() for text in legend.get_texts()] == [
        "closed form", "corrected law", "runs", "$N = 100$", r"$N = 2 \times 10^{4}$",
    ]  # fmt: skip
    for label in (
        "mean number of clusters",
        r"mean number of clusters / $\sqrt{\beta}$",
        "closed form / measured mean",
        "corrected / measured mean",
    ):
        panel = labelled(figure, label)
        assert sum(len(bars[0].get_xdata()) for bars in panel.containers) == 8
    lines = labelled(figure, "total variation from the runs").lines
    assert sum(len(line.get_xdata()) for line in lines if line.get_marker() in ("o", "s")) == 16


def test_ratio_panels_show_their_own_ratio():
    """The two laws would be exchanged."""
    figure = law_figure(points())
    for label, expected in (
        ("closed form / measured mean", 1.05 * 5 / 4.99),
        ("corrected / measured mean", 5 / 4.99),
    ):
        last = labelled(figure, label).containers[-1][0]
        assert last.get_ydata()[-1] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("dimension", "threshold", "expected"),
    [(1, 3.1654344427006, 3.0), (2, 4.4252930123956, 3.711631)],
)
def test_staircase_jumps_at_the_threshold(dimension, threshold, expected):
    """The dominant degree would change at another beta than the growth rates say."""
    figure = law_figure(points(dimension))
    line = labelled(figure, r"mean number of clusters / $\sqrt{\beta}$").lines[0]
    beta, count = line.get_xdata(), line.get_ydata() * np.sqrt(line.get_xdata())
    assert count[beta < threshold][-1] == pytest.approx(2.0, rel=1e-12)
    assert count[beta > threshold][0] == pytest.approx(expected, abs=1e-6)


def test_distributions_are_the_requested_ones():
    """Bars would be of another point, or rare counts take the room."""
    chosen = points()[2]
    figure = law_figure(points(), shown=[chosen])
    panel = labelled(figure, "share")
    assert panel.get_title() == r"$\beta = 5,\ N = 100$"
    heights = sorted(bar.get_height() for bar in panel.patches)
    assert heights == pytest.approx([0.01, 0.1, 0.9, 0.99, 1.0], rel=1e-12)


@pytest.mark.slow
def test_one_point_alone_can_be_drawn(tmp_path):
    """A glance at the first ensemble would fail, or a file of an unknown kind be written."""
    save_law_plot(points()[:1], tmp_path / "law.png", title="one")
    assert (tmp_path / "law.png").stat().st_size > 10_000
    refused(r"law.bmp: figures end in", save_law_plot, points(), "law.bmp")
