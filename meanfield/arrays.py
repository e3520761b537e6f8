"""Names for the array types that signatures use."""

from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]
IntArray = npt.NDArray[np.int64]
ModalArray = npt.NDArray[Any]
"""Coefficients of a field: complex, one-dimensional, packed as the manifold likes."""
State = npt.NDArray[Any]
"""State vector of a representation, real or complex."""
FixedArrays = dict[str, npt.NDArray[Any]]
"""What a representation needs besides its state, by name."""
