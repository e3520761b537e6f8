"""Weights and compiled stages of time steps."""
