"""Mean-field limit of self-attention on spheres of any dimension and in R^d.

Tokens attract each other with the weights of attention; their distribution mu obeys

    d_t mu + div(mu v) = 0,    v = grad (W * mu) / Z,    W(<x, y>) = e^{beta <x, y> - |beta|} / beta

with Z = 1 (USA, without softmax) or Z = int e^{beta <x, y> - |beta|} dmu(y) (SA, softmax).

How many clusters, how likely, and by when, for 1,000 tokens that are spread at random:

    problem = mf.Problem(mf.Circle(), mf.exponential(beta=9.0), mf.USA)
    print(mf.predict_clusters(problem, tokens=1000))

A run from a density, or of the tokens themselves, its clusters over time, and a figure:

    law = mf.perturbed_uniform([[4, 0.02, 0.0]])
    problem = mf.Problem(mf.Circle(), mf.exponential(beta=9.0), mf.USA, law)
    run = mf.simulate(problem, until=60.0)
    tokens = mf.simulate(problem, until=60.0, representation="particles", tokens=1000)
    run.time, run.cluster_counts(), run.measures[-1], run.plot()

Start with: Problem, predict_clusters, simulate, run (of a run file), load, wasserstein,
growth_rates, stationary_state, phase_diagram, ensemble, convergence_study.

Laws to start from: uniform, perturbed_uniform, von_mises_fisher, mixture, sampled, normal_tokens,
configuration, from_points (your tokens), from_function, from_values, from_density.
"""

# Public names stand in __init__.pyi; each is loaded when it is first used, with what it needs.

from __future__ import annotations

# Signals come first: whatever is loaded before them shows a traceback at Ctrl-C.
from meanfield.commands import loading as _loading  # noqa: F401

# isort: split
import os
from collections.abc import Callable
from importlib import import_module
from typing import Any

from meanfield.names import HOMES, RESULT_KINDS, TOPICS, public
from meanfield.version import __version__ as __version__
from meanfield.views import VIEWS as _VIEWS

# Empty means not set; ducc0 would fail.
if not os.environ.get("OMP_NUM_THREADS", "1").strip():
    del os.environ["OMP_NUM_THREADS"]

# Python refuses to load its pools of threads once the main thread has ended, and a thread of the
# script may be the first to ask for a name below.
import_module("concurrent.futures.thread")

__all__ = sorted(HOMES)

# `dir(mf)`: what a first notebook uses; every other name works, too.
_FIRST = """
    Attention Axial Circle Density FeedForward Flow Head Layers LinearDrift Measure Problem Run
    SA Seen SimulationError Sphere Stage USA VectorField attention_matrix bifurcation_diagram check
    cluster_tree configuration convergence_study critical_diffusivity ensemble exponential
    fluctuations from_density from_function from_points from_values gradient growth_rates linear
    linear_operator load load_encoder load_sweep merging_diagram mixture normal_tokens observable
    onset_time perturbed_uniform phase_diagram phase_point predict_clusters replay run sampled
    simulate stationary_state sweep uniform verify von_mises_fisher wasserstein zonal
"""

# What results ask for, and the function that makes it, as module:name.
_MAKERS = {
    "BifurcationDiagram.plot": "figures.draw.bifurcation:diagram_figure",
    "BifurcationDiagram.report": "results.phase_report:bifurcation_report",
    "ClusterPrediction.html": "results.tables:prediction_html",
    "ClusterPrediction.plot": "figures.draw.prediction:prediction_figure",
    "ClusterPrediction.report": "results.prediction_report:prediction_report",
    "ConvergenceStudy.plot": "figures.draw.comparison:comparison_figure",
    "ConvergenceStudy.report": "results.study_reports:study_report",
    "Density.plot": "figures.draw.measure:measure_figure",
    "Ensemble.plot": "figures.draw.ensemble:ensemble_figure",
    "Ensemble.report": "results.study_reports:study_report",
    "Fluctuations.plot": "figures.draw.fluctuations:fluctuations_figure",
    "Fluctuations.report": "results.run_report:fluctuations_report",
    "LimitShape.plot": "figures.draw.hulls:limit_shape_figure",
    "LinearOperator.plot": "figures.draw.spectrum:spectrum_figure",
    "Measure.plot": "figures.draw.measure:measure_figure",
    "MergingDiagram.plot": "figures.draw.merging:merging_figure",
    "MergingDiagram.report": "results.study_reports:study_report",
    "PairCorrelation.plot": "figures.draw.pair_correlation:pair_correlation_figure",
    "PhaseDiagram.plot": "figures.draw.phase:phase_diagram_figure",
    "PhaseDiagram.report": "results.phase_report:phase_report",
    "PhasePoint.plot": "figures.draw.bifurcation:point_figure",
    "PhasePoint.report": "results.phase_report:point_report",
    "Problem.html": "results.tables:problem_html",
    "Replay.plot": "figures.draw.replay:replay_figure",
    "Replay.report": "results.replay_report:replay_report",
    "Request.compile": "commands.compile:compile_for_workers",
    "Request.results": "studies.complete:complete_call",
    "Run.animate": "figures.draw:animate",
    "Run.html": "results.tables:run_html",
    "Run.plot": "figures.draw:plot",
    "Run.problem": "runfile.stored:stored_problem",
    "Run.save": "api:save_run",
    "Run.report": "results.run_report:run_report",
    "Run.to_xarray": "results.dataset:to_xarray",
    "Run.view": "figures.view:view",
    "StationaryState.html": "results.tables:state_html",
    "StudyResult.origin": "runfile.stored:written_origin",
    "StudyResult.problem": "runfile.stored:document_problem",
    "StudyResult.save": "store.result_file:save_result",
    "StudyResult.to_xarray": "results.dataset:study_to_xarray",
    "Sweep.plot": "figures.draw.sweep:sweep_figure",
    "Sweep.run": "store.run_file:load",
    "Sweep.report": "results.sweep_report:sweep_report",
    "Sweep.to_xarray": "results.sweep_dataset:to_xarray",
    "TokenLimit.plot": "figures.draw.replay:token_limit_figure",
}
# A study with a file has its figure in the file of its kind, and a report of its own tables.
for _kind, _name in RESULT_KINDS.items():
    _MAKERS.setdefault(f"{_name}.plot", f"figures.draw.{_kind}:{_kind}_figure")
    _MAKERS.setdefault(f"{_name}.report", "results.study_reports:described_report")


def _maker(place: str) -> Callable[..., Any]:
    """Return the function of that place, loaded when it is called."""
    module, name = place.split(":")
    return lambda *given, **options: getattr(import_module(f"{__name__}.{module}"), name)(
        *given, **options
    )


_VIEWS.update({wanted: _maker(place) for wanted, place in _MAKERS.items()})


def __getattr__(name: str) -> Any:
    if name == "Hypersphere":
        raise AttributeError("Hypersphere(m), S^m, is Sphere(m + 1), the unit sphere of R^{m+1}.")
    if name in TOPICS:
        return import_module(f"{__name__}.{name}")
    if name not in HOMES:
        from meanfield.renamed import warned_class

        if (new := warned_class(name)) is not None:
            return public(new)
        from meanfield.errors import nearest

        near = None if name.startswith("_") else nearest(name, HOMES)
        meant = f"; did you mean {near}?" if near else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{meant}")
    value = public(name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(["__version__", *_FIRST.split(), *TOPICS])
