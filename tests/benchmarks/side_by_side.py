"""Times of calls, measured side by side: what the scripts of this folder share.

Rounds are interleaved, so whatever else the machine does strikes all calls alike. A ratio is the
median of the ratios within the rounds; its quartiles tell how far it can be trusted. Processor time
is that of all threads of the process: it says what a call costs, wall time how long one waits.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType

import numpy as np
from threadpoolctl import threadpool_limits

from meanfield.engines.threads import set_threads

Call = Callable[[], object]


@dataclass(frozen=True)
class Times:
    """Seconds of one call, an entry a round: of the processor, and on the wall."""

    cpu: np.ndarray
    wall: np.ndarray

    def scaled(self, factor: float) -> Times:
        return Times(factor * self.cpu, factor * self.wall)

    @property
    def seconds(self) -> float:
        return float(np.median(self.cpu))

    def over(self, other: Times) -> Ratio:
        return Ratio.of(self.cpu / other.cpu)

    def wall_over(self, other: Times) -> Ratio:
        return Ratio.of(self.wall / other.wall)


@dataclass(frozen=True)
class Ratio:
    median: float
    low: float
    high: float

    @classmethod
    def of(cls, ratios: np.ndarray) -> Ratio:
        low, median, high = np.quantile(ratios, [0.25, 0.5, 0.75])
        return cls(float(median), float(low), float(high))

    def __format__(self, spec: str) -> str:
        return format(f"{self.median:.3g} ({self.low:.3g}-{self.high:.3g})", spec)


def side_by_side(
    calls: Mapping[str, Call], rounds: int, *, least: float = 0.02, warm_up: bool = True
) -> dict[str, Times]:
    """Times of calls in interleaved rounds, after one call each to warm up.

    In each round a call is repeated until it has taken `least` processor seconds.
    """
    if warm_up:
        for call in calls.values():
            call()
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            spent[name].append(_seconds(call, least))
    return {name: Times(*np.transpose(result)) for name, result in spent.items()}


def _seconds(call: Call, least: float) -> tuple[float, float]:
    """Processor and wall time of one call; ever more of them between two looks at the clocks."""
    cpu, wall = time.process_time(), time.perf_counter()
    count, more = 0, 1
    while True:
        for _ in range(more):
            call()
        count, more = count + more, 2 * more
        took = time.process_time() - cpu
        if took >= least:
            return took / count, (time.perf_counter() - wall) / count


def options(question: str | None, *, threads: bool = False) -> argparse.ArgumentParser:
    """Parser with --quick, and --threads where a call can use several: one unless asked."""
    parser = argparse.ArgumentParser(
        description=question, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few rows, few rounds")
    if threads:
        parser.add_argument("--threads", type=int, default=1, help="for everybody (default 1)")
    return parser


def use_threads(count: int) -> None:
    """Give ourselves, and BLAS, this many threads; other libraries are told in their calls."""
    set_threads(count)
    threadpool_limits(count)


def optional(name: str) -> ModuleType | None:
    """Load a module that not every installation has, or say in one line that it is missing."""
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"left out: {name} is not installed (pip install '.[benchmark]')")
        return None
