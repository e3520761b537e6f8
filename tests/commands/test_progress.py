"""Progress on standard error: what it says, and that it passes everything through."""

import re
import time
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from meanfield.commands import progress


@pytest.fixture(autouse=True)
def clock_that_stands_still(monkeypatch):
    monkeypatch.setattr(progress, "clock", SimpleNamespace(monotonic=lambda: 0.0))


def said_until(capsys, line):
    text = ""
    for _ in range(6000):
        text += capsys.readouterr().err
        if line in text.splitlines():
            break
        time.sleep(0.01)
    return text.splitlines()


def test_long_first_item_is_announced(capsys):
    """Nobody would know for the time of the first item whether anything goes on."""

    def stream():
        assert said_until(capsys, "work: begun") == ["work: begun"]
        yield 1

    assert list(progress.with_progress(stream(), 1, "work", first_line=0.01)) == [1]


def test_long_silence_is_broken(capsys, monkeypatch):
    """A run of tiny steps would be silent between two saved times for as long as it takes."""
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.01)
    monkeypatch.setattr(progress, "_SECONDS_OF_SILENCE", 0.0)

    def stream():
        yield 0
        assert "work: 1/2, t = 0, 0 s" in said_until(capsys, "work: 1/2, t = 0, 0 s")
        yield 1

    options = {"note": lambda item: f"t = {item}", "first_line": 1e-9}
    assert list(progress.with_progress(stream(), 2, "work", **options)) == [0, 1]


def test_lines_stand_above_the_bar(capsys, monkeypatch):
    """On a terminal they would be written into the bar."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    list(progress.with_progress([1.0, 7.0], 2, "work", lines=lambda item: [f"item {item:g}"]))
    # The bar is wiped, the line is written from the left edge, and the bar comes again below.
    assert capsys.readouterr().err.count("\ritem 1\n") == 1


@pytest.fixture
def progress_lines(capsys, monkeypatch):
    """Lines that items make, with so many seconds between lines."""

    def run(items, total, seconds=0.0, **options):
        monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", seconds)
        assert list(progress.with_progress(items, total, "work", **options)) == list(items)
        return capsys.readouterr().err.splitlines()

    return run


@pytest.fixture
def ended(monkeypatch):
    """Have the clock say when items end, a line for each, and nothing in between."""

    def at(*seconds):
        clock = iter([0.0, *np.repeat(seconds, 2).tolist()])
        monkeypatch.setattr(progress.clock, "monotonic", lambda: next(clock))
        monkeypatch.setattr(progress._Pulse, "beating", lambda _: nullcontext())

    return at


def test_what_is_left_follows_from_the_pace_of_this_session(progress_lines, ended):
    """Work of an earlier session would count as done in no time."""
    ended(30.0, 60.0)
    assert progress_lines([1, 2], 46, before=lambda item: 40.0) == [
        "work: 41/46, 30 s, about 150 s left",
        "work: 42/46, 60 s, about 120 s left",
    ]


def test_preparations_say_nothing_about_the_pace(progress_lines, ended):
    """Nine seconds of compiling before 160 saves of a moment each would promise 24 minutes."""
    ended(9.0, 9.5)
    expected = ["work: 1/161, 9 s", "work: 2/161, 10 s, about 80 s left"]
    assert progress_lines([1, 2], 161, prepares=True) == expected


def test_compiling_says_nothing_about_the_pace(capsys, ended, monkeypatch):
    """The first step compiles: half a minute of it would be promised for every other step."""
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.0)
    ended(0.5, 40.5, 41.0)
    compilations = []
    monkeypatch.setattr("meanfield.engines.compiled.compilations", compilations)

    def steps():
        yield 0
        compilations.append("kernel")
        yield 1
        yield 2

    list(progress.with_progress(steps(), 103, "work", prepares=True))
    assert capsys.readouterr().err.splitlines() == [
        "work: 1/103, 0 s",
        "work: 2/103, 40 s",
        "work: 3/103, 41 s, about 50 s left",
    ]


def test_preparations_say_nothing_about_the_pace_of_a_bar(capsys, monkeypatch):
    """A bar on a terminal would promise as much."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)

    def work():
        time.sleep(0.2)
        yield 1
        yield 2

    stream = progress.with_progress(work(), 100_000, "work", before=lambda item: 7.0, prepares=True)
    assert next(stream) == 1
    assert re.search(r"8/100000 \[\d\d:\d\d<\?", capsys.readouterr().err)
    stream.close()


def test_line_does_not_stand_behind_a_bar(capsys, monkeypatch):
    """The reason why a run ends would be glued to an open bar."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    stream = progress.with_progress([1.0, 7.0], 2, "work", before=lambda item: 0.0)
    next(stream)
    progress.say("meanfield: interrupted")
    assert capsys.readouterr().err.endswith("\rmeanfield: interrupted\n")
    stream.close()
    assert progress.BARS == []


LEFT = "0 s, about 0 s left"


@pytest.mark.parametrize(("items", "total", "seconds", "options", "expected"), [
    # The user would not know how far a run is.
    ([1, 7, 2], 3, 0, {"note": lambda item: f"item {item}"},
     [f"work: 1/3, item 1, {LEFT}", f"work: 2/3, item 7, {LEFT}"]),
    # A hundred small systems would count as much as a hundred large ones.
    ([1, 7, 2], 10, 0, {"weight": lambda item: item},
     [f"work: 10 %, {LEFT}", f"work: 80 %, {LEFT}"]),
    # A resumed run would never come to its total.
    ([7, 8], 43, 0, {"before": lambda item: 41.0}, [f"work: 42/43, {LEFT}"]),
    # A sign of life, and then no line for each item.
    ([1, 2, 3], 3, 100, {"first_line": 0.0}, [f"work: 1/3, {LEFT}"]),
    # --quiet would be ignored.
    ([1, 7, 2], 3, 0, {"quiet": True, "lines": lambda item: ["a line"]}, []),
    # A hand-over would be printed only if five seconds have passed.
    ([1, 7], 2, 100, {"lines": lambda item: ["seven", "and lucky"] if item == 7 else []},
     ["work: seven", "work: and lucky"]),
])  # fmt: skip
def test_lines_tell_how_far_the_work_is(progress_lines, items, total, seconds, options, expected):
    """Items would be counted otherwise than they are, or lines be lost."""
    assert progress_lines(items, total, seconds, **options) == expected
