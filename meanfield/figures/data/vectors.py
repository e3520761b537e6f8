"""Tokens on spheres of any dimension and in R^d: cosines of pairs, attention, principal axes.

Average linkage at the last time orders the tokens, so that clusters are blocks of a matrix. If
there are too many tokens, some are drawn, evenly chosen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray, IntArray
from meanfield.figures.data.saved_times import (
    Frame,
    edges_between,
    film_times,
    frame,
    is_logarithmic,
    places_on_axis,
    shown,
)
from meanfield.figures.data.series import OverTime, over_time
from meanfield.figures.data.tokens import equal_nodes, even_indices
from meanfield.measures import Density, Measure
from meanfield.observables.attention import attention_matrix
from meanfield.observables.cosines import EDGES, are_tokens, directions, mean_cosine, similarity
from meanfield.papers.equiangular import equiangular_cosine
from meanfield.papers.limit_shapes import rescaled
from meanfield.runs import KEEP_STATES, Run

_MATRICES, _ATTENTIONS, _HEADS = 4, 3, 4
_SHOWN, _PATHS, _COLUMNS = 300, 300, 150
# A smaller change of the mean cosine is rounding.
_CHANGE = 1e-9
# Matrices of more tokens take too long for a figure.
_MOST = 2_048


@dataclass(frozen=True, eq=False)
class MatrixPicture:
    """Matrices of tokens at a few times, tokens in one order."""

    frame: Frame
    times: FloatArray  # (k,): in the unit of the frame
    matrices: FloatArray  # (1, k, n, n): cosines of pairs; or (heads, k, n, n): attention


@dataclass(frozen=True, eq=False)
class CosinesPicture:
    """Histogram of the cosines of pairs over time, and the equiangular prediction."""

    frame: Frame
    edges: FloatArray  # (k + 1,): ends of columns, in time
    bins: FloatArray  # (b + 1,): ends of bins
    shares: FloatArray  # (b, k): shares of pairs; each column sums to 1
    times: FloatArray
    curve: FloatArray  # cosine of tokens at equal angles


@dataclass(frozen=True, eq=False)
class HistogramPicture:
    """Histograms of the cosines of pairs at a few times."""

    frame: Frame
    times: FloatArray  # (k,): in the unit of the frame
    bins: FloatArray  # (b + 1,): ends of bins
    shares: FloatArray  # (k, b): shares of pairs; each row sums to 1


@dataclass(frozen=True, eq=False)
class AxesPicture:
    """Tokens on two axes over time."""

    frame: Frame
    times: FloatArray  # (k,)
    points: FloatArray  # (k, n, 2): of x; in R^d with one head, of z = e^{-tV} x
    labels: tuple[str, str]  # of the axes
    share: float  # share of the mean square of tokens along the two axes
    on_sphere: bool  # whether points lie in the unit disc


@dataclass(frozen=True, eq=False)
class SizesPicture:
    """Smallest, median and largest length of tokens at the times of the frame, (n, 3)."""

    frame: Frame
    lengths: FloatArray


@dataclass(frozen=True, eq=False)
class VectorsOverview:
    """Tokens on two axes, cosines over time, energy and order or lengths, and one matrix."""

    frame: Frame
    axes: AxesPicture
    cosines: CosinesPicture
    curves: OverTime | SizesPicture
    matrix: MatrixPicture


@dataclass(frozen=True, eq=False)
class VectorsFilm:
    """Frames of a film of tokens on two axes."""

    axes: AxesPicture  # its times are those of the frames
    cosines: CosinesPicture
    curves: OverTime | SizesPicture
    frames: IntArray  # indices of saved times


def tokens_at(run: Run, index: int) -> Measure:
    """Tokens of a saved time; ValueError if they were not kept."""
    measure = run.measures[index]
    if not isinstance(measure, Measure):
        raise ValueError(
            f"the tokens at t = {run.time[index]:g} were not kept or not loaded: {KEEP_STATES}."
        )
    return measure


def _same_tokens(run: Run) -> IntArray:
    """Indices of the saved times with the same tokens as the last one."""
    saves = np.array(
        [i for i in shown(run) if isinstance(run.measures[i], Measure)], dtype=np.int64
    )
    if not len(saves):
        tokens_at(run, int(shown(run)[-1]))
    count = len(tokens_at(run, int(saves[-1])).points)
    # Each merge reduces the number of atoms; paths need the same tokens.
    return np.array([i for i in saves if len(tokens_at(run, int(i)).points) == count])


def _kept(run: Run, most: int) -> IntArray:
    """Indices of at most `most` saved times with the same tokens, even along the time axis."""
    saves = _same_tokens(run)
    return saves[ends_and_between(run.time[saves], most, is_logarithmic(run.time))]


def ends_and_between(times: FloatArray, most: int, logarithmic: bool) -> IntArray:
    """Indices of up to `most` times: the first, the last, and others evenly between."""
    places = places_on_axis(times, logarithmic)
    wanted = np.linspace(places[0], places[-1], most)
    return np.unique(np.abs(places - wanted[:, None]).argmin(axis=1))


def _at_even_changes(run: Run, saves: IntArray, count: int) -> IntArray:
    """Up to `count` of the saved times, at even changes of the mean cosine, else even in time."""
    means = np.array([mean_cosine(run.measures[i]) for i in saves])
    path = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(means)))])
    if not path[-1] > _CHANGE:
        return saves[ends_and_between(run.time[saves], count, is_logarithmic(run.time))]
    return saves[ends_and_between(path, count, False)]


def alike_order(vectors: FloatArray) -> IntArray:
    """Order of tokens that puts similar ones beside each other."""
    from scipy.cluster.hierarchy import leaves_list, linkage

    if len(vectors) < 3 or not np.isfinite(vectors).all():
        return np.arange(len(vectors))
    return np.asarray(leaves_list(linkage(vectors, "average")), dtype=np.int64)


def similarity_picture(run: Run) -> MatrixPicture:
    """Picture of the cosines of pairs at a few times."""
    saves = _at_even_changes(run, _same_tokens(run), _MATRICES)
    few = even_indices(len(tokens_at(run, int(saves[0])).points), _SHOWN)
    unit = [directions(tokens_at(run, int(i)))[few] for i in saves]
    order = alike_order(unit[-1])
    matrices = np.array([[x[order] @ x[order].T for x in unit]])
    return MatrixPicture(frame(run), run.time[saves], matrices)


def attention_picture(run: Run) -> MatrixPicture:
    """Picture of the attention matrices of the first heads at a few times."""
    saves = _at_even_changes(run, _same_tokens(run), _ATTENTIONS)
    count = len(tokens_at(run, int(saves[0])).points)
    if count > _MOST:
        raise ValueError(
            f"attention matrices are drawn of at most {_MOST} tokens, the run has {count}: "
            "mf.attention_matrix has those of some of them."
        )
    few = even_indices(count, _SHOWN)
    problems = [run.problem_at(int(i)) for i in saves]
    if all(problem.mask == "none" for problem in problems):
        few = few[alike_order(directions(tokens_at(run, int(saves[-1])))[few])]
    rows = [
        attention_matrix(problem, tokens_at(run, int(i)))[:_HEADS]
        for problem, i in zip(problems, saves, strict=True)
    ]
    # Stages may have different numbers of heads.
    heads = min(map(len, rows))
    matrices = np.array([row[:heads] for row in rows]).swapaxes(0, 1)[:, :, few[:, None], few]
    return MatrixPicture(frame(run), run.time[saves], matrices)


def cosines_picture(run: Run) -> CosinesPicture:
    """Picture of the cosines of pairs over time."""
    saves = shown(run) if "similarity" in run.observables else _kept(run, _COLUMNS)
    if len(saves) < 2:
        raise ValueError(
            f"cosines over time need at least 2 saved times, the run has {len(saves)}."
        )
    shares = cosine_shares(run, saves)
    times = run.time[saves]
    return CosinesPicture(
        frame(run),
        edges_between(times, is_logarithmic(run.time)),
        EDGES,
        shares.T,
        times,
        _equiangular(run, saves),
    )


def histogram_picture(run: Run) -> HistogramPicture:
    """Picture of the cosines of pairs at a few times; of a density the law under mu x mu."""
    saves, stored = shown(run), "similarity" in run.observables
    states = np.array([i for i in saves if run.measures[i] is not None], dtype=np.int64)
    if not stored and not len(states):
        raise ValueError(f"no state of the run was kept or loaded: {KEEP_STATES}.")
    if stored and len(states) < len(saves):
        saves = saves[ends_and_between(run.time[saves], _MATRICES, is_logarithmic(run.time))]
    else:
        saves = _at_even_changes(run, states, _MATRICES)
    shares = cosine_shares(run, saves)
    if np.isnan(shares).any():
        raise ValueError(
            "cosines of pairs are not known of this run: of single or too many tokens, of rings of "
            "axial measures; take representation='density', or mf.Sphere(d)."
        )
    return HistogramPicture(frame(run), run.time[saves], EDGES, shares)


def cosine_shares(run: Run, saves: IntArray) -> FloatArray:
    """Shares (k, bins) of cosines at saved times, observed or from states; NaN if unknown."""
    observed = run.observables.get("similarity")
    if observed is not None:
        return np.asarray(observed[saves])
    return np.array([_shares(run.measures[i]) for i in saves])


def _shares(measure: Density | Measure | None) -> FloatArray:
    assert measure is not None
    if isinstance(measure, Measure) and len(measure.points) > _MOST:
        weights = None if are_tokens(measure) else np.full(_MOST, 1.0 / _MOST)
        return similarity(Measure(measure.manifold, equal_nodes(measure, _MOST), weights))
    return similarity(measure)


def _equiangular(run: Run, saves: IntArray) -> FloatArray:
    """Cosine of tokens at equal angles; NaN if theory does not apply."""
    nothing = np.full(len(saves), np.nan)
    first = run.measures[saves[0]]
    if not isinstance(first, Measure) or first.weights is not None:
        return nothing
    n, elapsed = len(first.points), run.scaled_time[saves] - run.scaled_time[saves[0]]
    start = float(np.clip(mean_cosine(first), -0.999 / max(n - 1, 1), 1.0 - 1e-12))
    try:
        return np.asarray(equiangular_cosine(run.problem, n, elapsed, start))
    except ValueError:
        return nothing


def axes_picture(run: Run) -> AxesPicture:
    """Picture of the tokens on their two leading principal axes over time."""
    return _axes_at(run, _kept(run, _COLUMNS))


def _axes_at(run: Run, saves: IntArray) -> AxesPicture:
    points, share = in_leading_axes(run, saves, 2, _PATHS)
    on_sphere = run.manifold.is_sphere
    name = "x" if on_sphere or not _is_rescaled(run) else "z"
    labels = (f"${name}_1$", f"${name}_2$")
    if run.manifold.ambient > 2:
        labels = ("first principal axis", "second principal axis")
    return AxesPicture(frame(run), run.time[saves], np.array(points), labels, share, on_sphere)


def in_leading_axes(
    run: Run, saves: IntArray, count: int, most: int
) -> tuple[list[FloatArray], float]:
    """Tokens (n, count) at saved times on principal axes, and the axes' share of squares."""
    every = [_vectors(run, int(i)) for i in saves]
    points = [each[even_indices(len(each), most)] for each in every]
    d = points[0].shape[1]
    if d <= count:
        return [each @ np.eye(d, count) for each in points], 1.0
    basis, share = principal_axes(np.concatenate(points), count)
    return [each @ basis.T for each in points], share


def principal_axes(points: FloatArray, count: int = 2) -> tuple[FloatArray, float]:
    """Leading axes (count, d) of points (n, d) about 0, and their share of the sum of squares."""
    scale = float(np.abs(points).max()) or 1.0
    points = points / scale
    if points.shape[1] == 1:
        return np.eye(count, 1), 1.0
    values, vectors = np.linalg.eigh(points.T @ points)
    axes = vectors[:, : -count - 1 : -1].T
    # Fix the signs of eigenvectors: the largest component is positive.
    largest = axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)]
    share = float(values[-count:].sum() / max(values.sum(), np.finfo(float).tiny))
    return axes * np.sign(largest)[:, None], share


def _is_rescaled(run: Run) -> bool:
    try:
        rescaled(run.problem, np.zeros((1, run.manifold.ambient)), 0.0)
    except ValueError:
        return False
    return True


def _vectors(run: Run, index: int) -> FloatArray:
    """Tokens; in R^d with one head, rescaled ones."""
    measure = tokens_at(run, index)
    vectors = run.manifold.vectors(measure.points)
    if run.manifold.is_sphere or not _is_rescaled(run):
        return vectors
    return rescaled(run.problem, vectors, float(run.scaled_time[index]))


def sizes_picture(run: Run) -> SizesPicture:
    """Picture of the lengths of tokens of R^d."""
    lengths = [
        np.quantile(np.linalg.norm(tokens_at(run, int(i)).points, axis=1), [0.0, 0.5, 1.0])
        for i in shown(run)
    ]
    return SizesPicture(frame(run), np.array(lengths))


def _curves(run: Run) -> OverTime | SizesPicture:
    return over_time(run) if run.manifold.is_sphere else sizes_picture(run)


def vectors_overview(run: Run) -> VectorsOverview:
    """Overview of tokens as vectors."""
    matrix = similarity_picture(run) if run.manifold.is_sphere else attention_picture(run)
    parts = axes_picture(run), cosines_picture(run), _curves(run), matrix
    return VectorsOverview(frame(run), *parts)


def vectors_film(run: Run) -> VectorsFilm:
    """Frames of a film."""
    frames = film_times(run)
    return VectorsFilm(_axes_at(run, frames), cosines_picture(run), _curves(run), frames)
