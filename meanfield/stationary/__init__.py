"""Stationary states of the noisy equation, their branches and their stability."""

from meanfield.stationary.branches import Branch, SpecialPoint, primary_branch
from meanfield.stationary.self_consistency import SelfConsistency, polyhedral
from meanfield.stationary.stability import GrowthRate, leading_growth_rates
from meanfield.stationary.states import StationaryState, stationary_state
from meanfield.stationary.symmetry import Symmetry, axisymmetric

__all__ = [
    "Branch",
    "GrowthRate",
    "SelfConsistency",
    "SpecialPoint",
    "StationaryState",
    "Symmetry",
    "axisymmetric",
    "leading_growth_rates",
    "polyhedral",
    "primary_branch",
    "stationary_state",
]
