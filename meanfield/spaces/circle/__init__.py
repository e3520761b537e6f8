"""The circle: angles, Fourier series, sums over tokens."""
