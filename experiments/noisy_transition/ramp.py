"""Slow ramps of the diffusivity, in plateaus, for the density and for noisy particles.

A plateau of the density ends when no moment has changed by more than SETTLED in one e-fold of the
critical degree, 1 / |lambda|. Growing seeds of order change by a factor e in this time.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

import meanfield as mf
from meanfield.carriers import Options, represent
from meanfield.observables import observe
from meanfield.stationary.branches import Branch, primary_branch
from meanfield.stationary.states import stationary_state
from meanfield.studies.phase import PhasePoint, phase_point
from meanfield.trajectory import trajectory

# Share and law of the seed of order, which every plateau starts with.
SEED, SEED_LAW = 1e-4, mf.von_mises_fisher(2.0)
SETTLED = 1e-7
# Tolerance of time steps; settled states do not depend on it.
TOLERANCE = 1e-5
# This degree resolves all of these states to rounding; a larger tail would end the run.
MAX_DEGREE = 32
# Smaller coefficients are rounding.
ROUNDING = 1e-15
MOST_FOLDS = 100
# Order parameter between uniform and all ordered states after a jump.
HALF = 0.3
# Noisy particles: time step in 1 / D_#, e-folds of a plateau, longest plateau in 1 / D_#, samples.
STEP, FOLDS, LONGEST, SAMPLES = 1.0 / 64.0, 3.0, 64.0, 101


@dataclass(frozen=True)
class Plateau:
    """Measurements at one diffusivity of a ramp."""

    diffusivity: float  # scaled time
    order: float  # order parameter at the end; for particles the mean over the last quarter
    spread: float  # standard deviation of particles over the last quarter; 0 for the density
    free_energy: float  # minus that of uniform; NaN for particles


@dataclass(frozen=True, eq=False)
class Loop:
    """Ramp of the diffusivity down and up, with the stationary states of theory."""

    problem: mf.Problem  # its diffusivity is not used
    point: PhasePoint
    branch: Branch
    width: float  # between plateaus, as a share of the critical diffusivity
    down: tuple[Plateau, ...]  # of the density, in the order of the ramp
    up: tuple[Plateau, ...]
    equal: Plateau | None  # the ordered state at the transition, if there is a jump
    particles_down: tuple[Plateau, ...] = ()
    particles_up: tuple[Plateau, ...] = ()

    @property
    def jumps(self) -> bool:
        """True if theory has a jump."""
        return self.point.order == "discontinuous"

    @property
    def title(self) -> str:
        """Manifold and inverse temperature."""
        return f"{self.problem.manifold.name}, beta = {self.problem.kernel.beta:g}"

    @property
    def saddle(self) -> float:
        """Largest diffusivity with order: of the saddle node, or the critical one."""
        return self.point.saddle_node_diffusivity or self.point.critical_diffusivity

    def ratio(self, plateau: Plateau) -> float:
        """Diffusivity of a plateau over the critical one."""
        return plateau.diffusivity / self.point.critical_diffusivity


def sets_in(down: Sequence[Plateau]) -> Plateau:
    """First ordered plateau on the way down, else the last one."""
    return next((p for p in down if p.order > HALF), down[-1])


def breaks_down(up: Sequence[Plateau]) -> Plateau:
    """First plateau without order on the way up, else the last one."""
    return next((p for p in up if p.order < HALF), up[-1])


def ramped(problem: mf.Problem, ratios: Sequence[float], tokens: int = 0) -> Loop:
    """Ramp the diffusivity through falling ratios D / D_#, and up again."""
    point = phase_point(problem)
    values = point.critical_diffusivity * np.array(ratios)
    densities = {}
    ways = []
    density = mf.uniform().build(problem.manifold)
    for way in (values, values[::-1]):
        plateaus = []
        for diffusivity in way:
            plateau, density = settle(problem, density, diffusivity)
            densities[diffusivity] = density
            plateaus.append(plateau)
        ways.append(tuple(plateaus))
    equal, transition = None, point.transition_diffusivity
    if point.order == "discontinuous" and transition is not None:
        # Start from the ordered state at the nearest smaller diffusivity on the way up.
        nearest = max(diffusivity for diffusivity in values if diffusivity < transition)
        equal, _ = settle(problem, densities[nearest], transition)
    particles = tuple(particle_ramp(problem, values, tokens)) if tokens else ()
    return Loop(
        problem,
        point,
        primary_branch(problem),
        float(ratios[0] - ratios[1]),
        *ways,
        equal,
        particles[: len(values)],
        particles[len(values) :],
    )


def fold(problem: mf.Problem) -> float:
    """Time in which the critical degree about uniform grows or decays by a factor e."""
    return 1.0 / abs(float(mf.growth_rates(problem, 1)[1]))


def at(problem: mf.Problem, diffusivity: float, law: mf.Law) -> mf.Problem:
    """Problem with another diffusivity and initial law."""
    return replace(problem, flow=replace(problem.flow, diffusivity=float(diffusivity)), initial=law)


def settle(
    problem: mf.Problem, density: mf.Density, diffusivity: float
) -> tuple[Plateau, mf.Density]:
    """Seed order, and evolve until no moment changes by more than SETTLED in an e-fold."""
    there = at(problem, diffusivity, mf.from_density(seeded(density)))
    times = fold(there) * np.arange(MOST_FOLDS + 1)
    options = Options(name="density", tolerance=TOLERANCE, max_degree=MAX_DEGREE)
    stream = trajectory(there, represent(there, options), times, tolerance=TOLERANCE)
    for before, here in itertools.pairwise(stream):
        if np.abs(here.moments - before.moments).max() < SETTLED:
            seen = ("order_parameter", "free_energy")
            found = observe(there, here.measure, here.moments, seen)
            flat = mf.uniform().build(there.manifold)
            base = observe(there, flat, flat.moments(there.moment_degree), seen)
            above = float(found["free_energy"] - base["free_energy"])
            order = float(found["order_parameter"])
            assert isinstance(here.measure, mf.Density)
            return Plateau(there.flow.diffusivity, order, 0.0, above), here.measure
    raise RuntimeError(f"D = {diffusivity:.6g}: not settled after {MOST_FOLDS} e-folds.")


def seeded(density: mf.Density) -> np.ndarray:
    """Coefficients of the mixture with the seed, which stays positive."""
    space = density.manifold
    carried = np.flatnonzero(space.sizes_by_degree(density.coefficients) > ROUNDING)
    seed = SEED_LAW.build(space)
    # A run starts with twice the given degree, so rounding would double the degree each time.
    degree = max(int(carried[-1]), seed.max_degree)
    return (1.0 - SEED) * density.moments(degree) + SEED * seed.moments(degree)


def particle_ramp(problem: mf.Problem, values: np.ndarray, tokens: int) -> Iterator[Plateau]:
    """Plateaus of noisy particles at the same diffusivities, down and up, without seeds."""
    law, own, unit = mf.uniform(), {"tokens": tokens}, 1.0 / mf.critical_diffusivity(problem)
    first = round(1000 * problem.kernel.beta)
    for seed, diffusivity in enumerate([*values, *values[::-1]], start=first):
        there = at(problem, diffusivity, law)
        steps = round(min(FOLDS * fold(there) / unit, LONGEST) / STEP)
        run = mf.simulate(
            there,
            steps * STEP * unit,
            save=SAMPLES,
            representation="particles",
            step=STEP * unit,
            seed=seed,
            **own,
        )
        late = run.observables["order_parameter"][-SAMPLES // 4 :]
        yield Plateau(diffusivity, float(late.mean()), float(late.std()), np.nan)
        law, own = mf.from_points(run.measures[-1].points), {}


def ordered_state(problem: mf.Problem, plateau: Plateau) -> float:
    """Order parameter of the ordered stationary state at a plateau, by Newton's method."""
    return stationary_state(at(problem, plateau.diffusivity, mf.uniform())).order_parameter
