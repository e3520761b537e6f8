"""Optimal configurations of 2 to 24 repulsive tokens, compared with known energies.

Energies at four betas must not exceed known ones (`known.csv`), nor be below the bound of the
linear programme. Lower energies than known are printed as records. Densities return to uniform at
the rates of linear theory, and tokens stop above it. Draws configurations.png (short.png).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from claims import Claim, near_zero
from matplotlib.axes import Axes
from scipy.spatial import ConvexHull

import meanfield as mf
from meanfield.figures.draw.axes import ENERGY, FAINT, INK, MUTED, ORDER, style, title_above
from meanfield.figures.draw.figures import new_figure, write_figure
from meanfield.papers.configurations import uniform_energy
from meanfield.papers.optimal import Configuration

SECONDS = 120, 12
FOLDER = Path(__file__).parent
SPHERE, REPULSIVE = mf.Sphere(), mf.Flow("none", strength=-1.0)
BETAS = (2.0, 5.0, 10.0, 25.0)
BETA = 5.0
SHOWN = ((5, 5.0), (5, 10.0), (7, 5.0), (8, 5.0), (12, 5.0), (17, 5.0), (20, 5.0), (24, 5.0))
UNTIL = 400.0


def searched(short: bool) -> dict[tuple[int, float], Configuration]:
    """Best configurations by number of tokens and beta."""
    most, starts = (12, 8) if short else (24, 100)
    pairs = [(n, beta) for n in range(2, most + 1) for beta in BETAS]
    pairs += [pair for pair in SHOWN if pair not in pairs]
    return {(n, b): mf.optimal_configuration(SPHERE, n, b, starts=starts) for n, b in pairs}


def energies(space: mf.Sphere | mf.Axial, law: mf.Law, carrier: str) -> mf.Run:
    """Run of repulsive tokens, or of a density."""
    problem = mf.Problem(space, mf.exponential(BETA), REPULSIVE, law)
    return mf.simulate(problem, until=UNTIL, save=121, representation=carrier)


def decay_error() -> float:
    """Largest relative error of the decay rates of degrees 1 to 6 of a density."""
    law = mf.perturbed_uniform([[l, 0, 1e-7] for l in range(1, 7)])
    problem = mf.Problem(SPHERE, mf.exponential(BETA), REPULSIVE, law)
    run = mf.simulate(problem, until=2.0, save=2, representation="density", tolerance=1e-12)
    first, last = (SPHERE.sizes_by_degree(m.coefficients)[1:7] for m in run.measures)
    rates = mf.growth_rates(problem, 6)[1:]
    return float(np.abs(np.log(last / first) / 2.0 / rates - 1.0).max())


def main(short: bool) -> list[Claim]:
    """Search, check, draw."""
    table = np.loadtxt(FOLDER / "known.csv", delimiter=",", skiprows=1)
    known = {(int(n), b): p for n, *row in table for b, p in zip(BETAS, row, strict=True)}
    found = searched(short)
    above, records, outside = 0.0, 0, 0.0
    print("tokens  beta  P                       bound            gap             found  minima")
    for (n, beta), best in found.items():
        change = best.pair_energy / known[n, beta] - 1.0
        note = "" if not change < -1e-9 else f"  RECORD: below the known by {-change:.2e}"
        above, records = max(above, np.nan_to_num(change)), records + bool(note)
        outside = max(outside, 1.0 - best.pair_energy / max(best.lower_bound, 1e-300))
        bound = "proved" if best.proved else f"{best.lower_bound:.9g}"
        print(
            f"{n:6d} {beta:5g}  {best.pair_energy:<22.14g}  {bound:<15s}  {best.gap:<14.8g}  "
            f"{best.found:5d}  {len(best.minima):6d}{note}"
        )
    print(f"records: {records}")
    icosahedron = found[12, BETA]
    stopped = Claim(
        "icosahedron: energy over that of uniform, minus 1",
        0.0991,
        icosahedron.energy / icosahedron.uniform_energy - 1.0,
        5e-5,
    )
    checks = {
        "largest relative excess over a known energy": (above, 1e-9),
        "largest relative distance below the bound": (outside, 1e-15),
        "rates of degrees 1 to 6 of a density, relative": (decay_error(), 1e-4),
    }
    save_figure(FOLDER / ("short.png" if short else "configurations.png"), found)
    return [stopped, *near_zero(checks)]


def draw_globe(axes: Axes, points: np.ndarray) -> None:
    """Draw points on a transparent globe, with the edges of their hull."""
    # A view near an axis of inertia shows symmetry, and points do not hide each other.
    seen = points @ np.linalg.eigh(points.T @ points)[1]
    turn, tilt = 0.35, 0.3
    seen = seen @ np.array(
        [[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]]
    )
    seen = seen @ np.array(
        [[1, 0, 0], [0, np.cos(tilt), -np.sin(tilt)], [0, np.sin(tilt), np.cos(tilt)]]
    )
    # x is to the right and z up; the viewer is at y = -infinity.
    axes.add_patch(_disc(axes))
    hull = ConvexHull(points)
    normals = np.round(hull.equations[:, :3], 6)
    edges: dict[tuple[int, int], list[np.ndarray]] = {}
    for triangle, normal in zip(hull.simplices, normals, strict=True):
        for a, b in ((0, 1), (1, 2), (0, 2)):
            edge = tuple(sorted((int(triangle[a]), int(triangle[b]))))
            edges.setdefault(edge, []).append(normal)
    for (a, b), sides in edges.items():
        if np.allclose(sides[0], sides[1], atol=1e-5):
            continue  # a diagonal of a flat face
        front = seen[a, 1] + seen[b, 1] < 0
        axes.plot(
            *seen[[a, b]][:, [0, 2]].T, color=ORDER if front else FAINT, linewidth=1.2,
            zorder=3 if front else 1,
        )  # fmt: skip
    for near, colour in ((seen[:, 1] < 0, ENERGY), (seen[:, 1] >= 0, MUTED)):
        axes.scatter(
            seen[near, 0], seen[near, 2], s=26, color=colour, zorder=4 if colour == ENERGY else 2
        )
    axes.set(xlim=(-1.08, 1.08), ylim=(-1.08, 1.08), aspect="equal")
    axes.axis("off")


def _disc(axes: Axes) -> object:
    from matplotlib.patches import Circle

    return Circle((0, 0), 1.0, facecolor="none", edgecolor=MUTED, linewidth=0.8, zorder=0)


def save_figure(path: Path, found: dict[tuple[int, float], Configuration]) -> None:
    """Draw globes, gaps between energies and bounds, and energies of densities and tokens."""
    with style():
        figure = new_figure((11.0, 9.6))
        panels = figure.subplot_mosaic(
            [list("abcd"), list("efgh"), ["P", "P", "t", "t"]], height_ratios=(1, 1, 1.25)
        )
        for (n, beta), letter in zip(SHOWN, "abcdefgh", strict=True):
            best = found[n, beta]
            draw_globe(panels[letter], best.points)
            kind = best.sharp.name if best.sharp else f"{best.design}-design"
            title_above(panels[letter], f"{n} tokens", f"$\\beta = {beta:g}$, {kind}")
        above = panels["P"]
        for beta, colour in ((5.0, ORDER), (10.0, ENERGY), (25.0, "#17a2b8")):
            rows = [each for (n, b), each in found.items() if b == beta and not each.proved]
            share = [1.0 - each.lower_bound / each.pair_energy for each in rows]
            n = [each.tokens for each in rows]
            above.semilogy(n, share, "o-", color=colour, label=f"$\\beta = {beta:g}$")
        for n in (2, 3, 4, 6, 12):
            above.axvline(n, color=FAINT, linewidth=3.0, zorder=0)
        above.set(xlabel="tokens", ylabel="$1 -$ bound$\\,/P$")
        above.legend(loc="lower left")
        title_above(above, "What could be gained at most", "grey: proved optimal")
        uniform = uniform_energy(3, BETA)
        over = panels["t"]
        density = energies(mf.Axial(3), mf.von_mises_fisher(3.0), "density")
        over.semilogy(
            density.time, density.observables["energy"] / uniform - 1.0, color=INK, label="density"
        )
        for n, colour in ((12, ORDER), (48, "#17a2b8"), (192, ENERGY)):
            run = energies(SPHERE, mf.normal_tokens(n, seed=1), "particles")
            excess = run.observables["energy"] / uniform - 1.0
            over.semilogy(run.time, excess, color=colour, label=f"{n} tokens")
        over.axhline(found[12, BETA].energy / uniform - 1.0, color=ORDER, linestyle=":")
        over.set(xlabel="time", ylabel="energy over uniform, minus 1", ylim=(1e-8, 30))
        over.legend(loc="upper right", ncols=2)
        title_above(over, "Densities and tokens", f"$\\beta = {BETA:g}$; dotted: icosahedron")
        write_figure(figure, path)
