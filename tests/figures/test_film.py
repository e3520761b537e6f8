"""Films: what a frame shows, files that are whole, and what cannot be filmed."""

import shutil
import subprocess
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from parameters import each, refused

import meanfield as mf
from meanfield.figures.data.saved_times import film_times, part
from meanfield.figures.draw import animate, save_plot
from meanfield.figures.draw.axes import style
from meanfield.figures.draw.film import draw_film
from meanfield.figures.draw.overview import film_picture
from tests.figures.samples import stateless

MANIFOLDS = {
    "circle": (mf.Circle(), mf.perturbed_uniform([[1, 0.1, 0.0]])),
    "sphere": (mf.Sphere(), mf.perturbed_uniform([[2, 0, 0.1], [1, 1, 0.1]])),
}


@cache
def run_of(manifold, representation="density"):
    space, law = MANIFOLDS[manifold]
    problem = mf.Problem(space, mf.exponential(4.0), mf.USA, law)
    tokens = {"tokens": 30} if representation == "particles" else {}
    return mf.simulate(problem, 4.0, save=3, representation=representation, **tokens)


@pytest.mark.slow
@each("manifold", MANIFOLDS, representation=["density", "particles"])
def test_film_has_a_frame_a_saved_time(manifold, representation, tmp_path):
    """Times would be missing, or all frames be the same."""
    from PIL import Image

    run = run_of(manifold, representation)
    animate(run, tmp_path / "film.gif")
    with Image.open(tmp_path / "film.gif") as film:
        assert film.n_frames == len(run.time)
        frames = []
        for k in range(film.n_frames):
            film.seek(k)
            frames.append(np.asarray(film.convert("RGB")))
    assert all((first != second).any() for first, second in zip(frames, frames[1:], strict=False))
    # Paper stays white: the palette has no colour that is nearly so.
    assert frames[-1][2, 2].tolist() == [255, 255, 255]


@pytest.mark.slow
@pytest.mark.parametrize("manifold", MANIFOLDS)
def test_frames_are_those_of_a_figure_drawn_anew(manifold):
    """Fixed parts are drawn once: a part that moves would be left behind."""
    run = run_of(manifold, "particles")
    with style():
        film = draw_film(film_picture(run))
        last = list(film.pixels())[-1]
        for artist in film.moving:
            artist.set_animated(False)
        film.figure.canvas.draw()
        anew = np.asarray(film.figure.canvas.buffer_rgba())
    # Lines that cross a moving one may lie above or below it; Matplotlib before 3.11 rounds blended
    # colours by up to 10 of 255.
    differs = np.abs(last.astype(int) - anew).max(axis=-1) > 10
    assert differs.mean() < 0.002


@pytest.mark.slow
def test_curve_of_the_circle_is_the_density():
    """The curve would be of another time, or turned."""
    # 1.1 - 1 = 0.1 cos(theta) at time 0: highest in direction 0, lowest opposite.
    with style():
        film = draw_film(film_picture(run_of("circle")))
        film.show(0)
        curve = film.moving[1].get_xydata()
    radii, angles = np.hypot(*curve.T), np.arctan2(curve[:, 1], curve[:, 0])
    order = np.argsort(np.abs(angles))
    assert np.all(np.diff(radii[order][::2]) <= 1e-9)


@pytest.mark.slow
def test_globe_ends_with_the_heaviest_place_in_front():
    """The end of the story would happen behind the globe."""
    run = run_of("sphere")
    with style():
        film = draw_film(film_picture(run))
        film.show(len(run.time) - 1)
        picture = film.moving[0].get_array()
    middle = picture[:, picture.shape[1] // 2 - 3 : picture.shape[1] // 2 + 3]
    assert middle.max() > 0.99 * picture.max()


def test_long_runs_are_thinned():
    """A run of thousands of saved times would take an hour and fill the disk."""
    many = replace(part(run_of("circle"), [0] * 400), scaled_time=np.linspace(0.0, 4.0, 400))
    frames = film_times(many)
    assert 75 <= len(frames) <= 150 and frames[0] == 0 and frames[-1] == 399


@pytest.mark.slow
def test_interrupted_film_leaves_nothing(tmp_path):
    """Half a film would replace the one that was there, or stay as litter."""
    target = tmp_path / "film.gif"
    target.write_bytes(b"GIF89a, the old one")

    def interrupted(frames, count):
        for k, frame in enumerate(frames):
            if k == 1:
                raise KeyboardInterrupt
            yield frame

    with pytest.raises(KeyboardInterrupt):
        animate(run_of("circle"), target, interrupted)
    assert [path.name for path in tmp_path.iterdir()] == ["film.gif"]
    assert target.read_bytes() == b"GIF89a, the old one"


@pytest.mark.slow
@pytest.mark.parametrize("manifold", MANIFOLDS)
def test_same_run_gives_the_same_film_and_progress_of_every_frame(manifold, tmp_path):
    """A date or a random colour in the file would show here; the bar would stop early."""
    passed = []

    def counted(frames, count):
        for number, frame in enumerate(frames, 1):
            passed.append((number, count))
            yield frame

    save_plot(run_of(manifold), tmp_path / "a.gif", progress=counted)
    assert passed == [(1, 3), (2, 3), (3, 3)]
    animate(run_of(manifold), tmp_path / "b.gif")
    assert (tmp_path / "a.gif").read_bytes() == (tmp_path / "b.gif").read_bytes()


@pytest.fixture
def fake_ffmpeg(tmp_path, monkeypatch):
    """Write a script of the shell as the only ffmpeg."""

    def write(script):
        program = tmp_path / "ffmpeg"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    return write


@pytest.mark.slow
def test_mp4_gets_every_frame(tmp_path, fake_ffmpeg):
    """Frames would be lost on the way to ffmpeg, or have another shape than its options say."""
    fake_ffmpeg('for last; do :; done; echo "$@" > "$last.args"; cat > "$last"')
    animate(run_of("circle"), tmp_path / "film.mp4")
    (file,) = tmp_path.glob(".film.mp4.meanfield-*.args")
    words = file.read_text().split()
    width, height = map(int, words[words.index("-s") + 1].split("x"))
    assert (tmp_path / "film.mp4").stat().st_size == 4 * width * height * len(run_of("circle").time)


@pytest.mark.slow
def test_complaint_of_ffmpeg_is_passed_on(tmp_path, fake_ffmpeg):
    """A codec that is missing would end in a traceback, or in an empty film."""
    fake_ffmpeg("echo Unknown encoder >&2; exit 1")
    message = "film.mp4 cannot be written: ffmpeg: Unknown encoder"
    refused(message, animate, run_of("circle"), tmp_path / "film.mp4")
    assert [path.name for path in tmp_path.iterdir()] == ["ffmpeg"]


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")
def test_mp4_is_a_film(tmp_path):
    """Players would not open it."""
    animate(run_of("circle"), tmp_path / "film.mp4")
    check = ["ffmpeg", "-v", "error", "-i", str(tmp_path / "film.mp4"), "-f", "null", "-"]
    assert subprocess.run(check, capture_output=True, check=True).stderr == b""


@pytest.mark.slow
def test_film_without_a_path_appears_in_a_notebook(tmp_path):
    """`run.animate()` would ask for a path, or show nothing."""
    run = run_of("circle")
    film = run.animate()
    assert film._repr_html_().startswith('<img alt="InlineFilm(3 frames, ')
    assert run.animate(tmp_path / "x.gif") == tmp_path / "x.gif"
    assert (tmp_path / "x.gif").read_bytes() == film.content


@pytest.mark.parametrize(("without", "name", "manifold", "message"), [
    *[(True, "film.gif", manifold,
       r"at least 2 saved times .* has 0: run again with state=") for manifold in MANIFOLDS],
    # After minutes of drawing.
    (False, "nowhere/film.gif", "circle", r"film.gif cannot be written: No such file"),
    (False, "film.mp4", "circle", r"ffmpeg, which is not installed\. .* or write \.gif"),
])  # fmt: skip
def test_impossible_films_are_refused(without, name, manifold, message, tmp_path, monkeypatch):
    """The user would not learn how to get the film, or wait for one that cannot be written."""
    monkeypatch.setenv("PATH", str(tmp_path))
    run = stateless(run_of(manifold)) if without else run_of(manifold)
    refused(message, animate, run, tmp_path / name)
