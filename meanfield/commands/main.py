"""`meanfield`: choose the command, and turn every failure into one line and a status.

Exit status: 0 done; 1 the run failed; 2 the input is wrong; 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

from meanfield import __version__
from meanfield.commands import check, compare, info, init, plot, run, stability
from meanfield.simulate import SimulationError

COMMANDS = {
    "run": run,
    "check": check,
    "init": init,
    "stability": stability,
    "compare": compare,
    "plot": plot,
    "info": info,
}


class _Parser(argparse.ArgumentParser):
    """Parser whose complaint is one line."""

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with status 2."""
        self.exit(2, f"{self.prog}: {message}. See {self.prog} --help.\n")


def parser() -> argparse.ArgumentParser:
    """Parser of the whole command line."""
    top = _Parser(prog="meanfield", description="Mean-field limit of self-attention.")
    top.add_argument("--version", action="version", version=f"meanfield {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, module in COMMANDS.items():
        summary = (module.__doc__ or "").splitlines()[0].split(": ", 1)[1]
        command = commands.add_parser(name, help=summary, description=summary)
        module.add_arguments(command)
        command.set_defaults(execute=module.execute)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of the command line by default.

    Returns
    -------
    int
        Exit status.
    """
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        options = parser().parse_args(arguments)
        if getattr(options, "threads", None) is not None:
            from meanfield.threads import set_threads

            set_threads(options.threads)
        status = int(options.execute(options) or 0)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # Whoever read our output has left: end quietly, and let Python's own flush find
        # something that takes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except SimulationError as error:
        return _complain(str(error), 1)
    except ValueError as error:
        return _complain(str(error), 2)
    except KeyboardInterrupt:
        return _complain("interrupted", 130)
    except MemoryError:
        return _complain("not enough memory for this run", 1)
    except OSError as error:
        return _complain(f"{error.filename or 'output'}: {error.strerror or error}.", 1)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _complain(message: str, status: int) -> int:
    print(f"meanfield: {' '.join(message.split())}", file=sys.stderr)
    return status
