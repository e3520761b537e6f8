"""Cost of `mf.monitor` in a training loop.

Lower quartile of seconds of a call, for hidden states of 512 x 768 and attention of 12 heads, in
single and double precision.

Run: python tests/benchmarks/monitor.py [--quick]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import meanfield as mf


def seconds(*arrays: np.ndarray, rounds: int) -> float:
    """Lower quartile of the time of a call: whatever else runs makes others longer."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        mf.monitor(*arrays)
        times.append(time.perf_counter() - begin)
    return float(np.quantile(times, 0.25))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    rounds = 20 if parser.parse_args().quick else 300
    rng = np.random.default_rng(0)
    for kind in (np.float32, np.float64):
        hidden = rng.normal(size=(512, 768)).astype(kind)
        attention = rng.random((12, 512, 512)).astype(kind)
        attention /= attention.sum(axis=-1, keepdims=True)
        alone = seconds(hidden, rounds=rounds)
        both = seconds(hidden, attention, rounds=rounds)
        print(f"{kind.__name__}: {1e3 * alone:.2f} ms, with attention {1e3 * both:.2f} ms")


if __name__ == "__main__":
    main()
