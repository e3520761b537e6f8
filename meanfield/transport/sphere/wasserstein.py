"""Wasserstein distances on the sphere, with certified bounds.

    W_p(mu, nu)^p = min over couplings of int d(x, y)^p,   d geodesic, or the chord |x - y|.

Measures become masses in small cells: tokens are cells of one point, densities are integrated over
cells (`partition`). Plans between cells are optimised by a network simplex, from coarse cells to
fine (`levels`, `plans`), and bounded from both sides whatever the masses do inside their cells.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from math import gcd, log, sqrt
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.measures import Density, Measure
from meanfield.transport.bracket import Bracket

if TYPE_CHECKING:
    from meanfield.transport.sphere.cells import Cells

EXACT = 4000
"""Points against points are solved to the optimum up to this many on the larger side."""

TOLERANCE = 0.02
"""Relative width at which a bracket is narrow enough."""

# Cells of a density, and the most between which plans are optimised: tried one after the other.
_FEW = (6_000, 1_600)
# So many cells for each token give a bracket of tokens and their own law of relative width 1.
_CELLS_OF_A_TOKEN = 0.25
_LEAST_SAMPLE = 10  # fewer points are no sample
_STAGES = ((24_000, 6_400), (96_000, 25_600), (384_000, 25_600))
_WIDE = 0.25  # relative width after the second stage at which the third is worth its time
_WIDEST = 0.5  # after the first, at which the second is not
_STAGES_OF_DENSITIES = (_FEW, _STAGES[0])
# What the second of these, which takes ten times as long, leaves of the width: 0.78 to 0.82.
_LEFT = 0.8
_NOTHING = 1e-9  # a distance below is rounding, whose width says nothing
Stages = tuple[tuple[int, int], ...]
# Cells of densities still in use, by number and p: many systems are compared with one density.
_partitions: WeakKeyDictionary[Density, dict[tuple[int, int], Cells]] = WeakKeyDictionary()
_COSTS = ("geodesic", "chordal")


def wasserstein_sphere(
    first: Measure | Density,
    second: Measure | Density,
    p: int = 1,
    *,
    cost: str = "geodesic",
    tolerance: float = TOLERANCE,
) -> Bracket:
    """Wasserstein distance W_p on the sphere, between certified bounds, p = 1 or 2.

        W_p(mu, nu)^p = min over couplings of int d(x, y)^p

    The distance d is the angle between x and y ("geodesic") or the chord |x - y| ("chordal"). The
    upper bound is the cost of a plan, the lower one the value of feasible potentials. Both include
    all that replacing a density by masses in cells can do.

    Points against points, at most 4,000 each, are solved to the optimum: the bounds agree to
    rounding, 1e-13 of W_p^p. Unequal weights are rounded to multiples of 2^-60. Mass that moves
    next to its antipode has an angle known to 6e-8 at worst.

    Otherwise the work stops when the bounds are within `tolerance` of each other, or after the
    finest cells: 96,000 for a density (384,000 where the bracket is still wider than 25 %), plans
    between 25,600 cells a side. Two densities get 6,000 cells each, then 24,000, which takes ten
    times as long; a warning says where the distance lies if the bracket is going to stay wide.

    Plans from coarse to fine: Schmitzer, J. Math. Imaging Vision 56 (2016), 238-259. Duality:
    Villani, Optimal Transport, Springer 2009, theorem 5.10.
    """
    from meanfield.transport.sphere.levels import bracket

    if p not in (1, 2):
        raise ValueError(f"p = {p!r} is not known, expected 1 or 2.")
    if cost not in _COSTS:
        raise ValueError(f"cost = {cost!r} is not known. Known: geodesic, chordal.")
    for name, measure in (("first", first), ("second", second)):
        if not isinstance(measure, Measure | Density):
            raise TypeError(
                f"{name} is a {type(measure).__name__}, expected a Measure or a Density."
            )
        if measure.manifold.name != "sphere":
            raise ValueError(
                f"{name} lives on the {measure.manifold.name}, expected a measure on the sphere."
            )
    geodesic = cost == "geodesic"
    if isinstance(first, Measure) and isinstance(second, Measure):
        x, y = _point_cells(first, second)
        if max(len(x), len(y)) <= EXACT:
            return bracket(x, y, geodesic, p, tolerance=0.0, largest=EXACT, exact=True)

        def points(_: int, largest: int) -> Bracket:
            return bracket(x, y, geodesic, p, tolerance=tolerance, largest=largest)

        return _finer(points, _STAGES[:2], tolerance)
    names = ("first", "second")
    if isinstance(first, Density) and isinstance(second, Measure):
        first, second, names = second, first, ("second", "first")
    if _same(first, second):
        return Bracket(0.0, 0.0)

    def attempt(count: int, largest: int) -> Bracket:
        if p == 1 and isinstance(first, Density) and isinstance(second, Density):
            return _between_densities(first, second, count, largest, geodesic, tolerance)
        x, y = _cells(first, count, p, names[0]), _cells(second, count, p, names[1])
        return bracket(x, y, geodesic, p, tolerance=tolerance, largest=largest)

    stages = _STAGES_OF_DENSITIES if isinstance(first, Density) else _STAGES
    # Few tokens are far from any density: fewer cells are narrow enough.
    if isinstance(first, Measure) and (
        _CELLS_OF_A_TOKEN * max(len(first.points), _LEAST_SAMPLE) <= _FEW[0] * tolerance**2
    ):
        best = attempt(*_FEW)
        if best.width <= tolerance * best.upper:
            return best
    return _finer(attempt, stages, tolerance)


def _finer(attempt: Callable[[int, int], Bracket], stages: Stages, tolerance: float) -> Bracket:
    """Brackets of the same distance until they are narrow enough; warns before the long part."""
    lower, upper = 0.0, np.pi
    for number, stage in enumerate(stages):
        width = (upper - lower) / upper
        if number == 1 and len(stages) == 3 and width > _WIDEST:
            continue
        if number == 2 and width <= _WIDE:
            break
        if number == 1 and stages == _STAGES_OF_DENSITIES and width > _WIDE and upper > _NOTHING:
            warnings.warn(
                f"the distance of these densities lies between {lower:.3g} and {upper:.3g}; finer "
                f"cells take ten times as long and leave a bracket about {100 * _LEFT * width:.0f} "
                f"% wide. tolerance = {width + 0.01:.2f} is content with this one.",
                stacklevel=4,
            )
        bracket = attempt(*stage)
        lower, upper = max(lower, bracket.lower), min(upper, bracket.upper)
        if upper - lower <= tolerance * upper:
            break
    lower = min(lower, upper)
    return Bracket(lower, upper)


def sample_floor(tokens: int) -> float:
    """Mean W_1 (geodesic) between two independent uniform samples: ((2.5 + 1.38 ln n) / n)^(1/2).

    Matching theorem in two dimensions: Ajtai, Komlos, Tusnady, Combinatorica 4 (1984), 259-264. Its
    form is fitted to exact distances at n = 100 to 4,000 within 1 to 3 %. Two laws may agree if
    their tokens are closer than this.
    """
    if tokens < 1:
        raise ValueError(f"tokens = {tokens}, expected at least 1.")
    return sqrt((2.5 + 1.38 * log(tokens)) / tokens)


def _same(first: Measure | Density, second: Measure | Density) -> bool:
    if not (isinstance(first, Density) and isinstance(second, Density)):
        return False
    degree = max(first.max_degree, second.max_degree)
    return bool(np.array_equal(first.moments(degree), second.moments(degree)))


def _point_cells(first: Measure, second: Measure) -> tuple[Cells, Cells]:
    from meanfield.transport.sphere.cells import TOTAL, integer_masses, token_cells

    counts = len(first.points), len(second.points)
    equal = all(
        measure.weights is None or np.ptp(measure.weights) == 0 for measure in (first, second)
    )
    total = counts[0] * counts[1] // gcd(*counts) if equal else TOTAL
    families = []
    for measure, count in zip((first, second), counts, strict=True):
        masses = np.full(count, total // count) if equal else integer_masses(measure.mass)
        families.append(token_cells(measure.points, masses))
    return families[0], families[1]


def _cells(measure: Measure | Density, count: int, p: int, name: str) -> Cells:
    from meanfield.transport.sphere.cells import integer_masses, token_cells
    from meanfield.transport.sphere.partition import density_cells

    if isinstance(measure, Measure):
        return token_cells(measure.points, integer_masses(measure.mass))
    partitions = _partitions.setdefault(measure, {})
    if (count, p) not in partitions:
        evaluate, degree = _evaluation(measure)
        partitions[count, p] = density_cells(evaluate, degree, count, p, name)
    return partitions[count, p]


def _evaluation(density: Density) -> tuple[Callable[[FloatArray], FloatArray], int]:
    """Values at points, and the largest degree."""
    manifold, coefficients = density.manifold, density.coefficients
    if np.any(coefficients[1:]):
        return lambda points: manifold.evaluate(coefficients, points), density.max_degree
    return lambda points: np.ones(len(points)), 0


def _between_densities(
    first: Density, second: Density, count: int, largest: int, geodesic: bool, tolerance: float
) -> Bracket:
    """Bracket of W_1, from the difference."""
    from meanfield.transport.sphere.levels import bracket
    from meanfield.transport.sphere.partition import difference_cells

    f, degree = _evaluation(first)
    g, other = _evaluation(second)
    parts = difference_cells(f, g, max(degree, other), count)
    if parts.mass <= parts.error:  # rounding is all there is
        return Bracket(0.0, np.pi * parts.mass + parts.error)
    answer = bracket(
        parts.positive, parts.negative, geodesic, 1, tolerance=tolerance, largest=largest
    )
    lower, upper = parts.mass * answer.lower, parts.mass * answer.upper
    return Bracket(max(lower - parts.error, 0.0), upper + parts.error)
