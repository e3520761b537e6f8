"""Results of a convergence study: distances, fitted exponents, amplification.

    mean_distance(n, t) ~ prefactor(t) n^{exponent(t)}

is fitted at every saved time. The headline is the fit near half the onset time
T = ln n / (2 lambda_max) of the smallest n, whose fastest mode has then grown from n^{-1/2} to
n^{-1/4}. At T this mode reaches 1, so small systems saturate and change the exponent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray
from meanfield.described import StudyResult, array, attribute, grid_columns, plot_method

CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False)
class ConvergenceStudy(StudyResult):
    """Distances of particle systems to the density, and fits to them.

    Attributes
    ----------
    times : ndarray, shape (n_times,)
        Scaled time, 0 first.
    tokens : ndarray of int, shape (n_sizes,)
        Sizes n, increasing.
    distances : ndarray, shape (n_sizes, runs, n_times)
        W_1 and W_2 in radians; NaN where a system has not been run.
    metric : str
        "W1", "W2", "sobolev" or "mmd".
    growth_rate_max : float
        lambda_max, the largest growth rate of uniform; NaN for heads with matrices.
    onset_times : ndarray, shape (n_sizes,)
        ln n / (2 lambda_max); infinite if nothing grows, or no rate is known.
    note : str
        Reason of an early end, else empty.
    attributes : dict
        Facts of the problem; from a file also title, seed, status, ...
    widths : ndarray, shape (n_sizes, runs, n_times)
        Width of the bracket of each distance; 0 where it is exact, as on the circle.
    certified_exponents : ndarray, shape (n_times,)
        Proved bounds of the exponents by which distances grow, see `meanfield.certified_radius`;
        NaN where nothing is proved.
    mean_distance, standard_error : ndarray, shape (n_sizes, n_times)
        Over the runs.
    exponents, prefactors : ndarray, shape (n_times,)
        mean_distance ~ prefactor * n^exponent at every time.
    exponent_intervals : ndarray, shape (n_times, 2)
        95 % confidence, see `fit_power_law`.
    amplification : ndarray, shape (n_sizes, n_times)
        mean_distance over its value at time 0.
    linear_amplification : ndarray, shape (n_times,)
        e^{lambda_max t}, the growth of the fastest mode about uniform.
    certified_distance : ndarray, shape (n_sizes, n_times)
        Certified bound of mean_distance: the mean upper bound at time 0 times
        e^{certified_exponents}. Above pi it is trivial.
    headline : int
        Index of the saved time before the onset of the smallest n that is nearest to half of it;
        the last time if nothing grows.
    """

    kind = "comparison"
    version = 2
    stored_as = {"headline_time": "exponent_time"}

    times: FloatArray = array("time", "time", unit="scaled time", increasing=0)
    tokens: FloatArray = array("tokens", kind="i", increasing=1, distinct=True)
    distances: FloatArray = array("tokens repetition time")
    metric: str = attribute()
    growth_rate_max: float = attribute()
    onset_times: FloatArray = array("tokens", "onset_time")
    note: str = attribute("")
    attributes: dict[str, Any] = field(default_factory=dict)
    widths: FloatArray = array("tokens repetition time", default_factory=lambda: np.zeros(()))
    certified_exponents: FloatArray = array(
        "time", "certified_exponent", optional=True, default_factory=lambda: np.full((), np.nan)
    )
    mean_distance: FloatArray = array("tokens time", init=False)
    standard_error: FloatArray = array("tokens time", init=False)
    exponents: FloatArray = array("time", "exponent", init=False)
    exponent_intervals: FloatArray = array("time bound", "exponent_interval", init=False)
    prefactors: FloatArray = array("time", "prefactor", init=False)
    amplification: FloatArray = array("tokens time", init=False)
    linear_amplification: FloatArray = array("time", init=False)
    certified_distance: FloatArray = array("tokens time", init=False, optional=True)
    headline: int = field(init=False)

    @classmethod
    def check_values(cls, values: Mapping[str, Any], attributes: Mapping[str, Any]) -> None:
        if np.any(values["distances"] < 0):
            raise ValueError("distances holds negative numbers")

    def __post_init__(self) -> None:
        object.__setattr__(self, "widths", np.broadcast_to(self.widths, self.distances.shape))
        exponents = np.broadcast_to(self.certified_exponents, self.times.shape)
        object.__setattr__(self, "certified_exponents", exponents)
        counts = np.isfinite(self.distances).sum(axis=1)
        with np.errstate(all="ignore"):
            mean = np.nansum(self.distances, axis=1) / counts
            squares = np.nansum((self.distances - mean[:, None]) ** 2, axis=1)
            error = np.sqrt(squares / (counts - 1) / counts)
            growth = np.exp(self.growth_rate_max * self.times)
            begins = self.distances[..., 0] + 0.5 * self.widths[..., 0]
            certified = np.nansum(begins, axis=1)[:, None] / counts * np.exp(exponents)
        laws = [fit_power_law(self.tokens, d) for d in np.moveaxis(self.distances, 2, 0)]
        derived = {
            "mean_distance": mean,
            "standard_error": error,
            "exponents": np.array([law.exponent for law in laws]),
            "exponent_intervals": np.array([law.interval for law in laws]),
            "prefactors": np.array([law.prefactor for law in laws]),
            "amplification": mean / mean[:, :1],
            "linear_amplification": growth,
            "certified_distance": certified,
            "headline": _headline(self.times, float(self.onset_times.min())),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    @property
    def mean_width(self) -> FloatArray:
        """Mean width of the brackets over the mean distance, shape (n_sizes, n_times)."""
        with np.errstate(all="ignore"):
            return np.asarray(np.nansum(self.widths, axis=1) / np.nansum(self.distances, axis=1))

    @property
    def certified_until(self) -> FloatArray:
        """Last saved time with a certified distance below pi, shape (n_sizes,); NaN if none."""
        says = self.certified_distance < np.pi
        last = np.where(says, self.times, -np.inf).max(axis=1, initial=-np.inf)
        return np.asarray(np.where(np.isfinite(last), last, np.nan))

    @property
    def finished(self) -> npt.NDArray[np.int64]:
        """Number of finished particle systems of each size, shape (n_sizes,)."""
        return np.asarray(np.isfinite(self.distances).all(axis=2).sum(axis=1))

    @property
    def exponent(self) -> float:
        """Exponent at the headline time."""
        return float(self.exponents[self.headline])

    @property
    def exponent_interval(self) -> tuple[float, float]:
        """Confidence interval (95 %) of the exponent at the headline time."""
        low, high = self.exponent_intervals[self.headline]
        return float(low), float(high)

    @property
    def exponent_time(self) -> float:
        """The headline time, scaled."""
        return float(self.times[self.headline])

    @property
    def columns(self) -> dict[str, Any]:
        """Columns of means, a row for each size and time."""
        axes = {"tokens": self.tokens, "time": self.times}
        mean, error = self.mean_distance, self.standard_error
        return grid_columns(axes, mean_distance=mean, standard_error=error)

    plot = plot_method(
        "ConvergenceStudy.plot",
        "Figure of the study: distances against time and against the number of tokens.",
    )

    def __repr__(self) -> str:
        sizes = f"n = {self.tokens[0]} to {self.tokens[-1]}"
        low, high = self.exponent_interval
        return (
            f"ConvergenceStudy({self.metric}, {sizes}, {self.distances.shape[1]} runs, "
            f"exponent {self.exponent:.3f} [{low:.3f}, {high:.3f}] at t = {self.exponent_time:.4g})"
        )


def _headline(times: FloatArray, onset: float) -> int:
    if not np.isfinite(onset):
        return len(times) - 1
    return int(np.argmin(np.abs(times[times < onset] - 0.5 * onset)))


@dataclass(frozen=True)
class PowerLaw:
    """A fitted law mean = prefactor * size^exponent.

    exponent, prefactor: NaN where fewer than two sizes have samples.
    """

    exponent: float
    interval: tuple[float, float]  # 95 % confidence interval of the exponent
    prefactor: float


def fit_power_law(sizes: FloatArray, samples: FloatArray) -> PowerLaw:
    """Power law through the means of samples, by least squares of logarithms.

    With x_i = ln n_i, y_i = ln m_i, m_i the mean of the R_i samples of size n_i:

        exponent = sum_i c_i y_i,    c_i = (x_i - x) / sum_j (x_j - x)^2,    x = mean of x_j.

    The sizes are independent, and the delta method gives Var y_i = s_i^2 / (R_i m_i^2) = v_i with
    the sample variance s_i^2. So

        interval = exponent +- t_nu(0.975) sqrt(V),    V = sum_i c_i^2 v_i,
        nu = V^2 / sum_i [c_i^4 v_i^2 / (R_i - 1)]     (Welch and Satterthwaite).

    The interval covers sampling errors alone, and does not test for a power law. All sizes have
    equal weight, because relative scatter hardly depends on the size when a limit law exists.

    - sizes (n_sizes,): positive.
    - samples (n_sizes, runs): positive, or NaN for missing samples. Sizes with fewer than two are
      left out.

    Welch, The generalization of Student's problem when several different population variances
    are involved, Biometrika 34 (1947), 28-35.

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
