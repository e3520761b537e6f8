"""Flow: normalisation, strength and diffusivity.

A token at x has the velocity (`docs/theory.md` eq. 1-3)

    v(x) = strength * grad (W * mu)(x) / Z(x),    Z = 1 (unnormalised) or a * mu (normalised),

and the density obeys d_t f = -div(f v) + diffusivity * Laplacian f.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, cast

from meanfield.arguments import checked, one_of
from meanfield.terms.matrices import printed

Normalization = Literal["softmax", "none", "sinkhorn"]

NORMALIZATIONS: tuple[Normalization, ...] = ("softmax", "none", "sinkhorn")
"""How weights are normalised: SA, USA, doubly stochastic."""

USUAL_NORMALIZATION: Normalization = "softmax"
"""Default in Python, run files and options."""


@checked
@dataclass(frozen=True, init=False)
class Flow:
    """How tokens follow the mean field.

    Attributes
    ----------
    normalization : str
        "softmax" (SA), the default, "none" (USA, unnormalised self-attention) or "sinkhorn"
        (doubly stochastic weights). `normalized=True` and `False` stand for "softmax" and "none".
    strength : float or callable
        Dimensionless. +1 attracts, -1 repels. Or a function of scaled time, as diffusivity.
    diffusivity : float or callable
        In scaled time, not negative. Multiplies the Laplacian.

    Raises
    ------
    ValueError
        If strength is zero or not finite, or diffusivity negative or not finite.

    Examples
    --------
    >>> Flow("softmax", strength=-1.0)
    Flow('softmax', strength=-1.0, diffusivity=0.0)
    >>> Flow() == SA, Flow("none") == USA
    (True, True)
    """

    normalization: Normalization
    strength: float
    diffusivity: float

    def __init__(
        self,
        normalization: Normalization | bool | None = None,
        strength: float | Callable[[float], float] = 1.0,
        diffusivity: float | Callable[[float], float] = 0.0,
        *,
        normalized: bool | None = None,
    ) -> None:
        if strength == 0:
            raise ValueError("strength must be finite and not 0, got 0: nothing would move.")
        if not callable(diffusivity) and diffusivity < 0:
            raise ValueError(f"diffusivity must be finite and >= 0, got {diffusivity}.")
        for name, value in (
            ("normalization", normalization_of(normalization, normalized)),
            ("strength", strength),
            ("diffusivity", diffusivity),
        ):
            object.__setattr__(self, name, value)

    @property
    def normalized(self) -> bool:
        return self.normalization != "none"

    def __repr__(self) -> str:
        return (
            f"Flow({self.normalization!r}, strength={printed(self.strength)}, "
            f"diffusivity={printed(self.diffusivity)})"
        )


def normalization_of(
    normalization: Normalization | bool | None, normalized: bool | None
) -> Normalization:
    """Normalisation by either of two arguments; the default if neither is given.

    >>> normalization_of(None, False), normalization_of("sinkhorn", None)
    ('none', 'sinkhorn')
    """
    if isinstance(normalization, bool):
        normalized, normalization = normalization, None
    older: Normalization | None = (
        None if normalized is None else "softmax" if normalized else "none"
    )
    if older and normalization and older != normalization:
        raise ValueError(
            f'normalized = {str(normalized).lower()} is normalization = "{older}", beside '
            f'normalization = "{normalization}": leave normalized out.'
        )
    return cast(
        Normalization, one_of(normalization or older or USUAL_NORMALIZATION, NORMALIZATIONS)
    )


USA = Flow("none")
"""Unnormalised self-attention."""

SA = Flow("softmax")
"""Self-attention with softmax normalisation."""
