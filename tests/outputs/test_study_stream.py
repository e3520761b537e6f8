"""Results of a study as they come: all are taken, and the status says how it ended."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from meanfield.outputs import study_stream
from meanfield.outputs.study_stream import taken_down


def results(error: BaseException | None = None) -> Iterator[tuple[int, int]]:
    """Three results, or two and an error."""
    yield from [(0, 10), (1, 11)]
    if error is not None:
        raise error
    yield 2, 12


class Notes:
    """What was taken and written."""

    def __init__(self) -> None:
        self.taken: list[int] = []
        self.written: list[tuple[str, int]] = []

    def stream(self, source: Iterator[tuple[int, int]]) -> Iterator[int]:
        """Stream that leaves its notes here."""
        return taken_down(
            source,
            lambda task, result: self.taken.append(result),
            lambda status: self.written.append((status, len(self.taken))),
            lambda: f"{len(self.taken)} of 3 tasks",
        )


def test_a_complete_study_says_so() -> None:
    """A finished file would look unfinished, or lack its last results."""
    notes = Notes()
    assert list(notes.stream(results())) == [0, 1, 2]
    assert notes.written == [("running", 0), ("completed", 3)]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (KeyboardInterrupt(), "interrupted with 2 of 3 tasks finished"),
        (ValueError("no"), "failed with 2 of 3 tasks finished"),
    ],
)
def test_what_was_taken_is_written(error: BaseException, status: str) -> None:
    """Whatever ends a study would lose the results since the last flush."""
    notes = Notes()
    with pytest.raises(type(error)):
        list(notes.stream(results(error)))
    assert notes.written[-1] == (status, 2)


def test_a_consumer_that_stops_interrupts() -> None:
    """A closed stream would leave a file that says it is running."""
    notes = Notes()
    stream = notes.stream(results())
    assert next(stream) == 0
    stream.close()  # type: ignore[attr-defined]
    assert notes.written[-1] == ("interrupted with 1 of 3 tasks finished", 1)


def test_results_are_written_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed process would lose everything."""
    monkeypatch.setattr(study_stream, "_FLUSH_SECONDS", -1.0)
    notes = Notes()
    list(notes.stream(results()))
    assert notes.written[1:-1] == [("running", 1), ("running", 2), ("running", 3)]
