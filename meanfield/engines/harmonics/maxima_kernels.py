"""Compiled search, with proof, for the maxima of a field on the sphere, by cells.

Let a field have gradient g and Hessian H at the centre of a cell, and let B bound the covariant
derivative of H. At delta from there the gradient, transported back along a great circle, is
g + H delta up to B |delta|^2 / 2. A cell within r of its centre has no maximum in two cases:

    the largest eigenvalue of H exceeds B r, or
    |g + H delta| > B r^2 / 2 for all |delta| <= r.

By Kantorovich's theorem Newton's iteration from the centre ends in a maximum if H has eigenvalues
below -s < 0 and B |H^-1 g| <= s / 2. A maximum whose Hessian has eigenvalues below -s has no other
critical point within 2 s / B; cells inside this radius are settled.
"""

from __future__ import annotations

import math

import numpy as np

from meanfield.engines.compiled import njit
from meanfield.engines.elementary import copy_to
from meanfield.engines.harmonics.jets import jets, jets_on_parallels

# Largest number of halvings of a cell's sides, down to 1e-5 of the grid's.
_DEEPEST = 16
_NEWTON_STEPS = 40
# Least ratio of the two curvatures of a maximum; below is a ridge.
_FLAT = 1e-9
# Points on a parallel from which `jets_on_parallels` is faster.
_LEAST_ON_PARALLEL = 3
NONE, OPEN, STARTS = 0, 1, 2


@njit
def step_to(point, first, second, target):  # type: ignore[no-untyped-def]
    """Write the end of the great circle from a point along first e_1 + second e_2."""
    x, y, z = point[0], point[1], point[2]
    s = math.hypot(x, y)
    c, d = (x / s, y / s) if s > 0.0 else (1.0, 0.0)
    length = math.hypot(first, second)
    ahead, aside = math.cos(length), math.sin(length) / length if length > 0.0 else 1.0
    u = ahead * x + aside * (first * z * c - second * d)
    v = ahead * y + aside * (first * z * d + second * c)
    w = ahead * z - aside * first * s
    norm = math.sqrt(u * u + v * v + w * w)
    target[0], target[1], target[2] = u / norm, v / norm, w / norm


@njit
def separation(first, second):  # type: ignore[no-untyped-def]
    """Geodesic distance of two points."""
    x, y, z = first[0] - second[0], first[1] - second[1], first[2] - second[2]
    return 2.0 * math.asin(min(0.5 * math.sqrt(x * x + y * y + z * z), 1.0))


@njit
def newton(g1, g2, h11, h12, h22):  # type: ignore[no-untyped-def]
    """Largest eigenvalue of the Hessian, and Newton's step if it is negative (else 0)."""
    mean, half = 0.5 * (h11 + h22), 0.5 * (h11 - h22)
    largest = mean + math.hypot(half, h12)
    determinant = h11 * h22 - h12 * h12
    if largest >= 0.0 or determinant <= 0.0:
        return largest, 0.0, 0.0
    return largest, (h12 * g2 - h22 * g1) / determinant, (h12 * g1 - h11 * g2) / determinant


@njit
def verdict(g1, g2, h11, h12, h22, radius, bound, noise):  # type: ignore[no-untyped-def]
    """NONE if a cell has no maximum, STARTS if Newton's iteration finds one, OPEN otherwise."""
    mean, half = 0.5 * (h11 + h22), 0.5 * (h11 - h22)
    split = math.hypot(half, h12)
    largest, least = mean + split, mean - split
    reach = bound * radius
    if largest > reach:
        return NONE
    size = math.hypot(g1, g2)
    # Gradient and its change over the cell are rounding.
    if size <= 4.0 * noise and radius * (abs(mean) + split) <= 4.0 * noise:
        return NONE
    allowed = 0.5 * reach * radius + noise
    if size - max(abs(largest), abs(least)) * radius > allowed:
        return NONE
    # Components of g along the eigenvectors of `largest` and of `least`.
    cosine = math.sqrt(max(0.5 + 0.5 * half / split, 0.0)) if split > 0.0 else 1.0
    sine = math.copysign(math.sqrt(max(1.0 - cosine * cosine, 0.0)), h12)
    along, across = abs(cosine * g1 + sine * g2), abs(cosine * g2 - sine * g1)
    if math.hypot(
        max(along - abs(largest) * radius, 0.0), max(across - abs(least) * radius, 0.0)
    ) > allowed:  # fmt: skip
        return NONE
    if largest < 0.0 and bound * math.hypot(along / largest, across / least) <= -0.5 * largest:
        return STARTS
    return OPEN


@njit
def cell_radius(theta, height, width):  # type: ignore[no-untyped-def]
    """Bound on the distance of a cell's points from its centre."""
    # |x - y|^2 = 4 sin^2(dtheta / 2) + 4 sin theta sin theta' sin^2(dphi / 2)
    low, high = theta - 0.5 * height, theta + 0.5 * height
    widest = 1.0 if low < 0.5 * math.pi < high else max(math.sin(low), math.sin(high))
    chord = 0.5 * math.sqrt(height * height + math.sin(theta) * widest * width * width)
    return 2.0 * math.asin(min(0.5 * chord, 1.0))


@njit
def _is_near_summit(point, slack, summits, reaches, count):  # type: ignore[no-untyped-def]
    for k in range(count):
        reach = reaches[k] - slack
        if reach > 0.0:
            x = point[0] - summits[k, 0]
            y = point[1] - summits[k, 1]
            z = point[2] - summits[k, 2]
            # A chord is shorter than its arc.
            if x * x + y * y + z * z < reach * reach and separation(point, summits[k]) < reach:
                return True
    return False


@njit
def _climb(field, starts, number, bound, noise, summits, reaches, count):  # type: ignore[no-untyped-def]
    """Newton's iterations from `starts`; adds new maxima to the summits and returns their count."""
    jet = np.empty((number, 6))
    lasts = np.zeros(number, dtype=np.bool_)
    for _ in range(_NEWTON_STEPS):
        if number == 0:
            break
        jets(field, starts[:number], jet)
        remaining = 0
        for i in range(number):
            largest, first, second = newton(jet[i, 1], jet[i, 2], jet[i, 3], jet[i, 4], jet[i, 5])
            if largest >= 0.0:
                continue
            if lasts[i]:
                least = jet[i, 3] + jet[i, 5] - largest
                # Two maxima are never so near; without this least distance rounding doubles one.
                reach = max(-1.99 * largest / bound, 1e-9, -100.0 * noise / largest)
                if (
                    largest < _FLAT * least
                    and not _is_near_summit(starts[i], 0.0, summits, reaches, count)
                    and count < len(summits)
                ):
                    copy_to(summits[count], starts[i])
                    reaches[count] = reach
                    count += 1
                continue
            step_to(starts[i], first, second, starts[remaining])
            # By quadratic convergence the next step is below rounding.
            lasts[remaining] = math.hypot(first, second) < 1e-8 or _is_near_summit(
                starts[remaining], 0.0, summits, reaches, count
            )
            remaining += 1
        number = remaining
    return count


@njit
def search(field, bound, noise, grid, jet, summits):  # type: ignore[no-untyped-def]
    """Find all maxima of a field; return their number and that of open cells: 0 is proof.

    bound: bound on the covariant derivative of the Hessian; noise: rounding of the gradient.
    """
    colatitudes, strides = grid
    n, longitudes = jet.shape[1], jet.shape[2]
    reaches = np.empty(len(summits))
    most = max(n * longitudes, 64)
    cells = np.empty((most, 4))
    starts = np.empty((most, 3))
    count = number = candidates = 0
    height = math.pi / n
    turn = 2.0 * math.pi / longitudes
    few = 0.25 * most + 256.0
    here = np.empty(3)
    for i in range(n):
        theta, width = colatitudes[i], turn * strides[i]
        radius = cell_radius(theta, height, width)
        for j in range(0, longitudes, strides[i]):
            g1, g2, h11, h12, h22 = (
                jet[0, i, j], jet[1, i, j], jet[2, i, j], jet[3, i, j], jet[4, i, j]
            )  # fmt: skip
            answer = verdict(g1, g2, h11, h12, h22, radius, bound, noise)
            if answer != NONE:
                phi = j * turn
                cells[number, 0], cells[number, 1] = theta, phi
                cells[number, 2], cells[number, 3] = height, width
                number += 1
                if answer == STARTS:
                    largest, first, second = newton(g1, g2, h11, h12, h22)
                    here[0], here[1] = (
                        math.sin(theta) * math.cos(phi),
                        math.sin(theta) * math.sin(phi),
                    )
                    here[2] = math.cos(theta)
                    step_to(here, first, second, starts[candidates])
                    candidates += 1
    count = _climb(field, starts, candidates, bound, noise, summits, reaches, count)
    for _ in range(_DEEPEST):
        if number == 0:
            return count, 0
        count, number, cells = _quarter(field, bound, noise, cells, number, summits, reaches, count)
        # A third of the cells stays open in an ordinary field; on ridges their number doubles.
        few = max(0.5 * few, 64.0)
        if number > few:
            break
    return _last_resort(field, bound, noise, cells, number, summits, reaches, count), number


@njit
def _last_resort(field, bound, noise, cells, number, summits, reaches, count):  # type: ignore[no-untyped-def]
    """Add maxima to which Newton's iteration converges from open cells, without proof."""
    centres, jet = np.empty((number, 3)), np.empty((number, 6))
    for i in range(number):
        s = math.sin(cells[i, 0])
        centres[i, 0], centres[i, 1] = s * math.cos(cells[i, 1]), s * math.sin(cells[i, 1])
        centres[i, 2] = math.cos(cells[i, 0])
    jets(field, centres, jet)
    candidates = 0
    for i in range(number):
        _, first, second = newton(jet[i, 1], jet[i, 2], jet[i, 3], jet[i, 4], jet[i, 5])
        length = math.hypot(first, second)
        if 0.0 < length <= 2.0 * cell_radius(cells[i, 0], cells[i, 2], cells[i, 3]):
            step_to(centres[i], first, second, centres[candidates])
            candidates += 1
    return _climb(field, centres, candidates, bound, noise, summits, reaches, count)


@njit
def _quarter(field, bound, noise, cells, number, summits, reaches, total):  # type: ignore[no-untyped-def]
    """Drop cells settled by known maxima, quarter the others, and keep the open quarters."""
    quarters = np.empty((4 * number, 4))
    centres = np.empty((4 * number, 3))
    jet = np.empty((4 * number, 6))
    runs = np.empty(4 * number + 1, dtype=np.int64)
    count = parallels = begin = 0
    while begin < number:
        end = begin + 1
        while end < number and cells[end, 0] == cells[begin, 0]:
            end += 1
        # Cells are sorted from north to south; quarters too, on two parallels for each of cells.
        for half in (-0.25, 0.25):
            runs[parallels] = count
            for i in range(begin, end):
                theta, phi, height, width = cells[i]
                below = theta + half * height
                radius = cell_radius(below, 0.5 * height, 0.5 * width)
                for side in (-0.25, 0.25):
                    quarter, centre = quarters[count], centres[count]
                    quarter[0], quarter[1] = below, phi + side * width
                    quarter[2], quarter[3] = 0.5 * height, 0.5 * width
                    s = math.sin(below)
                    centre[0], centre[1] = s * math.cos(quarter[1]), s * math.sin(quarter[1])
                    centre[2] = math.cos(below)
                    if not _is_near_summit(centre, radius, summits, reaches, total):
                        count += 1
            if count > runs[parallels]:
                parallels += 1
        begin = end
    runs[parallels] = count
    if count >= _LEAST_ON_PARALLEL * parallels:
        jets_on_parallels(field, quarters[:count], runs[: parallels + 1], jet)
    else:
        jets(field, centres[:count], jet)
    remaining = candidates = 0
    for i in range(count):
        radius = cell_radius(quarters[i, 0], quarters[i, 2], quarters[i, 3])
        answer = verdict(
            jet[i, 1], jet[i, 2], jet[i, 3], jet[i, 4], jet[i, 5], radius, bound, noise
        )
        if answer == NONE:
            continue
        copy_to(quarters[remaining], quarters[i])
        remaining += 1
        if answer == STARTS:
            largest, first, second = newton(jet[i, 1], jet[i, 2], jet[i, 3], jet[i, 4], jet[i, 5])
            step_to(centres[i], first, second, centres[candidates])
            candidates += 1
    total = _climb(field, centres, candidates, bound, noise, summits, reaches, total)
    return total, remaining, quarters
