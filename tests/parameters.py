"""Cases of tests: every value of every parameter, not every combination; many cases in one test."""

import inspect
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest


def each(names: str, values: Iterable[Any], /, **along: Iterable[Any]) -> pytest.MarkDecorator:
    """Parametrise a test so that each value of each parameter occurs, but not every combination.

    There are as many cases as the longest list has values. The shorter ones go round, each time
    shifted against each other, so that two of them do not stay in step.

    >>> each("beta", [-4.0, 0.0, 5.0, 60.0], normalized=[False, True], few=[False, True]).args[1]
    [(-4.0, False, False), (0.0, True, True), (5.0, True, False), (60.0, False, True)]
    """
    cells = [[_cell(value, "," in names) for value in values]]
    cells += [[_cell(value, False) for value in column] for column in along.values()]
    cases = []
    for i in range(max(map(len, cells))):
        row = [
            column[(i + shift * (i // len(column))) % len(column)]
            for shift, column in enumerate(cells)
        ]
        case = tuple(value for cell in row for value in cell.values)
        marks = [mark for cell in row for mark in cell.marks]
        cases.append(pytest.param(*case, marks=marks) if marks else case)
    return pytest.mark.parametrize(", ".join([names, *along]), cases)


def together(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[..., Any]:
    """Run a test for many small cases as one, which shares its fixtures and lists all that fail."""
    keys = names.replace(" ", "").split(",") if isinstance(names, str) else list(names)
    rows = [tuple(case) if len(keys) > 1 else (case,) for case in cases]
    assert rows and all(len(row) == len(keys) for row in rows)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        def of_all(**fixtures: Any) -> None:
            wrong = []
            for row in rows:
                try:
                    test(**fixtures, **dict(zip(keys, row, strict=True)))
                except (Exception, pytest.fail.Exception) as error:
                    wrong.append(f"{row}: {type(error).__name__}: {error}")
            if wrong:
                pytest.fail(f"{len(wrong)} of {len(rows)} cases:\n" + "\n".join(wrong))

        entries = [p for p in inspect.signature(test).parameters.values() if p.name not in keys]
        of_all.__signature__ = inspect.Signature(entries)  # type: ignore[attr-defined]
        of_all.__name__, of_all.__doc__ = test.__name__, test.__doc__
        of_all.__module__, of_all.__qualname__ = test.__module__, test.__qualname__
        return of_all

    return decorate


def refused(
    message: str,
    call: Callable[..., object],
    *arguments: Any,
    error: type[BaseException] = ValueError,
    **options: Any,
) -> None:
    """Check that a call raises an error, in whose message the pattern is found."""
    with pytest.raises(error, match=message):
        call(*arguments, **options)


def _cell(value: Any, several: bool) -> Any:
    if isinstance(value, type(pytest.param())):
        return value
    return pytest.param(*value) if several else pytest.param(value)


def refused_without_memory(path: Path, content: bytes, read: Callable[[Path], Any], reason: str):
    """Check that a file whose header lies is refused in one line, before memory is taken for it."""
    path.write_bytes(content)
    tracemalloc.start()
    with pytest.raises(ValueError, match=reason) as caught:
        read(path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400
    assert most < 20 * len(content) + 100_000
