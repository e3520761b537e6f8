"""Tokens on spheres of any dimension and in R^d: cosines of pairs, attention, principal axes.

Tokens are ordered by how alike they are at the last time that is shown (average linkage of
cosines), so that clusters are blocks of a matrix. Where they are too many, some stand for all,
evenly chosen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray, IntArray
from meanfield.measures import Density, Measure
from meanfield.observables.attention import attention_matrix
from meanfield.observables.cosines import EDGES, directions, similarity
from meanfield.pictures.saved_times import (
    Frame,
    edges_between,
    film_times,
    frame,
    is_logarithmic,
    places_on_axis,
    shown,
)
from meanfield.pictures.series import OverTime, over_time
from meanfield.runs import KEEP_STATES, Run
from meanfield.theory.equiangular import equiangular_cosine
from meanfield.theory.limit_shapes import rescaled

_MATRICES, _ATTENTIONS, _HEADS = 4, 3, 4
_SHOWN, _PATHS, _COLUMNS = 300, 300, 150
# Above, matrices of all tokens take too long for a figure.
_MOST = 2_048


@dataclass(frozen=True, eq=False)
class MatrixPicture:
    """Matrices of tokens at a few times, tokens in one order.

    Attributes
    ----------
    frame : Frame
        Given.
    times : ndarray, shape (k,)
        Given. In the unit of the frame.
    matrices : ndarray, shape (rows, k, n, n)
        Given. Cosines of pairs, one row; or attention, a row a head.
    """

    frame: Frame
    times: FloatArray
    matrices: FloatArray


@dataclass(frozen=True, eq=False)
class CosinesPicture:
    """Histogram of the cosines of pairs over time.

    Attributes
    ----------
    frame : Frame
        Given.
    edges : ndarray, shape (k + 1,)
        Given. Ends of columns, in time.
    bins : ndarray, shape (b + 1,)
        Given. Ends of bins.
    shares : ndarray, shape (b, k)
        Given. Of pairs, sum 1 a column.
    times, curve : ndarray, shape (k,)
        Given. Cosine of tokens at equal angles that begin at the mean cosine; NaN where no theory
        knows it.
    """

    frame: Frame
    edges: FloatArray
    bins: FloatArray
    shares: FloatArray
    times: FloatArray
    curve: FloatArray


@dataclass(frozen=True, eq=False)
class HistogramPicture:
    """Histograms of the cosines of pairs at a few times, of tokens and of densities.

    Attributes
    ----------
    frame : Frame
        Given.
    times : ndarray, shape (k,)
        Given. In the unit of the frame.
    bins : ndarray, shape (b + 1,)
        Given. Ends of bins.
    shares : ndarray, shape (k, b)
        Given. Of pairs, sum 1 a row.
    """

    frame: Frame
    times: FloatArray
    bins: FloatArray
    shares: FloatArray


@dataclass(frozen=True, eq=False)
class AxesPicture:
    """Tokens on two axes over time.

    Attributes
    ----------
    frame : Frame
        Given.
    times : ndarray, shape (k,)
        Given.
    points : ndarray, shape (k, n, 2)
        Given. In R^d those of z = e^{-tV} x, where one head moves tokens.
    labels : (str, str)
        Given. Of the axes.
    share : float
        Given. Of the mean square of tokens that the two axes hold.
    on_sphere : bool
        Given. Whether points lie in the unit disc.
    """

    frame: Frame
    times: FloatArray
    points: FloatArray
    labels: tuple[str, str]
    share: float
    on_sphere: bool


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
    """Frames of a film of tokens on two axes.

    Attributes
    ----------
    axes : AxesPicture
        Given. Its times are those of the frames.
    cosines : CosinesPicture
        Given.
    curves : OverTime or SizesPicture
        Given.
    frames : ndarray of int
        Given. Indices of saved times.
    """

    axes: AxesPicture
    cosines: CosinesPicture
    curves: OverTime | SizesPicture
    frames: IntArray


def tokens_at(run: Run, index: int) -> Measure:
    """Tokens of a saved time.

    Raises
    ------
    ValueError
        If they were not kept.
    """
    measure = run.measures[index]
    if not isinstance(measure, Measure):
        raise ValueError(
            f"the tokens at t = {run.time[index]:g} were not kept or not loaded: {KEEP_STATES}."
        )
    return measure


def _kept(run: Run, most: int) -> IntArray:
    """Indices of saved times with tokens, at most so many, spread over the axis of time."""
    kept = np.array([i for i in shown(run) if isinstance(run.measures[i], Measure)], dtype=np.int64)
    if not len(kept):
        tokens_at(run, int(shown(run)[-1]))
    count = len(tokens_at(run, int(kept[-1])).points)
    # Atoms are fewer from merge to merge: paths are of the same tokens.
    kept = np.array([i for i in kept if len(tokens_at(run, int(i)).points) == count])
    return kept[ends_and_between(run.time[kept], most, is_logarithmic(run.time))]


def ends_and_between(times: FloatArray, most: int, logarithmic: bool) -> IntArray:
    """Indices of up to so many times, the first and the last, and others evenly between.

    Examples
    --------
    >>> ends_and_between(np.linspace(0.0, 1.0, 12), 4, False)
    array([ 0,  4,  7, 11])
    """
    places = places_on_axis(times, logarithmic)
    wanted = np.linspace(places[0], places[-1], most)
    return np.unique(np.abs(places - wanted[:, None]).argmin(axis=1))


def _some(count: int, most: int) -> IntArray:
    few = min(count, most)
    return ((np.arange(few) + 0.5) * count / few).astype(np.int64)


def alike_order(vectors: FloatArray) -> IntArray:
    """Order of tokens in which those that are alike stand together.

    Examples
    --------
    >>> alike_order(np.eye(3)[[0, 1, 0, 1, 0]]).tolist()
    [1, 3, 4, 0, 2]
    """
    from scipy.cluster.hierarchy import leaves_list, linkage

    if len(vectors) < 3 or not np.isfinite(vectors).all():
        return np.arange(len(vectors))
    return np.asarray(leaves_list(linkage(vectors, "average")), dtype=np.int64)


def similarity_picture(run: Run) -> MatrixPicture:
    """Picture of the cosines of pairs at a few times.

    Raises
    ------
    ValueError
        If no tokens were kept.
    """
    kept = _kept(run, _MATRICES)
    few = _some(len(tokens_at(run, int(kept[0])).points), _SHOWN)
    unit = [directions(tokens_at(run, int(i)))[few] for i in kept]
    order = alike_order(unit[-1])
    matrices = np.array([[x[order] @ x[order].T for x in unit]])
    return MatrixPicture(frame(run), run.time[kept], matrices)


def attention_picture(run: Run) -> MatrixPicture:
    """Picture of the attention matrices at a few times, of the first heads.

    Raises
    ------
    ValueError
        If no tokens were kept, or there are very many.
    """
    kept = _kept(run, _ATTENTIONS)
    count = len(tokens_at(run, int(kept[0])).points)
    if count > _MOST:
        raise ValueError(
            f"attention matrices are drawn of at most {_MOST} tokens, the run has {count}: "
            "mf.attention_matrix has those of some of them."
        )
    few = _some(count, _SHOWN)
    problems = [run.problem_at(int(i)) for i in kept]
    if all(problem.mask == "none" for problem in problems):
        few = few[alike_order(directions(tokens_at(run, int(kept[-1])))[few])]
    rows = [
        attention_matrix(problem, tokens_at(run, int(i)))[:_HEADS]
        for problem, i in zip(problems, kept, strict=True)
    ]
    # Stages may have different numbers of heads.
    heads = min(map(len, rows))
    matrices = np.array([row[:heads] for row in rows]).swapaxes(0, 1)[:, :, few[:, None], few]
    return MatrixPicture(frame(run), run.time[kept], matrices)


def cosines_picture(run: Run) -> CosinesPicture:
    """Picture of the cosines of pairs over time.

    Raises
    ------
    ValueError
        If they were not observed and no tokens were kept, or there are fewer than two times.
    """
    kept = shown(run) if "similarity" in run.observables else _kept(run, _COLUMNS)
    if len(kept) < 2:
        raise ValueError(f"cosines over time need at least 2 saved times, the run has {len(kept)}.")
    shares = cosine_shares(run, kept)
    times = run.time[kept]
    return CosinesPicture(
        frame(run),
        edges_between(times, is_logarithmic(run.time)),
        EDGES,
        shares.T,
        times,
        _equiangular(run, kept),
    )


def histogram_picture(run: Run) -> HistogramPicture:
    """Picture of the cosines of pairs at a few times, side by side.

    Of densities those of the law of <x, y> under mu x mu.

    Raises
    ------
    ValueError
        If they were not observed and no state was kept, or points are rings of axial measures.
    """
    kept = shown(run)
    if "similarity" not in run.observables:
        kept = np.array([i for i in kept if run.measures[i] is not None], dtype=np.int64)
        if not len(kept):
            raise ValueError(f"no state of the run was kept or loaded: {KEEP_STATES}.")
    kept = kept[ends_and_between(run.time[kept], _MATRICES, is_logarithmic(run.time))]
    shares = cosine_shares(run, kept)
    if np.isnan(shares).any():
        raise ValueError(
            "cosines of pairs are not known of this run: of single or too many tokens, of rings of "
            "axial measures; take representation='density', or mf.Sphere(d)."
        )
    return HistogramPicture(frame(run), run.time[kept], EDGES, shares)


def cosine_shares(run: Run, kept: IntArray) -> FloatArray:
    """Cosines of pairs at saved times, shape (k, bins): as they were observed, else of the states.

    NaN where they are not known.
    """
    observed = run.observables.get("similarity")
    if observed is not None:
        return np.asarray(observed[kept])
    return np.array([_shares(run.measures[i]) for i in kept])


def _shares(measure: Density | Measure | None) -> FloatArray:
    assert measure is not None
    if isinstance(measure, Measure) and measure.weights is None and len(measure.points) > _MOST:
        few = measure.points[_some(len(measure.points), _MOST)]
        return similarity(Measure(measure.manifold, few))
    return similarity(measure)


def _equiangular(run: Run, kept: IntArray) -> FloatArray:
    """Cosine of tokens at equal angles; NaN where theory has none."""
    nothing = np.full(len(kept), np.nan)
    first = run.measures[kept[0]]
    if not isinstance(first, Measure) or first.weights is not None:
        return nothing
    n, elapsed = len(first.points), run.scaled_time[kept] - run.scaled_time[kept[0]]
    start = float(np.clip(_mean_cosine(first), -0.999 / max(n - 1, 1), 1.0 - 1e-12))
    try:
        return np.asarray(equiangular_cosine(run.problem, n, elapsed, start))
    except ValueError:
        return nothing


def _mean_cosine(measure: Measure) -> float:
    x, n = directions(measure), len(measure.points)
    return float((np.square(x.sum(axis=0)).sum() - n) / max(n * (n - 1), 1))


def axes_picture(run: Run) -> AxesPicture:
    """Picture of the tokens on their two leading principal axes over time.

    Raises
    ------
    ValueError
        If no tokens were kept.
    """
    return _axes_at(run, _kept(run, _COLUMNS))


def _axes_at(run: Run, kept: IntArray) -> AxesPicture:
    points, share = in_leading_axes(run, kept, 2, _PATHS)
    on_sphere = run.manifold.is_sphere
    name = "x" if on_sphere or not _is_rescaled(run) else "z"
    labels = (f"${name}_1$", f"${name}_2$")
    if run.manifold.ambient > 2:
        labels = ("first principal axis", "second principal axis")
    return AxesPicture(frame(run), run.time[kept], np.array(points), labels, share, on_sphere)


def in_leading_axes(
    run: Run, kept: IntArray, count: int, most: int
) -> tuple[list[FloatArray], float]:
    """Tokens (n, count) at saved times, at most so many, on axes that are the same at all times.

    Coordinates as they are in so many dimensions or fewer, else the leading principal axes; and
    the share of the mean square that they hold.
    """
    every = [_vectors(run, int(i)) for i in kept]
    points = [each[_some(len(each), most)] for each in every]
    d = points[0].shape[1]
    if d <= count:
        return [each @ np.eye(d, count) for each in points], 1.0
    basis, share = principal_axes(np.concatenate(points), count)
    return [each @ basis.T for each in points], share


def principal_axes(points: FloatArray, count: int = 2) -> tuple[FloatArray, float]:
    """Leading axes (count, d) of points (n, d) about 0, and the share of squares that they hold.

    Examples
    --------
    >>> axes, share = principal_axes(np.array([[3.0, 0.0, 0.0], [0.0, 0.0, 2.0], [0.0, 1.0, 0.0]]))
    >>> axes.round(12), round(share, 12)
    (array([[1., 0., 0.],
           [0., 0., 1.]]), 0.928571428571)
    """
    scale = float(np.abs(points).max()) or 1.0
    points = points / scale
    if points.shape[1] == 1:
        return np.eye(count, 1), 1.0
    values, vectors = np.linalg.eigh(points.T @ points)
    axes = vectors[:, : -count - 1 : -1].T
    # Signs of eigenvectors are nobody's choice: the largest component is positive.
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
    """Tokens as they are, or rescaled where one head moves them in R^d."""
    measure = tokens_at(run, index)
    vectors = run.manifold.vectors(measure.points)
    if run.manifold.is_sphere or not _is_rescaled(run):
        return vectors
    return rescaled(run.problem, vectors, float(run.scaled_time[index]))


def sizes_picture(run: Run) -> SizesPicture:
    """Picture of the lengths of tokens of R^d.

    Raises
    ------
    ValueError
        If no tokens were kept.
    """
    lengths = [
        np.quantile(np.linalg.norm(tokens_at(run, int(i)).points, axis=1), [0.0, 0.5, 1.0])
        for i in shown(run)
    ]
    return SizesPicture(frame(run), np.array(lengths))


def _curves(run: Run) -> OverTime | SizesPicture:
    return over_time(run) if run.manifold.is_sphere else sizes_picture(run)


def vectors_overview(run: Run) -> VectorsOverview:
    """What happened to tokens, at a glance.

    Raises
    ------
    ValueError
        As the pictures that it is made of.
    """
    matrix = similarity_picture(run) if run.manifold.is_sphere else attention_picture(run)
    parts = axes_picture(run), cosines_picture(run), _curves(run), matrix
    return VectorsOverview(frame(run), *parts)


def vectors_film(run: Run) -> VectorsFilm:
    """Frames of a film.

    Raises
    ------
    ValueError
        If fewer than two states were kept.
    """
    frames = film_times(run)
    return VectorsFilm(_axes_at(run, frames), cosines_picture(run), _curves(run), frames)
