"""A start that is disturbed at random, so that it has no symmetry: the user's decision.

    x <- x + size P_x (M x + b),    f_l <- f_l + size m_l

with M, b and the moments m of some points drawn with the seed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from meanfield.arrays import ModalArray
from meanfield.carriers.carrier import Representation
from meanfield.carriers.characteristics import CharacteristicsRepresentation
from meanfield.carriers.density import DensityRepresentation
from meanfield.carriers.labelled import LabelledRepresentation
from meanfield.carriers.layered import LayeredTokens
from meanfield.carriers.options import Options


def disturbed(carrier: Any, options: Options) -> Representation:
    """Carrier in its state, disturbed by `options.perturb`; the mass stays as it is."""
    size, rng = float(options.perturb or 0.0), np.random.default_rng([options.seed, 11])
    space, start = carrier.problem.manifold, carrier.state.copy()
    d = carrier.problem.manifold.ambient
    if isinstance(carrier, DensityRepresentation | LabelledRepresentation):
        rows = start[None]
        if isinstance(carrier, LabelledRepresentation):
            rows = start[:-1].reshape(len(carrier.labels.values), -1)
        drawn = space.random_points(d + 1, rng)
        moments: ModalArray = space.moments(drawn, rng.dirichlet(np.ones(d + 1)), 2)
        moments[0] = 0.0
        rows += size * space.resize(moments, space.degree_of(rows[0]))
    else:
        matrix, b = rng.standard_normal((d, d)), rng.standard_normal(d)
        measure = carrier.measure(carrier.state)
        push = space.vectors(measure.points) @ matrix.T + b
        if not isinstance(carrier, LayeredTokens):
            push = space.project(measure.points, push)
        push = push.reshape(len(measure.points), -1)
        if isinstance(carrier, CharacteristicsRepresentation):
            push = push * carrier.scale[:, None]
        start[: push.size] += size * push.ravel()
    moved: Representation = replace(carrier, state=start)
    return moved
