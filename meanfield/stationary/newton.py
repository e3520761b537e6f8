"""Newton's method for the moments of stationary states, and where it starts.

Below the saddle-node the ordered state is what the fixed-point iteration m -> G(m) reaches from
the most concentrated state of the symmetry. Newton's method takes over as soon as it finds a
state that this iteration would keep: near a bifurcation the iteration alone crawls.
"""

from __future__ import annotations

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.stationary.self_consistency import SelfConsistency

# Fixed-point steps before the first attempt of Newton's method, as many as settle states far from
# a bifurcation; twice as many before the next, 80,000 in all.
_STEPS = 20
_ATTEMPTS = 12
# The residual near uniform is cubic in the moments: below this it says nothing.
_UNIFORM = 3e-5
# An eigenvalue of the Jacobian this little below 0 is rounding.
_SMALLEST_EIGENVALUE = -1e-7
# From far away damped steps are many; near a state five are enough.
_NEWTON_STEPS = 40
# A step of 1/32 that does not help will not at 1/64: the residual is rounding, or a minimum.
_HALVINGS = 6
# The residual of a state, in units of the rounding of one value, a sum of some hundred terms.
_ROUNDED_TERMS = 32.0
# With a residual above this no digits would be worth having; with the bound of the rounding above
# that it is, as the bound is some 40 times what happens.
_LARGEST_RESIDUAL = 1e-7
_LOST = 4e-6


def residual_size(equation: SelfConsistency, moments: FloatArray, diffusivity: float) -> float:
    """Largest |m - G(m)| / (1 + |m|)."""
    residual = equation.residual(moments, diffusivity)
    return float((np.abs(residual) / (1.0 + np.abs(moments))).max())


def newton(equation: SelfConsistency, moments: FloatArray, diffusivity: float) -> FloatArray | None:
    """Solution of m = G(m) by damped Newton from given moments; None if it does not converge."""
    reached = residual_size(equation, moments, diffusivity)
    for _ in range(_NEWTON_STEPS):
        residual = equation.residual(moments, diffusivity)
        try:
            step = np.linalg.solve(equation.jacobian(moments, diffusivity), residual)
        except np.linalg.LinAlgError:
            return None
        for halving in range(_HALVINGS):
            trial = moments - 0.5**halving * step
            size = residual_size(equation, trial, diffusivity)
            if size < reached:
                break
        if not size < reached:
            break
        moments, reached = trial, size
    rounding = _ROUNDED_TERMS * equation.rounding(moments, diffusivity)
    return moments if reached <= min(rounding, _LARGEST_RESIDUAL) else None


def most_ordered(equation: SelfConsistency, diffusivity: float) -> FloatArray:
    """Limit of the fixed-point iteration from a Dirac, or from its copies under the symmetry."""
    values = equation.symmetry.values
    # The node whose orbit has the largest energy; of equals the one nearest the pole.
    energy = values**2 @ equation.coupling
    best = np.flatnonzero(energy >= energy.max() - 1e-9 * abs(energy.max()))
    moments = values[best[np.argmax(values[best, 0])]]
    for attempt in range(_ATTEMPTS):
        for _ in range(_STEPS * 2**attempt):
            moments = equation.image(moments, diffusivity)
        solution = newton(equation, moments, diffusivity)
        if solution is not None and not _is_uniform(solution):
            eigenvalues = np.linalg.eigvals(equation.jacobian(solution, diffusivity))
            if eigenvalues.real.min() > _SMALLEST_EIGENVALUE and solution @ moments > 0:
                return solution
        if _is_uniform(moments) or equation.rounding(moments, diffusivity) > _LOST:
            break
    raise _no_ordered_state(equation, moments, diffusivity)


def from_guess(equation: SelfConsistency, diffusivity: float, guess: FloatArray) -> FloatArray:
    """State that Newton's method finds from given moments."""
    moments = padded_guess(guess, len(equation.symmetry.degrees))
    if not moments.any():
        return moments
    solution = newton(equation, moments, diffusivity)
    if solution is None:
        raise RuntimeError(
            f"Newton's method found no stationary state at diffusivity = {diffusivity:g} from "
            "this guess: give a closer one, or none."
        )
    if _is_uniform(solution):
        raise ValueError(
            f"Newton's method fell to uniform at diffusivity = {diffusivity:g} from this guess: "
            "give one nearer to an ordered state, or none."
        )
    return solution


def padded_guess(guess: FloatArray, count: int) -> FloatArray:
    """Given moments filled up with zeros, shape (count,)."""
    if guess.ndim != 1 or len(guess) > count:
        raise ValueError(f"guess has shape {guess.shape}, expected at most ({count},).")
    if not np.all(np.isfinite(guess)):
        raise ValueError(f"guess must hold finite moments, got {guess.tolist()}.")
    return np.pad(guess, (0, count - len(guess)))


def _no_ordered_state(
    equation: SelfConsistency, moments: FloatArray, diffusivity: float
) -> ValueError:
    """Error with the reason why no ordered state was found, and the remedy."""
    critical = max(0.0, float(equation.coupling.max()))
    message = f"no ordered {equation.symmetry.name} state found at diffusivity = {diffusivity:g}"
    if equation.rounding(moments, diffusivity) > _LOST:
        beta = equation.problem.zonal.kernel.beta
        return ValueError(
            f"{message}: at beta = {beta:g} attention is so weak where the density is that its "
            "digits are lost. Take a beta nearer to 0."
        )
    if diffusivity < critical:
        return ValueError(
            f"{message}, though uniform is unstable below {critical:g}: pass a guess near it."
        )
    return ValueError(
        f"{message} (critical: {critical:g}; "
        "order lasts to the saddle node, see phase_point): lower "
        "it, or pass guess = [0.0] for the uniform state."
    )


def _is_uniform(moments: FloatArray) -> bool:
    return bool(np.abs(moments).max() < _UNIFORM)
