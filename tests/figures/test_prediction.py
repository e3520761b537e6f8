"""The figure of a prediction shows the laws, the rivals, and the potential of given tokens."""

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.figures.draw import save_plot
from meanfield.figures.draw.prediction import prediction_figure
from meanfield.studies.ensemble_results import CountLaw
from meanfield.studies.prediction import ClusterPrediction
from tests.figures.samples import legend_of

LAW = CountLaw({2: 0.25, 3: 0.75}, 2.75, 0.02)
BETTER = CountLaw({3: 0.5, 4: 0.5}, 3.5, 0.01)


def prediction(problem, **changes):
    options = {"linear": LAW, "corrected": BETTER, "seed": 0} | changes
    return ClusterPrediction(problem, 1000, **options)


def circle(beta):
    return mf.Problem(mf.Circle(), mf.exponential(beta), mf.USA)


def test_both_laws_and_their_means_are_drawn():
    """Bars would have other heights than the probabilities, or a law be missing."""
    figure = prediction_figure(prediction(circle(7.0)))
    heights = sorted(round(bar.get_height(), 6) for bar in figure.axes[1].patches)
    # Three numbers for each law, and the bar behind that marks the dominant degree.
    assert heights[:6] == [0.0, 0.0, 0.25, 0.5, 0.5, 0.75] and len(heights) == 7
    assert legend_of(figure.axes[1]) == [
        r"mean of the linear law $2.75 \pm 0.02$",
        r"mean of the corrected law $3.50 \pm 0.01$",
        "linear law",
        "corrected law",
        "dominant degree 4",
    ]
    assert legend_of(figure.axes[0]) == ["dominant degree 4", "second degree 3: 0.939 of its rate"]


def test_one_law_alone_can_be_drawn():
    """A prediction without the corrected law would have no figure, hundreds of bars be a blur."""
    figure = prediction_figure(prediction(circle(7.0), corrected=None))
    assert len(legend_of(figure.axes[1])) == 3
    wide = CountLaw({k: 0.01 for k in range(100, 200)}, 149.5, 0.3)
    figure = prediction_figure(prediction(circle(1e4), linear=wide, corrected=None))
    assert len(figure.axes[1].lines[0].get_xdata()) == 100


@pytest.mark.slow
def test_stable_problem_says_so():
    """An empty picture would explain nothing."""
    none, texts = CountLaw({0: 1.0}, 0.0, 0.0), []
    stable = mf.Problem(mf.Circle(), mf.exponential(3.0), mf.Flow("none", strength=-1.0))
    for problem in (stable, mf.Problem(mf.Circle(), mf.linear(), mf.USA)):
        figure = prediction_figure(prediction(problem, linear=none, corrected=none))
        texts += [text.get_text() for text in figure.axes[1].texts]
    assert texts == ["none: uniform is stable, no degree grows",
                     "one cluster in the end: nothing grows beyond degree 1"]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("manifold", [mf.Circle(), mf.Sphere()], ids=["circle", "sphere"])
def test_tokens_of_the_user_get_their_potential(manifold, tmp_path):
    """Maxima or masses would be missing, or the figure fail on one manifold."""
    points = manifold.random_points(60, np.random.default_rng(2))
    problem = mf.Problem(manifold, mf.exponential(6.0), mf.USA)
    prediction = mf.predict_clusters(problem, points, samples=2, corrected=False)
    figure = prediction.plot()
    assert "random tokens" in figure.axes[1].get_xlabel()
    texts = {text.get_text() for text in figure.axes[2].texts}
    assert {f"{mass:.2f}" for mass in prediction.positions.masses} <= texts
    save_plot(prediction, tmp_path / "law.png")
    assert (tmp_path / "law.png").stat().st_size > 10_000


def test_figure_takes_the_options_of_the_others():
    """A title would be refused here and taken elsewhere; a kind would be Python's own error."""
    result = prediction(circle(7.0))
    figure = result.plot(title="Mine", figsize=(8.0, 3.0), dpi=50)
    assert figure.get_size_inches().tolist() == [8.0, 3.0]
    assert any(text.get_text() == "Mine" for axes in figure.axes for text in axes.texts)
    refused("plot: 'foo' .* is one argument too many", result.plot, "foo", error=TypeError)
