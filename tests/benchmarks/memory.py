"""Does a run take the memory that was estimated before it started?

Each row is a command in a process of its own. The peak is the kernel's (ru_maxrss of the child,
or the sum of the peaks of all processes of a study with workers); the estimate is what
`meanfield check` prints and what a run is refused by. A ratio below 1 is a run that may be killed,
far above 1 one that is refused without need. Rows marked * are the base: what libraries take.
Run: python tests/benchmarks/memory.py [--only WORD] [--quick]
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

MIB = 2**20
CIRCLE = 'manifold = "circle"'
SPHERE = 'manifold = "sphere"'
SA = "normalized = true"


def run_file(
    problem: str, initial: str, representation: str, end: float, save: str = "3", extra: str = ""
) -> str:
    """Text of a run file; noisy tokens have a step."""
    step = ", step = 0.01" if "particles" in representation and "diffusivity" in problem else ""
    kernel = "" if "kernel" in problem else ", beta = 9.0" if "beta" not in problem else ""
    flow = "" if "normaliz" in problem else ', normalization = "none"'
    return (
        f"problem = {{ {problem}{kernel}{flow} }}\ninitial = {{ {initial} }}\n"
        f"representation = {{ {representation} }}\n"
        f"time = {{ end = {end}, save = {save}{step} }}\n{extra}"
    )


def tokens(space: str, count: float, more: str = "", extra: str = "", **time: str) -> str:
    """Tokens drawn from uniform; some steps."""
    options = f'name = "particles", tokens = {count:.0f}'
    end = 0.03 if "diffusivity" in more else 3.0
    problem = ", ".join(part for part in (space, more) if part)
    return run_file(problem, 'name = "uniform"', options, end, extra=extra, **time)


def density(
    space: str, degree: int, more: str = "", extra: str = "", widest: int = 0, **time: str
) -> str:
    """A density whose grid has a degree from the start: twice that of its waves."""
    mode = f"[{degree // 2}, 0.01, 0.0]" if space == CIRCLE else f"[{degree // 2}, 0, 0.01]"
    initial = f'name = "perturbed_uniform", modes = [[1, 0.01, 0.0], {mode}]'
    if space == SPHERE:
        initial = initial.replace("[1, 0.01, 0.0]", "[1, 0, 0.01]")
    options = f'name = "density", max_degree = {widest or degree}'
    problem = ", ".join(part for part in (space, more) if part)
    end = float(time.pop("end", "0.01"))
    return run_file(problem, initial, options, end, extra=extra, **time)


def lines(space: str, nodes: int, more: str = "", extra: str = "") -> str:
    """Characteristics that begin with about this many nodes, and may have more."""
    problem = ", ".join(part for part in (space, more) if part)
    # Waves this short need that many cells.
    degree = nodes // 20 if space == CIRCLE else int((nodes / 150) ** 0.5)
    mode = f"[{degree}, 0.2, 0.0]" if space == CIRCLE else f"[{degree}, 0, 0.05]"
    options = 'name = "characteristics", max_nodes = 1000000'
    initial = f'name = "perturbed_uniform", modes = [{mode}]'
    return run_file(problem, initial, options, 0.5, extra=extra)


ALL = 'output = { state = "all", observables = ["order_parameter", "energy", "clusters", %s] }\n'
EVERY = '"resolution", "entropy", "free_energy"'
WAVE = {CIRCLE: "[3, 0.0, 0.2]", SPHERE: "[3, 0, 0.2]"}
# Longer rows are ended: what they took until then counts.
SECONDS = 120.0


def study(space: str, section: str) -> str:
    initial = f'name = "perturbed_uniform", modes = [{WAVE[space]}]'
    return run_file(space, initial, "tolerance = 1e-6", 0.5, extra=section + "\n")


def cases() -> Iterator[tuple[str, str, list[str]]]:
    run = ["run"]
    for space, label in ((CIRCLE, "circle"), (SPHERE, "sphere")):
        yield f"{label} tokens 1e2 USA *", tokens(space, 1e2), run
        for more, flow in (("", "USA"), (SA, "SA"), ("diffusivity = 0.01", "noise")):
            for count in (1e5, 1e6, 4e6):
                yield f"{label} tokens {count:.0e} {flow}", tokens(space, count, more), run
        yield (
            f"{label} tokens 1e6 saved 20",
            tokens(space, 1e6, save="20", extra=ALL % '"resolution"'),
            run,
        )
        yield (
            f"{label} tokens 1e6 noise saved 20",
            tokens(space, 1e6, "diffusivity = 0.01", save="20", extra=ALL % '"resolution"'),
            run,
        )
        degrees = (64, 4096, 32768, 131072) if space == CIRCLE else (64, 256, 512, 1023)
        for more, flow in (
            ("", "USA"),
            (SA, "SA"),
            ("diffusivity = 0.01", "USA noise"),
            (SA + ", diffusivity = 0.01", "SA noise"),
        ):
            for degree in degrees:
                yield f"{label} density {degree} {flow}", density(space, degree, more), run
        yield (
            f"{label} density all saved",
            density(space, degrees[2], end="0.05", save="30", extra=ALL % EVERY),
            run,
        )
        for more, flow in (("", "USA"), (SA, "SA")):
            for nodes in (10_000, 300_000) if space == CIRCLE else (10_000, 300_000):
                yield f"{label} characteristics {nodes} {flow}", lines(space, nodes, more), run
    for space, label in ((CIRCLE, "circle"), (SPHERE, "sphere")):
        for count in (1e3, 1e6):
            for workers in (1, 2, 4) if count > 1e5 else (1, 2):
                section = f"ensemble = {{ tokens = [{count:.0f}], runs = 4, times = [0.05] }}"
                command = ["ensemble", "--workers", f"{workers}"]
                yield f"{label} ensemble {count:.0e} x {workers}", study(space, section), command
        carried = 'times = [0.05], representation = "density"'
        section = f"ensemble = {{ tokens = [1000000], runs = 4, {carried} }}"
        yield f"{label} ensemble density x 1", study(space, section), ["ensemble", "--workers", "1"]
        for count, workers in ((1e3, 1), (1e5, 1), (1e5, 2)) + (
            ((1e6, 1),) if space == CIRCLE else ()
        ):
            section = f"compare = {{ tokens = [{count:.0f}], runs = 2 }}"
            command = ["compare", "--workers", f"{workers}"]
            yield f"{label} compare {count:.0e} x {workers}", study(space, section), command
    # Clusters are looked for on a grid as fine as beta asks for, whatever the degree.
    for space, beta, degree in (
        (SPHERE, "100.0", 256),
        (SPHERE, "400.0", 512),
        (SPHERE, "1500.0", 1023),
        (CIRCLE, "1e7", 65536),
        (CIRCLE, "1e8", 131072),
    ):
        label = "circle" if space == CIRCLE else "sphere"
        for wave in (2, degree):
            text = density(space, wave, f"beta = {beta}", widest=degree)
            yield f"{label} density {degree if wave > 2 else 64} beta {float(beta):g}", text, run
    yield (
        "circle auto",
        run_file(
            CIRCLE, 'name = "perturbed_uniform", modes = [[1, 0.1, 0.0]]', 'name = "auto"', 60.0
        ),
        run,
    )


def peak(command: list[str], folder: str, limit: float = SECONDS) -> tuple[float, int]:
    """Sum of the largest resident sizes of a command and its children in bytes, and its status."""
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "meanfield", *command],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=open(Path(folder) / "errors", "w"),  # noqa: SIM115
    )
    children: dict[int, int] = {}
    while True:
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        if ended:
            process.returncode = os.waitstatus_to_exitcode(status)
            return 1024.0 * (usage.ru_maxrss + sum(children.values())), process.returncode
        for child in _children(process.pid):
            children[child] = max(children.get(child, 0), _high_water(child))
        if time.monotonic() > began + limit:
            process.kill()
        time.sleep(0.02)


def _children(process: int) -> list[int]:
    try:
        return [
            int(n) for n in Path(f"/proc/{process}/task/{process}/children").read_text().split()
        ]
    except OSError:
        return []


def _high_water(process: int) -> int:
    try:
        match = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    except OSError:
        return 0
    return int(match[1]) if match else 0


def estimate(command: list[str], path: Path) -> float:
    from meanfield.commands.memory import starting_need, study_need
    from meanfield.runfile import load_config

    config = load_config(path)
    if command[0] == "run":
        return starting_need(config).size
    section = config.ensemble if command[0] == "ensemble" else config.compare
    return study_need(config, command[0], max(section.tokens), int(command[2])).size


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="smallest rows only")
    options.add_argument("--only", default="", metavar="WORD", help="rows whose name has it")
    chosen = options.parse_args()
    print(f"{'run':36} {'estimate':>9} {'peak':>9} {'ratio':>6}   MiB", flush=True)
    for name, text, command in cases():
        if not re.search(chosen.only, name) or chosen.quick and not name.endswith("*"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run.toml"
            path.write_text(text)
            try:
                need = estimate(command, path)
            except ValueError as error:
                print(f"{name:36} {error}", flush=True)
                continue
            result, status = peak([*command, "run.toml", "--quiet"], folder)
            failed = ""
            if status == -9:
                failed = f"ended after {SECONDS:.0f} s"
            elif status:
                failed = f"status {status}: " + (Path(folder) / "errors").read_text()[-150:].strip()
        row = f"{name:36} {need / MIB:9.0f} {result / MIB:9.0f} {need / result:6.2f}"
        print(f"{row}   {failed}".rstrip(), flush=True)


if __name__ == "__main__":
    main()
