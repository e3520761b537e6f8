"""Signals that are noted, acted on, ignored, and given back."""

import importlib
import os
import signal
import sys
import threading
import time
import weakref

import pytest

import meanfield as mf
from meanfield import files
from meanfield.commands import interrupts, main
from meanfield.commands.interrupts import (
    check_interrupt,
    interrupt_requested,
    listen,
    patience,
    stop_after,
    stop_listening,
)
from meanfield.files import replacing, uninterrupted

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1]


@pytest.fixture(autouse=True)
def listening():
    with listen():
        yield


def send(number):
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", SIGNALS)
def test_signal_interrupts_at_once(number):
    """A command that waits could not be stopped, or a second one would end at once."""
    assert not interrupt_requested()
    with pytest.raises(KeyboardInterrupt):
        send(number)
    assert interrupt_requested()
    listen()
    check_interrupt()
    assert not interrupt_requested()


@pytest.mark.parametrize("number", SIGNALS)
def test_patient_command_is_interrupted_when_it_looks(number):
    """An exception would strike inside a library that is just being loaded."""
    done = []
    with patience():
        check_interrupt()
        send(number)
        done.append(1)
        with pytest.raises(KeyboardInterrupt):
            check_interrupt()
    assert done == [1]
    with pytest.raises(KeyboardInterrupt):
        send(number)


def test_patience_has_an_end(monkeypatch):
    """A command that never looks could only be killed."""
    now = [0.0]
    monkeypatch.setattr(interrupts.clock, "monotonic", lambda: now[0])
    with patience():
        send(signal.SIGINT)
        now[0] = 1.0
        # A process group, or a program in between, may send the same signal twice.
        send(signal.SIGINT)
        now[0] = 3.0
        with pytest.raises(KeyboardInterrupt):
            send(signal.SIGINT)


def test_ignored_signals_stay_ignored():
    """A run under nohup would end with its terminal."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    listen()
    send(signal.SIGHUP)
    assert not interrupt_requested()


def test_no_more_signals_after_the_last_word():
    """A second Ctrl-C, while the first is being reported, would show a traceback."""
    stop_listening()
    for number in SIGNALS:
        send(number)
    assert not interrupt_requested()


def test_no_memory_after_the_last_word(monkeypatch):
    """A command that has done its work would end with a traceback."""

    def without_memory():
        raise MemoryError

    monkeypatch.setattr(sys, "argv", ["meanfield", "--version"])
    monkeypatch.setattr(main, "stop_listening", without_memory)
    assert main.main() == 0


def test_other_threads_leave_signals_alone():
    """A command in another thread of a user's program would fail: signals are the main one's."""
    handlers = [signal.getsignal(number) for number in SIGNALS]
    thread = threading.Thread(target=listen)
    thread.start()
    thread.join()
    assert [signal.getsignal(number) for number in SIGNALS] == handlers


ALARM = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs an alarm")


@ALARM
def test_signal_waits_for_an_import(tmp_path, monkeypatch):
    """A library would be half loaded, with a traceback or a lock that stays closed."""
    code = (
        "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\n"
        "time.sleep(0.1)\nwhole = True\n"
    )
    (tmp_path / "interrupted_library.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        library = importlib.import_module("interrupted_library")
        time.sleep(5.0)
    assert library.whole
    # Nothing is left that would strike later.
    time.sleep(0.05)


@ALARM
def test_signal_that_waited_for_an_import_waits_for_a_write(tmp_path, monkeypatch):
    """The alarm that looks again would strike inside HDF5."""
    code = "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n"
    (tmp_path / "library_with_a_signal.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(files, "_AGAIN_SECONDS", 1000.0)
    path = tmp_path / "x.txt"
    with pytest.raises(KeyboardInterrupt):
        importlib.import_module("library_with_a_signal")
        with uninterrupted():
            send(signal.SIGALRM)
            with replacing(path) as partial:
                send(signal.SIGALRM)
                partial.write_text("whole")
        pytest.fail("the signal was lost")
    assert path.read_text() == "whole"


@pytest.mark.skipif(pytest.version_tuple < (8, 4), reason="pytest takes what Python drops itself")
@ALARM
def test_signal_in_a_callback_of_a_weak_reference_is_not_lost(capsys):
    """Python drops exceptions there, and prints a traceback."""

    class Referent:
        """Object that goes away."""

    referent = Referent()
    reference = weakref.ref(referent, lambda _: send(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        del referent
        assert reference() is None
        time.sleep(5.0)
    assert capsys.readouterr().err == ""


def test_time_that_is_over_interrupts_what_waits():
    """A job would be killed at its limit, in place of an end in order."""
    with pytest.raises(KeyboardInterrupt), stop_after(0.05):
        threading.Event().wait(60.0)
    listen()
    with stop_after(60.0):
        pass
    timers = [each for each in threading.enumerate() if isinstance(each, threading.Timer)]
    assert all(each.finished.is_set() for each in timers)


@pytest.mark.parametrize("command", ["run", "ensemble", "sweep"])
def test_command_that_stops_goes_on_to_the_same_result(results, tmp_path, cli, command):
    """Results would be lost at the end of a job; --resume would need a first file."""
    path = tmp_path / ("x" if command == "sweep" else "x.h5")
    long = ("time.end=400", "time.save=400", "ensemble.tokens=[50]", "ensemble.runs=3000")
    longer = [word for each in long for word in ("--set", each)]
    words = (*results.words(command, path), *longer, "--resume")
    # Beside other work the first times may end before there is a file: --resume begins again.
    for seconds in (0.3, 0.6, 1.2, 2.4, 4.8):
        refused = cli.refused(*words, "--stop-after", f"{seconds}s", status=130)
        if "--resume goes on" in refused:
            break
    assert "interrupted" in refused and "--resume goes on" in refused
    assert "interrupted" in mf.load(path).attributes["status"]
