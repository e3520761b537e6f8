"""Results of checks of a run: a row each, and all of them as a table."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import ParamSpec

from meanfield.results.report import rows_html

_WIDTH, _BENEATH = 79, 4 * " "


@dataclass(frozen=True)
class Check:
    """One check of a run: a number and its bound, None where nothing is measured."""

    name: str  # what was checked
    passed: bool | None  # None where the check does not apply to the run
    measured: float | None
    allowed: float | None
    note: str  # what the number is and why so much is allowed; or why the check does not apply

    @property
    def result(self) -> str:
        """'pass', 'fail' or 'n/a'."""
        return "n/a" if self.passed is None else "pass" if self.passed else "fail"


class NotApplicable(Exception):
    """A check does not apply to a run; the message is the reason."""


P = ParamSpec("P")


def check(name: str) -> Callable[[Callable[P, Check]], Callable[P, Check]]:
    """Decorator that names a check, and turns `NotApplicable` into a row of its own."""

    def decorate(make: Callable[P, Check]) -> Callable[P, Check]:
        @wraps(make)
        def named(*args: P.args, **options: P.kwargs) -> Check:
            try:
                return replace(make(*args, **options), name=name)
            except NotApplicable as reason:
                return Check(name, None, None, None, str(reason))

        return named

    return decorate


def measured(value: float, allowed: float, note: str) -> Check:
    """Check that a number is at most `allowed`; NaN fails."""
    return Check("", bool(value <= allowed), float(value), float(allowed), note)


def verdict(passed: bool, note: str) -> Check:
    """Check that holds or not, without a number."""
    return Check("", bool(passed), None, None, note)


@dataclass(frozen=True)
class Verification:
    """Checks of a run; print shows a table.

    >>> verification = Verification([Check("mass", True, 0.0, 1e-9, "|mass - 1|")])
    >>> verification.passed, verification["mass"].result
    (True, 'pass')
    """

    checks: Sequence[Check]

    @property
    def passed(self) -> bool:
        """True if no check failed."""
        return not self.failed

    @property
    def failed(self) -> tuple[Check, ...]:
        """Checks that failed."""
        return tuple(check for check in self.checks if check.passed is False)

    def __getitem__(self, name: str) -> Check:
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(f"{name!r} is no check: {', '.join(check.name for check in self.checks)}.")

    @property
    def summary(self) -> str:
        """One line: what failed, or how many passed."""
        done = [check for check in self.checks if check.passed is not None]
        left = len(self.checks) - len(done)
        beside = f"; {left} not applicable" if left else ""
        if self.failed:
            names = ", ".join(check.name for check in self.failed)
            return f"failed: {names} ({len(self.failed)} of {len(done)} checks){beside}"
        return f"passed: {len(done)} check{'s' if len(done) != 1 else ''}{beside}"

    def __str__(self) -> str:
        head = ("check", "result", "measured", "allowed")
        rows = [head, *(_cells(check) for check in self.checks)]
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        indent = " " * (widths[0] + 2)
        lines: list[str] = []
        reasons: dict[str, str] = {}
        for row, check in zip(rows, [None, *self.checks], strict=True):
            name, result = (cell.ljust(w) for cell, w in zip(row[:2], widths[:2], strict=True))
            numbers = [cell.rjust(w) for cell, w in zip(row[2:], widths[2:], strict=True)]
            note = "" if check is None else check.note
            if check is not None and check.measured is None:
                # Nothing stands in the columns of numbers.
                note_text = f"as for {reasons[note]}" if note in reasons else note
                reasons.setdefault(note, check.name)
                lines.append(_filled(note_text, f"{name}  {result}  ", indent))
                continue
            lines.append("  ".join([name, result, *numbers]).rstrip())
            if note:
                lines.append(_filled(note, _BENEATH, _BENEATH))
        return "\n".join([*lines, "", self.summary])

    def _repr_html_(self) -> str:
        """Table for notebooks."""
        cells = [(*_cells(check), check.note) for check in self.checks]
        return rows_html(("check", "result", "measured", "allowed", "note"), cells)


def _filled(text: str, first: str, others: str) -> str:
    return textwrap.fill(text, _WIDTH, initial_indent=first, subsequent_indent=others)


def _cells(check: Check) -> tuple[str, str, str, str]:
    return check.name, check.result, _number(check.measured), _number(check.allowed)


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return "nan" if math.isnan(value) else f"{value:.3g}"
