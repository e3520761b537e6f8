"""What `meanfield predict` prints: tables for people, one JSON object for programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from meanfield.commands.tables import facts, table, to_json
from meanfield.run import problem_attributes
from meanfield.studies.count_law import CountLaw
from meanfield.studies.prediction import ClusterPrediction
from meanfield.theory.time_units import paper_time_factor
from meanfield.theory.token_prediction import TokenPrediction

_ROWS = 30
_BAR = 20
# Less is not worth a row.
_LEAST_SHARE = 5e-4


def report(prediction: ClusterPrediction) -> str:
    """Tables of a prediction."""
    problem = prediction.problem
    flow = f"{'SA' if problem.flow.normalized else 'USA'}, strength {problem.flow.strength:g}"
    if problem.flow.diffusivity:
        flow += f", diffusivity {problem.flow.diffusivity:g}"
    pairs: list[tuple[str, Any]] = [
        ("problem", f"{problem.manifold.name}, {problem.kernel!r}"),
        ("flow", flow),
        ("tokens", prediction.tokens),
    ]
    if prediction.message:
        parts = [facts([*pairs, ("clusters", prediction.message)])]
    else:
        parts = [facts([*pairs, *_linear_theory(prediction), *_means(prediction)])]
        parts.append(_distribution(prediction.linear, prediction.corrected))
    if prediction.note:
        parts.append(f"note: {prediction.note}.")
    if prediction.positions is not None:
        parts.append(_positions(prediction.positions))
    return "\n\n".join(parts)


def report_json(prediction: ClusterPrediction) -> str:
    """One JSON object."""
    corrected = prediction.corrected
    found = problem_attributes(prediction.problem)
    # A prediction is for independent uniform tokens, or for those given.
    del found["initial"]
    found |= {
        "tokens": prediction.tokens,
        "dominant_degree": prediction.dominant_degree,
        "second_degree": prediction.second_degree,
        "rate_ratio": prediction.rate_ratio,
        "tokens_for_dominance": prediction.tokens_for_dominance,
        "onset_time": prediction.onset_time,
        "mean_clusters": prediction.mean_clusters,
        "distribution": prediction.distribution,
        "most_likely": prediction.linear.most_likely,
        "monte_carlo_mean": prediction.linear.mean,
        "standard_error": prediction.linear.standard_error,
        "corrected": None
        if corrected is None
        else {
            "mean": corrected.mean,
            "distribution": corrected.distribution,
            "most_likely": corrected.most_likely,
            "standard_error": corrected.standard_error,
            "samples": corrected.samples,
        },
        "note": prediction.note,
        "samples": prediction.linear.samples,
        "seed": prediction.seed,
    }
    if prediction.message:
        found["message"] = prediction.message
    where = prediction.positions
    if where is not None:
        found |= {
            "positions": where.positions,
            "masses": where.masses,
            "dominant_positions": where.dominant_positions,
        }
    return to_json(found)


def _linear_theory(prediction: ClusterPrediction) -> list[tuple[str, Any]]:
    time, factor = prediction.onset_time, paper_time_factor(prediction.problem)
    pairs: list[tuple[str, Any]] = [("dominant degree", prediction.dominant_degree)]
    if prediction.second_degree is not None:
        ratio = f"{prediction.second_degree}, grows at {prediction.rate_ratio:.6g} of the rate"
        pairs.append(("second degree", ratio))
        needed = prediction.tokens_for_dominance
        text = f"{needed:.3g} tokens" if np.isfinite(needed) else "more than 1e308 tokens"
        pairs.append(("10 to 1 dominance", f"needs {text}"))
    onset = f"{time:.6g} scaled time"
    if factor not in (0.0, 1.0):
        onset += f", {time * factor:.6g} paper time"
    return [*pairs, ("onset time", onset)]


def _means(prediction: ClusterPrediction) -> list[tuple[str, Any]]:
    law, corrected = prediction.linear, prediction.corrected
    pairs: list[tuple[str, Any]] = [
        ("mean clusters", f"{prediction.mean_clusters:.4f} at the onset time, closed form"),
        ("Monte Carlo", f"{_mean(law)}, {law.samples} samples, seed {prediction.seed}"),
    ]
    if corrected is not None:
        pairs.append(("corrected law", f"{_mean(corrected)}, {corrected.samples} short runs"))
    return pairs


def _mean(law: CountLaw) -> str:
    if not np.isfinite(law.standard_error):
        return f"{law.mean:.4f}"
    return f"{law.mean:.4f} +- {law.standard_error:.2g}"


def _distribution(linear: CountLaw, corrected: CountLaw | None) -> str:
    """Rows of probabilities with a bar each; the rarest numbers are left out."""
    laws = [linear] if corrected is None else [linear, corrected]
    most = {k: max(law.distribution.get(k, 0.0) for law in laws) for k in _numbers(laws)}
    chosen = sorted(sorted(most, key=most.__getitem__, reverse=True)[:_ROWS])
    chosen = [k for k in chosen if most[k] >= _LEAST_SHARE]
    header, rows = ["clusters"], [[str(k)] for k in chosen]
    largest = max(most.values())
    for name, law in zip(("linear law", "corrected law"), laws, strict=False):
        header += [name, "".ljust(_BAR)]
        for k, row in zip(chosen, rows, strict=True):
            share = law.distribution.get(k, 0.0)
            row += [f"{share:.4f}", ("#" * round(_BAR * share / largest)).ljust(_BAR)]
    text = table(header, rows)
    left = len(most) - len(chosen)
    return text + (f"\n... {left} rarer numbers: --json has them all." if left else "")


def _numbers(laws: list[CountLaw]) -> set[int]:
    return {k for law in laws for k in law.distribution}


def _positions(where: TokenPrediction) -> str:
    """Where each cluster will form and what it will weigh, heaviest first."""
    order = np.argsort(-where.masses, kind="stable")
    on_circle = where.positions.ndim == 1
    rows = []
    for i in order[:_ROWS]:
        place = np.atleast_1d(where.positions[i])
        rows.append([f"{where.masses[i]:.4f}", *[f"{value:.6f}" for value in place]])
    text = table(["mass", *(["angle"] if on_circle else ["x", "y", "z"])], rows)
    if len(order) > _ROWS:
        text += f"\n... {len(order) - _ROWS} lighter ones: --json has them all."
    plural = "s" * (len(order) > 1)
    text = f"{len(order)} cluster{plural} of these tokens, by linear theory\n" + text
    if len(where.dominant_positions):
        angles = ", ".join(f"{angle:.4f}" for angle in where.dominant_positions[:_ROWS])
        more = ", ..." if len(where.dominant_positions) > _ROWS else ""
        text += f"\nthe dominant degree alone: {angles}{more}"
    return text
