"""Results as tables, words and data sets."""
