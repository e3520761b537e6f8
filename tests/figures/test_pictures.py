"""Pictures hold all that figures show: nothing is computed when they are drawn."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import meanfield as mf
from meanfield.described import Facts
from meanfield.figures.data.overview import film_picture
from meanfield.figures.data.prediction import dispersion_picture, prediction_picture
from meanfield.figures.data.saved_times import Frame
from meanfield.figures.data.series import EnergyPicture
from meanfield.figures.data.studies import (
    ComparisonPicture,
    EnsemblePicture,
    TimeCurve,
    comparison_picture,
    ensemble_picture,
)
from meanfield.figures.draw import PLOTS
from meanfield.figures.draw.comparison import draw_comparison
from meanfield.figures.draw.dispersion import on_axes
from meanfield.figures.draw.ensemble import draw_ensemble
from meanfield.figures.draw.figures import new_figure
from meanfield.figures.draw.film import draw_film
from meanfield.figures.draw.over_time import draw_energy
from meanfield.figures.draw.prediction import draw_prediction
from meanfield.figures.draw.style import style
from meanfield.runs import Run
from meanfield.studies.convergence_results import ConvergenceStudy
from meanfield.studies.ensemble_results import Ensemble

PACKAGE = f"{Path(mf.__file__).parent}/"


@contextmanager
def rooms_entered(rooms: set[str]) -> Iterator[None]:
    """Collect the files of the package whose functions are called in the block."""

    def seen(frame: Any, event: str, argument: Any) -> None:
        name, code = frame.f_code.co_filename, frame.f_code.co_name
        if event == "call" and name.startswith(PACKAGE) and code != "<module>":
            rooms.add(name.removeprefix(PACKAGE))

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        yield
    finally:
        sys.setprofile(before)


def computing(rooms: set[str]) -> set[str]:
    """Those that know more than how to draw: geometry, words, what trees tell of themselves."""
    words = {"observables/cluster_tree.py", "results/words.py", "status.py"}
    harmless = words | {"figures/data/projections.py"}
    return {room for room in rooms - harmless if not room.startswith(("figures/draw/", "files/"))}


NOT_IN_IT = ("label_order", "labels", "fluctuations")


def test_drawing_computes_nothing(mixed: Run) -> None:
    """A browser would have to solve equations to show the same.

    Every kind draws a run that three representations carried.
    """
    rooms: set[str] = set()
    for entry in PLOTS.values():
        if mixed.manifold.name not in entry.manifolds or entry.name in NOT_IN_IT:
            continue
        picture = entry.picture(mixed)
        with style():
            figure = new_figure((9.0, 8.0))
            with rooms_entered(rooms):
                entry.draw(picture, figure if entry.name == "overview" else figure.subplots())
    drawn = {"figures/data/circle.py", "figures/data/colours.py", "figures/data/saved_times.py"}
    # Edges of cells, ranges of colours, places on an axis, lines of longitude.
    assert computing(rooms) <= drawn | {"figures/data/sphere.py"}


def test_drawing_predictions_computes_nothing() -> None:
    """The same, of figures of theory."""
    rooms: set[str] = set()
    problem = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.USA)
    tokens = np.linspace(0.0, 3.0, 40)
    prediction = mf.predict_clusters(problem, tokens, samples=50, corrected=False)
    rates, picture = dispersion_picture(problem), prediction_picture(prediction)
    with style(), rooms_entered(rooms):
        on_axes(rates, new_figure((9.0, 8.0)).subplots())
        draw_prediction(picture)
    # On which manifold it is.
    assert computing(rooms) <= {"figures/data/prediction.py"}


def test_drawing_studies_computes_nothing() -> None:
    """The same, of figures of many runs: fitted laws, their floor, and shares."""
    rooms: set[str] = set()
    tokens, times, sphere = np.array([100, 1000]), np.array([0.0, 1.0]), {"manifold": "sphere"}
    distances, counts = np.ones((2, 3, 2)), np.array([[[3, 4], [4, 4]], [[2, 3], [3, 3]]])
    nothing, onsets = np.full((2, 2, 2, 1), np.nan), np.full(2, 0.5)
    study = ConvergenceStudy(times, tokens, distances, "W1", 1.0, onsets, attributes=sphere)
    made = Ensemble(times, tokens, onsets, counts, nothing, nothing, onsets, sphere)
    compared, counted = comparison_picture(study), ensemble_picture(made)
    with style(), rooms_entered(rooms):
        draw_comparison(compared, new_figure((9.0, 8.0)))
        draw_ensemble(counted, new_figure((9.0, 8.0)))
    assert computing(rooms) == set()


def test_film_is_drawn_from_frames(mixed_circle: Run) -> None:
    """A frame would be computed while it is shown."""
    rooms: set[str] = set()
    picture = film_picture(mixed_circle)
    with style(), rooms_entered(rooms):
        film = draw_film(picture)
        film.show(2)
    assert not {room for room in computing(rooms) if not room.startswith("figures/data/")}


def test_figure_of_numbers_that_no_run_made() -> None:
    """A picture would need a run beside it."""
    times = np.array([0.0, 1.0, 2.0])
    frame = Frame("title", Facts(manifold="circle"), times, False, 0.5, ((1.0, "atoms"),))
    picture = EnergyPicture(frame, np.array([0.1, 0.2, 0.9]), None, {1: 1.0}, False)
    figure = new_figure((9.0, 8.0))
    draw_energy(picture, figure.subplots())
    (line, *_), texts = figure.axes[0].lines, [text.get_text() for text in figure.axes[0].texts]
    assert line.get_xydata().tolist() == [[0.0, 0.1], [1.0, 0.2], [2.0, 0.9]]
    assert {"atoms", "one cluster", "title"} <= set(texts)


def test_figures_of_numbers_that_no_study_made() -> None:
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


def test_pictures_do_without_matplotlib() -> None:
    """A server that makes pictures for a browser would load half a second of it."""
    code = (
        "import sys, pkgutil, importlib, meanfield as mf, meanfield.figures.data as p\n"
        "for m in pkgutil.iter_modules(p.__path__):\n"
        "    importlib.import_module(f'meanfield.figures.data.{m.name}')\n"
        "law = mf.perturbed_uniform([[2, 0.1, 0.0]])\n"
        "run = mf.simulate(mf.Problem(mf.Circle(), mf.linear(), mf.USA, law), 1.0, save=3)\n"
        "from meanfield.figures.data.overview import overview_picture\n"
        "assert overview_picture(run).picture.paths\n"
        "assert 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
