"""`meanfield verify`: put a stored run to the laws that it must obey; status 1 if it breaks one."""

from __future__ import annotations

import argparse
from typing import Any

from meanfield.commands.answers import answer
from meanfield.commands.progress import with_progress
from meanfield.results.report import Report
from meanfield.verification import CHECKS, Check, Verification, verify


def execute(options: argparse.Namespace) -> int:
    """Print all checks; exit status 1 if one fails."""
    verification = verify(
        options.file,
        progress=lambda checks: with_progress(
            checks, len(CHECKS), "verify", note=lambda check: check.name, first_line=2.0
        ),
    )
    answer(options, verification_report(verification, options.file))
    return 0 if verification.passed else 1


def verification_report(verification: Verification, path: str) -> Report:
    """Table of checks; data by their order."""
    data = {
        "file": str(path),
        "passed": verification.passed,
        "failed": [check.name for check in verification.failed],
        "checks": [_row(check) for check in verification.checks],
    }
    return Report([str(verification)], data)


def _row(check: Check) -> dict[str, Any]:
    names = ("name", "passed", "measured", "allowed", "note")
    return {name: getattr(check, name) for name in names}
