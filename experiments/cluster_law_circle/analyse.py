"""Number of clusters on the circle: its law against ensembles of 1,000 runs.

For every beta and N: the mean in closed form, the linear and the corrected law sampled, and the
clusters of 1,000 runs at twice the onset time. Then where clusters form, predicted from the tokens
of each run, and the published settings beta = 5 and 7 with 20,000 tokens. Draws law.png.
"""

from __future__ import annotations

import math
from pathlib import Path

import cluster_law as law
from claims import Claim
from cluster_law_circle.positions import position_errors
from cluster_law_circle.positions import table as position_table
from law_figure import save_law_plot
from law_points import LawPoint

SECONDS = 3600, 30
FOLDER = Path(__file__).parent
BETAS = (1, 2, 3, 4, 5, 7, 9, 10, 12, 15, 20, 30, 40, 50, 100)
DENSITY = ("ensemble.tokens=[10000, 20000, 100000]", "ensemble.representation=density")
THOUSANDS = ("ensemble.tokens=[2000]",)
CHANGES = {"particles": (), "thousands": THOUSANDS, "density": DENSITY}
WHOLE = law.Grid(FOLDER, "beta", BETAS, CHANGES)
FEW = ("ensemble.tokens=[100, 1000]", "ensemble.runs=100")
SHORT = law.Grid(FOLDER, "short", (3, 9, 20), {"particles": FEW}, 2_000, 100)
# Where the corrected law is held to its promise, and on how many runs at least.
CORRECTED_BETAS, CORRECTED_TOKENS, CORRECTED_RUNS = (3.0, 40.0), (500, 20_000), 1_000
POSITION_BETAS, POSITION_TOKENS = (5, 7, 9, 20), (1000, 20_000)
# Sixteen runs of 20,000 tokens each, seen beforehand: clusters -> runs.
SEEN = {5.0: {3: 14}, 7.0: {3: 10, 4: 6}}


def main(short: bool, *, only_stored: bool = False) -> list[Claim]:
    """Run, check, draw."""
    grid = SHORT if short else WHOLE
    points = law.points_of(grid, only_stored)
    print(law.table(points, "k_max"))
    right = [p.measured.distribution.get(p.dominant_degree, 0.0) for p in points]
    print(f"\nshare of the runs with k_max clusters: {min(right):.2f} to {max(right):.2f}")
    claims = count_claims(points, short)
    positions(grid, short)
    runs = min(p.measured.samples for p in points)
    save_law_plot(
        points,
        FOLDER / ("short.png" if short else "law.png"),
        title="Cluster-count law on the circle",
        subtitle=f"exponential kernel,  USA,  {runs:,} runs a point",
    )
    return claims


def count_claims(points: list[LawPoint], short: bool) -> list[Claim]:
    """Both laws against the runs; the corrected one also where it need not hold."""
    if short:
        # A hundred runs know their mean to 2 %, and shares of runs to 5 %.
        return law.closed_form_claims(points, 0.04) + law.corrected_claims(points, 0.08, 0.25)
    tested = [
        p
        for p in points
        if CORRECTED_BETAS[0] <= p.beta <= CORRECTED_BETAS[1]
        and CORRECTED_TOKENS[0] <= p.tokens <= CORRECTED_TOKENS[1]
        and p.measured.samples >= CORRECTED_RUNS
    ]
    return [
        *law.corrected_claims(points, None, None),
        *law.closed_form_claims(points),
        *law.corrected_claims(tested),
        *published_claims(points),
    ]


def published_claims(points: list[LawPoint]) -> list[Claim]:
    """Shares of the published settings against sixteen runs seen beforehand."""
    claims = []
    for p in points:
        for count, seen in SEEN.get(p.beta, {}).items() if p.tokens == 20_000 else ():
            share = p.measured.distribution.get(count, 0.0)
            error = math.sqrt(max(share * (1.0 - share), 1e-12) / 16)
            what = f"beta = {p.beta:g}, N = 20,000: share of runs with {count} clusters"
            claims.append(Claim(what, seen / 16, share, 3.0 * error, "sixteen runs"))
    return claims


def positions(grid: law.Grid, short: bool) -> None:
    """Print where clusters form against both predictions."""
    runs = 50 if short else 1_000
    found = []
    for beta in sorted(set(POSITION_BETAS) & set(grid.betas)):
        for carrier in grid.changes:
            if not law.complete(grid, beta, carrier):
                continue
            problem, made = grid.config(beta).problem, grid.ensemble(beta, carrier)
            found += [
                position_errors(problem, made, made.tokens.tolist().index(n), runs)
                for n in POSITION_TOKENS
                if n in made.tokens
            ]
    print("\nmedian distance of a cluster from the nearest predicted position")
    print(position_table(found))
