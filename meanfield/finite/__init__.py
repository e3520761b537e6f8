"""Finitely many tokens: the flow of a run linearised, forwards, backwards, and to second order."""

from meanfield.names import lazy_package

__getattr__, __dir__ = lazy_package(__name__, __path__)
