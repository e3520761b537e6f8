"""Words for what files and figures know of a problem."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def attention_words(facts: Mapping[str, Any]) -> tuple[str, str]:
    """What makes the weights and how they are normalised, of `problem_attributes`, in words.

    Examples
    --------
    >>> attention_words({"kernel": "exponential", "normalized": True})
    ('exponential kernel', 'SA')
    >>> attention_words({"heads": 2, "normalization": "sinkhorn"})
    ('2 heads', 'Sinkhorn')
    """
    heads = int(facts.get("heads", 0))
    made = f"{facts.get('kernel', '')} kernel"
    if heads:
        made = f"{heads} head{'s' if heads > 1 else ''}"
    if facts.get("normalization") == "sinkhorn":
        return made, "Sinkhorn"
    return made, "SA" if facts.get("normalized") else "USA"
