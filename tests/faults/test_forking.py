"""When a command that is struck counts as hung: by its processor time, on any machine."""

import itertools
import subprocess
import sys

import forking
import pytest


@pytest.mark.parametrize(
    ("times", "sleep", "status"),
    [
        pytest.param(itertools.count(0.0, 0.001), 1.0, 0, id="slow"),
        pytest.param(itertools.repeat(0.05), 60.0, forking.HUNG, id="idle"),
        pytest.param(itertools.count(0.05, 0.04), 60.0, forking.HUNG, id="endless"),
    ],
)
def test_commands_that_are_slow_have_not_hung(monkeypatch, times, sleep, status):
    """Beside other processes a traced command takes minutes, and its test would fail."""
    monkeypatch.setattr(forking, "processor_time", lambda leader: next(times))
    code = f"import time; time.sleep({sleep})"
    with subprocess.Popen([sys.executable, "-c", code], start_new_session=True) as child:
        assert forking.ended(child.pid, {}, seconds=0.1) == (status, 0)


def test_processor_time_is_that_of_a_session():
    """A command that computes would count as idle."""
    code = "while True: pass"
    with subprocess.Popen([sys.executable, "-c", code], start_new_session=True) as child:
        while forking.processor_time(child.pid) == 0.0:
            assert child.poll() is None
        child.kill()
