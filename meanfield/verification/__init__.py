"""Verification of stored runs: laws that hold whatever the numbers are.

`verify` makes all checks of `CHECKS`. Each module has its kinds of checks: `states`, `motions`,
`energies`, `resolution` and `integrated`; `checked_run` has their input, `result` their results.
"""

from meanfield.verification.result import Check as Check
from meanfield.verification.result import Verification as Verification
from meanfield.verification.verify import CHECKS as CHECKS
from meanfield.verification.verify import verify as verify
