"""Figures, films and views: arrays in `data`, matplotlib in `draw`, a browser page in `view`."""
