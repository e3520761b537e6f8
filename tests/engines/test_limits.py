"""Cores and memory that this process may use."""

import math
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.engines import limits


@pytest.fixture(autouse=True)
def groups(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A machine with 8 cores and no limits, whose control groups are in a folder."""
    monkeypatch.setattr(limits, "_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(limits, "_MOUNT", tmp_path / "mount")
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    limits.cores.cache_clear()
    yield tmp_path
    limits.cores.cache_clear()


def describe(folder: Path, groups: str, files: dict[str, str]) -> None:
    (folder / "groups").write_text(groups)
    for name, text in files.items():
        path = folder / "mount" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")


def physical() -> float:
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


@pytest.mark.parametrize(
    ("limit", "groups_", "files", "expected"),
    [
        (limits.cores, "0::/\n", {}, 8),
        (limits.cores, "0::/job\n", {"job/cpu.max": "max 100000"}, 8),
        (limits.cores, "0::/job\n", {"job/cpu.max": "250000 100000"}, 3),
        (limits.cores, "0::/job/step\n",
         {"job/cpu.max": "200000 100000", "job/step/cpu.max": "max 1000"}, 2),
        (limits.cores, "0::/job\n", {"job/cpu.max": "1000 100000"}, 1),
        # In a container its group is the root of the mount, whatever the host calls it.
        (limits.cores, "0::/host/name\n", {"cpu.max": "400000 100000"}, 4),
        (limits.cores, "1:cpu,cpuacct:/job\n",
         {"cpu/job/cpu.cfs_quota_us": "300000", "cpu/job/cpu.cfs_period_us": "100000"}, 3),
        (limits.cores, "1:cpu:/\n",
         {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, 8),
        (limits.cores, "nonsense\n", {"cpu.max": "100000 100000"}, 8),
        (limits.cores, "0::/job\n", {"job/cpu.max": "garbage"}, 8),
        (limits.available_memory, "0::/\n", {}, physical()),
        (limits.available_memory, "0::/job\n", {"job/memory.max": "max"}, physical()),
        (limits.available_memory, "0::/job/step\n",
         {"job/memory.max": "1048576", "job/step/memory.max": "9999999"}, 2**20),
        (limits.available_memory, "5:memory:/job\n",
         {"memory/job/memory.limit_in_bytes": "2097152"}, 2**21),
        # Version 1 names no limit by a number that no machine has.
        (limits.available_memory, "5:memory:/\n",
         {"memory/memory.limit_in_bytes": "9223372036854771712"}, physical()),
    ],
)  # fmt: skip
def test_limits_are_those_of_the_group(groups, limit, groups_, files, expected):
    """In a container there would be as many threads as the host has cores, or a run be killed."""
    describe(groups, groups_, files)
    assert limit() == expected


def test_cores_without_affinity_are_the_machine_s(monkeypatch):
    """Systems other than Linux have no sched_getaffinity."""
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 9)
    assert limits.cores() == 9


def test_memory_is_within_the_limit_of_the_shell(monkeypatch):
    """`ulimit -v` would be met in the middle of a run."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_AS)
    monkeypatch.setattr(resource, "getrlimit", lambda which: (2**34, before[1]))
    assert 0.5 * 2**34 < limits.available_memory() < 2**34
    monkeypatch.setattr(limits, "_SIZES", Path("/nothing"))
    assert limits.available_memory() == min(2**34, physical())


def test_unknown_memory_is_infinite(monkeypatch):
    """On an unknown system every run would be refused."""
    monkeypatch.setattr(os, "sysconf", lambda name: int("unknown"))
    assert limits.available_memory() == math.inf


def test_tokens_without_room_are_refused_before_they_are_drawn(monkeypatch):
    """A machine would fill its memory first, and end some process."""
    monkeypatch.setattr(limits, "available_memory", lambda: 2.0**30)
    monkeypatch.setattr(np.random, "default_rng", lambda *_: pytest.fail("tokens are drawn"))
    line = "400000 tokens of 1000 numbers would take about %s GiB of memory; .* 1 GiB. Take fewer"
    sphere, flat, eye = mf.Sphere(1000), mf.Euclidean(100_000), mf.from_points(np.eye(1, 100_000))
    for space, law, options, message in (
        (sphere, [mf.normal_tokens(400_000, seed=0)], {}, line % 41.7),
        (sphere, [], {"representation": "particles", "tokens": 400_000}, line % 155),
        (flat, [eye], {}, r"matrices of R\^100000 would take about 224 GiB"),
    ):
        problem = mf.Problem(space, mf.exponential(1.0), mf.USA, *law)
        refused(message, mf.simulate, problem, until=1.0, **options)


def test_little_memory_is_not_compared_with_the_limits(monkeypatch):
    """Reading the limits takes longer than what needs little; what needs much is compared."""
    monkeypatch.setattr(limits, "available_memory", lambda: 2.0**20)
    limits.check_memory(2.0**24 - 1, "it", "Take less")
    refused("it would take about 0.0156 GiB", limits.check_memory, 2.0**24, "it", "Take less")
    refused("it would take about", limits.check_memory, 2.0**21, "it", "Take less", 2.0**20)
