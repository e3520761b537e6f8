"""Parts of the report of a run: its events, in words and for programs, and the degrees in use."""

import json
import re

import numpy as np
import pytest

import meanfield as mf
from meanfield.carriers.options import Options
from meanfield.events import Event
from meanfield.results.report import Report
from meanfield.results.run_report import (
    event_lines,
    event_summary,
    event_summary_json,
    truncation_summary,
)

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


def line_of(problem, *carriers, tokens=None):
    return truncation_summary(problem, Options(), carriers, tokens)


def test_softmax_is_certified_from_some_partition_on():
    """The smallest Z of all may be below what is cut off; n tokens have one above 1 / n."""
    problem = mf.Problem(mf.Circle(), mf.exponential(25.0), mf.SA)
    truncation = mf.truncation(problem)
    match = re.fullmatch(
        rf"degree {truncation.degree}: velocities within 1e-06 of the largest where Z > (\S+)",
        line_of(problem, "density") or "",
    )
    assert match is not None
    assert float(truncation.softmax_error(float(match[1]))) == pytest.approx(1e-6, rel=0.06)
    share = f"{truncation.softmax_error(1e-3):.2g} of the largest"
    line = f"degree {truncation.degree}: velocities within {share}"
    assert line_of(problem, "particles", tokens=1000) == line


def test_each_degree_is_named_once():
    """Carriers of one degree are one clause, and those that sum over pairs cut nothing off."""
    problem = mf.Problem(mf.Sphere(), mf.exponential(6.0), mf.USA)
    line = line_of(problem, "density", "characteristics", "atoms") or ""
    assert re.findall(r"degree (\d+)", line) == ["27", "17"] and "characteristics degree" in line
    assert line_of(problem, "particles", tokens=20) == "sums over pairs, nothing is cut off"
    flat = mf.Problem(mf.Sphere(5), mf.exponential(6.0), mf.SA)
    assert line_of(flat, "particles", tokens=10**6) == "sums over pairs, nothing is cut off"
    own = mf.Problem(mf.Circle(), mf.zonal(lambda s: s**3), mf.USA)
    assert line_of(own, "density") is None
