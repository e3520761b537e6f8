"""Wall time by phase: every second is counted once."""

import pytest

from meanfield.store import wall_time
from meanfield.store.wall_time import PHASES, WallTime, seconds_by_phase


@pytest.fixture
def now(monkeypatch):
    time = [100.0]
    monkeypatch.setattr(wall_time.clock, "perf_counter", lambda: time[0])
    return time


def test_phases_inside_others_count_once(now):
    """Phases would add up to more than the time that passed."""
    spent = WallTime()
    with spent.during("setup"):
        now[0] += 1.0
        with spent.during("writing"):
            now[0] += 10.0
        now[0] += 2.0
    now[0] += 50.0
    with spent.during("setup"):
        now[0] += 4.0
    assert spent.seconds == {"setup": 7.0, "writing": 10.0}


def test_time_counts_whatever_ends_or_continues_it(now):
    """An interrupted run would have spent nothing, or a resumed one forget what it took before."""
    spent = WallTime()
    spent.add(seconds_by_phase({"seconds_stepping": 40.0, "status": "running"}))
    with pytest.raises(KeyboardInterrupt), spent.during("stepping"):
        now[0] += 3.0
        raise KeyboardInterrupt
    now[0] += 5.0
    with spent.during("writing"):
        now[0] += 2.0
        assert spent.attributes() == {"seconds_stepping": 43.0, "seconds_writing": 2.0}
        now[0] += 3.0
    assert spent.attributes() == {"seconds_stepping": 43.0, "seconds_writing": 5.0}


def test_making_counts_and_consuming_does_not(now):
    """Time of a progress bar, or of writing, would count as steps."""
    spent = WallTime()

    def stream():
        for i in range(3):
            now[0] += 1.0
            yield i
        now[0] += 0.5

    for i, passed in enumerate(spent.over(stream(), "stepping")):
        assert passed == i
        now[0] += 100.0
    assert spent.seconds == {"stepping": 3.5}


def test_attributes_are_read_again():
    """A phase would be written under a name that no reader uses."""
    seconds = {phase: float(i) for i, phase in enumerate(PHASES)}
    assert seconds_by_phase(WallTime(seconds).attributes()) == seconds
    assert seconds_by_phase({"beta": 4.0}) == {}
