"""Pictures of predictions: growth rates, laws of the number of clusters, potentials of tokens."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.described import Facts
from meanfield.figures.data.projections import Mollweide, Projection
from meanfield.figures.data.sphere import pixels
from meanfield.problem import Problem
from meanfield.problem_facts import facts_of
from meanfield.spaces.manifold import Manifold
from meanfield.spectrum.stability import (
    critical_diffusivity,
    dominant_degree,
    growth_rates,
    switching_threshold,
    switching_thresholds,
)
from meanfield.spectrum.token_prediction import TokenPrediction
from meanfield.studies.count_law import CountLaw
from meanfield.studies.prediction import ClusterPrediction

_ANGLES, _PIXELS = 2000, 900
# Tokens above this many are left out on the sphere.
_DOTS = 2000


@dataclass(frozen=True, eq=False)
class RatesPicture:
    """Growth rates of the uniform state by degree."""

    facts: Facts  # manifold, kernel and flow
    rates: FloatArray  # (degrees,): per scaled time
    dominant: int | None  # degree that grows fastest
    lines: list[str]  # what the thresholds mean, in words


def dispersion_picture(problem: Problem, max_degree: int | None = None) -> RatesPicture:
    """Dispersion relation of a problem, to a degree, else as far as it is interesting."""
    return RatesPicture(
        facts_of(problem),
        growth_rates(problem, max_degree),
        dominant_degree(problem),
        facts(problem),
    )


def facts(problem: Problem) -> list[str]:
    """Consequences of the thresholds for this problem, one line each."""
    fastest = dominant_degree(problem)
    if fastest is None:
        return ["no degree grows: uniform is stable"]
    lines = []
    thresholds = switching_thresholds(problem)
    if problem.zonal.kernel.name == "exponential" and problem.zonal.kernel.beta > 0:
        degree = len(thresholds) + 1
        upper = switching_threshold(problem.manifold, degree)
        lower = thresholds[-1] if thresholds else 0.0
        without = " without diffusion" if problem.flow.diffusivity else ""
        lines.append(
            rf"degree {degree} is fastest for ${lower:.6g} < \beta < {upper:.6g}${without}"
        )
    lines.append(f"all decay for diffusivity > {critical_diffusivity(problem):.4g}")
    return lines


@dataclass(frozen=True, eq=False)
class PotentialOnCircle:
    """Attention potential (n,) of tokens at the onset time, its maxima (k,) and basins."""

    angles: FloatArray
    values: FloatArray
    tokens: FloatArray  # (tokens,): angles
    places: FloatArray
    heights: FloatArray
    masses: FloatArray
    dominant: FloatArray  # angles that the dominant degree alone would give


@dataclass(frozen=True, eq=False)
class PotentialOnSphere:
    """Attention potential of tokens at the onset time on a map, its maxima and basins."""

    projection: Projection
    values: FloatArray  # (height, width): the potential in pixels, row by row from below
    tokens: FloatArray  # (n, 2): places of at most 2000 tokens
    places: FloatArray
    masses: FloatArray


def potential_picture(
    space: Manifold, where: TokenPrediction
) -> PotentialOnCircle | PotentialOnSphere:
    """Potential with maxima and tokens: a curve on the circle, a map of the sphere."""
    if space.dimension == 1:
        angles = np.linspace(-np.pi, np.pi, _ANGLES)
        values = space.evaluate(where.potential, angles)
        scale = float(np.abs(values).max())
        heights = space.evaluate(where.potential, where.positions) / scale
        return PotentialOnCircle(
            angles, values / scale, np.angle(np.exp(1j * where.points)), where.positions, heights,
            where.masses, where.dominant_positions,
        )  # fmt: skip
    projection = Mollweide()
    points = pixels(projection, _PIXELS)
    values = space.evaluate(where.potential, np.ascontiguousarray(points.reshape(-1, 3)))
    return PotentialOnSphere(
        projection, values.reshape(points.shape[:2]), projection.to_plane(where.points[:_DOTS]),
        projection.to_plane(where.positions), where.masses,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class PredictionPicture:
    """How many clusters form."""

    tokens: int  # how many there are
    linear: CountLaw  # of the number of clusters
    corrected: CountLaw | None  # the better law, if it was asked for
    message: str  # what there is to say where no law is needed, else empty
    facts: Facts  # manifold, kernel and flow
    rates: FloatArray  # (degrees,): growth rates, per scaled time
    dominant: int | None
    second: int | None
    rate_ratio: float
    mean_clusters: float
    potential: PotentialOnCircle | PotentialOnSphere | None  # of tokens that were given

    @property
    def on_circle(self) -> bool:
        return self.facts.manifold == "circle"


def prediction_picture(prediction: ClusterPrediction) -> PredictionPicture:
    """Picture of a prediction."""
    problem, where = prediction.problem, prediction.positions
    return PredictionPicture(
        prediction.tokens,
        prediction.linear,
        prediction.corrected,
        prediction.message,
        facts_of(problem),
        growth_rates(problem),
        prediction.dominant_degree,
        prediction.second_degree,
        prediction.rate_ratio,
        prediction.mean_clusters_linear,
        None if where is None else potential_picture(problem.manifold, where),
    )
