"""The flow: what the mean field does to a token.

Velocity of a token at x (architecture of every model, `docs/theory.md` eq. 1-3):

    v(x) = strength * grad (W * mu)(x) / Z(x),    Z = 1 (unnormalised) or a * mu (normalised),

and the density obeys d_t f = -div(f v) + diffusivity * Laplacian f.
"""

from __future__ import annotations

from dataclasses import dataclass

from meanfield.checks import checked


@checked
@dataclass(frozen=True)
class Flow:
    """How tokens follow the mean field.

    Attributes
    ----------
    normalized : bool
        Given. False: unnormalised self-attention (USA); True: softmax (SA).
    strength : float
        Given, dimensionless. +1 attracts, -1 repels.
    diffusivity : float
        Given, in scaled time, not negative. Multiplies the Laplacian.

    Raises
    ------
    ValueError
        If strength is zero or not finite, or diffusivity negative or not finite.

    Examples
    --------
    >>> Flow(normalized=True, strength=-1.0)
    Flow(normalized=True, strength=-1.0, diffusivity=0.0)
    """

    normalized: bool = False
    strength: float = 1.0
    diffusivity: float = 0.0

    def __post_init__(self) -> None:
        """Check what was given."""
        if self.strength == 0:
            raise ValueError("strength must be finite and not 0, got 0: nothing would move.")
        if self.diffusivity < 0:
            raise ValueError(f"diffusivity must be finite and >= 0, got {self.diffusivity}.")


USA = Flow(normalized=False)
"""Unnormalised self-attention."""

SA = Flow(normalized=True)
"""Self-attention with softmax normalisation."""
