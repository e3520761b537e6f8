"""Tokens that maximise the energy of a matrix (arXiv:2501.03096, figures 1, 6 and 7).

    E(mu) = int int e^{x^T D y} dmu dmu

on the sphere, with score and value D and no normalisation. The largest energy is e^lambda for one
cluster on the axis of the largest eigenvalue lambda, if no eigenvalue is negative. For D = -1 it is
cosh(1), for two equal opposite clusters. With eigenvalues -mu and lambda, mu > lambda > 0, it is
cosh(mu) if lambda < ln cosh(mu), else e^lambda.
"""

from __future__ import annotations

import math

import numpy as np
from claims import Claim
from matplotlib.figure import Figure

from meanfield.arrays import FloatArray
from meanfield.figures.draw.axes import ENERGY, INK, ORDER
from published.entry import Progress, Reproduction, unfollowed
from published.spheres import draw_ball, energy_of, moved_by

# Diagonals of D, and numbers of starts.
MATRICES = {"1": (1.0, 1.0, 1.0), "(1, 3, 4)": (1.0, 3.0, 4.0),
            "-1": (-1.0, -1.0, -1.0), "(1, -3, -4)": (1.0, -3.0, -4.0)}  # fmt: skip
STARTS = {"1": 30, "(1, 3, 4)": 30, "-1": 6, "(1, -3, -4)": 30}
# Paper time; clusters form at rates e^{largest weight}.
UNTIL = {"1": 25.0, "(1, 3, 4)": 1.5, "-1": 25.0, "(1, -3, -4)": 1.5}
TOKENS = 100
# Energies stored by the source for D = diag(-1, -0.51515): one cluster, two along either axis.
ENTRY, STORED = -0.5151515007019043, (0.59741008, 1.54308057, 1.13565111)


def cluster_energies(entry: float) -> FloatArray:
    """E under D = diag(-1, d) of one cluster at e_2, and two equal ones at +-e_1 and at +-e_2."""
    states = ([[0.0, 1.0]], [[1.0, 0.0], [-1.0, 0.0]], [[0.0, 1.0], [0.0, -1.0]])
    return np.array([energy_of(np.array(each), (-1.0, entry)) for each in states])


def compute(
    short: bool = False, published: bool = False, progress: Progress = unfollowed
) -> Reproduction:
    """Final tokens of all starts under the four matrices, and energies of clusters."""
    rng = np.random.default_rng(142)
    # The short form has one start for D = 1 and D = -1.
    chosen = ("1", "-1") if short else tuple(MATRICES)
    jobs = [(name, start) for name in chosen for start in range(1 if short else STARTS[name])]
    tokens: dict[str, list[FloatArray]] = {name: [] for name in chosen}
    for name, _ in progress(jobs, len(jobs), "starts"):
        points = rng.standard_normal((20 if short else TOKENS, 3))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        tokens[name].append(moved_by(MATRICES[name], 1.0, points, UNTIL[name]))
    all_tokens = {name: np.array(found) for name, found in tokens.items()}
    energies = {
        name: max(energy_of(each, MATRICES[name]) for each in found)
        for name, found in all_tokens.items()
    }
    cosines = {name: found @ found.transpose(0, 2, 1) for name, found in all_tokens.items()}
    exact = "exact: the theorem of the source, which prints no number"
    numbers = [
        Claim("$D = 1$: smallest cosine of two tokens", 1.0, float(cosines["1"].min()), 1e-9,
               exact),
        Claim("$D = 1$: energy", math.e, energies["1"], 1e-9, exact),
        Claim("$D = -1$: smallest $|\\cos|$ of two tokens", 1.0,
               float(np.abs(cosines["-1"]).min()), 1e-9, exact),
        Claim("$D = -1$: largest energy", math.cosh(1.0), energies["-1"], None,
               "of two equal clusters; those found need not be equal"),
    ]  # fmt: skip
    numbers += [
        Claim(f"$D = {name}$: smallest $|x_3|$", 1.0,
               float(np.abs(all_tokens[name][..., 2]).min()), 1e-9, exact)
        for name in chosen
        if name not in ("1", "-1")
    ]  # fmt: skip
    numbers += [
        Claim(f"energy of {what}, $D = (-1, -0.515)$", stored, float(found), 2e-7, "stored",
               printed=True)
        for what, stored, found in zip(
            ("one cluster", "two along $e_1$", "two along $e_2$"), STORED, cluster_energies(ENTRY),
            strict=True,
        )
    ]  # fmt: skip
    entries = np.linspace(-1.0, 1.0, 101)
    data = {f"tokens {name}": found for name, found in all_tokens.items()}
    table = np.array([cluster_energies(entry) for entry in entries])
    return Reproduction(tuple(numbers), {**data, "entry": entries, "energy": table})


def draw(figure: Figure, reproduction: Reproduction) -> None:
    """Final tokens of all starts on balls, and the energies of figure 7."""
    data = reproduction.data
    kept = [name for name in MATRICES if f"tokens {name}" in data]
    figure.set_size_inches(1.65 * len(kept) + 2.0, 2.4)
    panels = figure.subplots(1, len(kept) + 1, width_ratios=(*(1.0 for _ in kept), 1.3))
    for axes, name in zip(panels, kept, strict=False):
        points = data[f"tokens {name}"].reshape(-1, 3)
        draw_ball(axes, points, form=np.diag(MATRICES[name]))
        inside = ", ".join(f"{each:g}" for each in MATRICES[name])
        axes.set_title(f"$D = \\mathrm{{diag}}({inside})$", fontsize=8)
    colours = (ORDER, ENERGY, INK)
    names = ("one cluster", "two along $e_1$", "two along $e_2$")
    for values, colour, name in zip(data["energy"].T, colours, names, strict=True):
        panels[-1].plot(data["entry"], values, color=colour, linewidth=1.2, label=name)
    panels[-1].axvline(math.log(math.cosh(1.0)), color=INK, linewidth=0.6, linestyle=":")
    panels[-1].set_xlabel("$d$ of $D = \\mathrm{diag}(-1, d)$", fontsize=8)
    panels[-1].set_title("energies", fontsize=8)
    panels[-1].legend(fontsize=6.5)
