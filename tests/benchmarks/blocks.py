"""Cost of attention in any dimension, beside the bare products and exponentials it needs.

Interleaved rounds on the same number of threads, ratios of wall time as median (quartiles), for a
softmax head Q = K = V = 1 at beta = 5, tokens uniform on the unit sphere of R^d:

    bare      x x^T, its exponentials and their product with x, by NumPy: unnormalised sums, all
              replicas at once, BLAS on as many threads
    ours      attention_output
    causal    the same, each token feeling those up to itself
    matrices  with full matrices S and V: two more products of n d^2 each
    jax       softmax(5 x x^T) x compiled by jax.jit in double precision, on all cores that the
              process may use; only where jax can be imported

Run: python tests/benchmarks/blocks.py [--quick] [--threads 2]
"""

from __future__ import annotations

import numpy as np
from side_by_side import optional, options, side_by_side, use_threads

from meanfield.engines.threads import threads
from meanfield.fields.blocks import attention_output
from meanfield.terms.attention import HeadMatrices

_BETA = 5.0
# Replicas, tokens, dimension.
_SIZES = ((2048, 32, 2), (2048, 32, 8), (2048, 32, 128), (16, 512, 64), (1, 4096, 128))


def bare(x: np.ndarray) -> np.ndarray:
    scores = np.matmul(_BETA * x, x.swapaxes(1, 2))
    return np.matmul(np.exp(scores, out=scores), x)


def by_jax(x: np.ndarray):  # type: ignore[no-untyped-def]
    """A call of the same by JAX on data it holds; None without JAX."""
    jax = optional("jax")
    if jax is None:
        return None
    jax.config.update("jax_enable_x64", True)
    tokens = jax.device_put(x)
    compiled = jax.jit(lambda y: jax.nn.softmax(_BETA * y @ y.swapaxes(1, 2), axis=-1) @ y)
    difference = np.abs(np.asarray(compiled(tokens)) - attention_output(x, _identity(x))).max()
    print(f"  largest difference from jax {difference:.1e}")
    return lambda: compiled(tokens).block_until_ready()


def _identity(x: np.ndarray) -> list[HeadMatrices]:
    one = np.eye(x.shape[-1])
    return [HeadMatrices(_BETA * one, one)]


def compare(replicas: int, n: int, d: int, rounds: int) -> None:
    print(f"{replicas} x {n} tokens in R^{d}")
    x = np.random.default_rng(0).normal(size=(replicas, n, d))
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    head = _identity(x)
    turned = np.eye(d) + np.diag(np.full(d - 1, 1e-3), 1)
    full = [HeadMatrices(_BETA * turned, turned)]
    calls = {
        "bare": lambda: bare(x),
        "ours": lambda: attention_output(x, head),
        "causal": lambda: attention_output(x, head, mask="causal"),
        "matrices": lambda: attention_output(x, full),
    }
    jax = by_jax(x)
    if jax is not None:
        calls["jax"] = jax
    times = side_by_side(calls, rounds)
    for name in calls:
        wall = float(np.median(times[name].wall))
        over = times[name].wall_over(times["bare"])
        print(f"  {name:>8} {wall * 1e3:8.2f} ms   / bare {over:>18}"
              f"   ours / it {times['ours'].wall_over(times[name]):>18}", flush=True)  # fmt: skip


def main() -> None:
    arguments = options(__doc__, threads=True).parse_args()
    use_threads(arguments.threads)
    print(f"{threads()} thread(s)")
    for size in _SIZES[1:3] if arguments.quick else _SIZES:
        compare(*size, 5 if arguments.quick else 9)


if __name__ == "__main__":
    main()
