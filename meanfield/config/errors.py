"""The one kind of error that a run file can cause."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class ConfigError(ValueError):
    """A mistake in a run file, as one line: file, section, key, what is allowed."""


@contextmanager
def located(where: str) -> Iterator[None]:
    """Turn a ValueError or TypeError of a constructor into one that says where it arose."""
    try:
        yield
    except ConfigError:
        raise
    except (ValueError, TypeError, OverflowError) as error:
        raise ConfigError(f"{where} {' '.join(str(error).split())}") from None
