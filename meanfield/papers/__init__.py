"""Pure functions of a problem: what is known without a simulation."""

from meanfield.names import lazy_package

__getattr__, __dir__ = lazy_package(__name__, __path__)
