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

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

# First, before what takes long to load: signals.
from meanfield.commands import loading as _loading  # noqa: F401
from meanfield.version import __version__ as __version__
from meanfield.views import VIEWS as _VIEWS

# Python refuses to load its pools of threads once the main thread has ended, and a thread of the
# script may be the first to ask for a name below.
import_module("concurrent.futures.thread")

if TYPE_CHECKING:
    from meanfield.attention import Attention, Head
    from meanfield.certificates.action import action_bound
    from meanfield.certificates.collapse import certified_collapse
    from meanfield.certificates.radius import certified_radius
    from meanfield.errors import SimulationError
    from meanfield.events import Event
    from meanfield.finite.fluctuations import fluctuations
    from meanfield.finite.gradients import gradient
    from meanfield.finite.influence import influence
    from meanfield.flows import SA, USA, Flow
    from meanfield.frequencies import Gaussian, GivenFrequencies, Lorentzian, UniformSpread
    from meanfield.front import run, simulate
    from meanfield.initial import (
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
    )
    from meanfield.kernels import Kernel, exponential, linear, zonal
    from meanfield.layers import Layers
    from meanfield.manifolds import Axial, Circle, Space, Sphere
    from meanfield.measures import Density, LabelledDensity, Measure
    from meanfield.models.loading import load_encoder
    from meanfield.models.replay import replay
    from meanfield.models.token_limit import token_limit
    from meanfield.observables import attention_matrix, observable
    from meanfield.observables.cluster_tree import cluster_tree
    from meanfield.outputs.result_file import load
    from meanfield.outputs.sweep_file import load_sweep
    from meanfield.own_laws import from_function, from_values
    from meanfield.problem import Problem
    from meanfield.runs import Run
    from meanfield.sampling import sample_tokens
    from meanfield.stages import Stage
    from meanfield.stationary.states import stationary_state
    from meanfield.studies.convergence import convergence_study
    from meanfield.studies.ensemble import ensemble
    from meanfield.studies.ensemble_moments import ensemble_moments
    from meanfield.studies.hardmax import hardmax
    from meanfield.studies.merging import RandomHead, merging_diagram
    from meanfield.studies.optimal import optimal_configuration
    from meanfield.studies.pair_correlation import pair_correlation
    from meanfield.studies.phase import phase_diagram, phase_point
    from meanfield.studies.prediction import predict_clusters
    from meanfield.sweeps.sweep import sweep
    from meanfield.terms import Drift, FeedForward
    from meanfield.theory.cluster_counts import mean_clusters, tokens_for_dominance
    from meanfield.theory.cluster_rates import cluster_rates
    from meanfield.theory.contraction import contraction_rates
    from meanfield.theory.critical_points import critical_points, single_cluster_proof
    from meanfield.theory.equiangular import (
        equiangular_beta,
        equiangular_cosine,
        equiangular_time,
    )
    from meanfield.theory.kuramoto import (
        critical_widths,
        incoherence_growth_rates,
        synchronised_order,
    )
    from meanfield.theory.lifetimes import closest_pair_survival, polygon_lifetime
    from meanfield.theory.limit_shapes import limit_shape
    from meanfield.theory.linear_operator import LinearOperator, linear_operator
    from meanfield.theory.next_merge import next_merge_estimate
    from meanfield.theory.normalization_schemes import (
        equiangular_layers,
        linear_phase_clock,
    )
    from meanfield.theory.onset import tricritical_beta
    from meanfield.theory.random_tokens import hemisphere_probability
    from meanfield.theory.stability import (
        critical_diffusivity,
        dominant_degree,
        growth_rate_max,
        growth_rates,
        onset_time,
        switching_threshold,
        switching_thresholds,
    )
    from meanfield.theory.stationary_measures import stationary_spectrum
    from meanfield.theory.truncation import truncation
    from meanfield.theory.two_clusters import two_cluster_time
    from meanfield.transport import (
        Bracket,
        maximum_mean_discrepancy,
        sobolev_distance,
        wasserstein,
    )
    from meanfield.verification import verify

__all__ = [
    "SA",
    "USA",
    "Attention",
    "Bracket",
    "Axial",
    "Circle",
    "Density",
    "Drift",
    "Event",
    "FeedForward",
    "Flow",
    "Gaussian",
    "GivenFrequencies",
    "Head",
    "Kernel",
    "LabelledDensity",
    "Law",
    "Layers",
    "LinearOperator",
    "Lorentzian",
    "Measure",
    "Problem",
    "RandomHead",
    "Run",
    "SimulationError",
    "Space",
    "Sphere",
    "Stage",
    "UniformSpread",
    "action_bound",
    "attention_matrix",
    "certified_collapse",
    "certified_radius",
    "closest_pair_survival",
    "cluster_rates",
    "cluster_tree",
    "configuration",
    "contraction_rates",
    "convergence_study",
    "critical_diffusivity",
    "critical_points",
    "critical_widths",
    "dominant_degree",
    "ensemble",
    "ensemble_moments",
    "equiangular_beta",
    "equiangular_cosine",
    "equiangular_layers",
    "equiangular_time",
    "exponential",
    "fluctuations",
    "from_density",
    "from_function",
    "from_labels",
    "from_points",
    "from_values",
    "gradient",
    "influence",
    "normal_tokens",
    "growth_rate_max",
    "growth_rates",
    "hardmax",
    "hemisphere_probability",
    "incoherence_growth_rates",
    "limit_shape",
    "linear",
    "linear_operator",
    "linear_phase_clock",
    "load",
    "load_encoder",
    "load_sweep",
    "maximum_mean_discrepancy",
    "mean_clusters",
    "merging_diagram",
    "mixture",
    "next_merge_estimate",
    "observable",
    "onset_time",
    "optimal_configuration",
    "pair_correlation",
    "perturbed_uniform",
    "phase_diagram",
    "phase_point",
    "polygon_lifetime",
    "predict_clusters",
    "replay",
    "run",
    "sample_tokens",
    "sampled",
    "simulate",
    "single_cluster_proof",
    "sobolev_distance",
    "stationary_spectrum",
    "stationary_state",
    "sweep",
    "switching_threshold",
    "switching_thresholds",
    "synchronised_order",
    "token_limit",
    "tokens_for_dominance",
    "tricritical_beta",
    "truncation",
    "two_cluster_time",
    "uniform",
    "verify",
    "von_mises_fisher",
    "wasserstein",
    "with_profile",
    "zonal",
]

# The module of each name, which the block for type checkers says again in their words.
_MODULES = {
    "attention": "Attention Head",
    "certificates.action": "action_bound",
    "certificates.collapse": "certified_collapse",
    "certificates.radius": "certified_radius",
    "errors": "SimulationError",
    "events": "Event",
    "finite.fluctuations": "fluctuations",
    "finite.gradients": "gradient",
    "finite.influence": "influence",
    "flows": "SA USA Flow",
    "frequencies": "Gaussian GivenFrequencies Lorentzian UniformSpread",
    "front": "run simulate",
    "initial": "Law configuration from_density from_labels from_points mixture normal_tokens "
    "perturbed_uniform sampled uniform von_mises_fisher with_profile",
    "kernels": "Kernel exponential linear zonal",
    "layers": "Layers",
    "manifolds": "Axial Circle Space Sphere",
    "measures": "Density LabelledDensity Measure",
    "models.loading": "load_encoder",
    "models.replay": "replay",
    "models.token_limit": "token_limit",
    "observables": "attention_matrix observable",
    "observables.cluster_tree": "cluster_tree",
    "outputs.result_file": "load",
    "outputs.sweep_file": "load_sweep",
    "own_laws": "from_function from_values",
    "problem": "Problem",
    "runs": "Run",
    "sampling": "sample_tokens",
    "stages": "Stage",
    "stationary.states": "stationary_state",
    "studies.convergence": "convergence_study",
    "studies.ensemble": "ensemble",
    "studies.ensemble_moments": "ensemble_moments",
    "studies.hardmax": "hardmax",
    "studies.merging": "RandomHead merging_diagram",
    "studies.optimal": "optimal_configuration",
    "studies.pair_correlation": "pair_correlation",
    "studies.phase": "phase_diagram phase_point",
    "studies.prediction": "predict_clusters",
    "sweeps.sweep": "sweep",
    "terms": "Drift FeedForward",
    "theory.cluster_counts": "mean_clusters tokens_for_dominance",
    "theory.cluster_rates": "cluster_rates",
    "theory.contraction": "contraction_rates",
    "theory.critical_points": "critical_points single_cluster_proof",
    "theory.equiangular": "equiangular_beta equiangular_cosine equiangular_time",
    "theory.kuramoto": "critical_widths incoherence_growth_rates synchronised_order",
    "theory.lifetimes": "closest_pair_survival polygon_lifetime",
    "theory.limit_shapes": "limit_shape",
    "theory.linear_operator": "LinearOperator linear_operator",
    "theory.next_merge": "next_merge_estimate",
    "theory.normalization_schemes": "equiangular_layers linear_phase_clock",
    "theory.onset": "tricritical_beta",
    "theory.random_tokens": "hemisphere_probability",
    "theory.stability": "critical_diffusivity dominant_degree growth_rate_max growth_rates "
    "onset_time switching_threshold switching_thresholds",
    "theory.stationary_measures": "stationary_spectrum",
    "theory.truncation": "truncation",
    "theory.two_clusters": "two_cluster_time",
    "transport": "Bracket maximum_mean_discrepancy sobolev_distance wasserstein",
    "verification": "verify",
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}

# What results ask for, and the function that makes it, as module:name.
_MAKERS = {
    "ClusterPrediction.html": "outputs.tables:prediction_html",
    "ClusterPrediction.plot": "outputs.plots.prediction:prediction_figure",
    "ConvergenceStudy.html": "outputs.tables:comparison_html",
    "ConvergenceStudy.plot": "outputs.plots.comparison:comparison_figure",
    "Density.plot": "outputs.plots.measure:measure_figure",
    "Ensemble.html": "outputs.tables:ensemble_html",
    "Ensemble.plot": "outputs.plots.ensemble:ensemble_figure",
    "Fluctuations.plot": "outputs.plots.fluctuations:fluctuations_figure",
    "LimitShape.plot": "outputs.plots.hulls:limit_shape_figure",
    "LinearOperator.plot": "outputs.plots.spectrum:spectrum_figure",
    "Measure.plot": "outputs.plots.measure:measure_figure",
    "MergingDiagram.html": "outputs.tables:merging_html",
    "MergingDiagram.plot": "outputs.plots.merging:merging_figure",
    "PairCorrelation.plot": "outputs.plots.pair_correlation:pair_correlation_figure",
    "PhaseDiagram.html": "outputs.tables:phase_diagram_html",
    "PhaseDiagram.plot": "outputs.plots.phase:phase_diagram_figure",
    "PhasePoint.html": "outputs.tables:phase_point_html",
    "Problem.html": "outputs.tables:problem_html",
    "Replay.html": "outputs.tables:replay_html",
    "Replay.plot": "outputs.plots.replay:replay_figure",
    "Replay.save": "outputs.replay_file:save_replay",
    "Run.animate": "outputs.plots:animate",
    "Run.html": "outputs.tables:run_html",
    "Run.plot": "outputs.plots:plot",
    "Run.problem": "config.stored:stored_problem",
    "Run.save": "front:save_run",
    "Run.to_xarray": "outputs.dataset:to_xarray",
    "Run.view": "outputs.view:view",
    "StationaryState.html": "outputs.tables:state_html",
    "Sweep.html": "outputs.tables:sweep_html",
    "Sweep.plot": "outputs.plots.sweep:sweep_figure",
    "Sweep.run": "outputs.run_file:load",
    "Sweep.to_xarray": "outputs.sweep_dataset:to_xarray",
    "TokenLimit.plot": "outputs.plots.replay:token_limit_figure",
}


def _maker(place: str) -> Callable[..., Any]:
    """Return the function of that place, loaded when it is called."""
    module, name = place.split(":")
    return lambda *given, **options: getattr(import_module(f"{__name__}.{module}"), name)(
        *given, **options
    )


_VIEWS.update({wanted: _maker(place) for wanted, place in _MAKERS.items()})


if not TYPE_CHECKING:  # Checkers would take any name for one of ours.

    def __getattr__(name: str) -> Any:
        """Load a public name (PEP 562), and keep it for the next time."""
        if name == "Hypersphere":
            raise AttributeError(
                "Hypersphere(m), S^m, is Sphere(m + 1), the unit sphere of R^{m+1}."
            )
        if name not in _HOMES:
            from meanfield.errors import nearest

            near = None if name.startswith("_") else nearest(name, _HOMES)
            meant = f"; did you mean {near}?" if near else ""
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}{meant}")
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """Public names, loaded or not."""
    return sorted(["__version__", *__all__])
