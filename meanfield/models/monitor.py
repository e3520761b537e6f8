"""Mean-field quantities of hidden states, for training loops: arrays in, numbers out.

With directions u_i = x_i / |x_i| of n tokens and attention P of H heads, rows i,

    mean cosine         (|sum_i u_i|^2 - n) / (n (n - 1))
    effective rank      exp(-sum_k p_k log p_k), p_k shares of eigenvalues of (<u_i, u_j>)_ij
    entropy             mean of S_i = -sum_j P_ij log P_ij
    attended tokens     mean of e^{S_i}
    sink share          mean of P_i0
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanfield.arguments import checked
from meanfield.engines.threads import one_blas_thread
from meanfield.models.encoder_files import short_repr

# The eigenvalues of a Gram matrix of this size take half a millisecond.
_MOST = 128
# Rows in half precision sum to 1 within this error.
_UNEVEN = 0.02
# Eigenvalues below it are rounding of single precision.
_ROUNDING = 1e-6


@checked
def monitor(hidden: ArrayLike, attention: ArrayLike | None = None) -> dict[str, float]:
    """Cosines, rank and attention of hidden states, for 512 x 768 in about a millisecond.

    Parameters
    ----------
    hidden : array, (n, d) or (batch, n, d)
        Hidden states of a layer, n >= 2, as an array of NumPy, torch or JAX in CPU memory.
    attention : array, (heads, n, n) or (batch, heads, n, n); optional
        Attention of the layer after its softmax: rows sum to 1.

    Returns
    -------
    dict of str to float
        "mean_cosine" of pairs; "effective_rank"; and with attention "entropy" of rows in nats,
        "attended_tokens", and "sink_share", the attention to the first token. Each is the mean
        over texts, heads and rows. For more than 128 tokens, rank, entropy and attended tokens
        use 128 equally spaced tokens. NaN where a token is 0 or not finite.

    Raises
    ------
    TypeError
        If an argument is not an array of real numbers in CPU memory.
    ValueError
        If shapes do not fit, there are fewer than two tokens, or rows of attention are not
        weights that sum to 1.

    References
    ----------
    Roy and Vetterli, The effective rank, EUSIPCO 2007. Xiao et al., Efficient streaming language
    models with attention sinks, arXiv:2309.17453.

    Examples
    --------
    >>> numbers = monitor(np.eye(4), np.full((2, 4, 4), 0.25))
    >>> {name: round(value, 6) for name, value in numbers.items()}
    {'mean_cosine': 0.0, 'effective_rank': 4.0, 'entropy': 1.386294, 'attended_tokens': 4.0,
    'sink_share': 0.25}
    """
    x = _array("hidden", hidden)
    if x.ndim not in (2, 3) or x.shape[-2] < 2 or not x.size:
        raise ValueError(
            f"hidden has shape {x.shape}, expected (n, d) or (batch, n, d) with n of 2 or more."
        )
    n = x.shape[-2]
    most = min(n, _MOST)
    # Middles of equal parts, as the first row of causal attention is not typical.
    chosen = ((np.arange(most) + 0.5) * n / most).astype(int)
    with np.errstate(all="ignore"):
        squares = np.einsum("...nd,...nd->...n", x, x)
        least = np.finfo(x.dtype).tiny / np.finfo(x.dtype).eps
        if not np.all((squares >= least) & (squares < np.inf)):  # underflow or overflow
            x = x / np.abs(x).max(axis=-1, keepdims=True)  # 0 and inf become NaN
            squares = np.einsum("...nd,...nd->...n", x, x)
        inverse = 1.0 / np.sqrt(squares)
        total = np.einsum("...n,...nd->...d", inverse, x)
        u = x[..., chosen, :] * inverse[..., chosen, None]
        numbers = {
            "mean_cosine": (float(np.mean(np.sum(total**2, axis=-1))) - n) / (n * (n - 1)),
            "effective_rank": _rank(u.reshape(-1, *u.shape[-2:])),
        }
        if attention is not None:
            p = _array("attention", attention)
            fits = p.ndim == x.ndim + 1 and p.shape[-2:] == (n, n) and p.size
            if not fits or p.shape[:-3] != x.shape[:-2]:
                wanted = ", ".join(map(str, (*x.shape[:-2], "heads", n, n)))
                raise ValueError(
                    f"attention has shape {p.shape}, expected ({wanted}) with heads of 1 or more."
                )
            rows = p[..., chosen, :]
            sums = rows.sum(axis=-1)
            if rows.min() < 0.0 or np.abs(sums - 1.0).max() > _UNEVEN:
                raise ValueError(
                    f"rows of attention sum to {sums.min():.3g} ... {sums.max():.3g} and hold "
                    f"{rows.min():.3g}, expected sums of 1 and none below 0: give the weights "
                    "after their softmax."
                )
            # 0 log 0 = 0, as the logarithm of the least positive number is finite.
            logs = np.log(np.maximum(rows, np.finfo(rows.dtype).tiny))
            entropies = -np.einsum("...ij,...ij->...i", rows, logs)
            numbers |= {
                "entropy": float(entropies.mean()),
                "attended_tokens": float(np.exp(entropies).mean()),
                "sink_share": float(p[..., 0].mean()),
            }
    return numbers


def _rank(u: NDArray[Any]) -> float:
    """Mean effective rank of unit vectors (batch, n, d)."""
    if not np.isfinite(u).all():
        return math.nan
    with one_blas_thread():  # cores may be busy in a training loop
        shares = np.linalg.eigvalsh(u @ u.swapaxes(1, 2)) / u.shape[1]
    logs = np.log(np.maximum(shares, _ROUNDING)) * (shares > _ROUNDING)
    return float(np.exp(-(shares * logs).sum(axis=-1)).mean())


def _array(name: str, value: Any) -> NDArray[Any]:
    """Array in single or double precision, without a copy if it has one of them."""
    if hasattr(value, "detach"):  # torch makes no array of a tensor that requires gradients
        value = value.detach()
    try:
        array = np.asarray(value)
        if array.dtype.kind == "c":
            raise TypeError
        # Also half precision, and bfloat16 of JAX, a type of its own.
        return array if array.dtype in (np.float32, np.float64) else array.astype(np.float32)
    except (TypeError, ValueError, RuntimeError, AttributeError, BufferError):
        raise TypeError(
            f"{name} is {short_repr(type(value))}, expected real numbers in the memory of the "
            f"processor: for torch give {name}.float().cpu()."
        ) from None
