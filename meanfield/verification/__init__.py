"""Verification of stored runs by laws that every correct run obeys.

`verify` makes all `CHECKS`, which are in `states`, `motions`, `energies` and `integrated`;
`checked_run` has their input and their results.
"""

from meanfield.verification.checked_run import Check as Check
from meanfield.verification.checked_run import Verification as Verification
from meanfield.verification.verify import CHECKS as CHECKS
from meanfield.verification.verify import verify as verify
