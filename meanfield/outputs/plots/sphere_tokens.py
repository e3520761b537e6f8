"""Tokens on pictures of the sphere: those of a particle run, or some that follow a density; atoms.

Tokens of a density start at equal masses: z_i is the quantile (i + 1/2) / n of its marginal in z,
and the longitude the quantile frac(i / golden ratio) given z, a Fibonacci lattice where it is
uniform; nodes of characteristics are taken at the same quantiles of their masses as they are
stored. They follow dx / dt = v(x, t) of the stored moments, cubic splines in time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.outputs.plots.sphere_picture import token_style
from meanfield.pictures.saved_times import atoms_at
from meanfield.run import Run

# Of atoms: one that holds all the mass, and the lightest.
_AREA, _SMALLEST = 90.0, 2.5


def dot_style(run: Run, index: int, tokens: FloatArray, scale: float = 1.0) -> dict[str, Any]:
    """Areas and opacity of dots: of atoms by mass, of tokens small and faint where many."""
    atoms = atoms_at(run, index)
    if atoms is None or len(atoms.points) != len(tokens):
        style = token_style(int(len(tokens) * scale))
        return style | {"s": np.full(len(tokens), style["s"])}
    return {"s": np.maximum(_AREA * atoms.mass, _SMALLEST) / scale, "alpha": 0.9}
