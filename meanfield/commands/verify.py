"""`meanfield verify`: put a stored run to the laws that it must obey; status 1 if it breaks one."""

from __future__ import annotations

import argparse
from typing import Any

from meanfield.commands.report import Report
from meanfield.verification import Check, Verification, verify


def execute(options: argparse.Namespace) -> int:
    """Print all checks; exit status 1 if one fails."""
    found = verify(options.file)
    verification_report(found, options.file).show(options)
    return 0 if found.passed else 1


def verification_report(found: Verification, path: str) -> Report:
    """Table of checks; data by their order."""
    data = {
        "file": str(path),
        "passed": found.passed,
        "failed": [check.name for check in found.failed],
        "checks": [_told(check) for check in found.checks],
    }
    return Report([str(found)], data)


def _told(check: Check) -> dict[str, Any]:
    names = ("name", "passed", "measured", "allowed", "note")
    return {name: getattr(check, name) for name in names}
