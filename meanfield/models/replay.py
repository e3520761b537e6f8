"""States of texts in a trained model, layer by layer, and the quantities of the theory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from meanfield.arguments import checked
from meanfield.arrays import ComplexArray, FloatArray, IntArray
from meanfield.described import Array, StudyResult, plot_method
from meanfield.engines.threads import one_blas_thread
from meanfield.fields.blocks import unit_vectors
from meanfield.laws.initial import from_points
from meanfield.measures import Measure
from meanfield.models.encoder import Stack, listed
from meanfield.models.heads import (
    RUNGS,
    STEPS,
    HeadTable,
    Ladder,
    head_table,
    ladder,
    on_sphere,
    value_spectrum,
)
from meanfield.observables import observe, usual_observables
from meanfield.observables.cosines import CENTRES
from meanfield.problem import Problem
from meanfield.progress import followed, wants_bar
from meanfield.runs import Run, assembled
from meanfield.schemes.layers import Layers
from meanfield.snapshot import Snapshot
from meanfield.status import COMPLETED
from meanfield.terms.flows import SA
from meanfield.terms.kernels import exponential

Table = TypeVar("Table", HeadTable, Ladder)

# Cosine above which two directions count as alike.
ALIKE = 0.9
_ARRAYS = {
    "depth": "depth",
    "layer": "layer",
    "bin": "bin",
    "letters": "letter",
    "letter_text": "letter",
    "tokens": "token",
    "text_of": "token",
    "states": "depth token coordinate",
    **{
        f"observed_{name}": "text depth"
        for name in ("mean_cosine", "deviation", "alike", "effective_rank", "clusters", "energy")
    },
    "observed_similarity": "text depth bin",
    "sizes": "text part layer",
    **{f"heads_{each.name}": "text layer head" for each in fields(HeadTable)},
    "ladder_cosine": "text rung depth",
    "ladder_distance": "text rung depth",
    "ladder_step_distance": "text step layer",
    **{f"ladder_{name}": "text layer" for name in ("beta", "strength", "share")},
    "spectrum_real": "layer coordinate",
    "spectrum_imag": "layer coordinate",
}
"""Arrays in files -> their axes."""
_INTEGERS = ("depth", "layer", "letters", "letter_text", "tokens", "text_of")
_OBSERVED = ("energy", "mean_cosine", "similarity", "effective_rank")


@dataclass(frozen=True, eq=False)
class Replay(StudyResult):
    """Hidden states of texts at all depths, and quantities measured in them. Depth is time.

    Attributes
    ----------
    model : str
    texts : tuple of str
        The texts; "" for tokens given by number.
    tokens, text_of : ndarray of int, shape (n,)
        Numbers of all tokens, text after text, and the index of the text of each token.
    states : ndarray, shape (layers + 1, n, d)
        States at depth 0, after the first layer, ..., after the last.
    beta : float
        Inverse temperature for energies and clusters: median of the finite `heads.beta_fit`, or 1
        if this is not positive.
    observed : dict of str to ndarray, shape (n_texts, layers + 1, ...)
        For directions of tokens: "mean_cosine" of pairs, "deviation" of cosines, "alike" (share
        of pairs above 0.9), "effective_rank", "similarity" (histogram over the bins of
        `meanfield.observables.cosines.EDGES`), number of "clusters", "energy".
    sizes : ndarray, shape (n_texts, 2, layers)
        Increments by attention and by the feed-forward layer, relative to the states to which
        they are added, root mean squares.
    heads : HeadTable
        Entries have shape (n_texts, layers, heads).
    spectrum : ndarray, shape (layers, d)
        Eigenvalues of sum_h V_h, the largest first.
    ladder : Ladder
        Entries begin with an axis of texts.
    attributes : dict
        Attributes of a file: title, created, result_hash, ...
    """

    kind = "replay"
    stored_as = {"model": "model", "beta": "beta"}
    required = ("model", "beta")

    model: str
    texts: tuple[str, ...]
    tokens: IntArray
    text_of: IntArray
    states: FloatArray
    beta: float
    observed: dict[str, FloatArray]
    sizes: FloatArray
    heads: HeadTable
    spectrum: ComplexArray
    ladder: Ladder
    attributes: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def described(cls) -> dict[str, Array]:
        return {
            name: Array(tuple(axes.split()), name, kind="i" if name in _INTEGERS else "f")
            for name, axes in _ARRAYS.items()
        }

    def stored_values(self) -> dict[str, Any]:
        codes = [np.frombuffer(text.encode("utf-32-le"), "<u4") for text in self.texts]
        return {
            "depth": np.arange(self.depth + 1),
            "layer": np.arange(1, self.depth + 1),
            "bin": CENTRES,
            # Texts one after another as Unicode code points, each with the index of its text.
            "letters": np.concatenate(codes).astype(np.int64),
            "letter_text": np.repeat(np.arange(len(codes)), [len(each) for each in codes]),
            **{name: getattr(self, name) for name in ("tokens", "text_of", "states", "sizes")},
            **{f"observed_{name}": values for name, values in self.observed.items()},
            **{f"heads_{each.name}": getattr(self.heads, each.name) for each in fields(HeadTable)},
            **{f"ladder_{each.name}": getattr(self.ladder, each.name) for each in fields(Ladder)},
            "spectrum_real": self.spectrum.real,
            "spectrum_imag": self.spectrum.imag,
        }

    @classmethod
    def check_values(cls, values: Mapping[str, Any], attributes: Mapping[str, Any]) -> None:
        texts = len(values["text"])
        if (
            not texts
            or not len(values["token"])
            or len(values["depth"]) != len(values["layer"]) + 1
        ):
            raise ValueError("a replay needs a text, a token, and a state more than layers")
        # Files of 0.2.0 have encoders only, and no step without RoPE.
        if len(values["rung"]) != len(RUNGS) or len(values["step"]) not in (4, len(STEPS)):
            raise ValueError("ladder has other rungs than this version knows")
        if len(values["bin"]) != len(CENTRES) or len(values["part"]) != 2:
            raise ValueError("observed or sizes have other shapes than this version knows")
        for name, most in (
            ("text_of", texts - 1),
            ("letter_text", texts - 1),
            ("letters", 0x10FFFF),
        ):
            numbers = values[name]
            if numbers.size and not (numbers.min() >= 0 and numbers.max() <= most):
                raise ValueError(f"{name} holds other numbers than 0 to {most}")

    @classmethod
    def restored(cls, values: Mapping[str, Any], attributes: dict[str, Any]) -> Self:
        if len(values["step"]) == 4:
            distances = np.insert(values["ladder_step_distance"], 3, 0.0, axis=1)
            distances[:, 3] = distances[:, 2]
            values = {**values, "ladder_step_distance": distances}
        letters, owner = values["letters"], values["letter_text"]
        codes = [letters[owner == number].astype("<u4") for number in range(len(values["text"]))]
        return cls(
            model=str(attributes.pop("model")),
            texts=tuple(str(each.tobytes(), "utf-32-le") for each in codes),
            **{name: values[name] for name in ("tokens", "text_of", "states", "sizes")},
            beta=float(attributes.pop("beta")),
            observed={n.partition("_")[2]: values[n] for n in _ARRAYS if n.startswith("observed_")},
            heads=HeadTable(**{e.name: values[f"heads_{e.name}"] for e in fields(HeadTable)}),
            spectrum=values["spectrum_real"] + 1j * values["spectrum_imag"],
            ladder=Ladder(**{e.name: values[f"ladder_{e.name}"] for e in fields(Ladder)}),
            attributes=attributes,
        )

    @property
    def depth(self) -> int:
        return len(self.states) - 1

    def measure(self, layer: int, text: int = 0) -> Measure:
        """Directions of the tokens of a text after a layer, on the unit sphere of R^d.

        Its points may start a run: `mf.from_points(replay.measure(0).points)`. ValueError if layer
        is not between 0 and `depth`, or there is no such text.
        """
        for name, value, end in (
            ("layer", layer, self.depth),
            ("text", text, len(self.texts) - 1),
        ):
            if not 0 <= value <= end:
                raise ValueError(f"{name} must be between 0 and {end}, got {value}.")
        return on_sphere(self.states[layer, self.text_of == text])

    def run(self, text: int = 0) -> Run:
        """States of a text as a run whose time is depth, for figures and observables of runs.

        Its states are states of the model. Its problem is for comparison: layers of one head with
        `beta` and Q = K = V = 1, from the same initial tokens.
        """
        measures = [self.measure(layer, text) for layer in range(self.depth + 1)]
        law = from_points(measures[0].points, name=self.model)
        layers = Layers(step=1.0, count=self.depth)
        problem = Problem(measures[0].manifold, exponential(self.beta), SA, law, layers=layers)
        names = usual_observables(problem.manifold)
        rows = []
        for depth, measure in enumerate(measures):
            moments = measure.moments(1)
            observables = observe(problem, measure, moments, names, time=float(depth), step=depth)
            rows.append((Snapshot(float(depth), measure, moments, "particles"), observables))
        facts = {"status": COMPLETED, "title": f"States of {self.model}, beside a layer of theory"}
        return assembled(problem, rows, facts)

    plot = plot_method(
        "Replay.plot",
        "Figure: cosines by layer, the ladder, betas with their R^2, spectra of values.",
        on_axes=False,
    )

    def __repr__(self) -> str:
        many = f"{len(self.texts)} texts, " if len(self.texts) > 1 else ""
        return f"Replay({self.model}: {self.depth} layers, {many}{len(self.tokens)} tokens)"


class ReplayedText(NamedTuple):
    """Tokens of one text, their states at all depths, and its entries of `Replay`."""

    tokens: IntArray
    states: list[FloatArray]
    heads: HeadTable
    sizes: FloatArray
    ladder: Ladder


@checked
def replay(
    model: Stack, texts: str | Sequence[str | IntArray], *, progress: bool | None = None
) -> Replay:
    """Compute states of texts in a trained model, layer by layer, and compare them with theory.

    Parameters
    ----------
    model : Encoder or Decoder
        From `load_encoder` or `load_decoder`.
    texts : str, several, or arrays of numbers of tokens
        Tokens attend only to tokens of their own text.
    progress : bool, optional
        Show a bar; by default in notebooks.

    Raises
    ------
    ValueError
        If there is no text, a text has fewer than two tokens or more than the model takes, or
        numbers are out of range.

    References
    ----------
    Geshkovski, Letrouit, Polyanskiy, Rigollet, A mathematical perspective on Transformers,
    arXiv:2312.10794, figure 1: cosines of ALBERT's tokens by layer.
    """
    texts_listed = listed(texts)
    if not texts_listed:
        raise ValueError("no text was given.")
    parts = replayed_texts(model, texts_listed)
    return replay_of(
        model,
        texts_listed,
        list(followed(parts, len(texts_listed), "replay") if wants_bar(progress) else parts),
    )


def replay_of(
    model: Stack, texts: Sequence[str | IntArray], parts: Sequence[ReplayedText]
) -> Replay:
    """Replay of texts from the parts of `replayed_texts`."""
    tables = [each.heads for each in parts]
    slopes = np.array([each.beta_fit for each in tables])
    slopes = slopes[np.isfinite(slopes)]
    beta = float(np.median(slopes)) if len(slopes) else 1.0
    beta = beta if beta > 0.0 else 1.0
    observed = [[_observed_of(x, beta) for x in each.states] for each in parts]
    # Layers with shared weights have one spectrum.
    spectra = {layer: value_spectrum(layer) for layer in dict.fromkeys(model.layers)}
    return Replay(
        model=model.name,
        texts=tuple(text if isinstance(text, str) else "" for text in texts),
        tokens=np.concatenate([each.tokens for each in parts]),
        text_of=np.repeat(np.arange(len(texts)), [len(each.tokens) for each in parts]),
        states=np.concatenate([np.array(each.states) for each in parts], axis=1),
        beta=beta,
        observed={
            name: np.array([[each[name] for each in row] for row in observed])
            for name in observed[0][0]
        },
        sizes=np.array([each.sizes for each in parts]),
        heads=stacked(tables),
        spectrum=np.array([spectra[layer] for layer in model.layers]),
        ladder=stacked([each.ladder for each in parts]),
    )


def _observed_of(x: FloatArray, beta: float) -> dict[str, Any]:
    """Observables of directions of tokens (n, d)."""
    measure = on_sphere(x)
    u = measure.points
    # The last bits of a product depend on the threads of BLAS.
    with one_blas_thread():
        pairs = (u @ u.T)[np.triu_indices(len(u), 1)]
    problem = Problem(measure.manifold, exponential(beta), normalization="none")
    observables = observe(problem, measure, measure.moments(1), _OBSERVED)
    return {
        "deviation": pairs.std(),
        "alike": np.mean(pairs > ALIKE),
        "clusters": observables["clusters/count"],
        **{name: observables[name] for name in _OBSERVED},
    }


def stacked(tables: Sequence[Table]) -> Table:
    """Several tables as one, with a new first axis in every entry."""
    names = [each.name for each in fields(tables[0])]
    kind = type(tables[0])
    return kind(*(np.array([getattr(table, name) for table in tables]) for name in names))


def replayed_texts(model: Stack, texts: Sequence[str | IntArray]) -> Iterator[ReplayedText]:
    """States and measured quantities of each text, one after another."""
    # All texts are checked before the first is computed.
    texts_of_tokens = [text_tokens(model, text) for text in texts]
    for tokens in texts_of_tokens:
        # Matrices are small, so a second BLAS thread only waits.
        with one_blas_thread():
            record = _replayed_text(model, tokens)
        yield record


def text_tokens(model: Stack, text: str | IntArray) -> IntArray:
    """Numbers of the tokens of a text; ValueError if the model cannot take it."""
    tokens = model.tokens(text) if isinstance(text, str) else np.asarray(text)
    if tokens.ndim != 1 or tokens.dtype.kind not in "iu":
        raise ValueError(
            "a text is a str or a one-dimensional array of whole numbers, got an array of shape "
            f"{tokens.shape} and type {tokens.dtype}: of one text give [tokens]."
        )
    if len(tokens) < 2:
        raise ValueError("a text of one token has no pairs: give a longer one.")
    model.embedded(tokens)
    return tokens.astype(np.int64)


def _replayed_text(model: Stack, tokens: IntArray) -> ReplayedText:
    """States of a text, its heads, sizes of increments, and ladder."""
    states = list(model.states(model.embedded(tokens)))
    tables, sizes = [], []
    for layer, x in zip(model.layers, states, strict=False):
        u = unit_vectors(x)
        tables.append(head_table(layer, x, u @ u.T))
        attention = layer.attention(x)
        y = layer.after_attention(x, attention)
        added = ((attention, x), (layer.feed_forward(y), y))
        sizes.append([np.linalg.norm(part) / np.linalg.norm(to) for part, to in added])
    return ReplayedText(tokens, states, stacked(tables), np.array(sizes).T, ladder(model, states))
