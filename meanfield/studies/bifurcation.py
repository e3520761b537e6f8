"""Bifurcation diagram: the stationary states of a problem against its diffusivity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from meanfield.described import ResultBase
from meanfield.problem import Problem
from meanfield.spec import checked
from meanfield.stationary.branches import Branch, primary_branch
from meanfield.studies.phase import PhasePoint, onset
from meanfield.views import data_frame, plot_method


@dataclass(frozen=True, eq=False, repr=False)
class BifurcationDiagram(ResultBase):
    """Ordered states along the branch that leaves uniform, and the onset of order on it.

    Attributes
    ----------
    point : PhasePoint
        Critical, transition and saddle-node diffusivity, scaled time.
    branch : Branch
        Diffusivities, order parameters, free energies, stability; `branch.state(i)` is a state.
    """

    point: PhasePoint
    branch: Branch

    def table(self) -> Any:
        """Branch as a pandas.DataFrame, without pandas a dict of arrays: a row a state."""
        names = ("order_parameter", "free_energy", "stable_within_symmetry")
        columns = {name: getattr(self.branch, name) for name in names}
        return data_frame({"diffusivity": self.branch.values} | columns)

    plot = plot_method(
        "BifurcationDiagram.plot",
        "Figure of order and free energy against diffusivity; on axes of yours, of order alone.",
    )

    def __repr__(self) -> str:
        return f"BifurcationDiagram({self.point!r}, {len(self.branch.values)} states)"


@checked
def bifurcation_diagram(problem: Problem, *, smallest: float = 0.1) -> BifurcationDiagram:
    """Bifurcation diagram of a problem in its diffusivity.

    `phase_diagram` has the points that are marked in it over a range of beta.

    Parameters
    ----------
    problem : Problem
        On any sphere. Its diffusivity and its initial measure are not used.
    smallest : float
        Share of the critical diffusivity at which the branch ends, in (0, 1).

    Raises
    ------
    ValueError, ContinuationError
        As `phase_point`; or if `smallest` is no such share.

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
