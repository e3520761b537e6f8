"""Base of results, and the description of their arrays.

The fields of a result are `array(...)`, with axes and units, or `attribute()`. Files, data sets and
tables follow from this description.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from meanfield.arguments import checked
from meanfield.names import VIEWS
from meanfield.status import COMPLETED

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

    from meanfield.results.report import Report

_RUN_AXES = {"run", "repetition"}
# Annotations are names in modules with `from __future__ import annotations`, and types in others.
_CASTS: dict[Any, Callable[[Any], Any]] = {
    key: kind for kind in (float, int, str, bool) for key in (kind, kind.__name__)
}


@dataclass(frozen=True)
class Array:
    """Array of a result in files and data sets; one with the name of its only axis is its scale."""

    axes: tuple[str, ...]
    name: str = ""  # by default that of its field
    unit: str = ""
    # "f" real, "c" complex, "i" integer, "b" boolean, stored as 1 and 0.
    kind: Literal["f", "c", "i", "b"] = "f"
    increasing: float | None = None  # readers demand increasing numbers from this one on
    distinct: bool = False  # readers refuse equal numbers
    optional: bool = False  # files of earlier versions lack it
    points: bool = False  # its last axis holds vector components, and is absent on the circle

    def axes_of(self, dimensions: int) -> tuple[str, ...]:
        """Axes of an array with this number of dimensions."""
        return self.axes[:-1] if self.points and dimensions < len(self.axes) else self.axes


@dataclass(frozen=True)
class Rows:
    """Table of a report as plain data; without a header its rows are (name, value)."""

    header: tuple[str, ...]
    rows: list[Any]
    above: str = ""  # lines above and below the table
    below: str = ""


def array(axes: str, name: str = "", **options: Any) -> Any:
    """Field of a result that holds an array, see `Array`; `default` makes the argument optional.

    init=False marks arrays that follow from others; files store them for other programs.
    """
    names = ("init", "default", "default_factory")
    own = {key: value for key, value in options.items() if key not in names}
    described = Array(tuple(axes.split()), name, **own)
    rest = {key: value for key, value in options.items() if key in names}
    return field(metadata={"array": described}, **rest)


def attribute(default: Any = MISSING) -> Any:
    """Field of a result that its files store as an attribute: a number or a text."""
    return field(default=default, metadata={"attribute": True})


@dataclass(frozen=True)
class Facts:
    """Typed attributes that describe the problem of a result; missing ones have defaults.

    >>> Facts.of({"beta": 2, "normalized": True, "platform": "Linux"}).normalization
    'softmax'
    """

    title: str = ""
    status: str = COMPLETED
    manifold: str = ""
    kernel: str = ""
    heads: int = 0  # 0 for a kernel
    beta: float = 0.0  # for heads the largest beta |B|_2
    normalization: str = ""
    normalized: bool = False
    strength: float = 1.0
    diffusivity: float = 0.0  # scaled time
    paper_time_factor: float = 1.0
    growth_rate_max: float = 0.0  # scaled time; NaN where it has no closed form
    initial: str = ""
    # Other parts of the problem, in words; empty where they are absent.
    mask: str = ""
    terms: str = ""
    functions: str = ""
    layers: str = ""
    frequencies: str = ""
    stages: str = ""
    symmetry: str = ""
    requested_time_unit: str = "scaled"
    config: str = ""  # the run file

    @classmethod
    def of(cls, attributes: Mapping[str, Any]) -> Self:
        """Facts among attributes; old files have only `normalized`, without `normalization`."""
        names = [each for each in fields(cls) if each.name in attributes]
        values = {each.name: _CASTS[each.type](attributes[each.name]) for each in names}
        if "normalized" in values:
            values.setdefault("normalization", "softmax" if values["normalized"] else "none")
        return cls(**values)


def grid_columns(axes: Mapping[str, Any], **values: Any) -> dict[str, Any]:
    """Columns of arrays over the given axes: one row per entry, the last axis varies fastest."""
    grids = np.meshgrid(*axes.values(), indexing="ij")
    named = dict(zip(axes, grids, strict=True)) | values
    return {name: np.ravel(column) for name, column in named.items()}


class ResultBase:
    """Base of results; `print` and notebooks show their report."""

    attributes: dict[str, Any]

    @property
    def facts(self) -> Facts:
        return Facts.of(self.attributes)

    def report(self) -> Report:
        """Report as commands print it: `.text()`, `.html()`, `.json()`, `.csv()`, `.markdown()`."""
        report: Report = VIEWS[f"{type(self).__name__}.report"](self)
        return report

    def __str__(self) -> str:
        return str(self.report())

    def _repr_html_(self) -> str:
        drawn = VIEWS.get(f"{type(self).__name__}.html")
        return self.report().html() if drawn is None else str(drawn(self))


class StudyResult(ResultBase):
    """Base of results with a file: file, data set and table follow from one description.

    Subclasses are dataclasses with a field `attributes`. Their class variables are:

    - kind, version: files have the attribute KIND_format_version = version.
    - derived: properties that are arrays.
    - stored_as: attribute of files -> property or attribute of the result, where names differ.
    - required: further attributes that a file must have.
    """

    kind: ClassVar[str] = ""
    version: ClassVar[int] = 1
    derived: ClassVar[Mapping[str, Array]] = {}
    stored_as: ClassVar[Mapping[str, str]] = {}
    required: ClassVar[tuple[str, ...]] = ()
    plot: ClassVar[Callable[..., Any]]

    @classmethod
    def described(cls) -> dict[str, Array]:
        """Arrays by the name of their field or property."""
        named = {each.name: each.metadata.get("array") for each in fields(cls)}  # type: ignore[arg-type]
        arrays = {name: one for name, one in named.items() if one is not None} | {**cls.derived}
        return {name: replace(one, name=one.name or name) for name, one in arrays.items()}

    @classmethod
    def described_facts(cls) -> dict[str, str]:
        """Attribute of files -> attribute of the result."""
        names = [each.name for each in fields(cls) if "attribute" in each.metadata]  # type: ignore[arg-type]
        return {name: name for name in names} | {**cls.stored_as}

    def stored_facts(self) -> dict[str, Any]:
        """Attributes of files by name, without those that are None."""
        named = {name: getattr(self, own) for name, own in self.described_facts().items()}
        return {name: value for name, value in named.items() if value is not None}

    def stored_values(self) -> dict[str, Any]:
        """Arrays by their name in files."""
        return {one.name: getattr(self, name) for name, one in self.described().items()}

    @classmethod
    def check_values(cls, values: Mapping[str, Any], attributes: Mapping[str, Any]) -> None:
        """Raise a ValueError for arrays that no result can have."""

    @classmethod
    def restored(cls, values: Mapping[str, Any], attributes: dict[str, Any]) -> Self:
        """Result from the arrays and attributes of a file."""
        described, arguments = cls.described(), dict[str, Any]()
        for each in fields(cls):  # type: ignore[arg-type]
            if each.name in described and each.init and described[each.name].name in values:
                arguments[each.name] = values[described[each.name].name]
            elif "attribute" in each.metadata:
                arguments[each.name] = _CASTS[each.type](attributes[each.name])
        return cls(**arguments, attributes=attributes)  # type: ignore[call-arg]

    @staticmethod
    def stored_problem(attributes: Mapping[str, Any]) -> Any:
        """Problem that `save` stored with the result, without its initial law."""
        return VIEWS["StudyResult.problem"](attributes)

    @property
    def runs(self) -> int:
        """Number of runs of each size, including missing ones: length of the second axis."""
        axes = {name: one.axes for name, one in self.described().items()}
        chosen = next(name for name, named in axes.items() if {*named[1:2]} & _RUN_AXES)
        return int(getattr(self, chosen).shape[1])

    def parts(self) -> list[Rows | str]:
        """Tables and lines of the report, unless `names.MAKERS` has another one."""
        return [repr(self)]

    @property
    def columns(self) -> dict[str, Any]:
        """Columns of `table`, arrays of equal length."""
        return {}

    def table(self) -> Any:
        """Columns as a pandas.DataFrame; without pandas a dict of arrays."""
        return data_frame(self.columns)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the result into a file (.h5); `mf.load` reads it.

        ValueError if the file exists and `overwrite` is false, or cannot be written.
        """
        VIEWS["StudyResult.save"](self, path, overwrite=overwrite)

    def to_xarray(self) -> xarray.Dataset:
        """Dataset of the arrays with their axes and units; needs xarray."""
        dataset: xarray.Dataset = VIEWS["StudyResult.to_xarray"](self)
        return dataset


_ON_AXES = "Empty axes to draw on, `ax`, instead of a figure of its own. "
_OPTIONS = "A title instead of its own, and matplotlib's size in inches and dots an inch."


def plot_method(wanted: str, shows: str, *, on_axes: bool = True) -> Callable[..., Figure]:
    """Method `plot` of a result, which calls VIEWS[wanted]; `shows` begins its docstring.

    >>> print(plot_method("Replay.plot", "Figure of layers.", on_axes=False).__doc__)
    Figure of layers.
    <BLANKLINE>
    A title instead of its own, and matplotlib's size in inches and dots an inch.
    """

    def plot(
        self: Any,
        *,
        ax: Any = None,
        title: str | None = None,
        figsize: tuple[float, float] | None = None,
        dpi: float | None = None,
    ) -> Figure:
        options: dict[str, Any] = {"title": title, "figsize": figsize, "dpi": dpi}
        if ax is not None:
            if not on_axes:
                raise ValueError(f"{wanted} has several axes: leave out ax, and take figsize.")
            if figsize is not None or dpi is not None:
                raise ValueError(
                    "figsize and dpi are of a figure of our own: leave out ax, or them."
                )
            options = {"ax": ax, "title": title}
        figure: Figure = VIEWS[wanted](self, **options)
        return figure

    plot.__qualname__ = wanted
    plot.__doc__ = f"{shows}\n\n{_ON_AXES * on_axes}{_OPTIONS}"
    return checked(plot)


def data_frame(columns: Mapping[str, Any]) -> Any:
    """pandas.DataFrame of equally long columns; without pandas a dict."""
    try:
        from pandas import DataFrame
    except ImportError:
        return dict(columns)
    return DataFrame(columns)
