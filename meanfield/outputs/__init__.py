"""Run files and figures."""
