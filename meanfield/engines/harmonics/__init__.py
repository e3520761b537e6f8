"""Spherical harmonics: coefficients, transforms, sums over tokens, heat kernels."""
