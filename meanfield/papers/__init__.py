"""Closed forms and studies of single papers."""

from meanfield.names import lazy_package

__getattr__, __dir__ = lazy_package(__name__, __path__)
