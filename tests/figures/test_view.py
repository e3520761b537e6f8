"""Views: bytes against the run, the page, and refusals; tests/browser draws them."""

import base64
import gzip
import json
import re
from dataclasses import replace

import h5py
import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.figures.data.view import GLOBE, view_picture
from meanfield.figures.view import coded_points, differences
from tests.figures.samples import stateless

LAW = mf.perturbed_uniform([[1, 0, 0.1], [2, 1, 0.1], [3, -2, 0.05]])


@pytest.fixture(scope="module")
def sphere():
    problem = mf.Problem(mf.Sphere(), mf.exponential(4.0), mf.SA, LAW)
    return mf.simulate(problem, until=2.0, save=5)


def opened(page):
    text = re.search(r'id="header">(.*?)</script>', page, re.S)[1]
    data = re.search(r'id="data">(.*?)</script>', page, re.S)[1]
    return json.loads(text), gzip.decompress(base64.b64decode(data))


def summed(data, part, dtype):
    """Frames of a page, which holds differences of equally long ones."""
    counts = part.get("counts") or [int(np.prod(part["shape"][1:]))] * part["shape"][0]
    flat = np.frombuffer(data, dtype, sum(counts), part["offset"])
    frames = []
    for frame in np.split(flat, np.cumsum(counts)[:-1]):
        same = frames and len(frame) == len(frames[-1])
        frames.append(frame + frames[-1] if same else frame)
    return frames


@pytest.mark.slow
def test_density_of_the_page_is_that_of_the_run(sphere):
    """To half a step of the logarithmic scale, at the places where the page has it."""
    header, data = opened(sphere.view().html)
    _, rows, columns = header["values"]["shape"]
    low, high = header["values"]["colours"]
    latitude = np.pi * ((np.arange(rows) + 0.5) / rows - 0.5)
    longitude = np.pi * ((2 * np.arange(columns) + 1) / columns - 1)
    turn, rise = np.meshgrid(longitude, latitude)
    points = np.stack([np.cos(rise) * np.cos(turn), np.cos(rise) * np.sin(turn), np.sin(rise)], -1)
    step = np.log(high / low) / 255
    frames = summed(data, header["values"], np.uint8)
    for frame, measure in zip(frames, sphere.measures, strict=True):
        exact = measure.manifold.evaluate(measure.coefficients, points.reshape(-1, 3))
        error = np.log(low) + step * frame - np.log(np.clip(exact, low, high))
        assert np.abs(error).max() < 0.5 * step * (1 + 1e-9)


def test_points_survive_octahedral_coordinates():
    """To 1e-4 of the radius, on all faces and edges."""
    points = np.random.default_rng(3).standard_normal((4000, 3))
    points = np.concatenate([points, np.eye(3), -np.eye(3), [[1, 1, 0], [0, -1, -1], [-1, 0, 1]]])
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    x, y = coded_points(points, GLOBE, 1.0).T / 32767
    z = 1 - abs(x) - abs(y)
    below = z < 0
    folded = (1 - abs(y)) * np.where(x < 0, -1, 1), (1 - abs(x)) * np.where(y < 0, -1, 1)
    back = np.stack([np.where(below, folded[0], x), np.where(below, folded[1], y), z], axis=1)
    back /= np.linalg.norm(back, axis=1, keepdims=True)
    assert np.linalg.norm(back - points, axis=1).max() < 1e-4


def test_differences_are_undone_where_numbers_of_points_change():
    """Atoms meet: a frame of another length is kept as it is."""
    frames = [np.int16([[30000], [5]]), np.int16([[-30000], [6]]), np.int16([[7]]), np.int16([[9]])]
    data = b"".join(each.tobytes() for each in differences(frames))
    back = summed(data, {"offset": 0, "counts": [2, 2, 1, 1]}, np.int16)
    assert [frame.ravel().tolist() for frame in frames] == [frame.tolist() for frame in back]


@pytest.mark.slow
def test_page_of_a_file_names_its_source_and_loads_nothing(sphere, tmp_path, cli):
    """The page would not name the file and its hash, or hold an address."""
    sphere.save(tmp_path / "run.h5")
    assert cli("view", tmp_path / "run.h5").strip() == str(tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text("utf-8")
    header, _ = opened(page)
    with h5py.File(tmp_path / "run.h5") as file:
        assert header["source"] == {"file": "run.h5", "hash": file.attrs["result_hash"]}
    assert not re.search(r"https?:|src=|//[a-z]+\.", page.split("<script", 1)[1])
    assert not re.search(r"\bimport\b.*from|@import|url\(", page)
    assert header["times"] == sphere.time.tolist()
    assert header["curves"]["energy"] == pytest.approx(sphere.observables["energy"], rel=1e-15)


@pytest.mark.slow
def test_sixty_frames_and_two_thousand_tokens_fit_into_a_page():
    """Below 1.5 MB: tokens from everywhere that move all the time, and their smoothed colours."""
    law = mf.from_points(np.random.default_rng(1).standard_normal((2000, 3)))
    problem = mf.Problem(mf.Sphere(), mf.exponential(4.0), mf.SA, law)
    run = mf.simulate(problem, until=3.0, save=60, representation="particles", tolerance=1e-3)
    view = run.view()
    assert view.picture.values.shape == (60, 128, 256)
    assert len(view.html) < 1.5e6


@pytest.mark.slow
def test_atoms_have_masses_and_merges_are_events():
    """Tokens that meet: fewer points, heavier ones, and ticks."""
    law = mf.from_points([0.0, 0.1, 1.5, 3.3])
    problem = mf.Problem(mf.Circle(), mf.exponential(9.0), mf.SA, law)
    picture = view_picture(mf.simulate(problem, until=1e4, save=[0.0, 1.0, 10.0, 1e4]))
    masses = [mass for mass in picture.masses if mass is not None]
    assert [round(float(mass.sum()), 12) for mass in masses] == [1.0] * len(masses)
    assert len(picture.points[-1]) == len(masses[-1]) < 4
    assert any("merge" in text for _, text in picture.events)


def test_ring_shows_atoms_without_paths():
    """Pages of atoms from the start, or after stages, would show no point at all."""
    problem = mf.Problem(mf.Circle(), mf.linear(), mf.USA, mf.from_points([0.0, 0.1, 1.5, 3.3]))
    atoms = mf.simulate(problem, until=1.0, save=3, representation="atoms")
    picture = view_picture(atoms)
    assert [len(angles) for angles in picture.points] == [4, 4, 4]
    for mass, measure in zip(picture.masses, atoms.measures, strict=True):
        assert mass.tolist() == measure.mass.tolist()
    # As after a density in two stages, whose tokens are unknown.
    first = mf.perturbed_uniform([[1, 0.1, 0.0]]).build(mf.Circle())
    names = ("density", "atoms", "atoms")
    mixed = replace(atoms, measures=(first, *atoms.measures[1:]), representation=names)
    picture = view_picture(replace(mixed, source_problem=None))
    assert [len(angles) for angles in picture.points] == [0, 4, 4]
    assert "dots follow the flow" not in picture.notes


@pytest.mark.slow
def test_view_opens_where_clusters_form():
    """Not on uniform, at t = 0, nor on what has been one point for long."""
    problem = mf.Problem(mf.Circle(), mf.linear(), mf.USA, mf.perturbed_uniform([[1, 0.1, 0.0]]))
    run = mf.simulate(problem, until=40.0, save=41, representation="particles", tokens=100)
    view = run.view()
    start = view.picture.start
    assert opened(view.html)[0]["start"] == start
    assert 0.5 < run.observables["order_parameter"][start] < 0.99
    # Where nothing happens the first frame is as good as any.
    rest = mf.simulate(replace(problem, initial=mf.from_points([0.0, np.pi])), 1.0, save=3)
    assert view_picture(rest).start == 0


@pytest.mark.slow
def test_notebooks_get_a_page_within_a_page(sphere):
    """Escaped, and without rights."""
    text = sphere.view(frames=3)._repr_html_()
    assert text.startswith("<iframe") and 'sandbox="allow-scripts"' in text
    assert "<script" not in text and "&lt;script" in text


def test_a_title_is_text(sphere):
    """Whatever it is, it ends no element and fills in nothing."""
    title = "</script><b>%DATA%"
    run = replace(sphere, attributes={**sphere.attributes, "title": title})
    page = run.view(frames=2).html
    assert opened(page)[0]["title"] == title
    assert "<b>" not in page


@pytest.mark.slow
def test_a_failed_run_says_so(sphere):
    """A picture of an under-resolved run would look like that of a complete one."""
    status = "under-resolved at t = 5.6: spectral tail"
    failed = replace(sphere, attributes={**sphere.attributes, "status": status})
    assert opened(failed.view(frames=2).html)[0]["status"] == status
    assert opened(sphere.view(frames=2).html)[0]["status"] == ""


@pytest.mark.slow
def test_a_widget_holds_the_same(sphere):
    """Where anywidget is installed."""
    pytest.importorskip("anywidget")
    view = sphere.view(frames=3)
    widget = view.widget()
    assert widget.header == opened(view.html)[0]
    assert gzip.decompress(widget.data) == opened(view.html)[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "run.png"], "views end in .html"),
        (["-o", "other.html"], "holds something else"),
        (["--frames", "0"], "not a positive integer"),
    ],
)
def test_wrong_places_are_refused(sphere, tmp_path, monkeypatch, cli, arguments, message):
    """In a line, with status 2; what is there stays."""
    monkeypatch.chdir(tmp_path)
    sphere.save("run.h5")
    (tmp_path / "other.html").write_text("<p>mine</p>")
    assert message in cli.refused("view", "run.h5", *arguments)
    assert (tmp_path / "other.html").read_text() == "<p>mine</p>"


@pytest.mark.slow
def test_runs_without_states_are_refused(sphere):
    """With what to do."""
    refused('views need at least 2 saved times .* state="all"', stateless(sphere).view)
