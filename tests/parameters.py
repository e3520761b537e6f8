"""Cases of parametrised tests: every value of every parameter, not every combination."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def each(names: str, values: Iterable[Any], /, **along: Iterable[Any]) -> pytest.MarkDecorator:
    """Parametrise a test so that each value of each parameter occurs.

    A mistake shows at one value, or at one of a few: a grid of all of them finds it many times
    over. There are as many cases as the longest list has values. The shorter ones go round, each
    time shifted against each other, so that two of them do not stay in step.

    Parameters
    ----------
    names, values
        As for `pytest.mark.parametrize`.
    **along
        Lists of values of further parameters, by name.

    Examples
    --------
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


def _cell(value: Any, several: bool) -> Any:
    """Value, or several, with marks."""
    if isinstance(value, type(pytest.param())):
        return value
    return pytest.param(*value) if several else pytest.param(value)
