"""Estimate of the memory of a run before it starts.

    need = libraries + arrays * (size of the state) + (states that wait to be written)

Counting clusters of a density, or drawing tokens, may need more than these arrays; the larger of
both counts. `tests/benchmarks/memory.py` measures the numbers of arrays: an estimate lies between
the peak and one and a half times the peak. A run that does not fit at its start is refused. Few
runs grow to their largest size, so one that only fits at its start gets a warning.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, replace

from meanfield.carriers import Representation, represent
from meanfield.carriers.automatic import hands_over, largest_degree
from meanfield.commands.progress import say
from meanfield.commands.studies import worker_count
from meanfield.engines import limits
from meanfield.engines.limits import MOVING, NOISY, available_memory
from meanfield.laws.sampling import drawing_bytes
from meanfield.measures import Density, Measure
from meanfield.observables.clusters import cluster_radius, grid_degree, grid_size
from meanfield.runfile import Config, ConfigError
from meanfield.runfile.keys import located
from meanfield.store.recorder import PENDING_BYTES

# Interpreter, libraries and compiled kernels: 190 to 300 MiB, up to 340 while kernels compile.
_BASE = 280 * 2**20
# An ensemble of densities only draws its tokens; the nodes that it moves are few.
_DRAWN = 10
# Copies of each number of a comparison: collected, in the study, written. Bytes of each task.
_RESULTS = 3
_SYSTEM_BYTES = 600
# A density has three nodes a degree, on the sphere three times as many values as coefficients.
_CIRCLE_DENSITY = 50
_SPHERE_DENSITY = 105
# While clusters of a density are counted, it keeps its stages. Each node of their grid takes 80
# bytes on the circle, 50 on the sphere, and more where freed memory is fragmented.
_OBSERVED = 40
_NODE_BYTES = {1: 90, 2: 75}


@dataclass(frozen=True)
class Need:
    """Memory of a run."""

    size: float  # bytes, at the peak
    what: str  # size of the run: "1000 tokens", "degree 512"
    remedy: str  # advice if that is too much


def largest_need(config: Config) -> Need:
    """Memory of a run at its largest size."""
    options, space = config.options, config.problem.manifold
    tokens = particle_count(config)
    if tokens is not None:
        return _need(config, "particles", tokens * _point_bytes(config), tokens)
    lines = _need(
        config,
        "characteristics",
        options.max_nodes * (_point_bytes(config) + 8),
        options.max_nodes,
    )
    if options.name == "characteristics":
        return lines
    degree = largest_degree(config.problem, options)
    nbytes = space.resize(space.from_modes([]), degree).nbytes
    if config.problem.has_labels:
        nbytes *= len(config.problem.labels(options.labels).values)
    wide = _need(config, "density", nbytes, degree)
    if not hands_over(config.problem, options):
        return wide
    return max(wide, lines, key=lambda need: need.size)


def starting_need(
    config: Config, carrier: Representation | None = None, *, observed: bool = True
) -> Need:
    """Memory of a run at its start, with its carrier if that exists already.

    Without `observed` no clusters are counted.
    """
    if particle_count(config) is not None:
        return largest_need(config)
    carrier = carrier or represent(config.problem, config.options)
    measure = carrier.measure(carrier.state)
    if isinstance(measure, Density):
        return _need(config, "density", carrier.state.nbytes, measure.max_degree, observed=observed)
    count = carrier.state.nbytes // (_point_bytes(config) + 8)
    return _need(config, carrier.name, carrier.state.nbytes, count, observed=observed)


def particle_count(config: Config) -> int | None:
    """Number of particles of a run, None for a density."""
    measure = config.problem.initial_measure()
    if isinstance(measure, Measure):
        return len(measure.points)
    return config.options.tokens if config.options.name == "particles" else None


def check_memory(config: Config) -> None:
    """Refuse a run that does not fit at its start; warn if it does not fit at its largest size."""
    available, largest = available_memory(), largest_need(config)
    if largest.size <= available:
        return
    where = f"{config.source}: [representation]"
    _refuse(where, starting_need(config), available)
    say(
        f"meanfield: {where} {largest.what} would take about {_gib(largest.size)} of memory, this "
        f"process may use {_gib(available)}: a run that grows as far would fail."
    )


def check_ensemble_memory(config: Config, options: argparse.Namespace) -> None:
    """Refuse an ensemble whose workers do not fit together, each with the most tokens.

    `options` has `workers` and `scheduler`; the machines of a Dask cluster are not checked.
    """
    _check_workers(config, "ensemble", config.ensemble.runs, options)


def check_comparison_memory(config: Config, options: argparse.Namespace) -> None:
    """Refuse a comparison whose density, or whose workers, do not fit."""
    if isinstance(config.problem.initial_measure(), Measure):
        return  # refused for another reason
    study, available = config.compare, available_memory()
    density = replace(config.options, name="density", tokens=None)
    with located(f"{config.source}:"):
        carrier = represent(config.problem, density)
    start = starting_need(config, carrier, observed=False)
    _refuse(f"{config.source}: [representation]", start, available)
    # Every worker has the densities of all times.
    shared = float(len(config.times) * carrier.state.nbytes)
    systems = len(study.tokens) * study.runs
    results = systems * (_SYSTEM_BYTES + _RESULTS * 16.0 * len(config.times))
    need = Need(results, f"results of {systems} systems", "Take fewer runs or times")
    _refuse(f"{config.source}: [compare]", need, available - _BASE)
    _check_workers(config, "compare", study.runs, options, shared, results)


def tell_study_memory(config: Config) -> None:
    """Warn if the studies of a run file do not fit on this machine."""
    options = argparse.Namespace(workers=None, scheduler=None)
    checks = {"compare": check_comparison_memory, "ensemble": check_ensemble_memory}
    for section, check in checks.items():
        if section in config.tables:
            try:
                check(config, options)
            except ConfigError as error:
                say(f"meanfield: {error}")


def study_need(
    config: Config,
    section: str,
    tokens: int,
    workers: int,
    shared: float = 0.0,
    results: float = 0.0,
) -> Need:
    """Memory of a study: `shared` in each process beside its tokens, `results` in this one."""
    arrays = NOISY if config.problem.flow.diffusivity else MOVING
    if section == "ensemble" and config.ensemble.representation == "density":
        arrays = _DRAWN
    each = (
        _BASE
        + shared
        + max(arrays * float(_point_bytes(config)) * tokens, _drawing(config, tokens))
    )
    if workers == 1:
        return Need(each + results, f"{tokens} tokens", "Take fewer tokens")
    what = f"{tokens} tokens in each of {workers} workers"
    return Need(_BASE + shared + results + workers * each, what, "Take fewer --workers or tokens")


def _check_workers(
    config: Config,
    section: str,
    runs: int,
    options: argparse.Namespace,
    shared: float = 0.0,
    results: float = 0.0,
) -> None:
    if options.scheduler is None:
        workers, tokens = worker_count(options, runs), max(getattr(config, section).tokens)
        need = study_need(config, section, tokens, workers, shared, results)
        _refuse(f"{config.source}: [{section}]", need, available_memory())


def _need(config: Config, name: str, state: float, count: int, *, observed: bool = True) -> Need:
    dimension = config.problem.manifold.dimension
    arrays, observation = float(MOVING), 0.0
    if name == "density":
        arrays = float(_CIRCLE_DENSITY if dimension == 1 else _SPHERE_DENSITY)
        if config.problem.manifold.has_rings:
            # Two tables of (3/2 degree)^2 numbers, and a coarser grid. A state: 16 bytes a degree.
            arrays += 4.0 * count
        what, remedy = f"degree {count}", "Lower max_degree"
        if observed:
            observation = _OBSERVED * state + _cluster_bytes(config, count)
    elif name == "characteristics":
        what, remedy = f"{count} nodes", "Raise tolerance"
    else:
        what, remedy = f"{count} tokens", "Take fewer tokens"
        arrays = NOISY if config.problem.flow.diffusivity else MOVING
        observation = _drawing(config, count)
    waiting = 0.0
    if config.output.state == "all":
        # Rows wait until they exceed 256 MiB and half of the file.
        whole = len(config.times) * state
        waiting = min(whole, max(PENDING_BYTES, whole / 3) + state)
    state_bytes = max(arrays * state, observation)
    if name == "density" and state_bytes > arrays * state:
        remedy = "Clusters are looked for on a fine grid: lower beta"
    if waiting > state_bytes:
        remedy += ' or take [output] state = "last"'
    return Need(_BASE + state_bytes + waiting, what, remedy)


def _drawing(config: Config, tokens: int) -> float:
    """Bytes while tokens are drawn, with the tokens; 0 where points are given."""
    measure = config.problem.initial_measure()
    if isinstance(measure, Measure):
        return 0.0
    return drawing_bytes(measure, tokens) + _point_bytes(config) * float(tokens)


def _cluster_bytes(config: Config, degree: int) -> float:
    """Bytes of the grid on which clusters of a density are counted, and of work on it."""
    dimension = config.problem.manifold.dimension
    radius = cluster_radius(config.problem.beta)
    if config.problem.manifold.has_rings:
        # 24 pi / radius cells of the polar angle.
        return 75.0 / radius * _NODE_BYTES[1]
    return float(
        _NODE_BYTES[dimension] * grid_size(dimension, grid_degree(dimension, degree, radius))
    )


def _point_bytes(config: Config) -> int:
    return 8 * math.prod(config.problem.manifold.point_shape)


def _refuse(where: str, need: Need, available: float) -> None:
    try:
        limits.check_memory(need.size, need.what, need.remedy, available)
    except ValueError as error:
        raise ConfigError(f"{where} {error}") from None


def _gib(size: float) -> str:
    return f"{size / 2**30:.3g} GiB"
