"""Number of clusters of N independent uniform tokens: the law of linear theory.

At the end of the linear phase, the attention potential is an isotropic Gaussian field with the
variances of `spectrum.cluster_counts.potential_variances`, and tokens climb to its maxima. Their
mean number has a closed form; samples of the field give its distribution. `studies.corrected_law`
has the corrected law.

In linear theory, given tokens cluster at the maxima of

    Phi_l = strength w_l m_l e^{lambda_l T},    T = ln N / (2 lambda_max),

with their moments m_l; each maximum takes the tokens of its basin. On the circle the dominant
degree k alone has its maxima at (2 pi j - arg m_k) / k.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from meanfield.arguments import checked, describe
from meanfield.arrays import MOMENT_NOISE, FloatArray, IntArray, ModalArray
from meanfield.carriers.step_limits import FEATURES, check_carries, check_movable, check_no_layers
from meanfield.described import ResultBase, plot_method
from meanfield.errors import SimulationError
from meanfield.laws.initial import in_radians
from meanfield.measures import Measure
from meanfield.observables.clusters import Clusters
from meanfield.problem import Problem
from meanfield.progress import followed, wants_bar
from meanfield.spaces import MANIFOLDS
from meanfield.spectrum.cluster_counts import (
    mean_clusters,
    potential_growth,
    potential_variances,
    tokens_for_dominance,
)
from meanfield.spectrum.stability import dominant_degree, formation_time, growth_rates, onset_time
from meanfield.studies.corrected_law import (
    LATEST,
    MergeTimes,
    corrected_clusters,
    counting_time,
    default_corrected_samples,
    next_merges,
)
from meanfield.studies.ensemble_results import CountLaw, law_of
from meanfield.studies.study import as_problem

Progress = Callable[[Iterable[IntArray], int, str], Iterable[IntArray]]

# Within the range of floating point.
_MOST_TOKENS = 10**300
# They give a standard error of 1e-4; more would take hours, then gigabytes.
_MOST_SAMPLES = 10**8
# Samples of the field in memory, and their coefficients.
_SAMPLES_AT_ONCE = 1000
_COEFFICIENTS_AT_ONCE = 500_000
# Default numbers of samples; on the sphere samples x degree^3, about half a minute. The time of a
# sample grows with the cube of the degree, and so do the tables.
_SAMPLES, _LEAST_SAMPLES = 10_000, 20
_SPHERE_WORK = 1e8
LARGEST_SPHERE_DEGREE = 200
# Moments of an initial law over the noise of uniform tokens: below the first, noise hides the law;
# above the second, the law decides. Uniform tokens exceed that in one of 1e9 cases of 20 degrees.
_HIDDEN, _FAR = 1.0, 5.0
# From these numbers on the mean of the linear law is within 15 % of runs.
_FEWEST_TOKENS, _TOKENS_PER_CLUSTER = 100, 10
# Root mean square of 20 quartiles against runs, docs/linear-theory.md; most of it is sampling.
_MERGE_ACCURACY = "to 20 %"
NOTHING_GROWS = "none: uniform is stable, no degree grows"
ONE_CLUSTER = "one cluster in the end: nothing grows beyond degree 1"


@dataclass(frozen=True, eq=False)
class ClusterPrediction(ResultBase):
    """Number of clusters that tokens will form, by the linear and the corrected law.

    `print` shows the answer, where +- is one standard error of the samples. Clusters have formed by
    about `formation_time`. The corrected law counts at `counting_time`, which is earlier for fewer
    than 2,981 tokens.

    Attributes
    ----------
    problem : Problem
        Its initial law is nearly uniform, or not used.
    tokens : int
        Number N of tokens.
    linear : CountLaw
        Maxima of the potential at the onset time, by Monte Carlo; {0: 1.0} if nothing grows.
    corrected : CountLaw or None
        The corrected law; None if it was not requested, or for the reason in `note`.
    seed : int
        Seed of all samples.
    positions : TokenPrediction or None
        Where clusters will form, if the tokens were given.
    note : str
        Why there is no corrected law, and other remarks, else empty.
    merge_times : dict of int to (float, float, float)
        For each number of clusters at `counting_time`: the scaled times by which a quarter, half
        and three quarters of the corrected law's runs have merged two of them; infinite beyond a
        million counting times. Empty without that law. In 20 comparisons with 300 runs of tokens
        the root mean square error was 20 %.
    law : CountLaw
        The corrected law, else the linear one.
    distribution, mean_clusters : dict of int to float, float
        Probabilities and mean of `law`.
    mean_clusters_linear : float
        Mean of the linear law, in closed form.
    onset_time, counting_time, formation_time : float
        T = ln N / (2 lambda_max), 2 T, T + 4 / lambda_max, in scaled time; infinite if nothing
        grows.
    dominant_degree, second_degree, rate_ratio : int or None, int or None, float
        The two degrees that grow fastest, and the second rate over the first.

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=3.0), mf.USA)
    >>> print(mf.predict_clusters(problem, 1000, corrected=False).answer)
    2 clusters (72.3 +- 0.4 %) or 3 (27.7 +- 0.4 %), formed by about t = 50 (scaled time)
    """

    problem: Problem
    tokens: int
    linear: CountLaw
    corrected: CountLaw | None
    seed: int
    positions: TokenPrediction | None = None
    note: str = ""
    merge_times: MergeTimes = field(default_factory=dict)

    @property
    def law(self) -> CountLaw:
        """The corrected law, or else the linear one."""
        return self.linear if self.corrected is None else self.corrected

    @property
    def distribution(self) -> dict[int, float]:
        """Probability of each number of clusters by `law`."""
        return self.law.distribution

    @property
    def mean_clusters(self) -> float:
        """Mean number of `law`, in closed form for the linear law; 0 if nothing grows."""
        return self.mean_clusters_linear if self.corrected is None else self.corrected.mean

    @property
    def mean_clusters_linear(self) -> float:
        """Mean number of the linear law, in closed form; 0 if nothing grows."""
        return mean_clusters(self.problem, self.tokens)

    @property
    def dominant_degree(self) -> int | None:
        """Degree that grows fastest; None if none grows."""
        return dominant_degree(self.problem)

    @property
    def second_degree(self) -> int | None:
        """Degree that grows second fastest; None if at most one grows."""
        rates = growth_rates(self.problem)
        second = int(np.argsort(rates[1:])[-2]) + 1
        return second if rates[second] > 0 else None

    @property
    def rate_ratio(self) -> float:
        """Second largest growth rate over the largest; NaN if at most one degree grows."""
        second, rates = self.second_degree, growth_rates(self.problem)
        return float(rates[second] / rates.max()) if second is not None else float("nan")

    @property
    def onset_time(self) -> float:
        """End of the linear phase, in scaled time; infinite if nothing grows."""
        return onset_time(self.problem, self.tokens)

    @property
    def formation_time(self) -> float:
        """Time by which clusters have formed, in scaled time; infinite if nothing grows."""
        return formation_time(self.problem, self.tokens)

    @property
    def counting_time(self) -> float:
        """Time 2 T at which the corrected law counts, in scaled time; infinite if nothing grows."""
        return counting_time(self.problem, self.tokens)

    @property
    def tokens_for_dominance(self) -> float:
        """Tokens that the dominant degree needs to become ten times the second one."""
        return tokens_for_dominance(self.problem)

    @property
    def format_tokens(self) -> str:
        """Number of tokens and their origin, in words."""
        if self.positions is not None:
            return f"{self.tokens}, given"
        # If nothing grows, the origin does not matter.
        grows = self.dominant_degree is not None
        return f"{self.tokens}, independent and uniform" if grows else str(self.tokens)

    @property
    def message(self) -> str:
        """Message if no law is needed, else empty."""
        if self.dominant_degree is None:
            return NOTHING_GROWS
        return ONE_CLUSTER if _only_degree_one_grows(self.problem) else ""

    @property
    def answers(self) -> list[str]:
        """Sentences: on the given tokens, if there are any, and on random tokens."""
        law = self.message or f"{self.law.summary()}{self._when()}"
        enough = _enough_tokens(self.linear)
        if not self.message and self.corrected is None and not self.linear_law_holds:
            law = f"the linear law does not hold for {self.tokens} tokens, only from {enough} on"
            if not _no_runs(self.problem, 1):
                law += ": ask for runs (runs=100, on the command line --runs 100)"
        if self.positions is None:
            return [law]
        formed = f"formed by about t = {self.formation_time:.3g} (scaled time)"
        return [f"{self.positions.summary()}, {formed}", f"of as many random tokens: {law}"]

    @property
    def linear_law_holds(self) -> bool:
        """True if the linear law has enough tokens: 100, and ten for each cluster."""
        return self.tokens >= _enough_tokens(self.linear)

    plot = plot_method(
        "ClusterPrediction.plot",
        "Figure: growth rates, the laws, and the potential of tokens that were given.",
    )

    @property
    def answer(self) -> str:
        """The answers in one line."""
        return "; ".join(self.answers)

    def _when(self) -> str:
        """Time of `law`, and how long the likeliest number lasts."""
        formed, counted = (f"t = {t:.3g}" for t in (self.formation_time, self.counting_time))
        if self.corrected is None:
            return f", formed by about {formed} (scaled time)"
        late = self.formation_time > self.counting_time
        forming = f"; the last clusters form by about {formed}" if late else ""
        return f", at {counted} (scaled time){forming}{self._lasting()}"

    def _lasting(self) -> str:
        """Merge times of runs with the likeliest number of clusters, in words; else empty."""
        number = self.law.most_likely
        if number not in self.merge_times:
            return ""
        quarter, half, most = self.merge_times[number]
        those = f"half of the runs with {number} clusters"
        if not np.isfinite(half):
            return f"; {those} keep them beyond t = {LATEST * self.counting_time:.3g}"
        last = f", three quarters by t = {most:.3g}" if np.isfinite(most) else ""
        others = f"a quarter by t = {quarter:.3g}{last}"
        return f"; {those} have fewer by t = {half:.3g} ({_MERGE_ACCURACY}; {others})"

    def __repr__(self) -> str:
        where = f"on the {self.problem.manifold.name}, {self.problem.zonal.kernel!r}"
        note = f"; note: {self.note}" if self.note else ""
        return f"ClusterPrediction({self.answer}; {where}; tokens: {self.format_tokens}{note})"


@checked
def predict_clusters(
    problem: Problem | Callable[[], Problem],
    tokens: int | FloatArray,
    *,
    samples: int | None = None,
    seed: int = 0,
    corrected: bool = True,
    runs: int | None = None,
    executor: Executor | None = None,
    progress: bool | Progress | None = None,
) -> ClusterPrediction:
    """Distribution of the number of clusters that tokens will form; positions for given tokens.

    Parameters
    ----------
    problem : Problem or callable () -> Problem
        On the circle or the sphere, or a function that returns it. Its initial law must be nearly
        uniform, and is not used if tokens are given.
    tokens : int or array
        The number N of independent uniform tokens, at least 2; or the tokens themselves, angles
        (n,) or vectors (n, 3).
    samples : int
        Samples of the Gaussian field, at least 1. By default 10,000; on the sphere fewer from
        degree 22 on, see `default_samples`.
    seed : int
        Seed of all samples.
    corrected : bool
        Whether to compute the corrected law, by short runs.
    runs : int
        Number of short runs, 0 for none; see `default_corrected_samples`.
    executor : concurrent.futures.Executor, optional
        Where to make these runs; by default in this process. The result is the same.
    progress : bool or callable (chunks, samples, name) -> chunks
        Show a bar; by default in notebooks. A callable passes arrays of counts through and shows
        how many samples are done.

    Returns
    -------
    ClusterPrediction

    Raises
    ------
    TypeError
        If tokens is neither an integer nor points.
    ValueError
        If the initial law is far from uniform: one of its moments exceeds five times the noise
        1 / sqrt(N) of uniform tokens. If a value is out of range. If the manifold is another, as
        closed form and sampler are missing. If the potential on the sphere has degrees above 200,
        for beta above about 1500.

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=2.0), mf.USA)
    >>> prediction = predict_clusters(problem, 1000, samples=2000, corrected=False)
    >>> prediction.distribution.keys() <= {1, 2, 3, 4}
    True
    >>> abs(prediction.linear.mean - prediction.mean_clusters) < 0.02
    True
    """
    own = as_problem(problem)
    if own.manifold.name not in MANIFOLDS:
        raise ValueError(
            f"clusters are predicted on the circle and the sphere, got {own.manifold.name}: "
            "growth rates and thresholds are known there, by `meanfield stability`."
        )
    check_no_layers(own, "predictions")
    for name, value, least in (
        ("samples", samples, 1),
        ("runs", runs, 0),
        ("seed", seed, 0),
    ):
        if value is not None and value < least:
            raise ValueError(f"{name} must be at least {least}, got {value}.")
        if value is not None and name != "seed" and value > _MOST_SAMPLES:
            raise ValueError(f"{name} must be at most {_MOST_SAMPLES:g}, got {value:g}.")
    count, points = _number_and_points(own, tokens)
    if count > _MOST_TOKENS:
        raise ValueError(f"tokens must be at most {_MOST_TOKENS:g}.")
    # Refuses too few tokens before sampling.
    time, variances = onset_time(own, count), potential_variances(own, count)
    dimension, degree = own.manifold.dimension, len(variances) - 1
    check_degree(dimension, degree, own.beta)
    if dominant_degree(own) is None:
        none = CountLaw({0: 1.0}, 0.0, 0.0)
        return ClusterPrediction(own, count, none, none if corrected else None, seed)
    if not np.any(variances > 0.0):
        raise ValueError(
            f"tokens grow so slowly, with onset time {time:.3g}, that their potential is below the "
            f"range of numbers: got strength = {own.flow.strength:g}. Use one nearer to 1."
        )
    unlike = _unlike_uniform(own, count, points)
    positions = None if points is None else predict_positions(own, points)
    samples = default_samples(dimension, degree) if samples is None else samples
    wanted = corrected and runs != 0
    runs = default_corrected_samples(dimension, degree) if runs is None else runs
    note = _no_runs(own, runs) if wanted else ""
    show: Progress = progress if callable(progress) else _shown if wants_bar(progress) else _unseen
    chunks = show(linear_counts(own, count, samples, seed), samples, "linear law")
    merges: MergeTimes = {}
    linear, better = law_of(np.concatenate(list(chunks))), None
    if corrected and _only_degree_one_grows(own):
        better, note = CountLaw({1: 1.0}, 1.0, 0.0), ""
    elif wanted and not note:
        blocks = corrected_clusters(own, count, runs, seed, executor)
        groups: list[Clusters] = []
        chunks = show(_counted(blocks, groups), runs, "corrected law")
        try:
            better = law_of(np.concatenate(list(chunks)))
            merges = next_merges(own, groups, counting_time(own, count))
        except SimulationError as error:
            note = f"no corrected law: {error.reason}"
    note = "; ".join(filter(None, [note, unlike]))
    enough = _enough_tokens(linear)
    if count < enough:
        few = f"the linear law holds from about {enough} tokens on"
        note = "; ".join(filter(None, [note, few]))
    if positions is not None and own.flow.diffusivity:
        unknown = "where these tokens meet also depends on their noise until then, not known here"
        note = "; ".join(filter(None, [note, unknown]))
    return ClusterPrediction(own, count, linear, better, seed, positions, note, merges)


def _enough_tokens(linear: CountLaw) -> int:
    """Least number of tokens for the linear law."""
    return max(_FEWEST_TOKENS, math.ceil(_TOKENS_PER_CLUSTER * linear.mean))


def _counted(
    blocks: Iterable[tuple[range, list[Clusters]]], groups: list[Clusters]
) -> Iterator[IntArray]:
    """Numbers of clusters of each block; the clusters are appended to `groups`."""
    for _, clusters in blocks:
        groups += clusters
        yield np.array([each.count for each in clusters])


def _shown(chunks: Iterable[IntArray], total: int, label: str) -> Iterable[IntArray]:
    return followed(chunks, total, label, weight=len)


def _unseen(chunks: Iterable[IntArray], total: int, label: str) -> Iterable[IntArray]:
    return chunks


def _unlike_uniform(problem: Problem, tokens: int, points: FloatArray | None) -> str:
    """Difference of the start from uniform tokens in words, else empty; refuse far laws.

    Uniform tokens have moments of about 1 / sqrt(N), in each of the 2l + 1 coefficients of degree l
    on the sphere. They hide a law with smaller moments.
    """
    space, rates = problem.manifold, growth_rates(problem)
    start = problem.initial_measure() if points is None else Measure(space, points)
    sizes = space.sizes_by_degree(start.moments(len(rates) - 1))
    degrees = np.arange(len(sizes))
    noise = np.sqrt((1.0 if space.dimension == 1 else 2.0 * degrees + 1.0) / tokens)
    excess = np.where((rates > 0) & (degrees > 0), sizes / noise, 0.0)
    degree = int(np.argmax(excess))
    if excess[degree] <= (_HIDDEN if points is None else _FAR):
        return ""
    size = f"{sizes[degree]:.3g} in degree {degree}"
    times = f"{excess[degree]:.3g} times that of {tokens} uniform tokens"
    if points is not None:
        return f"these tokens are not uniform: their moment is {size}, {times}"
    if excess[degree] <= _FAR:
        return f"the initial law shifts these shares: its moment is {size}, {times}"
    raise ValueError(
        f"clusters are predicted for nearly uniform tokens, and the initial law "
        f"{problem.initial!r} has a moment of {size}, {times}. Leave it out to ask for uniform "
        f"tokens, or count the clusters of runs from it: mf.ensemble(problem, tokens={tokens})."
    )


def _only_degree_one_grows(problem: Problem) -> bool:
    rates = growth_rates(problem)
    return bool(rates[1] > 0 and np.all(rates[2:] <= 0))


def _no_runs(problem: Problem, runs: int) -> str:
    """Why there is no corrected law, else empty."""
    try:
        check_movable(problem)
        check_carries(problem, "its runs", FEATURES - {"diffusion"}, "Use 0 for one.")
    except ValueError as error:
        return f"no corrected law: {str(error).removesuffix('.')}"
    return "" if runs else "no corrected law: its runs would take long; ask for a number of them"


def _number_and_points(problem: Problem, tokens: int | FloatArray) -> tuple[int, FloatArray | None]:
    if isinstance(tokens, int):
        return tokens, None
    if tokens.ndim == 1 and np.all(tokens >= 2) and np.all(tokens == np.round(tokens)):
        raise ValueError(
            f"tokens must be one number, or an array of points, got {describe(tokens)}."
        )
    points = problem.manifold.check_points(in_radians(tokens))
    return len(points), points


def check_degree(dimension: int, degree: int, beta: float) -> None:
    """Refuse potentials of too large degrees, whose maxima would need too much memory."""
    if dimension == 2 and degree > LARGEST_SPHERE_DEGREE:
        raise ValueError(
            f"beta = {beta:g} makes potentials of degree {degree} on the sphere, and maxima are "
            f"counted up to degree {LARGEST_SPHERE_DEGREE}: reduce beta."
        )


def default_samples(dimension: int, degree: int) -> int:
    """Default number of samples: 10,000, on the sphere as many as half a minute allows.

    Fewer samples suffice for many clusters, whose number has a smaller relative spread.

    >>> default_samples(1, 3000), default_samples(2, 12), default_samples(2, 33)
    (10000, 10000, 2782)
    """
    if dimension == 1:
        return _SAMPLES
    return max(_LEAST_SAMPLES, min(_SAMPLES, int(_SPHERE_WORK / max(degree, 1) ** 3)))


def linear_counts(problem: Problem, tokens: int, samples: int, seed: int) -> Iterator[IntArray]:
    """Chunks of numbers of maxima of the sampled potential at the onset time."""
    space, variances = problem.manifold, potential_variances(problem, tokens)
    # Maxima do not depend on the scale, which may be near underflow.
    from meanfield.spaces.maxima import count_maxima, gaussian_fields

    variances = variances / variances.max()
    coefficients = len(space.resize(space.from_modes([]), len(variances) - 1))
    # Results depend on the chunks, so these depend on the problem alone.
    chunk = min(_SAMPLES_AT_ONCE, max(1, _COEFFICIENTS_AT_ONCE // coefficients))
    rng = np.random.default_rng(seed)
    for start in range(0, samples, chunk):
        fields = gaussian_fields(space, variances, min(chunk, samples - start), rng)
        yield count_maxima(space, fields)


# Most clusters whose places a sentence lists.
_MOST_LISTED = 4


@dataclass(frozen=True, eq=False)
class TokenPrediction:
    """Positions and masses of the clusters that given tokens will form.

    - points (n,) or (n, 3): the tokens.
    - potential: modal coefficients of the potential at the onset time, largest of size 1.
    - positions (m,) or (m, 3): its maxima to which tokens climb, highest first: angles in (-pi,
      pi], or unit vectors.
    - masses (m,): share of the tokens in the basin of each maximum.
    - labels (n,): index into `positions` for each token.
    - dominant_positions (k,): maxima of the dominant degree alone, on the circle; empty on the
      sphere, and if its moment is 0.
    """

    points: FloatArray
    potential: ModalArray
    positions: FloatArray
    masses: FloatArray
    labels: npt.NDArray[np.int64]
    dominant_positions: FloatArray

    def summary(self) -> str:
        """Number of clusters, and positions of the heaviest: angles, or unit vectors."""
        count = len(self.positions)
        heaviest = self.positions[np.argsort(-self.masses, kind="stable")[:_MOST_LISTED]]
        # Adding 0 turns -0 into 0.
        heaviest = np.round(heaviest, 3) + 0.0
        if heaviest.ndim == 1:
            places = "angle" + "s" * (count > 1) + " " + ", ".join(f"{x:g}" for x in heaviest)
        else:
            places = ", ".join(f"({x:g}, {y:g}, {z:g})" for x, y, z in heaviest)
        more = f" and {count - _MOST_LISTED} more" if count > _MOST_LISTED else ""
        plural = "s" * (count > 1)
        return f"{count} cluster{plural} of these tokens by linear theory, at {places}{more}"

    def __repr__(self) -> str:
        masses = ", ".join(f"{mass:.3g}" for mass in np.sort(self.masses)[::-1][:5])
        more = ", ..." if len(self.masses) > 5 else ""
        return (
            f"TokenPrediction({len(self.points)} tokens, {len(self.positions)} clusters of masses "
            f"{masses}{more})"
        )


def predict_positions(problem: Problem, points: FloatArray) -> TokenPrediction:
    """Prediction of the clusters of given tokens, at least two; some degree must grow."""
    from meanfield.spaces.maxima import basins, maxima

    space, n = problem.manifold, len(points)
    potential = _potential(problem, points)
    positions = maxima(space, potential)
    labels = basins(space, potential, points)
    counts = np.bincount(labels, minlength=len(positions))
    # Maxima without tokens form no cluster.
    peopled = counts > 0
    labels = (np.cumsum(peopled) - 1)[labels]
    return TokenPrediction(
        points,
        potential,
        positions[peopled],
        counts[peopled] / n,
        labels,
        _dominant_positions(problem, points),
    )


def _potential(problem: Problem, points: FloatArray) -> ModalArray:
    space, n = problem.manifold, len(points)
    growth = potential_growth(problem, n)
    degree = len(growth) - 1
    moments = space.moments(points, None, degree)
    significant = space.sizes_by_degree(moments) > MOMENT_NOISE
    potential = space.convolve(growth / np.abs(growth).max() * significant, moments)
    largest = float(np.abs(potential).max())
    if largest == 0.0:
        raise ValueError(
            f"the {n} tokens are placed so evenly that their moments up to degree {degree} are 0: "
            "they make no potential, and no clusters can be predicted. Move some."
        )
    return potential / largest


def _dominant_positions(problem: Problem, points: FloatArray) -> FloatArray:
    """Maxima (2 pi j - arg c_k) / k of Re[c_k e^{ik theta}]; the multiplier is positive."""
    k = dominant_degree(problem)
    if k is None or problem.zonal.dimension != 1:
        return np.zeros(0)
    moment = problem.manifold.moments(points, None, k)[k]
    if abs(moment) <= MOMENT_NOISE:
        return np.zeros(0)
    angles = (2.0 * np.pi * np.arange(k) - np.angle(moment)) / k
    return np.sort(np.pi - np.mod(np.pi - angles, 2.0 * np.pi))
