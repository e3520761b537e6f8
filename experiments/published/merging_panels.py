"""Common parts of figures of merged pairs: panels of `mf.merging_diagram`, their arrays, drawing.

The curve in these figures is the time at which the common cosine of initially orthogonal tokens is
0.999, by (6.12) of arXiv:2312.10794 for softmax and (6.10) without normalisation.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from claims import Claim
from matplotlib.figure import Figure

import meanfield as mf
from meanfield.arrays import FloatArray
from meanfield.figures.draw.axes import title_above
from meanfield.figures.draw.phase import MergingPicture, draw_merging
from meanfield.papers.merging import MergingDiagram
from meanfield.spectrum.time_units import paper_time_factor
from meanfield.studies.executors import worker_pool

TOKENS = 32
"""Number of tokens."""
STEP = 0.1
"""Step of the layers of the source."""


@dataclass(frozen=True)
class Panel:
    """One panel."""

    name: str  # prefix of its arrays
    title: str
    dimension: int
    betas: FloatArray
    times: FloatArray
    replicas: int
    head: mf.RandomHead | None = None  # by default Q = K = V = 1

    def made(
        self, normalization: Literal["softmax", "none"], published: bool, executor: Executor | None
    ) -> MergingDiagram:
        """Shares of merged pairs, by the flow or by the published layers."""
        more: dict[str, Any] = {} if self.head is None else {"heads": self.head}
        return mf.merging_diagram(
            TOKENS, self.dimension, betas=self.betas.tolist(), times=self.times.tolist(),
            runs=self.replicas, normalization=normalization, executor=executor,
            motion="layers" if published else "flow", **more,
        )  # fmt: skip


@contextmanager
def workers(short: bool) -> Iterator[Executor | None]:
    """Processes for all processors; None for a short form."""
    with worker_pool(1 if short else os.cpu_count() or 1) as executor:
        yield executor


def arrays(made: Mapping[str, MergingDiagram]) -> dict[str, npt.NDArray[Any]]:
    """Arrays to draw, by the names of panels."""
    found: dict[str, npt.NDArray[Any]] = {}
    for name, each in made.items():
        parts = (each.betas, each.times, each.fraction, each.standard_error)
        for part, values in zip(("betas", "times", "share", "error"), parts, strict=True):
            found[f"{name}_{part}"] = values
    return found


def arrays_by_dimension(
    made: Mapping[str, MergingDiagram], flow: mf.Flow, until: float, published: bool
) -> dict[str, npt.NDArray[Any]]:
    """Arrays for `draw_dimensions`: those of `arrays`, the curve, replicas, and the scheme."""
    return arrays(made) | {
        "curve": curve(flow, until),
        "replicas": np.array([len(each.done[0]) for each in made.values()]),
        "layers": np.array(published),
    }


def curve_numbers(
    flow: mf.Flow, known: Mapping[float, tuple[float, float]], why: str
) -> list[Claim]:
    """Claims on points of the curve; `known` has the time and its allowed error by beta."""
    return [
        Claim(f"time at which orthogonal tokens reach the cosine 0.999, beta = {beta:g}", time,
               merging_time(beta, flow), within, why)
        for beta, (time, within) in known.items()
    ]  # fmt: skip


def merging_time(beta: float, flow: mf.Flow) -> float:
    """Paper time at which initially orthogonal tokens reach the cosine 0.999.

    >>> round(merging_time(5.0, mf.SA), 5), round(merging_time(5.0, mf.USA), 5)
    (9.54433, 0.97461)
    """
    problem = mf.Problem(mf.Sphere(TOKENS), mf.exponential(beta), flow)
    return float(mf.equiangular_time(problem, TOKENS, 0.999) * paper_time_factor(problem))


def layers_time(beta: float) -> float:
    """Time at which softmax layers of step 0.1 reach the cosine 0.999; later than the flow.

    >>> round(layers_time(5.0), 3)
    10.326
    """
    layers = mf.Layers(step=STEP, count=round(30.0 / STEP), placement="post")
    problem = mf.Problem(mf.Sphere(TOKENS), mf.exponential(beta), mf.SA, layers=layers)
    cosine = mf.equiangular_layers(problem, TOKENS).cosine
    return float(np.interp(0.999, cosine, STEP * np.arange(len(cosine))))


def curve(flow: mf.Flow, until: float) -> FloatArray:
    """Rows (time, beta) of the curve up to a time."""
    betas = np.linspace(0.05, 9.0, 180)
    times = np.array([merging_time(float(beta), flow) for beta in betas])
    return np.column_stack([times, betas])[times <= until]


def draw_dimensions(
    figure: Figure, data: Mapping[str, npt.NDArray[Any]], flow: str, columns: int
) -> None:
    """Draw a panel for each dimension, with the curve; panels are named d2, d8, ..."""
    names = [name.removesuffix("_share") for name in data if name.endswith("_share")]
    listed = [
        (name, f"Pairs merged, $d = {name[1:]}$", f"{TOKENS} tokens, {flow}, {count} replicas")
        for name, count in zip(names, data["replicas"], strict=True)
    ]
    draw(figure, data, listed, columns)


def draw(
    figure: Figure,
    data: Mapping[str, npt.NDArray[Any]],
    panels: Iterable[tuple[str, str, str]],
    columns: int,
) -> None:
    """Draw panels (name, title, subtitle) in rows, with the curve if `data` has one."""
    listed = list(panels)
    rows = -(-len(listed) // columns)
    figure.set_size_inches(4.5 * columns, 3.6 * rows)
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for (name, title, facts), place in zip(listed, axes, strict=False):
        curve = data.get("curve")
        betas = data[f"{name}_betas"]
        if curve is not None:
            curve = curve[curve[:, 1] <= betas[-1]]
        picture = MergingPicture(
            facts, title, data[f"{name}_times"], betas, data[f"{name}_share"], curve
        )
        title_above(place, picture.title, picture.facts)
        draw_merging(picture, place)
    for place in axes[len(listed) :]:
        place.remove()


def half_time(made: MergingDiagram, beta: float) -> float:
    """Time at which half of all pairs have merged; infinite if never."""
    share = made.fraction[int(np.argmin(np.abs(made.betas - beta)))]
    return float(np.interp(0.5, share, made.times)) if share[-1] > 0.5 else float("inf")
