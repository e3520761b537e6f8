"""Make docs/verification.md of the lines that `verified` has written.

    MEANFIELD_VERIFICATION=lines.jsonl python -m pytest tests/verification
    python tests/verification/report.py lines.jsonl

`make verify` does both. Each line is one case of a check; the page has one row a check, with its
worst case, and figures of the curves under docs/images/verification/.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import reporting
from matplotlib import colormaps
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from meanfield.figures.draw.axes import MUTED, style
from meanfield.figures.draw.figures import new_figure, write_figure

LIBRARIES = ("numpy", "scipy", "numba", "ducc0")
MANIFOLDS = ("circle", "sphere")
ROUNDING = 1e-17

SECTIONS = {
    "exact solutions": "Solutions, rates and numbers known in closed form. Where numbers are "
    "compared as printed, the tolerance is the rounding of their last digit.",
    "manufactured solutions": "A source term makes two bumps that turn and change their width an "
    "exact solution, with and without diffusion: `tests/verification/test_manufactured.py`.",
    "order in time": "Slope of the error against the length of fixed steps. The error is the "
    "difference of the measured order from the order of the method.",
    "convergence in degree": "A spectral method gains more digits with every degree: the error "
    "is that at the largest degree shown.",
    "invariants": "What the equation conserves, and what may only grow.",
    "symmetry": "Moved, mirrored and symmetric starts stay so; no grid is a preferred direction.",
    "independent methods": "Representations that share little but the equation, and codes written "
    "down in the tests from the equation alone, without a line of the package.",
    "statistics": "Random tokens and noise: deviations in standard errors, exponents of laws.",
}
"""Title of a section -> what stands below it, in the order of the page."""


@dataclass(frozen=True)
class Check:
    """All cases of one name; `worst` is the one nearest to its tolerance, or farthest beyond."""

    what: str
    cases: int
    worst: dict[str, Any]

    @property
    def passed(self) -> bool:
        """True if every case is within its tolerance; NaN is not."""
        return bool(self.worst["error"] <= self.worst["tolerance"])


def share(line: dict[str, Any]) -> float:
    """Error in units of the tolerance; infinite if it is not a number."""
    error, tolerance = line["error"], line["tolerance"]
    if not np.isfinite(error):
        return float("inf")
    return float(error / tolerance) if tolerance else float(error > 0)


def checks(lines: Sequence[dict[str, Any]], section: str) -> list[Check]:
    named = reporting.by_name(lines, section)
    return [Check(what, len(cases), max(cases, key=share)) for what, cases in named]


def number(value: float) -> str:
    return "0" if value == 0 else f"{value:.1e}" if value < 1e-3 else f"{value:.2g}"


def row(check: Check) -> list[object]:
    worst, what = check.worst, reporting.heading(check.what)
    if worst["measured"] is not None:
        what += f": {worst['measured']:.4g}"
    error = number(worst["error"]) if check.passed else f"**{number(worst['error'])}**"
    return [what, check.cases, error, number(worst["tolerance"]), reporting.place(worst)]


def table(entries: Sequence[Check]) -> str:
    columns = {"Checked": "l", "Cases": "r", "Error": "r", "Tolerance": "r", "In `tests/`": "l"}
    return reporting.table(columns, map(row, entries))


def mutation_table(lines: Sequence[dict[str, Any]]) -> str:
    rows = [
        [line["what"], f"`{line['file']}`", f"`{line['by']}`" if line["caught"] else "**nobody**"]
        for line in lines
    ]
    return reporting.table({"Mistake": "l", "File": "l", "Caught by": "l"}, rows)


def curves_figure(entries: Sequence[Check], path: Path, x_label: str) -> None:
    """Errors of all checks that have a curve, a panel a manifold, labelled by what is left."""
    with style():
        figure = new_figure((10.0, 5.4))
        panels = figure.subplots(1, 2, sharex=True, sharey=True)
        for axes, name in zip(panels, MANIFOLDS, strict=True):
            here = [check for check in entries if check.worst["curve"] and name in check.what]
            for i, check in enumerate(here):
                sizes, errors = check.worst["curve"]
                label = check.what.replace(f", {name}", "")
                if check.worst["measured"] is not None:
                    label += f": {check.worst['measured']:.2f}"
                colour = colormaps["tab20"](i % 20)
                # What is zero to rounding has no place on a logarithmic axis.
                positive = np.maximum(errors, ROUNDING)
                axes.plot(sizes, positive, "o-", ms=3.5, lw=1.2, color=colour, label=label)
            axes.set(title=name, xlabel=x_label, xscale="log", yscale="log")
            axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
            axes.xaxis.set_minor_formatter(NullFormatter())
            axes.grid(True, color=MUTED, alpha=0.25, lw=0.5)
            if here:
                axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2, fontsize=7.0)
        panels[0].set_ylabel("error")
        write_figure(figure, path)


FIGURES = {
    "order in time": ("time step", "Errors against the time step, by integrator"),
    "convergence in degree": ("degree", "Errors against the degree, down to rounding"),
}
"""Section -> label of the horizontal axis of its figure, and what the figure shows."""


def page(lines: Sequence[dict[str, Any]], docs: Path) -> str:
    """Text of the page; draws its figures on the way.

    Raises
    ------
    ValueError
        If a line is of a section that the page does not have.
    """
    mutations = [line for line in lines if line["section"] == "mutations"]
    reporting.check_sections(lines, [*SECTIONS, "mutations"])
    by_section = {section: checks(lines, section) for section in SECTIONS}
    everything = [check for entries in by_section.values() for check in entries]
    failed = sum(not check.passed for check in everything)
    cases = sum(check.cases for check in everything)
    broken = reporting.failed_tests(lines)
    result = "; ".join(filter(None, [f"{failed} fail" if failed else "", broken])) or "all pass"
    parts = [
        "# Verification",
        "Written by `make verify`, which runs every check; not edited by hand. A row is a check "
        "with all its cases (manifolds, kernels, flows, sizes) and shows the worst of them: the "
        "one nearest to its tolerance. Errors are absolute unless the row says otherwise; "
        "densities and moments are of order one.",
        f"{len(everything)} checks of {cases} cases: {result}. "
        + reporting.origin(LIBRARIES, lines),
    ]
    for section, entries in by_section.items():
        if not entries:
            continue
        parts += [f"## {section[0].upper()}{section[1:]}", SECTIONS[section]]
        if section in FIGURES:
            x_label, alternative = FIGURES[section]
            image = f"images/verification/{section.replace(' ', '_')}.png"
            (docs / image).parent.mkdir(parents=True, exist_ok=True)
            curves_figure(entries, docs / image, x_label)
            parts.append(f"![{alternative}]({image})")
        parts.append(table(entries))
    if mutations:
        caught = sum(line["caught"] for line in mutations)
        parts += [
            "## Deliberate mistakes",
            f"Wrong signs, factors and conjugations, one at a time in a copy of the package: "
            f"{caught} of {len(mutations)} are caught (`make mutations`).",
            mutation_table(mutations),
        ]
    return reporting.joined(parts)


if __name__ == "__main__":
    reporting.write_page(__doc__.splitlines()[0], "verification.md", page)
