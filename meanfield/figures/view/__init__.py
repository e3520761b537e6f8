"""A run as one page for a browser: a file, or an output of a notebook. It makes no requests.

The page contains a header in JSON, and arrays:

    density    q = round(255 log(f / low) / log(high / low)), one byte, within the colours
    sphere     octahedral coordinates, two integers of 16 bits: to 1e-4 of an angle
    circle     theta / pi, one integer of 16 bits; in other dimensions x / largest |x|, three

Each array has the first frame and then differences from frame to frame, modulo 256 or 65,536. A
frame with another number of points is stored as it is. Points at rest give zeros, which gzip
removes.

Z. H. Cigolle et al., "A survey of efficient representations for independent unit vectors", JCGT
3(2), 2014 (octahedral coordinates).
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from numpy.typing import NDArray

from meanfield.arrays import FloatArray
from meanfield.described import Facts
from meanfield.figures.data.saved_times import colour_range
from meanfield.figures.data.view import CLOUD, GLOBE, ViewPicture, view_picture
from meanfield.figures.draw.axes import DENSITY_COLOURS, facts_title
from meanfield.runs import Run
from meanfield.status import is_finished
from meanfield.store.locks import replace_figure

SUFFIX = ".html"
PARTS = ("frames", "scene", "view")
HEIGHT = 640
"""Height of a view in a notebook, in pixels."""


@dataclass(frozen=True, eq=False)
class View:
    """Interactive view of a run; the last line of a notebook's cell shows it."""

    picture: ViewPicture
    source: dict[str, str]  # origin: "file", and "hash" of the results, if known

    @cached_property
    def html(self) -> str:
        """The page, complete in itself."""
        header, data = self._packed
        parts = {
            "TITLE": escape(header["title"] or header["facts"]),
            "HEADER": json.dumps(header, allow_nan=False).replace("<", "\\u003c"),
            "DATA": base64.b64encode(data).decode(),
            "MODULE": module_text(),
        }
        page = files(__package__).joinpath("page.html").read_text("utf-8")
        return re.sub("%([A-Z]+)%", lambda match: parts[match[1]], page)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page into a file, and return its path."""
        place = Path(path)
        if place.suffix.lower() != SUFFIX:
            raise ValueError(f"{path}: views end in {SUFFIX}, got {place.suffix!r}.")
        replace_figure(place, self.html.encode())
        return place

    def widget(self) -> Any:
        """View as a widget; needs anywidget. Its trait `frame` follows the slider."""
        try:
            import anywidget
            import traitlets
        except ImportError:
            raise ValueError(
                "widgets need anywidget: pip install anywidget; run.view() shows the same without."
            ) from None
        header, data = self._packed
        contents: dict[str, Any] = {
            "_esm": module_text(),
            "header": traitlets.Dict(header).tag(sync=True),
            "data": traitlets.Bytes(data).tag(sync=True),
            "frame": traitlets.Float(float(header["start"])).tag(sync=True),
        }
        return type("ViewWidget", (anywidget.AnyWidget,), contents)()

    @cached_property
    def _packed(self) -> tuple[dict[str, Any], bytes]:
        """Header, and the compressed bytes of its arrays."""
        header, data = pack(self.picture, self.source)
        return header | look(self.picture.frame.facts), gzip.compress(data, 9, mtime=0)

    def __repr__(self) -> str:
        times = self.picture.times
        name = self.picture.frame.facts.manifold
        return f"View({name}, {len(times)} frames from t = {times[0]:g} to {times[-1]:g})"

    def _repr_html_(self) -> str:
        """HTML of an iframe with the page; the sandbox isolates it from the notebook."""
        return (
            f'<iframe title="view of a run" sandbox="allow-scripts" width="100%" height="{HEIGHT}" '
            f'style="border: 0" srcdoc="{escape(self.html)}"></iframe>'
        )


def view(run: Run, frames: int | None = None, source: Mapping[str, str] | None = None) -> View:
    """View of a run, see `Run.view`."""
    origin = dict(source or {})
    if "result_hash" in run.attributes:
        origin["hash"] = str(run.attributes["result_hash"])
    return View(view_picture(run, frames), origin)


def look(facts: Facts) -> dict[str, Any]:
    """The problem in words, and 256 colours of 3 bytes in base64."""
    colours = colormaps[DENSITY_COLOURS](np.arange(256), bytes=True)[:, :3]
    words = facts_title(facts).replace("\\beta", "\N{GREEK SMALL LETTER BETA}")
    return {
        "facts": words.replace("$", "").replace(",  ", ", "),
        "palette": base64.b64encode(colours.tobytes()).decode(),
    }


def module_text() -> str:
    """Text of the JavaScript module: its parts in order."""
    return "\n".join(files(__package__).joinpath(f"{part}.js").read_text("utf-8") for part in PARTS)


FORMAT = 1
_LARGEST = 32767


def pack(picture: ViewPicture, source: Mapping[str, str]) -> tuple[dict[str, Any], bytes]:
    """Header and bytes of a picture with its origin `source`."""
    header = header_of(picture, source)
    parts: list[bytes] = []

    def put(arrays: Sequence[NDArray[Any]]) -> int:
        """Append arrays, and return their offset."""
        offset = sum(map(len, parts))
        parts.extend(each.tobytes() for each in arrays)
        return offset

    if any(mass is not None for mass in picture.masses):
        masses = [np.zeros(0) if mass is None else mass for mass in picture.masses]
        header["masses"] = {
            "offset": put([mass.astype("<f4") for mass in masses]),
            "counts": [len(mass) for mass in masses],
        }
    coded = [coded_points(points, picture.shape, header["scale"]) for points in picture.points]
    header["points"] = {
        "offset": put(differences(coded)),
        "counts": [len(points) for points in coded],
    }
    for name, values in (("values", picture.values), ("shares", picture.shares)):
        if values.size:
            table = quantised(values, header[name]["colours"])
            header[name] |= {"offset": put(differences(list(table))), "shape": list(table.shape)}
    return header, b"".join(parts)


def header_of(picture: ViewPicture, source: Mapping[str, str]) -> dict[str, Any]:
    """Header of a picture, without offsets of arrays."""
    status = picture.frame.facts.status
    scale = max((float(np.abs(x).max()) for x in picture.points if x.size), default=1.0)
    return {
        "format": FORMAT,
        "title": picture.frame.title,
        "source": dict(source),
        "status": "" if is_finished(status) else status,
        "shape": picture.shape,
        "sphere": picture.frame.facts.manifold.partition(":")[0] != "space",
        "unit": picture.frame.unit,
        "logarithmic": picture.frame.logarithmic,
        "times": picture.times.tolist(),
        # A cloud on a sphere has the unit circle around it.
        "scale": scale if picture.shape == CLOUD else 1.0,
        "values": {"colours": list(picture.colours)} if picture.values.size else None,
        "shares": _shares(picture.shares) if picture.shares.size else None,
        "curves": {
            "times": picture.frame.times.tolist(),
            **{name: plain(values) for name, values in picture.curves.items()},
        },
        "events": [{"time": time, "text": text} for time, text in picture.events],
        "front": list(picture.front),
        "start": picture.start,
        "notes": [*picture.notes, *quantisation(picture)],
    }


def _shares(shares: FloatArray) -> dict[str, Any]:
    finite = np.isfinite(shares).all(axis=1)
    return {"colours": list(colour_range(shares[finite])), "known": finite.tolist()}


def quantisation(picture: ViewPicture) -> list[str]:
    """Precision of the stored arrays, in words."""
    words = []
    if picture.values.size:
        low, high = picture.colours
        words.append(f"density {low:.3g} to {high:.3g} in 256 steps of its logarithm")
    if any(points.size for points in picture.points):
        words.append("points to 16 bits")
    return [*words, f"{len(picture.times)} saved times, interpolated between"]


def quantised(values: FloatArray, colours: Sequence[float]) -> NDArray[np.uint8]:
    """Bytes on a logarithmic scale between two densities; NaN becomes the lowest."""
    low, high = colours
    within = np.clip(np.nan_to_num(values), low, high)
    return np.asarray(np.rint(255.0 * np.log(within / low) / np.log(high / low)), dtype=np.uint8)


def coded_points(points: FloatArray, shape: str, scale: float) -> NDArray[np.int16]:
    """Points (n, k) as integers of 16 bits: octahedral for a globe, else angles or coordinates."""
    if shape != GLOBE:
        unit = np.pi if shape != CLOUD else scale
        return _rounded(points / unit)
    flat = points[:, :2] / np.abs(points).sum(axis=1, keepdims=True)
    sign = np.where(flat >= 0.0, 1.0, -1.0)
    folded = (1.0 - np.abs(flat[:, ::-1])) * sign
    return _rounded(np.where(points[:, 2:] < 0.0, folded, flat))


def _rounded(shares: FloatArray) -> NDArray[np.int16]:
    return np.asarray(np.rint(_LARGEST * shares), dtype="<i2")


def differences(frames: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """The first frame, then differences modulo the integer range; other shapes stay whole."""
    pairs = zip(frames[:-1], frames[1:], strict=True)
    return [
        *frames[:1],
        *(new - old if new.shape == old.shape else new for old, new in pairs),
    ]


def plain(values: FloatArray) -> list[float | None]:
    """Numbers for JSON, which has no NaN."""
    return [float(value) if np.isfinite(value) else None for value in values]
