"""Memory that a run will take: estimated before it starts."""

from __future__ import annotations

import os

from meanfield.config import Config, ConfigError
from meanfield.measures import Density, Measure
from meanfield.outputs.recorder import PENDING_BYTES

_BASE = 250 * 2**20
_ARRAYS = 24


def estimated_memory(config: Config) -> float:
    return 0.0


def check_memory(config: Config) -> None:
    pass
