"""What share of a run goes into its provenance: facts, the clock of phases, and the hash?

Times the three where they happen, inside whole runs with their files, since one per cent of such a
run is less than what two of them differ by. The clock is counted by its turns, each as long as in
a loop of its own. The last row is the worst case known: large moments of few tokens, saved more
often than steps are taken. Run: python tests/benchmarks/provenance_cost.py
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import meanfield.execute
from meanfield.config import load_config
from meanfield.execute import execute
from meanfield.outputs import recorder
from meanfield.outputs.wall_time import WallTime

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
WIDE = """\
problem = { manifold = "sphere", beta = 300.0 }
representation = { name = "particles", tokens = 100, tolerance = 1e-4 }
time = { end = 1.0, save = 101 }
output = { observables = ["order_parameter"] }
"""

spent = {"facts": 0.0, "clock": 0.0, "hash": 0.0}
turns = [0]


def timed(part: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, whose time counts for a part."""

    def counted(*arguments: Any) -> Any:
        began = time.perf_counter()
        try:
            return function(*arguments)
        finally:
            spent[part] += time.perf_counter() - began

    return counted


def count_turns(real: Callable[..., Any]) -> Callable[..., Any]:
    """The same method, which counts how often it is called."""

    def counted(*arguments: Any) -> Any:
        turns[0] += 1
        return real(*arguments)

    return counted


def seconds_a_turn() -> float:
    """Time of half a `with` block that counts for a phase."""
    watch, count = WallTime(), 20_000
    began = time.perf_counter()
    for _ in range(count):
        with watch.during("writing"):
            pass
    return (time.perf_counter() - began) / (2 * count)


def shares(path: Path, folder: str) -> tuple[float, dict[str, float]]:
    """Wall time of a run file, and the share of each part in per cent."""
    spent.update(dict.fromkeys(spent, 0.0))
    turns[0] = 0
    began = time.perf_counter()
    config = load_config(path, output=Path(folder) / "x.h5")
    for _ in execute(config, overwrite=True):
        pass
    whole = time.perf_counter() - began
    spent["clock"] = turns[0] * TURN
    return whole, {part: 100 * seconds / whole for part, seconds in spent.items()}


TURN = seconds_a_turn()


def main() -> None:
    """Print a table of medians."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="few rounds")
    rounds = 3 if options.parse_args().quick else 9
    meanfield.execute.provenance = timed("facts", meanfield.execute.provenance)
    recorder.result_hash = timed("hash", recorder.result_hash)
    WallTime._turn_to = count_turns(WallTime._turn_to)  # type: ignore[method-assign]
    print(f"{'run':20} {'seconds':>8} {'facts %':>8} {'clock %':>8} {'hash %':>8} {'all %':>8}")
    with tempfile.TemporaryDirectory() as folder:
        wide = Path(folder) / "wide.toml"
        wide.write_text(WIDE)
        named = [EXPERIMENTS / n / "run.toml" for n in ("circle_clusters", "published_notebook")]
        for path in [*named, wide]:
            shares(path, folder)
            found = [shares(path, folder) for _ in range(rounds)]
            parts = [statistics.median(part[name] for _, part in found) for name in spent]
            name = path.stem if path == wide else path.parent.name
            cells = "".join(f" {value:8.3f}" for value in [*parts, sum(parts)])
            print(f"{name:20} {statistics.median(whole for whole, _ in found):8.3f}{cells}")


if __name__ == "__main__":
    main()
