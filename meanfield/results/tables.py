"""HTML tables with drawings for notebooks: problems, runs, predictions, stationary states.

Other results show their report. Tables set no colours, so they fit light and dark pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.events import successor
from meanfield.observables import OBSERVABLES
from meanfield.problem import STILL, Problem
from meanfield.problem_facts import facts_of
from meanfield.results.report import Sparkline, bars, curve, html_table, problem_words
from meanfield.runs import NO_RATES, Run
from meanfield.spectrum.stability import dominant_degree, growth_rate_max, growth_rates
from meanfield.spectrum.time_units import paper_time_factor
from meanfield.stages import CHANGING
from meanfield.status import COMPLETED
from meanfield.studies.prediction import ClusterPrediction
from meanfield.terms.attention import Attention
from meanfield.terms.kernels import Kernel
from meanfield.terms.matrices import printed

if TYPE_CHECKING:
    from meanfield.stationary.states import StationaryState

Pairs = Iterable[tuple[str, Any]]

# Largest number of changes of the cluster count in one line; least probability of a count.
_MOST_CHANGES, _LEAST_SHARE = 8, 0.005
# Largest number of heads or stages, and of characters for each; models have hundreds of large ones.
_MOST_LISTED, _LONGEST = 8, 160
# Largest number of rates drawn as bars.
_MOST_RATES = 24
_FLOWS = {
    "none": "USA, velocity not divided by Z",
    "softmax": "SA, velocity divided by Z",
    "sinkhorn": "Sinkhorn, weights doubly stochastic",
}


def problem_html(problem: Problem) -> str:
    """Table of a problem, with linear theory about uniform."""
    return html_table("Problem", [*_problem(problem), *_linear(problem)])


def _problem(problem: Problem) -> Pairs:
    names = (*CHANGING, "layers", "frequencies")
    parts: dict[str, Any] = {name: getattr(problem, name) for name in names}
    parts |= {name: part for name, part, _ in problem.time_functions}
    kernel, flow = parts.pop("kernel"), parts.pop("flow")
    yield "manifold", problem.manifold.name
    if kernel != STILL:
        yield from _attention(problem, kernel)
    if isinstance(kernel, Attention):
        flow = kernel  # has the strength and the diffusivity as well
    if problem.mask != "none":
        yield "mask", str(problem.mask)
    if problem.sink:
        yield "sink", f"{problem.sink:g}, in units of the largest weight"
    for name, part in parts.items():
        if part is not None:
            yield name.replace("_", " "), _short(part)
    own = [term.name for term in problem.own_terms if term.is_users]
    if own:
        yield "terms of your own", ", ".join(own)
    if flow.strength != 1.0:
        yield "strength", printed(flow.strength) if callable(flow.strength) else flow.strength
    diffusivity = flow.diffusivity
    size = printed(diffusivity) if callable(diffusivity) else f"{diffusivity:g}"
    yield "diffusivity", f"{size} (scaled time)" if diffusivity else "0"
    if problem.time_functions:
        functions = ", ".join(name.replace("_", " ") for name, _, _ in problem.time_functions)
        yield "functions of time", f"{functions}; beta and rates are those of time 0"
    if problem.random is None:
        yield from _listed("stage", problem.stages)
    law = problem.initial
    yield "initial law", law.name if type(law).__repr__ is object.__repr__ else repr(law)


def _attention(problem: Problem, kernel: Kernel | Attention) -> Pairs:
    if problem.random is not None:
        yield "random values", _short(problem.random)
    elif isinstance(kernel, Kernel):
        yield "kernel", repr(kernel)
    else:
        yield from _listed("head", kernel.heads)
    if isinstance(kernel, Attention):
        yield "beta", f"{problem.beta:g}, the largest beta |B|_2 of the heads"
    yield "flow", _FLOWS[problem.normalization]


def _listed(name: str, parts: Sequence[object]) -> Pairs:
    """Rows of the first heads or stages, and their number if there are more."""
    for number, part in enumerate(parts[:_MOST_LISTED], 1):
        yield f"{name} {number}", _short(part)
    if len(parts) > _MOST_LISTED:
        yield f"{name}s", f"{len(parts)} in all"


def _short(part: object) -> str:
    return shorten(repr(part), _LONGEST, placeholder=" ...")


def _linear(problem: Problem) -> Pairs:
    """Rows on growth about uniform, and on paper time."""
    degree = dominant_degree(problem) if problem.is_isotropic else None
    if not problem.is_isotropic:
        yield "uniform", NO_RATES
    elif degree is None:
        yield "uniform", "stable: no degree grows"
    else:
        rate = growth_rate_max(problem)
        words = f"{degree}, grows at the rate {rate:.4g} per scaled time"
        rates = growth_rates(problem, max_degree=min(2 * degree, _MOST_RATES))
        yield "fastest degree", bars(rates[1:], words) if degree < _MOST_RATES else words
    yield "paper time", _paper(paper_time_factor(problem))


def _paper(factor: float) -> str:
    if factor == 1.0:
        return "the same as scaled time"
    return f"scaled time * {factor:.4g}" if factor else "scaled time * e^-beta, which underflows"


def run_html(run: Run) -> str:
    """Table of a run: problem, times, observables, status and resolution."""
    facts, times, name = run.facts, run.time, f"{run.unit} time"
    pairs: list[tuple[str, Any]] = []
    if facts.title:
        pairs.append(("title", facts.title))
    pairs.append(("problem", problem_words(facts)))
    if not len(times):
        return html_table("Run", [*pairs, ("ended", run.status)])
    pairs += [
        ("initial law", facts.initial),
        ("times", f"{len(times)} from {times[0]:g} to {times[-1]:g} ({name})"),
        ("representation", _representations(run)),
    ]
    if "clusters/count" in run.observables:
        pairs.append(("clusters", _changes(run)))
    for key, words in (("energy", "energy E / E[Dirac]"), ("order_parameter", "order parameter")):
        if key in run.observables:
            pairs.append((words, _ends(run.observables[key])))
    for key, values in run.observables.items():
        if key not in OBSERVABLES and not key.startswith("clusters/"):
            pairs.append((key, _ends(values)))
    ended = run.status
    if ended != COMPLETED:
        ended = f"{ended} (last saved time {times[-1]:g}, {name})"
    pairs.append(("ended", ended))
    pairs += _largest(run)
    return html_table("Run", pairs)


def _ends(values: FloatArray) -> Sparkline | str:
    """Curve of an observable with its first and last value; of arrays their length."""
    if values.ndim > 1:
        return f"arrays of {values.shape[1]}"
    return curve(values, f"{values[0]:.4g} at first, {values[-1]:.4g} at last")


def _representations(run: Run) -> str:
    """Representations of a run in order, with the times of hand-overs."""
    overs = [e for e in run.events_in(run.unit) if e.kind == "hand-over"]
    if not overs:
        return ", then ".join(key for key, _ in groupby(run.representation))
    first = overs[0].text.partition(" -> ")[0]
    later = [f"{successor(event)} from t = {event.time:.4g}" for event in overs]
    return f"{', '.join([first, *later])} ({run.unit} time)"


def _changes(run: Run) -> str:
    """Numbers of clusters over time, each with its first saved time."""
    counts, times = run.cluster_counts(), run.time
    if np.all(np.isnan(counts)):
        return "none"
    begins = [i for i in range(len(counts)) if i == 0 or _differ(counts[i - 1], counts[i])]
    text = begins
    if len(begins) > _MOST_CHANGES:
        half = _MOST_CHANGES // 2
        text = begins[:half] + begins[-half:]
    words = [f"{_count(counts[i])} from t = {times[i]:.4g}" for i in text]
    if np.isnan(counts[0]):
        words[0] = "none at first"
    if len(begins) > _MOST_CHANGES:
        words.insert(_MOST_CHANGES // 2, "...")
    return f"{', '.join(words)} ({run.unit} time)"


def _differ(one: float, other: float) -> bool:
    return one != other and not (np.isnan(one) and np.isnan(other))


def _count(value: float) -> str:
    return "none" if np.isnan(value) else f"{value:g}"


def _largest(run: Run) -> Pairs:
    """Rows with the largest spectral tail and error of cells, and the number of steps."""
    names = {"tail": "largest spectral tail", "error": "largest error of cells", "steps": "steps"}
    for key, words in names.items():
        values = run.diagnostics.get(key)
        if values is not None and np.isfinite(values).any():
            largest = float(np.nanmax(values))
            yield words, f"{largest:.0f}" if key == "steps" else f"{largest:.2g}"


def prediction_html(prediction: ClusterPrediction) -> str:
    """Table of a prediction: answer, laws and linear theory."""
    pairs: list[tuple[str, Any]] = [
        ("problem", problem_words(facts_of(prediction.problem))),
        ("tokens", prediction.format_tokens),
    ]
    if prediction.positions is None and prediction.message:
        return html_table("Cluster prediction", [*pairs, ("clusters", prediction.message)])
    pairs.append(("answer", prediction.answer))
    laws = [("corrected law", prediction.corrected), ("linear law", prediction.linear)]
    for name, law in laws:
        if law is not None:
            shares = ", ".join(
                f"{count}: {100 * share:.1f} %"
                for count, share in law.distribution.items()
                if share >= _LEAST_SHARE
            )
            error = f" +- {law.standard_error:.2g}" if law.standard_error > 0 else ""
            text = f"{shares}; mean {law.mean:.4g}{error}"
            pairs.append((name, bars(list(law.distribution.values()), text)))
    if prediction.note:
        pairs.append(("note", prediction.note))
    pairs += [
        ("end of the linear phase", f"t = {prediction.onset_time:.4g} (scaled time)"),
        ("fastest degree", prediction.dominant_degree),
    ]
    return html_table("Cluster prediction", pairs)


def state_html(state: StationaryState) -> str:
    """Table of a stationary state."""
    pairs = [
        ("problem", problem_words(facts_of(state.problem))),
        ("symmetry", state.symmetry.name),
        ("order parameter", state.order_parameter),
        ("free energy above uniform", state.free_energy),
        ("residual", f"{state.residual:.2g}"),
    ]
    return html_table("Stationary state, diffusivity in scaled time", pairs)
