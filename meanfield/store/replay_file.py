"""The file of `meanfield replay` (HDF5): its layout, described here and nowhere else.

    /depth                   (layers + 1,) 0 ... layers
    /layer                   (layers,) 1 ... layers
    /text, /head, /bin, ...  scales of the other axes: numbers from 0; /bin middles of the bins
    /letters                 (letters,) texts, one after the other, as code points of Unicode
    /letter_text             (letters,) the text that each belongs to
    /tokens, /text_of        (n,) numbers of the pieces of the texts, and the text of each
    /states                  (layers + 1, n, d) hidden states
    /observed_NAME           (texts, layers + 1[, bins]) what is observed of directions of tokens
    /sizes                   (texts, 2, layers) relative size of what attention, feed-forward add
    /heads_NAME              (texts, layers, heads) the table of heads
    /ladder_NAME             (texts, ...) rungs from the model to an equation
    /spectrum_real, _imag    (layers, d) eigenvalues of the sum of values
    attributes               replay_format_version, meanfield_version, created, status, result_hash,
                             model, beta, title, and the facts of origin

Every axis has its dimension scale.
"""

from __future__ import annotations

import os
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from meanfield.arrays import IntArray
from meanfield.models.heads import HeadTable
from meanfield.models.ladder import RUNGS, STEPS, Ladder
from meanfield.models.replay import Replay
from meanfield.observables.cosines import CENTRES
from meanfield.status import COMPLETED
from meanfield.store.layout import arrays, check_counts
from meanfield.store.locks import replaced_at_once
from meanfield.store.output_file import OutputFile
from meanfield.store.provenance import provenance
from meanfield.store.study_file import read_study, write_study
from meanfield.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

REPLAY_FORMAT_VERSION = 1

_OBSERVED = ["mean_cosine", "deviation", "alike", "effective_rank", "clusters", "energy"]
_OF_HEADS = ("text", "layer", "head")
_AXES: dict[str, tuple[str, ...]] = {
    "letters": ("letter",),
    "letter_text": ("letter",),
    "tokens": ("token",),
    "text_of": ("token",),
    "states": ("depth", "token", "coordinate"),
    **{f"observed_{name}": ("text", "depth") for name in _OBSERVED},
    "observed_similarity": ("text", "depth", "bin"),
    "sizes": ("text", "part", "layer"),
    **{f"heads_{each.name}": _OF_HEADS for each in fields(HeadTable)},
    "ladder_cosine": ("text", "rung", "depth"),
    "ladder_distance": ("text", "rung", "depth"),
    "ladder_step_distance": ("text", "step", "layer"),
    **{f"ladder_{name}": ("text", "layer") for name in ("beta", "strength", "share")},
    "spectrum_real": ("layer", "coordinate"),
    "spectrum_imag": ("layer", "coordinate"),
}
_COUNTED = ("text", "token", "coordinate", "part", "head", "rung", "step", "letter")
_INTEGERS = (*_COUNTED, "depth", "layer", "letters", "letter_text", "tokens", "text_of")


def write_replay(file: Path | OutputFile, replay: Replay) -> None:
    """Write a replay, with its attributes, into a file in place of what was there."""
    codes = [np.frombuffer(text.encode("utf-32-le"), "<u4") for text in replay.texts]
    values: dict[str, Any] = {
        "letters": np.concatenate(codes).astype(np.int64),
        "letter_text": np.repeat(np.arange(len(codes)), [len(each) for each in codes]),
        "tokens": replay.tokens,
        "text_of": replay.text_of,
        "states": replay.states,
        **{f"observed_{name}": values for name, values in replay.observed.items()},
        "sizes": replay.sizes,
        **_table("heads", replay.heads),
        **_table("ladder", replay.ladder),
        "spectrum_real": replay.spectrum.real,
        "spectrum_imag": replay.spectrum.imag,
    }
    lengths = {
        axis: length
        for name, named in _AXES.items()
        for axis, length in zip(named, values[name].shape, strict=True)
    }
    scales = {axis: np.arange(length) for axis, length in lengths.items()}
    scales |= {"layer": np.arange(1, lengths["depth"]), "bin": CENTRES}
    facts = {"model": replay.model, "beta": replay.beta}
    write_study(
        file, "replay", REPLAY_FORMAT_VERSION, replay.attributes | facts, scales, values, _AXES, {}
    )


def save_replay(replay: Replay, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a replay into a file at once; see `Replay.save`."""
    with replaced_at_once(Path(path), overwrite=overwrite) as output:
        write_replay(output, with_origin(replay))


def with_origin(replay: Replay) -> Replay:
    """A replay that says where it comes from, unless a file has said it."""
    facts = provenance() | {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "meanfield_version": __version__,
        "status": COMPLETED,
    }
    return replace(replay, attributes=facts | replay.attributes)


def load_replay(path: str | os.PathLike[str]) -> Replay:
    """Replay in a file of `meanfield replay`."""
    with read_study(path, "replay", REPLAY_FORMAT_VERSION, "model", "beta") as (file, attributes):
        table = arrays(file, _AXES, _INTEGERS)
        texts = len(table["text"])
        if not texts or not len(table["token"]) or len(table["depth"]) != len(table["layer"]) + 1:
            raise ValueError("a replay needs a text, a token, and a state more than layers")
        if len(table["rung"]) != len(RUNGS) or len(table["step"]) != len(STEPS):
            raise ValueError("ladder has other rungs than this version knows")
        if len(table["bin"]) != len(CENTRES) or len(table["part"]) != 2:
            raise ValueError("observed or sizes have other shapes than this version knows")
        check_counts("text_of", table["text_of"], texts - 1)
        check_counts("letter_text", table["letter_text"], texts - 1)
        return Replay(
            model=str(attributes.pop("model")),
            texts=tuple(_text(table, number) for number in range(texts)),
            tokens=table["tokens"],
            text_of=table["text_of"],
            states=table["states"],
            beta=float(attributes.pop("beta")),
            observed={
                n.removeprefix("observed_"): table[n] for n in _AXES if n.startswith("observed_")
            },
            sizes=table["sizes"],
            heads=HeadTable(**{e.name: table[f"heads_{e.name}"] for e in fields(HeadTable)}),
            spectrum=table["spectrum_real"] + 1j * table["spectrum_imag"],
            ladder=Ladder(**{e.name: table[f"ladder_{e.name}"] for e in fields(Ladder)}),
            attributes=attributes,
        )


def _table(name: str, table: HeadTable | Ladder) -> dict[str, Any]:
    return {f"{name}_{each.name}": getattr(table, each.name) for each in fields(table)}


def _text(letters: Mapping[str, IntArray], number: int) -> str:
    """Text of a file; ValueError for invalid code points."""
    codes = letters["letters"][letters["letter_text"] == number]
    check_counts("letters", codes, 0x10FFFF)
    return str(codes.astype("<u4").tobytes(), "utf-32-le")
