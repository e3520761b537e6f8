"""Mean-field limit of a trained encoder, and the rate of convergence.

Tokens, pairs of a word and a position, are drawn independently. The encoder computes states of all
N tokens, and of the first n alone. Their relative difference is e_n. For smooth attention

    e_n = ( mean_i |x_i^{(n)} - x_i^{(N)}|^2 / mean_i |x_i^{(N)}|^2 )^{1/2} = C (1/n - 1/N)^{1/2},

propagation of chaos at the Monte Carlo rate, as the mean field is a mean over n samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from meanfield.arguments import checked
from meanfield.arrays import FloatArray, IntArray
from meanfield.described import plot_method
from meanfield.models.encoder import Encoder, listed
from meanfield.progress import followed, wants_bar


@dataclass(frozen=True, eq=False)
class TokenLimit:
    """Differences between states of n tokens alone and of the same tokens among N.

    Attributes
    ----------
    model : str
    counts : ndarray of int, shape (n_counts,)
        Values of n.
    tokens : int
        N.
    errors : ndarray, shape (runs, n_counts, layers)
        e_n after each layer, see `token_limit`.
    """

    model: str
    counts: IntArray
    tokens: int
    errors: FloatArray

    @property
    def mean(self) -> FloatArray:
        """Root mean square of errors over runs, (n_counts, layers)."""
        return np.asarray(np.sqrt(np.mean(self.errors**2, axis=0)))

    def exponents(self, least: int = 0) -> tuple[FloatArray, FloatArray]:
        """Slopes of log e_n in log(1/n - 1/N) after each layer, and their standard errors.

        The Monte Carlo rate is 1/2. Each run is fitted separately; results are the mean slope and
        its standard error, NaN for a single run. Both are NaN where tokens do not attend to each
        other. Counts n < `least` are left out; ValueError if fewer than two remain.
        """
        large = self.counts >= least
        if large.sum() < 2:
            raise ValueError(f"a slope needs two counts, got {int(large.sum())} from {least} on.")
        along = np.log(1.0 / self.counts[large] - 1.0 / self.tokens)
        along = along - along.mean()
        errors = self.errors[:, large]
        logs = np.log(np.where(errors > 0.0, errors, np.nan))
        slopes = np.einsum("rnl,n->rl", logs, along) / (along @ along)
        with np.errstate(all="ignore"):
            spread = (
                slopes.std(axis=0, ddof=1) if len(slopes) > 1 else np.full(slopes.shape[1:], np.nan)
            )
        return slopes.mean(axis=0), spread / np.sqrt(len(slopes))

    plot = plot_method(
        "TokenLimit.plot",
        "Figure of the errors of n tokens, after each layer, beside the rate of Monte Carlo.",
    )

    def __repr__(self) -> str:
        return (
            f"TokenLimit({self.model}: {self.counts[0]} to {self.counts[-1]} of {self.tokens} "
            f"tokens, {len(self.errors)} runs, {self.errors.shape[2]} layers)"
        )


@checked
def token_limit(
    encoder: Encoder,
    texts: str | Sequence[str],
    rng: np.random.Generator,
    *,
    counts: Sequence[int] = (32, 128, 512),
    tokens: int = 2048,
    runs: int = 4,
    progress: bool | None = None,
) -> TokenLimit:
    """Difference between states of n tokens alone and among N tokens, after each encoder layer.

        e_n = ( mean_i |x_i^{(n)} - x_i^{(N)}|^2 / mean_i |x_i^{(N)}|^2 )^{1/2}

    Parameters
    ----------
    encoder : Encoder
    texts : str, or several
        Texts whose words are drawn, each with an independent, uniform position.
    rng : numpy.random.Generator
    counts, tokens : sequence of int, int
        Values of n, and N; computing time grows like N^2.
    runs : int
        Number of draws of N tokens.
    progress : bool, optional
        Show a bar; by default in notebooks.

    Raises
    ------
    ValueError
        If the texts are empty, runs < 1, or counts do not lie between 2 and N - 1.
    """
    words = np.concatenate([encoder.tokens(text)[1:-1] for text in listed(texts)])
    if not len(words):
        raise ValueError("the texts hold no words.")
    sizes = np.unique(np.asarray(counts, np.int64))
    if not len(sizes) or sizes[0] < 2 or sizes[-1] >= tokens:
        raise ValueError(f"counts must lie between 2 and {tokens - 1}, got {list(counts)}.")
    if runs < 1:
        raise ValueError(f"runs must be at least 1, got {runs}.")
    parts = _runs(encoder, words, rng, sizes, tokens, runs)
    errors = list(followed(parts, runs, "token limit") if wants_bar(progress) else parts)
    return TokenLimit(encoder.name, sizes, tokens, np.array(errors))


def _runs(
    encoder: Encoder,
    words: IntArray,
    rng: np.random.Generator,
    sizes: IntArray,
    tokens: int,
    runs: int,
) -> Iterator[FloatArray]:
    for _ in range(runs):
        positions = rng.integers(encoder.longest, size=tokens)
        start = encoder.embedded(rng.choice(words, tokens), positions)
        errors = np.empty((len(sizes), len(encoder.layers)))
        # Layer by layer, to store the states of one depth only.
        everything, parts = start, [start[:n] for n in sizes]
        for depth, layer in enumerate(encoder.layers):
            everything, parts = layer(everything), [layer(part) for part in parts]
            for k, part in enumerate(parts):
                among = everything[: len(part)]
                errors[k, depth] = np.sqrt(np.sum((part - among) ** 2) / np.sum(among**2))
        yield errors
