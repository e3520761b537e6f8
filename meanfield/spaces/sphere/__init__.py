"""The sphere: unit vectors, spherical harmonics, sums over tokens."""
