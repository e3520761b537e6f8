"""The one kind of error that a run file can cause."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from meanfield.errors import one_line


class ConfigError(ValueError):
    """A mistake in a run file, as one line: file, section, key, what is allowed."""

    def __init__(self, message: str) -> None:
        """Make one line of the message, whatever names and values it quotes."""
        super().__init__(one_line(message))


@contextmanager
def located(where: str) -> Iterator[None]:
    """Turn an error of a constructor into one that says where it arose."""
    try:
        yield
    except ConfigError:
        raise
    except (ValueError, TypeError, OverflowError, MemoryError) as error:
        reason = str(error) or "needs more memory than there is."
        raise ConfigError(f"{where} {reason}") from None
