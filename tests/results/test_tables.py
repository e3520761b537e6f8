"""Tables of notebooks: well-formed, escaped, with the units of what they show."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

import meanfield as mf
from meanfield.results.report import bars, curve, html_table

CIRCLE = mf.Circle()
LAW = mf.perturbed_uniform([[2, 0.3, 0.0], [3, 0.0, 0.1]])
PROBLEM = mf.Problem(CIRCLE, mf.exponential(4.0), mf.USA, LAW)


def cells(result):
    """Pairs of a table as a browser reads them: a name and the rest of its row."""
    page = ElementTree.fromstring(f"<div>{result._repr_html_()}</div>")
    rows = [["".join(cell.itertext()) for cell in row] for row in page.iter("tr")]
    return {row[0]: " | ".join(row[1:]) for row in rows}


@pytest.mark.slow
def test_run_tells_its_unit_its_clusters_and_its_end():
    """Numbers would stand without what they are, as three scalars without a time."""
    run = mf.simulate(PROBLEM, until=1.5, unit="paper", save=16)
    text = cells(run)
    assert text["problem"] == "circle, exponential kernel, beta = 4, USA"
    assert text["times"] == "16 from 0 to 1.5 (paper time)"
    (over,) = (e.time for e in run.events_in("paper") if e.kind == "hand-over")
    assert text["representation"] == f"density, characteristics from t = {over:.4g} (paper time)"
    counts = run.cluster_counts()
    assert text["clusters"].startswith("none at first, ")
    assert text["clusters"].endswith("(paper time)") and f"{counts[-1]:g} from" in text["clusters"]
    assert text["ended"] == "completed" and float(text["largest spectral tail"]) < 1e-9
    assert cells(mf.simulate(PROBLEM, until=0.1, save=2))["clusters"] == "none"
    broken = replace(run, attributes=run.attributes | {"status": "under-resolved", "title": "<b>&"})
    assert cells(broken)["ended"] == "under-resolved (last saved time 1.5, paper time)"
    assert cells(broken)["title"] == "<b>&"
    nothing = replace(run, scaled_time=np.zeros(0))
    assert cells(nothing)["ended"] == "completed"


def test_many_changes_of_the_number_of_clusters_stay_one_line():
    """Noisy counts would fill the page."""
    run = mf.simulate(PROBLEM, until=1.0, save=40)
    counts = np.arange(40) % 2 + 2.0
    text = cells(replace(run, observables=run.observables | {"clusters/count": counts}))
    assert text["clusters"].count("from t") == 8 and ", ...," in text["clusters"]


def test_problem_shows_its_parts_and_how_it_grows():
    """A notebook would show one long line."""
    text = cells(PROBLEM)
    assert text["kernel"] == "exponential(beta=4.0)" and text["manifold"] == "circle"
    degree, rate = mf.dominant_degree(PROBLEM), mf.growth_rate_max(PROBLEM)
    assert text["fastest degree"] == f"{degree}, grows at the rate {rate:.4g} per scaled time"
    assert text["paper time"] == "scaled time * 0.01832"
    noisy = replace(PROBLEM, flow=mf.Flow(normalized=True, strength=-1.0, diffusivity=0.1))
    assert cells(noisy)["uniform"] == "stable: no degree grows"
    assert cells(noisy)["diffusivity"] == "0.1 (scaled time)"
    assert cells(noisy)["paper time"] == "the same as scaled time"
    far = mf.Problem(CIRCLE, mf.exponential(800.0), mf.USA)
    assert cells(far)["paper time"].endswith("underflows")


def test_problem_with_heads_shows_them_and_missing_theory():
    """A table would claim a kernel, and rates, that heads with matrices have not."""
    heads = [mf.Head(score=[3.0, 1.0], value=[[0, -1], [1, 0]]), mf.Head(beta=1.0)]
    text = cells(mf.Problem(CIRCLE, mf.Attention(heads, "none", beta=2.0), initial=mf.uniform()))
    assert text["head 1"] == "Head(score=(3.0, 1.0), value=((0.0, -1.0), (1.0, 0.0)))"
    assert text["beta"] == "6, the largest beta |B|_2 of the heads" and "kernel" not in text
    assert text["uniform"].startswith("no rates: ")
    assert text["paper time"] == f"scaled time * {np.exp(-6.0):.4g}"
    doubly = mf.Problem(CIRCLE, mf.Attention(normalization="sinkhorn", beta=4.0), initial=LAW)
    assert cells(doubly)["flow"] == "Sinkhorn, weights doubly stochastic"
    assert cells(doubly)["fastest degree"].startswith("3, grows at the rate 0.5129 ")


def test_problem_shows_functions_of_time_and_terms_of_your_own():
    """A table would claim beta = 1 for all times, or a head that moves nothing."""

    def growing(t):
        return 1.0 + t

    still = type("Wind", (), {"field": lambda self, seen, x, time: mf.VectorField(0.0 * x)})()
    text = cells(mf.Problem(CIRCLE, mf.exponential(growing), mf.Flow("none", strength=growing)))
    assert text["kernel"] == "exponential(beta=growing)" and text["strength"] == "growing"
    assert text["functions of time"] == "kernel, flow; beta and rates are those of time 0"
    text = cells(mf.Problem(CIRCLE, [still]))
    assert text["terms of your own"] == "Wind" and not {"head 1", "beta", "flow"} & text.keys()
    assert cells(mf.Problem(CIRCLE, [mf.exponential(2.0), still]))["terms of your own"] == "Wind"


def test_many_stages_stay_a_short_table():
    """Random values of 300 layers would fill 310 rows."""
    layers, values = mf.Layers(step=0.1, count=300), mf.RandomValues([mf.Head(beta=2.0)])
    text = cells(mf.Problem(mf.Sphere(4), values, layers=layers))
    assert text["random values"].startswith("RandomValues(heads=Attention([Head(beta=2.0)])")
    assert len(text) < 12 and not {"head 1", "stage 1"} & text.keys()
    stages = [mf.Stage(float(n), mf.exponential(float(n))) for n in range(1, 20)]
    stages.append(mf.Stage(kernel=mf.exponential(3.0)))
    text = cells(replace(PROBLEM, stages=stages))
    assert text["stages"] == "20 in all" and "stage 8" in text and "stage 9" not in text


def test_laws_of_the_users_own_are_named():
    """A notebook would show where in memory the function lies."""
    law = mf.Law("mine", lambda space: mf.Density(space, [1.0, 0.1]))
    assert cells(replace(PROBLEM, initial=law))["initial law"] == "Law('mine', <lambda>)"
    plain = type("Plain", (), {"name": "plain", "build": law.build})()
    assert cells(replace(PROBLEM, initial=plain))["initial law"] == "plain"


def test_prediction_tells_its_laws():
    """The answer would have to be asked for by attribute."""
    problem = mf.Problem(CIRCLE, mf.exponential(5.0), mf.USA)
    text = cells(mf.predict_clusters(problem, 100, samples=200, corrected=False))
    assert text["tokens"] == "100, independent and uniform"
    assert "scaled time" in text["end of the linear phase"]
    assert "mean" in text["linear law"] and "corrected law" not in text
    stable = mf.Problem(CIRCLE, mf.exponential(5.0), mf.Flow("none", strength=-1.0))
    text = cells(mf.predict_clusters(stable, 100, samples=10, corrected=False))
    assert text["clusters"].startswith("none: uniform is stable")


@pytest.mark.slow
def test_studies_have_a_row_a_size():
    """A table would leave out a size, what was solved, or how it ended."""
    ensemble = mf.ensemble(replace(PROBLEM, initial=mf.uniform()), tokens=[20, 40], runs=2)
    text, page = cells(ensemble), ensemble._repr_html_()
    assert {"20", "40"} <= text.keys() and text["representation"] == "particles"
    assert "<b>Ensemble: circle, exponential kernel, beta = 4, USA</b>" in page
    assert f"{ensemble.onset_times[0]:.5g}</td>" in page and "clusters at 2 T</th>" in page
    study = mf.convergence_study(PROBLEM, tokens=[5, 10], until=1.0, runs=2)
    study = replace(study, attributes=study.attributes | {"status": "running"})
    text = cells(study)
    assert text["n"].startswith("mean W1 | certified | s.e. | sqrt(n) W1 | onset time")
    assert text["10"].startswith(f"{study.mean_distance[1, study.headline]:.5g} | ")
    assert text["ended"] == "running" and text["scaled time"].startswith("t = ")


def test_phase_tells_where_order_sets_in():
    """A raw dataclass would be printed, and diffusivities without their unit."""
    family = lambda beta: mf.Problem(CIRCLE, mf.exponential(beta), mf.USA)  # noqa: E731
    diagram = mf.phase_diagram(family, [2.4, 3.0])
    continuous, jump = diagram.points
    assert repr(continuous) == "PhasePoint(beta = 2.4: order below diffusivity 0.0868671)"
    assert repr(jump).startswith("PhasePoint(beta = 3: order with a jump at 0.0661897, below")
    assert repr(diagram) == (
        "PhaseDiagram(circle, exponential kernel, USA, 2 points from beta = 2.4 to 3, "
        "tricritical at 2.44692)"
    )
    assert cells(jump)["saddle node"].startswith(f"{jump.saddle_node_diffusivity:.10g} | ")
    assert cells(diagram)["2.4"].startswith("continuous | ")
    assert "Where order sets in, diffusivities in scaled time" in diagram._repr_html_()


def test_state_tells_its_order():
    """A notebook would show its problem and little else."""
    noisy = mf.Problem(CIRCLE, mf.exponential(2.0), mf.Flow("none", diffusivity=0.05))
    state = mf.stationary_state(noisy)
    assert cells(state)["order parameter"] == f"{state.order_parameter:.6g}"


@pytest.mark.parametrize("text", ["<script>", '"&'])
def test_everything_is_escaped(text):
    """A title from somebody else's file would run in the notebook."""
    page = ElementTree.fromstring(html_table(text, [(text, text), ("", bars([1.0], text))]))
    plain, drawn = page.iter("td")
    assert plain.text == text and "".join(drawn.itertext()) == text
    assert drawn[0].get("aria-label") == text


def test_drawings_show_on_light_and_dark_pages():
    """Black curves would be lost on a dark notebook."""
    run = mf.simulate(PROBLEM, until=1.0, save=5)
    prediction = mf.predict_clusters(PROBLEM, 100, samples=200, corrected=False)
    text = [(PROBLEM, 1), (run, 2), (prediction, 1), (mf.phase_point(PROBLEM), 0)]
    for result, drawings in text:
        page = ElementTree.fromstring(f"<div>{result._repr_html_()}</div>")
        assert len(list(page.iter("svg"))) == drawings
        painted = {one.get(key) for one in page.iter() for key in ("fill", "stroke")}
        assert painted <= {None, "none", "currentColor"}
        assert not any("color" in one.get("style", "") for one in page.iter())


def test_sparklines_have_the_heights_of_their_values():
    """A curve would fall where values rise, bars would hide which is the largest."""
    assert 'd="M1 17L48 9L95 1"' in curve(np.array([-1.0, 0.0, 1.0]), "").shapes
    assert curve(np.full(3, np.nan), "<").html == "&lt;"
    assert curve(np.arange(10_000.0), "").shapes.count("L") == 96
    drawn = ElementTree.fromstring(f"<g>{bars([2.0, -1.0], '').shapes}</g>")
    boxes = [[float(one.get(key, "")) for key in ("y", "height", "fill-opacity")] for one in drawn]
    zero = 1 + 16 * 2 / 3
    np.testing.assert_allclose(boxes, [[1, zero - 1, 1], [zero, 17 - zero, 0.4]], rtol=0, atol=0.06)
