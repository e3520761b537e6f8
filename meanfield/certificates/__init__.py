"""Certificates of runs: proved bounds that every correct run obeys.

`action` compares two times of one run, `radius` two runs of one problem. `collapse` proves that a
measure becomes one cluster. `papers.contraction` has the constants.
"""

from meanfield.names import lazy_package

__getattr__, __dir__ = lazy_package(__name__, __path__)
