"""Verification of stored runs: laws that hold whatever the numbers are.

`verify` makes all checks of `CHECKS`. Each module has its kinds of checks: `states`, `motions`,
`energies` and `integrated`; `checked_run` has their input and their results.
"""

from meanfield.verification.checked_run import Check as Check
from meanfield.verification.checked_run import Verification as Verification
from meanfield.verification.verify import CHECKS as CHECKS
from meanfield.verification.verify import verify as verify
