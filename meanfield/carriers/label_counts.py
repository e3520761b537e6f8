"""Numbers of labels: enough for the start of a run, and more if the error estimate needs them.

A law that is a function of the label may vary between labels. So at time 0 two rules expand it in
waves of u (`labels`), with numbers of nodes that have no common factor. Both alias a wave that is
too fast, but to different waves.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from meanfield.arrays import FloatArray, ModalArray
from meanfield.errors import Final
from meanfield.labels import MOST_POSITIONS, Labels, position_samples
from meanfield.laws.initial import from_labels
from meanfield.problem import Problem
from meanfield.terms.frequencies import Lorentzian
from meanfield.terms.position_rules import Panels

# Largest numbers that a run takes by itself; users may ask for more.
_MOST_FREQUENCIES = 4096
_MOST_USUAL_POSITIONS = MOST_POSITIONS // 3
# Factor between numbers of labels: odd, so that the new labels include the old ones.
_MORE = 3
# Nodes of the second rule, a prime. It may miss structures narrower than their distance.
_SAMPLES = 1009
# C of `enough_labels`. Measured: 2.7 to 3.1 for 1,728 to 16,001 labels and Delta t from 0.04 to 20.
_ENVELOPE = 3.2
# Factor by which attention may amplify the waves.
_GROWTH = 1.5
_PLURAL = {"position": "positions", "frequency": "frequencies"}


def next_refinement(problem: Problem, labels: Labels) -> int | None:
    """Refinement with three times as many labels; None at the limit, and for laws from arrays."""
    most = _MOST_FREQUENCIES if labels.name == "frequency" else _MOST_USUAL_POSITIONS
    law = problem.initial
    arrays = isinstance(law, from_labels) and law.count is not None
    fixed = arrays or _MORE * len(labels.values) > most
    return None if fixed else _MORE * labels.refinement


def resolving_labels(
    problem: Problem, count: int | None, refinement: int, tolerance: float
) -> tuple[Labels, ModalArray]:
    """Labels that resolve the initial law to a tolerance, and its coefficients at each label."""
    law = problem.initial
    while True:
        labels = problem.labels(count, refinement)
        parts = problem.label_parts(labels)
        if not isinstance(law, from_labels) or law.count is not None or not len(labels.residual):
            return labels, parts
        samples = _samples(problem, len(labels.values))
        spectrum = _spectrum(problem, law, samples)
        if labels.panels is None:
            error = _difference(problem, labels.name, labels.spectrum(parts), spectrum)
        else:
            error = _between(problem, law, labels, parts)
        if error <= tolerance:
            return labels, parts
        more = next_refinement(problem, labels)
        if more is None:
            break
        count, refinement = len(labels.values) // refinement, more
    finer = _samples(problem, len(samples.values))
    waves = _spectrum(problem, law, finer)
    count = len(labels.values)
    most = min(len(spectrum), labels.most)
    enough = 1.2 * max(count, _waves(labels.name, np.abs(waves).max(axis=1), tolerance))
    advice = f"give labels = {enough:.0f} or more"
    if enough > most or _difference(problem, labels.name, spectrum, waves) > tolerance:
        advice = f"even {most} would not do: let it vary less with the label"
    raise ValueError(
        f"the initial law varies between {count} {_PLURAL[labels.name]}, which leave "
        f"an error of {error:.1g} in its moments, allowed is {tolerance:.1g}; {advice}, or take a "
        "larger tolerance"
    )


class TooFewLabels(Final):
    """Reason to end a run: labels differ more than their quadrature resolves."""


def too_few_labels(labels: Labels, error: float, allowed: float) -> TooFewLabels:
    """Reason with both errors."""
    return TooFewLabels(
        f"{len(labels.values)} {_PLURAL[labels.name]} resolve moments to {allowed:.1g} until here, "
        f"then to {error:.2g}"
    )


def enough_labels(problem: Problem, labels: Labels, allowed: float, until: float) -> int:
    """Number of labels for a run to a scaled time that ended with `too_few_labels`.

    With Lorentz's law, and data that do not decay in its tails, the error of M labels is at most

        |c_k| C (k Delta t)^{1/4} M^{-3/4}.

    For other laws the number is three times as large.
    """
    law, more = problem.frequencies, _MORE * len(labels.values)
    if not isinstance(law, Lorentzian):
        return more
    sizes = np.abs(problem.label_parts(labels)).max(axis=0)
    waves = sizes * (np.arange(len(sizes)) * law.width * until) ** 0.25
    error = _GROWTH * _ENVELOPE * float(waves.max())
    return max(more, int((error / allowed) ** (4.0 / 3.0)) + 1)


def _samples(problem: Problem, count: int) -> Labels:
    """Labels of the second rule: their number has no common factor with `count`."""
    samples = max(_SAMPLES, 2 * count + 1)
    if problem.frequencies is not None:
        return Labels("frequency", *problem.frequencies.nodes(samples))
    return position_samples(samples)


def _spectrum(problem: Problem, law: from_labels, labels: Labels) -> ModalArray:
    return labels.spectrum(law.parts(problem.manifold, labels.values))


def _difference(problem: Problem, name: str, few: ModalArray, many: ModalArray) -> float:
    """Largest difference between two spectra in the waves of the first."""
    space = problem.manifold
    degree = max(space.degree_of(few), space.degree_of(many))
    waves = np.arange(len(few)) - (len(few) // 2 if name == "frequency" else 0)
    differences = space.resize(few, degree)[waves] - space.resize(many, degree)[waves]
    return float(np.abs(differences).max())


def _between(problem: Problem, law: from_labels, labels: Labels, parts: ModalArray) -> float:
    """Largest difference between a law and the polynomials through its moments at labels."""
    space, panels = problem.manifold, cast(Panels, labels.panels)
    values = _samples(problem, len(labels.values)).values
    exact = law.parts(space, values)
    degree = max(space.degree_of(parts), space.degree_of(exact))
    between = panels.interpolation(values) @ space.resize(parts, degree)
    return float(np.abs(space.resize(exact, degree) - between).max())


def _waves(name: str, sizes: FloatArray, tolerance: float) -> int:
    """Number of labels that the fastest wave above the tolerance needs."""
    waves = np.arange(len(sizes))
    if name == "frequency":
        # Both signs: 0, 1, ..., -2, -1.
        waves = 2 * np.minimum(waves, len(sizes) - waves)
    return int(waves[sizes > tolerance].max(initial=0))
