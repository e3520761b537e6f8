"""The problem that options describe, for commands without a run file."""

from __future__ import annotations

import argparse

from meanfield.errors import known_names
from meanfield.flows import Flow
from meanfield.kernels import KERNELS, Kernel
from meanfield.manifolds import manifold_of
from meanfield.problem import Problem


def problem_of(options: argparse.Namespace) -> Problem:
    """Problem of --manifold, --beta, --kernel, --normalized, --strength and --diffusivity.

    Raises
    ------
    ValueError
        If one of them is not known or out of range.
    """
    flow = Flow(options.normalized, options.strength, options.diffusivity)
    return Problem(manifold_of(options.manifold), kernel_of(options.kernel, options.beta), flow)


def kernel_of(name: str, beta: float) -> Kernel:
    """Kernel of a name and an inverse temperature.

    Raises
    ------
    ValueError
        If there is none of this name.
    """
    if name not in KERNELS:
        raise ValueError(f"--kernel {name} is not known. {known_names(name, KERNELS)}")
    return KERNELS[name](beta)
