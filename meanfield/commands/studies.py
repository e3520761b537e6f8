"""What commands of many runs have in common: output, resuming, progress."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from meanfield.commands.progress import shown
from meanfield.commands.streams import say
from meanfield.config import Config, ConfigError
from meanfield.config.output import check_path
from meanfield.outputs.locks import check_welcome, writer_lock
from meanfield.outputs.output_file import OutputFile
from meanfield.outputs.provenance import provenance

Task = TypeVar("Task")


def study_output(options: argparse.Namespace, config: Config, name: str) -> Path:
    """Where the study goes; nothing there is replaced unasked, and figures can be drawn.

    Raises
    ------
    OutputError
        If there is something and it is neither to be replaced nor to be continued.
    ConfigError
        If nothing can be written there, or the study reads it.
    ValueError
        If the figure cannot be written where it is to go.
    """
    path = Path(options.output or config.source.with_name(f"{config.source.stem}-{name}.h5"))
    check_path(f"-o {path}", path, config.inputs)
    check_welcome(path, resume=options.resume, overwrite=options.overwrite)
    if options.plot is not None:
        from meanfield.outputs.plots.figures import check_figure

        check_figure(options.plot)
    return path


@contextmanager
def study_lock(path: Path, options: argparse.Namespace) -> Iterator[OutputFile]:
    """Hold the right to write a study, which nobody has made meanwhile unless that is welcome.

    Yields
    ------
    OutputFile
        The study's file as it was found.

    Raises
    ------
    OutputError
        If another process writes it, or it is there and is neither to be replaced nor continued.
    """
    with writer_lock(path) as output:
        check_welcome(path, resume=options.resume, overwrite=options.overwrite)
        yield output


def study_attributes(config: Config, stored: Mapping[str, Any] | None) -> dict[str, Any]:
    """Attributes of the output beyond the facts of the problem; `stored` are those it has."""
    from meanfield.version import __version__

    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {
        "meanfield_version": __version__,
        "config": config.text,
        "title": config.title,
        "created": now if stored is None else stored["created"],
        **provenance(stored),
    }


def check_adds(
    config: Config,
    section: str,
    path: Path,
    tokens: tuple[Sequence[int], Sequence[int]],
    runs: tuple[str, int, int],
) -> None:
    """Refuse to resume a study that would shrink.

    Parameters
    ----------
    config, section : Config, str
        The run file, and the section that it concerns.
    path : Path
        The output.
    tokens : (sequence of int, sequence of int)
        Sizes that the output holds, and sizes asked for.
    runs : (str, int, int)
        The key that says how many runs of each size, how many it holds, and how many are asked for.

    Raises
    ------
    ConfigError
        If something that the output holds is not asked for.
    """
    lost = sorted(set(tokens[0]) - set(tokens[1]))
    key, held, asked = runs
    if lost or held > asked:
        what = f"tokens lacks {lost[0]}, which" if lost else f"{key} = {asked} is fewer than"
        raise ConfigError(
            f"{config.source.name}: [{section}] {what} {path} holds: --resume may only add. "
            "Use --overwrite to start again."
        )


def run_through(
    stream: Generator[Task, None, None],
    config: Config,
    path: Path,
    tasks: Sequence[Task],
    missing: Sequence[Task],
    work: Callable[[Task], float],
    note: Callable[[Task], str],
    *,
    quiet: bool,
) -> None:
    """Run the missing ones of the tasks, show how far that is, and say where the results are."""
    try:
        with closing(stream):
            total = sum(map(work, tasks))
            for _ in shown(
                stream,
                total,
                config.title or config.source.stem,
                quiet=quiet,
                note=note,
                weight=work,
                before=lambda task: total - sum(map(work, missing)),
            ):
                pass
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"interrupted; {path} keeps what was finished, --resume goes on"
        ) from None
    if not quiet:
        say(f"{path} holds the results.")
