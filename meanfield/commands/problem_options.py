"""The problem that options describe, for commands without a run file."""

from __future__ import annotations

import argparse
from dataclasses import replace

from meanfield.errors import list_names
from meanfield.problem import Problem
from meanfield.spaces import manifold_of
from meanfield.terms.flows import Flow
from meanfield.terms.kernels import KERNELS, Kernel


def problem_of(options: argparse.Namespace) -> Problem:
    """Problem of --manifold, --beta, --kernel, --normalization, --strength and --diffusivity."""
    flow = replace(flow_of(options), strength=options.strength, diffusivity=options.diffusivity)
    return Problem(manifold_of(options.manifold), kernel_of(options.kernel, options.beta), flow)


def flow_of(options: argparse.Namespace) -> Flow:
    """Flow of --normalization, or --normalized."""
    return Flow(options.normalization, normalized=options.normalized)


def kernel_of(name: str, beta: float) -> Kernel:
    """Kernel of a name and an inverse temperature."""
    if name not in KERNELS:
        raise ValueError(f"--kernel {name} is not known. {list_names(name, KERNELS)}")
    return KERNELS[name](beta)
