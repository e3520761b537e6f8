"""Public names and the module of each: `meanfield` and its topics load them at first use."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

_PACKAGE = __name__.partition(".")[0]

MODULES = {
    "api": "run simulate",
    "certificates.action": "action_bound",
    "certificates.collapse": "certified_collapse",
    "certificates.radius": "certified_radius",
    "commands.dry_run": "check",
    "errors": "SimulationError",
    "events": "Event",
    "finite.fluctuations": "fluctuations",
    "finite.gradients": "gradient",
    "finite.influence": "influence",
    "finite.results": "Fluctuations",
    "laws.initial": "Law configuration from_density from_labels from_points mixture "
    "normal_tokens perturbed_uniform sampled uniform von_mises_fisher "
    "with_profile",
    "laws.own": "from_function from_values",
    "laws.sampling": "sample_tokens",
    "measures": "Density LabelledDensity Measure",
    "models.loading": "load_encoder",
    "models.replay": "Replay replay",
    "models.token_limit": "TokenLimit token_limit",
    "observables": "attention_matrix observable",
    "observables.cluster_tree": "ClusterTree cluster_tree",
    "papers.critical_points": "critical_points single_cluster_proof",
    "papers.equiangular": "equiangular_beta equiangular_cosine equiangular_time",
    "papers.hardmax_paths": "hardmax",
    "papers.lifetimes": "closest_pair_survival polygon_lifetime",
    "papers.limit_shapes": "LimitShape limit_shape",
    "papers.merging": "RandomHead merging_diagram",
    "papers.merging_results": "MergingDiagram",
    "papers.next_merge": "next_merge_estimate",
    "papers.normalization_schemes": "equiangular_layers linear_phase_clock",
    "papers.optimal": "optimal_configuration",
    "papers.pair_correlation_study": "PairCorrelation pair_correlation",
    "papers.random_tokens": "hemisphere_probability",
    "papers.stationary_measures": "stationary_spectrum",
    "papers.truncation": "truncation",
    "papers.two_clusters": "two_cluster_time",
    "problem": "Problem",
    "runs": "Run",
    "schemes.layers": "Layers",
    "spaces": "Axial Circle Euclidean Sphere",
    "spectrum.cluster_counts": "mean_clusters tokens_for_dominance",
    "spectrum.cluster_rates": "cluster_rates",
    "spectrum.contraction": "contraction_rates",
    "spectrum.kuramoto": "critical_widths incoherence_growth_rates synchronised_order",
    "spectrum.linear_operator": "LinearOperator linear_operator",
    "spectrum.onset": "tricritical_beta",
    "spectrum.stability": "critical_diffusivity dominant_degree growth_rate_max growth_rates "
    "onset_time switching_threshold switching_thresholds",
    "stages": "Stage",
    "stationary.states": "StationaryState stationary_state",
    "store.result_file": "load",
    "store.sweep_file": "load_sweep",
    "studies.bifurcation": "BifurcationDiagram bifurcation_diagram",
    "studies.collapse_times": "CollapseTimes collapse_times",
    "studies.convergence": "convergence_study",
    "studies.convergence_results": "ConvergenceStudy",
    "studies.ensemble": "ensemble",
    "studies.ensemble_moments": "ensemble_moments",
    "studies.ensemble_results": "Ensemble",
    "studies.phase": "PhaseDiagram PhasePoint phase_diagram phase_point",
    "studies.prediction": "ClusterPrediction predict_clusters",
    "studies.sweep_results": "Sweep",
    "studies.sweeps.sweep": "sweep",
    "terms.attention": "Attention Head",
    "terms.fixed": "FeedForward LinearDrift",
    "terms.flows": "SA USA Flow",
    "terms.frequencies": "Gaussian GivenFrequencies Lorentzian UniformSpread",
    "terms.kernels": "Kernel exponential linear zonal",
    "terms.own": "Seen VectorField",
    "transport": "Bracket maximum_mean_discrepancy sobolev_distance wasserstein",
    "verification": "verify",
}
"""Module -> its public names."""

HOMES = {name: module for module, names in MODULES.items() for name in names.split()}
"""Public name -> its module."""

RESULT_KINDS = {
    "comparison": "ConvergenceStudy",
    "ensemble": "Ensemble",
    "diagram": "MergingDiagram",
    "replay": "Replay",
    "collapse_times": "CollapseTimes",
    "phase_diagram": "PhaseDiagram",
    "bifurcation_diagram": "BifurcationDiagram",
    "fluctuations": "Fluctuations",
}
"""Kind of a study file -> the public name of its result."""

TOPICS = ("certificates", "finite", "papers", "stationary", "transport")
"""Packages that `meanfield` offers as they are: `mf.papers.hardmax`."""


def public(name: str) -> Any:
    """Public object of that name, whose module is loaded now."""
    return getattr(import_module(f"{_PACKAGE}.{HOMES[name]}"), name)


def lazy_package(package: str, path: list[str]) -> tuple[Callable[..., Any], ...]:
    """`__getattr__` and `__dir__` of a package: its modules, and the public names in them.

    A module wins over a name of its own. package, path: `__name__` and `__path__`.
    """
    topic = package.partition(".")[2]
    modules = {each.name for each in iter_modules(path)}
    homes = {name: home for name, home in HOMES.items() if home.startswith(f"{topic}.")}

    def find(name: str) -> Any:
        if name in modules:
            return import_module(f"{package}.{name}")
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return public(name)

    return find, lambda: sorted(modules | homes.keys())
