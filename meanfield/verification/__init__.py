"""Verification of stored runs: laws that hold whatever the numbers are.

`verify` makes all checks of `CHECKS`. Each module has one kind of check: `origins`, `states`,
`motions`, `energies`, `symmetries`, `resolution`, `integrated` and `fluctuations`. `bounds` has
their constants, `checked_run` their input, and `result` their results.
"""

from meanfield.verification.result import Check as Check
from meanfield.verification.result import Verification as Verification
from meanfield.verification.verify import CHECKS as CHECKS
from meanfield.verification.verify import verify as verify
