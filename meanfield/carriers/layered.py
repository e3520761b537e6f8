"""Tokens and nodes with lengths, under discrete layers or their flow.

    x = r theta,    x <- layer(x),    or x' of `schemes.layers` if the step is 0

The measure is that of the directions theta. Nodes of a density move as tokens do, with constant
masses; cells resolve the map from labels to directions.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from meanfield.arrays import FixedArrays, FloatArray, State
from meanfield.carriers.carrier import Representation
from meanfield.carriers.characteristics import CharacteristicsRepresentation
from meanfield.carriers.particles import ParticleRepresentation, out_of_range
from meanfield.carriers.step_limits import LINEAR, STABLE, longest
from meanfield.fields.layer_outputs import LayerOutputs
from meanfield.schemes.layers import Layers, lengths, unit

# Share of the length at depth 0: the direction of a shorter vector is lost.
_VANISHED = 1e-6


def late_arrays(late: bool) -> FixedArrays:
    """Arrays of a checkpoint that say whether "mix" has turned."""
    return {"late": np.array(1.0)} if late else {}


def turns(layers: Layers, time: float, late: bool) -> bool:
    """True if "mix" turns at this time of a flow."""
    return not late and layers.is_flow and layers.is_late(time)


def vanished(layers: Layers, x: FloatArray) -> str | None:
    """Reason to end where a token has almost no length left."""
    r = lengths(x)[:, 0]
    first = int(r.argmin())
    allowed = _VANISHED * (layers.radius if layers.has_radius else 1.0)
    if not r[first] < allowed:
        return None
    return (
        f"the length of token {first} fell to {r[first]:.1e}, where it has no direction: attention "
        "points against it. Take another placement, a larger radius or an end before"
    )


def speed_up(outputs: LayerOutputs, x: FloatArray) -> float:
    """Largest 1 / s over the tokens: how much faster the flow is than theta' = P A."""
    layers = outputs.layers
    norm = layers.norm
    if norm.of_output:
        theta = unit(x)
        sizes = [lengths(outputs.output(part, theta)) for part, _ in outputs.parts]
        smallest = np.min(sizes, axis=0)
        factor = layers.alpha if norm.relaxes else 1.0 / lengths(x)
        return float((factor / np.maximum(smallest, 1e-6)).max())
    return float(max(1.0, 1.0 / max(lengths(x).min(), 1e-300))) if layers.has_radius else 1.0


def limited(stable: float, outputs: LayerOutputs, x: FloatArray, time: float, late: bool) -> float:
    """Step of at most `stable`, up to where "mix" turns; below half its start no length halves.

    Longer steps lead beyond 0, where directions are reversed, and back again without end.
    """
    layers, r = outputs.layers, lengths(x)
    if layers.has_radius and r.min() < 0.5 * layers.radius:
        falling = -(unit(x) * outputs.rate(time, x, late=late)).sum(axis=1) / r[:, 0]
        stable = min(stable, longest(0.5, float(falling.max())))
    return min(stable, layers.tau - time) if layers.norm.turns and not late else stable


def radii(layers: Layers, x: FloatArray, weights: FloatArray | None) -> dict[str, float]:
    """Mean, least and largest length of tokens, where lengths matter."""
    if not layers.has_radius:
        return {}
    r = lengths(x)[:, 0]
    mean = r.mean() if weights is None else weights @ r
    return {
        "radius_mean": float(mean),
        "radius_min": float(r.min()),
        "radius_max": float(r.max()),
    }


@dataclass(frozen=True, eq=False)
class LayeredTokens(ParticleRepresentation):
    """Tokens under layers, or their flow; state: vectors r theta (n d,) on every space."""

    late: bool = False  # whether "mix" has turned

    @cached_property
    def outputs(self) -> LayerOutputs:
        return LayerOutputs(self.problem, self.weights)

    @property
    def fixed(self) -> FixedArrays:
        return super().fixed | late_arrays(self.late)

    def layer(self, number: float, state: State) -> State:
        """State after layer `number`, counted from 0."""
        return self.outputs.layer(number, self._vectors(state)).ravel()

    def rhs(self, time: float, state: State) -> State:
        return self.outputs.rate(time, self._vectors(state), late=self.late).ravel()

    def largest_step(self, time: float, state: State) -> float:
        """Step limit of tokens, in the clock of the placement, up to where "mix" turns."""
        x = self._vectors(state)
        stable = longest(STABLE, self.contraction * speed_up(self.outputs, x))
        return limited(stable, self.outputs, x, time, self.late)

    def adapt(self, time: float, state: State) -> LayeredTokens | None:
        late = turns(self.problem.layering, time, self.late)
        return replace(self, state=state, late=True) if late else None

    def failure(self, time: float, state: State) -> str | None:
        if not self.problem.manifold.is_sphere:
            return out_of_range(state)
        return vanished(self.problem.layering, self._vectors(state))

    def diagnostics(self, time: float, state: State) -> dict[str, float]:
        return radii(self.problem.layering, self._vectors(state), self.weights)

    at_saved_time = Representation.at_saved_time  # not that of particles

    def _vectors(self, state: State) -> FloatArray:
        return state.reshape(-1, self.problem.manifold.ambient)

    def _points(self, state: State) -> FloatArray:
        return self.problem.manifold.points_of(self._vectors(state))


@dataclass(frozen=True, eq=False)
class LayeredCharacteristics(CharacteristicsRepresentation):
    """Nodes of a density under layers, or their flow; state: positions and log r, times `scale`."""

    late: bool = False  # whether "mix" has turned

    @cached_property
    def outputs(self) -> LayerOutputs:
        return LayerOutputs(self.problem, self.masses)

    @property
    def fixed(self) -> FixedArrays:
        return super().fixed | late_arrays(self.late)

    def layer(self, number: float, state: State) -> State:
        points, x = self._vectors(state)
        moved = self.outputs.layer(number, x)
        space = self.problem.manifold
        if space.dimension == 1:
            # Unwrapped: add the angle by which each direction turned.
            turned = np.arctan2(
                x[:, 0] * moved[:, 1] - x[:, 1] * moved[:, 0], (x * moved).sum(axis=1)
            )
            points = points + turned
        else:
            points = space.points_of(moved)
        return self._state(points, np.log(lengths(moved)[:, 0]))

    def rhs(self, time: float, state: State) -> State:
        """Velocity of every node, and (log r)'."""
        space = self.problem.manifold
        points, scales = self._retracted(state)
        _, x = self._vectors(state)
        rate = self.outputs.rate(time, x, late=self.late) / lengths(x)
        theta = unit(x)
        velocity = space.project(points, rate) * space.per_point(scales)
        growing = (theta * rate).sum(axis=1) * self.scale
        return np.concatenate([velocity.ravel(), growing])

    def largest_step(self, time: float, state: State) -> float:
        """Step limit of nodes, in the clock of the placement, up to where "mix" turns."""
        _, x = self._vectors(state)
        stable = min(longest(STABLE, self.contraction), longest(LINEAR, self.linear_rate))
        return limited(stable / speed_up(self.outputs, x), self.outputs, x, time, self.late)

    def adapt(self, time: float, state: State) -> CharacteristicsRepresentation | None:
        adapted = super().adapt(time, state)
        if not turns(self.problem.layering, time, self.late):
            return adapted
        return layered_again(adapted or replace(self, state=state), True)

    def failure(self, time: float, state: State) -> str | None:
        layers = self.problem.layering
        reason = vanished(layers, self._vectors(state)[1]) or super().failure(time, state)
        if reason is not None and reason.startswith("labels fold") and not layers.is_flow:
            return (
                f"a layer of step {layers.step:g} folds the nodes: neighbours change their order, "
                "and no density follows that. Take representation 'particles', or a smaller step"
            )
        return reason

    def diagnostics(self, time: float, state: State) -> dict[str, float]:
        return self._resolution(state) | radii(
            self.problem.layering, self._vectors(state)[1], self.masses
        )

    def _sums_pairs(self, count: int) -> bool:
        return True

    def _vectors(self, state: State) -> tuple[FloatArray, FloatArray]:
        """Points, and vectors r theta."""
        space = self.problem.manifold
        points = self._points(state)
        return points, space.vectors(points) * np.exp(self._log_stretch(state))[:, None]

    def _state(self, points: FloatArray, log_r: FloatArray) -> State:
        positions = points.reshape(len(log_r), -1) * self.scale[:, None]
        return np.concatenate([positions.ravel(), log_r * self.scale])


def layered_tokens(start: ParticleRepresentation) -> LayeredTokens:
    """Tokens under layers at the points of `start`, with the initial radius of the layers."""
    problem = start.problem
    layers, space = problem.layering, problem.manifold
    x = space.vectors(space.retract(space.unflattened(start.state))[0])
    if layers.has_radius:
        x = layers.radius * x
    return LayeredTokens(problem, x.ravel(), start.weights, tolerance=start.tolerance)


def layered_nodes(start: CharacteristicsRepresentation) -> LayeredCharacteristics:
    """Nodes under layers at the points of `start`, with the initial radius of the layers."""
    layers, space = start.problem.layering, start.problem.manifold
    if space.has_rings:
        raise ValueError(
            f"{space.name}: nodes stand for whole rings, and go through no layers but flows of "
            f'"post" and "depth_scaled": take tokens, representation "particles".'
        )
    state = start.state.copy()
    log_r = np.log(layers.radius) if layers.has_radius else 0.0
    state[-len(start.base) :] = log_r * start.scale
    return layered_again(replace(start, state=state), False)


def layered_again(carrier: CharacteristicsRepresentation, late: bool) -> LayeredCharacteristics:
    """Nodes under layers, from a state with log r in the place of log J."""
    arguments = {each.name: getattr(carrier, each.name) for each in fields(carrier) if each.init}
    return LayeredCharacteristics(**(arguments | {"late": late}))
