"""Views in a real browser: what is drawn, what moves it, what it asks for."""

import base64

import numpy as np
import pytest

import meanfield as mf
from meanfield.figures.data.view import view_picture
from meanfield.figures.view import module_text, quantised

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LAW = mf.perturbed_uniform([[1, 0, 0.1], [2, 1, 0.2], [3, -2, 0.1]])
VIEW = "window.meanfield"
READY = f"!!{VIEW}"


@pytest.fixture(scope="module")
def run():
    problem = mf.Problem(mf.Sphere(), mf.exponential(4.0), mf.SA, LAW)
    return mf.simulate(problem, until=2.0, save=5)


@pytest.fixture(scope="module")
def address(run, tmp_path_factory):
    return run.view().save(tmp_path_factory.mktemp("view") / "run.html").as_uri()


def test_page_asks_nobody_and_says_nothing(visit, address):
    """A file that is passed on would be a tracker, or empty without a network."""
    tab = visit(address, until=READY)
    assert tab.requests == [address]
    assert tab.page.evaluate(f"{VIEW}.glError()") == 0


def test_densest_place_has_its_colour(visit, address, run):
    """The globe would be turned, mirrored or of other colours than its scale."""
    picture = view_picture(run)
    q = quantised(picture.values[-1], picture.colours)
    row, column = np.unravel_index(np.argmax(picture.values[-1]), q.shape)
    latitude = np.pi * ((row + 0.5) / q.shape[0] - 0.5)
    longitude = np.pi * ((2 * column + 1) / q.shape[1] - 1)
    place = np.cos(latitude) * np.array([np.cos(longitude), np.sin(longitude), np.tan(latitude)])
    tab = visit(address, until=READY)
    for box in ("points", "grid"):
        tab.page.uncheck(f".mf .{box}")
    drawn, palette = tab.page.evaluate(
        f"""([point, turn, tilt, q]) => {{
          Object.assign({VIEW}.state, {{ turn, tilt }});
          {VIEW}.seek({VIEW}.frames.length - 1);
          return [{VIEW}.pixelAt(point), [...{VIEW}.palette.subarray(3 * q, 3 * q + 3)]];
        }}""",
        [place.tolist(), float(longitude), float(latitude), int(q[row, column])],
    )
    assert np.abs(np.subtract(drawn[:3], palette)).max() <= 3 and drawn[3] == 255


def test_everything_moves_it(visit, address):
    """A control would do nothing, or something else."""
    tab = visit(address, until=READY)
    page, state = tab.page, lambda name: tab.page.evaluate(f"{VIEW}.state.{name}")
    slider = page.locator(".mf input[type=range]")
    slider.focus()
    for key, frame in (("Home", 0), ("ArrowRight", 1), ("End", 4), ("ArrowLeft", 3), ("Home", 0)):
        page.keyboard.press(key)
        assert state("frame") == frame, key
    box = slider.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert abs(state("position") - 2.0) < 0.3
    before = state("turn")
    page.locator(".mf .stage canvas").scroll_into_view_if_needed()
    box = page.locator(".mf .stage canvas").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 40, y)
    page.mouse.up()
    assert state("turn") < before
    page.get_by_role("button", name="show the map").click()
    assert state("shape") == "map"
    page.keyboard.press("m")
    assert state("shape") == "globe"
    page.keyboard.press("Home")
    page.get_by_role("button", name="Play", exact=True).click()
    assert tab.until(f"{VIEW}.state.position") > 0


def test_view_opens_on_its_most_telling_frame_and_plays_from_the_first(visit, address, run):
    """A reader would see uniform, or a film that begins near its end."""
    tab = visit(address, until=READY)
    start = view_picture(run).start
    assert start > 0 and tab.page.evaluate(f"{VIEW}.state.frame") == start
    assert float(tab.page.locator(".mf input[type=range]").input_value()) == start
    tab.page.evaluate(f"{VIEW}.play(); {VIEW}.pause()")
    assert tab.page.evaluate(f"{VIEW}.state.position") == 0


def test_page_is_filled_and_fine_print_is_folded(visit, address):
    """A third of the page would be empty, and two lines of technical notes its header."""
    tab = visit(address, width=1280, until=READY)
    bottom = tab.page.evaluate("document.querySelector('.mf').getBoundingClientRect().bottom")
    assert 0.9 * 480 < bottom <= 480 + 1
    notes = tab.page.locator(".mf .notes")
    assert not notes.is_visible() and "saved times" in notes.text_content()
    tab.page.get_by_text("About this view").click()
    assert notes.is_visible()
    # Curves end where their plot does, though the caption below grows.
    over = tab.page.evaluate(
        """() => [...document.querySelectorAll(".mf .plot")].map((plot) => {
          const frame = plot.querySelector("svg rect"), box = plot.getBoundingClientRect();
          return box.height - Number(frame.getAttribute("height"));
        })"""
    )
    assert over == pytest.approx([24.0, 24.0], abs=1.0)


def test_every_control_has_a_name(visit, address):
    """Those who do not see the page would hear "button", "slider"."""
    tab = visit(address, until=READY)
    names = tab.names()
    assert {"button", "slider", "checkbox"} <= {role for role, _ in names}
    assert all(name for _, name in names), names


def test_without_webgl_a_text_stands_there(visit, address, without_webgl):
    """An old machine would show an empty page."""
    tab = visit(address, before=without_webgl, until=READY)
    assert tab.page.get_by_text("needs WebGL 2").is_visible()
    tab.page.locator(".mf input[type=range]").press("End")
    assert tab.page.evaluate(f"{VIEW}.state.frame") == 4


def test_fits_a_phone_and_the_dark(visit, address):
    """It would scroll sideways, or shine at night."""
    tab = visit(address, width=390, color_scheme="dark", until=READY)
    assert not tab.is_wider_than_its_window()
    colours = tab.page.evaluate(
        """() => {
          const style = getComputedStyle(document.querySelector(".mf"));
          const numbers = (text) => text.match(/\\d+/g).map(Number);
          return [style.color, style.backgroundColor].map(numbers);
        }"""
    )
    assert min(colours[0][:3]) > 180 and max(colours[1][:3]) < 60


def test_circle_is_drawn_between_angles(visit, tmp_path):
    """Rings and ribbons, which need no WebGL, would be empty."""
    law = mf.perturbed_uniform([[2, 0.2, 0.0]])
    run = mf.simulate(mf.Problem(mf.Circle(), mf.linear(), mf.USA, law), until=2.0, save=4)
    tab = visit(run.view().save(tmp_path / "ring.html").as_uri(), until=READY)
    # A copy is read: the browser complains of canvases that are read and drawn in turn.
    ink = """() => {
      const c = document.querySelector(".mf .stage canvas"), copy = new OffscreenCanvas(99, 99);
      const context = copy.getContext("2d", { willReadFrequently: true });
      context.drawImage(c, 0, 0, 99, 99);
      const data = context.getImageData(0, 0, 99, 99).data;
      return data.filter((value, i) => i % 4 === 3 && value > 0).length / 99 ** 2;
    }"""
    ring = tab.page.evaluate(ink)
    tab.page.get_by_role("button", name="show the ribbon").click()
    assert ring > 0.1 and tab.page.evaluate(ink) > 0.1


def test_alike_atoms_are_not_opposite_ones(visit, address):
    """Cosines of 1 would be drawn at -1 as well, where masses are known."""
    tab = visit(address, until=READY)
    ends = tab.page.evaluate(
        f"""() => {{
          const view = {VIEW}, bins = view.header.shares.shape[1];
          for (const frame of view.frames) {{
            frame.masses = new Float32Array([1]);
            frame.shares = new Uint8Array(bins).fill(255, bins - 1);
          }}
          view.layout();
          const drawn = view.history.querySelector("canvas"), copy = new OffscreenCanvas(9, 99);
          const context = copy.getContext("2d", {{ willReadFrequently: true }});
          context.drawImage(drawn, 0, 0, 9, 99);
          return [0, 98].map((y) => context.getImageData(4, y, 1, 1).data[0]);
        }}"""
    )
    assert ends[0] > 200 and ends[1] < 50


def test_a_lost_context_comes_back(visit, address):
    """A globe would stay empty once a browser has too many pages, or a machine has slept."""
    tab = visit(address, until=READY)
    tab.page.evaluate(
        f"""() => {{
          const lost = {VIEW}.scene.gl.getExtension("WEBGL_lose_context");
          {VIEW}.canvas.addEventListener("webglcontextlost", () => setTimeout(() => {{
            window.without = {VIEW}.scene === null;
            {VIEW}.seek(1);
            lost.restoreContext();
          }}, 50));
          lost.loseContext();
        }}"""
    )
    tab.until("window.without")
    tab.until(f"!!{VIEW}.scene")
    x, y, z = np.array([np.cos(0.6), np.sin(0.6), 0.0])
    tab.page.evaluate(f"Object.assign({VIEW}.state, {{ turn: 0.6, tilt: 0 }})")
    assert tab.page.evaluate(f"{VIEW}.pixelAt([{x}, {y}, {z}])")[3] == 255


def test_a_cluster_in_one_cell_is_as_high_as_its_density(visit, tmp_path):
    """It would end at the dashed line, as if it were uniform."""
    law = mf.from_points(np.full(20, 0.3))
    problem = mf.Problem(mf.Circle(), mf.exponential(4.0), mf.SA, law)
    run = mf.simulate(problem, until=1.0, save=2, representation="particles")
    tab = visit(run.view().save(tmp_path / "cluster.html").as_uri(), until=READY)
    tab.page.get_by_role("button", name="show the ribbon").click()
    # Right of the numbers: share of the height above the first row that has ink.
    above = """() => {
      const c = document.querySelector(".mf .stage canvas"), { width, height } = c;
      const copy = new OffscreenCanvas(width, height), left = Math.round(0.2 * width);
      const context = copy.getContext("2d", { willReadFrequently: true });
      context.drawImage(c, 0, 0);
      const data = context.getImageData(left, 0, width - left, height).data;
      return data.findIndex((value, i) => i % 4 === 3 && value > 0) / 4 / (width - left) / height;
    }"""
    assert tab.page.evaluate(above) < 0.1


def test_a_widget_follows_its_model_and_moves_it(visit, run):
    """As anywidget asks: a module with `render`, a model with `get`, `set` and `on`."""
    widget = pytest.importorskip("anywidget") and run.view().widget()
    tab = visit("about:blank")
    tab.page.evaluate(
        """async ([text, header, data]) => {
          const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
          const module = (await import(url)).default, el = document.createElement("div");
          const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
          const values = { header, data: new DataView(bytes.buffer), frame: 0 }, listeners = {};
          document.body.append(el);
          const model = { get: (name) => values[name],
            save_changes: () => { window.saved = values.frame; },
            set: (name, value) => { values[name] = value; if (listeners[name]) listeners[name](); },
            on: (name, act) => { listeners[name.replace("change:", "")] = act; } };
          window.model = model;
          window.leave = await module.render({ model, el });
        }""",
        [module_text(), widget.header, base64.b64encode(widget.data).decode()],
    )
    slider = tab.page.get_by_role("slider")
    tab.page.evaluate("model.set('frame', 2)")
    assert slider.input_value() == "2"
    slider.press("End")
    assert tab.page.evaluate("window.saved") == 4
    tab.page.evaluate("leave()")
    assert tab.page.locator(".mf").count() == 0
