"""Pictures hold all that figures show: nothing is computed when they are drawn."""

import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import meanfield as mf
from meanfield.described import Facts
from meanfield.figures.data.saved_times import Frame
from meanfield.figures.data.series import EnergyPicture
from meanfield.figures.draw import PLOTS
from meanfield.figures.draw.axes import style
from meanfield.figures.draw.comparison import (
    ComparisonPicture,
    EnsemblePicture,
    TimeCurve,
    comparison_picture,
    draw_comparison,
    draw_ensemble,
    ensemble_picture,
)
from meanfield.figures.draw.figures import new_figure
from meanfield.figures.draw.film import draw_film
from meanfield.figures.draw.over_time import draw_energy
from meanfield.figures.draw.overview import film_picture
from meanfield.figures.draw.prediction import (
    dispersion_picture,
    draw_prediction,
    prediction_picture,
)
from meanfield.figures.draw.spectrum import draw_rates
from meanfield.studies.convergence_results import ConvergenceStudy
from meanfield.studies.ensemble_results import Ensemble

PACKAGE = f"{Path(mf.__file__).parent}/"


NOT_IN_IT = ("label_order", "labels", "fluctuations")


@contextmanager
def nothing_computed(*allowed):
    """Check that drawing in the block enters no room but these and those that know how to draw."""
    rooms = set()

    def trace(frame, event, argument):
        name, code = frame.f_code.co_filename, frame.f_code.co_name
        if event == "call" and name.startswith(PACKAGE) and code != "<module>":
            rooms.add(name.removeprefix(PACKAGE))

    before = sys.getprofile()
    with style():
        sys.setprofile(trace)
        try:
            yield
        finally:
            sys.setprofile(before)
    # What trees tell of themselves, words, geometry.
    harmless = ("observables/cluster_tree.py", "results/report.py", "status.py", "files.py")
    harmless += ("figures/draw/", "figures/data/projections.py", *allowed)
    assert not {room for room in rooms if not room.startswith(harmless)}


@pytest.mark.slow
def test_drawing_computes_nothing(mixed):
    """A browser would have to solve equations to show the same."""
    # Every kind draws a run that three representations carried.
    # Edges of cells, ranges of colours, places on an axis, lines of longitude.
    drawn = [f"figures/data/{name}.py" for name in ("circle", "colours", "saved_times", "sphere")]
    for entry in PLOTS.values():
        if mixed.manifold.name not in entry.manifolds or entry.name in NOT_IN_IT:
            continue
        picture, figure = entry.picture(mixed), new_figure((9.0, 8.0))
        with nothing_computed(*drawn):
            entry.draw(picture, figure if entry.name == "overview" else figure.subplots())


@pytest.mark.slow
def test_drawing_predictions_computes_nothing():
    """The same, of figures of theory."""
    problem = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.USA)
    tokens = np.linspace(0.0, 3.0, 40)
    prediction = mf.predict_clusters(problem, tokens, samples=50, corrected=False)
    rates, picture = dispersion_picture(problem), prediction_picture(prediction)
    # On which manifold it is.
    with nothing_computed("figures/draw/prediction.py"):
        draw_rates(rates, new_figure((9.0, 8.0)).subplots())
        draw_prediction(picture)


@pytest.mark.slow
def test_drawing_studies_computes_nothing():
    """The same, of figures of many runs: fitted laws, their floor, and shares."""
    tokens, times, sphere = np.array([100, 1000]), np.array([0.0, 1.0]), {"manifold": "sphere"}
    distances, counts = np.ones((2, 3, 2)), np.array([[[3, 4], [4, 4]], [[2, 3], [3, 3]]])
    nothing, onsets = np.full((2, 2, 2, 1), np.nan), np.full(2, 0.5)
    study = ConvergenceStudy(times, tokens, distances, "W1", 1.0, onsets, attributes=sphere)
    result = Ensemble(times, tokens, onsets, counts, nothing, nothing, onsets, sphere)
    compared, counted = comparison_picture(study), ensemble_picture(result)
    with nothing_computed():
        draw_comparison(compared, new_figure((9.0, 8.0)))
        draw_ensemble(counted, new_figure((9.0, 8.0)))


@pytest.mark.slow
def test_film_is_drawn_from_frames(mixed_circle):
    """A frame would be computed while it is shown."""
    picture = film_picture(mixed_circle)
    with nothing_computed("figures/data/"):
        draw_film(picture).show(2)


@pytest.mark.slow
def test_figure_of_numbers_without_a_run():
    """A picture would need a run beside it."""
    times = np.array([0.0, 1.0, 2.0])
    frame = Frame("title", Facts(manifold="circle"), times, False, 0.5, ((1.0, "atoms"),))
    picture = EnergyPicture(frame, np.array([0.1, 0.2, 0.9]), None, {1: 1.0}, False)
    figure = new_figure((9.0, 8.0))
    draw_energy(picture, figure.subplots())
    (line, *_), texts = figure.axes[0].lines, [text.get_text() for text in figure.axes[0].texts]
    assert line.get_xydata().tolist() == [[0.0, 0.1], [1.0, 0.2], [2.0, 0.9]]
    assert {"atoms", "one cluster", "title"} <= set(texts)


def test_figures_of_numbers_without_a_study():
    """The same, of pictures of studies."""
    n, law = np.array([100.0, 1000.0]), np.array([0.5, 0.25])
    curve = TimeCurve(2.0, np.ones(2), np.zeros(2), law, -0.3, 0.01)
    compared = ComparisonPicture(
        "", Facts(), "W_1", False, np.array([0.0, 1.0]), n, [], [curve], 2 * law, None
    )
    sizes, means, error = np.array([100]), np.array([[3.5]]), np.zeros((1, 1))
    counted = EnsemblePicture(
        "", Facts(), np.ones(1), sizes, means, error, None, [{3: 0.75, 4: 0.25}], 4
    )
    figures = [new_figure((9.0, 8.0)) for _ in range(2)]
    draw_comparison(compared, figures[0])
    draw_ensemble(counted, figures[1])
    right = figures[0].axes[1]
    assert [[100.0, 0.5], [1000.0, 0.25]] in [line.get_xydata().tolist() for line in right.lines]
    assert "$t = 2$:  $-0.30 \\pm 0.01$" in [text.get_text() for text in right.texts]
    assert [bar.get_height() for bar in figures[1].axes[-1].patches] == [0.75, 0.25]


@pytest.mark.slow
def test_pictures_do_without_matplotlib():
    """A server that makes pictures for a browser would load half a second of it."""
    code = (
        "import sys, pkgutil, importlib, meanfield as mf, meanfield.figures.data as p\n"
        "for m in pkgutil.iter_modules(p.__path__):\n"
        "    importlib.import_module(f'meanfield.figures.data.{m.name}')\n"
        "law = mf.perturbed_uniform([[2, 0.1, 0.0]])\n"
        "run = mf.simulate(mf.Problem(mf.Circle(), mf.linear(), mf.USA, law), 1.0, save=3)\n"
        "from meanfield.figures.data.density import circle_picture\n"
        "assert circle_picture(run).paths\n"
        "assert 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
