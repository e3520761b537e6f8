"""Parts of a trained model: settings and arrays of its files, each with a shape that is checked."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.errors import one_line
from meanfield.models.encoder import Affine
from meanfield.models.safetensors import ArrayFile, check_ordinary

# Bytes of a file of settings, and sizes that one may name.
_LARGEST = 1_000_000
_MOST = 1_000_000
# Half precision ends at 65504. Of larger ones, squares of sums of their products would overflow.
_LARGEST_WEIGHT = 1e12
# Shared weights would be replayed any number of times, and all states kept.
_MOST_LAYERS = 1_000
# Tensors that a message names one by one.
_MOST_NAMED = 20


class Parts:
    """Reads arrays of a file with the shapes that settings say.

    path, tensors: a file of arrays; settings, config: the file of settings, and its entries.
    """

    prefix = ""  # of names of arrays

    def __init__(
        self, path: Path, tensors: ArrayFile, settings: Path, config: Mapping[str, Any]
    ) -> None:
        self.path, self.tensors, self.settings, self.config = path, tensors, settings, config
        self.missing: list[str] = []  # names of arrays

    def affine(self, name: str, rows: int, columns: int, *, optional: bool = False) -> Affine:
        """Weight and bias; an `optional` bias is 0 where the file has none."""
        weight = self.array(f"{name}.weight", (rows, columns))
        if optional and self.named(f"{name}.bias") not in self.tensors:
            return Affine(weight, np.broadcast_to(0.0, (rows,)))
        return Affine(weight, self.array(f"{name}.bias", (rows,)))

    def named(self, name: str) -> str:
        """Name of an array in this file."""
        return self.prefix + name

    def array(self, name: str, shape: tuple[int, ...]) -> FloatArray:
        key, path = self.named(name), self.path
        if key not in self.tensors:
            self.missing.append(key)
            return np.broadcast_to(0.0, shape)
        if self.tensors.shape(key) != shape:
            raise ValueError(
                f"{path}: {key} has shape {self.tensors.shape(key)}, {self.settings.name} says "
                f"{shape}."
            )
        weights = self.tensors[key]
        if weights.size and (largest := np.abs(weights).max()) > _LARGEST_WEIGHT:
            raise ValueError(
                f"{path}: {key} holds {largest:.3g}, expected trained weights, at most "
                f"{_LARGEST_WEIGHT:g}."
            )
        return weights

    def check_missing(self, kind: str) -> None:
        """Refuse a file that lacks arrays of this kind of model."""
        if self.missing:
            names, more = ", ".join(self.missing[:_MOST_NAMED]), len(self.missing) - _MOST_NAMED
            others = f" and {more} more" if more > 0 else ""
            raise ValueError(f"{self.path} has no {names}{others}: is it a {kind}?")

    def depth(self) -> int:
        """Number of layers."""
        depth = self.whole("num_hidden_layers")
        if depth > _MOST_LAYERS:
            self.wrong(f"num_hidden_layers is {depth}, at most {_MOST_LAYERS} are taken")
        return depth

    def name(self, key: str, usual: str) -> str:
        """The model's own name without that of its maker, or else the usual one."""
        own = self.config.get(key)
        if isinstance(own, str) and own.isprintable() and 0 < len(own) <= 100:
            own = own.rstrip("/").rsplit("/", 1)[-1]
            if own:
                return own
        return usual

    def whole(self, name: str, usual: int | None = None) -> int:
        return int(self.number(name, int, usual))

    def number(
        self, name: str, kind: Callable[[Any], Any], usual: float | None, most: int = _MOST
    ) -> Any:
        value = self.config.get(name, usual)
        if type(value) not in (int, kind) or not 0 < value <= most:
            wanted = "whole number" if kind is int else "number"
            self.wrong(
                f"{name} is {short_repr(value)}, expected a positive {wanted}, at most {most}"
            )
        return kind(value)

    def wrong(self, reason: str) -> NoReturn:
        raise ValueError(f"{self.settings}: {reason}.")


def short_repr(value: object) -> str:
    """A value of a file in a message."""
    return one_line(reprlib.repr(value))


def read_settings(
    path: Path, remedy: str = "a model has such a file", largest: int = _LARGEST
) -> dict[str, Any]:
    """Settings of a JSON file; `remedy` ends the message if there is no file."""
    check_ordinary(path)
    try:
        size = path.stat().st_size
        text = path.read_bytes() if size <= largest else None
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}: {remedy}.") from None
    if text is None:
        raise ValueError(f"{path}: {size} bytes are too many for settings.")
    try:
        settings = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError):  # a number of thousands of digits is a plain ValueError
        raise ValueError(f"{path} is no JSON.") from None
    if not isinstance(settings, dict):
        raise ValueError(f"{path} is no JSON object.")
    return settings
