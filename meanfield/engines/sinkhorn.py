"""Doubly stochastic attention: weights whose rows and columns are normalised, after Sinkhorn.

With the score S = beta B, find u, w > 0 with, mu-almost everywhere:

    u(x) int e^{x^T S y} w(y) dmu(y) = 1,    w(y) int e^{x^T S y} u(x) dmu(x) = 1.

They are unique up to (t u, w / t); a symmetric S allows u = w. The velocity is the softmax velocity
in the measure w mu,

    v(x) = P_x V int e^{x^T S y} y w(y) dmu(y) / int e^{x^T S y} w(y) dmu(y),

also off the support of mu; t cancels. The caller supplies the sums.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from meanfield.arrays import EPS, FloatArray, ModalArray
from meanfield.engines.threads import one_blas_thread

RESIDUAL = 1e-13
"""Largest |row sum - 1| and |column sum - 1| that is accepted, where sums are as accurate."""

MOST_SWEEPS = 2_000
"""Largest number of sums over all points: 10 to 100 are usual."""

# Sweeps that Anderson mixing uses. Measured on 100 random weighted tokens, circle and sphere: 14 to
# 19 sweeps for B = 1, beta = 1 to 100 (5 used: 14 to 21, none: about 40); 26 to 90 for any B with
# beta |B| up to 20 (5 used: 24 to 126). Newton with conjugate gradients: 17 to 26 and 50 to 600.
_DEPTH = 12
# Largest residual for which its share of rounding is computed.
_NEAR = 1e-6
# Combinations of sweeps with a smaller squared change, as a share of the largest, are rounding.
_DEPENDENT = 1e-14
# Largest ratio of a residual to the smallest so far. Sweeps hardly change modes of clusters far
# apart; a mixed step corrects such a mode at once, and first disturbs the others.
_SLACK = 4.0

FEW = 200
"""Largest number of points for Newton's matrix of all pairs: half a millisecond."""
# Largest number of Newton's steps: 4 to 10 are usual.
_MOST_STEPS = 30
# Steps after which each halves the error, or has met rounding.
_SETTLED = 5
# Relative change of sums above which Newton's matrix is computed again.
_CHANGED = 1e-3


class NotBalanced(ValueError):
    """Sweeps for doubly stochastic attention did not converge."""


@dataclass(frozen=True)
class Scaling:
    """Logarithms of weights u, w, shape (n,); one array if K is its own adjoint."""

    log_u: FloatArray = field(repr=False)
    log_w: FloatArray = field(repr=False)
    # Largest |row sum - 1| and |column sum - 1| where there is mass, rounding included.
    residual: float
    sweeps: int  # count of sums over all points


def scaling(
    kernel: Callable[[FloatArray], FloatArray],
    masses: FloatArray,
    adjoint: Callable[[FloatArray], FloatArray] | None = None,
    *,
    row_scale: FloatArray | float = 0.0,
    column_scale: FloatArray | float = 0.0,
    rounding: float = 0.0,
) -> Scaling:
    """Weights u, w > 0 with u_i sum_j K_ij w_j m_j = 1 and w_j sum_i K_ij u_i m_i = 1.

    Without an adjoint u = w, by sweeps log u <- (log u - log K u) / 2. For a positive semidefinite
    kernel they contract by 1/2 whatever the masses are. With an adjoint sweeps alternate,
    w <- 1 / K^T (1 / K w), and contract by the squared second singular value. Anderson mixing
    accelerates both; a plain step replaces a mixed one that increases the residual.

    - kernel(w)_i = e^{-c_i} sum_j K_ij w_j m_j, adjoint(u)_j = e^{-d_j} sum_i K_ij u_i m_i.
    - masses (n,): m, not negative. Weights of zero masses are 1 / K w.
    - row_scale, column_scale: c and d, such as |S^T x| and |S y| for K = e^{x^T S y}.
    - rounding: error of the sums, relative to sum_j w_j m_j; their floor. 0 for positive terms.

    Sander, Ablin, Blondel, Peyre, Sinkformers, arXiv:2110.11773. Knight, Ruiz, Ucar, SIAM J.
    Matrix Anal. Appl. 35 (2014) 931 (symmetric sweeps). Walker, Ni, SIAM J. Numer. Anal. 49 (2011)
    1715 (Anderson mixing).
    """
    masses = np.asarray(masses, dtype=np.float64)
    heavy = masses > 0.0
    roots = np.sqrt(masses[heavy])
    plain = 0.5 if adjoint is None else 1.0
    sweeps = 0

    def sums(
        operator: Callable[[FloatArray], FloatArray],
        log_values: FloatArray,
        scale: FloatArray | float,
    ) -> tuple[FloatArray, FloatArray]:
        """Logarithms of sums, and relative errors of the sums."""
        nonlocal sweeps
        sweeps += 1
        heavy_logs = log_values[heavy]
        middle = 0.5 * (float(heavy_logs.max()) + float(heavy_logs.min()))
        values = np.zeros(len(heavy))
        # A mixed step may overflow; it is refused then.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            values[heavy] = np.exp(heavy_logs - middle)
            noise = rounding * float(values @ masses)
            sums_above_noise = np.maximum(operator(values), noise)
            logs = np.log(sums_above_noise) + (middle + scale)
            return logs, noise / sums_above_noise + 4 * EPS * (1.0 + np.abs(logs) + np.abs(scale))

    def swept(log_w: FloatArray) -> tuple[FloatArray, float]:
        """Change of log w by a full sweep, and its size above rounding."""
        sums_above_noise, noise = sums(kernel, log_w, row_scale)
        if adjoint is not None:
            log_u, passed = -sums_above_noise, noise
            sums_above_noise, noise = sums(adjoint, log_u, column_scale)
        rest = -sums_above_noise - log_w
        if not np.isfinite(rest).all():
            return rest, np.inf
        if adjoint is not None and rounding and np.abs(rest[heavy]).max() < _NEAR:
            # Errors of rows enter the columns; those of tails hardly count there.
            columns = sums(adjoint, log_u + np.log(passed), column_scale)[0]
            noise = noise + np.exp(np.minimum(columns - sums_above_noise, 0.0))
        relevant = np.abs(rest) / (1.0 + noise / RESIDUAL)
        return rest, float(relevant[heavy].max())

    # The start is one plain step from w = 1, which scales weights to the kernel.
    here = plain * swept(np.zeros(len(heavy)))[0]
    rest, size = swept(here)
    least = size
    places: list[FloatArray] = []
    rests: list[FloatArray] = []
    while size > RESIDUAL:
        if not np.isfinite(size) or sweeps >= MOST_SWEEPS:
            raise NotBalanced(
                f"weights of doubly stochastic attention not found: after {sweeps} sums rows and "
                f"columns are 1 up to {size:.1e}, expected {RESIDUAL:.0e}. Take a smaller beta, "
                'or normalization "softmax".'
            )
        places, rests = [*places, here][-_DEPTH - 1 :], [*rests, rest][-_DEPTH - 1 :]
        step = _mixed(places, rests, plain, heavy, roots) if len(places) > 1 else None
        if step is not None:
            ahead = here + step
            after, left = swept(ahead)
        if step is None or left > _SLACK * least:
            places, rests = places[-1:], rests[-1:]
            ahead = here + plain * rest
            after, left = swept(ahead)
        here, rest, size = ahead, after, left
        least = min(least, size)
    residual = float(np.abs(np.expm1(rest[heavy])).max(initial=0.0))
    # Zero masses do not enter sums: their weights follow from the others'.
    log_w = np.where(heavy, here, here + rest)
    log_u = log_w if adjoint is None else -sums(kernel, here, row_scale)[0]
    return Scaling(log_u, log_w, residual, sweeps)


def _mixed(
    places: list[FloatArray],
    rests: list[FloatArray],
    plain: float,
    heavy: np.ndarray,
    roots: FloatArray,
) -> FloatArray | None:
    """Step that minimises the mean square rest, if the rest is linear along past steps."""
    steps = np.diff(np.array(places), axis=0)
    changes = np.diff(np.array(rests), axis=0)
    weighted = changes[:, heavy] * roots
    products = weighted @ weighted.T
    lengths = np.sqrt(np.diagonal(products))
    if not (lengths > 0.0).all():
        return None
    # Normal equations are accurate enough: the next rest checks the step.
    products /= lengths[:, None] * lengths
    wanted = (weighted @ (rests[-1][heavy] * roots)) / lengths
    values, vectors = np.linalg.eigh(products)
    independent = values > _DEPENDENT * values[-1]
    shares = (
        vectors[:, independent]
        @ ((wanted @ vectors[:, independent]) / values[independent])
        / lengths
    )
    return np.asarray(plain * rests[-1] - shares @ (steps + plain * changes))


class PositiveKernel(NamedTuple):
    """Positive semidefinite kernel K = B T B^T at points (n,)."""

    moments: Callable[[FloatArray], ModalArray]  # masses M to c = B^T M
    values: Callable[[ModalArray], FloatArray]  # c to B T c, in units e^{c(x)}
    # q to a map from r to z with (1 + B^T q B T) z = r, which may be solved roughly.
    solver: Callable[[FloatArray], Callable[[ModalArray], ModalArray]]


def newton_scaling(
    kernel: PositiveKernel,
    masses: FloatArray,
    scale: FloatArray | float = 0.0,
    rounding: float = 0.0,
) -> Scaling | None:
    """Weights u = w of `scaling` by Newton's method for a positive kernel; None where it fails.

        g = B T c = 1 / w,    c = B^T (m / g)

    is the least value of the strictly convex c^T T c / 2 - sum_j m_j log g_j. Steps z solve
    (1 + B^T q B T) z = B^T (m / g) - c, q = m / g^2. At the solution all eigenvalues of this matrix
    are between 1 and 2, whatever the masses are. An indefinite kernel may make it singular.

    scale, rounding: `row_scale` and `rounding` of `scaling`.
    """
    heavy = masses > 0.0
    seen = slice(None) if heavy.all() else heavy
    middle = 0.5 * (float(np.max(scale)) + float(np.min(scale)))
    with np.errstate(all="ignore"), one_blas_thread():
        lift = np.exp(scale - middle)
        own = masses / lift
        # One plain sweep, times the factor that makes the mean of all rows 1.
        sums = np.maximum(kernel.values(kernel.moments(masses)), rounding * masses.sum())
        weights = masses / np.sqrt(lift * sums)
        c = kernel.moments(weights)
        g = kernel.values(c)
        factor = 1.0 / np.sqrt(weights @ (lift * g))
        c, g, weights = factor * c, factor * g, factor * weights
        size = last = np.inf
        found = None
        for step in range(_MOST_STEPS):
            noise = rounding * float(weights.sum())
            g = np.maximum(g, noise)
            weights = own / g
            moments = kernel.moments(weights)
            if size > _CHANGED:
                solve = kernel.solver(weights / g)
            z = solve(moments - c)
            change = kernel.values(z)
            # Relative to g, above noise; residuals are up to twice as large.
            size = 2.0 * float((np.abs(change) / (g + noise / RESIDUAL))[seen].max())
            if size <= RESIDUAL:
                swept = kernel.values(moments)
                rest = np.abs(swept - g)[seen]
                residual = float((rest / g[seen]).max())
                best = np.inf if found is None else found.residual
                if not residual <= 0.5 * best:
                    break
                if float((rest / (g[seen] + noise / RESIDUAL)).max()) <= RESIDUAL:
                    log_w = 0.5 * middle - scale - np.log(g)
                    found = Scaling(log_w, log_w, residual, step + 3)
                    if residual <= RESIDUAL:
                        break
                # Added changes leave noise where there is little mass.
                g, change = swept, kernel.values(c + z - moments)
            c, g = c + z, g + change
            slow = found is None and step > _SETTLED and size > 0.5 * last
            # Below 1 no sum changes its sign.
            if slow or not (size < 1.0 or (size < np.inf and g[seen].min() > -noise)):
                break
            last = size
    return found


def is_positive(score: FloatArray) -> bool:
    """True for a symmetric positive semidefinite score, up to rounding; it needs no adjoint."""
    return _is_positive(np.ascontiguousarray(score).tobytes(), len(score))


@lru_cache(maxsize=64)
def _is_positive(entries: bytes, size: int) -> bool:
    score = np.frombuffer(entries).reshape(size, size)
    return is_symmetric(score) and bool(
        np.linalg.eigvalsh(score).min() >= -_ROUNDING * np.abs(score).max()
    )


def is_symmetric(score: FloatArray) -> bool:
    """True if a matrix is its own transpose, up to the rounding of a product of matrices."""
    return bool(np.abs(score - score.T).max() <= _ROUNDING * np.abs(score).max())


# Relative rounding of an entry of Q^T K.
_ROUNDING = 64 * EPS


def pair_scaling(score: FloatArray, x: FloatArray, masses: FloatArray) -> Scaling:
    """Weights u, w of doubly stochastic attention at points (n, d), summed pair by pair.

        u_i sum_j e^{x_i^T S x_j} w_j m_j = 1,    w_j sum_i e^{x_i^T S x_j} u_i m_i = 1

    Rows and columns of the matrix of exponentials are scaled by their largest entries, so that sums
    of positive terms keep their relative accuracy. For a symmetric S u = w.
    """
    symmetric = is_symmetric(score)
    scores = x @ score @ x.T  # (n, n)
    if symmetric and is_positive(score):
        # The kernel is e^{-(x - y)^T S (x - y) / 2} <= 1, with diagonal 1.
        rows = columns = 0.5 * np.diagonal(scores)
    else:
        # Scale the largest entry of each row to 1, then of each column; rows keep theirs.
        rows = scores.max(axis=1)
        columns = (scores - rows[:, None]).max(axis=0)
    scores -= rows[:, None] + columns
    kernel = np.exp(scores, out=scores)

    if rows is columns and len(x) <= FEW:
        newton = newton_scaling(_of_pairs(kernel), masses)
        if newton is not None:
            log_w = newton.log_w - rows
            return Scaling(log_w, log_w, newton.residual, newton.sweeps)

    def forward(w: FloatArray) -> FloatArray:
        return np.asarray(kernel @ (w * masses))

    def backward(u: FloatArray) -> FloatArray:
        return np.asarray((u * masses) @ kernel)

    scaled = scaling(forward, masses, None if rows is columns else backward)
    log_u, log_w = scaled.log_u - rows, scaled.log_w - columns
    if symmetric:
        # They differ by a constant and by the residual.
        log_u = log_w = 0.5 * (log_u + log_w)
    return Scaling(log_u, log_w, scaled.residual, scaled.sweeps)


def _of_pairs(matrix: FloatArray) -> PositiveKernel:
    """Kernel as the matrix T of all pairs, B = 1; `solver` works in single precision."""
    from scipy.linalg.lapack import spotrf, spotrs

    def solver(q: FloatArray) -> Callable[[FloatArray], FloatArray]:
        # (1 + q T)^-1 = 1 - D (1 + D T D)^-1 D T with D^2 = q.
        roots = np.sqrt(q)
        system = (roots[:, None] * matrix * roots).astype(np.float32)
        system.flat[:: len(q) + 1] += 1.0
        factor = spotrf(system.T, clean=0, overwrite_a=1)[0]

        def solved(r: FloatArray) -> FloatArray:
            along = spotrs(factor, (roots * (matrix @ r)).astype(np.float32))[0]
            return np.asarray(r - roots * along)

        return solved

    return PositiveKernel(lambda m: m, lambda c: np.asarray(matrix @ c), solver)


def tilted_masses(masses: FloatArray, log_weights: FloatArray) -> FloatArray:
    """Masses times weights, divided by the largest weight where there is mass."""
    heavy = masses > 0.0
    largest = log_weights[heavy].max()
    return np.where(heavy, masses * np.exp(np.minimum(log_weights - largest, 0.0)), 0.0)
