"""Bifurcation diagram: the stationary states of a problem against its diffusivity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self, get_args

import numpy as np

from meanfield.arguments import checked
from meanfield.described import Array, StudyResult, plot_method
from meanfield.problem import Problem
from meanfield.spectrum.stability import critical_degree
from meanfield.stationary.branches import Branch, Kind, SpecialPoint, primary_branch
from meanfield.stationary.symmetry import LARGEST_NODES, axisymmetric
from meanfield.studies.phase import PhasePoint, onset

# Fields of a branch and of its special points, in files.
_STATE = {
    "values": Array(("state",), "diffusivity", "1 / scaled time"),
    "order_parameter": Array(("state",), "order_parameter"),
    "free_energy": Array(("state",), "free_energy", "1 / scaled time"),
    "stable_within_symmetry": Array(("state",), "stable_within_symmetry", kind="b"),
    "moments": Array(("state", "degree"), "moments"),
}
_SPECIAL = {
    "kind": Array(("special",), "special_kind", kind="i"),
    "value": Array(("special",), "special_diffusivity", "1 / scaled time"),
    "order_parameter": Array(("special",), "special_order_parameter"),
    "free_energy": Array(("special",), "special_free_energy", "1 / scaled time"),
    "moments": Array(("special", "degree"), "special_moments"),
}
_KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, eq=False, repr=False)
class BifurcationDiagram(StudyResult):
    """Ordered states along the branch that leaves uniform, and its onset of order.

    Attributes
    ----------
    point : PhasePoint
        Critical, transition and saddle-node diffusivity, scaled time.
    branch : Branch
        Diffusivities, order parameters, free energies, stability; `branch.state(i)` is a state.
    attributes : dict
        Attributes of a file: status, created, ...
    """

    kind = "bifurcation_diagram"
    stored_as = {"nodes": "nodes"}
    required = ("config", "nodes")

    point: PhasePoint
    branch: Branch
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def problem(self) -> Problem:
        """The problem of the branch."""
        return self.branch.problem

    @property
    def nodes(self) -> int:
        """Number of quadrature nodes of its states."""
        return len(self.branch.symmetry.log_weights)

    @classmethod
    def described(cls) -> dict[str, Array]:
        arrays = (Array(("degree",), "degree", kind="i"), *_STATE.values(), *_SPECIAL.values())
        return {one.name: one for one in arrays}

    def stored_values(self) -> dict[str, Any]:
        branch, special = self.branch, self.branch.special
        states = {one.name: getattr(branch, name) for name, one in _STATE.items()}
        points = {o.name: [getattr(each, n) for each in special] for n, o in _SPECIAL.items()}
        kinds = [_KINDS.index(each.kind) for each in special]
        return {"degree": branch.symmetry.degrees} | states | points | {"special_kind": kinds}

    @classmethod
    def check_values(cls, values: Mapping[str, Any], attributes: Mapping[str, Any]) -> None:
        degrees, kinds = values["degree"], values["special_kind"]
        if not len(degrees) or np.any(degrees != degrees[0] * np.arange(1, len(degrees) + 1)):
            raise ValueError("degree holds other numbers than the multiples of one")
        if attributes["nodes"] > LARGEST_NODES:
            raise ValueError(f"nodes is {attributes['nodes']}, expected at most {LARGEST_NODES}")
        if not len(values["diffusivity"]) or np.any(kinds < 0) or np.any(kinds >= len(_KINDS)):
            raise ValueError(
                f"a branch needs a state, and special kinds from 0 to {len(_KINDS) - 1}"
            )

    @classmethod
    def restored(cls, values: Mapping[str, Any], attributes: dict[str, Any]) -> Self:
        problem: Problem = cls.stored_problem(attributes)
        degrees = values["degree"]
        symmetry = axisymmetric(
            problem.zonal.dimension, degrees[-1], fold=degrees[0], nodes=attributes["nodes"]
        )
        points = zip(*(values[one.name] for one in _SPECIAL.values()), strict=True)
        branch = Branch(
            problem,
            symmetry,
            critical_degree(problem),
            **{name: values[one.name] for name, one in _STATE.items()},
            special=tuple(SpecialPoint(_KINDS[kind], *numbers) for kind, *numbers in points),
        )
        return cls(onset(branch), branch, attributes)

    @property
    def columns(self) -> dict[str, Any]:
        """Columns of the branch, a row for each state."""
        return {
            one.name: getattr(self.branch, name)
            for name, one in _STATE.items()
            if name != "moments"
        }

    plot = plot_method(
        "BifurcationDiagram.plot",
        "Figure of order and free energy against diffusivity; on axes of yours, of order alone.",
    )

    def __repr__(self) -> str:
        return f"BifurcationDiagram({self.point!r}, {len(self.branch.values)} states)"


@checked
def bifurcation_diagram(problem: Problem, *, smallest: float = 0.1) -> BifurcationDiagram:
    """Bifurcation diagram of a problem in its diffusivity.

    `phase_diagram` has its special points over a range of beta.

    Parameters
    ----------
    problem : Problem
        On any sphere. Its diffusivity and its initial measure are not used.
    smallest : float
        Share of the critical diffusivity at which the branch ends, in (0, 1).

    Raises
    ------
    ValueError, ContinuationError
        As in `phase_point`; or if `smallest` is out of range.

    Examples
    --------
    >>> import meanfield as mf
    >>> diagram = bifurcation_diagram(mf.Problem(mf.Circle(), mf.exponential(beta=3.0), mf.USA))
    >>> diagram.point.order, bool(diagram.branch.order_parameter.max() > 0.9)
    ('discontinuous', True)
    """
    problem.check_own_clock("phases")
    branch = primary_branch(problem, smallest=smallest)
    return BifurcationDiagram(onset(branch), branch)
