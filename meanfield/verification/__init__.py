"""Verification of stored runs: laws that hold whatever the numbers are.

`verify` checks all of them. `states`, `motions`, `energies`, `symmetries`, `resolved` and `origins`
have one kind of check each, `bounds` has their constants, and `result` their results. Nothing is
evolved again.
"""

from meanfield.verification.result import Check as Check
from meanfield.verification.result import Verification as Verification
from meanfield.verification.verify import verify as verify
