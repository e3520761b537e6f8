"""Results for one setting of the sliders: growth rates, the law of cluster counts, and a run.

They form one stream of messages, the fastest first:

    rates     growth rates by degree, thresholds, times                       milliseconds
    begin     header of the view, and the first frame
    frame     state at the next saved time;  event: time and text of an event
    law       law of the number of clusters by linear theory                  a fraction of a second
    end       the run is over;  failed: why it could not continue
    law       the same law by short runs, if they take some seconds at most

A density starts with the moments of 100,000 random tokens. Time is scaled time. Colours have a
fixed range, symmetric about uniform on a logarithmic scale.
"""

from __future__ import annotations

import base64
import math
import time as clock
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from meanfield.arrays import FloatArray, IntArray
from meanfield.carriers import Options
from meanfield.carriers.idle import check_options
from meanfield.carriers.step_limits import contraction_rate
from meanfield.errors import SimulationError, list_names
from meanfield.fields.interactions import interaction_of
from meanfield.figures.data.circle import cell_means, wrapped
from meanfield.figures.data.projections import PlateCarree
from meanfield.figures.data.saved_times import ATOMS, Frame
from meanfield.figures.data.sphere import values_on
from meanfield.figures.data.tokens import some_tokens
from meanfield.figures.data.view import GLOBE, RING, ViewPicture
from meanfield.figures.view import coded_points, header_of, look, plain, quantised
from meanfield.laws.initial import sampled, uniform
from meanfield.measures import Density
from meanfield.observables.clusters import visible_counts
from meanfield.problem import Problem
from meanfield.problem_facts import facts_of
from meanfield.simulation import Evolution, evolve
from meanfield.snapshot import Snapshot
from meanfield.spaces import Circle, Sphere
from meanfield.spectrum.cluster_counts import mean_clusters, potential_variances
from meanfield.spectrum.stability import (
    critical_diffusivity,
    dominant_degree,
    formation_time,
    growth_rates,
    onset_time,
)
from meanfield.studies.corrected_law import default_corrected_samples
from meanfield.studies.ensemble_results import CountLaw
from meanfield.studies.prediction import ClusterPrediction, predict_clusters
from meanfield.terms.attention import Attention, Head

Message = dict[str, Any]
Check = Callable[[], None]
"""Function that is called often; an exception from it ends the stream."""

MANIFOLDS = {"circle": Circle, "sphere": Sphere}
STRENGTHS = {"attract": 1.0, "repel": -1.0}

# Sinkhorn's weights of all pairs are balanced some tens of times a step.
_MOST_BALANCED = 1000
# A density starts with the moments of this many tokens.
_DENSITY_TOKENS = 100_000
# Saved times, by dimension.
_FRAMES = {1: 121, 2: 61}
_TOLERANCE = 1e-6
# Degree and tolerance of a density on the sphere; finer ones take too long.
_SPHERE_DEGREE, _SPHERE_TOLERANCE = 48, 1e-4
# Step with noise times the fastest rate of contraction and diffusion; least steps between saves.
_NOISE_STEP, _STEPS_A_SAVE = 0.1, 4
_MOST_STEPS = 40_000
# Length of a run in relaxation times, by the largest of the first rates, if no degree grows.
_RELAXATIONS = 10.0
_FIRST_RATES = 4
_LEAST_DEGREES, _MOST_DEGREES = 12, 60
# Seconds of frames before the linear law, which takes as long.
_FRAMES_ALONE = 0.2
# Largest number of samples of the linear law; below the least number, only its mean is computed;
# degree cubed times samples that take a quarter of a second on the sphere.
_SAMPLES, _FEWEST_SAMPLES, _SPHERE_WORK = 2000, 20, 1.5e6
# Largest degree of the potential for which short runs take some seconds, by dimension.
_CORRECTED_DEGREES = {1: 200, 2: 20}


@dataclass(frozen=True)
class Setting:
    """Positions of the sliders: words, and numbers with their smallest and largest value."""

    manifold: Literal["circle", "sphere"] = "circle"
    beta: Annotated[float, 0.01, 100.0] = 9.0  # inverse temperature
    # "softmax" (SA), "none" (USA) or "sinkhorn".
    normalization: Literal["softmax", "none", "sinkhorn"] = "softmax"
    strength: Literal["attract", "repel"] = "attract"  # "attract" (+1) or "repel" (-1)
    diffusivity: Annotated[float, 0.0, 10.0] = 0.0  # in scaled time
    # "tokens", or "density" for the mean-field limit.
    carrier: Literal["tokens", "density"] = "tokens"
    tokens: Annotated[int, 2, 5000] = 1000  # how many, if they are the carrier
    # End of the run in formation times, see `formation_time`.
    length: Annotated[float, 0.1, 50.0] = 2.0
    seed: Annotated[int, 0, 999_999_999] = 0  # of the draw of tokens, of noise and of the laws

    @property
    def count(self) -> int:
        """Number of tokens that determine the initial moments."""
        return self.tokens if self.carrier == "tokens" else _DENSITY_TOKENS

    @property
    def problem(self) -> Problem:
        """Problem with the initial law of the carrier."""
        attention = Attention(
            [Head()],
            self.normalization,
            beta=self.beta,
            strength=STRENGTHS[self.strength],
            diffusivity=self.diffusivity,
        )
        law = uniform() if self.carrier == "tokens" else sampled(_DENSITY_TOKENS, self.seed)
        return Problem(MANIFOLDS[self.manifold](), attention, initial=law)

    @property
    def about_uniform(self) -> Problem:
        """The problem from the uniform law, for growth rates and laws of cluster counts."""
        return replace(self.problem, initial=uniform())


_HINTS = get_type_hints(Setting, include_extras=True)
_WORDS = {name: get_args(hint) for name, hint in _HINTS.items() if get_origin(hint) is Literal}
RANGES = {name: get_args(hint)[1:] for name, hint in _HINTS.items() if name not in _WORDS}
"""Smallest and largest value of each number."""
CARRIERS = _WORDS["carrier"]


def setting_of(query: Mapping[str, str]) -> Setting:
    """Setting from the query of a page; missing values have their defaults.

    >>> setting_of({"beta": "4", "manifold": "sphere"}).problem
    Problem(Sphere(), exponential(beta=4.0), SA, uniform())
    >>> setting_of({"beta": "4,5"})
    Traceback (most recent call last):
    ValueError: beta must be a number between 0.01 and 100, got '4,5'.
    """
    names = [field.name for field in fields(Setting)]
    values: dict[str, Any] = {}
    for name, text in query.items():
        if name not in names:
            raise ValueError(f"{name} is not known. {list_names(name, names)}")
        values[name] = _word(name, text) if name in _WORDS else _number(name, text)
    setting = Setting(**values)
    balanced = setting.normalization == "sinkhorn" and setting.carrier == "tokens"
    if balanced and setting.tokens > _MOST_BALANCED:
        raise ValueError(
            f"sinkhorn takes at most {_MOST_BALANCED} tokens here, got {setting.tokens}: each "
            "step balances the weights of all pairs."
        )
    return setting


def _word(name: str, text: str) -> str:
    if text not in _WORDS[name]:
        raise ValueError(f"{name} must be one of {', '.join(_WORDS[name])}, got {text[:40]!r}.")
    return text


def _number(name: str, text: str) -> float | int:
    low, high = RANGES[name]
    whole = isinstance(low, int)
    try:
        value: float = int(text) if whole else float(text)
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        kind = "a whole number" if whole else "a number"
        raise ValueError(f"{name} must be {kind} between {low:g} and {high:g}, got {text[:40]!r}.")
    return value


def explored(setting: Setting, check: Check, runs: int | None = None) -> Iterator[Message]:
    """Messages of a setting for a page, see the header of this module.

    check: called before each right-hand side and each chunk of a sample.
    runs: number of short runs for the second law; by default that of `predict_clusters`.

    >>> few = Setting(beta=2.0, tokens=20, length=0.1)
    >>> stream = explored(few, check=lambda: None, runs=2)
    >>> next(stream)["dominant"], sorted({message["kind"] for message in stream})
    (2, ['begin', 'end', 'frame', 'law'])
    """
    began = clock.perf_counter()
    yield rates_of(setting)
    try:
        evolution, note = evolution_of(setting)
        stream = evolve(evolution, watch=check)
        first = next(stream)
    except (ValueError, SimulationError) as error:
        yield {"kind": "failed", "text": _first_part(str(error))}
        return
    view = live_view(evolution, first)
    yield {
        "kind": "begin",
        "frames": len(evolution.times),
        "note": note,
        "header": view.header,
        "frame": view.frame(first),
    }
    law_sent = False
    for message in _frames(evolution, view, stream, began):
        yield message
        if not law_sent and clock.perf_counter() - began > _FRAMES_ALONE:
            law_sent = True
            yield linear_law(setting, check)
    if not law_sent:
        yield linear_law(setting, check)
    better = corrected_law(setting, check, runs)
    if better is not None:
        yield better


def _frames(
    evolution: Evolution, view: LiveView, stream: Iterator[Any], began: float
) -> Iterator[Message]:
    """Frames after the first, events, and the end of the run."""
    time = 0.0
    try:
        for snapshot in stream:
            time = snapshot.time
            for event in snapshot.events:
                if event.text:
                    yield {"kind": "event", "time": event.time, "text": event.text}
            yield {"kind": "frame", "frame": view.frame(snapshot)}
    except SimulationError as error:
        advice = ""
        if evolution.options.name == "density":
            advice = ": no density resolves what collapses; take tokens, or more diffusivity"
        yield {"kind": "failed", "text": f"{_first_part(str(error))}{advice}."}
        return
    spent = clock.perf_counter() - began
    yield {"kind": "end", "text": f"done: t = {time:.4g} after {spent:.2g} s"}


def _first_part(text: str) -> str:
    """Event and time of an error, without advice on settings that are not on the page."""
    what, _, rest = text.partition(";")
    when = rest[rest.rfind("(stopped at") :] if "(stopped at" in rest else ""
    return f"{what} {when}".strip().rstrip(".")


def rates_of(setting: Setting) -> Message:
    """Growth rates of the uniform state by degree, critical diffusivity, and times.

    >>> found = rates_of(Setting(beta=7.0))
    >>> found["dominant"], len(found["rates"])
    (4, 12)
    """
    problem = setting.about_uniform
    still = replace(setting, diffusivity=0.0).about_uniform
    count = 2 * (dominant_degree(still) or 0) + 4
    degrees = min(max(_LEAST_DEGREES, count), _MOST_DEGREES)
    rates, dominant = growth_rates(problem, degrees), dominant_degree(problem)
    critical = critical_diffusivity(problem)
    if dominant is None:
        text = "Uniform is stable: no degree grows."
        if critical:
            text = f"Uniform is stable: the diffusivity is above the critical {critical:.4g}."
    else:
        grown = formation_time(problem, setting.count)
        text = f"Degree {dominant} grows fastest; clusters have formed by about t = {grown:.3g}."
    return {
        "kind": "rates",
        "degrees": list(range(1, degrees + 1)),
        "rates": [float(rate) for rate in rates[1:]],
        "dominant": dominant,
        "critical_diffusivity": critical,
        "onset_time": _finite(onset_time(problem, setting.count)),
        "formation_time": _finite(formation_time(problem, setting.count)),
        "text": text,
    }


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def evolution_of(setting: Setting) -> tuple[Evolution, str]:
    """Run of a setting, and a note if it ends earlier than requested."""
    problem = setting.problem
    dimension = problem.manifold.dimension
    end, note = _end(setting), ""
    step: float | None = None
    if setting.carrier == "tokens" and setting.diffusivity:
        step = _NOISE_STEP / (contraction_rate(problem) + setting.diffusivity)
        if end > _MOST_STEPS * step:
            end = _MOST_STEPS * step
            note = f"shown until t = {end:.3g}: steps of noise are short beside the rest"
    times = _times(end, setting.length, _FRAMES[dimension])
    if step is not None:
        step = min(step, float(np.diff(times).min()) / _STEPS_A_SAVE)
    if setting.carrier == "tokens":
        options = Options(
            "particles", _TOLERANCE, tokens=setting.tokens, seed=setting.seed, step=step
        )
    elif dimension == 2:
        degree = max(_SPHERE_DEGREE, interaction_of(problem).degree)
        options = Options("density", _SPHERE_TOLERANCE, max_degree=degree)
    else:
        options = Options("density" if setting.diffusivity else "auto", _TOLERANCE)
    check_options(problem, options)
    return Evolution(problem, options, times), note


def _end(setting: Setting) -> float:
    problem = setting.about_uniform
    formed = formation_time(problem, setting.count)
    if math.isfinite(formed):
        return setting.length * formed
    first = np.abs(growth_rates(problem, _FIRST_RATES)[1:]).max()
    return setting.length * _RELAXATIONS / float(first) if first > 0 else setting.length


def _times(end: float, length: float, count: int) -> FloatArray:
    """Saved times from 0, equally spaced if length <= 2.

    Else half of them are equally spaced up to the formation time, and the others logarithmically.

    >>> _times(4.0, 4.0, 5).round(6).tolist(), _times(2.0, 1.0, 3).tolist()
    ([0.0, 0.5, 1.0, 2.0, 4.0], [0.0, 1.0, 2.0])
    """
    if length <= 2.0:
        return np.linspace(0.0, end, count)
    half = count // 2 + 1
    early = np.linspace(0.0, end / length, half)
    late = np.geomspace(end / length, end, count - half + 1)[1:]
    return np.concatenate([early, late])


def linear_law(setting: Setting, check: Check) -> Message:
    """Law of the number of clusters by linear theory, with samples for a fraction of a second."""
    problem = setting.about_uniform
    if (reason := _no_law(setting)) is not None:
        return _without_law(reason)
    samples = _SAMPLES
    if problem.manifold.dimension == 2 and dominant_degree(problem) is not None:
        degree = len(potential_variances(problem, setting.count))
        samples = min(_SAMPLES, int(_SPHERE_WORK / degree**3))
    if samples < _FEWEST_SAMPLES:
        mean = mean_clusters(problem, setting.count)
        return _without_law(f"{mean:.3g} clusters in the mean (linear theory, closed form)")
    prediction = _predicted(setting, samples, 0, check)
    if prediction.message:
        return _without_law(prediction.message)
    if not prediction.linear_law_holds:
        return _without_law(prediction.answer.partition(":")[0])
    return _law("linear", prediction.linear, "linear theory", prediction.note)


def corrected_law(setting: Setting, check: Check, runs: int | None = None) -> Message | None:
    """Law of the number of clusters by short runs; None if they take long or do not apply."""
    problem = setting.about_uniform
    if setting.diffusivity or _no_law(setting) is not None or dominant_degree(problem) is None:
        return None
    dimension = problem.manifold.dimension
    degree = len(potential_variances(problem, setting.count)) - 1
    if degree > _CORRECTED_DEGREES[dimension]:
        return None
    runs = default_corrected_samples(dimension, degree) if runs is None else runs
    prediction = _predicted(setting, 1, runs, check)
    if prediction.message or prediction.corrected is None:
        return None
    return _law("corrected", prediction.corrected, "short runs", prediction.note)


def _no_law(setting: Setting) -> str | None:
    """Reason why there is no law of cluster counts, or None."""
    if setting.normalization == "sinkhorn":
        return "No law of cluster counts is known for doubly stochastic weights."
    return None


def _without_law(text: str) -> Message:
    """Message with a text in place of a law."""
    return {"kind": "law", "name": "linear", "text": text, "law": []}


def _predicted(setting: Setting, samples: int, runs: int, check: Check) -> ClusterPrediction:
    def watched(chunks: Iterable[IntArray], total: int, name: str) -> Iterable[IntArray]:
        for chunk in chunks:
            check()
            yield chunk

    return predict_clusters(
        setting.about_uniform,
        setting.count,
        samples=samples,
        seed=setting.seed,
        corrected=runs > 0,
        runs=runs or None,
        progress=watched,
    )


def _law(name: str, law: CountLaw, source: str, note: str) -> Message:
    counts = [[int(k), float(share)] for k, share in sorted(law.distribution.items())]
    text = f"{law.summary()} ({source}, {law.samples} samples)"
    return {"kind": "law", "name": name, "text": f"{text}; {note}" if note else text, "law": counts}


# Range of densities in the colour scale.
COLOURS = (0.1, 10.0)
_ROWS, _CELLS, _FEWEST_CELLS, _TOKENS_A_CELL = 64, 720, 120, 10
# Curve in the view -> observable.
_CURVES = {"energy": "energy", "order parameter": "order_parameter", "clusters": "clusters/count"}


@dataclass(frozen=True, eq=False)
class LiveView:
    """Live view of a run: header and frames."""

    evolution: Evolution
    cells: int  # cells of a ring, or rows of latitude of a globe

    @property
    def shape(self) -> str:
        """Shape in the view: `RING` or `GLOBE`."""
        return RING if self.evolution.problem.manifold.dimension == 1 else GLOBE

    @property
    def header(self) -> dict[str, Any]:
        """Header of the view."""
        facts = facts_of(self.evolution.problem)
        none, no_times = np.zeros((0, 0)), np.zeros(0)
        picture = ViewPicture(
            Frame("", facts, no_times, False, 0.0, ()),
            self.shape,
            no_times,
            none,
            COLOURS,
            (),
            (),
            none,
            {},
            (),
        )
        size = [self.cells, 2 * self.cells] if self.shape == GLOBE else [1, self.cells]
        notes = [f"live; colours end at densities {COLOURS[0]:g} and {COLOURS[1]:g}"]
        state = {"values": {"colours": list(COLOURS), "size": size}, "notes": notes}
        return header_of(picture, {}) | look(facts) | state

    def frame(self, snapshot: Snapshot) -> dict[str, Any]:
        """Frame of a snapshot: time, values, points, masses of atoms, curves."""
        points, masses = _points(snapshot)
        values = quantised(self._values(snapshot), COLOURS)
        return {
            "time": snapshot.time,
            "values": _text(values),
            "points": _text(coded_points(points, self.shape, 1.0)),
            "masses": None if masses is None else _text(masses.astype("<f4")),
            "curves": self._curves(snapshot),
        }

    def _values(self, snapshot: Snapshot) -> FloatArray:
        """Densities in cells, row by row."""
        if self.shape == GLOBE:
            return values_on(snapshot.measure, PlateCarree(), 2 * self.cells)
        return np.maximum(cell_means(snapshot.measure, self.cells), 0.0)

    def _curves(self, snapshot: Snapshot) -> dict[str, float | None]:
        """Energy, order parameter and number of clusters."""
        observables = self.evolution.observe(snapshot)
        curves = {
            name: observables[key].ravel() for name, key in _CURVES.items() if key in observables
        }
        if "clusters" in curves:
            curves["clusters"] = visible_counts(curves["clusters"], curves["order parameter"])
        return {name: plain(values)[0] for name, values in curves.items()}


def live_view(evolution: Evolution, first: Snapshot) -> LiveView:
    """View of a run, with about ten tokens in a cell of the ring."""
    if evolution.problem.manifold.dimension == 2:
        return LiveView(evolution, _ROWS)
    if isinstance(first.measure, Density):
        return LiveView(evolution, _CELLS)
    count = len(first.measure.points) / _TOKENS_A_CELL
    return LiveView(evolution, 2 * int(np.clip(count, _FEWEST_CELLS, _CELLS) // 2))


def _points(snapshot: Snapshot) -> tuple[FloatArray, FloatArray | None]:
    """Tokens or atoms to draw, and masses of atoms."""
    measure = snapshot.measure
    on_sphere = measure.manifold.dimension == 2
    if isinstance(measure, Density) or measure.cell_order:
        return np.zeros((0, 3 if on_sphere else 1)), None
    if snapshot.representation == ATOMS:
        points, masses = measure.points, measure.mass
    else:
        points, masses = some_tokens(measure), None
    return points if on_sphere else wrapped(points)[:, None], masses


def _text(array: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
