"""Cores and memory that this process may use.

Besides the machine, limits are the scheduler's affinity, control groups of Linux (a container, a
batch queue; both versions) and the shell's `ulimit -v`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

_GROUPS = Path("/proc/self/cgroup")
_MOUNT = Path("/sys/fs/cgroup")
_SIZES = Path("/proc/self/statm")
# Arrays of the size of moving tokens, as tests/benchmarks/memory.py measures them. Runge-Kutta of
# order eight holds 19 arrays, its dense output 15, and slopes the rest.
MOVING = 52
# Noisy tokens have no stages, but normal numbers, also of a bridge to a save inside a step.
NOISY = 14
# Needs of fewer bytes are not compared with the limits: to read these takes 0.3 ms.
_LITTLE = 2.0**24


@cache
def cores() -> int:
    """Cores by affinity and by the quotas of control groups, whichever is less; at least 1."""
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    shares = [_share(text) for text in _group_files("", "cpu.max")]
    periods = list(_group_files("cpu", "cpu.cfs_period_us"))
    quotas = list(_group_files("cpu", "cpu.cfs_quota_us"))
    shares += [_share(f"{a} {b}") for a, b in zip(quotas, periods, strict=False)]
    return max(1, math.ceil(min([float(count), *shares])))


def available_memory() -> float:
    """Bytes that this process may fill: the least of all limits, or infinity.

    `ulimit -v` counts address space, so space that is reserved and not filled is subtracted.
    """
    limits = [math.inf]
    with suppress(AttributeError, OSError, ValueError):
        limits.append(float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")))
    files = [*_group_files("", "memory.max"), *_group_files("memory", "memory.limit_in_bytes")]
    limits += [float(text) for text in files if text.isdecimal()]
    with suppress(ImportError, OSError, ValueError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            limits.append(max(limit - _reserved(), 0.0))
    return min(limits)


def check_memory(need: float, what: str, remedy: str, available: float | None = None) -> None:
    """Refuse a need of more bytes than `available`.

    By default that is `available_memory()`, for needs of 16 MiB and more.
    """
    if available is None and need < _LITTLE:
        return
    available = available_memory() if available is None else available
    if need > available:
        raise ValueError(
            f"{what} would take about {need / 2**30:.3g} GiB of memory; this process may use "
            f"{available / 2**30:.3g} GiB. {remedy}, or a machine with more."
        )


def check_tokens(count: int, numbers: int, noisy: bool) -> None:
    """Refuse tokens of `numbers` coordinates each if there is no memory to move them."""
    need = (NOISY if noisy else MOVING) * 8.0 * count * numbers
    check_memory(need, f"{count} tokens of {numbers} numbers", "Take fewer tokens")


def _reserved() -> float:
    """Address space of this process that is not filled."""
    with suppress(OSError, ValueError):
        size, resident = (int(number) for number in _SIZES.read_text().split()[:2])
        return float((size - resident) * os.sysconf("SC_PAGE_SIZE"))
    return 0.0


def _share(text: str) -> float:
    """Cores of a quota and its period, "200000 100000"; infinity for a quota "max" or -1."""
    quota, _, period = text.partition(" ")
    if quota.isdecimal() and period.isdecimal() and int(quota) and int(period):
        return int(quota) / int(period)
    return math.inf


def _group_files(controller: str, name: str) -> Iterator[str]:
    """Texts of a file in the control group of this process and in all groups above it."""
    with suppress(OSError, ValueError):
        for line in _GROUPS.read_text().splitlines():
            _, controllers, group = line.split(":", 2)
            if controller not in controllers.split(","):
                continue
            folder = _MOUNT / controller
            for parent in [Path(group), *Path(group).parents]:
                with suppress(OSError):
                    yield (folder / str(parent).lstrip("/") / name).read_text().strip()
