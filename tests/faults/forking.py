"""Has everything loaded, and forks a child for each command: what strikes it costs no start.

    {"arguments": [...], "folder": "/a", "fault": {...}}     in, a line of JSON each
    {"status": -9, "out": "", "err": "", ...}                out: what a shell would have seen
    {"requests": [{...}, ...], "processes": 40}              in: commands, so many at a time
    [[-9, ""], ...]                                          out: status and standard error of each

Files are written after every row and every result, so that most instants lie inside a write. What a
fault may be is said in `children`.
"""

from __future__ import annotations

import atexit
import errno
import gc
import json
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import tracing

from meanfield.commands import main as commands
from meanfield.store import recorder, study_file

STOPPING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1}
HUNG = 1000
ERRORS = {
    "MemoryError": MemoryError(),
    "OSError": OSError(errno.EIO, os.strerror(errno.EIO)),
    "ValueError": ValueError("anything"),
}
PACKAGE = str(Path(commands.__file__).parents[1])


def raise_at_call(chosen: int, error: Exception) -> None:
    """Raise an error at the k-th call of a function of the package; -1: say how many there are."""
    count = 0
    if chosen < 0:
        atexit.register(lambda: print(count))

    def look(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        code = frame.f_code
        # HDF5 calls the disk, and knows no errors but its own: those inside are the business of
        # the full disks.
        if not code.co_filename.startswith(PACKAGE) or code.co_qualname.startswith("_Disk."):
            return
        count += 1
        if count - 1 == chosen:
            sys.settrace(None)
            raise error

    sys.settrace(look)


def be_a_command(request: dict[str, Any], pipes: list[int]) -> None:
    """In the child: run the command and end as a process does; `pipes` take what it says."""
    fault = request.get("fault", {})
    os.setsid()
    os.chdir(request["folder"])
    for pipe, descriptor in zip(pipes, (1, 2), strict=True):
        os.dup2(pipe, descriptor)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if "terminal" in fault:
        os.dup2(terminal_that_is_gone(), 2)
    # Those that are there know what their files could do.
    sys.stdout, sys.stderr = (os.fdopen(i, "w", buffering=1, encoding="utf-8") for i in (1, 2))
    if "limit" in fault:
        resource.setrlimit(resource.RLIMIT_FSIZE, (fault["limit"], fault["limit"]))
    usual = commands._run

    def listening(arguments: Any) -> int:
        # What struck before, as while a real process loads, strikes now.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        return usual(arguments)

    commands._run = listening
    sys.argv = ["meanfield", *request["arguments"]]
    if "raise" in fault:
        chosen, name = fault["raise"]
        raise_at_call(chosen, ERRORS[name])
    if "call" in fault:
        tracing.be_traced()
    status = commands.main()
    if request["arguments"][0] != "run":
        sys.exit(status)
    # A run has no threads or processes to end, and tidying up a copy of a process takes longer
    # than the run.
    atexit._run_exitfuncs()
    os._exit(status)


def terminal_that_is_gone() -> int:
    """Standard error of a window that was closed: whoever writes there gets EIO."""
    here, there = os.openpty()
    os.close(here)
    return there


def ended(pid: int, fault: dict[str, Any], seconds: float) -> tuple[int, int]:
    """In the parent: make the fault and wait for the end; exit status, calls that were counted."""
    try:
        with patience(pid, seconds):
            status, calls = _ended(pid, fault)
    except TimeoutError:
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return HUNG, 0
    return os.waitstatus_to_exitcode(status), calls


def _ended(pid: int, fault: dict[str, Any]) -> tuple[int, int]:
    if "call" in fault:
        return tracing.trace(pid, fault["call"], fault.get("signal", 0), fault.get("error", 0))
    began, sent = time.monotonic(), "signal" not in fault
    while True:
        result, status = os.waitpid(pid, os.WNOHANG)
        if result:
            return status, 0
        if not sent and time.monotonic() - began >= fault["after"]:
            sent = strike(pid, fault)
        time.sleep(0.0005)


@contextmanager
def patience(leader: int, seconds: float) -> Iterator[None]:
    """Raise TimeoutError once a session has not computed, or has computed, for so many seconds.

    Its time on the wall clock says nothing: a traced command stops thousands of times, and beside
    other processes waits for each of them.
    """
    used = -1.0

    def look(number: int, frame: Any) -> None:
        nonlocal used
        before, used = used, processor_time(leader)
        if used == before or used > seconds:
            raise TimeoutError

    usual = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, usual)


def processor_time(leader: int) -> float:
    """Seconds that the living processes of a session have computed."""
    ticks = 0
    for pid in session(leader):
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])  # of the user, of the system
    return ticks / os.sysconf("SC_CLK_TCK")


def strike(pid: int, fault: dict[str, Any]) -> bool:
    """Send the signal: to the command, its whole session, or a worker; False if none is there."""
    number, aim = fault["signal"], fault.get("aim", "command")
    if number == signal.SIGSTOP:
        os.kill(pid, number)
        time.sleep(0.02)
        number = signal.SIGCONT
    if aim == "worker":
        workers = [p for p, line in session(pid).items() if "spawn_main" in line]
        if not workers:
            return False
        os.kill(workers[fault["after"] % 1 > 0.5 and len(workers) > 1], number)
    elif aim == "session":
        os.killpg(pid, number)
    else:
        os.kill(pid, number)
    return True


def session(leader: int) -> dict[int, str]:
    """Processes of a session that are not dead, by their number, and their command lines."""
    result = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, sid = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(sid) == leader and state not in "ZX":
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                result[int(entry.name)] = line
        except (OSError, ValueError):
            continue
    return result


def left_behind(leader: int, seconds: float = 60.0) -> list[str]:
    deadline = time.monotonic() + seconds
    while (result := session(leader)) and time.monotonic() < deadline:
        time.sleep(0.02)
    for pid in result:
        os.kill(pid, signal.SIGKILL)
    return list(result.values())


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Run one command in a child of its own, or without a fault here, to load what it needs."""
    if request.get("here"):
        os.chdir(request["folder"])
        return {"status": commands.main(request["arguments"])}
    # Garbage of ours is none of the child's: to look for it there copies all memory.
    gc.freeze()
    began = time.monotonic()
    pipes = [os.pipe() for _ in range(2)]
    child = os.fork()
    if child == 0:
        be_a_command(request, [there for _, there in pipes])
    status, calls = ended(child, request.get("fault", {}), request["seconds"])
    took, left = time.monotonic() - began, left_behind(child)
    out, err = (said(*pipe) for pipe in pipes)
    return {"status": status, "out": out, "err": err, "seconds": took, "calls": calls, "left": left}


def answer_many(requests: list[dict[str, Any]], processes: int) -> list[tuple[int, str]]:
    """Run commands, so many at a time, and kill those with a fault after their time."""
    gc.freeze()
    ends: list[tuple[int, str]] = [(HUNG, "")] * len(requests)
    waiting, running = list(enumerate(requests))[::-1], {}
    while waiting or running:
        while waiting and len(running) < processes:
            number, request = waiting.pop()
            file = tempfile.TemporaryFile("w+")  # noqa: SIM115
            child = os.fork()
            if child == 0:
                be_a_command({"arguments": request["arguments"], "folder": request["folder"]},
                             [os.open(os.devnull, os.O_WRONLY), file.fileno()])  # fmt: skip
            after = request["fault"].get("after", np.inf)
            if after == 0.0:
                # At once: beside others it could end before it is looked at.
                os.kill(child, signal.SIGKILL)
                after = np.inf
            running[child] = number, file, time.monotonic() + after
        for child, (number, file, due) in list(running.items()):
            if time.monotonic() >= due:
                os.kill(child, signal.SIGKILL)
                due = np.inf
            running[child] = number, file, due
            result, status = os.waitpid(child, os.WNOHANG)
            if result:
                file.seek(0)
                ends[number] = os.waitstatus_to_exitcode(status), file.read()
                running.pop(child)[1].close()
        time.sleep(0.002)
    return ends


def said(here: int, there: int) -> str:
    """Content of a pipe whose writers are gone. A file would have the child's limits."""
    os.close(there)
    with os.fdopen(here, encoding="utf-8") as stream:
        return stream.read()


def serve() -> None:
    recorder.FLUSH_SECONDS = recorder._FLUSH_SHARE = study_file.FLUSH_SECONDS = 0.0
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.set_inheritable(answers.fileno(), False)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    for line in sys.stdin:
        request = json.loads(line)
        result = answer_many(**request) if "requests" in request else answer(request)
        answers.write(json.dumps(result) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve()
