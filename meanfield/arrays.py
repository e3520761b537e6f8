"""Names for the array types that signatures use."""

from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]
ModalArray = npt.NDArray[Any]
"""Coefficients of a field: complex (K + 1,) on the circle."""
State = npt.NDArray[Any]
"""State vector of a representation, real or complex."""
