"""How fast is the velocity of few tokens on the sphere, beside a plain loop in C?

The loop, compiled here with `cc`, takes each pair twice and computes e^{beta (<x, y> - 1)} and
sums of y: a compiler makes vectors of it. Ours has each pair once, keeps the digits of close and
of opposite tokens, and includes what Python does. Interleaved rounds, one thread, processor time.

Run: python tests/benchmarks/few_tokens.py [--quick]
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from side_by_side import Call, options, side_by_side, use_threads

import meanfield as mf
from meanfield.fields import engines
from meanfield.spaces.sphere.sphere import Sphere

SOURCE = """
#include <math.h>

void velocity(int n, const double *x, const double *y, const double *z, const double *mass,
              double beta, int normalized, double *restrict v)
{
    for (int i = 0; i < n; i++) {
        double u = 0, w = 0, t = 0, total = 0;
        for (int j = 0; j < n; j++) {
            double s = x[i] * x[j] + y[i] * y[j] + z[i] * z[j];
            double e = mass[j] * exp(beta * (s - 1));
            u += e * x[j];
            w += e * y[j];
            t += e * z[j];
            total += e;
        }
        double normal = x[i] * u + y[i] * w + z[i] * t, share = normalized ? 1 / total : 1;
        v[3 * i] = share * (u - normal * x[i]);
        v[3 * i + 1] = share * (w - normal * y[i]);
        v[3 * i + 2] = share * (t - normal * z[i]);
    }
}
"""
FLAGS = ["-O3", "-march=native", "-ffast-math", "-shared", "-fPIC"]


def compiled(folder: Path) -> ctypes.CDLL:
    """Library of the loop."""
    source, library = folder / "pairs.c", folder / "pairs.so"
    source.write_text(SOURCE)
    subprocess.run(["cc", *FLAGS, str(source), "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library))


def plain(library: ctypes.CDLL, points: np.ndarray, beta: float, normalized: bool) -> Call:
    """The loop in C."""
    count, velocity = len(points), np.empty_like(points)
    arrays = [*np.ascontiguousarray(points.T), np.full(count, 1.0 / count)]
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    target, factor = ctypes.c_void_p(velocity.ctypes.data), ctypes.c_double(beta)

    def run() -> np.ndarray:
        # Arrays live as long as this function.
        library.velocity(len(arrays[0]), *pointers, factor, int(normalized), target)
        return velocity

    return run


def main() -> None:
    """Print the table."""
    quick = options(__doc__).parse_args().quick
    use_threads(1)
    space = Sphere()
    if shutil.which("cc") is None:
        print("left out: there is no C compiler")
        return
    print(f"cc {' '.join(FLAGS)}")
    print(f"{'tokens':>7} {'beta':>5} {'softmax':>8} {'ours us':>8} {'C / ours':>23}")
    with tempfile.TemporaryDirectory() as folder:
        library = compiled(Path(folder))
        for count in (100, 300, 1000) if quick else (10, 30, 100, 300, 1000, 3000):
            points = space.random_points(count, np.random.default_rng(0))
            for beta, softmax in ((9.0, False), (50.0, True)):
                kernel = mf.exponential(beta)
                calls: dict[str, Call] = {
                    "ours": lambda p=points, k=kernel, s=softmax: engines.pair_velocity(
                        space, k, p, None, s
                    ),
                    "C": plain(library, points, beta, softmax),
                }
                np.testing.assert_allclose(calls["ours"](), calls["C"](), rtol=0, atol=1e-13)
                times = side_by_side(calls, 9 if quick else 15)
                print(
                    f"{count:7d} {beta:5g} {'yes' if softmax else 'no':>8}"
                    f" {times['ours'].seconds * 1e6:8.1f} {times['C'].over(times['ours']):>23}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
