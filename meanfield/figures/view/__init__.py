"""A run as one page for a browser: a file, or an output of a notebook. No request leaves it."""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps

from meanfield.described import Facts
from meanfield.figures.data.view import ViewPicture, view_picture
from meanfield.figures.draw.style import DENSITY_COLOURS, facts_title
from meanfield.figures.view.pack import pack
from meanfield.runs import Run
from meanfield.store.locks import replace_figure

SUFFIX = ".html"
PARTS = ("frames", "scene", "view")
HEIGHT = 640
"""Of a view in a notebook, in pixels."""


@dataclass(frozen=True, eq=False)
class View:
    """A run to be looked at; the last line of a notebook's cell shows it."""

    picture: ViewPicture  # what is shown
    # Where it is from: "file" and "hash" of its results, where they are known.
    source: dict[str, str]

    @cached_property
    def html(self) -> str:
        """The page: everything is in it, and it asks no server for anything."""
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
        """View as a widget of anywidget, which must be installed; `frame` follows the slider."""
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
        """Header, and the bytes of its arrays, compressed."""
        header, data = pack(self.picture, self.source)
        return header | look(self.picture.frame.facts), gzip.compress(data, 9, mtime=0)

    def __repr__(self) -> str:
        times = self.picture.times
        name = self.picture.frame.facts.manifold
        return f"View({name}, {len(times)} frames from t = {times[0]:g} to {times[-1]:g})"

    def _repr_html_(self) -> str:
        """The page within a page of its own, which reaches nothing of the notebook."""
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
    """The problem in words, and the colours of figures, 256 of 3 bytes in base64."""
    colours = colormaps[DENSITY_COLOURS](np.arange(256), bytes=True)[:, :3]
    words = facts_title(facts).replace("\\beta", "\N{GREEK SMALL LETTER BETA}")
    return {
        "facts": words.replace("$", "").replace(",  ", ", "),
        "palette": base64.b64encode(colours.tobytes()).decode(),
    }


def module_text() -> str:
    """The module that draws, as text: its parts one after the other."""
    return "\n".join(files(__package__).joinpath(f"{part}.js").read_text("utf-8") for part in PARTS)
