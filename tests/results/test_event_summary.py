"""Events of a run, in words and for programs."""

import json

import numpy as np
import pytest

from meanfield.events import Event
from meanfield.results.report import Report
from meanfield.results.run_report import event_lines, event_summary, event_summary_json

HAND_OVER = Event(3.5, "hand-over", "characteristics -> atoms: they have met")
ATOMS = [Event(3.5, "cluster", "", (i, -1), (m, np.nan)) for i, m in enumerate([0.5, 0.3, 0.2])]
NOTE = Event(4.0, "note", "weights were normalised")
MERGE = Event(1e67, "merge", "clusters of mass 0.5 and 0.2 have met", (0, 2), (0.5, 0.2))
EVENTS = [HAND_OVER, *ATOMS, NOTE, MERGE]


def merges(count):
    masses = 0.4 - 0.3 * np.abs(np.linspace(-1, 1, count))
    return [Event(10.0 + i, "merge", f"merge {i}", (0, 1), (0.6, m)) for i, m in enumerate(masses)]


def test_events_are_reported_in_order():
    """The story would be told backwards, or the atoms flood it."""
    rows, others = event_summary(EVENTS)
    assert rows == [
        (3.5, "characteristics -> atoms: they have met"),
        (3.5, "3 atoms begin, masses from 0.2 to 0.5"),
        (4.0, "weights were normalised"),
        (1e67, "clusters of mass 0.5 and 0.2 have met"),
    ]
    assert others == ""


@pytest.mark.parametrize(
    ("masses", "words"),
    [([1.0], "an atom of mass 1 begins"), ([0.25] * 4, "4 atoms begin, mass 0.25 each")],
)
def test_atoms_that_begin_are_one_line(masses, words):
    """'1 atoms' and 'from 0.25 to 0.25' read badly."""
    events = [Event(0.0, "cluster", "", (i, -1), (m, np.nan)) for i, m in enumerate(masses)]
    assert event_summary(events)[0] == [(0.0, words)]


def test_atoms_of_other_times_are_other_lines():
    """Later atoms would seem there from the start; programs have to ask whether names are there."""
    later = Event(9.0, "cluster", "", (9, -1), (0.1, np.nan))
    assert [time for time, _ in event_summary([*EVENTS, later])[0]].count(9.0) == 1
    empty = {"count": 0, "numbers": [], "masses": [], "times": []}
    assert event_summary_json([]) == {"events": [], "clusters": empty}


def test_a_thousand_merges_are_twenty_lines():
    """A table of a thousand lines hides what matters: hand-overs and heavy clusters."""
    rows, others = event_summary([HAND_OVER, *merges(1001)])
    assert len(rows) == 20 and others == "... and 982 more"
    assert rows[0] == (3.5, HAND_OVER.text)
    assert {text for _, text in rows} > {f"merge {i}" for i in range(492, 509)}
    assert [time for time, _ in rows] == sorted(time for time, _ in rows)


def test_lines_of_progress_leave_out_the_atoms():
    """A thousand tokens that become atoms are one hand-over."""
    assert event_lines(EVENTS) == [
        "t = 3.5: characteristics -> atoms: they have met",
        "t = 4: weights were normalised",
        "t = 1e+67: clusters of mass 0.5 and 0.2 have met",
    ]
    assert event_lines(merges(40))[-1] == "... and 20 more" and event_lines([]) == []


def test_programs_get_all_of_it_without_gaps():
    """NaN is no JSON, and null for what does not apply has to be filtered by every reader."""
    answer = json.loads(Report([], event_summary_json(EVENTS)).json())
    assert answer["events"] == [
        {"time": 3.5, "kind": "hand-over", "text": HAND_OVER.text, "clusters": [], "mass": []},
        {"time": 4.0, "kind": "note", "text": NOTE.text, "clusters": [], "mass": []},
        {"time": 1e67, "kind": "merge", "text": MERGE.text, "clusters": [0, 2], "mass": [0.5, 0.2]},
    ]
    assert answer["clusters"] == {
        "count": 3, "numbers": [0, 1, 2], "masses": [0.5, 0.3, 0.2], "times": [3.5] * 3,
    }  # fmt: skip
    assert "null" not in Report([], event_summary_json(EVENTS)).json()
