"""Modules of public names, and functions behind methods of results; all are imported on demand."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import get_data, iter_modules
from typing import Any, cast

_PACKAGE = __name__.partition(".")[0]

HOMES: dict[str, str] = {}
"""Public name -> its module, read from `__init__.pyi`."""

_stub = cast(bytes, get_data(_PACKAGE, "__init__.pyi"))  # also inside an archive
for _line in _stub.decode().split("\nfrom meanfield.")[1:]:
    _module, _, _names = _line.partition(" import ")
    _end = ")" if _names[0] == "(" else "\n"
    _listed = _names.lstrip("(").partition(_end)[0].replace(",", " ").split()
    HOMES |= dict.fromkeys(_listed, _module)

RESULT_KINDS = {
    "comparison": "ConvergenceStudy",
    "ensemble": "Ensemble",
    "diagram": "MergingDiagram",
    "replay": "Replay",
    "diagnosis": "Diagnosis",
    "collapse_times": "CollapseTimes",
    "phase_diagram": "PhaseDiagram",
    "bifurcation_diagram": "BifurcationDiagram",
    "fluctuations": "Fluctuations",
    "corrected_runs": "CorrectedRuns",
}
"""Kind of a study file -> the public name of its result."""

TOPICS = ("certificates", "finite", "papers", "stationary", "transport")
"""Packages that are attributes of `meanfield`: `mf.papers.hardmax`."""


def public(name: str) -> Any:
    """Import the module of a public name and return the object."""
    return getattr(import_module(f"{_PACKAGE}.{HOMES[name]}"), name)


def lazy_package(package: str, path: list[str]) -> tuple[Callable[..., Any], ...]:
    """`__getattr__` and `__dir__` of a package, for its modules and the public names in them."""
    topic = package.partition(".")[2]
    modules = {each.name for each in iter_modules(path)}
    homes = {name: home for name, home in HOMES.items() if home.startswith(f"{topic}.")}

    def find(name: str) -> Any:
        if name in modules:
            return import_module(f"{package}.{name}")
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return public(name)

    return find, lambda: sorted(modules | homes.keys())


# Method of a result -> the function that implements it, as module:name.
MAKERS = {
    "BifurcationDiagram.plot": "figures.draw.bifurcation:diagram_figure",
    "BifurcationDiagram.report": "results.theory_reports:bifurcation_report",
    "ClusterPrediction.html": "results.tables:prediction_html",
    "ClusterPrediction.plot": "figures.draw.prediction:prediction_figure",
    "ClusterPrediction.report": "results.theory_reports:prediction_report",
    "ConvergenceStudy.plot": "figures.draw.comparison:comparison_figure",
    "ConvergenceStudy.report": "results.study_reports:study_report",
    "Density.plot": "figures.draw.measure:measure_figure",
    "Ensemble.plot": "figures.draw.comparison:ensemble_figure",
    "Ensemble.report": "results.study_reports:study_report",
    "Diagnosis.plot": "figures.draw.replay:diagnosis_figure",
    "CorrectedRuns.plot": "figures.draw.prediction:corrected_runs_figure",
    "Fluctuations.plot": "figures.draw.fluctuations:fluctuations_figure",
    "Fluctuations.report": "results.run_report:fluctuations_report",
    "LimitShape.plot": "figures.draw.hulls:limit_shape_figure",
    "LinearOperator.plot": "figures.draw.spectrum:spectrum_figure",
    "Measure.plot": "figures.draw.measure:measure_figure",
    "MergingDiagram.plot": "figures.draw.phase:merging_figure",
    "MergingDiagram.report": "results.study_reports:study_report",
    "PairCorrelation.plot": "figures.draw.pair_correlation:pair_correlation_figure",
    "PhaseDiagram.plot": "figures.draw.phase:phase_diagram_figure",
    "PhaseDiagram.report": "results.theory_reports:phase_report",
    "PhasePoint.plot": "figures.draw.bifurcation:point_figure",
    "PhasePoint.report": "results.theory_reports:point_report",
    "Problem.html": "results.tables:problem_html",
    "Replay.plot": "figures.draw.replay:replay_figure",
    "Replay.report": "results.study_reports:replay_report",
    "Request.compile": "commands.compile:compile_for_workers",
    "Request.results": "studies.complete:complete_call",
    "Run.animate": "figures.draw:animate",
    "Run.html": "results.tables:run_html",
    "Run.plot": "figures.draw:plot",
    "Run.problem": "runfile.written:stored_problem",
    "Run.save": "api:save_run",
    "Run.report": "results.run_report:run_report",
    "Run.to_xarray": "results.dataset:to_xarray",
    "Run.view": "figures.view:view",
    "StationaryState.html": "results.tables:state_html",
    "StudyResult.origin": "runfile.written:written_origin",
    "StudyResult.problem": "runfile.written:document_problem",
    "StudyResult.save": "store.result_file:save_result",
    "StudyResult.to_xarray": "results.dataset:study_to_xarray",
    "Sweep.plot": "figures.draw.sweep:sweep_figure",
    "Sweep.run": "store.run_file:load",
    "Sweep.report": "results.study_reports:sweep_report",
    "Sweep.to_xarray": "results.dataset:sweep_to_xarray",
    "TokenLimit.plot": "figures.draw.replay:token_limit_figure",
}
# Defaults for results with a file: a figure in the module of their kind, and a report of `parts`.
for _kind, _name in RESULT_KINDS.items():
    MAKERS.setdefault(f"{_name}.plot", f"figures.draw.{_kind}:{_kind}_figure")
    MAKERS.setdefault(f"{_name}.report", "results.study_reports:described_report")


def _maker(place: str) -> Callable[..., Any]:
    """Function at module:name, imported when it is called."""
    module, name = place.split(":")
    return lambda *arguments, **options: getattr(import_module(f"{_PACKAGE}.{module}"), name)(
        *arguments, **options
    )


VIEWS = {wanted: _maker(place) for wanted, place in MAKERS.items()}
"""Method of a result -> its function, which takes the result and the arguments."""
