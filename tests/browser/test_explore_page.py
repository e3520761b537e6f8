"""The page of `meanfield explore` in a real browser: sliders, rates, frames, what is refused."""

import time

import pytest
from serving import serving

pytestmark = [pytest.mark.browser, pytest.mark.slow]


# Sliders stand beside the run from here on; in pixels.
WIDE = 1000


@pytest.fixture(scope="module")
def server():
    with serving() as served:
        yield served


def test_sliders_change_rates_and_run(visit, server):
    """The page would show what was there before."""
    tab = visit(server.address, width=WIDE)
    tab.until("explore.rates && explore.frames > 1")
    assert tab.page.evaluate("explore.rates.dominant") == 4
    assert "loading kernels" not in tab.page.text_content("#status")
    requests = tab.page.evaluate("explore.asked")
    slider = tab.page.locator("#beta-slider")
    slider.focus()
    tab.page.keyboard.press("Home")
    tab.until(f"explore.asked > {requests} && explore.took.frame")
    assert tab.page.evaluate("explore.rates.dominant") == 1
    assert tab.page.input_value("#beta") == "0.1"
    tab.until("explore.done && explore.law")
    assert "1 cluster" in tab.page.text_content("#law-text")
    assert tab.page.evaluate("explore.view.frames.length") == 121
    rates = tab.page.get_attribute("#rates", "aria-label")
    assert rates.startswith("growth rates by degree: Degree 1 grows fastest")
    assert all(url.startswith((server.address, "data:")) for url in tab.requests)


def test_nonsense_is_answered_in_the_page(visit, server):
    """A slip would stop the page, or be taken for something else."""
    tab = visit(server.address, width=WIDE)
    tab.page.fill("#beta", "hot")
    tab.until("document.getElementById('status').textContent.startsWith('beta must be a number')")
    assert tab.page.get_attribute("#beta", "aria-invalid") == "true"
    tab.page.fill("#beta", "3")
    tab.until(
        "explore.took.frame && !document.getElementById('status').classList.contains('wrong')"
    )
    assert tab.page.get_attribute("#beta", "aria-invalid") is None


def test_sliders_end_where_numbers_do(visit, server):
    """Their right ends would be refused as out of range."""
    tab = visit(server.address, width=WIDE)
    for name, most in (("beta", "100"), ("tokens", "5000"), ("diffusivity", "1"), ("length", "50")):
        tab.until("explore.rates")
        requests = tab.page.evaluate("explore.asked")
        tab.page.locator(f"#{name}-slider").focus()
        tab.page.keyboard.press("End")
        assert tab.page.input_value(f"#{name}") == most
        tab.until(f"explore.asked > {requests} && (explore.took.rates || explore.done)")
        assert tab.page.get_attribute(f"#{name}", "aria-invalid") is None
    place = tab.page.input_value("#beta-slider")
    tab.page.fill("#beta", "hot")
    assert tab.page.input_value("#beta-slider") == place


def test_sphere_is_drawn_and_a_page_that_is_left_ends_its_run(visit, server):
    """A run would go on after its page has left."""
    tab = visit(server.address, width=WIDE)
    tab.page.fill("#tokens", "5000")
    tab.page.fill("#length", "50")
    tab.page.select_option("#manifold", "sphere")
    tab.until("explore.took.frame && explore.view.header.shape === 'globe'")
    assert tab.page.evaluate("explore.view.glError()") == 0
    assert server.turns.lock.locked()
    tab.page.close()
    end = time.monotonic() + 20
    while server.turns.lock.locked():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_every_control_has_a_name_on_a_phone_in_the_dark(visit, server, without_webgl):
    """Those who do not see the page, or have a small one, or no WebGL, could not use it."""
    tab = visit(server.address, width=390, color_scheme="dark", before=without_webgl)
    tab.page.get_by_text("Settings").click()
    tab.page.select_option("#manifold", "sphere")
    tab.until("explore.view && explore.view.header.shape === 'globe'")
    names = tab.names()
    assert {"button", "slider", "textbox", "combobox"} <= {role for role, _ in names}
    assert all(name for _, name in names), names
    assert not tab.is_wider_than_its_window()
    assert tab.page.get_by_text("needs WebGL 2").is_visible()
    ground = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
    assert max(tab.page.evaluate(ground)[:3]) < 60


def test_run_is_first_on_a_phone(visit, server):
    """One would scroll past all sliders to see what they do."""
    tab = visit(server.address, width=390)
    tab.until("explore.view && explore.frames > 1")
    assert not tab.page.locator("#beta").is_visible()
    top = "document.querySelector({!r}).getBoundingClientRect().top"
    places = [tab.page.evaluate(top.format(each)) for each in ("main", "#settings", ".charts")]
    assert places[0] < 60 and places == sorted(places)
    tab.page.get_by_text("Settings").click()
    assert tab.page.locator("#beta").is_visible()
    tab.page.set_viewport_size({"width": WIDE, "height": 480})
    assert tab.page.evaluate(top.format("#settings")) < 60
