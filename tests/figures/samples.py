"""Kinds of figures of a run, runs without states, and studies made by hand."""

from dataclasses import replace

import numpy as np

from meanfield.figures.draw import PLOTS
from meanfield.studies.convergence_results import ConvergenceStudy
from meanfield.studies.ensemble_results import Ensemble

FIRST_BYTES = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml"}


def kinds_of(run):
    """Kinds that can be drawn: only atoms have a tree, only densities a spectral tail."""
    needs = {"tree": "atoms", "resolution": "density"}
    needs |= dict.fromkeys(("label_order", "labels", "fluctuations"), "labelled")
    return [
        name
        for name, kind in PLOTS.items()
        if run.manifold.name in kind.manifolds
        and needs.get(name, run.representation[0]) in run.representation
    ]


def stateless(run):
    """Run whose states were not kept."""
    return replace(run, measures=(None,) * len(run.time))


def legend_of(axes):
    """Words of the legend."""
    return [text.get_text() for text in axes.get_legend().get_texts()]


def comparison(sizes=3, repetitions=5, rate=0.1, **options):
    """Distances of tokens that scatter about e^{0.05 t} / sqrt(n)."""
    times, tokens = np.linspace(0.0, 60.0, 13), 10 ** np.arange(2, 2 + sizes)
    scatter = np.random.default_rng(0).gamma(6.0, size=(sizes, repetitions, 1)) / 6.0
    distances = tokens[:, None, None] ** -0.5 * scatter * np.exp(0.05 * times)
    onsets = np.log(tokens) / (2 * rate) if rate > 0 else np.full(sizes, np.inf)
    return ConvergenceStudy(times, tokens, distances, "W1", rate, onsets, **options)


def ensemble(times=(1.0, 2.0), *, predicted=3.5, **options):
    """Two sizes of four runs each, one of which has not been made."""
    counts = np.array([[[5, 3], [5, 4], [6, 3], [5, 3]], [[4, 4], [6, 5], [5, 4], [-1, -1]]])
    counts = counts[:, :, -len(times) :]
    nothing = np.full((*counts.shape, 1), np.nan)
    sizes = np.array([100, 1000])
    law = np.full(2, predicted)
    return Ensemble(np.array(times), sizes, np.log(sizes), counts, nothing, nothing, law, **options)
