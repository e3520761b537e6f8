"""Number of clusters on the circle: laws compared with ensembles of 1,000 runs.

For every beta and N: the mean in closed form, samples of the linear and the corrected law, and the
clusters of 1,000 runs at twice the onset time. Then positions of clusters, predicted from the
tokens of each run, and the published settings beta = 5 and 7 with 20,000 tokens. Draws law.png.
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
# Points at which the corrected law is tested, and the least number of runs.
CORRECTED_BETAS, CORRECTED_TOKENS, CORRECTED_RUNS = (3.0, 40.0), (500, 20_000), 1_000
POSITION_BETAS, POSITION_TOKENS = (5, 7, 9, 20), (1000, 20_000)
# Earlier counts of sixteen runs with 20,000 tokens: clusters -> runs.
PUBLISHED = {5.0: {3: 14}, 7.0: {3: 10, 4: 6}}


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
    """Claims on both laws against the runs; without bounds where the corrected one may fail."""
    if short:
        # A hundred runs have errors of 2 % in the mean, and 5 % in shares.
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
    """Claims on the published settings against sixteen earlier runs."""
    claims = []
    for p in points:
        for count, seen in PUBLISHED.get(p.beta, {}).items() if p.tokens == 20_000 else ():
            share = p.measured.distribution.get(count, 0.0)
            error = math.sqrt(max(share * (1.0 - share), 1e-12) / 16)
            what = f"beta = {p.beta:g}, N = 20,000: share of runs with {count} clusters"
            claims.append(Claim(what, seen / 16, share, 3.0 * error, "sixteen runs"))
    return claims


def positions(grid: law.Grid, short: bool) -> None:
    """Print errors of both predictions of positions."""
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
