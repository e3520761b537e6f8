"""The one kind of error that a run file can cause."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


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


def one_line(text: str) -> str:
    r"""Text as one line of printable characters; others as TOML would write them.

    Examples
    --------
    >>> print(one_line("two\n  lines, \x1b[31mred"))
    two lines, \x1b[31mred
    """
    joined = " ".join(text.split())
    if joined.isprintable():
        return joined
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in joined)
