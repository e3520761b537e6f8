"""Write films: .gif by Pillow, .mp4 by ffmpeg; no file half written, the same bytes every time."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_rgb
from numpy.typing import NDArray

from meanfield.files.replacing import replacing
from meanfield.outputs.locks import writer_lock
from meanfield.outputs.plots import style
from meanfield.outputs.plots.figures import FILM_SUFFIXES
from meanfield.outputs.plots.film import Film
from meanfield.outputs.recognised import check_figure_place

Frames = Iterable[NDArray[np.uint8]]
Progress = Callable[[Iterable[Any], int], Iterable[Any]]

_LINE_COLOURS = (style.INK, style.MUTED, style.ENERGY, style.ORDER, style.COUNT)
_SHADES, _PALE, _PAPER = 12, 24, 0.96


def check_film(path: str | os.PathLike[str]) -> str:
    """Suffix of a path if a film can be written so, here and now.

    Raises
    ------
    ValueError
        If the suffix is not known, or ffmpeg is missing for .mp4.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in FILM_SUFFIXES:
        raise ValueError(f"{os.fspath(path)}: films end in .mp4 or .gif, got {suffix!r}.")
    if suffix == ".mp4" and shutil.which("ffmpeg") is None:
        raise ValueError(
            f"{os.fspath(path)}: .mp4 is written by ffmpeg, which is not installed. "
            "Install it, or write .gif."
        )
    return suffix


def write_film(film: Film, path: str | os.PathLike[str], progress: Progress | None = None) -> None:
    """Write a film under a temporary name and rename it when it is complete.

    Parameters
    ----------
    film : Film
        What is shown.
    path : path
        Ends in .mp4 or .gif.
    progress : callable (frames, count) -> frames, optional
        Passes the frames through and shows how far they are.

    Raises
    ------
    ValueError
        As `check_film`; or if the file cannot be written, or what is there is no film.
    """
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
            # One palette and no dithering: colours do not flicker, and the file stays small.
            yield image.quantize(palette=palette, dither=Image.Dither.NONE)

    stream = images()
    # GIF counts hundredths of a second; 0 repeats for ever.
    next(stream).save(
        file, "GIF", save_all=True, append_images=stream, duration=10 * round(100 / rate), loop=0,
        optimize=False,
    )  # fmt: skip


def _palette() -> bytes:
    """256 colours: those of densities, the same under pale lines, and shades of dark lines."""
    ends = np.array([to_rgb(colour) for colour in _LINE_COLOURS])
    # Pillow takes the nearest colour, roughly: none may be so near to white that paper turns grey.
    shares = np.linspace(0.0, 1.0, _SHADES)[1:, None, None]
    shades = (1.0 - shares * (1.0 - ends)).reshape(-1, 3)
    shades = shades[shades.max(axis=1) < _PAPER]
    pale = colormaps[style.DENSITY_COLOURS](np.linspace(0.0, 0.7, _PALE))[:, :3]
    pale = np.concatenate([share * pale + 1.0 - share for share in (0.82, 0.5)])
    others = np.concatenate([[[1.0, 1.0, 1.0], to_rgb(style.FAINT)], shades, pale])
    ramp = colormaps[style.DENSITY_COLOURS](np.linspace(0.0, 1.0, 256 - len(others)))[:, :3]
    return np.round(255 * np.concatenate([others, ramp])).astype(np.uint8).tobytes()


def _write_mp4(frames: Frames, rate: int, file: IO[bytes]) -> None:
    name = os.path.abspath(file.name)
    process: subprocess.Popen[bytes] | None = None
    try:
        for frame in frames:
            if process is None:
                process = _ffmpeg(frame.shape, rate, name)
            assert process.stdin is not None
            process.stdin.write(np.ascontiguousarray(frame).tobytes())
        if process is not None:
            _, complaint = process.communicate()
            if process.returncode:
                lines = complaint.decode(errors="replace").strip().splitlines()
                raise OSError(f"ffmpeg: {lines[-1] if lines else process.returncode}")
    except BrokenPipeError:
        complaint = process.communicate()[1] if process is not None else b""
        lines = complaint.decode(errors="replace").strip().splitlines()
        raise OSError(f"ffmpeg: {lines[-1] if lines else 'it stopped'}") from None
    finally:
        if process is not None and process.poll() is None:
            process.kill()
            process.wait()


def _ffmpeg(shape: tuple[int, ...], rate: int, name: str) -> subprocess.Popen[bytes]:
    """Process that takes frames; H.264 that every player and browser knows."""
    return subprocess.Popen(
        [
            "ffmpeg", "-y", "-loglevel", "error",
            "-f", "rawvideo", "-pix_fmt", "rgba", "-s", f"{shape[1]}x{shape[0]}",
            "-r", str(rate), "-i", "-",
            "-c:v", "libx264", "-preset", "slow", "-crf", "20", "-threads", "1",
            # H.264 halves the colours: sizes must be even.
            "-vf", "crop=trunc(iw/2)*2:trunc(ih/2)*2", "-pix_fmt", "yuv420p",
            "-fflags", "+bitexact", "-flags:v", "+bitexact", "-map_metadata", "-1",
            "-movflags", "+faststart", "-f", "mp4", name,
        ],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        # Ctrl-C is for us: we end it.
        start_new_session=True,
    )  # fmt: skip
