"""Base of results, and the description of their arrays.

Files, data sets and tables follow from the description: the fields of a result are `array(...)`,
with their axes and units, or `attribute()`.
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
_CASTS: dict[Any, Callable[[Any], Any]] = {"float": float, "int": int, "str": str, "bool": bool}


@dataclass(frozen=True)
class Array:
    """Array of a result in files and data sets; one with the name of its axis is its scale."""

    axes: tuple[str, ...]
    name: str = ""  # by default that of its field
    unit: str = ""
    # Real or complex numbers, integers, or true and false, stored as 1, 0.
    kind: Literal["f", "c", "i", "b"] = "f"
    increasing: float | None = None  # files with other than increasing numbers from it are refused
    distinct: bool = False  # files that have a number twice are refused
    optional: bool = False  # files of earlier versions lack it
    points: bool = False  # its last axis is that of vectors, and absent on the circle

    def axes_of(self, dimensions: int) -> tuple[str, ...]:
        """Axes of an array of so many dimensions."""
        return self.axes[:-1] if self.points and dimensions < len(self.axes) else self.axes


@dataclass(frozen=True)
class Rows:
    """Table of a report as plain data; without a header its rows are names and values."""

    header: tuple[str, ...]
    rows: list[Any]
    above: str = ""  # lines above and below it
    below: str = ""


def array(axes: str, name: str = "", **options: Any) -> Any:
    """Field of a result that holds an array, see `Array`; `default` makes the argument optional.

    init=False is for arrays that follow from others: files have them for other readers.
    """
    names = ("init", "default", "default_factory")
    own = {key: value for key, value in options.items() if key not in names}
    described = Array(tuple(axes.split()), name, **own)
    rest = {key: value for key, value in options.items() if key in names}
    return field(metadata={"array": described}, **rest)


def attribute(default: Any = MISSING) -> Any:
    """Field of a result that is a number or a text, and an attribute of its files."""
    return field(default=default, metadata={"attribute": True})


@dataclass(frozen=True)
class Facts:
    """Attributes that describe the problem of a result; missing ones have defaults.

    >>> Facts.of({"beta": 2, "normalized": True, "platform": "Linux"}).normalization
    'softmax'
    """

    title: str = ""
    status: str = COMPLETED
    manifold: str = ""
    kernel: str = ""
    heads: int = 0  # 0 of a kernel
    beta: float = 0.0  # the largest beta |B|_2 of heads
    normalization: str = ""
    normalized: bool = False
    strength: float = 1.0
    diffusivity: float = 0.0  # scaled time
    paper_time_factor: float = 1.0
    growth_rate_max: float = 0.0  # scaled time; NaN where it has no closed form
    initial: str = ""
    # Parts beside attention, in words; empty for none.
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
        """Facts among attributes; files before Sinkhorn's normalization say `normalized` alone."""
        names = [each for each in fields(cls) if each.name in attributes]
        values = {each.name: _CASTS[each.type](attributes[each.name]) for each in names}
        if "normalized" in values:
            values.setdefault("normalization", "softmax" if values["normalized"] else "none")
        return cls(**values)


def grid_columns(axes: Mapping[str, Any], **values: Any) -> dict[str, Any]:
    """Columns of arrays over some axes: a row an entry, the last axis changing first."""
    grids = np.meshgrid(*axes.values(), indexing="ij")
    named = dict(zip(axes, grids, strict=True)) | values
    return {name: np.ravel(column) for name, column in named.items()}


class ResultBase:
    """Base of results: `print` and notebooks show their report."""

    attributes: dict[str, Any]

    @property
    def facts(self) -> Facts:
        """Typed attributes of the run."""
        return Facts.of(self.attributes)

    def report(self) -> Report:
        """Report, as commands show it: `.text()`, `.html()`, `.json()`, `.csv()`, `.markdown()`."""
        report: Report = VIEWS[f"{type(self).__name__}.report"](self)
        return report

    def __str__(self) -> str:
        return str(self.report())

    def _repr_html_(self) -> str:
        drawn = VIEWS.get(f"{type(self).__name__}.html")
        return self.report().html() if drawn is None else str(drawn(self))


class StudyResult(ResultBase):
    """Base of results with a file of their own: file, data set and table from one description.

    Subclasses are dataclasses with a field `attributes`, and may say in class variables:

    - kind, version: of their files, which have the attribute KIND_format_version.
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
        """Attributes of files, each with the attribute of the result that it is."""
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
        """Refuse arrays of a file that no result holds, by a ValueError."""

    @classmethod
    def restored(cls, values: Mapping[str, Any], attributes: dict[str, Any]) -> Self:
        """Result of arrays and attributes as files have them."""
        described, arguments = cls.described(), dict[str, Any]()
        for each in fields(cls):  # type: ignore[arg-type]
            if each.name in described and each.init and described[each.name].name in values:
                arguments[each.name] = values[described[each.name].name]
            elif "attribute" in each.metadata:
                arguments[each.name] = _CASTS[each.type](attributes[each.name])
        return cls(**arguments, attributes=attributes)  # type: ignore[call-arg]

    @staticmethod
    def stored_problem(attributes: Mapping[str, Any]) -> Any:
        """Problem of a result of one problem, as `save` keeps it, without its initial law."""
        return VIEWS["StudyResult.problem"](attributes)

    @property
    def runs(self) -> int:
        """Runs of each size, made or not: the length of the second axis of its arrays."""
        axes = {name: one.axes for name, one in self.described().items()}
        chosen = next(name for name, named in axes.items() if {*named[1:2]} & _RUN_AXES)
        return int(getattr(self, chosen).shape[1])

    def parts(self) -> list[Rows | str]:
        """Tables and lines of its report, where no other is registered."""
        return [repr(self)]

    @property
    def columns(self) -> dict[str, Any]:
        """Columns of `table`: arrays of equal length."""
        return {}

    def table(self) -> Any:
        """Numbers as a pandas.DataFrame, without pandas a dict of arrays."""
        return data_frame(self.columns)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write it into a file (.h5) at once; `mf.load` reads it.

        ValueError if the file exists and `overwrite` is not given, or cannot be written.
        """
        VIEWS["StudyResult.save"](self, path, overwrite=overwrite)

    def to_xarray(self) -> xarray.Dataset:
        """Dataset of the arrays with their axes and units; needs xarray."""
        dataset: xarray.Dataset = VIEWS["StudyResult.to_xarray"](self)
        return dataset


_ON_AXES = "Empty axes to draw on, `ax`, instead of a figure of its own. "
_OPTIONS = "A title instead of its own, and matplotlib's size in inches and dots an inch."


def plot_method(wanted: str, shows: str, *, on_axes: bool = True) -> Callable[..., Figure]:
    """Method of a result, to be named `plot`, that calls VIEWS[wanted] and shows what `shows` says.

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
    """DataFrame of equally long columns where pandas is installed, else a dict of them."""
    try:
        from pandas import DataFrame
    except ImportError:
        return dict(columns)
    return DataFrame(columns)
