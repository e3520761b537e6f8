"""Report of a cluster prediction, for `predict` and `print`."""

from __future__ import annotations

from typing import Any

import numpy as np

from meanfield.problem_facts import problem_attributes
from meanfield.results.report import Report, facts, flow_facts, table
from meanfield.spectrum.time_units import paper_time_factor
from meanfield.studies.count_law import CountLaw
from meanfield.studies.prediction import ClusterPrediction
from meanfield.studies.token_prediction import TokenPrediction

_MOST_ROWS = 30
_LEGEND = "+-: one standard error of the samples."
_LEGEND_CORRECTED = (
    f"{_LEGEND} The answer is the corrected law.\n"
    "The dominant degree is of linear theory and need not be the number of clusters: other degrees "
    "grow, too, and wells merge."
)
_BAR = 20
_CORRECTED = ("mean", "distribution", "most_likely", "standard_error", "samples")
# Less is not worth a row.
_LEAST_PROBABILITY = 5e-4


def prediction_report(prediction: ClusterPrediction) -> Report:
    """Both laws beside each other, what led to them, and where given tokens will gather."""
    problem = prediction.problem
    pairs: list[tuple[str, Any]] = [
        ("problem", f"{problem.manifold.name}, {problem.zonal.kernel!r}"),
        *flow_facts(problem.flow),
        ("tokens", prediction.format_tokens),
    ]
    where = prediction.positions
    # The user's own tokens first, then random ones.
    blocks = [] if where is None else [prediction.answers[0], _positions(where)]
    if prediction.message:
        blocks.append(facts([*pairs, ("clusters", prediction.message)]))
    else:
        blocks.append(prediction.answers[-1])
        blocks.append(facts([*pairs, *_linear_theory(prediction), *_means(prediction)]))
        blocks.append(_distribution(prediction.linear, prediction.corrected))
        blocks.append(_LEGEND_CORRECTED if prediction.corrected is not None else _LEGEND)
    if prediction.note:
        blocks.append(f"note: {prediction.note}.")
    corrected = prediction.corrected
    data = problem_attributes(prediction.problem)
    # A prediction is for independent uniform tokens, or for those given.
    del data["initial"]
    data |= {
        "tokens": prediction.tokens,
        "dominant_degree": prediction.dominant_degree,
        "second_degree": prediction.second_degree,
        "rate_ratio": prediction.rate_ratio,
        "tokens_for_dominance": prediction.tokens_for_dominance,
        "onset_time": prediction.onset_time,
        "formation_time": prediction.formation_time,
        "counting_time": prediction.counting_time,
        "answer": prediction.answer,
        "mean_clusters": prediction.mean_clusters_linear,
        "distribution": prediction.linear.distribution,
        "most_likely": prediction.linear.most_likely if prediction.linear_law_holds else None,
        "monte_carlo_mean": prediction.linear.mean,
        "standard_error": prediction.linear.standard_error,
        "corrected": None if corrected is None else {n: getattr(corrected, n) for n in _CORRECTED},
        "merge_times": prediction.merge_times,
        "note": prediction.note,
        "samples": prediction.linear.samples,
        "seed": prediction.seed,
    }
    if prediction.message:
        data["message"] = prediction.message
    if where is not None:
        data |= {
            "positions": where.positions,
            "masses": where.masses,
            "dominant_positions": where.dominant_positions,
        }
    return Report(blocks, data)


def _linear_theory(prediction: ClusterPrediction) -> list[tuple[str, Any]]:
    time, factor = prediction.onset_time, paper_time_factor(prediction.problem)
    pairs: list[tuple[str, Any]] = [("dominant degree", prediction.dominant_degree)]
    if prediction.second_degree is not None:
        degree, second = prediction.dominant_degree, prediction.second_degree
        ratio = f"{second}, grows at {prediction.rate_ratio:.6g} of the rate"
        pairs.append(("second degree", ratio))
        needed = prediction.tokens_for_dominance
        text = f"{needed:.3g} tokens" if np.isfinite(needed) else "more than 1e308 tokens"
        pairs.append(("dominance", f"degree {degree} is ten times degree {second} from {text} on"))
    for name, value in (("onset time", time), ("formed by", prediction.formation_time)):
        text = f"{value:.6g} scaled time"
        if factor not in (0.0, 1.0):
            text += f", {value * factor:.6g} paper time"
        pairs.append((name, text))
    return pairs


def _means(prediction: ClusterPrediction) -> list[tuple[str, Any]]:
    law, corrected = prediction.linear, prediction.corrected
    pairs: list[tuple[str, Any]] = []
    if corrected is not None:
        pairs.append(("corrected law", f"mean {_mean(corrected)}, {corrected.samples} short runs"))
    closed = f"mean {prediction.mean_clusters_linear:.4f} at the onset time, closed form"
    counted = f"mean {_mean(law)}, {law.samples} samples, seed {prediction.seed}"
    return [*pairs, ("linear law", closed), ("the same, sampled", counted)]


def _mean(law: CountLaw) -> str:
    if not np.isfinite(law.standard_error):
        return f"{law.mean:.4f}"
    return f"{law.mean:.4f} +- {law.standard_error:.2g}"


def _distribution(linear: CountLaw, corrected: CountLaw | None) -> str:
    """Rows of probabilities with a bar each, the better law first, without the rarest numbers."""
    named = {"corrected law": corrected, "linear law": linear}
    laws = {name: law for name, law in named.items() if law is not None}
    numbers = {k for law in laws.values() for k in law.distribution}
    most = {k: max(law.distribution.get(k, 0.0) for law in laws.values()) for k in numbers}
    chosen = sorted(sorted(most, key=most.__getitem__, reverse=True)[:_MOST_ROWS])
    chosen = [k for k in chosen if most[k] >= _LEAST_PROBABILITY]
    header, rows = ["clusters"], [[str(k)] for k in chosen]
    largest = max(most.values())
    for name, law in laws.items():
        header += [name, "".ljust(_BAR)]
        for k, row in zip(chosen, rows, strict=True):
            share = law.distribution.get(k, 0.0)
            row += [f"{share:.4f}", ("#" * round(_BAR * share / largest)).ljust(_BAR)]
    text = table(header, rows)
    left = len(most) - len(chosen)
    return text + (f"\n... {left} rarer numbers: --json has them all." if left else "")


def _positions(where: TokenPrediction) -> str:
    """Where each cluster will form and what it will weigh, heaviest first."""
    order = np.argsort(-where.masses, kind="stable")
    on_circle = where.positions.ndim == 1
    rows = []
    for i in order[:_MOST_ROWS]:
        place = np.atleast_1d(where.positions[i])
        rows.append([f"{where.masses[i]:.4f}", *[f"{value:.6f}" for value in place]])
    text = table(["mass", *(["angle"] if on_circle else ["x", "y", "z"])], rows)
    if len(order) > _MOST_ROWS:
        text += f"\n... {len(order) - _MOST_ROWS} lighter ones: --json has them all."
    if len(where.dominant_positions):
        angles = ", ".join(f"{angle:.4f}" for angle in where.dominant_positions[:_MOST_ROWS])
        more = ", ..." if len(where.dominant_positions) > _MOST_ROWS else ""
        text += f"\nthe dominant degree alone: {angles}{more}"
    return text
