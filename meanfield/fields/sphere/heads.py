"""Heads on the sphere: coefficients of e^{-c(x)} G and e^{-c(x)} V m, and velocities.

`fields.heads` defines G and m; `head_tables` has the table from moments to coefficients.
Rounding leaves an absolute error in e^{-c} G. For measures that are spread out
G is about e^{|z|}, and c(x) follows |z|. A Dirac opposite to z is the worst case: G is smaller by
e^{-2|z|}, and so is the relative accuracy. From |z| = 17 on no digit remains. Sums over pairs lose
none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from meanfield.arrays import ComplexArray, FloatArray, ModalArray
from meanfield.engines.harmonics.coefficients import count_of, resize
from meanfield.engines.harmonics.head_tables import Block, blocks, decomposed, target_degree
from meanfield.engines.harmonics.points import evaluate_several
from meanfield.engines.harmonics.rings import Rings, rings
from meanfield.engines.harmonics.rotations import rotate, times_coordinates
from meanfield.engines.harmonics.scratch import Scratch
from meanfield.engines.partition import floored
from meanfield.engines.row_scale import RowScale, row_scale
from meanfield.engines.threads import one_blas_thread
from meanfield.fields.head_series import HeadField, together
from meanfield.spaces.sphere.sphere import Sphere
from meanfield.terms.attention import HeadMatrices

HeadSeries = tuple[tuple[ComplexArray, ...], ComplexArray | None]
"""Numerators, one an axis, and partition function; None without normalisation."""

Transport = Callable[[ComplexArray], ComplexArray]
"""Function of a density."""

_LARGEST_TABLE = 1 << 30


@dataclass(frozen=True, eq=False)
class SphereHead:
    """The linear map from moments to the series of a head.

    inwards, outwards (3, 3): rotations Q^T and P, S = P diag(s) Q^T.
    """

    degree: int  # of the relevant moments
    out_degree: int  # of the series
    normalized: bool  # whether numerators will be divided by partition functions
    sink: float  # added to e^{-c} G, c(x) being constant
    scale: RowScale  # c(x) in e^{-c} G and e^{-c} V m
    inwards: FloatArray
    outwards: FloatArray
    mixing: FloatArray  # (3, 3): V Q
    blocks: tuple[Block, ...]  # the table between the rotations

    def fields(self, moments: ModalArray) -> HeadSeries:
        """Numerators (e^{-c} V m)_a and partition function e^{-c} G, as packed coefficients.

        The partition function is None without normalisation; `partition` has it. Moments above
        `degree` are ignored, missing ones are zero.
        """
        turned = rotate(resize(moments, self.degree), self.inwards)
        axes = times_coordinates(turned)
        if self.normalized:
            axes = np.concatenate([axes, resize(turned, self.degree - 1)[None]])
        series = self._applied(axes)
        series[:3] = self.mixing @ series[:3]
        if self.sink:
            series[3, 0] += self.sink * moments[0].real
        rotated = rotate(series.view(np.complex128), self.outwards)
        return tuple(rotated[:3]), rotated[3] if self.normalized else None

    def partition(self, moments: ModalArray) -> ComplexArray:
        turned = rotate(resize(moments, self.degree), self.inwards)
        series = self._applied(resize(turned, self.degree - 1)[None])
        series[0, 0] += self.sink * moments[0].real
        return rotate(series.view(np.complex128)[0], self.outwards)

    def _applied(self, moments: ComplexArray) -> FloatArray:
        """Table applied to each row of moments; pairs of real numbers."""
        real_moments = moments.view(np.float64)
        images = np.zeros((len(moments), 2 * count_of(self.out_degree)))
        for block in self.blocks:
            images[:, block.targets] = real_moments.take(block.sources, axis=1) @ block.table
        return images


def head_table(
    head: HeadMatrices, normalized: bool, log_scale: float, sink: float = 0.0
) -> SphereHead:
    """Table of a head on R^3, see `engines.Engines`.

    A single token attends to itself, and its head turns by a right angle:

    >>> token = np.array([[1.0, 0.0, 0.0]])
    >>> turning = HeadMatrices(2.0 * np.eye(3), np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1.0]]))
    >>> table = head_table(turning, True, 0.0)
    >>> series = table.fields(Sphere().moments(token, None, table.degree))
    >>> velocity([series], token).round(12) + 0.0
    array([[0., 1., 0.]])
    """
    outwards, values, right = decomposed(head.score)
    scale = row_scale(values) if normalized and not sink else RowScale((log_scale,))
    degree = head.degree - 1
    size = (degree + 1.0) ** 2 * (target_degree(values, scale) + 1.0) ** 2
    if size > _LARGEST_TABLE:
        raise ValueError(
            f"a head with beta |B| = {head.sharpness:.4g} needs a table of {size / 2**30:.3g} GiB "
            "on the sphere, more than 1 GiB: take a smaller beta, or tokens that are summed over "
            "pairs."
        )
    with one_blas_thread():
        out_degree, table_blocks = blocks(values, scale, degree)
    return SphereHead(
        degree=degree + 1,
        out_degree=out_degree,
        normalized=normalized,
        sink=sink,
        scale=scale,
        inwards=right.T.copy(),
        outwards=outwards,
        mixing=head.value @ right,
        blocks=tuple(table_blocks),
    )


def velocity(fields: Sequence[HeadSeries | HeadField], points: FloatArray) -> FloatArray:
    """Velocity P_x sum_h numerators_h / partition_h at points (n, 3), each quotient there.

    Series without a partition function are added as they are.
    """
    total = np.zeros((3, len(points)))
    # Points without a direction, or without any mass in sight, have no velocity.
    with np.errstate(divide="ignore", invalid="ignore"):
        for above, below, *_ in fields:
            values = evaluate_several(np.array(above if below is None else [*above, below]), points)
            if below is not None:
                values[:3] /= values[3]
            total += values[:3]
        directions = (points / np.sqrt((points**2).sum(axis=1))[:, None]).T
        # One pass leaves rounding of the normal part, which may exceed the tangential part.
        for _ in range(2):
            total -= (directions * total).sum(axis=0) * directions
    return np.ascontiguousarray(total.T)


def transport(tables: Sequence[SphereHead], max_degree: int) -> Transport:
    """Function of a density that gives -div(f v), up to a degree, in the field of its own.

    Rings are chosen as for the zonal right-hand side (`density`).
    """
    scratch = Scratch()
    field_degree = max(table.out_degree for table in tables) + 1
    divided = any(table.normalized for table in tables)
    nodes = rings(2 * max_degree + (max(field_degree, max_degree) if divided else field_degree))
    # V Q has the norm of V, which bounds true quotients. Far from all mass quotients of rounding
    # errors would be larger, and no step would be stable.
    bounded = [(table, float(np.linalg.norm(table.mixing, 2))) for table in tables]

    def transport(density: ComplexArray) -> ComplexArray:
        fields = [HeadField(*table.fields(density), most) for table, most in bounded]
        if not divided:
            fields = [together(Sphere(), fields)]
        # Values that are not finite stay so, and the stepper rejects the step.
        with np.errstate(all="ignore"):
            flux = scratch.array("flux", (2, nodes.size))
            nodes.project(_quotients(fields, nodes, scratch), flux)
            flux *= nodes.values(density, scratch.array("density", (nodes.size,)))
            divergence = nodes.divergence(flux, max_degree)
        return np.negative(divergence, out=divergence)

    return transport


def _quotients(fields: Sequence[HeadField], nodes: Rings, scratch: Scratch) -> FloatArray:
    """Sum over heads of numerators over partition functions, (3, n) at the nodes."""
    total = scratch.array("total", (3, nodes.size))
    total[:] = 0.0
    for above, below, largest in fields:
        stack = np.array(above if below is None else [*above, below])
        values = nodes.values(stack, scratch.array("series", (len(stack), nodes.size)))
        if below is not None:
            values[:3] /= floored(values[3])
            np.clip(values[:3], -largest, largest, out=values[:3])
        total += values[:3]
    return total
