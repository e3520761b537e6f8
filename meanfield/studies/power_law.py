"""Fit of a power law to independent samples at several sizes, with its confidence interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray

CONFIDENCE = 0.95


@dataclass(frozen=True)
class PowerLaw:
    """A fitted law mean = prefactor * size^exponent.

    Attributes
    ----------
    exponent, prefactor : float
        Derived. NaN where fewer than two sizes have samples.
    interval : tuple of float
        Derived. 95 % confidence interval of the exponent.
    """

    exponent: float
    interval: tuple[float, float]
    prefactor: float


def fit_power_law(sizes: FloatArray, samples: FloatArray) -> PowerLaw:
    """Power law through the means of samples, by least squares of logarithms.

    With x_i = ln n_i, y_i = ln m_i, m_i the mean of the R_i samples of size n_i,

        exponent = sum_i c_i y_i,    c_i = (x_i - x) / sum_j (x_j - x)^2,    x = mean of x_j.

    The sizes are independent, and the delta method gives Var y_i = s_i^2 / (R_i m_i^2) = v_i with
    the sample variance s_i^2. So

        interval = exponent +- t_nu(0.975) sqrt(V),    V = sum_i c_i^2 v_i,
        nu = V^2 / sum_i [c_i^4 v_i^2 / (R_i - 1)]     (Welch and Satterthwaite).

    The interval is that of sampling: it uses all samples where the scatter about the line
    would use one number a size, and it says nothing about whether the law is a power. All sizes
    count the same because relative scatter hardly depends on the size when a limit law exists.

    Parameters
    ----------
    sizes : ndarray, shape (n_sizes,)
        Positive.
    samples : ndarray, shape (n_sizes, repetitions)
        Positive; NaN where there is none. Sizes with fewer than two are left out.

    Returns
    -------
    PowerLaw

    References
    ----------
    Welch, The generalization of Student's problem when several different population variances
    are involved, Biometrika 34 (1947), 28-35.

    Examples
    --------
    >>> sizes = np.array([10.0, 100.0, 1000.0])
    >>> law = fit_power_law(sizes, 2.0 * sizes[:, None] ** -0.5 * np.array([0.9, 1.1]))
    >>> round(law.exponent, 12), round(law.prefactor, 12)
    (-0.5, 2.0)
    """
    counts = np.isfinite(samples).sum(axis=1)
    used = counts >= 2
    if used.sum() < 2:
        return PowerLaw(np.nan, (np.nan, np.nan), np.nan)
    counts, x = counts[used], np.log(sizes[used])
    means = np.nanmean(samples[used], axis=1)
    y = np.log(means)
    relative = np.nanvar(samples[used], axis=1, ddof=1) / (counts * means**2)
    c = (x - x.mean()) / np.sum((x - x.mean()) ** 2)
    exponent = float(c @ y)
    parts = c**2 * relative
    variance = parts.sum()
    half = 0.0
    if variance > 0:
        from scipy.special import stdtrit

        freedom = variance**2 / np.sum(parts**2 / (counts - 1))
        half = float(stdtrit(freedom, 0.5 + 0.5 * CONFIDENCE) * np.sqrt(variance))
    prefactor = float(np.exp(y.mean() - exponent * x.mean()))
    return PowerLaw(exponent, (exponent - half, exponent + half), prefactor)
