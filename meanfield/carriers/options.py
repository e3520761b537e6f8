"""User's options for the representation of a run."""

from __future__ import annotations

import math
from dataclasses import dataclass

from meanfield.arguments import at_least, at_most
from meanfield.labels import MOST_LABELS
from meanfield.measures import MOST_TOKENS
from meanfield.problem import Problem
from meanfield.spaces.manifold import of_space

DEFAULT_TOLERANCE = 1e-10
# Default cell tolerance on the sphere. Cells crowd along the edges between basins. These are curves
# with about tolerance^-1/2 cells of 100 nodes; on the circle points, with log(1 / tolerance).
_SPHERE_CELLS = 1e-4
MOST_NODES = 2_000_000
TOLERANCE_RANGE = (1e-13, 1e-2)
_USUAL_DEGREE = {"axial": 1024, "circle": 4096, "sphere": 512}
# Characteristics carry a density that steepens further at less cost.
_FULL_DEGREE = {"axial": 256, "circle": 512, "sphere": 256}
# Degrees of labelled densities: in one dimension, and in more.
_LABELLED_DEGREES = 512, 64

MOMENTS_DEGREE = 4
"""Degree of the moments whose fluctuations are computed, unless another one is given."""


@dataclass(frozen=True)
class FluctuationOptions:
    """Section [fluctuations] of a run file; see `meanfield.fluctuations`."""

    degree: int = MOMENTS_DEGREE
    tokens: int | None = None
    max_degree: int | None = None

    def __post_init__(self) -> None:
        at_least(1, degree=self.degree, tokens=1 if self.tokens is None else self.tokens)


@dataclass(frozen=True)
class Options:
    """Options of a representation; each uses those that concern it."""

    name: str = "auto"  # "auto", "density", "characteristics", "atoms", "labelled" or "particles"
    # Relative and absolute tolerance of a time step, largest spectral tail of a resolved density,
    # and largest error of a cell of characteristics. From 1e-13 to 1e-2; None is 1e-10, and 1e-4
    # for characteristics on the sphere.
    tolerance: float | None = None
    # Largest degree of a density; None is 4096 on the circle, 512 on the sphere, 1024 of axial
    # ones, or the kernel's if that is larger. "auto" hands over there, by default at 512, on
    # spheres 256. Of labelled densities None is 512, on the sphere 64.
    max_degree: int | None = None
    max_nodes: int = MOST_NODES  # largest number of nodes of characteristics
    tokens: int | None = None  # number of particles drawn from an initial density
    seed: int = 0  # seed of that draw, and of the noise
    # Time step of noisy particles, scaled time; everything else chooses its own.
    step: float | None = None
    # Number of labels that are stored of labelled densities, which may use more; None is 64.
    labels: int | None = None
    perturb: float | None = None  # size of a random disturbance of the start, drawn with the seed

    def __post_init__(self) -> None:
        low, high = TOLERANCE_RANGE
        if not low <= self.step_tolerance <= high:
            raise ValueError(
                f"tolerance must lie between {low:g} and {high:g}, got {self.tolerance:g}."
            )
        for name in ("max_degree", "max_nodes", "tokens", "labels"):
            value = getattr(self, name)
            at_least(1, **{name: 1 if value is None else value})
        at_most(MOST_TOKENS, tokens=self.tokens or 0)
        at_most(MOST_LABELS, labels=self.labels or 0)
        if self.perturb is not None and not 0.0 < self.perturb <= 1e-3:
            raise ValueError(f"perturb must be positive, at most 0.001, got {self.perturb:g}.")
        if self.seed < 0:
            raise ValueError(f"seed must not be negative, got {self.seed}.")
        if self.step is not None and not 0.0 < self.step < math.inf:
            raise ValueError(f"step must be positive and finite, got {self.step:g}.")

    @property
    def step_tolerance(self) -> float:
        """Tolerance of everything but characteristics."""
        return DEFAULT_TOLERANCE if self.tolerance is None else self.tolerance

    def cell_tolerance(self, problem: Problem) -> float:
        """Tolerance of characteristics; on the sphere by default 1e-4, to save time."""
        space = problem.manifold
        if self.tolerance is None and space.has_series and space.point_shape:
            return _SPHERE_CELLS
        return self.step_tolerance

    def enough(self, problem: Problem) -> float:
        """`enough` of characteristics: by default their tolerance, 0 if a tolerance is given."""
        return self.cell_tolerance(problem) if self.tolerance is None else 0.0


def usual_degree(problem: Problem) -> int:
    """Largest degree by default: the manifold's, or the kernel's if that is larger.

    >>> import meanfield as mf
    >>> usual_degree(mf.Problem(mf.Sphere(), mf.exponential(beta=5.0), mf.USA))
    512
    """
    usual = max(of_space(_USUAL_DEGREE, problem.manifold, "density"), problem.kernel_degree)
    return min(usual, problem.manifold.largest_degree)


def full_degree(problem: Problem) -> int:
    """Degree at which characteristics take over a density that steepens further."""
    return of_space(_FULL_DEGREE, problem.manifold, "density")


def labelled_degree(problem: Problem) -> int:
    """Largest degree of labelled densities by default, or the kernel's if that is larger."""
    usual = _LABELLED_DEGREES[problem.manifold.dimension > 1]
    return max(usual, problem.unlabelled.kernel_degree)
