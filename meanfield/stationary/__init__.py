"""Stationary states of the noisy equation: what they are, and which of them are stable."""

from meanfield.stationary.self_consistency import SelfConsistency
from meanfield.stationary.stability import GrowthRate, stationary_growth_rates
from meanfield.stationary.states import StationaryState, stationary_state
from meanfield.stationary.symmetry import Symmetry, axisymmetric

__all__ = [
    "GrowthRate",
    "SelfConsistency",
    "StationaryState",
    "Symmetry",
    "axisymmetric",
    "stationary_growth_rates",
    "stationary_state",
]
