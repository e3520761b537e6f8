"""Mean-field limit of self-attention on spheres of any dimension and in R^d.

Tokens attract each other with the weights of attention; their distribution mu obeys

    d_t mu + div(mu v) = 0,    v = grad (W * mu) / Z,    W(<x, y>) = e^{beta <x, y> - |beta|} / beta

with Z = 1 (USA, without softmax) or Z = int e^{beta <x, y> - |beta|} dmu(y) (SA, softmax).

Predict how many clusters 1,000 random tokens form, how likely and by when:

    problem = mf.Problem(mf.Circle(), mf.exponential(beta=9.0), mf.USA)
    print(mf.predict_clusters(problem, tokens=1000))

Run a density, and tokens drawn from it; count clusters over time and draw a figure:

    law = mf.perturbed_uniform([[4, 0.02, 0.0]])
    problem = mf.Problem(mf.Circle(), mf.exponential(beta=9.0), mf.USA, law)
    run = mf.simulate(problem, until=60.0)
    tokens = mf.simulate(problem, until=60.0, representation="particles", tokens=1000)
    run.time, run.cluster_counts(), run.measures[-1], run.plot()

Start with: Problem, predict_clusters, simulate, run (of a run file), load, wasserstein,
growth_rates, stationary_state, phase_diagram, ensemble, convergence_study.

Initial laws: uniform, perturbed_uniform, von_mises_fisher, mixture, sampled, normal_tokens,
configuration, from_points (your tokens), from_function, from_values, from_density.
"""

# __init__.pyi lists the public names. Each is loaded at its first use.

from __future__ import annotations

# Signals come first: whatever is loaded before them shows a traceback at Ctrl-C.
from meanfield.commands import loading as _loading  # noqa: F401

# isort: split
import os
from importlib import import_module
from typing import Any

from meanfield.names import HOMES, TOPICS, public
from meanfield.version import __version__ as __version__

# ducc0 fails on an empty value.
if not os.environ.get("OMP_NUM_THREADS", "1").strip():
    del os.environ["OMP_NUM_THREADS"]

# Python refuses to load its pools of threads once the main thread has ended, and a thread of the
# script may be the first to ask for a name below.
import_module("concurrent.futures.thread")

__all__ = sorted(HOMES)

# `dir(mf)` lists the names that a first notebook uses. All other public names work, too.
_FIRST = """
    Attention Axial Circle Density FeedForward Flow Head Layers LinearDrift Measure Problem Run
    SA Seen SimulationError Sphere Stage USA VectorField attention_matrix bifurcation_diagram check
    cluster_tree configuration convergence_study critical_diffusivity ensemble exponential
    fluctuations from_density from_function from_points from_values gradient growth_rates linear
    linear_operator load load_encoder load_sweep merging_diagram mixture normal_tokens observable
    onset_time perturbed_uniform phase_diagram phase_point predict_clusters replay run sampled
    simulate stationary_state sweep uniform verify von_mises_fisher wasserstein zonal
"""


def __getattr__(name: str) -> Any:
    if name == "Hypersphere":
        raise AttributeError("Hypersphere(m), S^m, is Sphere(m + 1), the unit sphere of R^{m+1}.")
    if name in TOPICS:
        return import_module(f"{__name__}.{name}")
    if name not in HOMES:
        from meanfield.renamed import warned_class

        if (new := warned_class(name)) is not None:
            return public(new)
        from meanfield.errors import nearest

        near = None if name.startswith("_") else nearest(name, HOMES)
        meant = f"; did you mean {near}?" if near else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{meant}")
    value = public(name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(["__version__", *_FIRST.split(), *TOPICS])
