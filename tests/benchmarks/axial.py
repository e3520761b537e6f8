"""Axial densities: what they cost, and how far two carriers and four dimensions agree.

    .venv/bin/python tests/benchmarks/axial.py

Prints, for each d, seconds of a run through the collapse and the largest difference of moments
between a density and characteristics before it. At d = 3 also the difference from the sphere.
"""

import time

import numpy as np

import meanfield as mf

LAW = mf.perturbed_uniform([[1, 0.3], [2, 0.2]])


def run(space: mf.Axial | mf.Sphere, until: float, carrier: str, law=LAW) -> tuple[mf.Run, float]:
    """Run at beta = 5, SA, and its seconds."""
    start = time.perf_counter()
    result = mf.simulate(
        mf.Problem(space, mf.exponential(5.0), mf.SA, law),
        until=until,
        save=2,
        representation=carrier,
    )
    return result, time.perf_counter() - start


def main() -> None:
    run(mf.Axial(5), 0.1, "density"), run(mf.Axial(5), 0.1, "characteristics")
    print("   d  time  |density - characteristics|  seconds     auto to t = 20, seconds, nodes")
    for d, until in ((3, 5.0), (8, 3.0), (64, 3.0), (1000, 3.0)):
        density, seconds = run(mf.Axial(d), until, "density")
        lines, more = run(mf.Axial(d), until, "characteristics")
        apart = np.abs(density.moments - lines.moments).max()
        whole, wide = run(mf.Axial(d), 20.0, "auto")
        nodes = whole.diagnostics["nodes"][-1]
        costs = f"{seconds:5.2f} {more:5.2f}  {wide:23.2f}  {nodes:.0f}"
        print(f"{d:4d}  {until:4.1f}  {apart:27.1e}  {costs}")
    on_sphere = mf.perturbed_uniform([[1, 0, 0.3 / 3**0.5], [2, 0, 0.2 / 5**0.5]])
    expected, _ = run(mf.Sphere(), 5.0, "density", on_sphere)
    axial, _ = run(mf.Axial(3), 5.0, "density")
    zonal = expected.moments[-1][0, :, 0] / np.sqrt(
        2.0 * np.arange(expected.moments.shape[2]) + 1.0
    )
    print(
        f"d = 3 beside the sphere, t = 5: {np.abs(zonal[:12] - axial.moments[-1][:12]).max():.1e}"
    )


if __name__ == "__main__":
    main()
