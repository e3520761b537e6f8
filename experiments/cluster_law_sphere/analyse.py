"""Number of clusters on the sphere: laws compared with ensembles of 400 runs.

For every beta and N: the mean in closed form, samples of the linear and the corrected law, and the
clusters of 400 runs at twice the onset time. Draws law.png.
"""

from __future__ import annotations

from pathlib import Path

import cluster_law as law
from claims import Claim
from law_figure import save_law_plot

SECONDS = 1800, 50
FOLDER = Path(__file__).parent
DENSITY = ("ensemble.tokens=[10000, 100000]", "ensemble.representation=density")
WHOLE = law.Grid(
    FOLDER, "beta", (1, 2, 3, 5, 8, 12), {"particles": (), "density": DENSITY}, 10_000, 400
)
FEW = ("ensemble.tokens=[100, 1000]", "ensemble.runs=40")
SHORT = law.Grid(FOLDER, "short", (3, 5), {"particles": FEW}, 1_000, 40)


def main(short: bool, *, only_stored: bool = False) -> list[Claim]:
    """Run, check, draw."""
    grid = SHORT if short else WHOLE
    points = law.points_of(grid, only_stored)
    print(law.table(points, "l_max"))
    # Forty runs have errors of about 4 % in the mean, and 8 % in shares. The whole form has 400
    # runs and 400 samples, with 2 % and 3 %; its bounds are those on the circle.
    claims = law.closed_form_claims(points, 0.08 if short else 0.0)
    tested = [p for p in points if short or (p.beta >= 3 and 500 <= p.tokens <= 20_000)]
    claims += law.corrected_claims(tested, *((0.15, 0.35) if short else (0.04, 0.12)))
    runs = min(p.measured.samples for p in points)
    save_law_plot(
        points,
        FOLDER / ("short.png" if short else "law.png"),
        title="Cluster-count law on the sphere",
        subtitle=f"exponential kernel,  USA,  {runs} runs a point",
    )
    return claims
