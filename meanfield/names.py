"""Public names and the module of each: `meanfield` and its topics load them at first use."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import get_data, iter_modules
from typing import Any, cast

_PACKAGE = __name__.partition(".")[0]

HOMES: dict[str, str] = {}
"""Public name -> its module, as `__init__.pyi` imports it."""

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
    "collapse_times": "CollapseTimes",
    "phase_diagram": "PhaseDiagram",
    "bifurcation_diagram": "BifurcationDiagram",
    "fluctuations": "Fluctuations",
}
"""Kind of a study file -> the public name of its result."""

TOPICS = ("certificates", "finite", "papers", "stationary", "transport")
"""Packages that `meanfield` offers as they are: `mf.papers.hardmax`."""


def public(name: str) -> Any:
    """Public object of that name, whose module is loaded now."""
    return getattr(import_module(f"{_PACKAGE}.{HOMES[name]}"), name)


def lazy_package(package: str, path: list[str]) -> tuple[Callable[..., Any], ...]:
    """`__getattr__` and `__dir__` of a package: its modules, and the public names in them.

    A module wins over a name of its own. package, path: `__name__` and `__path__`.
    """
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
