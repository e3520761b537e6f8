"""The nonlinear solution that is known in closed form: beta = 0 on the circle.

The Poisson family f(theta) = (1 - r^2) / (1 - 2 r cos(theta) + r^2), with moments
c_k = r^k, is invariant under the linear kernel, normalised or not (the Ott-Antonsen
ansatz); r' = (1 - r^2) r / 2 gives

    r(t) = [1 + (r_0^{-2} - 1) e^{-strength t}]^{-1/2}.
"""

from __future__ import annotations

import numpy as np

from meanfield.arrays import FloatArray


def poisson_radius(time: float | FloatArray, start: float, strength: float = 1.0) -> FloatArray:
    """Radius r(t) of the Poisson density under the linear kernel.

    Parameters
    ----------
    time : float or ndarray
        Scaled time, which is paper time here.
    start : float
        r_0, between 0 and 1, both excluded.
    strength : float
        Of the flow.

    Returns
    -------
    ndarray, shape of time

    Raises
    ------
    ValueError
        If start is not between 0 and 1.

    References
    ----------
    Ott, Antonsen, Chaos 18, 037113 (2008), for identical oscillators.

    Examples
    --------
    >>> poisson_radius(np.array([4.0, 8.0]), 0.1).round(10)
    array([0.59620549, 0.98379708])
    """
    if not 0 < start < 1:
        raise ValueError(f"start must lie between 0 and 1, got {start}.")
    decay = np.exp(-strength * np.asarray(time, dtype=np.float64))
    return np.asarray(1.0 / np.sqrt(1.0 + (start**-2 - 1.0) * decay))
