"""Engines: compiled loops, tables and transforms behind `fields`, `bases` and `spaces`."""
