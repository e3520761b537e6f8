"""Stop a child at the k-th of its system calls that change the disk: kill it, or let the call fail.

A debugger's means: `ptrace`, on Linux. Every instant at which a file can be seen to differ lies
between two such calls, so that trying every k leaves none out.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import struct
import sys
from typing import Any

_TRACEME, _POKEUSER, _SYSCALL, _SETOPTIONS, _GET_SYSCALL_INFO = 0, 6, 24, 0x4200, 0x420E
_MARKED_STOPS, _GONE_WITH_US = 1, 0x100000
_STOP = signal.SIGTRAP | 0x80
_ENTRY, _EXIT = 1, 2
_X86 = 0xC000003E
# Numbers of write, pwrite64, sendfile, flock, fsync, ftruncate, rename, unlink, unlinkat, renameat,
# fallocate, renameat2, copy_file_range.
_CHANGING = {
    _X86: {1, 18, 40, 73, 74, 77, 82, 87, 263, 264, 285, 316, 326},
    0xC00000B7: {32, 35, 38, 46, 47, 64, 68, 71, 82, 276, 285},
}
# Numbers of open and openat -> which of their values tells whether they make a file.
_OPENING = {_X86: {2: 1, 257: 2}, 0xC00000B7: {56: 2}}
# Places of the number of a call, and of its result, among the registers.
_NUMBER, _RESULT = 8 * 15, 8 * 10

_ptrace: Any = None
if sys.platform == "linux":
    _ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    _ptrace.argtypes = [ctypes.c_long] * 2 + [ctypes.c_void_p] * 2
    _ptrace.restype = ctypes.c_long


def _request(kind: int, pid: int, address: int = 0, data: int | ctypes.Array[Any] = 0) -> None:
    place = data if isinstance(data, int) else ctypes.addressof(data)
    if _ptrace(kind, pid, address, place) < 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def be_traced() -> None:
    """In the child: wait for `trace`."""
    _request(_TRACEME, 0)
    os.kill(os.getpid(), signal.SIGSTOP)


def trace(pid: int, chosen: int, number: int = 0, error: int = 0) -> tuple[int, int]:
    """In the parent: go with the child to its end.

    Parameters
    ----------
    pid : int
        A child that waits to be traced.
    chosen : int
        Which call that changes the disk is disturbed, counted from 0; -1 disturbs none.
    number : int
        Signal that strikes just before the call; a child that is killed does not make it.
    error : int
        Or the error that the call ends with; nothing is then done.

    Returns
    -------
    status, calls : int, int
        As `waitpid` gives it, and how many such calls there were.
    """
    _, status = os.waitpid(pid, 0)
    if not os.WIFSTOPPED(status):
        return status, 0
    _request(_SETOPTIONS, pid, 0, _MARKED_STOPS | _GONE_WITH_US)
    calls, passed_on, fails = 0, 0, False
    while True:
        try:
            _request(_SYSCALL, pid, 0, passed_on)
        except OSError as problem:  # killed a moment ago
            if problem.errno != errno.ESRCH:
                raise
        _, status = os.waitpid(pid, 0)
        if not os.WIFSTOPPED(status):
            return status, calls
        passed_on = os.WSTOPSIG(status)
        if passed_on != _STOP:
            continue
        passed_on = 0
        kind, changes = _stop(pid)
        if fails and kind == _EXIT:
            _request(_POKEUSER, pid, _RESULT, -error)
            fails = False
        if not changes:
            continue
        if calls == chosen and number:
            os.kill(pid, number)
        elif calls == chosen:
            _request(_POKEUSER, pid, _NUMBER, -1)
            fails = True
        calls += 1


def _stop(pid: int) -> tuple[int, bool]:
    """Why a child stopped, and whether it is about to change the disk."""
    buffer = ctypes.create_string_buffer(88)
    try:
        _request(_GET_SYSCALL_INFO, pid, len(buffer), buffer)
    except OSError as problem:
        if problem.errno != errno.ESRCH:
            raise
        return 0, False
    kind, machine = struct.unpack_from("=B3xI", buffer)
    call, *values = struct.unpack_from("=7Q", buffer, 24)
    if kind != _ENTRY or machine not in _CHANGING:
        return kind, False
    flags = _OPENING[machine].get(call)
    makes = flags is not None and bool(values[flags] & os.O_CREAT)
    return kind, makes or call in _CHANGING[machine]


if __name__ == "__main__":
    # Exit status 0 where a process may be traced: containers may forbid it.
    child = os.fork()
    if child == 0:
        be_traced()
        os.write(2, b"traced")
        os._exit(0)
    sys.exit(trace(child, -1) != (0, 1))
