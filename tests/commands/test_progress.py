"""Progress on standard error: what it says, and that it passes everything through."""

from __future__ import annotations

import pytest

from meanfield.commands import progress


def lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, **options: object
) -> list[str]:
    """Lines shown for three items, one a line."""
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.0)
    items = [1.0, 7.0, 2.0]
    total = 10 if options.get("weight") else 3
    assert list(progress.shown(items, total, "work", **options)) == items
    return capsys.readouterr().err.splitlines()


def test_items_are_counted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user would not know how far a run is."""
    shown = lines(capsys, monkeypatch, note=lambda item: f"item {item:g}")
    assert shown == ["work: 1/3, item 1, 0 s", "work: 2/3, item 7, 0 s"]


def test_weighted_items_are_shares_of_the_work(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred small systems would count as much as a hundred large ones."""
    shown = lines(capsys, monkeypatch, weight=lambda item: item)
    assert shown == ["work: 10 %, 0 s", "work: 80 %, 0 s"]


def test_quiet_shows_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """--quiet would be ignored."""
    assert lines(capsys, monkeypatch, quiet=True) == []
