"""Version of this package, where every floor can ask for it."""

__version__ = "0.2.0"
