"""Diagnosis of a trained model: its tokens and heads by layer, compared with an untrained copy.

Heads have weights p_ij, values v_j, S_i = -sum_j p_ij log p_ij, and matrices W_Q, W_K, W_V, W_O:

    exponent            slope g of S_i over log n, where i has a context of n tokens
    sampling exponent   slope a of log |o^(n) - o^(N)| over log(1/n - 1/N), where o^(n) averages v_j
                        over n random tokens of N; 1/2 for means of independent tokens
    B and V             W_Q^T W_K / sqrt(k) and W_O W_V

In theory, if n tokens have one cosine rho and beta = gamma log n, a token has the weight
1 / (1 + (n - 1) n^{-gamma (1 - rho)}) for itself, and the others share the rest. As n grows,
g is 1, 1/2, 0 for gamma (1 - rho) below, at, above 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np

from meanfield.arguments import checked
from meanfield.arrays import FloatArray, IntArray
from meanfield.described import Array, Rows, StudyResult, array, attribute, plot_method
from meanfield.engines.limits import check_memory
from meanfield.engines.threads import one_blas_thread, threads
from meanfield.fields.blocks import row_entropies, unit_vectors
from meanfield.models.encoder import PAIRS, Affine, MultiHead, Stack, listed, softmax
from meanfield.models.heads import bilinear_norms, directions_apart, on_sphere
from meanfield.models.monitor import monitor
from meanfield.models.replay import text_tokens
from meanfield.observables.clusters import clusters
from meanfield.progress import followed, wants_bar

Progress: TypeAlias = Callable[[Iterable[Any], int, str], Iterable[Any]]

SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2)
"""Ratios n / N of sampled tokens."""

# Texts have two octaves of contexts from 8 on, and 16 tokens to which late rows attend.
_FEWEST, _FIRST_OCTAVE = 32, 3
# Number of draws of n of N tokens: with four, exponents of sinks were 0.1 too large.
_DRAWS = 16
_TOKENS = {
    "mean_cosine": "cosine", "effective_rank": "rank", "median_length": "length",
    "first_length": "first/median", "clusters": "clusters", "predicted": "predicted",
}  # fmt: skip
_ATTENTION = {
    "sink_share": "sink share", "attended_tokens": "attended", "exponent": "g",
    "sampling_exponent": "a", "step_share": "R^2 of steps",
}  # fmt: skip
_MATRICES = {
    "radius": "largest |eigenvalue|", "symmetric": "share of symmetric part",
    "trace": "trace / norm",
}  # fmt: skip
_HEADS = {
    "exponent": "exponent g of attended tokens",
    "sampling_exponent": "exponent a of sampled tokens",
    **{f"score_{name}": f"B: {text}" for name, text in _MATRICES.items()},
    **{f"value_{name}": f"V: {text}" for name, text in _MATRICES.items()},
}
_NOTES = {
    "heads": """\
g: attended tokens grow like n^g in a context of n; 1 diffuse, 0 sharp. Tokens of one cosine rho at
beta = gamma log n (arXiv:2510.05554) have 1, 1/2, 0 where gamma (1 - rho) is below, at, above 1.
a: attention to n of N tokens errs by (1/n - 1/N)^a; 1/2 for means of independent tokens.""",
    "tokens": """\
clusters: groups within 0.25, the rule at beta = 1. predicted: 1 where values have a positive trace
and tokens lie in one half of the sphere: with V = c 1, c > 0, and no mask they become one.""",
    "layers": "R^2 of steps: by attention alone. meanfield replay has the steps below it.",
}


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis(StudyResult):
    """Quantities of a trained model and its untrained copy, by layer and head: means over texts.

    Attributes
    ----------
    model, seed : str, int
    tokens : ndarray of int, shape (n_texts,)
        Length of each text.
    mean_cosine, ... : ndarray, shape (2, layers)
        The trained model first. For tokens after the layer: mean cosine, effective rank (of at
        most 128 tokens, see `monitor`), median length, length of the first token over the median,
        and number of clusters at beta = 1 (radius 0.25). `step_share` is R^2 of the step of
        directions by attention alone. `predicted` is 1 if sum_h V_h has a positive trace and tokens
        before the layer lie in the hemisphere about their mean, else NaN. By Lemma 6.4 of
        arXiv:2312.10794 a flow with V = c 1, c > 0, and no mask then ends in one cluster.
    sink_share, ... : ndarray, shape (2, layers, heads)
        Means of p_i0 and e^{S_i} over rows. For B and V: largest |eigenvalue|,
        |sym B|_F^2 / |B|_F^2, and tr B / |B|_F.
    contexts, attended : ndarray, shape (octaves,), (2, layers, heads, octaves)
        Geometric means of n and of e^{S_i}, n from 8 to 15, from 16 to 31, ...; a text counts in an
        octave if it has at least half of its rows.
    sampled : ndarray, shape (2, layers, heads, 4)
        |o^(n) - o^(N)| / |o^(N)|, root mean squares over the last quarter of the rows, for n / N of
        `SHARES`. N is the number of tokens to which all these rows attend, rounded down to a
        multiple of 16.
    exponent, sampling_exponent : ndarray, shape (2, layers, heads)
        g and a; g is NaN with fewer than two octaves.
    """

    kind = "diagnosis"
    derived: ClassVar = {
        name: Array(("model", "layer", "head"), name) for name in ("exponent", "sampling_exponent")
    }

    model: str = attribute()
    seed: int = attribute()
    tokens: IntArray = array("text", kind="i")
    mean_cosine: FloatArray = array("model layer")
    effective_rank: FloatArray = array("model layer")
    median_length: FloatArray = array("model layer")
    first_length: FloatArray = array("model layer")
    clusters: FloatArray = array("model layer")
    predicted: FloatArray = array("model layer")
    step_share: FloatArray = array("model layer")
    sink_share: FloatArray = array("model layer head")
    attended_tokens: FloatArray = array("model layer head")
    score_radius: FloatArray = array("model layer head")
    score_symmetric: FloatArray = array("model layer head")
    score_trace: FloatArray = array("model layer head")
    value_radius: FloatArray = array("model layer head")
    value_symmetric: FloatArray = array("model layer head")
    value_trace: FloatArray = array("model layer head")
    contexts: FloatArray = array("octave")
    attended: FloatArray = array("model layer head octave")
    sampled: FloatArray = array("model layer head share")
    attributes: dict[str, Any] = field(default_factory=dict)

    plot = plot_method(
        "Diagnosis.plot",
        "Figure of layers above, of heads below: the trained model beside its untrained copy.",
        on_axes=False,
    )

    @property
    def exponent(self) -> FloatArray:
        return _slopes(np.log(self.contexts), self.attended)

    @property
    def sampling_exponent(self) -> FloatArray:
        return _slopes(np.log(1.0 / np.array(SHARES) - 1.0), self.sampled)

    def by_layer(self, name: str) -> FloatArray:
        """Quantity of each layer, (2, layers); mean over heads."""
        values = np.asarray(getattr(self, name), np.float64)
        return values if values.ndim == 2 else np.asarray(values.mean(axis=2))

    def quantiles(self, name: str) -> FloatArray:
        """Median, 10 % and 90 % quantiles over layers and heads, (3, 2, ...)."""
        return np.asarray(np.quantile(getattr(self, name), (0.5, 0.1, 0.9), axis=(1, 2)))

    def parts(self) -> list[Rows | str]:
        _, layers, heads = self.sink_share.shape
        about = {"model": self.model, "texts": len(self.tokens), "tokens": int(self.tokens.sum()),
                 "layers": layers, "heads of a layer": heads, "seed": self.seed}  # fmt: skip
        rows = [[text, *map(_cell, self.quantiles(name).T.flat)] for name, text in _HEADS.items()]
        g, errors = self.exponent, self.quantiles("sampled")[..., -1]
        rows.insert(2, ["error of N/2 of N tokens", *map(_cell, errors.T.flat)])
        for text, counted in (("share of g below 0.3", g < 0.3), ("share of g above 0.9", g > 0.9)):
            mine, other = map(_cell, np.where(np.isnan(g), math.nan, counted).mean(axis=(1, 2)))
            rows.insert(1, [text, mine, "", "", other, "", ""])
        heading = ("heads", "median", "10 %", "90 %", "untrained", "10 %", "90 %")
        return [
            Rows((), list(about.items())),
            Rows(heading, rows, below=_NOTES["heads"]),
            self._layers(_TOKENS, "tokens after each layer", _NOTES["tokens"]),
            self._layers(_ATTENTION, "attention of each layer, means over heads", _NOTES["layers"]),
        ]

    def _layers(self, names: dict[str, str], above: str, below: str) -> Rows:
        numbers = [row for name in names for row in self.by_layer(name)]
        heading = [word for text in names.values() for word in (text, "untrained")]
        rows = [[k + 1, *map(_cell, row)] for k, row in enumerate(np.transpose(numbers))]
        return Rows(("layer", *heading), rows, above, below)

    def __repr__(self) -> str:
        words = f"{self.clusters.shape[1]} layers, {self.tokens.sum()} tokens"
        return f"Diagnosis({self.model}: {words})"


@checked
def diagnose(
    model: Stack,
    texts: str | Sequence[str | IntArray],
    *,
    seed: int = 0,
    progress: bool | Progress | None = None,
) -> Diagnosis:
    """Tokens, sinks, attended tokens, matrices and sampling of a model, layer by layer.

    An untrained copy is measured, too. Its matrices are Gaussian with the Frobenius norm of the
    trained ones, its gains the root mean square of the trained ones, its biases 0. Memory holds
    blocks of rows of attention, and one layer of the copy.

    Parameters
    ----------
    model : Encoder or Decoder
        From `load_encoder` or `load_decoder`.
    texts : str, several, or arrays of numbers of tokens
        Each of 32 tokens or more. Exponents of encoders need texts of different lengths, as all
        tokens attend to all.
    seed : int
        Seed of the untrained copy and of sampled tokens.
    progress : bool or callable, optional
        Show a bar, by default in notebooks; or a function of (layers, count, text) that shows it.

    Raises
    ------
    ValueError
        If a text has fewer than 32 tokens or more than the model takes, or memory does not suffice.

    References
    ----------
    Chen, Lin, Polyanskiy, Rigollet, arXiv:2510.05554 (beta = gamma log n). Xiao et al.,
    arXiv:2309.17453 (sinks). Geshkovski, Letrouit, Polyanskiy, Rigollet, arXiv:2312.10794.
    """
    tokens = [text_tokens(model, text) for text in listed(texts)]
    shortest, longest = min(map(len, tokens), default=0), max(map(len, tokens), default=0)
    if shortest < _FEWEST:
        raise ValueError(
            f"a diagnosis needs texts of {_FEWEST} tokens or more, got {shortest}: give longer "
            "ones."
        )
    need = _need(model, tokens)
    check_memory(need, f"a diagnosis of {longest} tokens", "Take shorter texts")
    show = progress if callable(progress) else followed if wants_bar(progress) else None
    records: Iterable[Any] = _records(model, tokens, np.random.default_rng(seed))
    if show is not None:
        label = f"diagnose, about {need / 2**30:.2g} GiB of memory"
        records = show(records, 2 * len(model.layers), label)
    table = list(records)
    numbers: dict[str, Any] = {
        name: np.array([each[name] for each in table]).reshape(2, -1, *np.shape(table[0][name]))
        for name in table[0]
    }
    # Drop octaves without a text, such as all but one for an encoder and one text.
    some = ~np.isnan(numbers["contexts"][0, 0])
    numbers["contexts"] = np.exp(numbers["contexts"][0, 0, some])
    numbers["attended"] = np.exp(numbers["attended"][..., some])
    return Diagnosis(model.name, seed, np.array([len(each) for each in tokens]), **numbers)


def _need(model: Stack, tokens: Sequence[IntArray]) -> float:
    """Bytes for the model, embeddings and a layer of its copy, states of texts, blocks of rows."""
    parts = [[each.weight for each in vars(layer).values() if isinstance(each, Affine)]
             for layer in {*model.layers}]  # fmt: skip
    sizes = [sum(each.nbytes for each in part) for part in parts]
    embeddings = sum(each.nbytes for each in vars(model).values() if isinstance(each, np.ndarray))
    n, d = max(map(len, tokens)), parts[0][0].shape[1]
    rows = n * (12 * d + 4 * max(map(len, parts[0]))) + 2 * d * sum(map(len, tokens))
    blocks = 6 * min(PAIRS, n**2) * min(threads(), model.layers[0].heads)
    return float(sum(sizes) + max(sizes) + 2 * embeddings + 8 * (rows + blocks))


def _records(
    model: Stack, tokens: Sequence[IntArray], rng: np.random.Generator
) -> Iterator[dict[str, Any]]:
    """Quantities of each layer of a model, then of each layer of its untrained copy."""
    orders = [rng.permuted([np.arange(len(each))] * _DRAWS, axis=1) for each in tokens]
    octaves = int(math.log2(max(map(len, tokens)))) + 1
    for trained in (True, False):
        states = [(model if trained else _drawn(model, rng)).embedded(each) for each in tokens]
        before: Any = None
        for own in model.layers:
            if own is not before:  # layers that share weights are one
                before, layer = own, own if trained else _drawn(own, rng)
            with one_blas_thread():
                spectra, total = _spectra(layer)
                rows = []
                for text, order in enumerate(orders):
                    states[text], row = _measured(layer, states[text], order, octaves)
                    rows.append(row)
            numbers = {name: _mean([row[name] for row in rows]) for name in rows[0]}
            gathers = numbers.pop("half_sphere") == 1.0 and total > 0.0
            yield {**numbers, **spectra, "predicted": 1.0 if gathers else math.nan}


def _measured(
    layer: MultiHead, x: FloatArray, orders: IntArray, octaves: int
) -> tuple[FloatArray, dict[str, Any]]:
    """Tokens after a layer applied to x, (n, d), and quantities of the layer without B and V."""
    n, heads = len(x), layer.heads
    contexts = np.arange(1, n + 1) if layer.causal else np.full(n, n)
    late = n - n // 4
    common = int(contexts[late]) // 16 * 16
    samples = [order[order < common][: common // 2] for order in orders]
    entropies, sinks = np.empty((heads, n)), np.zeros(heads)
    lost, lengths = np.zeros((heads, len(SHARES))), np.zeros((heads, 1))

    def look(
        h: int, first: int, scores: FloatArray, weights: FloatArray, value: FloatArray
    ) -> None:
        entropies[h, first : first + len(scores)] = row_entropies(weights)
        sinks[h] += weights[:, 0].sum() / n
        scores = scores[max(late - first, 0) :, :common]
        outputs = softmax(scores) @ value[:common]
        lengths[h] += np.sum(outputs**2) * len(samples)
        for sample in samples:
            some, values = scores[:, sample], value[sample]
            for k, size in enumerate(int(common * share) for share in SHARES):
                means = softmax(some[:, :size]) @ values[:size]
                lost[h, k] += np.sum((means - outputs) ** 2)

    y = layer.after_attention(x, layer.attention(x, look))
    after = layer.after_feed_forward(y, layer.feed_forward(y))
    u, moved, sizes = unit_vectors(x), unit_vectors(after), np.linalg.norm(after, axis=1)
    alone = layer.after_feed_forward(y, np.zeros(y.shape))
    apart, stay = (np.float64(directions_apart(each, moved)) for each in (alone, x))
    octave = np.log2(contexts).astype(int)
    members = [octave == k for k in range(_FIRST_OCTAVE, octaves)]
    # Without this, one row may weigh as much as an octave: n = 256 changed g by up to 0.5.
    members = [each & (2 * each.sum() >= 2**k) for k, each in enumerate(members, _FIRST_OCTAVE)]
    with np.errstate(invalid="ignore", divide="ignore"):
        return after, {
            **monitor(after),
            "median_length": np.median(sizes),
            "first_length": sizes[0] / np.median(sizes),
            "clusters": clusters(on_sphere(after), 1.0).count,
            "half_sphere": (u @ u.sum(axis=0)).min() > 0.0,
            "step_share": 1.0 - (apart / stay) ** 2,
            "sink_share": sinks,
            "attended_tokens": np.exp(entropies).mean(axis=1),
            "contexts": np.array([_mean(np.log(contexts[each])) for each in members]),
            "attended": np.transpose([_mean(entropies[:, each].T) for each in members]),
            "sampled": np.sqrt(lost / lengths),
        }


def _spectra(layer: MultiHead) -> tuple[dict[str, Any], float]:
    """Quantities of B and V of each head, and the trace of sum_h V_h."""
    table, total = [], 0.0
    for h in range(layer.heads):
        query, key, value, output = layer.matrices(h)
        scores = (query[:, :-1] / math.sqrt(layer.size), key[:, :-1])
        for left, right in (scores, (output.T, value[:, :-1])):
            square, of_symmetric, core = bilinear_norms(left, right)
            radius, trace = np.abs(np.linalg.eigvals(core)).max(), np.trace(core)
            with np.errstate(invalid="ignore"):
                table.append((radius, np.float64(of_symmetric) / square, trace / np.sqrt(square)))
        total += float(trace)
    names = [f"{form}_{name}" for form in ("score", "value") for name in _MATRICES]
    return dict(zip(names, np.reshape(table, (layer.heads, 6)).T, strict=True)), total


def _drawn(part: Any, rng: np.random.Generator, name: str = "") -> Any:
    """Untrained copy of a layer, or of a model with trained layers and untrained embeddings."""
    if name == "bias":
        return np.zeros(part.shape)
    if name == "gain":
        return np.full(part.shape, math.sqrt(np.mean(part**2)))
    if isinstance(part, np.ndarray) and name != "unembedding":  # not used here
        normal = rng.standard_normal(part.shape)
        return normal * (np.linalg.norm(part) / np.linalg.norm(normal))
    if hasattr(part, "_fields"):
        named = {each: _drawn(getattr(part, each), rng, each) for each in part._fields}
        return part._replace(**named)
    if isinstance(part, Stack | MultiHead):
        names = [each.name for each in fields(part)]  # type: ignore[arg-type]
        return replace(part, **{each: _drawn(getattr(part, each), rng, each) for each in names})  # type: ignore[type-var]
    return part


def _slopes(along: FloatArray, values: FloatArray) -> FloatArray:
    """Least-squares slopes of log values (..., n) over n numbers; NaN for fewer than two."""
    if len(along) < 2:
        return np.full(values.shape[:-1], math.nan)
    centre = along - along.mean()
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.log(values) @ centre / (centre @ centre))


def _mean(values: Any) -> Any:
    """Mean along the first axis without NaN; NaN if all are NaN."""
    values = np.asarray(values, np.float64)
    counted = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.where(counted, values, 0.0).sum(axis=0) / np.float64(counted.sum(axis=0))


def _cell(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3g}"
