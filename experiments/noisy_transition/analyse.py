"""Slow ramps of the diffusivity, down and up, through the phase transition.

Above the tricritical beta_* order must set in with a jump where uniform loses stability, D_#,
and break down at the saddle node of the ordered branch, D_SN > D_#. Below beta_* both ways must
be the same. Settled densities must equal stationary states by Newton's method. At the transition
D_c of the branch both densities must have equal free energies. Noisy particles go through the same
ramps. Draws transition.png (short.png).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from claims import Claim, Errors, near_zero
from noisy_transition.loop_figure import save_figure
from noisy_transition.ramp import (
    Loop,
    Plateau,
    breaks_down,
    ordered_state,
    ramped,
    sets_in,
)

from meanfield.runfile import load_config

SECONDS = 160, 8
FOLDER = Path(__file__).parent
TOKENS = 10_000
CIRCLE, FLAT, SPHERE = (
    ("problem.beta=5.0",),
    ("problem.beta=2.0",),
    ("problem.manifold=sphere", "problem.beta=3.0"),
)
# Changes of the run file, first and last D / D_# of the way down, width of a plateau, tokens.
WHOLE = (
    (CIRCLE, 1.17, 0.87, 0.02, TOKENS),
    (FLAT, 1.15, 0.87, 0.02, TOKENS),
    (SPHERE, 1.14, 0.90, 0.04, 0),
)
SHORT = (
    (CIRCLE, 1.14, 0.94, 0.04, 0),
    (FLAT, 1.14, 0.86, 0.04, 0),
    (SPHERE, 1.13, 0.97, 0.08, 0),
)
# Closer to D_# the order of particles fluctuates too much, or may end early.
NEAR = 0.04


def main(short: bool) -> list[Claim]:
    """Run, check, draw."""
    loops: list[Loop] = []
    checks: Errors = {}
    for changes, first, last, width, tokens in SHORT if short else WHOLE:
        problem = load_config(FOLDER / "run.toml", changes).problem
        count = round((first - last) / width) + 1
        loop = ramped(problem, np.linspace(first, last, count).tolist(), tokens)
        print(table(loop))
        checks |= density_checks(loop) | (particle_checks(loop) if tokens else {})
        loops.append(loop)
    figure = FOLDER / ("short.png" if short else "transition.png")
    save_figure(loops, figure, 0 if short else TOKENS)
    return near_zero(checks)


def table(loop: Loop) -> str:
    """Markdown table of order parameters, one row for each diffusivity."""
    point, critical = loop.point, loop.point.critical_diffusivity
    facts = [f"D_# = {critical:.10g}"]
    if point.saddle_node_diffusivity is not None and point.transition_diffusivity is not None:
        facts.append(f"D_c / D_# = {point.transition_diffusivity / critical:.9f}")
        facts.append(f"D_SN / D_# = {point.saddle_node_diffusivity / critical:.9f}")
    columns = ["D / D_#", "ordered state", "down", "up"]
    ways: list[Sequence[Plateau]] = [loop.down, loop.up[::-1]]
    if loop.particles_down:
        columns += ["particles down", "particles up"]
        ways += [loop.particles_down, loop.particles_up[::-1]]
    lines = [f"\n{loop.title}: {', '.join(facts)}\n", "| " + " | ".join(columns) + " |"]
    lines.append("|---" * len(columns) + "|")
    for row in zip(*ways, strict=True):
        exists = row[0].diffusivity < loop.saddle
        known = f"{ordered_state(loop.problem, row[0]):.7f}" if exists else "none"
        cells = [f"{loop.ratio(row[0]):.3f}", known]
        cells += [f"{p.order:.7f}" for p in row[:2]]
        cells += [f"{p.order:.3f} ({p.spread:.3f})" for p in row[2:]]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def density_checks(loop: Loop) -> Errors:
    """Errors of the density, with allowed values."""
    both, name = loop.down + loop.up, loop.title
    if loop.equal is None:
        ordered = [loop.ratio(p) < 1.0 for p in both]
        pairs = zip(loop.down, loop.up[::-1], strict=True)
        return {
            f"{name}: down minus up": (max(abs(p.order - q.order) for p, q in pairs), 1e-6),
            f"{name}: order minus the stationary one": (off(loop, both, ordered), 1e-6),
        }
    falls, rises = sets_in(loop.down), breaks_down(loop.up)
    critical, known = loop.point.critical_diffusivity, loop.point.order_parameter_at_transition
    # Order is expected from the jump down to the jump up, uniform before and after.
    ordered = [p.diffusivity <= falls.diffusivity for p in loop.down]
    ordered += [p.diffusivity < rises.diffusivity for p in loop.up]
    late = (rises.diffusivity - loop.saddle) / critical
    return {
        f"{name}: jump down below D_#": (beyond(1.0 - loop.ratio(falls)), loop.width),
        f"{name}: jump up above D_SN": (beyond(late), loop.width),
        f"{name}: order minus the stationary one": (off(loop, both, ordered), 1e-6),
        f"{name}: difference of free energies at D_c, of D_#": (
            abs(loop.equal.free_energy) / critical,
            1e-12,
        ),
        f"{name}: order at D_c minus that of the branch": (
            abs(loop.equal.order - known) if known else np.inf,
            1e-6,
        ),
    }


def particle_checks(loop: Loop) -> Errors:
    """Errors of particles, with allowed values: order away from D_#, and jumps around D_c."""
    down, up, width = loop.particles_down, loop.particles_up, loop.width
    name = f"{loop.title}: particles"
    if loop.equal is None:
        far = [p for p in down + up if loop.ratio(p) < 1.0 - NEAR]
        return {f"{name} minus the ordered state": (off(loop, far, [True] * len(far)), 0.03)}
    falls, rises = loop.ratio(sets_in(down)), loop.ratio(breaks_down(up))
    transition, saddle = loop.ratio(loop.equal), loop.saddle / loop.point.critical_diffusivity
    lasting = [p for p in up if loop.ratio(p) < 1.0 + NEAR]
    return {
        f"{name}, jump down below D_c": (beyond(transition - falls), transition - 1.0 + 2 * width),
        f"{name}, jump up above D_c": (beyond(rises - transition), saddle - transition + 2 * width),
        f"{name} minus the ordered state": (off(loop, lasting, [True] * len(lasting)), 0.02),
    }


def off(loop: Loop, plateaus: Sequence[Plateau], ordered: Sequence[bool]) -> float:
    """Largest distance of order parameters from those of stationary states."""
    return max(
        abs(p.order - (ordered_state(loop.problem, p) if order else 0.0))
        for p, order in zip(plateaus, ordered, strict=True)
    )


def beyond(distance: float) -> float:
    """Distance by which a jump is late; infinite if it is early."""
    return distance if distance >= 0.0 else float("inf")
