"""`meanfield phase`: noise at which order sets in, with or without a jump."""

from __future__ import annotations

import argparse
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from meanfield.commands.arguments import add_json, finite
from meanfield.commands.progress import shown
from meanfield.commands.streams import say
from meanfield.commands.tables import facts, table, to_json
from meanfield.config.errors import one_line
from meanfield.flows import Flow
from meanfield.kernels import KERNELS
from meanfield.manifolds import manifold_of
from meanfield.problem import Problem
from meanfield.stationary.bordered import ContinuationError
from meanfield.studies.phase import PhaseDiagram, PhasePoint, phase_diagram
from meanfield.theory.time_units import paper_time_factor

_MOST_BETAS = 10_000
# A grid through 0 meets it up to rounding only; there the kernel is the linear one.
_ZERO = 1e-12

# A bifurcation diagram goes down to this share of its largest diffusivity.
_SHOWN_SHARE, _NEARLY_CRITICAL = 0.1, 0.9
# Ordered states above this are followed by free energy, in units of the diffusivity.
_NEARLY_DIRAC, _DEPTH = 0.95, 1.0

_ORDERS = {
    "continuous": "continuous: order grows from 0 below the critical diffusivity",
    "discontinuous": "discontinuous: uniform and order both stable from critical to saddle node",
}
_NO_TRANSITION = "unknown: no free energy is known for the normalised flow"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    command.add_argument(
        "--manifold", required=True, metavar="M", help="circle, sphere or sphere:D (in R^D)"
    )
    command.add_argument(
        "--beta",
        required=True,
        type=finite,
        nargs="+",
        metavar="B",
        help="inverse temperature; 0 is Kuramoto. LO HI COUNT: equally spaced",
    )
    command.add_argument("--kernel", choices=sorted(KERNELS), default="exponential")
    command.add_argument("--normalized", action="store_true", help="softmax (SA) instead of USA")
    command.add_argument(
        "--plot",
        metavar="FIG",
        help="bifurcation diagram, or phase diagram of a range, as .png, .pdf or .svg",
    )
    add_json(command)


def execute(options: argparse.Namespace) -> int:
    """Find where order sets in, for one beta or for a range."""
    betas = inverse_temperatures(options.beta)
    if options.kernel == "linear" and len(betas) > 1:
        raise ValueError("--kernel linear does not depend on beta: give --beta 0, not a range.")
    problem_at = _family(options)
    for beta in (betas[0], betas[-1]):
        problem_at(beta)  # a beta that is too large is refused before any is computed
    if options.plot:
        from meanfield.outputs.plots.figures import check_figure

        check_figure(options.plot)
    reporter = _reporter(len(betas)) if len(betas) > 1 else None
    try:
        diagram = phase_diagram(problem_at, betas, report=reporter)
        if options.plot:
            _draw(diagram, problem_at, options.plot)
    except ContinuationError as error:
        say(f"meanfield: {one_line(str(error))}")
        return 1
    if len(betas) == 1:
        problem = problem_at(betas[0])
        print(to_json(found_json(diagram)[0]) if options.json else _text(problem, diagram))
    else:
        print(to_json(diagram_json(diagram)) if options.json else _range_text(problem_at, diagram))
    return 0


def inverse_temperatures(given: Sequence[float]) -> list[float]:
    """One beta, or those that LO HI COUNT stands for.

    Raises
    ------
    ValueError
        If there are neither 1 nor 3 numbers, or these are no range.

    Examples
    --------
    >>> inverse_temperatures([3.0]), inverse_temperatures([1.0, 2.0, 3.0])
    ([3.0], [1.0, 1.5, 2.0])
    """
    if len(given) == 1:
        return list(given)
    if len(given) != 3:
        raise ValueError(f"--beta takes B or LO HI COUNT, got {len(given)} numbers.")
    low, high, count = given
    if not low < high:
        raise ValueError(f"--beta LO HI COUNT needs LO < HI, got {low:g} and {high:g}.")
    if count != int(count) or not 2 <= count <= _MOST_BETAS:
        raise ValueError(
            f"--beta LO HI COUNT needs a whole COUNT from 2 to {_MOST_BETAS}, got {count:g}."
        )
    betas = np.linspace(low, high, int(count))
    betas[np.abs(betas) < _ZERO * (high - low)] = 0.0
    return [float(beta) for beta in betas]


def found_json(diagram: PhaseDiagram) -> list[dict[str, Any]]:
    """What `meanfield phase --json` prints of one beta, for each of the diagram."""
    shared = _shared(diagram)
    return [shared | _point_json(point) for point in diagram.points]


def diagram_json(diagram: PhaseDiagram) -> dict[str, Any]:
    """What `meanfield phase --json` prints of a range."""
    return _shared(diagram) | {"diagram": [_point_json(point) for point in diagram.points]}


def papers_kappa(problem: Problem, diffusivity: float | None) -> float | None:
    """Noise parameter of the papers, 1 / (diffusivity in their time); None beyond range.

    Their noise is Laplacian / kappa beside the kernel e^{beta s}, so that
    kappa = e^{-|beta|} / D for USA with the exponential kernel, and 1 / D else.

    Examples
    --------
    >>> import meanfield as mf
    >>> papers_kappa(mf.Problem(mf.Circle(), mf.linear()), 0.5)
    2.0
    """
    if diffusivity is None:
        return None
    kappa = paper_time_factor(problem) / diffusivity
    return kappa if np.finfo(float).tiny <= kappa < np.inf else None


def _family(options: argparse.Namespace) -> Callable[[float], Problem]:
    """The problem as a function of beta."""
    manifold, flow = manifold_of(options.manifold), Flow(options.normalized)
    return lambda beta: Problem(manifold, KERNELS[options.kernel](beta), flow)


def _reporter(total: int) -> Callable[[PhasePoint], None]:
    """Progress for a study that calls back: each point goes through the usual stream."""
    found: deque[PhasePoint] = deque()
    stream = shown(
        iter(found.popleft, None), total, "phase", note=lambda point: f"beta = {point.beta:g}"
    )

    def report(point: PhasePoint) -> None:
        found.append(point)
        next(stream)

    return report


def _draw(diagram: PhaseDiagram, problem_at: Callable[[float], Problem], path: str) -> None:
    if len(diagram.points) > 1:
        from meanfield.outputs.plots.phase import save_phase_diagram

        save_phase_diagram(diagram, path)
        return
    from meanfield.outputs.plots.bifurcation import save_bifurcation
    from meanfield.stationary.branches import primary_branch

    point = diagram.points[0]
    largest = point.saddle_node_diffusivity or point.critical_diffusivity
    # Sharper states than the picture shows would need far more nodes at large beta.
    smallest = min(_NEARLY_CRITICAL, _SHOWN_SHARE * largest / point.critical_diffusivity)
    jump, transition = point.order_parameter_at_transition, point.transition_diffusivity
    stop = None
    if jump is not None and transition is not None and jump > _NEARLY_DIRAC:
        # The branch would end before the transition: this free energy lies well beyond it.
        stop = _below(-_DEPTH * transition)
    branch = primary_branch(problem_at(point.beta), smallest=smallest, stop=stop)
    save_bifurcation(point, branch, path)


def _below(limit: float) -> Callable[[float], bool]:
    return lambda energy: energy < limit


def _shared(diagram: PhaseDiagram) -> dict[str, Any]:
    return {
        "manifold": diagram.manifold,
        "kernel": diagram.kernel,
        "normalized": diagram.normalized,
        "tricritical_beta": diagram.tricritical_beta,
    }


def _point_json(point: PhasePoint) -> dict[str, Any]:
    return {
        "beta": point.beta,
        "critical_diffusivity": point.critical_diffusivity,
        "transition_diffusivity": point.transition_diffusivity,
        "saddle_node_diffusivity": point.saddle_node_diffusivity,
        "order": point.order,
        "order_parameter_at_transition": point.order_parameter_at_transition,
    }


def _text(problem: Problem, diagram: PhaseDiagram) -> str:
    """One beta for people."""
    point = diagram.points[0]
    pairs: list[tuple[str, Any]] = [
        ("problem", f"{problem.manifold.name}, {problem.kernel!r}"),
        ("flow", "SA" if diagram.normalized else "USA"),
        ("order", _ORDERS[point.order]),
    ]
    if point.transition_diffusivity is None:
        pairs.append(("transition", _NO_TRANSITION))
    else:
        pairs.append(("order parameter at the transition", point.order_parameter_at_transition))
    pairs.append(("tricritical beta", _tricritical(diagram)))
    rows = [
        [name, value, _excess(value, point.critical_diffusivity), papers_kappa(problem, value)]
        for name, value in (
            ("critical", point.critical_diffusivity),
            ("transition", point.transition_diffusivity),
            ("saddle node", point.saddle_node_diffusivity),
        )
        if value is not None
    ]
    return (
        facts(pairs) + "\n\n" + table(["", "diffusivity", "above critical", "papers' kappa"], rows)
    )


def _excess(value: float, critical: float) -> str:
    """How far above the critical diffusivity, with digits where it is hardly so."""
    return f"{100 * (value - critical) / critical:.6g} %"


def _range_text(problem_at: Callable[[float], Problem], diagram: PhaseDiagram) -> str:
    """A range of betas for people."""
    pairs: list[tuple[str, Any]] = [
        ("problem", f"{diagram.manifold}, {diagram.kernel} kernel"),
        ("flow", "SA" if diagram.normalized else "USA"),
    ]
    if any(point.transition_diffusivity is None for point in diagram.points):
        pairs.append(("transition", _NO_TRANSITION))
    pairs.append(("tricritical beta", _tricritical(diagram)))
    header = ["beta", "order", "critical", "transition", "saddle node", "order parameter", "kappa"]
    rows = [
        [
            point.beta,
            point.order,
            point.critical_diffusivity,
            point.transition_diffusivity,
            point.saddle_node_diffusivity,
            point.order_parameter_at_transition,
            papers_kappa(
                problem_at(point.beta), point.transition_diffusivity or point.critical_diffusivity
            ),
        ]
        for point in diagram.points
    ]
    last = "transition" if rows[-1][3] is not None else "critical diffusivity"
    note = f"order parameter: at the transition. kappa: the papers' noise at the {last}."
    return facts(pairs) + "\n\n" + table(header, rows) + "\n\n" + note


def _tricritical(diagram: PhaseDiagram) -> Any:
    return "none" if diagram.tricritical_beta is None else diagram.tricritical_beta
