"""The command line; it contains no mathematics."""
