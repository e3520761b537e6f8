"""Checks of symmetries: what the initial measure and the problem share, a run keeps.

Rounding breaks a symmetry, and the flow makes what is broken grow, by e^{rate t} in W_1 at most
(`bounds.growth`). Where that has become visible a symmetry says nothing, and is not asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from meanfield.arrays import ComplexArray, FloatArray, ModalArray
from meanfield.verification.bounds import growth
from meanfield.verification.result import Check, measured, not_applicable
from meanfield.verification.subject import Subject

# Below this moments are those of rounding: a law gives them to 1e-15, transforms to 1e-13.
_ZERO = 1e-12
# What rounding leaves of a symmetry in each step: transforms to points are good to 1e-13.
_STEP = 1e-13
# Of exponents.
_LONGEST = 700.0
# Beyond, a symmetry may be gone.
_VISIBLE = 1e-3


@dataclass(frozen=True, eq=False)
class Symmetry:
    """A symmetry of a measure, as moments see it.

    Attributes
    ----------
    name : str
        Derived.
    forbidden : ndarray
        Derived. 0 for moments that may be there, and for others 1 over the slope of their degree,
        so that they are distances in W_1; as `Manifold.spread` has moments.
    turn : ndarray, optional
        Derived. Factors that make all moments real if the symmetry is there.
    """

    name: str
    forbidden: FloatArray
    turn: ComplexArray | None = None

    def broken(self, moments: ModalArray) -> float:
        """Distance in W_1 that moments are at least from such as have the symmetry."""
        seen = np.abs(moments if self.turn is None else (moments * self.turn).imag)
        return float((seen * self.forbidden).max(initial=0.0))


def kept(subject: Subject) -> Iterator[Check]:
    """A check of every symmetry that the first moments have."""
    name = "symmetry"
    reason = _unsymmetric(subject)
    if reason:
        yield not_applicable(name, reason)
        return
    found = _symmetries(subject)
    if not found:
        yield not_applicable(name, "the first measure has none of those that are looked for")
    allowed = _allowed(subject)
    for symmetry in found:
        yield _kept(subject, symmetry, allowed)


def _unsymmetric(subject: Subject) -> str:
    """Why symmetries are not asked for."""
    run, problem = subject.run, subject.problem
    if problem is None:
        return subject.no_problem
    if len(run.scaled_time) < 2:
        return "one saved time"
    if subject.space.family == "vectors":
        return "moments up to the mean vector tell of none"
    if problem.layers is not None and not problem.layers.keeps_time:
        return "layers move tokens, no flow"
    if not all(each.is_isotropic for each in subject.staged):
        return "frequencies, fixed fields or heads prefer directions"
    if problem.attention is not None:
        return "no bound of growth is known for heads"
    if problem.flow.diffusivity and any(name != "density" for name in run.representation):
        return "noise breaks it"
    return ""


def _symmetries(subject: Subject) -> list[Symmetry]:
    """Symmetries of the first moments."""
    space, first = subject.space, subject.run.moments[0]
    if space.family == "circle":
        candidates = _of_circle(first)
    elif space.family == "sphere":
        candidates = _of_sphere(first)
    else:
        candidates = [Symmetry("antipodal", _odd(len(first)))]
    return [each for each in candidates if each.broken(first) <= _ZERO]


def _odd(count: int) -> FloatArray:
    degrees = np.arange(count)
    return np.where(degrees % 2 == 1, 1.0 / np.maximum(degrees, 1), 0.0)


def _of_circle(first: ModalArray) -> list[Symmetry]:
    """Rotations by 2 pi / n, and reflections about an axis."""
    degrees = np.arange(len(first))
    # e^{ik theta} has the slope k.
    slope = np.where(degrees > 0, 1.0 / np.maximum(degrees, 1), 0.0)
    seen = degrees[1:][np.abs(first[1:]) > _ZERO]
    if not len(seen):
        return [Symmetry("uniform", slope)]
    fold = int(np.gcd.reduce(seen))
    found = []
    if fold > 1:
        found.append(Symmetry(f"rotation by 1/{fold}", slope * (degrees % fold != 0)))
    # c_k e^{ik alpha} is real for all k of what is even about alpha.
    k = int(seen[np.argmax(np.abs(first[seen]))])
    for turned in (-np.angle(first[k]) + np.pi * np.arange(k)) / k:
        mirror = Symmetry(
            f"reflection about {-turned % np.pi:.4g}", slope, np.exp(1j * degrees * turned)
        )
        if mirror.broken(first) <= _ZERO:
            return [*found, mirror]
    return found


def _of_sphere(first: ModalArray) -> list[Symmetry]:
    """Those of the axes: about z, through the origin, and in the planes of two axes."""
    degree = first.shape[-1] - 1
    l, m = np.meshgrid(np.arange(degree + 1), np.arange(degree + 1), indexing="ij")
    # (Y_lm)_m has the slope sqrt((2l + 1) l (l + 1) / 2) in every direction.
    slope = 1.0 / np.sqrt(np.maximum((2 * l + 1) * l * (l + 1) / 2.0, 1.0))
    both = np.ones((2, 1, 1))
    cosine, sine = both * [[[1.0]], [[0.0]]], both * [[[0.0]], [[1.0]]]
    forbidden = {
        "antipodal": (l % 2 == 1) * both,
        "reflection of z": ((l + m) % 2 == 1) * both,
    }
    seen = m[(np.abs(first) > _ZERO).any(axis=0)]
    fold = int(np.gcd.reduce(seen))
    if fold == 0:
        # Whoever turns about z keeps all of the others.
        forbidden["rotation about z"] = (m != 0) * both
    else:
        forbidden["reflection of y"] = sine * np.ones_like(m)
        forbidden["reflection of x"] = cosine * (m % 2 == 1) + sine * (m % 2 == 0)
    if fold > 1:
        forbidden[f"rotation by 1/{fold} about z"] = (m % fold != 0) * both
    return [Symmetry(name, np.asarray(mask * slope)) for name, mask in forbidden.items()]


def _allowed(subject: Subject) -> FloatArray:
    """W_1 to which rounding may have grown at every save, infinite where no bound is known."""
    run, t = subject.run, subject.run.scaled_time
    steps = run.diagnostics.get("steps", np.zeros(len(t)))
    allowed = np.empty(len(t))
    exponent = 0.0
    for save in range(len(t)):
        if save:
            exponent += _growth(subject, save)
        source = _STEP * (1.0 + float(steps[save]) + float(t[save] - t[0]))
        if run.representation[save] not in ("density", "particles"):
            # Cells and clusters are chosen without regard to symmetry.
            source = max(source, subject.grown(save))
        allowed[save] = source * np.exp(min(exponent, _LONGEST))
    return allowed


def _growth(subject: Subject, save: int) -> float:
    """Exponent by which distances may grow from the save before to this one."""
    run = subject.run
    length = float(run.scaled_time[save] - run.scaled_time[save - 1])
    ends = run.measures[save - 1], run.measures[save]
    between = subject.problems_between(save - 1, save)
    return max(growth(problem, length, ends) for problem in between)


def _kept(subject: Subject, symmetry: Symmetry, allowed: FloatArray) -> Check:
    run = subject.run
    name = f"symmetry: {symmetry.name}"
    # Once rounding may have broken it, nothing after it counts.
    visible = np.maximum.accumulate(allowed) > _VISIBLE
    count = int(np.argmax(visible)) if visible.any() else len(allowed)
    if count < 2:
        return not_applicable(name, "rounding may have broken it by the second saved time")
    broken = np.array([symmetry.broken(m) for m in run.moments[:count]])
    worst = int(np.argmax(broken / allowed[:count]))
    until = "" if count == len(allowed) else f" up to t = {run.time[count - 1]:.6g}, later no more"
    return measured(
        name, float(broken[worst]), float(allowed[worst]),
        f"what it forbids of moments, at t = {run.time[worst]:.6g}; rounding, grown as fast as any "
        f"two solutions may part: asked{until or ' at all times'}",
    )  # fmt: skip
