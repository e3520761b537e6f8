# Public names and their modules. Type checkers and editors read this file, `names.py` at run time.

from meanfield.api import run, simulate
from meanfield.certificates.action import action_bound
from meanfield.certificates.collapse import certified_collapse
from meanfield.certificates.radius import certified_radius
from meanfield.commands.check import check
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
)
from meanfield.laws.own import from_function, from_values
from meanfield.laws.sampling import sample_tokens
from meanfield.measures import Density, LabelledDensity, Measure
from meanfield.models.decoder import load_decoder
from meanfield.models.diagnosis import Diagnosis, diagnose
from meanfield.models.encoder_files import load_encoder
from meanfield.models.monitor import monitor
from meanfield.models.replay import Replay, replay
from meanfield.models.token_limit import TokenLimit, token_limit
from meanfield.observables import attention_matrix, observable
from meanfield.observables.cluster_tree import ClusterTree, cluster_tree
from meanfield.papers.contraction import contraction_rates
from meanfield.papers.critical_points import critical_points, single_cluster_proof
from meanfield.papers.equiangular import equiangular_beta, equiangular_cosine, equiangular_time
from meanfield.papers.hardmax_paths import hardmax
from meanfield.papers.kuramoto import synchronised_order
from meanfield.papers.lifetimes import closest_pair_survival, polygon_lifetime
from meanfield.papers.limit_shapes import LimitShape, limit_shape
from meanfield.papers.merging import MergingDiagram, RandomHead, merging_diagram
from meanfield.papers.normalization_schemes import equiangular_layers, linear_phase_clock
from meanfield.papers.optimal import optimal_configuration
from meanfield.papers.pair_correlation_study import PairCorrelation, pair_correlation
from meanfield.papers.random_tokens import hemisphere_probability
from meanfield.papers.stationary_measures import stationary_spectrum
from meanfield.papers.truncation import truncation
from meanfield.papers.two_clusters import next_merge_estimate, two_cluster_time
from meanfield.problem import Problem
from meanfield.runs import Run
from meanfield.schemes.layers import Layers
from meanfield.spaces import Axial, Circle, Euclidean, Sphere
from meanfield.spectrum.cluster_counts import mean_clusters, tokens_for_dominance
from meanfield.spectrum.cluster_rates import cluster_rates
from meanfield.spectrum.incoherence import critical_widths, incoherence_growth_rates
from meanfield.spectrum.linear_operator import LinearOperator, linear_operator
from meanfield.spectrum.positions import PositionModes, position_modes
from meanfield.spectrum.stability import (
    critical_diffusivity,
    dominant_degree,
    growth_rate_max,
    growth_rates,
    onset_time,
    switching_threshold,
    switching_thresholds,
)
from meanfield.stages import Stage
from meanfield.stationary.branches import tricritical_beta
from meanfield.stationary.states import StationaryState, stationary_state
from meanfield.store.result_file import load
from meanfield.store.sweep_file import load_sweep
from meanfield.studies.bifurcation import BifurcationDiagram, bifurcation_diagram
from meanfield.studies.collapse_times import CollapseTimes, collapse_times
from meanfield.studies.convergence import convergence_study
from meanfield.studies.convergence_results import ConvergenceStudy
from meanfield.studies.corrected_law import CorrectedRuns
from meanfield.studies.ensemble import ensemble
from meanfield.studies.ensemble_moments import ensemble_moments
from meanfield.studies.ensemble_results import Ensemble
from meanfield.studies.phase import PhaseDiagram, PhasePoint, phase_diagram, phase_point
from meanfield.studies.prediction import ClusterPrediction, predict_clusters
from meanfield.studies.sweep_results import Sweep
from meanfield.studies.sweeps import sweep
from meanfield.terms.attention import Attention, Head
from meanfield.terms.fixed import FeedForward, LinearDrift
from meanfield.terms.flows import SA, USA, Flow
from meanfield.terms.frequencies import Gaussian, GivenFrequencies, Lorentzian, UniformSpread
from meanfield.terms.kernels import Kernel, exponential, linear, zonal
from meanfield.terms.masks import Bias, Window
from meanfield.terms.own import Seen, VectorField
from meanfield.terms.random_values import RandomValues
from meanfield.terms.rotary import Rotary
from meanfield.transport import Bracket, maximum_mean_discrepancy, sobolev_distance, wasserstein
from meanfield.verification import verify

__all__ = [
    "Attention", "Axial", "Bias", "BifurcationDiagram", "Bracket", "Circle", "ClusterPrediction",
    "ClusterTree", "CollapseTimes", "ConvergenceStudy", "CorrectedRuns", "Density", "Diagnosis",
    "Ensemble", "Euclidean", "Event", "FeedForward", "Flow", "Fluctuations", "Gaussian",
    "GivenFrequencies", "Head", "Kernel", "LabelledDensity", "Law", "Layers", "LimitShape",
    "LinearDrift", "LinearOperator", "Lorentzian", "Measure", "MergingDiagram", "PairCorrelation",
    "PhaseDiagram", "PhasePoint", "PositionModes", "Problem", "RandomHead", "RandomValues",
    "Replay", "Rotary", "Run", "SA", "Seen", "SimulationError", "Sphere", "Stage",
    "StationaryState", "Sweep", "TokenLimit", "USA", "UniformSpread", "VectorField", "Window",
    "action_bound", "attention_matrix", "bifurcation_diagram", "certified_collapse",
    "certified_radius", "check", "closest_pair_survival", "cluster_rates", "cluster_tree",
    "collapse_times", "configuration", "contraction_rates", "convergence_study",
    "critical_diffusivity", "critical_points", "critical_widths", "diagnose", "dominant_degree",
    "ensemble", "ensemble_moments", "equiangular_beta", "equiangular_cosine", "equiangular_layers",
    "equiangular_time", "exponential", "fluctuations", "from_density", "from_function",
    "from_labels", "from_points", "from_values", "gradient", "growth_rate_max", "growth_rates",
    "hardmax", "hemisphere_probability", "incoherence_growth_rates", "influence", "limit_shape",
    "linear", "linear_operator", "linear_phase_clock", "load", "load_decoder", "load_encoder",
    "load_sweep", "maximum_mean_discrepancy", "mean_clusters", "merging_diagram", "mixture",
    "monitor", "next_merge_estimate", "normal_tokens", "observable", "onset_time",
    "optimal_configuration", "pair_correlation", "perturbed_uniform", "phase_diagram",
    "phase_point", "polygon_lifetime", "position_modes", "predict_clusters", "replay", "run",
    "sample_tokens", "sampled", "simulate", "single_cluster_proof", "sobolev_distance",
    "stationary_spectrum", "stationary_state", "sweep", "switching_threshold",
    "switching_thresholds", "synchronised_order", "token_limit",
    "tokens_for_dominance", "tricritical_beta", "truncation", "two_cluster_time", "uniform",
    "verify", "von_mises_fisher", "wasserstein", "with_profile", "zonal",
]  # fmt: skip

__version__: str
