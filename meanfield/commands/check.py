"""`meanfield check`: dry run: what would be computed, estimated memory and time."""

from __future__ import annotations

import argparse
import time as clock

from meanfield.commands.arguments import add_threads
from meanfield.commands.run import add_set
from meanfield.commands.tables import facts
from meanfield.config import Config, load_config
from meanfield.integrators import runge_kutta
from meanfield.measures import Density
from meanfield.representations import Representation, represent
from meanfield.theory.stability import dominant_degree, growth_rate_max

# A step of DOP853 holds 16 stages, and as many arrays again come and go.
_ARRAYS = 24
_TRIAL_SECONDS = 0.5


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    command.add_argument("config", metavar="CONFIG.toml")
    add_set(command)
    add_threads(command)


def execute(options: argparse.Namespace) -> int:
    """Print what a run would do."""
    config = load_config(options.config, options.set)
    problem = config.problem
    representation = represent(problem, config.options)
    seconds, evolved = _trial(representation, config)
    end = config.times[-1]
    rate = growth_rate_max(problem)
    print(
        facts(
            [
                ("run file", f"{config.source}: valid"),
                ("problem", repr(problem)),
                ("representation", f"{representation.name}, {_size(config, representation)}"),
                ("dominant degree", dominant_degree(problem)),
                ("end", f"t = {end:.6g} scaled ({end * rate:.3g} growth times)"),
                ("saves", len(config.times)),
                ("output", f"{config.output.path} (state: {config.output.state})"),
                ("memory", f"about {_memory(representation) / 2**20:.0f} MiB"),
                (
                    "time",
                    f"about {seconds * end / evolved:.1f} s at the first steps' pace; "
                    "more where the measure steepens",
                ),
            ]
        )
    )
    return 0


def _size(config: Config, representation: Representation) -> str:
    measure = representation.measure(representation.state)
    if isinstance(measure, Density):
        return f"degree {measure.max_degree} growing to {config.options.max_degree} as needed"
    return f"{len(measure.points)} tokens"


def _memory(representation: Representation) -> float:
    return 100 * 2**20 + _ARRAYS * representation.state.nbytes


def _trial(representation: Representation, config: Config) -> tuple[float, float]:
    """Wall time of a few steps, and the time that they evolved."""
    stepper = runge_kutta(
        representation.rhs, 0.0, representation.state, tolerance=config.options.tolerance
    )
    began = clock.perf_counter()
    while True:
        stepper.step(representation.largest_step(stepper.state))
        spent = clock.perf_counter() - began
        if spent > _TRIAL_SECONDS or stepper.time > 0.1 * config.times[-1]:
            return spent, stepper.time
