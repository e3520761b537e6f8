"""Memory that a run will take, known before it starts."""

from __future__ import annotations

import os

from meanfield.config import Config, ConfigError
from meanfield.measures import Measure
from meanfield.outputs.recorder import PENDING_BYTES

# Measured peaks of whole runs (Linux, numba's compiler included): 205 to 275 MiB for small states;
# beyond that 37 to 46 arrays of the size of the state for 1e6 and 4e6 tokens, of which DOP853 holds
# 19, and for a density on the sphere 110 (USA) to 130 (SA) of degree 256 to 1,023: nodal values.
_BASE = 220 * 2**20
_ARRAYS = 45
_SPHERE_DENSITY_ARRAYS = 130


def estimated_memory(config: Config) -> float:
    """Peak memory of a run in bytes; of a density at its largest degree, of most nodes."""
    tokens = particle_count(config)
    space = config.problem.space
    if tokens is None and config.options.name == "characteristics":
        # Positions and the logarithm of their density.
        state, arrays = config.options.max_nodes * (_point_bytes(config) + 8), _ARRAYS
    elif tokens is None:
        degree = config.options.max_degree or space.default_max_degree
        state = space.resize(space.from_modes([]), degree).nbytes
        arrays = _ARRAYS if space.dimension == 1 else _SPHERE_DENSITY_ARRAYS
    else:
        state, arrays = tokens * _point_bytes(config), _ARRAYS
    waiting = min(len(config.times) * state, PENDING_BYTES + state)
    return _BASE + arrays * state + (waiting if config.output.state == "all" else 0)


def particle_count(config: Config) -> int | None:
    """Number of particles of a run, None for a density."""
    measure = config.problem.initial_measure()
    if isinstance(measure, Measure):
        return len(measure.points)
    return config.options.tokens if config.options.name == "particles" else None


def check_memory(config: Config) -> None:
    """Refuse a particle system that this machine cannot hold.

    Raises
    ------
    ConfigError
        Before the system starts to shuffle memory and ends us, or another process.
    """
    tokens = particle_count(config)
    if tokens is not None:
        _refuse(f"{config.source.name}: [representation] {tokens}", estimated_memory(config))


def check_study_memory(config: Config, section: str, tokens: int) -> None:
    """Refuse a study whose largest particle system this machine cannot hold.

    Raises
    ------
    ConfigError
        As `check_memory`.
    """
    _refuse(
        f"{config.source.name}: [{section}] {tokens}",
        _BASE + _ARRAYS * float(_point_bytes(config)) * tokens,
    )


def _point_bytes(config: Config) -> int:
    return 24 if config.problem.space.point_axes else 8


def _refuse(what: str, needed: float) -> None:
    available = _physical_memory()
    if available is not None and needed > available:
        raise ConfigError(
            f"{what} tokens need about {needed / 2**30:.3g} GiB of memory; this machine has "
            f"{available / 2**30:.3g} GiB."
        )


def _physical_memory() -> float | None:
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return None  # not told on this system
