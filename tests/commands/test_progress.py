"""Progress on standard error: what it says, and that it passes everything through."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from meanfield.commands import progress


@pytest.fixture(autouse=True)
def clock_that_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines do not depend on the speed of the machine."""
    monkeypatch.setattr(progress, "clock", SimpleNamespace(monotonic=lambda: 0.0))


def said_until(capsys: pytest.CaptureFixture[str], line: str) -> list[str]:
    """Lines up to one that must come."""
    text = ""
    for _ in range(6000):
        text += capsys.readouterr().err
        if line in text.splitlines():
            break
        time.sleep(0.01)
    return text.splitlines()


def lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, **options: object
) -> list[str]:
    """Lines shown for three items, one a line."""
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.0)
    items = [1.0, 7.0, 2.0]
    total = 10 if options.get("weight") else 3
    assert list(progress.with_progress(items, total, "work", **options)) == items
    return capsys.readouterr().err.splitlines()


def let_two_items_end(monkeypatch: pytest.MonkeyPatch, first: float, second: float) -> None:
    """Have the clock say when, a line for each, and nothing in between."""
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.0)
    clock = iter([0.0, first, first, second, second])
    monkeypatch.setattr(progress.clock, "monotonic", lambda: next(clock))
    monkeypatch.setattr(progress._Pulse, "beating", lambda _: nullcontext())


def test_items_are_counted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user would not know how far a run is."""
    shown = lines(capsys, monkeypatch, note=lambda item: f"item {item:g}")
    assert shown == [
        "work: 1/3, item 1, 0 s, about 0 s left",
        "work: 2/3, item 7, 0 s, about 0 s left",
    ]


def test_weighted_items_are_shares_of_the_work(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred small systems would count as much as a hundred large ones."""
    shown = lines(capsys, monkeypatch, weight=lambda item: item)
    assert shown == ["work: 10 %, 0 s, about 0 s left", "work: 80 %, 0 s, about 0 s left"]


def test_what_was_done_before_counts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A resumed run would never come to its total."""
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.0)
    assert list(progress.with_progress([7, 8], 43, "work", before=lambda item: 41.0)) == [7, 8]
    assert capsys.readouterr().err.splitlines() == ["work: 42/43, 0 s, about 0 s left"]


def test_first_line_may_come_sooner(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sign of life, and then no line for each item."""
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 100.0)
    assert list(progress.with_progress([1, 2, 3], 3, "work", first_line=0.0)) == [1, 2, 3]
    assert capsys.readouterr().err.splitlines() == ["work: 1/3, 0 s, about 0 s left"]


def test_long_first_item_is_announced(capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody would know for the time of the first item whether anything goes on."""

    def stream() -> Iterator[int]:
        assert said_until(capsys, "work: begun") == ["work: begun"]
        yield 1

    assert list(progress.with_progress(stream(), 1, "work", first_line=0.01)) == [1]


def test_long_silence_is_broken(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of tiny steps would be silent between two saved times for as long as it takes."""
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.01)
    monkeypatch.setattr(progress, "_SECONDS_OF_SILENCE", 0.0)

    def stream() -> Iterator[int]:
        yield 0
        said = said_until(capsys, "work: 1/2, t = 0, 0 s")
        assert "work: 1/2, t = 0, 0 s" in said
        yield 1

    shown = progress.with_progress(
        stream(), 2, "work", note=lambda item: f"t = {item}", first_line=1e-9
    )
    assert list(shown) == [0, 1]


def test_quiet_shows_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """--quiet would be ignored."""
    assert lines(capsys, monkeypatch, quiet=True, lines=lambda item: ["a line"]) == []


def test_lines_are_told_whatever_the_pace(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hand-over would be told only if five seconds have passed."""
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 100.0)
    told = {7.0: ["seven", "and lucky"]}
    list(progress.with_progress([1.0, 7.0], 2, "work", lines=lambda item: told.get(item, [])))
    assert capsys.readouterr().err.splitlines() == ["work: seven", "work: and lucky"]


def test_lines_stand_above_the_bar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal they would be written into the bar."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    list(progress.with_progress([1.0, 7.0], 2, "work", lines=lambda item: [f"item {item:g}"]))
    # The bar is wiped, the line is written from the left edge, and the bar comes again below.
    assert capsys.readouterr().err.count("\ritem 1\n") == 1


def test_what_is_left_follows_from_the_pace_of_this_session(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an earlier session did would count as done in no time."""
    let_two_items_end(monkeypatch, 30.0, 60.0)
    list(progress.with_progress([1, 2], 46, "work", before=lambda item: 40.0))
    assert capsys.readouterr().err.splitlines() == [
        "work: 41/46, 30 s, about 150 s left",
        "work: 42/46, 60 s, about 120 s left",
    ]


def test_preparations_say_nothing_about_the_pace(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nine seconds of compiling before 160 saves of a moment each would promise 24 minutes."""
    let_two_items_end(monkeypatch, 9.0, 9.5)
    list(progress.with_progress([1, 2], 161, "work", prepares=True))
    assert capsys.readouterr().err.splitlines() == [
        "work: 1/161, 9 s",
        "work: 2/161, 10 s, about 80 s left",
    ]


def test_compiling_says_nothing_about_the_pace(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first step compiles: half a minute of it would be promised for every other step."""
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.0)
    clock = iter([0.0, *(time for time in (0.5, 40.5, 41.0) for _ in range(2))])
    monkeypatch.setattr(progress.clock, "monotonic", lambda: next(clock))
    monkeypatch.setattr(progress._Pulse, "beating", lambda _: nullcontext())
    compilations: list[str] = []
    monkeypatch.setattr("meanfield.engines.compiled.compilations", compilations)

    def steps() -> Iterator[int]:
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


def test_preparations_say_nothing_about_the_pace_of_a_bar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bar on a terminal would promise as much."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)

    def work() -> Iterator[int]:
        time.sleep(0.2)
        yield 1
        yield 2

    stream = progress.with_progress(work(), 100_000, "work", before=lambda item: 7.0, prepares=True)
    assert next(stream) == 1
    assert re.search(r"8/100000 \[\d\d:\d\d<\?", capsys.readouterr().err)
    stream.close()


def test_line_does_not_stand_behind_a_bar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason why a run ends would be glued to a bar that nobody has closed yet."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    stream = progress.with_progress([1.0, 7.0], 2, "work", before=lambda item: 0.0)
    next(stream)
    progress.say("meanfield: interrupted")
    assert capsys.readouterr().err.endswith("\rmeanfield: interrupted\n")
    stream.close()
    assert progress.BARS == []
