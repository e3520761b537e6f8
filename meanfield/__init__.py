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

# Public names are listed one by one; each is loaded when it is first used, with what it needs.

from __future__ import annotations

# Signals come first: whatever is loaded before them shows a traceback at Ctrl-C.
from meanfield.commands import loading as _loading  # noqa: F401

# isort: split
import os
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from meanfield.names import HOMES, RESULT_KINDS, TOPICS, public
from meanfield.version import __version__ as __version__
from meanfield.views import VIEWS as _VIEWS

# Empty means not set; ducc0 would fail.
if not os.environ.get("OMP_NUM_THREADS", "1").strip():
    del os.environ["OMP_NUM_THREADS"]

# Python refuses to load its pools of threads once the main thread has ended, and a thread of the
# script may be the first to ask for a name below.
import_module("concurrent.futures.thread")

# isort: off
# fmt: off
if TYPE_CHECKING:
    from meanfield.api import run, simulate
    from meanfield.certificates.action import action_bound
    from meanfield.certificates.collapse import certified_collapse
    from meanfield.certificates.radius import certified_radius
    from meanfield.commands.dry_run import check
    from meanfield.errors import SimulationError
    from meanfield.events import Event
    from meanfield.finite.fluctuations import fluctuations
    from meanfield.finite.gradients import gradient
    from meanfield.finite.influence import influence
    from meanfield.finite.results import Fluctuations
    from meanfield.laws.initial import (
        Law,
        configuration,
        from_density,
        from_labels,
        from_points,
        mixture,
        normal_tokens,
        perturbed_uniform,
        sampled,
        uniform,
        von_mises_fisher,
        with_profile,
    )  # fmt: skip
    from meanfield.laws.own import from_function, from_values
    from meanfield.laws.sampling import sample_tokens
    from meanfield.measures import Density, LabelledDensity, Measure
    from meanfield.models.loading import load_encoder
    from meanfield.models.replay import Replay, replay
    from meanfield.models.token_limit import TokenLimit, token_limit
    from meanfield.observables import attention_matrix, observable
    from meanfield.observables.cluster_tree import ClusterTree, cluster_tree
    from meanfield.papers.critical_points import critical_points, single_cluster_proof
    from meanfield.papers.equiangular import equiangular_beta, equiangular_cosine, equiangular_time
    from meanfield.papers.hardmax_paths import hardmax
    from meanfield.papers.lifetimes import closest_pair_survival, polygon_lifetime
    from meanfield.papers.limit_shapes import LimitShape, limit_shape
    from meanfield.papers.merging import RandomHead, merging_diagram
    from meanfield.papers.merging_results import MergingDiagram
    from meanfield.papers.next_merge import next_merge_estimate
    from meanfield.papers.normalization_schemes import equiangular_layers, linear_phase_clock
    from meanfield.papers.optimal import optimal_configuration
    from meanfield.papers.pair_correlation_study import PairCorrelation, pair_correlation
    from meanfield.papers.random_tokens import hemisphere_probability
    from meanfield.papers.stationary_measures import stationary_spectrum
    from meanfield.papers.truncation import truncation
    from meanfield.papers.two_clusters import two_cluster_time
    from meanfield.problem import Problem
    from meanfield.runs import Run
    from meanfield.schemes.layers import Layers
    from meanfield.spaces import Axial, Circle, Euclidean, Sphere
    from meanfield.spectrum.cluster_counts import mean_clusters, tokens_for_dominance
    from meanfield.spectrum.cluster_rates import cluster_rates
    from meanfield.spectrum.contraction import contraction_rates
    from meanfield.spectrum.kuramoto import (
        critical_widths,
        incoherence_growth_rates,
        synchronised_order,
    )  # fmt: skip
    from meanfield.spectrum.linear_operator import LinearOperator, linear_operator
    from meanfield.spectrum.onset import tricritical_beta
    from meanfield.spectrum.stability import (
        critical_diffusivity,
        dominant_degree,
        growth_rate_max,
        growth_rates,
        onset_time,
        switching_threshold,
        switching_thresholds,
    )  # fmt: skip
    from meanfield.stages import Stage
    from meanfield.stationary.states import StationaryState, stationary_state
    from meanfield.store.result_file import load
    from meanfield.store.sweep_file import load_sweep
    from meanfield.studies.bifurcation import BifurcationDiagram, bifurcation_diagram
    from meanfield.studies.collapse_times import CollapseTimes, collapse_times
    from meanfield.studies.convergence import convergence_study
    from meanfield.studies.convergence_results import ConvergenceStudy
    from meanfield.studies.ensemble import ensemble
    from meanfield.studies.ensemble_moments import ensemble_moments
    from meanfield.studies.ensemble_results import Ensemble
    from meanfield.studies.phase import PhaseDiagram, PhasePoint, phase_diagram, phase_point
    from meanfield.studies.prediction import ClusterPrediction, predict_clusters
    from meanfield.studies.sweep_results import Sweep
    from meanfield.studies.sweeps.sweep import sweep
    from meanfield.terms.attention import Attention, Head
    from meanfield.terms.fixed import LinearDrift, FeedForward
    from meanfield.terms.flows import SA, USA, Flow
    from meanfield.terms.frequencies import Gaussian, GivenFrequencies, Lorentzian, UniformSpread
    from meanfield.terms.kernels import Kernel, exponential, linear, zonal
    from meanfield.terms.own import Seen, VectorField
    from meanfield.transport import Bracket, maximum_mean_discrepancy, sobolev_distance, wasserstein
    from meanfield.verification import verify
# fmt: on
# isort: on

__all__ = [
    "Attention", "Axial", "BifurcationDiagram", "Bracket", "Circle", "ClusterPrediction",
    "ClusterTree", "CollapseTimes", "ConvergenceStudy", "Density", "Ensemble", "Euclidean",
    "Event", "FeedForward", "Flow", "Fluctuations", "Gaussian", "GivenFrequencies", "Head",
    "Kernel", "LabelledDensity", "Law", "Layers", "LimitShape", "LinearDrift", "LinearOperator",
    "Lorentzian", "Measure", "MergingDiagram", "PairCorrelation", "PhaseDiagram", "PhasePoint",
    "Problem", "RandomHead", "Replay", "Run", "SA", "Seen", "SimulationError", "Sphere",
    "Stage", "StationaryState", "Sweep", "TokenLimit", "USA", "UniformSpread", "VectorField",
    "action_bound", "attention_matrix", "bifurcation_diagram", "certified_collapse",
    "certified_radius", "check", "closest_pair_survival", "cluster_rates", "cluster_tree",
    "collapse_times", "configuration", "contraction_rates", "convergence_study",
    "critical_diffusivity", "critical_points", "critical_widths", "dominant_degree", "ensemble",
    "ensemble_moments", "equiangular_beta", "equiangular_cosine", "equiangular_layers",
    "equiangular_time", "exponential", "fluctuations", "from_density", "from_function",
    "from_labels", "from_points", "from_values", "gradient", "growth_rate_max", "growth_rates",
    "hardmax", "hemisphere_probability", "incoherence_growth_rates", "influence", "limit_shape",
    "linear", "linear_operator", "linear_phase_clock", "load", "load_encoder", "load_sweep",
    "maximum_mean_discrepancy", "mean_clusters", "merging_diagram", "mixture",
    "next_merge_estimate", "normal_tokens", "observable", "onset_time", "optimal_configuration",
    "pair_correlation", "perturbed_uniform", "phase_diagram", "phase_point", "polygon_lifetime",
    "predict_clusters", "replay", "run", "sample_tokens", "sampled", "simulate",
    "single_cluster_proof", "sobolev_distance", "stationary_spectrum", "stationary_state",
    "sweep", "switching_threshold", "switching_thresholds", "synchronised_order", "token_limit",
    "tokens_for_dominance", "tricritical_beta", "truncation", "two_cluster_time", "uniform",
    "verify", "von_mises_fisher", "wasserstein", "with_profile", "zonal",
]  # fmt: skip

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


if not TYPE_CHECKING:  # Checkers would take any name for one of ours.

    def __getattr__(name: str) -> Any:
        if name == "Hypersphere":
            raise AttributeError(
                "Hypersphere(m), S^m, is Sphere(m + 1), the unit sphere of R^{m+1}."
            )
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
