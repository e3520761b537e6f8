"""Films: one frame for each saved time, with energy and order parameter.

Pillow writes .gif and ffmpeg .mp4. Files are complete or absent, and a run always gives the same
bytes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from meanfield.arrays import FloatArray
from meanfield.figures.data.circle import cell_edges
from meanfield.figures.data.density import CircleFilm
from meanfield.figures.data.saved_times import Frame, colour_range
from meanfield.figures.data.series import OverTime
from meanfield.figures.data.sphere import SphereFilm, graticule
from meanfield.figures.data.vectors import SizesPicture, VectorsFilm
from meanfield.figures.draw import density
from meanfield.figures.draw.axes import (
    COUNT,
    DENSITY_COLOURS,
    ENERGY,
    FAINT,
    INK,
    MUTED,
    ORDER,
    add_colour_bar,
    set_time_axis,
    set_title,
    time_label,
)
from meanfield.figures.draw.figures import FILM_SUFFIXES, new_figure
from meanfield.figures.draw.over_time import energy_and_order
from meanfield.figures.draw.sphere import (
    TOKENS,
    clipped,
    colours_label,
    dot_style,
    draw_density,
    draw_graticule,
)
from meanfield.figures.draw.vectors import cosines_on_axes, prepare_axes, sizes_on_axes
from meanfield.files import replacing
from meanfield.store.locks import check_figure_place, writer_lock

Frames = Iterable[NDArray[np.uint8]]
Progress = Callable[[Iterable[Any], int], Iterable[Any]]

_SIZE = (8.0, 4.5)
_DPI = 100
_SECONDS = 12.0
_SLOWEST, _FASTEST = 5, 25
_HEIGHT = 0.62
_RING = 7.0  # points
# Areas of atoms: of mass 1, and the smallest.
_ATOM_AREA, _SMALLEST_ATOM = 250.0, 4.0
_TAIL = 12  # length of the tails of tokens, in saved times
_MAP_DOTS = 0.4  # area of a dot on the map, relative to the globe
_LINE_COLOURS = (INK, MUTED, ENERGY, ORDER, COUNT)
_SHADES, _PALE, _PAPER = 12, 24, 0.96


@dataclass(frozen=True, eq=False)
class Film:
    """Frames that are drawn on one figure."""

    figure: Figure
    frames: NDArray[np.int64]  # indices of saved times, one for each frame
    show: Callable[[int], None]  # updates the figure to frame k
    # Artists that `show` changes, from the back to the front; the rest is drawn once.
    moving: tuple[Any, ...]

    @property
    def rate(self) -> int:
        """Frames a second, 5 to 25, for a film of about 12 seconds."""
        return int(np.clip(round(len(self.frames) / _SECONDS), _SLOWEST, _FASTEST))

    def pixels(self) -> Iterator[NDArray[np.uint8]]:
        """Frames, each of shape (height, width, 4)."""
        canvas: Any = self.figure.canvas
        self.show(0)
        canvas.draw()
        # The layout is fixed, so that axes do not move between frames.
        self.figure.set_layout_engine("none")
        for artist in self.moving:
            artist.set_animated(True)
        canvas.draw()
        still = canvas.copy_from_bbox(self.figure.bbox)
        for k in range(len(self.frames)):
            self.show(k)
            canvas.restore_region(still)
            for artist in self.moving:
                artist.axes.draw_artist(artist)
            yield np.array(canvas.buffer_rgba())


def draw_film(film: CircleFilm | SphereFilm | VectorsFilm) -> Film:
    """Film of frames on the circle, on the sphere, or of vectors."""
    if isinstance(film, VectorsFilm):
        return _vectors_film(film)
    return _circle_film(film) if isinstance(film, CircleFilm) else _sphere_film(film)


def _circle_film(film: CircleFilm) -> Film:
    """Film of the density as a curve of radius r = 1 + h log(1 + f) / log(1 + f_max)."""
    figure, picture, above, below = _new_figure(film.picture.frame, film.curves)
    values, times = film.values, film.times
    top = float(np.log1p(values.max()))
    edges = cell_edges(values.shape[1])
    norm = LogNorm(*colour_range(values))

    disc = picture.inset_axes((0.0, 0.0, 1.0, 1.0))
    disc.set_axis_off()
    disc.set_aspect("equal")
    disc.set_xlim(-1.0 - _HEIGHT, 1.0 + _HEIGHT)
    disc.set_ylim(-1.0 - _HEIGHT, 1.0 + _HEIGHT)
    uniform = 1.0 + _HEIGHT * np.log(2.0) / top
    disc.plot(*_at(uniform, edges), color=FAINT, linewidth=0.8, zorder=1)
    # Pieces overlap, so that no gap is visible between them.
    ends = edges[1:] + 0.5 * (edges[1] - edges[0])
    ring = LineCollection(
        list(np.stack([_at(1.0, edges[:-1]).T, _at(1.0, ends).T], axis=1)),
        cmap=DENSITY_COLOURS, norm=norm, linewidths=_RING, capstyle="butt", zorder=3,
    )  # fmt: skip
    disc.add_collection(ring)
    (curve,) = disc.plot([], [], color=INK, linewidth=1.1, zorder=2)
    filled = disc.fill([], [], color=FAINT, alpha=0.6, linewidth=0, zorder=1)[0]
    dots = disc.scatter([], [], s=9.0, color=INK, linewidths=0, zorder=4)
    atoms = disc.scatter([], [], s=9.0, color=ENERGY, linewidths=0, zorder=5)
    label = disc.annotate("", (0.0, 0.0), ha="center", va="center", color=INK, linespacing=1.6)

    density.on_axes(film.picture, above)
    set_time_axis(above, film.picture.frame, label=False)
    above.tick_params(labelbottom=False)
    cursors = [_time_cursor(axes, float(times[0])) for axes in (above, below)]
    centres = np.append(edges[:-1], edges[0]) + 0.5 * (edges[1] - edges[0])

    def show(k: int) -> None:
        heights = 1.0 + _HEIGHT * np.log1p(np.append(values[k], values[k, 0])) / top
        outer = _at(heights, centres)
        curve.set_data(*outer)
        filled.set_xy(np.concatenate([outer, _at(1.0, centres[::-1])], axis=1).T)
        ring.set_array(np.clip(values[k], norm.vmin, norm.vmax))
        dots.set_offsets(_at(0.93, film.tokens[k]).T)
        places, masses = film.atoms[k]
        atoms.set_offsets(_at(1.0, places).T)
        atoms.set_sizes(np.maximum(_ATOM_AREA * masses, _SMALLEST_ATOM))
        label.set_text(time_label(float(times[k]), film.picture.frame).replace(",  ", "\n"))
        time = float(times[k])
        for cursor in cursors:
            cursor.set_xdata([time, time])

    return Film(figure, film.frames, show, (filled, curve, ring, dots, atoms, label, *cursors))


def _at(radius: FloatArray | float, angles: FloatArray) -> FloatArray:
    """Places (2, n) in the plane."""
    return np.array([radius * np.cos(angles), radius * np.sin(angles)])


def _sphere_film(film: SphereFilm) -> Film:
    frame = film.curves.energy.frame
    figure, picture, above, below = _new_figure(frame, film.curves)
    colours = colour_range(film.sample)
    norm = LogNorm(*colours)
    globe = picture.inset_axes((0.0, 0.0, 1.0, 1.0))
    first, flat = film.panels(0)
    globe_image = draw_density(globe, first.values, first.projection, norm)
    map_image = draw_density(above, flat.values, flat.projection, norm)
    kind = colours_label(first)
    add_colour_bar(above, map_image, film.sample, colours, place=(1.02, 0.0, 0.02, 1.0), label=kind)
    lines = draw_graticule(globe, first.projection)
    map_lines = draw_graticule(above, flat.projection)
    dots = [axes.scatter([], [], **TOKENS) for axes in (globe, above)]
    label = picture.annotate(
        "", (0.5, 0.0), xycoords="axes fraction", xytext=(0, -6), textcoords="offset points",
        ha="center", va="top", color=INK,
    )  # fmt: skip
    cursor = _time_cursor(below, float(film.times[0]))

    def show(k: int) -> None:
        panels, time = film.panels(k), float(film.times[k])
        for image, panel in zip((globe_image, map_image), panels, strict=True):
            image.set_data(clipped(panel.values, norm))
        lines.set_data(*graticule(panels[0].projection).T)
        for marks, panel, share in zip(dots, panels, (1.0, _MAP_DOTS), strict=True):
            style = dot_style(panel)
            marks.set_offsets(panel.tokens)
            marks.set_sizes(share * style["s"])
            marks.set_alpha(style["alpha"])
        label.set_text(time_label(time, frame))
        cursor.set_xdata([time, time])

    edges = (globe.patches[0], above.patches[0])
    moving = (globe_image, map_image, *edges, lines, map_lines, *dots, label, cursor)
    return Film(figure, film.frames, show, moving)


def _vectors_film(film: VectorsFilm) -> Film:
    """Film of tokens on two axes, with the tails of their paths, and of cosines."""
    frame, paths = film.axes.frame, film.axes.points
    figure, picture, above, below = _new_figure(frame, film.curves)
    places = picture.inset_axes((0.1, 0.06, 0.9, 0.9))
    prepare_axes(film.axes, places)
    cosines_on_axes(film.cosines, above)
    set_time_axis(above, frame, label=False)
    above.tick_params(labelbottom=False)
    tails = LineCollection([], colors=[MUTED], linewidths=0.7, alpha=0.6, zorder=2)
    places.add_collection(tails, autolim=False)
    dots = places.scatter([], [], s=12.0, color=INK, linewidths=0, zorder=4)
    label = places.annotate(
        "", (0.0, 1.0), xycoords="axes fraction", xytext=(2, -2), textcoords="offset points",
        ha="left", va="top", color=INK,
    )  # fmt: skip
    times = film.axes.times
    cursors = [_time_cursor(axes, float(times[0])) for axes in (above, below)]
    cursors[0].set_color("white")

    def show(k: int) -> None:
        tails.set_segments(list(paths[max(0, k - _TAIL) : k + 1].swapaxes(0, 1)))
        dots.set_offsets(paths[k])
        label.set_text(time_label(float(times[k]), frame).split(",")[0])
        for cursor in cursors:
            cursor.set_xdata([float(times[k]), float(times[k])])

    return Film(figure, film.frames, show, (tails, dots, label, *cursors))


def _new_figure(frame: Frame, curves: OverTime | SizesPicture) -> tuple[Figure, Axes, Axes, Axes]:
    """Figure, axes on the left, upper right and lower right; the last has its curves."""
    figure = new_figure(_SIZE, dpi=_DPI)
    grid = figure.add_gridspec(2, 2, width_ratios=(1.0, 1.05), height_ratios=(1.55, 1.0))
    picture = figure.add_subplot(grid[:, 0])
    above, below = figure.add_subplot(grid[0, 1]), figure.add_subplot(grid[1, 1])
    picture.set_axis_off()
    set_title(picture, frame)
    if isinstance(curves, SizesPicture):
        sizes_on_axes(curves, below)
    else:
        energy_and_order(curves, below)
    set_time_axis(below, frame)
    return figure, picture, above, below


def _time_cursor(axes: Axes, time: float) -> Line2D:
    """Vertical line on a time axis; `set_xdata([t, t])` moves it."""
    return axes.axvline(time, color=INK, linewidth=0.9, alpha=0.7, zorder=5)


def check_film(path: str | os.PathLike[str]) -> str:
    """Suffix of a path; ValueError if it is not one of films, or ffmpeg is missing."""
    suffix = Path(path).suffix.lower()
    if suffix not in FILM_SUFFIXES:
        raise ValueError(f"{os.fspath(path)}: films end in .mp4 or .gif, got {suffix!r}.")
    if suffix == ".mp4" and shutil.which("ffmpeg") is None:
        raise ValueError(
            f"{os.fspath(path)}: .mp4 is written by ffmpeg, which is not installed. "
            "Install it, or write .gif."
        )
    return suffix


@dataclass(frozen=True, eq=False)
class InlineFilm:
    """A film that notebooks play."""

    content: bytes  # a repeating GIF
    frames: int  # number of frames

    def _repr_html_(self) -> str:
        """HTML with the GIF inside, so that the notebook contains the film."""
        return (
            f'<img alt="{self!r}" src="data:image/gif;base64,{b64encode(self.content).decode()}">'
        )

    def __repr__(self) -> str:
        return f"InlineFilm({self.frames} frames, {len(self.content) / 1e6:.2g} MB)"


def inline_film(film: Film, progress: Progress | None = None) -> InlineFilm:
    """Film as a GIF in memory; `progress` as in `write_film`."""
    frames: Frames = film.pixels()
    if progress is not None:
        frames = progress(frames, len(film.frames))
    file = BytesIO()
    _write_gif(frames, film.rate, file)
    return InlineFilm(file.getvalue(), len(film.frames))


def write_film(film: Film, path: str | os.PathLike[str], progress: Progress | None = None) -> None:
    """Write a film to .mp4 or .gif under a temporary name, and rename it at the end."""
    suffix, target = check_film(path), Path(path)
    frames: Frames = film.pixels()
    if progress is not None:
        frames = progress(frames, len(film.frames))
    with writer_lock(target):
        check_figure_place(target)
        with replacing(target) as partial, partial.open("wb") as file:
            (_write_gif if suffix == ".gif" else _write_mp4)(frames, film.rate, file)


def _write_gif(frames: Frames, rate: int, file: IO[bytes]) -> None:
    from PIL import Image

    palette = Image.new("P", (1, 1))
    palette.putpalette(_palette())

    def images() -> Iterator[Any]:
        for frame in frames:
            image = Image.fromarray(np.ascontiguousarray(frame[..., :3]))
            # One palette without dithering avoids flicker and keeps the file small.
            yield image.quantize(palette=palette, dither=Image.Dither.NONE)

    stream = images()
    # Durations of GIF are multiples of 10 ms; loop = 0 repeats for ever.
    next(stream).save(
        file, "GIF", save_all=True, append_images=stream, duration=10 * round(100 / rate), loop=0,
        optimize=False,
    )  # fmt: skip


def _palette() -> bytes:
    """256 colours: of densities, of densities under pale lines, and shades of dark lines."""
    ends = np.array([to_rgb(colour) for colour in _LINE_COLOURS])
    # Pillow's nearest colour is approximate: a shade close to white would turn paper grey.
    shares = np.linspace(0.0, 1.0, _SHADES)[1:, None, None]
    shades = (1.0 - shares * (1.0 - ends)).reshape(-1, 3)
    shades = shades[shades.max(axis=1) < _PAPER]
    pale = colormaps[DENSITY_COLOURS](np.linspace(0.0, 0.7, _PALE))[:, :3]
    pale = np.concatenate([share * pale + 1.0 - share for share in (0.82, 0.5)])
    others = np.concatenate([[[1.0, 1.0, 1.0], to_rgb(FAINT)], shades, pale])
    ramp = colormaps[DENSITY_COLOURS](np.linspace(0.0, 1.0, 256 - len(others)))[:, :3]
    return np.round(255 * np.concatenate([others, ramp])).astype(np.uint8).tobytes()


def _write_mp4(frames: Frames, rate: int, file: IO[bytes]) -> None:
    name = os.path.abspath(file.name)
    process: subprocess.Popen[bytes] | None = None
    stopped = ""
    try:
        try:
            for frame in frames:
                if process is None:
                    process = _ffmpeg(frame.shape, rate, name)
                assert process.stdin is not None
                process.stdin.write(np.ascontiguousarray(frame).tobytes())
        except BrokenPipeError:
            stopped = "it stopped"
        complaint = process.communicate()[1] if process is not None else b""
        status = process.returncode if process is not None else 0
        if stopped or status:
            lines = complaint.decode(errors="replace").strip().splitlines()
            raise OSError(f"ffmpeg: {lines[-1] if lines else stopped or status}")
    finally:
        if process is not None and process.poll() is None:
            process.kill()
            process.wait()


def _ffmpeg(shape: tuple[int, ...], rate: int, name: str) -> subprocess.Popen[bytes]:
    """Process that reads frames and writes H.264 for common players and browsers."""
    return subprocess.Popen(
        [
            "ffmpeg", "-y", "-loglevel", "error",
            "-f", "rawvideo", "-pix_fmt", "rgba", "-s", f"{shape[1]}x{shape[0]}",
            "-r", str(rate), "-i", "-",
            "-c:v", "libx264", "-preset", "slow", "-crf", "20", "-threads", "1",
            # yuv420p has half the resolution of colours, so sizes must be even.
            "-vf", "crop=trunc(iw/2)*2:trunc(ih/2)*2", "-pix_fmt", "yuv420p",
            "-fflags", "+bitexact", "-flags:v", "+bitexact", "-map_metadata", "-1",
            "-movflags", "+faststart", "-f", "mp4", name,
        ],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        # Ctrl-C must reach this process only, which then ends ffmpeg.
        start_new_session=True,
    )  # fmt: skip
