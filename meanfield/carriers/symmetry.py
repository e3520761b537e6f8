"""Symmetries that a run keeps exactly: orthogonal maps g that fix its start and its problem.

    g# mu_0 = mu_0,    v[g# mu](g x) = g v[mu](x)    =>    g# mu_t = mu_t

Rounding breaks symmetry, and the flow amplifies asymmetry. So rates are projected to those that
the group leaves invariant: coefficients c to the mean of g# c, points that g permutes to

    r_i <- mean over g of g^{-1} r_{g(i)}.

Asymmetry of a state then does not grow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray, IntArray, ModalArray, State
from meanfield.carriers import AtomRepresentation, Options, Representation
from meanfield.carriers.automatic import carriers
from meanfield.carriers.characteristics import CharacteristicsRepresentation
from meanfield.carriers.density import DensityRepresentation
from meanfield.carriers.labelled import LabelledRepresentation
from meanfield.carriers.layered import LayeredTokens
from meanfield.carriers.particles import ParticleRepresentation
from meanfield.carriers.symmetry_groups import (
    ROUNDING,
    closure,
    fixing_all,
    maps_of_density,
    maps_of_points,
    orders_and_parities,
    permuted,
    points_of,
    respects,
    split,
    turned_coefficients,
)
from meanfield.measures import LabelledDensity, Measure
from meanfield.problem import Problem
from meanfield.spaces import Manifold

# Atoms within this share of the least gap between any are the same.
_SHARE = 0.1
# Allowed difference of masses of images: clusters that become atoms have errors of quadrature.
_MASSES = 1e-3
# Larger groups of points are cut short: in maps, in all their entries, in dimensions.
_MOST_MAPS, _MOST_ENTRIES, _MOST_AXES = 1200, 2**22, 256
_FOLDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
# By the number of rotations, and the largest order among them.
_POLYHEDRA = {(12, 3): "tetrahedrally", (24, 4): "octahedrally", (60, 5): "icosahedrally"}

Keep = Callable[[State], State]
"""Projection of rates, or of a state after a layer."""


@dataclass(frozen=True, eq=False)
class Symmetry:
    """Group of orthogonal maps that fix a start and its problem."""

    space: Manifold  # where it acts
    # (g, d, d): the group, the identity first. Of axial measures, whose points are angles, d = 2.
    maps: FloatArray
    degree: int  # degree of the moments that move the measure
    axial: bool = False  # all rotations about the last axis belong to it
    uniform: bool = False  # all rotations belong to it
    images: IntArray | None = None  # (g, n): where each map takes the points of the start

    @property
    def summary(self) -> str:
        """Name of the group.

        >>> import meanfield as mf
        >>> law = mf.perturbed_uniform([[3, 0.1, 0.0]])
        >>> problem = mf.Problem(mf.Circle(), mf.exponential(4.0), mf.SA, law)
        >>> symmetry_of(problem, Options()).summary
        'three-fold symmetric, with mirrors: stays so'
        """
        if self.uniform:
            return "uniform: stays so"
        d, traces = self.maps.shape[1], np.trace(self.maps, axis1=1, axis2=2)
        flips = np.linalg.det(self.maps) < 0.0
        fold, parts = (1 if d > 3 else _largest_order(self.maps[~flips])), []
        if self.axial:
            parts.append("symmetric about the axis")
        elif (int((~flips).sum()), fold) in _POLYHEDRA:
            parts.append(f"{_POLYHEDRA[int((~flips).sum()), fold]} symmetric")
        elif fold > 1:
            parts.append(f"{_FOLDS[fold - 2] if fold < 11 else fold}-fold symmetric")
        if self.space.has_rings or (d > 2 and np.any(np.abs(traces + d) < ROUNDING * d)):
            parts.append("antipodally symmetric")
        if np.any(flips & (np.abs(traces - (d - 2)) < 1e-9)) and not self.space.has_rings:
            parts.append("with mirrors" if parts else "mirror symmetric")
        return f"{', '.join(parts) or f'symmetric under {len(self.maps)} maps'}: stays so"

    def project(self, coefficients: ModalArray) -> ModalArray:
        """Mean of g# c over the group, of coefficients (..., n)."""
        if self.uniform:
            projected = np.zeros_like(coefficients)
            projected[..., 0] = coefficients[..., 0]
            return projected
        even, mirrored = self._factors(coefficients.shape[-1])
        projected = even * coefficients
        if mirrored.any():
            projected += mirrored * coefficients.conj()
        if len(self._cosets) > 1:
            rows = projected.reshape(-1, projected.shape[-1])
            for row in rows:
                row += self._spread(row)
            projected = rows.reshape(projected.shape)
        return projected

    def orbits(self, points: FloatArray, masses: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Images of points under all maps, which share the masses.

        >>> import meanfield as mf
        >>> group = Symmetry(mf.Circle(), np.array([np.eye(2), -np.eye(2)]), 0)
        >>> group.orbits(np.array([0.5]), np.ones(1))
        (array([ 0.5       , -2.64159265]), array([0.5, 0.5]))
        """
        x = points_of(self.space, points) @ np.swapaxes(self.maps, 1, 2)  # (g, n, d)
        x = x.reshape(-1, x.shape[-1])
        images = x if self.space.point_shape else np.arctan2(x[:, 1], x[:, 0])
        return images, np.tile(masses / len(self.maps), len(self.maps))

    def carried(self, carrier: Representation) -> Representation:
        """Carrier in a symmetric state."""
        if isinstance(carrier, DensityRepresentation):
            return replace(carrier, state=self.project(carrier.state))
        if isinstance(carrier, LabelledRepresentation):
            return replace(carrier, state=self._labelled(carrier, carrier.state))
        if isinstance(carrier, CharacteristicsRepresentation):
            return replace(carrier, symmetric=self)
        if isinstance(carrier, AtomRepresentation):
            measure, (maps, images) = carrier.measure(carrier.state), self._of_atoms(carrier)
            if len(maps) == 1:
                return replace(carrier, symmetric=None)
            x, v = measure.points, self.space.vectors(measure.points)
            away = _mean(maps, v[images]) - v
            x = self.space.retract(x + self.space.project(x, away))[0]
            weights = carrier.weights[images].mean(axis=0)
            mean = self._mean_rate(maps, images, bool(self.space.point_shape))
            return replace(
                carrier, state=x.ravel(), weights=weights / weights.sum(), symmetric=mean
            )
        return carrier

    def keep(self, carrier: Representation) -> Keep | None:
        """Projection of the rates of a carrier; None if it projects them itself, or needs none."""
        if isinstance(carrier, DensityRepresentation):
            return self.project
        if isinstance(carrier, LabelledRepresentation):
            return lambda rate: self._labelled(carrier, rate)
        if isinstance(carrier, ParticleRepresentation) and self.images is not None:
            vectors = bool(self.space.point_shape) or isinstance(carrier, LayeredTokens)
            return self._mean_rate(self.maps, self.images, vectors)
        return None

    def _mean_rate(self, maps: FloatArray, images: IntArray, vectors: bool) -> Keep:
        """Mean over g of g^{-1} r_{g(i)}, of vectors or of angles."""
        if vectors:
            d = maps.shape[1]
            return lambda rate: _mean(maps, rate.reshape(-1, d)[images]).ravel()
        signs = np.where(np.linalg.det(maps) < 0.0, -1.0, 1.0)
        return lambda rate: np.asarray(signs @ rate[images] / len(maps))

    def adapted(self, before: Representation, after: Representation) -> Representation | None:
        """Adapted carrier; None where atoms have met and their images have not yet.

        Other carriers than atoms stay as they are, to the bit.
        """
        if not (isinstance(before, AtomRepresentation) and isinstance(after, AtomRepresentation)):
            return after
        if len(self._of_atoms(after)[0]) < len(self._of_atoms(before)[0]):
            return None
        return self.carried(after)

    def lost(self, carrier: Representation) -> bool:
        """True if the maps do not take all atoms to each other."""
        if not isinstance(carrier, AtomRepresentation):
            return False
        return len(self._of_atoms(carrier)[0]) < len(self.maps)

    def _of_atoms(self, carrier: AtomRepresentation) -> tuple[FloatArray, IntArray]:
        """Maps that permute atoms, and the permutations."""
        measure = carrier.measure(carrier.state)
        x = points_of(self.space, measure.points)
        apart = np.linalg.norm(x[:, None] - x[None], axis=-1)
        gap = float(apart[~np.eye(len(x), dtype=bool)].min(initial=1.0))
        return permuted(self.maps, x, measure.mass, _SHARE * gap, _MASSES)

    def _labelled(self, carrier: LabelledRepresentation, state: State) -> State:
        parts = state[:-1].reshape(len(carrier.labels.values), -1)
        return np.append(self.project(parts).ravel(), state[-1])

    @cached_property
    def _fixing(self) -> npt.NDArray[np.bool_]:
        """Maps that keep the line of the last axis: these multiply coefficients by phases."""
        if not (self.space.has_series and self.space.point_shape):
            return np.ones(len(self.maps), dtype=bool)
        return np.abs(np.abs(self.maps[:, 2, 2]) - 1.0) < 1e-9

    @cached_property
    def _cosets(self) -> FloatArray:
        """One map of each left coset of the subgroup `_fixing`."""
        # Cosets g H differ in where g takes the line of the last axis.
        chosen = [self.maps[0]]
        for each in self.maps[~self._fixing]:
            if all(abs(abs(each[:, 2] @ other[:, 2]) - 1.0) > 1e-9 for other in chosen):
                chosen.append(each)
        return np.array(chosen)

    def _spread(self, row: ModalArray) -> ModalArray:
        """Change of the coefficients of low degrees by the mean over cosets."""
        whole = self.space.degree_of(row)
        low = self.space.resize(row, min(self.degree, whole))
        mean = sum(turned_coefficients(self.space, low, each) for each in self._cosets)
        return self.space.resize(mean / len(self._cosets) - low, whole)

    def _factors(self, count: int) -> tuple[FloatArray, ModalArray]:
        """Factors of c and of its conjugate in the mean over maps that keep the last axis."""
        if count not in self._tables:
            orders, parities = orders_and_parities(self.space, count)
            largest = np.arange(orders.max() + 1)
            sums = np.zeros((2, 2, len(largest)), dtype=np.complex128)
            for each in self.maps[self._fixing]:
                angle, mirror, sign = split(self.space, each)
                phases = np.exp(-1j * angle * largest)
                sums[int(mirror)] += [phases, sign * phases]
            sums /= self._fixing.sum()
            sums[0] = np.round(sums[0], 12)
            sums[1][np.abs(sums[1]) < ROUNDING] = 0.0
            if self.axial:
                sums[0, :, 1:], sums[1] = 0.0, 0.0
                signs = [split(self.space, each)[2] for each in self.maps[self._fixing]]
                sums[0, :, 0] = np.round([1.0, np.mean(signs)])
            even, mirrored = sums[:, np.where(parities > 0, 0, 1), orders]
            self._tables[count] = (np.ascontiguousarray(even.real), mirrored)
        return self._tables[count]

    @cached_property
    def _tables(self) -> dict[int, tuple[FloatArray, ModalArray]]:
        return {}


def symmetry_of(problem: Problem, options: Options) -> Symmetry | None:
    """Symmetry that a run keeps; None where it has none, or noise and drawn tokens break it."""
    measure, space = problem.initial_measure(), problem.manifold
    if options.perturb is not None or any(each.has_rotary for each in problem.staged):
        return None
    if isinstance(measure, Measure):
        if space.ambient > _MOST_AXES or any(each.flow.diffusivity for each in problem.staged):
            return None
        candidates = maps_of_points(space, measure)
        # Labels of tokens differ: only maps that fix each of them remain.
        labels: FloatArray = np.arange(len(measure.points)) * np.float64(problem.has_labels)
        x = points_of(space, measure.points)
        far = ROUNDING * (1.0 + float(np.abs(x).max()))
        test = partial(permuted, x=x, mass=measure.mass, far=far, rounding=ROUNDING, labels=labels)
        fixing = (g for g in candidates if respects(problem, g) and len(test(g[None])[0]))
        group = closure(fixing, x.shape[1], min(_MOST_MAPS, _MOST_ENTRIES // x.shape[1] ** 2))
        subgroup, images = test(group) if len(group) > 1 else (group, None)
        return Symmetry(space, subgroup, 0, images=images) if len(subgroup) > 1 else None
    if carriers(problem, options)[0] == "particles" or not problem.layering.moves_densities:
        return None
    coefficients = measure.coefficients[None]
    if isinstance(measure, LabelledDensity):
        coefficients = problem.labelled_measure(options.labels).parts
    d = 2 if space.has_rings else space.ambient
    turning, uniform = fixing_all(problem, coefficients)
    maps = closure([] if uniform else maps_of_density(problem, coefficients), d)
    degree = max(problem.kernel_degree, problem.moment_degree)
    if len(maps) == 1 and not turning:
        return None
    return Symmetry(space, maps, degree, axial=turning, uniform=uniform)


def _mean(maps: FloatArray, rows: FloatArray) -> FloatArray:
    """Mean over g of g^{-1} r, of rows (g, n, d)."""
    return np.asarray(np.einsum("gnd,gde->ne", rows, maps) / len(maps))


def _largest_order(rotations: FloatArray) -> int:
    """Largest order of rotations of a group."""
    orders = [1]
    for each in rotations:
        power, order = each, 1
        while np.abs(power - rotations[0]).max() > 1e-6:
            power, order = power @ each, order + 1
        orders.append(order)
    return max(orders)
