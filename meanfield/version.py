"""Version of this package; every module may import it."""

__version__ = "0.2.0"
