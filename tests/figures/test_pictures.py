"""Pictures hold all that figures show: nothing is computed when they are drawn."""

import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from fresh_process import run_python

import meanfield as mf
from meanfield.described import Facts
from meanfield.figures.data.saved_times import Frame
from meanfield.figures.data.series import EnergyPicture
from meanfield.figures.draw import PLOTS
from meanfield.figures.draw.axes import style
from meanfield.figures.draw.comparison import (
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
from tests.figures.samples import comparison, ensemble, kinds_of

PACKAGE = f"{Path(mf.__file__).parent}/"


@contextmanager
def nothing_computed(*allowed):
    """Check that the block enters no modules but these, those that draw, and harmless ones."""
    modules = set()

    def trace(frame, event, argument):
        name, code = frame.f_code.co_filename, frame.f_code.co_name
        if event == "call" and name.startswith(PACKAGE) and code != "<module>":
            modules.add(name.removeprefix(PACKAGE))

    before = sys.getprofile()
    with style():
        sys.setprofile(trace)
        try:
            yield
        finally:
            sys.setprofile(before)
    # Properties of trees, words, geometry.
    harmless = ("observables/cluster_tree.py", "results/report.py", "status.py", "files.py")
    harmless += ("figures/draw/", "figures/data/projections.py", *allowed)
    assert not {name for name in modules if not name.startswith(harmless)}


@pytest.mark.slow
def test_drawing_computes_nothing(mixed):
    """A browser would have to solve equations to show the same."""
    # Edges of cells, ranges of colours, places on an axis, lines of longitude.
    allowed = [f"figures/data/{name}.py" for name in ("circle", "colours", "saved_times", "sphere")]
    for kind in kinds_of(mixed):
        picture, figure = PLOTS[kind].picture(mixed), new_figure((9.0, 8.0))
        with nothing_computed(*allowed):
            PLOTS[kind].draw(picture, figure if kind == "overview" else figure.subplots())


@pytest.mark.slow
def test_drawing_studies_computes_nothing():
    """The same, of theory and of many runs: rates, fitted laws, their floor, and shares."""
    problem = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.USA)
    tokens, sphere = np.linspace(0.0, 3.0, 40), {"manifold": "sphere"}
    prediction = mf.predict_clusters(problem, tokens, samples=50, corrected=False)
    rates, predicted = dispersion_picture(problem), prediction_picture(prediction)
    compared = comparison_picture(comparison(attributes=sphere))
    counted = ensemble_picture(ensemble(attributes=sphere))
    with nothing_computed():
        draw_rates(rates, new_figure((9.0, 8.0)).subplots())
        draw_prediction(predicted)
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
    run_python(code)
