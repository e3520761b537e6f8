"""Resolution of a density: its spectral tail, and the part that truncation discards.

The equation for coefficients up to degree K is that of the measure without the degrees of div(f v)
above K. The size of these degrees measures the truncation for any spectrum. The last coefficients
alone do not: a density with k-fold symmetry has only multiples of k, and none may be close to K.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from meanfield.arrays import FloatArray, ModalArray
from meanfield.bases.grid import Grid
from meanfield.fields.interactions import AnyInteraction, interaction_of
from meanfield.fields.mean_field import Interaction
from meanfield.measures import Density, LabelledDensity, Measure
from meanfield.problem import Problem
from meanfield.spaces.manifold import Manifold


@dataclass(frozen=True, eq=False)
class Resolution:
    """Resolution of a density on its grid."""

    tail: float  # the larger of `spectral_tail` and the discarded part
    fastest: float  # largest speed |v| at the nodes
    lowest: float  # least value at the nodes
    sizes: FloatArray  # (K + 1,): size of each degree
    # scale * int Z |v|^2 dmu at the nodes, scale as in `Interaction`; NaN for heads and labels.
    dissipation: float = field(default=math.nan, kw_only=True)

    def impossible(self, manifold: Manifold, error: float) -> str | None:
        """Reason why no density has these moments up to an error; None if one may.

        A moment is at most that of a single point, and f >= 0. An error of all moments changes a
        value by at most twice the error times the sum of `largest_sizes`.
        """
        largest = manifold.largest_sizes(len(self.sizes) - 1)
        excess = self.sizes / largest
        if not excess.max() <= 1.0 + error:
            return f"moment {excess.argmax()} is {excess.max():.4g} times a single point's"
        if not self.lowest >= -2.0 * error * largest.sum():
            return f"the density falls to {self.lowest:.2g}"
        return None


def spectral_tail(sizes: FloatArray) -> float:
    """Largest size among the top tenth of the degrees (at least one)."""
    return float(np.max(sizes[-max(len(sizes) // 10, 1) :]))


def watch(interaction: AnyInteraction, grid: Grid, coefficients: ModalArray) -> Resolution:
    """Resolution of a density on its grid, of degree K.

    The tail is the largest of the sizes of the top tenth of the degrees and of

        |div(f v)|_l / (l max|v|),   K < l <= 3 K / 2,

    the transfer to degree l from its neighbours during one turn by advection. The grid is chosen
    for a density of degree up to K / 2: products of two end at K, of three at 3 K / 2. The
    dissipation takes the same velocity.
    """
    space, degree = interaction.manifold, grid.max_degree
    # The result shows values that are not finite.
    with np.errstate(all="ignore"):
        velocity, below = interaction.of_density(coefficients).on_nodes(grid)
        values = grid.to_nodal(coefficients)
        squared = grid.squared_norm(velocity)
        fastest = float(np.sqrt(squared.max()))
        dissipation = math.nan
        if isinstance(interaction, Interaction):
            weighted = values * squared if below is None else values * squared * below
            dissipation = float(grid.weights @ weighted)
        sizes = space.sizes_by_degree(coefficients)
        tail = spectral_tail(sizes)
        if fastest != 0:
            velocity *= values
            beyond = grid.divergence(velocity, degree + (degree + 1) // 2)
            discarded = space.sizes_by_degree(beyond)[degree + 1 :]
            degrees = np.arange(degree + 1, degree + 1 + len(discarded))
            # About uniform the velocity of heads is a difference: subtract its rounding.
            beyond_noise = discarded - interaction.rounding * degrees
            tail = float(np.max(beyond_noise / (fastest * degrees), initial=tail))
    return Resolution(tail, fastest, float(values.min()), sizes, dissipation=dissipation)


def resolution(problem: Problem, measure: Density | Measure) -> float:
    """Tail of a density under the equation of a problem: see `watch`.

    The size of a degree is the modulus of its coefficient on the circle, and on the sphere the root
    of its power, sqrt(sum_m |c_lm|^2).

    NaN for points, which are exact. For labelled densities the largest spectral tail of a label;
    during a run they have the full check.
    """
    if isinstance(measure, LabelledDensity):
        space = problem.manifold
        return max(spectral_tail(space.sizes_by_degree(part)) for part in measure.parts)
    if isinstance(measure, Measure):
        return float("nan")
    grid = problem.manifold.grid(measure.max_degree)
    return watch(interaction_of(problem), grid, measure.coefficients).tail
