"""Merging diagrams: share of merged pairs of random tokens on a sphere, over beta and time.

n independent, uniform tokens follow attention in many runs. A pair has merged if its cosine is
above a threshold. Once clusters are tight, the share of merged pairs is nearly the sum of their
squared masses. Tokens move in one of two ways:

    flow     x' = P_x A(x), adaptive steps of order five
    layers   x <- N(x + h A(x)), N(x) = x / |x|, time is h times layers, h = step under softmax
             and step / max(sqrt|beta| e^{|beta| - 1/2}, 1) without normalisation

`fields.blocks` computes A. The published figures use these layers with step = 0.1, Euler steps
that are slower than the flow.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from meanfield.arguments import checked
from meanfield.arrays import FloatArray
from meanfield.described import StudyResult, array, attribute, grid_columns, plot_method
from meanfield.engines.threads import map_chunks, one_blas_thread
from meanfield.errors import SimulationError
from meanfield.fields.blocks import attention_output, replicas_at_once, tangential, unit_vectors
from meanfield.schemes.replicas import Numbers, replicas_at
from meanfield.studies.study import (
    Execution,
    Request,
    Runs,
    Study,
    check_only_runs_grow,
    check_runs,
    rng_of,
)
from meanfield.terms.attention import Attention, Head, HeadMatrices
from meanfield.terms.random_values import RandomValues


@dataclass(frozen=True, eq=False)
class MergingTable:
    """Numbers of merged pairs and their squares, summed over runs, (n_betas, n_times)."""

    # Which runs are counted: (n_betas, runs), for one beta (runs,).
    done: npt.NDArray[np.bool_]
    sums: npt.NDArray[np.int64]
    squares: npt.NDArray[np.int64]

    def __getitem__(self, index: Any) -> MergingTable:
        """Counts of one beta, for an index (row, runs)."""
        return MergingTable(self.done[index], self.sums[index[0]], self.squares[index[0]])


@dataclass(frozen=True, eq=False)
class MergingDiagram(StudyResult):
    """Probability that two tokens have merged, over inverse temperatures and times.

    Attributes
    ----------
    betas : ndarray, shape (n_betas,)
    times : ndarray, shape (n_times,)
        Time t of the papers: scaled time under softmax; without normalisation, the time for
        weights e^{beta <x, y>}.
    tokens, dimension : int
        n, and d of the unit sphere of R^d.
    done : ndarray of bool, shape (n_betas, runs)
        Which runs are counted.
    sums, squares : ndarray of int, shape (n_betas, n_times)
        Sums over runs of the number of merged pairs, and of its square.
    attributes : dict
        Options of the request; a file adds title, status, ...
    finished : ndarray of int, shape (n_betas,)
        Number of counted runs.
    fraction, standard_error : ndarray, shape (n_betas, n_times)
        Share of merged pairs, mean over runs, and its error; NaN where runs are too few.
    """

    kind = "diagram"
    required = ("normalization", "matrices", "threshold", "motion")

    betas: FloatArray = array("beta", "beta")
    times: FloatArray = array("time", "time", unit="papers' time", increasing=0)
    tokens: int = attribute()
    dimension: int = attribute()
    done: npt.NDArray[np.bool_] = array("beta run", kind="b")
    sums: npt.NDArray[np.int64] = array("beta time", kind="i")
    squares: npt.NDArray[np.int64] = array("beta time", kind="i")
    attributes: dict[str, Any] = field(default_factory=dict)
    finished: npt.NDArray[np.int64] = field(init=False)
    fraction: FloatArray = array("beta time", init=False)
    standard_error: FloatArray = array("beta time", init=False)

    @classmethod
    def check_values(cls, values: Mapping[str, Any], attributes: Mapping[str, Any]) -> None:
        betas, sums, tokens = values["beta"], values["sums"], int(attributes["tokens"])
        if not (np.all(np.isfinite(betas)) and np.all(np.diff(betas) > 0)):
            raise ValueError("beta holds other numbers than finite ones, increasing")
        if tokens < 2 or not len(betas) or not len(values["time"]):
            raise ValueError("a diagram needs at least two tokens, one beta and one time")
        most = values["done"].sum(axis=1, dtype=np.int64)[:, None] * (tokens * (tokens - 1) // 2)
        if np.any(sums < 0) or np.any(sums > most):
            raise ValueError("sums holds other numbers than 0 to the pairs of the runs done")

    def __post_init__(self) -> None:
        pairs = self.tokens * (self.tokens - 1) // 2
        runs = self.done.sum(axis=1)
        with np.errstate(all="ignore"):
            mean = self.sums / runs[:, None]
            # Both are exact up to one rounding, which may make the difference negative.
            spread = np.maximum(self.squares / runs[:, None] - mean**2, 0.0)
            error = np.sqrt(spread / (runs - 1)[:, None])
        error[runs < 2] = np.nan
        object.__setattr__(self, "finished", runs)
        object.__setattr__(self, "fraction", mean / pairs)
        object.__setattr__(self, "standard_error", error / pairs)

    @property
    def columns(self) -> dict[str, Any]:
        """Means, one row for each beta and time."""
        axes, error = {"beta": self.betas, "time": self.times}, self.standard_error
        return grid_columns(axes, fraction=self.fraction, standard_error=error)

    plot = plot_method(
        "MergingDiagram.plot",
        "Figure of the share of merged pairs over beta and time, with the curve (6.12).",
    )

    def __repr__(self) -> str:
        return (
            f"MergingDiagram({self.tokens} tokens in R^{self.dimension}, {len(self.betas)} betas "
            f"from {self.betas[0]:g} to {self.betas[-1]:g}, {len(self.times)} times up to "
            f"{self.times[-1]:g}, {self.finished.min()} of {self.done.shape[1]} runs)"
        )


Motion = Literal["flow", "layers"]

MOTIONS: tuple[Motion, ...] = ("flow", "layers")

# Tolerance of the flow: at 1e-5 mean shares of n = 32 tokens err by at most 2e-4.
DIAGRAM_TOLERANCE = 1e-5
# Batches in a task: they occupy several threads, and make the task long enough to send.
_BATCHES = 4
# Beyond it, e^beta (without normalisation) comes near the largest double.
_LARGEST_BETA = 300.0

_PLAIN = (Head(),)
_SCORES = ("identity", "gaussian", "goe")
_VALUES = ("identity", "wishart", "score", "minus_score")


@checked
@dataclass(frozen=True)
class RandomHead:
    """A head with random matrices, drawn anew for every run.

    With entries of G, G_1, G_2 independent and standard normal:

        B  identity 1, gaussian G_1 G_2 / sqrt(d), goe (G + G^T) / sqrt(2)
        V  identity 1, wishart G G^T / sqrt(d), score B^T / |B|_2, minus_score -B^T / |B|_2

    Attributes
    ----------
    score : str
        Law of B in the scores beta x^T B y.
    value : str
        Law of V, which multiplies means as columns. The published script multiplies rows by B
        from the right, hence B^T.

    Raises
    ------
    ValueError
        If a name is not known.

    References
    ----------
    Geshkovski, Letrouit, Polyanskiy, Rigollet, arXiv:2312.10794, figure 5.

    Examples
    --------
    >>> RandomHead("goe", "wishart").matrices(2.0, 3, np.random.default_rng(0)).score.shape
    (3, 3)
    """

    score: str = "gaussian"
    value: str = "identity"

    def __post_init__(self) -> None:
        for what, name, choices in (("score", self.score, _SCORES), ("value", self.value, _VALUES)):
            if name not in choices:
                raise ValueError(f"{what} {name!r} is not known. Known: {', '.join(choices)}.")

    def matrices(self, beta: float, d: int, rng: np.random.Generator) -> HeadMatrices:
        """Matrices (d, d) of one draw: the score first, then the value."""
        score = value = np.eye(d)
        if self.score == "gaussian":
            first, second = rng.standard_normal((2, d, d))
            score = first @ second / math.sqrt(d)
        elif self.score == "goe":
            gaussian = rng.standard_normal((d, d))
            score = (gaussian + gaussian.T) / math.sqrt(2.0)
        if self.value == "wishart":
            gaussian = rng.standard_normal((d, d))
            value = gaussian @ gaussian.T / math.sqrt(d)
        elif self.value != "identity":
            sign = -1.0 if self.value == "minus_score" else 1.0
            value = sign * score.T / np.linalg.norm(score, 2)
        return HeadMatrices(beta * score, value)


@dataclass(frozen=True)
class DiagramOptions:
    """Options of a merging diagram; dimension is at least 2, betas and times increase."""

    tokens: int = 32
    dimension: int = 8
    betas: tuple[float, ...] = (1.0,)
    times: tuple[float, ...] = (10.0,)
    runs: int = 256  # at least 2
    normalization: str = "softmax"  # "softmax" or "none"
    # A head's own beta multiplies that of the diagram.
    heads: tuple[Head, ...] | RandomHead | RandomValues = _PLAIN
    threshold: float = 0.999  # in (-1, 1)
    motion: str = "flow"  # "flow" or "layers"
    step: float = 0.1  # for layers
    tolerance: float = DIAGRAM_TOLERANCE  # for the flow
    seed: int = 0  # not negative

    def __post_init__(self) -> None:
        check_runs((self.tokens,), "runs", self.runs, 2, self.seed)
        if self.dimension < 2:
            raise ValueError(f"dimension must be at least 2, got {self.dimension}.")
        for name, values in (("betas", self.betas), ("times", self.times)):
            if not values or not all(map(math.isfinite, values)):
                raise ValueError(f"{name} must be finite numbers, got {list(values)}.")
            if list(values) != sorted(set(values)):
                raise ValueError(f"{name} must be increasing, got {list(values)}.")
        if self.times[0] < 0.0 or self.times[-1] <= 0.0:
            raise ValueError(f"times must not be negative, the last positive, got {self.times}.")
        for name, value, choices in (
            ("normalization", self.normalization, ("softmax", "none")),
            ("motion", self.motion, MOTIONS),
        ):
            if value not in choices:
                raise ValueError(f"{name} {value!r} is not known. Known: {', '.join(choices)}.")
        if self.normalization == "none" and max(map(abs, self.betas)) > _LARGEST_BETA:
            raise ValueError(
                f"betas must be at most {_LARGEST_BETA:g} without normalisation, got "
                f"{max(map(abs, self.betas)):g}."
            )
        if not -1.0 < self.threshold < 1.0:
            raise ValueError(f"threshold must lie between -1 and 1, got {self.threshold:g}.")
        for name, number in (("step", self.step), ("tolerance", self.tolerance)):
            if not 0.0 < number <= 1.0:
                raise ValueError(f"{name} must lie in (0, 1], got {number:g}.")
        if isinstance(self.heads, RandomValues):
            self._check_values(self.heads)
        if not isinstance(self.heads, RandomHead):
            self.matrices(1.0)

    def _check_values(self, values: RandomValues) -> None:
        if (self.motion, self.normalization) != ("layers", "softmax"):
            raise ValueError(
                f'random values have softmax layers in a diagram, got motion = "{self.motion}" and '
                f'normalization = "{self.normalization}": give motion="layers" and "softmax".'
            )
        of = values.attention
        plain = Attention(of.heads, beta=of.beta, strength=of.strength)
        if values != RandomValues(plain, values.scale):
            raise ValueError(
                "random values of a diagram have heads and a scale alone: leave out the rest; "
                "betas, times, step and seed are those of the diagram."
            )

    def matrices(self, beta: float) -> tuple[HeadMatrices, ...]:
        """Matrices of fixed heads at one beta of the diagram."""
        heads = self.heads.own_heads if isinstance(self.heads, RandomValues) else self.heads
        assert not isinstance(heads, RandomHead)
        own = Attention(heads, beta=1.0).matrices(self.dimension)
        return tuple(HeadMatrices(beta * head.score, head.value) for head in own)

    def facts(self) -> dict[str, Any]:
        """Options as plain data, without the number of runs."""
        facts = asdict(self)
        del facts["runs"], facts["heads"]
        if isinstance(self.heads, RandomHead):
            return facts | {"matrices": repr(self.heads)}
        if isinstance(self.heads, RandomValues):
            texts = ", ".join(head.as_text() for head in self.heads.own_heads)
            return facts | {"matrices": f"random values, scale {self.heads.scale!r}: {texts}"}
        return facts | {"matrices": ", ".join(head.as_text() for head in self.heads)}


@checked
def merging_diagram(
    tokens: int = 32,
    dimension: int = 8,
    *,
    betas: Sequence[float],
    times: Sequence[float],
    runs: int = 256,
    normalization: Literal["softmax", "none"] = "softmax",
    heads: Sequence[Head] | RandomHead | RandomValues = _PLAIN,
    threshold: float = 0.999,
    motion: Motion = "flow",
    step: float = 0.1,
    tolerance: float = DIAGRAM_TOLERANCE,
    seed: int = 0,
    output: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: bool | None = None,
) -> MergingDiagram:
    """Share of the pairs of tokens that have merged, over inverse temperatures and times.

    Tokens start independent and uniform on the unit sphere of R^d. The random numbers of a run
    depend on seed, tokens, dimension and its number only, so all betas share the same starts.

    Parameters
    ----------
    tokens, dimension : int
        n and d.
    betas, times : sequence of float
        Increasing; times as in `MergingDiagram`.
    runs : int
        Independent runs for each beta, at least 2.
    normalization : str
        "softmax" (SA) or "none" (USA).
    heads : sequence of Head, RandomHead or RandomValues
        Q = K = V = 1 by default. A head's own beta multiplies that of the diagram. Random values
        are drawn anew in each layer, for motion = "layers": x <- N(x + sqrt(step) V m).
    threshold : float
        Cosine above which a pair has merged.
    motion : str
        "flow", or "layers": x <- N(x + h A), the published scheme, with h = step under softmax
        and less without normalisation. Counts are taken after the last layer up to each time.
    step : float
        Step of layers, in (0, 1].
    tolerance : float
        Largest error of a token in a step of the flow.
    seed : int
        Not negative.
    output, resume, overwrite, workers, executor, progress
        As in `meanfield.ensemble`; a resumed diagram may have more runs, and no other change.

    Raises
    ------
    ValueError
        If a value is out of range, or a matrix does not fit.
    SimulationError
        If a run cannot continue.

    See Also
    --------
    meanfield.equiangular_beta : the curve that separates one cluster from none as d grows.

    References
    ----------
    Geshkovski, Letrouit, Polyanskiy, Rigollet, arXiv:2312.10794, section 6, and arXiv:2512.01868.

    Examples
    --------
    In high dimension all pairs merge at once, earlier for smaller beta:

    >>> found = merging_diagram(8, 32, betas=[1.0, 4.0], times=[1.0, 6.0], runs=4)
    >>> found.fraction.round(2)
    array([[0., 1.],
           [0., 0.]])
    """
    options = DiagramOptions(
        tokens,
        dimension,
        tuple(map(float, betas)),
        tuple(map(float, times)),
        runs,
        normalization,
        heads if isinstance(heads, RandomHead | RandomValues) else tuple(heads),
        threshold,
        motion,
        step,
        tolerance,
        seed,
    )
    request = Request("diagram", lambda: MergingPlan(options), options, "merging_diagram")
    return request.results(Execution(output, resume, overwrite, workers, executor, progress))


@dataclass(frozen=True, eq=False)
class MergingPlan(Study[MergingTable, MergingDiagram]):
    """Plan of a merging diagram; its sizes are the betas."""

    options: DiagramOptions
    unit: ClassVar[str] = "runs"
    overhead: ClassVar[int] = 0

    @property
    def sizes(self) -> tuple[float, ...]:
        return self.options.betas

    def name(self, size: float) -> str:
        return f"beta = {size:.3g}"

    def empty(self) -> MergingTable:
        options = self.options
        counts = np.zeros((len(options.betas), len(options.times)), dtype=np.int64)
        done = np.zeros((len(options.betas), options.runs), dtype=bool)
        return MergingTable(done, counts, counts.copy())

    def lacking(self, table: MergingTable) -> npt.NDArray[np.bool_]:
        return ~table.done

    def run(self, runs: Runs) -> MergingTable:
        options, numbers = self.options, runs.numbers
        length = replicas_at_once(options.tokens, options.dimension)

        def batch(i: int) -> npt.NDArray[np.int64]:
            return merged_pairs(options, runs.size, numbers[i * length : (i + 1) * length])

        with one_blas_thread():
            counts = np.concatenate(map_chunks(batch, -(-len(numbers) // length)))
        done = np.ones(len(numbers), dtype=bool)
        return MergingTable(done, counts.sum(axis=0), (counts**2).sum(axis=0))

    def placed(self, table: MergingTable, runs: Runs, part: MergingTable) -> MergingTable:
        row, numbers = self.index(runs)
        table.done[row, numbers] = part.done
        table.sums[row] += part.sums
        table.squares[row] += part.squares
        return table

    def resumed(self, stored: MergingDiagram) -> MergingTable:
        table, values = self.empty(), stored
        table.done[:, : values.done.shape[1]] = values.done
        return MergingTable(table.done, values.sums.copy(), values.squares.copy())

    def check_resumes(self, stored: MergingDiagram, path: Path, label: str) -> None:
        check_only_runs_grow(self.options, stored, path)

    def results(self, table: MergingTable) -> MergingDiagram:
        options = self.options
        facts = options.facts()
        left = ("tokens", "dimension", "betas", "times")
        return MergingDiagram(
            np.array(options.betas),
            np.array(options.times),
            options.tokens,
            options.dimension,
            table.done.copy(),
            table.sums.copy(),
            table.squares.copy(),
            {name: value for name, value in facts.items() if name not in left},
        )

    def block_length(self, size: float) -> int:
        """A few batches, or one run where its tokens fill a batch."""
        length = replicas_at_once(self.options.tokens, self.options.dimension)
        return _BATCHES * length if length > 1 else 1

    def work(self, runs: Runs) -> float:
        """Number of runs: a run costs about the same at every beta."""
        return float(len(runs.numbers))


def merged_pairs(options: DiagramOptions, beta: float, numbers: range) -> npt.NDArray[np.int64]:
    """Merged pairs of some runs at every time, shape (len(numbers), n_times)."""
    n, d = options.tokens, options.dimension
    generators = [rng_of(options.seed, n, d, number) for number in numbers]
    start = unit_vectors(np.array([rng.standard_normal((n, d)) for rng in generators]))
    if isinstance(options.heads, RandomHead):
        drawn = [options.heads.matrices(beta, d, rng) for rng in generators]
        heads: tuple[HeadMatrices, ...] = (HeadMatrices(*map(np.array, zip(*drawn, strict=True))),)
    else:
        heads = options.matrices(beta)
    normalization: Any = options.normalization

    def output(numbers: Numbers, x: FloatArray) -> FloatArray:
        own = [HeadMatrices(*(m if m.ndim == 2 else m[numbers] for m in head)) for head in heads]
        if isinstance(options.heads, RandomValues):  # in layers, so all runs draw at once
            scale = options.heads.scale / math.sqrt(d * options.step)
            drawn = np.array([rng.standard_normal((len(own), d, d)) for rng in generators])
            own = [
                head._replace(value=scale * head.value[0, 0] * drawn[:, h])
                for h, head in enumerate(own)
            ]
        return attention_output(x, own, normalization=normalization)

    def velocity(numbers: Numbers, x: FloatArray) -> FloatArray:
        return tangential(x, output(numbers, x))

    counts = np.zeros((len(numbers), len(options.times)), dtype=np.int64)
    times = np.array(options.times)
    try:
        if options.motion == "flow":
            states = replicas_at(
                velocity, start, times, tolerance=options.tolerance, retract=unit_vectors
            )
        else:
            states = _layers(output, start, times, options.step * time_unit(options, beta))
        for rows, indices, x in states:
            near = np.matmul(x, x.swapaxes(1, 2)) > options.threshold
            # `near` counts each pair twice, and each token with itself.
            own = np.einsum("rii->ri", near).sum(axis=1)
            counts[rows, indices] = (near.sum(axis=(1, 2)) - own) // 2
    except FloatingPointError as error:
        raise SimulationError(0.0, 0, f"a run at beta = {beta:g}: {error}") from None
    return counts


def time_unit(options: DiagramOptions, beta: float) -> float:
    """Factor of the step of layers; without normalisation as in the published figures."""
    if options.normalization == "softmax":
        return 1.0
    return 1.0 / max(math.sqrt(abs(beta)) * math.exp(abs(beta) - 0.5), 1.0)


def _layers(
    output: Any, start: FloatArray, times: FloatArray, step: float
) -> Iterator[tuple[Numbers, Any, FloatArray]]:
    """States after the last layer up to each time; several times may share a state."""
    numbers, x, layer = np.arange(len(start)), start, 0
    # A time that is a multiple of the step up to rounding is one.
    for index, last in enumerate(np.floor(times / step * (1.0 + 1e-12)).astype(int)):
        while layer < last:
            x, layer = unit_vectors(x + step * output(numbers, x)), layer + 1
        if not np.isfinite(x).all():
            raise FloatingPointError(f"tokens are not finite after {layer} layers.")
        yield numbers, index, x
