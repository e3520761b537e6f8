"""Growth about uniform by degree of content and mode of position.

    mu_s = 1 + Re c_l(s) e_l,    d_t c_l = L_l c_l,    L_l = lambda_l C

with the average C over positions, without a rotary embedding, in all dimensions. On the circle let
heads turn and stretch, V = a and B = b e^{i omega} as complex numbers. With
w_k = I_k(b) e^{-ik omega} and M_k = C e^{ik Omega (s - s')}

    L_l = sum_h (l/2) (conj(a) w_{l-1} M_{l-1} - a w_{l+1} M_{l+1}) / z
                + i l u (w_l M_l / z^2 - 1 / z)

where u(s) = Im(a w_1 int M_1 ds') is the drift of uniform. Softmax has z = I_0 + c, with a sink c;
without normalisation z = 1, and the term in 1 / z^2 is absent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanfield.arguments import at_least, checked
from meanfield.arrays import ComplexArray, FloatArray, ModalArray
from meanfield.fields.heads import HeadsInteraction, heads_interaction
from meanfield.problem import Problem
from meanfield.spectrum.linear_operator import NOISE, merged_rates
from meanfield.spectrum.stability import couplings
from meanfield.terms.masks import mask_of
from meanfield.terms.matrices import turns_alone


@checked
@dataclass(frozen=True, eq=False)
class PositionModes:
    """Modes of positions of one degree about uniform, the fastest first.

    Attributes
    ----------
    degree : int
        Degree l of the content.
    positions : ndarray, shape (M,)
        Positions s of the labels.
    matrix : ndarray, shape (M, M)
        L_l per scaled time, for runs with these labels.
    eigenvalues : ndarray of complex, shape (M,)
        Rate and angular velocity of each mode, largest rate first.
    profiles : ndarray of complex, shape (M, M)
        One row per mode: coefficients c_l(s), of length 1.
    """

    degree: int
    positions: FloatArray
    matrix: ModalArray
    eigenvalues: ModalArray
    profiles: ModalArray


@checked
def position_modes(problem: Problem, degree: int, labels: int | None = None) -> PositionModes:
    """Growth of perturbations of uniform under a mask, by profile over positions.

    The matrix has M labels. Under a rotary embedding without a mask, rates of some growing modes
    vanish like 1 / M: compare M with 2 M.

    Parameters
    ----------
    problem : Problem
        With a mask that is not causal, or a rotary embedding; heads of numbers, on the circle also
        heads that turn.
    degree : int
        Degree l of the content, at least 1.
    labels : int, optional
        M, by default 64, or the size of the mask's matrix.

    Raises
    ------
    ValueError
        If the problem has no positions, a causal mask, whose profiles are no modes, or heads with a
        preferred direction.

    Examples
    --------
    Under a window of a fifth a constant profile grows fastest:

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.Attention(beta=5.0, mask=mf.Window(0.2)))
    >>> mf.position_modes(problem, 3, labels=40).eigenvalues[:3].real.round(6)
    array([0.682678, 0.629007, 0.487699])
    >>> mf.growth_rates(problem, 3)[3].round(6)
    np.float64(0.682678)
    """
    at_least(1, degree=degree)
    attention = problem.attention
    if attention is None or problem.mask == "none":
        raise ValueError("modes of positions are of attention with a mask or a rotary embedding.")
    problem.check_one_stage()
    if problem.terms or problem.layers is not None or problem.frequencies is not None:
        raise ValueError("modes of positions are of attention alone: leave the rest out.")
    rule = problem.labels(labels)
    matrix = np.tile(rule.weights, (len(rule.values), 1)) if rule.matrix is None else rule.matrix
    causal = mask_of(attention.mask, None).causal
    if causal or len(matrix) > 1 and not np.triu(matrix, 1).any():
        raise ValueError(
            "a causal mask has no modes of positions: profiles s^p grow at lambda_l / (p + 1), "
            "mf.with_profile."
        )
    dimension, diffusivity = problem.manifold.dimension, problem.isotropic_bound.diffusivity
    if dimension == 1 and problem.manifold.is_sphere:
        interaction = heads_interaction(problem.unlabelled)
        frequency = attention.rotary.length if attention.rotary else 0.0
        phases = np.exp(1j * frequency * (rule.values[:, None] - rule.values))
        operator = _on_circle(interaction, matrix, phases, degree)
    else:
        problem.check_rates()
        coupling = couplings(problem.unlabelled, degree)[degree]
        operator = degree * (degree + dimension - 1) * coupling * matrix.astype(np.complex128)
    operator -= diffusivity * degree * (degree + dimension - 1) * np.eye(len(matrix))
    eigenvalues, vectors = np.linalg.eig(operator)
    rates = merged_rates(eigenvalues.real, NOISE * float(np.abs(operator).max()))
    # In a pair the positive imaginary part comes first.
    order = np.lexsort((-eigenvalues.imag, -rates))
    return PositionModes(degree, rule.values, operator, eigenvalues[order], vectors.T[order])


def _on_circle(
    interaction: HeadsInteraction, matrix: FloatArray, phases: ComplexArray, l: int
) -> ComplexArray:
    """L_l of all heads without noise."""
    from scipy.special import ive

    operator = np.zeros(matrix.shape, dtype=np.complex128)
    for number, (score, value) in enumerate(interaction.heads, 1):
        if not (turns_alone(score) and turns_alone(value)):
            raise ValueError(
                f"head {number} prefers a direction: modes of positions are of heads that turn and "
                "stretch alone, as numbers do."
            )
        a, b = complex(value[0, 0], value[1, 0]), complex(score[0, 0], score[1, 0])
        unit = np.exp(abs(b) - interaction.log_scale) if interaction.log_scale else 1.0
        k = np.array([0, 1, l - 1, l, l + 1])
        zero, first, below, own, above = unit * ive(k, abs(b)) * np.exp(-1j * k * np.angle(b))
        z = zero.real + interaction.sink if interaction.normalized else 1.0
        attended = [matrix * phases**n for n in (l - 1, l, l + 1)]
        drift = np.imag(a * first * (matrix * phases).sum(axis=1))[:, None]
        operator += 0.5 * l * (np.conj(a) * below * attended[0] - a * above * attended[2]) / z
        operator -= 1j * l * drift / z * np.eye(len(matrix))
        if interaction.normalized:
            operator += 1j * l * drift / z**2 * own * attended[1]
    return operator
