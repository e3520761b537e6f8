"""Entry points from Python: evolve a problem, or the problem of a run file, into a `Run`."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Literal

from meanfield.arguments import check_arguments, checked
from meanfield.arrays import FloatArray
from meanfield.carriers import Options
from meanfield.carriers.automatic import carried
from meanfield.carriers.idle import STATIONARY, check_options, is_stationary
from meanfield.carriers.options import MOST_NODES, FluctuationOptions
from meanfield.engines.threads import one_blas_thread
from meanfield.errors import SimulationError
from meanfield.files import OutputError
from meanfield.measures import Density, Measure
from meanfield.observables import OBSERVABLES, observables_beside, usual_observables
from meanfield.problem import Problem
from meanfield.progress import followed, wants_bar
from meanfield.runfile import ConfigError
from meanfield.runfile.written import written
from meanfield.runs import Run, assembled, stored_section
from meanfield.simulation import Evolution, Record, Stop, evolve, timing
from meanfield.snapshot import Snapshot
from meanfield.status import COMPLETED, cut_short, stopped
from meanfield.version import __version__

_log = logging.getLogger("meanfield")

# Options of the command, and the arguments of a call that do the same.
_ARGUMENTS = {
    "--resume": "resume=True",
    "--overwrite": "overwrite=True",
    "--allow-code": "allow_code=True",
    "--runs ": "runs=",
    "-o ": "output=",
    "--over ": "over: ",
}

Callback = Callable[[float, Density | Measure], object]
"""(time, measure) -> anything; called at every saved time, with the time in the run's unit."""


@checked
def simulate(
    problem: Problem,
    until: float | None = None,
    *,
    save: int | Sequence[float] | None = None,
    unit: Literal["scaled", "paper", "growth"] = "scaled",
    spacing: Literal["linear", "log"] = "linear",
    first: float | None = None,
    stop: Literal["one_cluster"] | Callable[[float, Density | Measure], bool] | None = None,
    representation: Literal[
        "auto", "density", "characteristics", "atoms", "labelled", "particles"
    ] = "auto",
    tolerance: float | None = None,
    max_degree: int | None = None,
    max_nodes: int = MOST_NODES,
    tokens: int | None = None,
    seed: int = 0,
    step: float | None = None,
    labels: int | None = None,
    perturb: float | None = None,
    observables: Iterable[Any] | Mapping[str, Any] | None = None,
    fluctuations: int | None = None,
    callback: Callback | None = None,
    progress: bool | None = None,
    output: str | os.PathLike[str] | None = None,
    state: Literal["all", "last", "none"] = "all",
    resume: bool = False,
    overwrite: bool = False,
) -> Run:
    """Evolve a problem and collect the run.

    Parameters
    ----------
    problem : Problem
        Problem to solve, with its initial law. On `Sphere(d)`, d > 3, a density is symmetric about
        the last axis and evolves on `Axial(d)`; "particles" are drawn on the sphere itself.
    until : float
        End time in `unit`. With layers: how many of them, by default all.
    save : int or sequence of float, optional
        Times to save, or how many, equally spaced from 0 to the end. Default: 61; with layers time
        0 and each layer.
    unit : str
        "scaled" (the kernel's largest value is 1), "paper" (the kernel is e^{beta <x, y>}) or
        "growth" (1 / largest growth rate of the uniform state).
    spacing : str
        "linear", or "log": `save` times from `first` to the end.
    first : float, optional
        First of logarithmically spaced times, in `unit`.
    stop : str or callable (time, measure) -> bool, optional
        Ends the run after the first saved time at which it holds: "one_cluster", or a function.
        `until` still bounds the run; where it is late, take spacing="log".
    representation : str
        "density": a series in Fourier modes or spherical harmonics up to `max_degree`.
        "characteristics": up to `max_nodes` nodes that the flow moves, through the collapse of a
        density. "particles": `tokens` points drawn with `seed` from an initial density, or the
        points of the law; with diffusivity they need a `step`. "atoms": few points, for any time.
        "labelled": densities of `labels` positions or frequencies, for masks and natural
        frequencies. "auto": a density, or the points of the law as particles; it hands over to
        characteristics when the spectrum is full, and to atoms once clusters have met.
    tolerance : float, optional
        Relative and absolute tolerance of time steps and representations; default: 1e-10, and 1e-4
        for characteristics on the sphere.
    max_degree : int, optional
        Largest degree of a density; default: 4096 on the circle, 512 on the sphere, 1024 on
        `Axial(d)`, or the kernel's degree if that is larger.
    max_nodes : int
        Largest number of nodes of characteristics.
    tokens : int, optional
        Number of particles to draw from an initial density.
    seed : int
        Seed of that draw and of the noise.
    step : float, optional
        Time step of noisy particles, in `unit`.
    labels : int, optional
        Number of stored labels, default: 64. The run takes more where the tolerance needs them.
    perturb : float, optional
        Size of a random disturbance of the start, drawn with `seed`, such as 1e-12. Without it the
        run keeps the symmetry of the start exactly.
    observables : sequence or mapping, optional
        Names to store: "energy", "order_parameter", "clusters", "peaks", "resolution", "entropy",
        "free_energy"; of tokens also "mean_cosine", "similarity", "effective_rank",
        "attention_entropy", "attended_tokens", "attended_share", "renyi_centres". Energy and
        clusters are always stored. Functions of your own are f(measure), (name, f),
        `observable(...)` or a mapping of names to f. They join the default names, unless the list
        contains names. Default: the first seven; for tokens on `Sphere(d)`, d > 3, and in R^d
        energy, clusters, order parameter and mean cosine.
    fluctuations : int, optional
        Degree up to which the run stores the fluctuations of moments for N tokens, at every saved
        time that resolves them; see the function `fluctuations`.
    callback : callable (time, measure), optional
        Called at every saved time, with the time in `unit`.
    progress : bool, optional
        Show a progress bar; by default in notebooks.
    output : path, optional
        File (.h5) to write during the run; it is complete at every moment, see `load`.
    state : str
        States that the file keeps: "all", "last" or "none".
    resume, overwrite : bool
        Continue an existing file, or replace it. A resumed file keeps its times: a later `until`
        adds times, an earlier one removes none.

    Returns
    -------
    Run

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type, is out of range, or cannot act on this run.
    SimulationError
        If the run cannot go on. `error.run` is the run so far. An interrupt
        (`sys.last_value.run` in a notebook) and an error of a callback carry it, too.

    Notes
    -----
    The logger "meanfield" reports hand-overs and merges (INFO), and runs in which nothing can
    happen (WARNING).

    Examples
    --------
    >>> import meanfield as mf
    >>> law = mf.perturbed_uniform([[3, 0.1, 0.0]])
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA, law)
    >>> run = mf.simulate(problem, until=0.05, unit="paper", save=2)
    >>> run.moments[-1, 3].real.round(9)
    np.float64(0.126185441)

    Run until one cluster is left, with log-spaced times and an own observable. The start above has
    a three-fold symmetry, so its three clusters stay for ever; this one has none:

    >>> law = mf.perturbed_uniform([[3, 0.1, 0.0], [1, 0.01, 0.5]])
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=2.0), mf.USA, law)
    >>> def c3(measure):
    ...     return abs(measure.moments(3)[3])
    >>> run = mf.simulate(problem, until=1e6, save=31, spacing="log", first=1.0,
    ...     stop="one_cluster", observables={"c3": c3})
    >>> run.observables["c3"][-1].round(3), run.observables["clusters/count"][-1]
    (np.float64(0.994), np.float64(1.0))
    """
    evolution, record, linearised = planned(**locals())
    return _run(
        evolution,
        record,
        linearised,
        written_to=output is not None,
        resume=resume,
        overwrite=overwrite,
        callback=callback,
        progress=progress,
    )


def planned(
    problem: Problem,
    until: float | None,
    *,
    save: int | Sequence[float] | None,
    unit: str,
    spacing: str,
    first: float | None,
    stop: Stop | None,
    step: float | None,
    representation: str,
    observables: Iterable[Any] | Mapping[str, Any] | None,
    fluctuations: int | None,
    output: str | os.PathLike[str] | None,
    state: str,
    **others: Any,
) -> tuple[Evolution, Record, FluctuationOptions | None]:
    """Evolution, record and fluctuation options for the arguments of `simulate`."""
    problem = carried(problem, representation)
    times, scaled_step = timing(
        problem, until, save, unit=unit, spacing=spacing, first=first, step=step
    )
    plain = {each.name: others[each.name] for each in fields(Options) if each.name in others}
    options = Options(representation, step=scaled_step, **plain)
    check_options(problem, replace(options, step=step))  # as the user typed it
    chosen = observables_beside(observables, usual_observables(problem.manifold))
    evolution = Evolution(problem, options, times, unit, stop, chosen)
    count = len(times) if save is None else save
    arguments = {
        "end": float(times[-1]) if until is None else until,
        "unit": unit,
        "save": count if isinstance(count, int) else [float(time) for time in count],
        "spacing": spacing,
        "first": first,
        "stop": stop if isinstance(stop, str) else None,
        "step": step,
    }
    ours = [each.name for each in chosen if each.name in OBSERVABLES]
    tables = written(problem, options, arguments) | {"output": {"observables": ours}}
    linearised = None if fluctuations is None else FluctuationOptions(fluctuations)
    if linearised is not None:
        from meanfield.finite.fluctuations import settings_of

        settings_of(problem, times, linearised, unit=unit)
        tables["fluctuations"] = {"degree": linearised.degree}
    record = Record(_path(output) or Path(), state, "simulate", tables)
    return evolution, record, linearised


@checked
def run(
    path: str | os.PathLike[str],
    *,
    problem: Mapping[str, Any] | None = None,
    initial: Mapping[str, Any] | None = None,
    representation: Mapping[str, Any] | None = None,
    time: Mapping[str, Any] | None = None,
    output: str | os.PathLike[str] | None = None,
    observables: Iterable[Any] | Mapping[str, Any] | None = None,
    callback: Callback | None = None,
    progress: bool | None = None,
    resume: bool = False,
    overwrite: bool = False,
    allow_code: bool = False,
) -> Run:
    r"""Evolve the problem of a run file; arguments replace its keys.

    Parameters
    ----------
    path : path
        TOML file, as for `meanfield run`.
    problem, initial, representation, time : mapping, optional
        Keys that replace the file's; an `initial` with a name replaces the whole law.
    output : path, optional
        File to write during the run; None writes no file, whatever [output] path says.
    observables : sequence or mapping, optional
        Names replace the file's; functions of your own are added, see `simulate`.
    callback, progress, resume, overwrite
        As for `simulate`.
    allow_code : bool
        Whether the file may name Python files outside its folder.

    Returns
    -------
    Run

    Raises
    ------
    ValueError
        If the file is wrong; the message names file, section, key and allowed values.
    SimulationError
        If the run cannot go on; see `simulate`.

    Examples
    --------
    >>> from pathlib import Path
    >>> import meanfield as mf
    >>> _ = Path("x.toml").write_text(
    ...     "problem = {manifold = 'circle', beta = 2, normalization = 'none'}\n"
    ...     "initial = {name = 'von_mises_fisher', concentration = 1}\ntime = {end = 5}\n")
    >>> mf.run("x.toml", problem={"beta": 3}, time={"save": 11})
    Run(circle, 11 saved times from t = 0 to 5, completed)
    >>> Path("x.toml").unlink()
    """
    from meanfield.recording import evolution_of, record_of
    from meanfield.runfile import load_config

    overrides = {
        "problem": problem,
        "initial": initial,
        "representation": representation,
        "time": time,
    }
    sections = {name: dict(keys) for name, keys in overrides.items() if keys is not None}
    with python_words():
        config = load_config(
            Path(path),
            output=_path(output),
            sections=sections,
            code="anywhere" if allow_code else "inside",
        )
    evolution = evolution_of(config)
    chosen = observables_beside(observables, evolution.observables)
    evolution = replace(evolution, observables=chosen)
    return _run(
        evolution,
        record_of(config),
        config.fluctuations,
        written_to=output is not None,
        resume=resume,
        overwrite=overwrite,
        callback=callback,
        progress=progress,
    )


def _run(
    evolution: Evolution,
    record: Record,
    linearised: FluctuationOptions | None,
    *,
    written_to: bool,
    resume: bool,
    overwrite: bool,
    callback: Callback | None,
    progress: bool | None,
) -> Run:
    if is_stationary(evolution.problem, evolution.options):
        _log.warning(STATIONARY)
    for name, called in (("callback", callback), ("stop", evolution.stop)):
        if callable(called):
            check_arguments(name, called)
    if linearised is not None:
        from meanfield.finite.fluctuations import fluctuations_at, with_bar

        follow = with_bar if wants_bar(progress) else None
    if not written_to:
        if resume or overwrite:
            raise ValueError("resume and overwrite need output=, the file to continue or replace.")
        collected = _collected(evolution, record, callback, progress)
        times, unit = collected.scaled_time, evolution.unit
        if linearised is None or times[-1] == 0.0:
            return collected
        try:
            fluctuations = fluctuations_at(
                evolution.problem, times, linearised, unit=unit, follow=follow
            )
        except BaseException as error:
            _attach(error, lambda: collected)
            raise
        return replace(collected, fluctuations=fluctuations)
    if resume and overwrite:
        raise ValueError("resume goes on with the file and overwrite replaces it: give one.")
    from meanfield.recording import complete_fluctuations
    from meanfield.runfile.output import check_path
    from meanfield.store.run_file import load

    _warn_of_own_kernel(record.path, record.tables.get("problem"))
    with python_words():
        check_path(f"output={record.path}", record.path, ())
        snapshots = _recorded(evolution, record, resume, overwrite, callback, progress)
        if linearised is None:
            return snapshots
        complete_fluctuations(evolution, record, linearised, follow)
        return replace(load(record.path), source_problem=evolution.problem)


def save_run(run: Run, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a run and its provenance into a file; see `Run.save`."""
    from meanfield.runfile.output import check_path
    from meanfield.store.locks import replaced_at_once
    from meanfield.store.provenance import provenance
    from meanfield.store.recorder import record_whole

    target = Path(path)
    _warn_of_own_kernel(target, stored_section(run, "problem"))
    facts = provenance() | {"meanfield_version": __version__} | run.attributes
    with python_words():
        check_path(str(target), target, ())
        with replaced_at_once(target, overwrite=overwrite) as output:
            record_whole(output, run, facts)


def _warn_of_own_kernel(path: Path, section: Mapping[str, Any] | None) -> None:
    """Warn that the stored run file names a user's kernel without its source file."""
    name = str((section or {}).get("attention", ""))
    if name and ":" not in name:
        what = "its run file cannot be run again, for it has only the name of the kernel"
        remedy = 'put the function into a file, and take attention = "file.py:function".'
        _log.warning("%s: %s %r: %s", path, what, name, remedy)


def _collected(
    evolution: Evolution, record: Record, callback: Callback | None, progress: bool | None
) -> Run:
    rows: list[tuple[Snapshot, dict[str, FloatArray]]] = []
    endings: list[str] = []
    facts = evolution.origin | record.attributes

    def so_far(status: str) -> Run:
        return assembled(evolution.problem, rows, facts | {"status": status})

    stream = evolve(evolution, ended=endings.append)
    # One BLAS thread throughout, unless a user's function, called in between, may want more.
    alone = callback is None and not callable(evolution.stop)
    try:
        with one_blas_thread() if alone else nullcontext():
            for snapshot in _watched(stream, evolution, progress):
                rows.append((snapshot, evolution.observe(snapshot)))
                _call(callback, evolution, snapshot)
    except BaseException as error:
        reached = rows[-1][0].time if rows else 0.0
        if isinstance(error, SimulationError):
            status = stopped(error)
        else:
            status = cut_short(error, f"at t = {reached:.6g}")
        _attach(error, lambda: so_far(status))
        raise
    return so_far(endings[0] if endings else COMPLETED)


def _recorded(
    evolution: Evolution,
    record: Record,
    resume: bool,
    overwrite: bool,
    callback: Callback | None,
    progress: bool | None,
) -> Run:
    from meanfield.recording import recorded
    from meanfield.store.locks import OutputFile
    from meanfield.store.run_file import load

    def so_far() -> Run:
        return replace(load(record.path), source_problem=evolution.problem)

    started, before = False, OutputFile(record.path)
    try:
        with closing(recorded(evolution, record, resume=resume, overwrite=overwrite)) as stream:
            for snapshot in _watched(stream, evolution, progress):
                started = True
                _call(callback, evolution, snapshot)
    except BaseException as error:
        earlier = overwrite and before.unchanged()
        if not earlier and (started or isinstance(error, SimulationError)):
            _attach(error, so_far)
        raise
    return so_far()


def _watched(
    stream: Iterable[Snapshot], evolution: Evolution, progress: bool | None
) -> Iterator[Snapshot]:
    """Pass snapshots through; log their events and show progress."""
    length = evolution.unit_length
    if wants_bar(progress):
        stream = followed(
            stream,
            len(evolution.times),
            "simulate",
            note=lambda snapshot: f"t = {snapshot.time / length:.4g}",
        )
    for snapshot in stream:
        for event in snapshot.events:
            if event.text:
                _log.info("t = %.6g: %s", event.time / length, event.text)
        yield snapshot


def _call(callback: Callback | None, evolution: Evolution, snapshot: Snapshot) -> None:
    if callback is not None:
        callback(snapshot.time / evolution.unit_length, snapshot.measure)


def _path(path: str | os.PathLike[str] | None) -> Path | None:
    return None if path is None else Path(path)


def _attach(error: BaseException, so_far: Callable[[], Run]) -> None:
    """Attach the run so far to an error, as `error.run`."""
    # The file or the memory may be gone; a second error would hide the first.
    with suppress(Exception):
        error.run = so_far()  # type: ignore[attr-defined]


@contextmanager
def python_words() -> Iterator[None]:
    """Translate errors about outputs: options of the command become arguments of a call."""
    try:
        yield
    except (OutputError, ConfigError) as error:
        text = str(error)
        for option, argument in _ARGUMENTS.items():
            text = text.replace(option, argument)
        raise type(error)(text) from None
