"""From a nearly uniform density on the sphere to clusters: rates, energy, mass.

While the perturbation is small, every degree grows at its own rate lambda_l. The energy never
falls, and the mass stays 1. From the stored coefficients pyshtools must compute the same density.
Prints numbers beside expected ones, and draws run.png, map.png and globe.png.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from claims import Claim, near_zero
from commands import run_command

import meanfield as mf

SECONDS = 60, 10
FOLDER = Path(__file__).parent
EARLY = 4.0  # scaled time; until then the largest degree grows by less than a fifth
PLACES = ((90.0, 0.0), (35.3, 45.0), (-12.0, 200.0), (-90.0, 0.0))  # latitude, longitude


def main(short: bool) -> list[Claim]:
    """Run, check, draw."""
    run_file = FOLDER / "run.h5"
    changes = ["time.end=60", "time.save=31"] if short else []
    run_command("run", FOLDER / "run.toml", "--overwrite", "--quiet", changes=changes)
    run = mf.load(run_file)
    sizes = run.sizes_by_degree()
    row = int(np.searchsorted(run.time, EARLY))
    grown = np.log(sizes[row, 1:6] / sizes[0, 1:6]) / run.time[row]
    print("degree  measured rate  lambda_l")
    for l in range(1, 6):
        print(f"{l:6d}  {grown[l - 1]:13.6f}  {run.growth_rates[l]:8.6f}")
    energy = run.observables["energy"]
    balance = np.abs(run.diagnostics["energy_rate"] - run.diagnostics["energy_dissipation"]).max()
    checks = {
        "mass drift": (float(np.abs(run.moments[:, 0, 0, 0] - 1.0).max()), 1e-14),
        "largest fall of the energy": (float(np.max(-np.diff(energy), initial=0.0)), 1e-13),
        "energy balance dE/dt - int |v|^2 dmu": (float(balance), 1e-13),
        "largest spectral tail": (float(np.nanmax(run.observables["resolution"])), 1e-10),
        "rate of degree 4, relative error": (abs(grown[3] / run.growth_rates[4] - 1.0), 0.02),
        "density seen by pyshtools, relative": (difference_to_pyshtools(run), 1e-12),
    }
    for kind, name in (("overview", "run.png"), ("map", "map.png"), ("globe", "globe.png")):
        run_command("plot", run_file, "--kind", kind, "-o", FOLDER / name)
    return near_zero(checks)


def difference_to_pyshtools(run: mf.Run) -> float:
    """Largest difference from pyshtools' expansion at a few places, over the largest value."""
    import pyshtools

    last = run.measures[-1]
    array = last.manifold.unpacked(last.coefficients)
    theirs = pyshtools.SHCoeffs.from_array(array, normalization="4pi", csphase=1)
    latitude, longitude = np.radians(np.array(PLACES).T)
    points = np.stack(
        [
            np.cos(latitude) * np.cos(longitude),
            np.cos(latitude) * np.sin(longitude),
            np.sin(latitude),
        ],
        axis=1,
    )
    ours = last.manifold.evaluate(last.coefficients, points)
    expected = [float(theirs.expand(lat=lat, lon=lon)) for lat, lon in PLACES]
    return float(np.abs(ours - expected).max() / np.abs(ours).max())
