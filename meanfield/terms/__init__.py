"""Terms of a problem: attention, feed-forward layers, linear drifts, natural frequencies."""
