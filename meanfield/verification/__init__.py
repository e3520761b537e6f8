"""Whether a stored run is what its mathematics allows: laws that hold whatever the numbers are.

`verify` puts a run to all of them: `states`, `motions`, `energies`, `symmetries`, `resolved`,
`origins` hold one kind of check each, `bounds` the constants that they rest on, and `result` what
they answer. Nothing is evolved again.
"""

from meanfield.verification.result import Check as Check
from meanfield.verification.result import Verification as Verification
from meanfield.verification.verify import verify as verify
