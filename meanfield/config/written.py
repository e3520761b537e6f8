"""What a call in Python asks for, as the document of a run file.

Files of runs tell what they were made from. Kernels and laws that no run file can say, as
functions, stand there by their names; laws with a digest of the measure that they begin with.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from meanfield.attention import Head
from meanfield.config.frequencies import written_frequencies
from meanfield.config.sections import PARTS
from meanfield.initial import (
    Configured,
    InitialLaw,
    Mixture,
    NormalTokens,
    PerturbedUniform,
    Profile,
    Sampled,
    Uniform,
)
from meanfield.kernels.zonal import Zonal
from meanfield.measures import Density, LabelledDensity, Measure
from meanfield.problem import TERMS, Problem
from meanfield.representations import Options
from meanfield.stages import Stage


def written(problem: Problem, options: Options, time: Mapping[str, Any]) -> dict[str, Any]:
    """Document of a problem, its options and the section [time].

    Examples
    --------
    >>> import meanfield as mf
    >>> law = mf.von_mises_fisher(2.0)
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=4.0), mf.SA, law)
    >>> tables = written(problem, Options(tolerance=1e-8), {"end": 1.0})
    >>> tables["problem"]["normalized"], tables["initial"], tables["representation"]
    (True, {'name': 'von_mises_fisher', 'concentration': 2.0}, {'name': 'auto', 'tolerance': 1e-08})
    """
    usual = Options()
    changed = {
        name: getattr(options, name)
        for name in ("tolerance", "max_degree", "max_nodes", "tokens", "seed", "labels")
        if getattr(options, name) != getattr(usual, name)
    }
    return {
        **_problem(problem),
        "initial": _initial(problem),
        "representation": {"name": options.name, **changed},
        "time": {key: value for key, value in time.items() if value is not None},
    }


def _problem(problem: Problem) -> dict[str, Any]:
    """Sections [problem] and those of its parts."""
    parts = {name: _plain(getattr(problem, name)) for name in PARTS if name != "frequencies"}
    given = {name: part for name, part in parts.items() if part is not None}
    if problem.frequencies is not None:
        given["frequencies"] = written_frequencies(problem.frequencies)
    stages = [_stage(problem, stage) for stage in problem.stages]
    return _attention(problem) | given | ({"stages": stages} if stages else {})


def _stage(problem: Problem, stage: Stage) -> dict[str, Any]:
    """Section [[stages]]: kernel and flow as a whole, where one of them is another."""
    told: dict[str, Any] = {} if stage.end is None else {"end": stage.end}
    if stage.kernel is not None or stage.flow is not None:
        kernel = problem.kernel if stage.kernel is None else stage.kernel
        flow = problem.flow if stage.flow is None else stage.flow
        own = _attention(replace(problem, kernel=kernel, flow=flow, stages=()))
        del own["problem"]["manifold"]
        told |= {"mask": "none"} if problem.mask != "none" else {}
        told |= own.pop("problem") | own
    for name in TERMS:
        if getattr(stage, name) is not None:
            told[name] = _plain(getattr(stage, name))
    return told


def _plain(part: Any) -> dict[str, Any] | None:
    """Keys of a part, matrices as lists."""
    if part is None:
        return None
    given = {each.name: getattr(part, each.name) for each in fields(part)}
    return {
        name: value if isinstance(value, str | int) else np.asarray(value).tolist()
        for name, value in given.items()
        if value is not None
    }


def _attention(problem: Problem) -> dict[str, Any]:
    """Sections [problem] and, of an attention with matrices, [[heads]]."""
    asked: dict[str, Any] = {"manifold": problem.manifold.name}
    flow = {"strength": problem.flow.strength, "diffusivity": problem.flow.diffusivity}
    of = problem.attention
    if of is not None:
        asked |= {"kernel": "exponential", "normalization": of.normalization}
        mask = None if of.mask == "none" else of.mask
        optional = {"beta": of.beta, "mask": mask, "alibi_rate": of.alibi_rate}
        given = {name: value for name, value in optional.items() if value is not None}
        return {"problem": asked | given | flow, "heads": [_head(head) for head in of.heads]}
    kernel = problem.own_kernel
    asked |= {
        "kernel": "zonal" if isinstance(kernel, Zonal) else kernel.name,
        "beta": kernel.beta,
        "normalized": problem.flow.normalized,
        **flow,
    }
    if isinstance(kernel, Zonal):
        own = kernel.circle_multipliers
        asked |= {"attention": kernel.name} if own is None else {"multipliers": list(own)}
    return {"problem": asked}


def _head(head: Head) -> dict[str, Any]:
    """Keys of a head, matrices as lists."""
    names = ("value", "beta", *(("query", "key") if head.score is None else ("score",)))
    given = {name: getattr(head, name) for name in names}
    return {k: np.asarray(matrix).tolist() for k, matrix in given.items() if matrix is not None}


def _initial(problem: Problem) -> dict[str, Any]:
    law: InitialLaw = problem.initial
    if isinstance(law, Profile):
        return _initial(replace(problem, initial=law.law)) | {"profile": float(law.power)}
    if isinstance(law, Uniform):
        return {"name": law.name}
    if isinstance(law, PerturbedUniform):
        return {"name": law.name, "modes": [[float(a) for a in mode] for mode in law.modes]}
    if isinstance(law, Mixture):
        parts = [
            {"weight": float(weight), **_component(mean, concentration)}
            for weight, mean, concentration in law.components
        ]
        if law.name == "mixture":
            return {"name": law.name, "components": parts}
        del parts[0]["weight"]
        return {"name": law.name, **parts[0]}
    if isinstance(law, Sampled):
        known = {"tokens": law.tokens, "seed": law.seed, "max_degree": law.max_degree}
        return {"name": law.name, **{k: v for k, v in known.items() if v is not None}}
    if isinstance(law, Configured):
        known = {"tokens": law.tokens, "dimension": law.dimension}
        given = {k: v for k, v in known.items() if v is not None}
        weights = {} if law.weights is None else {"weights": [float(mass) for mass in law.weights]}
        return {"name": law.name, "shape": law.shape, **given, **weights}
    if isinstance(law, NormalTokens):
        return {"name": law.name, "tokens": law.tokens, "seed": law.seed, "scale": law.scale}
    return {"name": law.name, "digest": _digest(problem.initial_measure())}


def _component(mean: Any, concentration: float) -> dict[str, Any]:
    centre = mean if mean is None or np.ndim(mean) == 0 else [float(x) for x in mean]
    given = {} if centre is None else {"mean": centre}
    return {**given, "concentration": float(concentration)}


def _digest(measure: Density | Measure) -> str:
    """What tells one initial measure from another."""
    if isinstance(measure, LabelledDensity):
        arrays = [measure.parts]
    elif isinstance(measure, Density):
        arrays = [measure.coefficients]
    else:
        arrays = [measure.points, measure.mass]
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
